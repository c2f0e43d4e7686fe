"""The fixtures of checks on priority queues."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from queue_conformance.engine.case import Case, fixture
from queue_conformance.engine.fixtures import block, operation
from queue_conformance.engine.outcomes import NotApplicable, NotCovered
from queue_conformance.engine.recording import Timed
from queue_conformance.environments import fixtures as components  # noqa: F401  registers those of components
from queue_conformance.kinds.priority_queue import script_support as downstreams
from queue_conformance.kinds.priority_queue.disturbing import Disturbance
from queue_conformance.kinds.queue import fixtures  # registers those of queues, too

START = {"is_start_request": True}
"""The meta of a start request."""

NAMES = ("", ".", "..", "/", "a/b", "../../a", "with space", "a:80", "exämple.com", "日本語", "a\0b")
"""Slots that the downloader can produce, from hosts and from ``download_slot``."""

few_files = block(downstreams.few_files)
contains = operation(downstreams.contains, "pq.slot.contains", timed=False)
discard = operation(downstreams.discard, "pq.resume.stale")
fill_buckets = operation(downstreams.fill_buckets, "pq.pop.exactly-once")
peeked_otherwise = operation(downstreams.peeked_otherwise, "pq.peek.equals-pop")
pop_hosts = operation(downstreams.pop_hosts, "pq.pop.exactly-once")
pop_urls = operation(downstreams.pop_urls, "pq.pop.exactly-once")
pops_before = operation(downstreams.pops_before, "pq.pop.exactly-once")


@fixture
def use_queues(case: Case) -> Callable[..., downstreams.Store | None]:
    """``store = use_queues(persistent=False)``: build over downstream queues of the kit; ``disk=True`` over Scrapy's on disk."""
    driver, record = case.context.driver, case.record

    def used(*classes: type | None, disk: bool = False, persistent: bool = True) -> downstreams.Store | None:
        if disk:
            driver.configure_disk()
            return None
        store: downstreams.Store = driver.configure(*classes, persistent=persistent)
        if record.target:
            return record.make(driver.store_source, driver.constructor_rule, lambda: store)  # type: ignore[no-any-return]
        record.note(f"store = {driver.store_source}")
        return store

    return used


@fixture
def disturbed(case: Case) -> Callable[..., Disturbance]:
    """``with disturbed(store, "push", error) as waiting``: meanwhile, the next push of a downstream queue raises that."""

    def made(store: downstreams.Store, operation: str, *faults: Any) -> Disturbance:
        sources = case.record.written(*faults)
        return Disturbance(case.record.recorder, store, operation, *faults, sources=sources)

    return made


@fixture
def start_queues(case: Case) -> None:
    """Start requests have queues of their own; otherwise the rule does not apply."""
    if not case.context.driver.takes_start_queues:
        raise NotApplicable("it takes no start_queue_cls, which Scrapy requires from 2.16")


@fixture
def through_json(case: Case) -> Callable[[Any], Any]:
    """``state = through_json(queue.close())``: the state as the scheduler reads it when it resumes."""

    def read(left: Any) -> Any:
        try:
            return downstreams.through_json(left)
        except Exception as error:  # of a value in it, too
            raise NotCovered("JSON cannot store what its close returns") from error

    return read


@fixture
def regrow(case: Case) -> Callable[[Sequence[int]], tuple[int, int]]:
    """``count, received = regrow(range(131))``: fill a queue that is resumed at each of these counts; how many came at which."""
    driver, watchdog = case.context.driver, case.context.watchdog

    def grew(counts: Sequence[int]) -> Any:
        items = f"(Request(f'https://{{n % 3}}.example/{{n}}', priority=n % 2) for n in range({counts[-1]}))"
        requests = driver.evaluate(items).value
        source = f"regrown(lambda state: {driver.construction('0', state=())[0]}, {items}, {case.record.written(counts)})"

        def build(state: Any) -> Timed:
            return Timed(driver.construction("0", state=state)[1](), watchdog, fixtures.TIMEOUT)

        return case.record.make(source, case.rule, lambda: downstreams.regrown(build, requests, counts), "found")

    return grew


NUMBERS = (0, 4, 5, 9)
"""Requests of three slots and four priorities."""


@fixture
def own_state(case: Case) -> Any:
    """The state that the class itself writes."""
    context = case.context
    if context.recorder.unclosed:
        context.recorder.unclosed.stop()
    queue = context.open("own")
    for number in NUMBERS:
        queue.push(context.driver.item(number))
    state = through_json(case)(queue.close())
    context.recorder.restart()
    return state


@fixture
def resumable(case: Case) -> None:
    """Requests are there again when it is resumed; what is lost is judged elsewhere."""
    context = case.context
    queue = context.open("own", state=own_state(case))
    received = {context.driver.identify(queue.pop()) for _ in range(2 * len(NUMBERS) + 2)}
    if received != {*NUMBERS, None}:
        raise NotCovered("requests are lost when it is resumed")
    context.recorder.restart()
