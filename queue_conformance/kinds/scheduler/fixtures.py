"""The fixtures of checks on schedulers."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from scrapy import Request
from scrapy.settings import default_settings
from twisted.internet.defer import Deferred

from queue_conformance.compat.scrapy import settle, turn
from queue_conformance.engine.case import Case, fixture
from queue_conformance.engine.fixtures import operation
from queue_conformance.engine.growing import counted
from queue_conformance.engine.outcomes import NotApplicable
from queue_conformance.engine.recording import OperationRaised, is_a
from queue_conformance.engine.stored_files import stored_files
from queue_conformance.engine.syntax import body_of
from queue_conformance.engine.writing import Block, Line
from queue_conformance.environments.unserializable import Cause
from queue_conformance.kinds.queue import fixtures  # noqa: F401  registers those of queues
from queue_conformance.kinds.queue.faults import SHORT_TIMEOUT
from queue_conformance.kinds.scheduler import layout, script_support
from queue_conformance.kinds.scheduler.driver import Drained
from queue_conformance.kinds.scheduler.faulty import FaultPlan
from queue_conformance.kinds.scheduler.layout import QUEUES, settings_of
from queue_conformance.kinds.scheduler.pool import traits
from queue_conformance.kinds.scheduler.script_support import NotedFilter, Patient
from queue_conformance.kinds.scheduler.subject import RULES, Scheduler
from queue_conformance.script_support import interleaving


@fixture
def build_scheduler(case: Case) -> Callable[..., Scheduler]:
    """``build_scheduler("job", SCHEDULER_DEBUG=True)``: build a scheduler with a job directory, or none, and with settings."""

    def built(job: str | None = None, **settings: Any) -> Scheduler:
        driver, record = case.context.driver, case.record
        source, crawler = driver.new_crawler(settings, job)
        record.precede(f"crawler = {source}")
        source, build = driver.construction(job or "job", crawler=crawler)
        name = record.target or "scheduler"
        made: Scheduler = record.make(source, driver.constructor_rule, lambda: Scheduler(build(), name, record, RULES), name)
        made.crawler = crawler
        return made

    return built


@fixture
def open_scheduler(case: Case) -> Callable[..., Scheduler]:
    """``open_scheduler("job", holding=(0, 3), SCHEDULER_DEBUG=True)``: build a scheduler, open it, and enqueue requests."""
    build: Callable[..., Scheduler] = build_scheduler(case)

    def opened(job: str | None = None, *, holding: Iterable[int] = (), **settings: Any) -> Scheduler:
        scheduler = build(job, **settings)
        if scheduler.has("open"):
            try:
                scheduler.open()
            finally:
                case.record.insert(Line(case.record.recorder.steps[-1].source.strip()))
        case.record.fill(scheduler.enqueue_request, map(fresh(case), holding))
        return scheduler

    return opened


@fixture
def call_open(case: Case) -> Callable[..., Any]:
    """``call_open(scheduler)``: open a scheduler, if it can be opened; return what that returned."""
    return partial(_perform, case, "open")


@fixture
def call_close(case: Case) -> Callable[..., Any]:
    """``call_close(scheduler)``: close a scheduler, if it can be closed; return what that returned."""
    return partial(_perform, case, "close")


@fixture
def settled(case: Case) -> Callable[[Any], None]:
    """``settled(opened)``: wait for the end of what open or close began."""

    def waited(result: Any) -> None:
        if is_a(result, Deferred):
            case.record.make(f"settle({case.record.written(result)})", case.rule, partial(settle, result))

    return waited


@fixture
def close(case: Case) -> Callable[..., Any]:
    """``close(scheduler, reason)``: close a scheduler, if it can be closed, and wait until it is."""
    return partial(_perform, case, "close", wait=True)


def _perform(case: Case, method: str, scheduler: Scheduler, reason: str = "shutdown", *, wait: bool = False) -> Any:
    if scheduler.has(method):
        result = case.record.make(*scheduler.operation(method, reason, wait=wait))
        if inspect.iscoroutine(result):
            result.close()  # nobody will await it
        return result


@fixture
def drain(case: Case) -> Callable[[Scheduler], list[str]]:
    """``drain(scheduler)``: take out everything; return the URLs."""
    return _quoted(case, script_support.drain, "scheduler.enqueue.true", "left")


@fixture
def requests_left(case: Case) -> Callable[[Scheduler], list[Request]]:
    """``requests_left(scheduler)``: take out everything; return the requests."""
    return _quoted(case, script_support.taken, "scheduler.enqueue.true", "left")


@fixture
def outcomes_of_requests(case: Case) -> Callable[[Scheduler, int], list[Any]]:
    """``outcomes_of_requests(scheduler, 12)``: take out everything; return the URLs, and the exceptions."""
    return _quoted(case, script_support.outcomes_of_requests, "scheduler.enqueue.true", "outcomes")


@fixture
def pass_requests(case: Case) -> Callable[[Scheduler, range, int], int]:
    """``pass_requests(scheduler, range(8), size)``: let requests pass through, one of which stays; how many were accepted."""
    return _quoted(case, script_support.pass_requests, RULES["enqueue_request"], "passed")


@fixture
def enqueue_many(case: Case) -> Callable[..., list[str]]:
    """``enqueue_many(scheduler, range(100))``: enqueue plain requests; return the URLs of those that were accepted."""
    return _quoted(case, script_support.enqueued, RULES["enqueue_request"], "accepted")


@fixture
def body_sizes_lost(case: Case) -> Callable[[Scheduler, range], list[int]]:
    """``body_sizes_lost(scheduler, range(9))``: enqueue requests with bodies of these sizes, take out all; which are lost."""
    return _quoted(case, script_support.body_sizes_lost, "scheduler.enqueue.true", "lost")


def _quoted(case: Case, function: Callable[..., Any], rule: str, result: str) -> Callable[..., Any]:
    """Return what calls a function that scripts quote on a scheduler, as one operation whose result has a name."""

    def called(scheduler: Scheduler, *arguments: Any, **named: Any) -> Any:
        source = f"{function.__name__}({case.record.written(scheduler, *arguments, **named)})"
        call = partial(function, Drained(scheduler.raw, case.context.driver), *arguments, **named)
        return case.record.make(source, rule, call, result)

    return called


@fixture
def growing_costs_of_requests(case: Case) -> Callable[[Scheduler], list[str]]:
    """``growing_costs_of_requests(scheduler)``: the costs of its operations that grow in proportion to what is enqueued."""

    def found(scheduler: Scheduler) -> Any:
        name = scheduler.name
        calls = [f"{short}={name}.{short}" for short in ("enqueue_request", "next_request", "has_pending_requests")]
        calls += [f"len=lambda: len({name})"] * case.context.offers("length")
        source = (
            f"growing_costs((Request(f'https://example.com/{{number}}') for number in itertools.count()), {', '.join(calls)})"
        )
        return counted(case, scheduler, scheduler.rules["next_request"], source, Request=Request)

    return found


@fixture
def bytes_kept_of_done(case: Case) -> Callable[[Scheduler, int], tuple[int, int]]:
    """``kept, passed = bytes_kept_of_done(scheduler, 10_000)``: the bytes of memory that it keeps of so many such requests."""

    def found(scheduler: Scheduler, size: int) -> Any:
        name = scheduler.name
        made = f"lambda number: Request(f'https://example.com/{{number}}', body=b'%{size}d' % number)"
        source = f"bytes_kept_of_few_or_many(through({name}.enqueue_request, {name}.next_request, turn), {made}, {size})"
        return counted(case, scheduler, scheduler.rules["next_request"], source, Request=Request, turn=turn)

    return found


@fixture
def stat(case: Case) -> Callable[[Scheduler, str], Any]:
    """``stat(scheduler, name)``: what the statistics of its crawler say."""

    def found(scheduler: Scheduler, name: str) -> Any:
        source = f"crawler.stats.get_value({name!r}, 0)"
        return case.record.make(source, case.rule, lambda: scheduler.crawler.stats.get_value(name, 0), "count")

    return found


@fixture
def its_crawler(case: Case) -> Callable[[], Any]:
    """``its_crawler()``: the crawler of the scheduler that was built last."""
    return lambda: case.sources.give(case.context.driver.names["crawler"], "crawler")


@fixture
def fresh(case: Case) -> Callable[[int], Any]:
    """``fresh(number)``: a new request; equal numbers give equal ones."""

    def made(number: int) -> Any:
        found = case.context.driver.fresh(number)
        return case.sources.give(found.value, found.source)

    return made


@fixture
def urls(case: Case) -> Callable[..., list[str]]:
    """``urls(numbers)``: the URLs of the requests with these numbers; ``on_disk=True`` of those that a disk queue takes."""

    def made(numbers: Iterable[int], *, on_disk: bool = False) -> list[str]:
        return [case.context.driver.url(number) for number in numbers if not (on_disk and traits(number).refused)]

    return made


@fixture
def faulty_queues(case: Case) -> dict[str, Any]:
    """The settings that put a queue which can be made to fail over each disk queue of the author's settings."""
    return settings_of(case.context)


