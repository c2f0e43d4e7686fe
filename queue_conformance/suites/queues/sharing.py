"""What the checks of a queue that several processes use have in common."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import contextmanager
from typing import Any

from queue_conformance.engine import process
from queue_conformance.implementations.quoted.processes import consume
from queue_conformance.implementations.recording import OperationRaised, Remark, Timed
from queue_conformance.suites.bench import Bench
from queue_conformance.suites.outcomes import NotExercised


def patience_of(bench: Bench) -> float:
    """Return the seconds that are waited for what another process did, which must not look like an operation that hangs."""
    return min(bench.patience, bench.time_limit / 4)


def url_of(number: int) -> str:
    """Return the URL of the request with a number."""
    return f"https://example.com/{number}"


def urls_of(numbers: Iterable[int]) -> set[str]:
    """Return the URLs of the requests with some numbers."""
    return set(map(url_of, numbers))


def requests_of(bench: Bench, numbers: range) -> list[Any]:
    """Return the requests with these numbers."""
    return [bench.driver.evaluate(f"Request({url_of(number)!r})").value for number in numbers]


def pushes(variable: str, numbers: range) -> str:
    """Return the line of a script that pushes requests with these numbers."""
    return f"for n in {numbers!r}: {variable}.push(Request(f'https://example.com/{{n}}'))"


def open_with(bench: Bench, numbers: range = range(0)) -> Any:
    """Open a queue, and push requests with these numbers.

    Raises:
        NotExercised: if there can be no other process.
    """
    if not process.AVAILABLE:
        raise NotExercised("this platform cannot fork")
    queue = bench.open()
    if numbers:
        requests = requests_of(bench, numbers)
        bench.recorder.call(pushes("queue", numbers), "queue.push.accept", push_all, Timed(queue.raw, bench.flight), requests)
    return queue


def push_all(queue: Any, requests: Sequence[Any]) -> None:
    """Push requests."""
    for request in requests:
        queue.push(request)


def drained(bench: Bench, rule: str, expected: Set[str]) -> tuple[list[str], int]:
    """Take out everything by a queue that is opened for that.

    Args:
        bench: where the check works.
        rule: the rule that is broken if something raises.
        expected: the URLs that are waited for, even though the length may say that nothing is left.

    Returns:
        The URLs that came, and what the length says then.
    """

    def drain() -> list[str]:
        queue = Timed(last.raw, bench.flight)
        urls: list[str] = consume(queue, (), patience_of(bench))
        end = bench.flight.now + patience_of(bench)
        while not expected <= set(urls) and len(queue) == 0 and bench.flight.now < end:
            time.sleep(0.02)
            urls += consume(queue, (), 0.0)
        return urls

    last = bench.open(variable="last", owner=rule)
    left: list[str] = bench.recorder.call("left = consume(last)", rule, drain)
    bench.recorder.steps[-1].result = Remark(f"{len(left)} items")
    return left, last.length(rule)


@contextmanager
def judging(bench: Bench, rule: str, body: Sequence[str]) -> Iterator[None]:
    """What an operation raises here breaks a rule."""
    try:
        yield
    except OperationRaised as raised:
        bench.excuse(raised.error)
        bench.fail(rule, "no exception", f"{bench.describe(raised.error)} raised by {raised.step.source}", [], body=body)
