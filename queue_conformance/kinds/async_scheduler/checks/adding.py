"""Checks of ``add``, of direct delivery, and of retries."""

from __future__ import annotations

from queue_conformance.engine.bench import Bench
from queue_conformance.engine.registry import check
from queue_conformance.kinds.async_scheduler.scene import Scene, add, request

STATS = "loop.run(scheduler.stats())"


@check("ascheduler.ctor.none")
def both_parts_are_required(bench: Bench) -> None:
    rule, name, fingerprinter = "ascheduler.ctor.none", bench.driver.class_name, bench.driver.fingerprinter
    for parts in (f"queue=None, fingerprinter={fingerprinter}()", "queue=MemoryQueue(), fingerprinter=None"):
        with bench.collecting():
            bench.restart()
            source = f"scheduler = loop.call({name}, {parts})"
            bench.expect_raises(rule, (ValueError,), lambda source=source: bench.driver.do(source, rule))  # type: ignore[misc]


@check("ascheduler.add.forms")
def add_takes_urls_and_requests(bench: Bench) -> None:
    scene = Scene(bench, "ascheduler.add.forms")
    for line in ('"https://example.com/1"', request(2, priority=5)):
        scene.blamed(f"loop.run(scheduler.add({line}))", "getting = loop.start(scheduler.get())", "loop.settle()")
        number, priority = (1, 0) if "priority" not in line else (2, 5)
        scene.expect_got("getting", number)
        scene.expect(
            f"a Request with priority {priority}",
            f"isinstance(getting.result(), Request) and getting.result().priority == {priority}",
            "getting.result()",
        )


@check("ascheduler.add.dedupe")
def what_was_seen_is_ignored(bench: Bench) -> None:
    rule = "ascheduler.add.dedupe"
    for another in (add(1), add(1, priority=7), 'loop.run(scheduler.add("HTTPS://EXAMPLE.com:443/./1"))'):
        with bench.collecting():
            scene = Scene(bench, rule)
            scene.do(add(1))
            _changes_nothing(scene, another, "the duplicate is not counted")
            scene.steps("loop.run(scheduler.get())", "loop.call(scheduler.task_done)")
            scene.consumer("waiting")
            scene.do(another, rule)
            scene.do("loop.settle()")
            scene.expect_waiting("waiting")
    with bench.collecting():
        scene = Scene(bench, rule, "SuspendingQueue()")
        scene.steps(f"first = loop.start(scheduler.add({request(1)}))", f"second = loop.start(scheduler.add({request(1)}))")
        scene.blamed("loop.settle()")
        scene.expect("one request in the queue", "len(queue.items) == 1", "f'{len(queue.items)} requests in it'")


def _changes_nothing(scene: Scene, line: str, expected: str) -> None:
    """Examine the rule with a line that must leave the statistics as they are."""
    scene.do(f"before = {STATS}")
    scene.blamed(line)
    scene.do(f"after = {STATS}")
    scene.expect(f"{expected}, so stats() as before", "after == before", "f'{after}, before {before}'")


@check("ascheduler.add.closed")
def add_does_nothing_after_close(bench: Bench) -> None:
    scene = Scene(bench, "ascheduler.add.closed")
    scene.steps(add(1), "loop.run(scheduler.close())")
    _changes_nothing(scene, add(2), "nothing is added")
    _changes_nothing(scene, add(2), "nothing is added")
    scene.do("loop.run(scheduler.get())", "ascheduler.get.closed")
    scene.do("getting = loop.start(scheduler.get())")
    scene.do("loop.settle()")
    scene.expect(
        "no request that was added after close",
        "not (getting.done() and not getting.cancelled() and getting.exception() is None)",
        "getting.result()",
    )


@check("ascheduler.add.direct")
def a_waiting_consumer_gets_a_request_at_once(bench: Bench) -> None:
    for consumers in (1, 2):
        with bench.collecting():
            scene = Scene(bench, "ascheduler.add.direct")
            for number in range(1, consumers + 1):
                scene.consumer(f"consumer{number}")
            for number in range(1, consumers + 1):
                scene.do(f"adding{number} = loop.start(scheduler.add({request(number)}))")
            scene.do("loop.settle()")
            scene.expect("nothing is put into the queue", "not queue.puts", "f'{queue.puts} put into it'")
            for number in range(1, consumers + 1):
                scene.expect_done(f"consumer{number}", f"consumer{number} gets a request", rule="ascheduler.get.no-lost-wakeup")
            scene.expect("an empty queue", "not queue.items", "f'{len(queue.items)} in it'")


