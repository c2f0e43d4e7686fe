"""Checks of push: where requests go, and what a failed push leaves behind."""

from __future__ import annotations

from queue_conformance.engine.bench import Bench
from queue_conformance.engine.lockstep import run_each
from queue_conformance.engine.recording import OperationRaised, describe
from queue_conformance.engine.registry import check
from queue_conformance.kinds.priority_queue.common import KINDS, expect_all, need_start_queues
from queue_conformance.kinds.priority_queue.model import Place


@check("pq.push.bucket", kinds=KINDS)
def each_priority_has_a_queue_of_its_own(bench: Bench) -> None:
    rule = "pq.push.bucket"
    driver = bench.driver
    store = driver.furnish(keeps=False)
    queue = bench.open()
    for number, priority in enumerate((0, 1, 0, -2, 1, 0, 7, 0)):
        queue.push(driver.request(number, Place(priority, False, "a.example")))
    buckets = sorted([request.priority for request in found.items] for found in store.built if found.items)
    bench.recorder.note("left = sorted([r.priority for r in queue.items] for queue in store.built if queue.items)")
    wanted = [[-2], [0, 0, 0, 0], [1, 1], [7]]
    bench.expect(rule, buckets == wanted, f"priorities by downstream queue: {wanted}", buckets, f"left == {wanted}")


@check("pq.push.start-bucket", kinds=KINDS)
def start_requests_go_to_queues_of_their_class(bench: Bench) -> None:
    rule = "pq.push.start-bucket"
    need_start_queues(bench)
    driver = bench.driver
    store = driver.furnish(keeps=False)
    queue = bench.open()
    for number, meta in enumerate(("{'is_start_request': True}", "{'is_start_request': False}", "{}")):
        for priority in (0, 1):
            url = f"https://a.example/{number}{priority}"
            queue.push(driver.evaluate(f'Request("{url}", priority={priority}, meta={meta})'))
    started = sorted(request.url for found in store.built if isinstance(found, driver.classes[1]) for request in found.items)
    bench.recorder.note("left = sorted(r.url for queue in store.built if isinstance(queue, Start) for r in queue.items)")
    wanted = ["https://a.example/00", "https://a.example/01"]
    bench.expect(rule, started == wanted, f"in queues of start_queue_cls: {wanted}", started, f"left == {wanted}")


@check("pq.push.start-disabled", kinds=KINDS)
def without_a_class_start_requests_are_like_others(bench: Bench) -> None:
    rule = "pq.push.start-disabled"
    driver = bench.driver
    store = driver.furnish(start=None, keeps=False)
    with bench.recorder.blame(rule):
        queue = bench.open()
        for number in (1, 0, 1):
            queue.push(driver.request(len(bench.recorder.steps), driver.place(number)))
        buckets = [len(found.items) for found in store.built if found.items]
        bench.recorder.note("left = [len(queue.items) for queue in store.built if queue.items]")
        bench.expect(rule, buckets == [3], "three requests in one downstream queue", f"{buckets} in each", "left == [3]")


@check("pq.push.error-propagates", kinds=KINDS)
def errors_of_a_push_reach_the_caller(bench: Bench) -> None:
    for source in ('ValueError("refused")', 'TransientError("try later")', 'RuntimeError("broken")'):
        for earlier in ((), (0,)):
            with bench.collecting():
                bench.restart()
                _push_that_fails(bench, source, earlier)


def _push_that_fails(bench: Bench, source: str, earlier: tuple[int, ...]) -> None:
    """Push a request that the downstream queue refuses, after others."""
    rule = "pq.push.error-propagates"
    driver, recorder = bench.driver, bench.recorder
    driver.furnish()
    queue = bench.open()
    for number in earlier:
        queue.push(driver.item(number))
    error = eval(source, driver.names)
    recorder.note(f"error = {source}")
    driver.names["error"] = error
    driver.disturb("push", "error")
    bench.examined[rule] += 1
    try:
        queue.push(driver.item(12), owner=rule)
        actual = "no exception"
    except OperationRaised as raised:
        if raised.error is error or not isinstance(raised.error, Exception):
            return
        actual = f"{describe(raised.error)} raised"
    step = recorder.steps[-1]
    tail = ["try:", f"    {step.source}", "except Exception as caught:", "    assert caught is error, repr(caught)"]
    tail += ["else:", "    raise AssertionError('no exception')"]
    bench.fail(rule, f"the {describe(error)} of the downstream queue", actual, tail, replaces=True, final=True)


@check("pq.push.failed-no-trace", kinds=KINDS)
def a_failed_push_leaves_no_trace(bench: Bench) -> None:
    texts = (
        "push_refused:0 length truth peek pop push:4 peek pop pop",
        "push:1 push_refused:0 peek pop pop",
        "push:3 push:1 push_refused:2 push_refused:0 pop pop pop",
        "push:0 push_refused:1 peek pop push:1 pop",
        "push_refused:9 push:0 push_refused:5 length truth pop pop",
        "push:4 push:0 push_refused:2 push_refused:3 peek pop pop reopen",
        "push_refused:2 push:0 reopen peek pop",
        "push_refused:0 push_refused:1 reopen push:0 pop",
        "push:0 push_refused:2 push_refused:4 pop length pop push:0 push:2 pop pop",
        "push:5 push_refused:7 pop truth push:5 pop",
    )
    run_each(bench, texts)
    for number in (0, 1, 2):
        with bench.collecting():
            bench.restart()
            _push_without_queue(bench, number)


def _push_without_queue(bench: Bench, number: int) -> None:
    """Push a request whose downstream queue cannot be built, while another one waits."""
    rule = "pq.push.failed-no-trace"
    driver = bench.driver
    driver.furnish()
    queue = bench.open()
    queue.push(driver.item(17))
    waiting = driver.disturb("__init__", 'ConnectionError("refused")')
    try:
        queue.push(driver.item(number))
    except OperationRaised as raised:
        if not isinstance(raised.error, Exception):
            raise
    else:
        return  # it has built the queue before, or builds it later
    if waiting:
        return
    with bench.recorder.blame(rule):
        length = queue.length()
        bench.expect(rule, length == 1, "len 1", length, "length == 1")
        expect_all(bench, rule, queue, [driver.item(17)])
