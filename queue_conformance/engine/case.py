"""What fixtures of checks are made from, and where they are registered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.outcomes import RuleFailed
from queue_conformance.engine.record import Failed, Record
from queue_conformance.engine.recording import Step
from queue_conformance.engine.sources import Sources
from queue_conformance.engine.writing import Block


class Case:
    """What fixtures are made from.

    Attributes:
        rules: the rules that an assertion is about, innermost last.
        failed: how blocks failed, the steps until then, and the block, where the check went on.
    """

    def __init__(self, context: CheckContext, rule: str) -> None:
        self.context = context
        self.rules = [rule]
        self.failed: list[tuple[Failed, list[Step], Block]] = []
        self.sources = Sources(str(context.driver.directory))
        self.record = Record(context.recorder, self.sources, context.driver.key, self.held)

    @property
    def rule(self) -> str:
        """The rule that an assertion is about."""
        return self.rules[-1]

    def held(self, rule: str = "") -> None:
        """Note that what an assertion says holds."""
        self.context.covered[rule or self.rule] += 1

    def goes_on(self, failed: Failed, block: Block) -> None:
        """Note that a block failed, after which the check goes on."""
        self.failed.append((failed, list(self.context.recorder.steps), block))

    def failure(self, failed: Failed, steps: Sequence[Step], last: Block | None = None) -> RuleFailed:
        """Return the failure of an assertion, with what was done, up to the end of a block if one is given."""
        write = partial(self.record.lines, last)
        return self.context.failure(failed.rule or self.rule, failed.expected, failed.actual, steps, write)


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