@fixture
def default_queues(case: Case) -> dict[str, str]:
    """The settings that put Scrapy's default queues in the places of others."""
    chosen = {name: getattr(default_settings, name) for name in QUEUES}
    return {name: path for name, path in chosen.items() if case.context.driver.setting(name) != path}


@contextmanager
def _aside(case: Case) -> Iterator[Any]:
    """Use the driver for what is no part of the check."""
    context = case.context
    try:
        yield context.driver
    finally:
        context.restart()
        case.sources.directory = str(context.driver.directory)


@fixture
def filter_if_used(case: Case) -> dict[str, Any]:
    """The setting of a filter that notes how it is used, if the scheduler uses that one at all."""
    used = case.context.offers("configurable")
    if not used:
        with _aside(case) as driver, suppress(OperationRaised):  # it may want a filter of another kind
            driver.open({"DUPEFILTER_CLASS": NotedFilter})
            used = NotedFilter.built > 0
    return {"DUPEFILTER_CLASS": NotedFilter} if used else {}


@fixture
def noted_filter(case: Case) -> dict[str, Any]:
    """The setting of a filter that notes how it is used."""
    found: dict[str, Any] = filter_if_used(case)
    if not found:
        raise NotApplicable("it does not use the filter that DUPEFILTER_CLASS names")
    return found


