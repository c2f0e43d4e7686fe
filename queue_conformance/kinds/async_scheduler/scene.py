"""A scheduler over a queue of the kit's own, on a loop that is driven by hand; every step is a line of a script."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from queue_conformance.engine.bench import Bench
from queue_conformance.engine.outcomes import NotExercised
from queue_conformance.engine.recording import OperationRaised, describe
from queue_conformance.engine.scripts import quoted
from queue_conformance.kinds.async_scheduler.checks.statistics import NUMBERS
from queue_conformance.kinds.async_scheduler.fixtures import RULES
from queue_conformance.loops import NeverAtRest, NeverReturns, outcome_of, place_of

_CALL = re.compile(r"\w*scheduler\w*\.(\w+)")


class Scene:
    """A scheduler over a queue.

    Args:
        bench: where the check works; it begins again.
        rule: the rule that is examined.
        queue: an expression for the queue.
        before: lines that come first.

    Every method raises ``RuleBroken`` or ``OperationRaised`` if the scheduler does not do what it must.
    """

    def __init__(self, bench: Bench, rule: str, queue: str = "MemoryQueue()", before: Iterable[str] = ()) -> None:
        if not bench.driver.simulated:
            raise NotExercised("it works on the stock event loop alone, and schedulers are examined on a simulated one")
        self.bench = bench
        self.rule = rule
        bench.restart()
        self.steps(*before)
        self.do(f"queue = {queue}")
        bench.open(queue=("queue", bench.driver.variables["queue"]))

    def do(self, source: str, owner: str | None = None) -> Any:
        """Run a line of Python; see the driver.

        Args:
            source: the line.
            owner: the rule that is broken if it raises or never ends, if not the usual one of the operation.
        """
        if owner is None:
            found = _CALL.search(source)
            owner = RULES.get(found[1], self.rule) if found else self.rule
        try:
            return self.bench.driver.do(source, owner)
        except OperationRaised as raised:
            if isinstance(raised.error, (NeverReturns, NeverAtRest)):
                self.bench.fail(raised.owner, "an end", f"it {str(raised.error).removeprefix('it ')}", [])
            raise

    def steps(self, *sources: str) -> None:
        """Run lines of Python, where nothing special is going on."""
        for source in sources:
            self.do(source)

    def blamed(self, *sources: str) -> Any:
        """Run lines of Python that the rule is about: it is broken if one of them raises or never ends."""
        value = None
        for source in sources:
            value = self.do(source, self.rule)
        return value

    def expect(self, expected: str, assertion: str, shown: str, *, rule: str | None = None) -> None:
        """Examine the rule.

        Args:
            expected: what it asks for, short.
            assertion: an expression over the variables, true where it is kept.
            shown: an expression for what came instead.
            rule: the rule, if it is another one.
        """
        value, rule = self.bench.driver.value, rule or self.rule
        self.bench.examined[rule] += 1
        try:
            if value(assertion):
                return
            actual = value(shown)
        except BaseException as error:  # of a task whose result is asked for
            actual = f"{describe(error)} raised"
        tail = [f"assert {assertion}, {quoted(f'expected {expected}, got ')} + str({shown})"]
        self.bench.fail(rule, expected, actual, tail)

    def expect_done(self, task: str, expected: str, *, rule: str | None = None) -> None:
        """Examine a rule which says that a task has ended, whichever way."""
        rule = rule or self.rule
        self.bench.examined[rule] += 1
        if not self.bench.driver.value(task).done():
            tail = [f"assert {task}.done(), {quoted(f'expected that {expected}; it waits')}"]
            self.bench.fail(rule, expected, self.waits(task), tail)

    def expect_waiting(self, task: str, expected: str = "", *, rule: str | None = None) -> None:
        """Examine a rule which says that a task waits."""
        how, value = outcome_of(self.bench.driver.value(task))
        actual = f"it {how} {describe(value)}" if how in ("raised", "returned") else f"it was {how}"
        self.bench.expect(rule or self.rule, how == "waiting", expected or f"{task} waits", actual, f"not {task}.done()")

    def expect_got(self, task: str, number: int, *, rule: str | None = None) -> None:
        """Examine a rule which says that a task got the request of that number."""
        url = url_of(number)
        self.expect_done(task, f"{task} ends with {url}", rule=rule)
        self.expect(
            f"{task} ends with {url}",
            f"not {task}.cancelled() and {task}.result().url == {url!r}",
            f"'cancelled' if {task}.cancelled() else {task}.result()",
            rule=rule,
        )

    def waits(self, task: str) -> str:
        """Tell where a task waits."""
        return f"it waits forever in {place_of(self.bench.driver.value(task))}"

    def consumer(self, name: str) -> None:
        """Let a consumer wait."""
        self.steps(f"{name} = loop.start(scheduler.get())", "loop.settle()")
        self.expect_waiting(name, rule="ascheduler.get.waits")

    def stats(self) -> None:
        """Assign the statistics to ``stats``."""
        self.do("stats = loop.run(scheduler.stats())", "ascheduler.stats.keys")
        assertion = f"all(isinstance(stats.get(name), int) for name in {NUMBERS!r})"
        self.expect(f"numbers for {', '.join(NUMBERS)}", assertion, "stats", rule="ascheduler.stats.keys")


def url_of(number: int) -> str:
    """Return the URL of the request of that number."""
    return f"https://example.com/{number}"


def request(number: int, **attributes: Any) -> str:
    """Return an expression for a request."""
    more = "".join(f", {name}={value!r}" for name, value in attributes.items())
    return f"Request({url_of(number)!r}{more})".replace("'", '"')


def add(number: int, **attributes: Any) -> str:
    """Return the line that adds a request, to the end."""
    return f"loop.run(scheduler.add({request(number, **attributes)}))"
