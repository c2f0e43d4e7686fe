"""Attribution: which rule a failing command sequence belongs to.

A difference in state (an item lost, an order changed, a wrong count) shows late, and has many possible causes. It is
attributed by ablation: the same sequence runs again without its peeks, its refused pushes, its reopenings and so on; what
cures the failure names the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from queue_conformance.engine.outcomes import RuleFailed
from queue_conformance.engine.sequences import Commands

if TYPE_CHECKING:
    from queue_conformance.engine.runner import Run, Runner

Change = Callable[["Run"], Commands]
"""Returns what was run without some factor; the same commands if this says nothing about the failure."""


@dataclass(frozen=True)
class Ablation:
    """A row of a table of attribution: if each of some changes cures a failure, it belongs to a rule.

    Attributes:
        without: the change, or several.
        rule: the rule, or a function that chooses one of ``choices``, or ``None`` if the failure belongs to none of them.
        of: the rules whose failures it applies to; all, if there are none.
        unless: the rules whose failures it does not apply to.
        alone: whether only the subjects that the remaining commands use are opened, and not all that were open.
    """

    without: Change | Sequence[Change]
    rule: str | Callable[[Runner, Run, RuleFailed], str | None]
    of: Sequence[str] = ()
    unless: Sequence[str] = ()
    alone: bool = False
    choices: tuple[str, ...] = ()

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules that it can name."""
        return (self.rule,) if isinstance(self.rule, str) else self.choices

    @property
    def changes(self) -> tuple[Change, ...]:
        """The changes, each of which must cure the failure."""
        return (self.without,) if callable(self.without) else tuple(self.without)

    def names(self, runner: Runner, run: Run, failure: RuleFailed) -> str | None:
        """Return the rule that a failure belongs to, if the changes cure it."""
        if failure.rule in self.unless or (self.of and failure.rule not in self.of):
            return None
        subjects = None if self.alone else tuple(run.subjects)
        for change in self.changes:
            reduced = change(run)
            if reduced == failure.sequence or not runner.cures(reduced, subjects):
                return None
        rule = self.rule if isinstance(self.rule, str) else self.rule(runner, run, failure)
        return rule if rule is not None and runner.context.applies(rule) else None


def drop(*names: str, always: bool = False) -> Change:
    """Return a change that drops commands by name; nothing if the failure showed in one of them, unless ``always``."""

    def without(run: Run) -> Commands:
        if not always and run.at is not None and run.at.name in names:
            return tuple(run.commands)
        return tuple(command for command in run.commands if command.name not in names)

    return without


def replace(names: str | Sequence[str], **other: Any) -> Change:
    """Return a change of commands: ``replace("reopen", name="length")``, ``replace("reopen", argument=0)``."""
    of = (names,) if isinstance(names, str) else tuple(names)
    return lambda run: tuple(command._replace(**other) if command.name in of else command for command in run.commands)


def chain(*changes: Change) -> Change:
    """Return a change that makes one change after the other; those that look at results must come first."""

    def changed(run: Run) -> Commands:
        for change in changes:
            run, commands = copy(run), change(run)
            run.commands = list(commands)
        return tuple(run.commands)

    return changed


def but_last(name: str) -> Change:
    """Return a change that drops the commands with a name, except the one in which the failure showed."""

    def without(run: Run) -> Commands:
        last = len(run.commands) - 1
        return tuple(command for place, command in enumerate(run.commands) if command.name != name or place == last)

    return without


def returned(name: str, result: object) -> Change:
    """Return a change that drops the commands with a name that returned this result."""

    def without(run: Run) -> Commands:
        results = [*run.results, *[...] * (len(run.commands) - len(run.results))]
        pairs = zip(run.commands, results, strict=True)
        return tuple(command for command, found in pairs if command.name != name or found is not result)

    return without
