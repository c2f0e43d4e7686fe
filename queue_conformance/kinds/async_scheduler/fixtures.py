"""The fixtures of checks on asynchronous schedulers; the loop is that of asynchronous queues."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from queue_conformance.engine.context import Context, NotCovered, fixture
from queue_conformance.kinds.async_queue.fixtures import AsyncSubject, Call
from queue_conformance.kinds.async_scheduler.scene import OWNERS


class SchedulerSubject(AsyncSubject):
    """An asynchronous scheduler; ``task_done`` is no coroutine, and is called while the loop is the running one."""

    __slots__ = ()

    def __getattr__(self, method: str) -> Any:
        if method == "task_done":
            return Call(f"{self.name}.task_done", self.rules[method], lambda: self.raw.task_done)
        return super().__getattr__(method)


@fixture
def new_scheduler(context: Context) -> Callable[[], Any]:
    """``scheduler = new_scheduler()``: build a scheduler over a queue in memory."""
    driver = context.bench.driver
    if not driver.simulated:
        raise NotCovered("it works on the stock event loop alone, and schedulers are examined on a simulated one")
    source, build = driver.construction("0")
    return lambda: context.record.construct(source, driver.constructor_rule, build, OWNERS, SchedulerSubject, "scheduler")


@fixture
def page(context: Context) -> Callable[..., Any]:
    """``page(number)``: a request; equal numbers give equal ones."""

    def made(number: int) -> Any:
        found = context.bench.driver.item(number)
        return context.sources.give(found.value, found.source)

    return made


@fixture
def request_for(context: Context) -> Callable[..., Any]:
    """``request_for(url)``: a request with these arguments."""

    def made(url: str, **arguments: Any) -> Any:
        new = context.bench.driver.request_class(url, **arguments)
        return context.sources.give(new, f"Request({context.record.written((url,), arguments)})")

    return made


@fixture
def new_fingerprinter(context: Context) -> Callable[..., Any]:
    """``fingerprinter = new_fingerprinter()``: what tells the scheduler which requests are equal."""
    driver = context.bench.driver

    def made(**options: Any) -> Any:
        source = f"{driver.fingerprinter}({context.record.written((), options)})"
        rules = {"fingerprint_bytes": context.rule}
        return context.record.construct(source, context.rule, lambda: driver.value(source), rules, name="fingerprinter")

    return made
