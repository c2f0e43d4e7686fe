"""What fixtures of checks are made from, and where they are registered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.outcomes import RuleFailed, failure_class
from queue_conformance.engine.record import Failed, Record
from queue_conformance.engine.recording import Step
from queue_conformance.engine.sources import Sources
from queue_conformance.engine.writing import Block


class SoftBlock(Block):
    """A block that may fail without ending the check."""

    def failure(self) -> RuleFailed:
        """Return how it failed."""
        raise NotImplementedError


class Case:
    """What fixtures are made from.

    Attributes:
        context: where the check works.
        record: what was done.
        sources: how values are written.
        rules: the rules that an assertion is about, innermost last.
        failed: the blocks that failed, although the check went on.
    """

    def __init__(self, context: CheckContext, rule: str) -> None:
        self.context = context
        self.rules = [rule]
        self.failed: list[SoftBlock] = []
        self.sources = Sources(str(context.driver.directory))
        self.record = Record(context.recorder, self.sources, context.driver.key, self.held)

    @property
    def rule(self) -> str:
        """The rule that an assertion is about."""
        return self.rules[-1]

    def held(self, rule: str = "") -> None:
        """Note that what an assertion says holds."""
        self.context.covered[rule or self.rule] += 1


Fixture = Callable[[Case], Any]
REGISTERED: dict[str, Fixture] = {}


def fixture(function: Fixture) -> Fixture:
    """Register what gives checks the parameter of its name; a generator goes on after a check that ended well.

    Raises:
        ValueError: if another module has one of this name: the checks of all kinds know the same ones.
    """
    known = REGISTERED.get(function.__name__, function)
    if known.__module__ != function.__module__:
        raise ValueError(f"two fixtures are called {function.__name__}: in {known.__module__} and in {function.__module__}")
    REGISTERED[function.__name__] = function
    return function


def failure_of(case: Case, failed: Failed, steps: list[Step], last: Block | None = None) -> RuleFailed:
    """Return the failed rule that a failed assertion is about, with what was done, up to the end of a block if one is given."""
    rule = case.context.attributed(failed.rule or case.rule)
    return failure_class(rule)(
        rule,
        expected=failed.expected,
        actual=failed.actual,
        steps=steps,
        tail=[],
        body=case.record.lines(last) if last else case.record.lines,  # a block is written as it is now
    )
