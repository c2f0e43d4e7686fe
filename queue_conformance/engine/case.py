"""The registry of fixtures, and what they are made from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.handling import mishandled
from queue_conformance.engine.instrument import REGISTERED
from queue_conformance.engine.outcomes import RuleFailed, operation_of
from queue_conformance.engine.record import Failed, Record
from queue_conformance.engine.recording import OperationRaised
from queue_conformance.engine.sources import Sources


class Case:
    """One run of a check, which its fixtures are made from.

    Attributes:
        own: the rule that the check is about.
        failed: the failures after which the check went on.
        raised: the last exception that left a block about a rule, and that rule.
    """

    def __init__(self, context: CheckContext, rule: str) -> None:
        self.context = context
        self._rule = rule
        self.failed: list[RuleFailed] = []
        self.raised: tuple[BaseException | None, str] = (None, "")
        self.sources = Sources(str(context.driver.directory))
        self.record = Record(context.recorder, self.sources, context.driver.key, self.held)
        self.record.case = self
        self.own = self.rule

    @property
    def rule(self) -> str:
        """The rule that an assertion is about at the moment."""
        return self.context.recorder.attributed or self._rule

    def held(self, rule: str = "") -> None:
        """Count an assertion that holds."""
        self.context.covered[rule or self.rule] += 1

    def note_refusal(self, raised: OperationRaised) -> None:
        """Note an exception that is allowed, for who reads that the rule has passed takes it for done."""
        operation = operation_of(raised.step.source) or raised.step.source.strip()
        check = self.context.check
        where = "there" if check in ("", self.rule) else f"in {check}"
        line = f"{self.rule}: {operation} may raise {where}, and raised {type(raised.error).__name__}"
        if line not in self.context.notes:
            self.context.notes.append(line)

    def goes_on(self, failed: Failed) -> None:
        """Keep the failure of a block, after which the check goes on; it ends with what has been done so far."""
        lines = self.record.lines()
        self.failed.append(self.failure(failed, lambda: lines))

    def mishandled(self, error: Exception) -> Failed | None:
        """Return the failure that an exception stands for if it is due to a value of what is tested."""
        if (told := mishandled(error, self.context.recorder.steps)) is None:
            return None
        failed = Failed(*told)
        failed.rule = self.raised[1] if self.raised[0] is error else ""
        return failed

    def failure(self, failed: Failed, write: Callable[[], Sequence[str]]) -> RuleFailed:
        """Return the failure of an assertion; ``write`` returns the lines of its script."""
        steps = self.context.recorder.steps
        found = self.context.failure(failed.rule or self.rule, failed.expected, failed.actual, steps, write)
        found.difference = failed.difference
        return found


Fixture = Callable[[Case], Any]


def fixture(function: Fixture) -> Fixture:
    """Register a function that makes the value for the parameters of checks that have its name.

    A generator yields the value, and is resumed after the check. Where several kinds have one of this name, a check means
    that of its own, see :func:`~queue_conformance.engine.instrument.fixture_of`.
    """
    REGISTERED.setdefault(function.__name__, {})[function.__module__] = function
    return function
