"""Checks of resuming from state."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from scrapy.pqueues import DownloaderAwarePriorityQueue, ScrapyPriorityQueue

from queue_conformance.engine.bench import Bench, must_raise
from queue_conformance.engine.lockstep import run, run_each
from queue_conformance.engine.outcomes import NotApplicable, NotExercised
from queue_conformance.engine.recording import OperationRaised
from queue_conformance.engine.registry import check
from queue_conformance.kinds.priority_queue.common import KINDS, drain, expect_all, need_resuming, saved
from queue_conformance.kinds.priority_queue.driver import MARKED, PriorityQueueDriver
from queue_conformance.kinds.priority_queue.model import Place
from queue_conformance.running.accidents import is_accident, must_not_be_accident


@check("pq.resume.all", kinds=KINDS)
def everything_is_there_after_resuming(bench: Bench) -> None:
    texts = (
        "push:0 push:1 push:2 push:5 reopen length truth pop reopen pop push:0 reopen pop pop pop",
        "push:1 push:1 push:0 push:0 push:3 push:4 reopen pop pop reopen pop pop reopen pop pop",
        "push:9 push:8 push:11 push:6 reopen push:7 reopen",
    )
    run_each(bench, texts)
    for text in texts:
        with bench.collecting():
            run(bench, text, furnish=PriorityQueueDriver.furnish_disk)


@check("pq.resume.stale", kinds=KINDS)
def stale_state_is_harmless(bench: Bench) -> None:
    texts = (
        "reopen_stale length truth pop push:0 pop",
        "reopen_stale:1 pop push:1 pop reopen",
        "push:0 push:1 reopen_stale length pop pop pop",
        "push:2 push:5 reopen_stale:1 pop reopen_stale:2 peek pop pop",
        "reopen_stale reopen_stale:1 push:9 reopen",
    )
    run_each(bench, texts)


@check("pq.resume.incomplete", kinds=KINDS)
def what_the_state_does_not_name_is_found_again(bench: Bench) -> None:
    rule = "pq.resume.incomplete"
    driver = bench.driver
    for disk in (False, True):
        with bench.collecting():
            bench.restart()
            if disk:
                driver.furnish_disk()
            else:
                driver.furnish()
            queue = bench.open()
            lost = [driver.item(number) for number in (0, 1, 2)]
            for item in lost:
                queue.push(item)
            queue.close()
            with bench.recorder.blame(rule):
                queue = bench.open()
                again = [driver.item(number) for number in (12, 13, 14)]
                for item in again:
                    queue.push(item)
                expect_all(bench, rule, queue, [*lost, *again])


FOREIGN = (ScrapyPriorityQueue, DownloaderAwarePriorityQueue)
"""Released classes whose state has different forms."""


@check("pq.resume.foreign-state", kinds=KINDS)
def state_of_another_class_is_refused(bench: Bench) -> None:
    driver = bench.driver
    own = _own_state(bench, (0, 5))
    for cls in FOREIGN:
        with bench.collecting():
            bench.restart()
            driver.furnish()
            _resume_foreign(bench, cls, own)
    if not bench.examined["pq.resume.foreign-state"]:
        raise NotApplicable("it serves the state of the released classes")


def _own_state(bench: Bench, numbers: tuple[int, ...]) -> Any:
    """Return the state that it writes itself."""
    bench.restart()
    queue = bench.open()
    for number in numbers:
        queue.push(bench.driver.item(number))
    return saved(bench, queue)


def _resume_foreign(bench: Bench, cls: type[Any], own: Any) -> None:
    """Resume from what a released class has written, if that has another form than its own."""
    rule = "pq.resume.foreign-state"
    driver, recorder = bench.driver, bench.recorder
    recorder.note(f"{cls.__name__} = importlib.import_module('scrapy.pqueues').{cls.__name__}")
    normal, start = driver.classes
    key = f"{driver.directory}/0"
    writer = cls.from_crawler(driver.crawler, downstream_queue_cls=normal, key=key, start_queue_cls=start)
    call = 'from_crawler(crawler, downstream_queue_cls=Normal, key=directory + "/0", start_queue_cls=Start)'
    recorder.note(f"other = {cls.__name__}.{call}")
    items = [driver.item(number) for number in (0, 5)]
    for item in items:
        writer.push(item.value)
        recorder.note(f"other.push({item.source})")
    state = json.loads(json.dumps(writer.close()))
    recorder.note("state = json.loads(json.dumps(other.close()))")
    if isinstance(state, Mapping) == isinstance(own, Mapping):
        return  # nobody could tell
    try:
        queue = bench.open(state=state, owner=rule)
    except OperationRaised as raised:
        if not isinstance(raised.error, Exception):
            raise
        bench.examined[rule] += 1
        if not str(raised.error):
            tail = ["try:", f"    {raised.step.source}", "except Exception as error:", "    assert str(error), repr(error)"]
            bench.fail(rule, "an explanation in the exception", raised.error, tail, replaces=True)
        if is_accident(raised.error):
            tail = must_not_be_accident(raised.step.source)
            bench.fail(rule, "an exception that explains what is wrong", raised.error, tail, replaces=True)
        return
    opening = recorder.steps[-1]
    try:
        came = drain(bench, queue, len(items))
    except OperationRaised:
        came = []  # it notices too late
    if len(came) == len(items):
        return  # it understands that form too
    del recorder.steps[recorder.steps.index(opening) + 1 :]
    bench.examined[rule] += 1
    tail = must_raise(opening.source, "Exception")
    bench.fail(rule, f"an exception, as {state!r} is no state of this class", "it was taken", tail, replaces=True)


@check("pq.resume.iterable", kinds=KINDS)
def startprios_may_be_any_iterable(bench: Bench) -> None:
    rule = "pq.resume.iterable"
    forms: tuple[tuple[str, Callable[[Any], Any]], ...] = (("iter", iter), ("set", set), ("tuple", tuple))
    for name, form in forms:
        with bench.collecting():
            items = [bench.driver.item(number) for number in (0, 4, 5, 9)]
            need_resuming(bench, items)
            queue = bench.open()
            for item in items:
                queue.push(item)
            left = queue.close()
            if isinstance(left, Mapping) and all(isinstance(named, list) for named in left.values()):
                state: Any = {slot: form(named) for slot, named in left.items()}
                bench.recorder.note(f"state = {{slot: {name}(named) for slot, named in left.items()}}")
            elif isinstance(left, list) and all(isinstance(named, int) for named in left):
                state = form(left)
                bench.recorder.note(f"state = {name}(left)")
            else:
                raise NotApplicable("its state has a form of its own")
            with bench.recorder.blame(rule):
                queue = bench.open(state=state)
                expect_all(bench, rule, queue, items)


@check("pq.resume.empty-closed", kinds=KINDS)
def empty_queues_opened_while_resuming_are_closed(bench: Bench) -> None:
    rule = "pq.resume.empty-closed"
    driver = bench.driver
    store = driver.furnish()
    queue = bench.open()
    marker = driver.item(MARKED)
    for item in (driver.item(0), driver.request(1, Place(2, True, "a.example")), marker):
        queue.push(item)
    state = saved(bench, queue)
    driver.discard(marker)
    built = len(store.built)
    bench.recorder.note("built = len(store.built)")
    try:
        bench.open(state=state)
    except OperationRaised as raised:
        raise NotExercised("it does not resume from this state") from raised
    open_still = [found.key for found in store.built[built:] if not found.closed and not found.items]
    bench.recorder.note("left = [queue.key for queue in store.built[built:] if not queue.closed and not queue.items]")
    bench.expect(rule, not open_still, "no empty queue left open", f"{len(open_still)} left open", "not left")