@check("ascheduler.add.direct-fifo")
def consumers_are_served_in_turn(bench: Bench) -> None:
    rule = "ascheduler.add.direct-fifo"
    for cancelled in ("", "consumer1"):
        with bench.collecting():
            scene = Scene(bench, rule)
            for number in (1, 2, 3, 4):
                scene.consumer(f"consumer{number}")
            names = [f"consumer{number}" for number in (1, 2, 3, 4)]
            if cancelled:
                scene.steps(f"{cancelled}.cancel()", "loop.settle()")
                names.remove(cancelled)
            for number in range(1, len(names) + 1):
                scene.do(add(number))
                scene.do("loop.settle()")
            got = f"[task.result().url[20:] if task.done() else 'nothing' for task in ({', '.join(names)})]"
            wanted = [str(number) for number in range(1, len(names) + 1)]
            scene.expect(f"requests {', '.join(wanted)} in the order of the consumers", f"{got} == {wanted}", got)


@check("ascheduler.add.direct-cancel")
def a_request_for_a_cancelled_consumer_is_not_lost(bench: Bench) -> None:
    rule = "ascheduler.add.direct-cancel"
    Scene(bench, rule).works()
    for queue in ("MemoryQueue()", "SuspendingQueue()"):
        for others in (0, 1):
            for ticks in range(8):
                with bench.collecting():
                    _cancel_after(Scene(bench, rule, queue), others, ticks)
        if rule in bench.broken:
            break


def _cancel_after(scene: Scene, others: int, ticks: int) -> None:
    """Cancel the first consumer some iterations after an add began; somebody gets the request, and nothing is left."""
    scene.consumer("consumer1")
    if others:
        scene.consumer("consumer2")
    scene.do(f"adding = loop.start(scheduler.add({request(1)}))")
    for _ in range(ticks):
        scene.do("loop.tick()")
    scene.steps("consumer1.cancel()", "loop.settle()")
    if not scene.bench.driver.value("consumer1.cancelled()"):
        return  # it had the request before it was cancelled
    if not others:
        scene.steps("consumer2 = loop.start(scheduler.get())", "loop.settle()")
    scene.expect_got("consumer2", 1)
    scene.blamed("loop.call(scheduler.task_done)")
    scene.steps("joining = loop.start(scheduler.join())", "loop.settle()")
    scene.expect_done("joining", "join ends, as nothing is left to do")


@check("ascheduler.retry")
def a_retry_is_scheduled_again(bench: Bench) -> None:
    rule = "ascheduler.retry"
    for waiting in (False, True):
        with bench.collecting():
            scene = Scene(bench, rule)
            scene.steps(add(1), "got = loop.run(scheduler.get())")
            if waiting:
                scene.consumer("getting")
            scene.do("again = got.copy()")
            scene.do("again.meta.update(retry_count=1, retry_delay=0.0)")  # as qCrawl's RetryMiddleware does
            scene.blamed("loop.run(scheduler.add(again))")
            scene.do("loop.call(scheduler.task_done)")
            if not waiting:
                scene.do("getting = loop.start(scheduler.get())")
            scene.do("loop.settle()")
            scene.expect_got("getting", 1)
            scene.blamed("loop.call(scheduler.task_done)")


@check("ascheduler.idle-running")
def an_idle_scheduler_works_on(bench: Bench) -> None:
    rule = "ascheduler.idle-running"
    scene = Scene(bench, rule)
    scene.works()
    for number in (1, 2):
        scene.blamed(
            add(number), "joining = loop.start(scheduler.join())", "getting = loop.start(scheduler.get())", "loop.settle()"
        )
        scene.expect_got("getting", number)
        scene.expect_waiting("joining")
        scene.blamed("loop.call(scheduler.task_done)", "loop.settle()")
        scene.expect_done("joining", "join ends again")
