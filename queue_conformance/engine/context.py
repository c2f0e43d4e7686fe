"""What fixtures of checks are made from, and where they are registered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from queue_conformance.engine.bench import Bench
from queue_conformance.engine.outcomes import NotExercised, RuleBroken, rule_broken
from queue_conformance.engine.record import Failed, Record
from queue_conformance.engine.recording import Step
from queue_conformance.engine.sources import Sources
from queue_conformance.engine.writing import Block

NotCovered = NotExercised
"""Raised by a check that could not come to the point in this case; the text says why."""


class SoftBlock(Block):
    """A block that may fail without ending the check."""

    def failure(self) -> RuleBroken:
        """Return how it failed."""
        raise NotImplementedError


class Context:
    """What fixtures are made from.

    Attributes:
        bench: where the check works.
        record: what was done.
        sources: how values are written.
        rules: the rules that an assertion is about, innermost last.
        failed: the blocks that failed, although the check went on.
    """

    def __init__(self, bench: Bench, rule: str) -> None:
        self.bench = bench
        self.rules = [rule]
        self.failed: list[SoftBlock] = []
        self.sources = Sources(str(bench.driver.directory))
        self.record = Record(bench.recorder, self.sources, bench.driver.key, self.held)

    @property
    def rule(self) -> str:
        """The rule that an assertion is about."""
        return self.rules[-1]

    def held(self, rule: str = "") -> None:
        """Note that what an assertion says holds."""
        self.bench.examined[rule or self.rule] += 1


Fixture = Callable[[Context], Any]
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


def broken(context: Context, failed: Failed, steps: list[Step], last: Block | None = None) -> RuleBroken:
    """Return the broken rule that a failed assertion is about, with what was done, up to the end of a block if one is given."""
    rule = context.bench.judged(failed.rule or context.rule)
    lines = context.record.lines(last)
    return rule_broken(rule)(rule, expected=failed.expected, actual=failed.actual, steps=steps, tail=[], body=lines)