@fixture
def answers_for_filter(case: Case) -> None:
    """What it filters with is its own, or comes with it; a filter of others that the settings name is tested by itself."""
    driver = case.context.driver
    packages = [driver.setting("DUPEFILTER_CLASS").partition(".")[0], driver.implementation.cls.__module__.partition(".")[0]]
    if packages[0] != packages[1] and filter_if_used(case):
        raise NotApplicable(f"what was seen is kept by a dupefilter of {packages[0]}, which is tested by itself")


@fixture
def without_a_pause(case: Case) -> Callable[..., list[str]]:
    """``without_a_pause(settings, numbers)``: the URLs of what comes of these requests in one run, but for the first two."""

    def found(settings: Mapping[str, Any], numbers: Iterable[int]) -> list[str]:
        with _aside(case) as driver:
            scheduler = driver.open(settings, job="job")
            for number in numbers:
                scheduler.enqueue_request(driver.fresh(number))
            return [*driver.drain(scheduler)[2:]]

    return found


@fixture
def unless_the_queue_raises(case: Case) -> Callable[[], Block]:
    """``with unless_the_queue_raises() as raised``: what its disk queue raises is a matter of that queue, but for ValueError."""

    class Unless(Block):
        raised = False

        def __bool__(self) -> bool:
            return self.raised

        def __enter__(self) -> Unless:
            return self

        def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
            self.raised = isinstance(error, OperationRaised) and error.error in FaultPlan.errors
            if self.raised and isinstance(error.error, ValueError):
                error.rule = "scheduler.enqueue.fallback-serialization"
                return False
            return self.raised

    return Unless


