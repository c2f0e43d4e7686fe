"""The fixtures of checks on asynchronous schedulers; the loop is that of asynchronous queues."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from queue_conformance.engine.case import Case, fixture
from queue_conformance.engine.outcomes import NotApplicable, NotCovered
from queue_conformance.engine.record import Failed, Record
from queue_conformance.engine.recording import OperationRaised
from queue_conformance.environments.asynchronous import priority_given
from queue_conformance.kinds.async_queue.fixtures import coroutine
from queue_conformance.kinds.async_queue.subject import AsyncSubject, Call
from queue_conformance.kinds.async_scheduler.common import ON_STOCK_LOOP
from queue_conformance.loops import Task

RULES = {
    "add": "ascheduler.add.forms",
    "get": "ascheduler.add.forms",
    "task_done": "ascheduler.join",
    "join": "ascheduler.join",
    "close": "ascheduler.close.queue",
    "stats": "ascheduler.stats.keys",
    "qsize": "ascheduler.qsize",
    "__aenter__": "ascheduler.context",
    "__aexit__": "ascheduler.context",
}
"""The rule that fails if an operation raises or never returns where nothing special is going on."""


class SchedulerSubject(AsyncSubject):
    """An asynchronous scheduler; ``task_done`` is no coroutine, and is called while the loop is the running one."""

    __slots__ = ()

    def __getattr__(self, method: str) -> Any:
        if method == "task_done":
            return Call(f"{self.name}.task_done", self.rules[method], lambda: self.raw.task_done)
        return super().__getattr__(method)


@fixture
def construct(case: Case) -> Callable[..., Any]:
    """``construct(queue=None)``: call the constructor, with these parts in the places of the usual ones."""
    driver, record = case.context.driver, case.record

    def made(**parts: Any) -> Any:
        source, build = driver.construction("0", **{name: (record.written(value), value) for name, value in parts.items()})
        return record.construct(source, driver.constructor_rule, build, RULES, SchedulerSubject, "scheduler")

    return made


@fixture
def new_scheduler(case: Case) -> Callable[..., Any]:
    """``scheduler = new_scheduler(queue)``: build a scheduler over a queue, or one in memory; the loop is driven by hand."""
    if not case.context.driver.simulated:
        raise NotCovered(ON_STOCK_LOOP)
    made = construct(case)
    return lambda queue=None: made(queue=queue) if queue is not None else made()


@fixture
def new(case: Case) -> Callable[..., Any]:
    """``queue = new("MemoryQueue", maxsize=1)``: an object of a class that scripts quote, or import from qCrawl."""
    record = case.record

    def made(name: str, *arguments: Any, **options: Any) -> Any:
        cls = case.context.driver.named(name)
        record.recorder.faulty |= getattr(cls, "is_fault", False)
        source = f"{name}({record.written(*arguments, **options)})"
        return record.make(source, case.rule, lambda: cls(*arguments, **options), shown=False)

    return made


@fixture
def bounded(case: Case) -> Callable[[str], Any]:
    """``queue = bounded("DiskQueue")``: a queue of such a class, with room for one request."""
    places = {"DiskQueue": [f"{case.context.driver.directory}/queue"]}
    return lambda kind: new(case)(kind, *places.get(kind, ()), maxsize=1)


@fixture
def waiting_get(case: Case) -> Callable[[SchedulerSubject], Task]:
    """``getting = waiting_get(scheduler)``: begin to get, and let it wait; it must, as there is nothing to get."""
    from queue_conformance.kinds.async_scheduler import script_support

    driver, record = case.context.driver, case.record

    def begun(scheduler: SchedulerSubject) -> Task:
        def begin() -> Task:
            getting: Task = script_support.waiting_get(driver.loop, scheduler.raw, record.target or None)
            return getting

        task: Task = _asserted(record, f"waiting_get(loop, {scheduler.name})", "ascheduler.get.waits", "get waits", begin)
        return task

    return begun


@fixture
def crawl(case: Case) -> Callable[..., Any]:
    """``spider = crawl({"/1": 0})``: crawl a local site from these paths with their priorities, over a queue of the author's."""
    from queue_conformance.kinds.async_scheduler import script_support

    driver, record = case.context.driver, case.record
    seconds = min(5.0, case.context.time_limit / 2)

    def crawled(start: dict[str, int], queue: Any = None, maxsize: int = 0, **options: Any) -> Any:
        options["seconds"] = seconds
        name, given = driver.queue_of_crawls(maxsize)
        below = record.written(queue) if queue is not None else f"{name}({record.written(**given)})"
        parts = f"{driver.class_name}, {driver.fingerprinter}, {below}"

        def run() -> Any:
            classes = driver.named(driver.class_name), driver.named(driver.fingerprinter)
            return script_support.crawl(*classes, driver.named(name)(**given) if queue is None else queue, start, **options)

        return _asserted(record, f"crawl({parts}, {record.written(start, **options)})", case.rule, "the crawl ends", run)

    return crawled


def _asserted(record: Record, source: str, rule: str, expected: str, function: Callable[[], Any]) -> Any:
    """Let a function that scripts quote make something; an assertion of its own is one on the rule."""
    try:
        return record.make(source, rule, function, shown=False)
    except OperationRaised as raised:
        if not isinstance(raised.error, AssertionError):
            raise
        failed = Failed(expected, str(raised.error))
        failed.rule = rule
        raise failed from None


@fixture
def page(case: Case) -> Callable[..., Any]:
    """``page(number)``: a request; equal numbers give equal ones, and another number other fields. Number 0 is a plain one."""

    made, driver = request_for(case), case.context.driver

    def numbered(number: int, fields: int | None = None, **attributes: Any) -> Any:
        return made(**{**driver.arguments(number, number if fields is None else fields), **attributes})

    return numbered


@fixture
def request_for(case: Case) -> Callable[..., Any]:
    """``request_for(url)``: a request with these arguments."""

    def made(url: str, **arguments: Any) -> Any:
        cls = case.context.driver.request_class
        if priority := arguments.get("priority"):
            arguments["priority"] = priority_given(priority, lambda value: cls(url, **{**arguments, "priority": value}))
        new = cls(url, **arguments)
        return case.sources.give(new, f"Request({case.record.written(url, **arguments)})")

    return made


@fixture
def new_fingerprinter(case: Case) -> Callable[..., Any]:
    """``fingerprinter = new_fingerprinter()``: what tells the scheduler which requests are equal."""
    driver = case.context.driver
    if not driver.fingerprints_itself:
        raise NotApplicable("it has no fingerprinter of its own: that of qCrawl is no part of it")

    def made(**options: Any) -> Any:
        source = f"{driver.fingerprinter}({case.record.written(**options)})"
        rules, cls = {"fingerprint_bytes": case.rule}, driver.named(driver.fingerprinter)
        return case.record.construct(source, case.rule, lambda: cls(**options), rules, name="fingerprinter")

    return made


for coroutine_function in ("interrupted", "fill", "outage", "add_many", "work_through"):
    coroutine(coroutine_function, f"{__package__}.script_support")
