"""Which of the fields of its items a failure needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.outcomes import NotApplicable, NotCovered, RuleFailed
from queue_conformance.engine.runner import runner_of
from queue_conformance.engine.sequences import commands


@dataclass
class _Failures:
    """How a check failed: the failures after which it went on, and the one that ended it."""

    kept: dict[str, RuleFailed] = field(default_factory=dict)
    raised: RuleFailed | None = None

    @property
    def all(self) -> list[RuleFailed]:
        """All of them."""
        return [*self.kept.values(), *filter(None, [self.raised])]

    @property
    def findings(self) -> set[tuple[str, str]]:
        """What identifies them."""
        return {failure.finding for failure in self.all}

    def report(self, context: CheckContext) -> None:
        """Fail the check, after all."""
        for failure in self.kept.values():
            context.keep(failure)
        if self.raised is not None:
            raise self.raised


def with_fewest_fields(context: CheckContext, run: Callable[[], None]) -> None:
    """Run a check; where it fails, find out whether what its items have besides their keys matters.

    If they need nothing, the failure is shown with plain ones. If items with some field do not even go through, that is the
    failure; else it is shown with the one field that it needs.

    Raises:
        RuleFailed: as the check does.
    """
    driver = context.driver
    if not driver.fields:
        run()
        return None
    failures = _failures(context, run)
    if not failures.findings:
        return None
    if all(failure.sequence is not None for failure in failures.all):
        return failures.report(context)  # they are those of command sequences, which were shortened
    context.stop_if_shared()
    covered = context.covered.copy()
    for number in range(len(driver.fields)):
        with driver.having_only(number):
            other, told = _attempt(context, run), driver.told_of(number)
        if other.findings == failures.findings:
            for failure in other.all:
                failure.needs(told)
            failures = other
            break
        if not number:
            context.restart()
            runner_of(context).show(commands(driver.through))
    context.covered = covered
    failures.report(context)


def _failures(context: CheckContext, run: Callable[[], None]) -> _Failures:
    before, context.failed = context.failed, {}
    raised = None
    try:
        run()
    except RuleFailed as failure:
        raised = failure
    finally:
        kept, context.failed = context.failed, before
    return _Failures(kept, raised)


def _attempt(context: CheckContext, run: Callable[[], None]) -> _Failures:
    """Run it in another way, which may prove nothing."""
    try:
        return _failures(context, run)
    except (NotCovered, NotApplicable):
        return _Failures()