@fixture
def made_here(case: Case) -> Callable[[Callable[..., Any]], Any]:
    """``made_here(cause)``: what a cause or a lambda makes, for the crawler of the scheduler that was built last."""

    def made(cause: Callable[..., Any]) -> Any:
        crawler = case.context.driver.names["crawler"]
        known = {"crawler": crawler, "spider": crawler.spider}
        make, source = (cause.make, cause.source) if isinstance(cause, Cause) else (cause, body_of(cause))
        value = cause(*(known[name] for name in inspect.signature(make).parameters if name in known))
        return case.sources.give(value, re.sub(r"(?<![\w.])spider\b", "crawler.spider", source))

    return made


@fixture
def numbered(case: Case) -> Callable[[Callable[..., Any]], Any]:
    """``numbered(lambda)``: the number in the URL of what that makes."""
    make = made_here(case)
    return lambda cause: script_support.number_of(make(cause))


@fixture
def rule_of_loss(case: Case) -> Callable[[int], str]:
    """``rule_of_loss(number)``: the rule that a pause which loses the request of a number breaks."""
    return partial(layout.rule_of_loss, case.context)


@fixture
def traces(case: Case) -> Callable[[], list[str]]:
    """``traces()``: the files of the job, or of the working directory, and the keys, that are there."""
    context = case.context

    def found() -> list[str]:
        driver = context.driver
        files = sorted(stored_files(driver.directory, str(driver.job())))
        keys = context.backend.server.stored() if context.backend else []
        return [*(f"the file {path.relative_to(driver.directory)}" for path in files), *keys]

    return found


# --- Several processes, and a server that comes back -----------------------------------------------------------------


@fixture
def scheduler_factory(case: Case) -> Callable[[], Any]:
    """What another process opens the scheduler with."""
    driver = case.context.driver
    crawler_source, crawler = driver.new_crawler({}, "job")
    source = f"lambda: opened_for(crawler := {crawler_source}, lambda: {driver.construction('job', crawler=crawler)[0]})"
    found: Callable[[], Any] = case.sources.give(driver.opener(), source)
    return found


@fixture
def drained_at_once(case: Case) -> Callable[..., list[str]]:
    """``drained_at_once(scheduler_opener, 3)``: what so many processes get that take out everything together."""

    def drained(factory: Callable[[], Any], count: int) -> Any:
        source = f"drained_at_once({case.record.written(factory, count)})"
        return case.record.make(source, case.rule, partial(script_support.drained_at_once, factory, count), "received")

    return drained


@fixture
def patient(case: Case) -> Callable[[Scheduler], Scheduler]:
    """``scheduler = patient(scheduler)``: a scheduler that is asked again while it raises, as its server is back."""
    context = case.context

    def made(scheduler: Scheduler) -> Scheduler:
        def build() -> Scheduler:
            timeout = SHORT_TIMEOUT if case.rule in context.failed else context.timeout
            return Scheduler(Patient(scheduler.raw, timeout), scheduler.name, case.record, RULES)

        found: Scheduler = case.record.make(f"Patient({scheduler.name})", "", build)
        return found

    return made


list_otherwise = operation(script_support.list_otherwise, damages=True)
next_soon = operation(interleaving.next_soon, RULES["next_request"])
pending_soon = operation(interleaving.pending_soon, RULES["has_pending_requests"])
