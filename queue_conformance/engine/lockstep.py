"""Lockstep: command sequences that run side by side on an implementation and on its model.

The commands of a kind are methods of its :class:`Lockstep`; the decorator :func:`command` is the row of each in the table
that sequences are generated from. :mod:`~queue_conformance.engine.runner` runs them, and
:mod:`~queue_conformance.engine.ablation` says to which rule a difference belongs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, NoReturn, TypeVar

from queue_conformance.engine.ablation import Ablation
from queue_conformance.engine.closing import NoMore
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.difference import UNRAISED
from queue_conformance.engine.driver import TYPE
from queue_conformance.engine.generation import explore
from queue_conformance.engine.handling import total
from queue_conformance.engine.outcomes import Received, RuleFailed, shown_by
from queue_conformance.engine.record import Refuted
from queue_conformance.engine.recording import OperationRaised, came_from, describe
from queue_conformance.engine.registry import check, kinds_at
from queue_conformance.engine.runner import ATTEMPTS, Runner, runner_of
from queue_conformance.engine.scripts import must_raise
from queue_conformance.engine.sequences import Command, Commands, commands
from queue_conformance.engine.sources import Sources
from queue_conformance.engine.subject import Operations
from queue_conformance.engine.ways import way_of
from queue_conformance.specification import load
from queue_conformance.specification.kinds import Kind

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Row:
    """The row of a command in the table of commands.

    Attributes:
        rules: the ids of the rules that it can break or cover.
        arguments: the numbers that it is generated with, or a function that returns them.
        weight: how often it is generated, relative to others; 0 for commands of fixed sequences only.
        needs: the capabilities without which it does nothing.
    """

    rules: tuple[str, ...]
    arguments: Iterable[int] | Callable[[CheckContext], Iterable[int]]
    weight: int
    needs: tuple[str, ...]


def command(
    *rules: str,
    arguments: Iterable[int] | Callable[[CheckContext], Iterable[int]] = (0,),
    weight: int = 1,
    needs: Sequence[str] = (),
) -> Callable[[F], F]:
    """Make a method a command; see :class:`Row`. Simple commands come first: sequences shrink towards them."""

    def enter(method: F) -> F:
        method.row = Row(rules, arguments, weight, tuple(needs))  # type: ignore[attr-defined]
        return method

    return enter


class Lockstep:
    """One subject of the implementation and its model; its commands run on both.

    Args:
        number: its number among the subjects that are open side by side.

    Commands raise ``RuleFailed`` at a difference, and ``OperationRaised`` if the implementation raises.

    Attributes:
        ablations: how differences are attributed, tried in turn.
        needed: commands without which generated sequences prove nothing.
        covers: rules that no single command is about, but that sequences cover.
        after: by an event that commands note in ``events``, the rule that each right item covers from then on.
        ordinary: sequences with items of all fields, whose failures explain what else these fields break.
        timed: rules that are broken by what happens at a moment: a failure by chance stays theirs if it never shows without that.
        operations: by the name of a command, what a reader who does not know the commands calls it, if not so;
            ``""`` for one that only lets time pass, or asks.
    """

    ablations: ClassVar[Sequence[Ablation]] = ()
    needed: ClassVar[Sequence[str]] = ("push", "pop")
    covers: ClassVar[Sequence[str]] = ()
    after: ClassVar[Mapping[str, str]] = {}
    ordinary: ClassVar[Sequence[str]] = ()
    timed: ClassVar[Sequence[str]] = ()
    operations: ClassVar[Mapping[str, str]] = {}

    def __init__(self, context: CheckContext, number: int) -> None:
        self.context = context
        self.number = number
        self.covered = context.covered
        self.events: set[str] = set()
        self.sources = Sources(str(context.driver.directory))

    @classmethod
    def rows(cls) -> dict[str, Row]:
        """Return the table, by the names of commands; a method that overrides one keeps its row."""
        found = (pair for base in reversed(cls.__mro__) for pair in vars(base).items())
        return {name: method.row for name, method in found if hasattr(method, "row")}

    @classmethod
    def of(cls, context: CheckContext) -> type[Lockstep]:
        """Return the class for what a context tests."""
        return cls

    @classmethod
    def rules(cls) -> tuple[str, ...]:
        """Return the ids of the rules that the table, and the attribution of what it shows, can name."""
        named = [rule for row in cls.rows().values() for rule in row.rules]
        return tuple(dict.fromkeys([*named, *cls.after.values(), *cls.covers, *(r for a in cls.ablations for r in a.rules)]))

    @classmethod
    def table(cls, context: CheckContext) -> dict[Command, int]:
        """Return what sequences are generated from, simple commands first, with their weights."""
        found: dict[Command, int] = {}
        for name, row in cls.rows().items():
            if row.weight and name not in context.driver.absent and context.offers(*row.needs):
                arguments = row.arguments(context) if callable(row.arguments) else row.arguments
                found |= {Command(name, 0, argument): row.weight for argument in arguments}
        return found

    @classmethod
    def varied(cls, context: CheckContext, sequence: Commands) -> Commands:
        """Return a fixed sequence with items that differ in their fields, where it does not say which ones."""
        return sequence

    @classmethod
    def simpler(cls, command: Command) -> Iterable[int]:
        """Return the arguments that are simpler than that of a command, the simplest first."""
        return range(command.argument)

    @classmethod
    def way(cls, needed: Sequence[Command], fields: Iterable[str]) -> str:
        """Return what commands consist of.

        Args:
            needed: those of a sequence without which it does not fail, but for the one in which that shows.
            fields: those in which its items differ.
        """
        operations = filter(None, (cls.operations.get(command.name, command.name) for command in needed))
        return way_of(operations, [*(one for command in needed for one in cls.special(command)), *fields])

    @classmethod
    def special(cls, command: Command) -> Iterable[str]:
        """Return what is special about the item of a command, but not where it waits: other places would show the same."""
        return ("another queue",) if command.subject else ()

    @classmethod
    def may_have_items(cls, sequence: Iterable[Command]) -> bool:
        """Whether a command of a sequence may bring an item, so that it may matter what items differ in."""
        return any(_takes_argument(getattr(cls, command.name)) for command in sequence)

    @classmethod
    def prepare(cls, context: CheckContext) -> int:
        """Prepare for generated sequences; return how many may be run to shorten one that failed."""
        return ATTEMPTS

    @classmethod
    def failed(cls, context: CheckContext) -> None:
        """Prepare for ablations: a sequence has failed."""

    def do(self, command: Command) -> Any:
        """Run a command; its method gets the argument if it takes one."""
        method = getattr(type(self), command.name)
        return method(self, command.argument) if _takes_argument(method) else method(self)

    def cover_after(self) -> None:
        """Count the rules that a right item covers because of earlier events."""
        for event, rule in self.after.items():
            self.covered[rule] += event in self.events

    def about(self, rule: str) -> AbstractContextManager[None]:
        """Return a context in which an operation that raises, or does not return, fails this rule."""
        return self.context.recorder.attribute(rule)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Do something that is not part of the sequence: it leaves no steps, unless it fails."""
        steps = self.context.recorder.steps
        before = len(steps)
        yield
        del steps[before:]

    def drain(self) -> None:
        """Take out everything that is left, and compare."""

    def finish(self) -> None:
        """Compare everything that is left, and close."""

    def expect(
        self,
        rule: str,
        holds: Callable[..., object],
        *values: Any,
        expected: str = "",
        actual: str = "",
        **how: Any,
    ) -> None:
        """Test a rule.

        Args:
            holds: a lambda that is true if it passes; its parameters are variables of the script, and get the values.
            expected: what it asks for, in a few words, if the lambda does not say it well.
            actual: what came instead, in words, if not the first of the values.
            how: see :meth:`fail`.
        """
        if not total(holds, None)(*values):  # a value may be nothing that can be compared
            refuted = Refuted(Operations(self.context.recorder, self.sources), holds, values, expected)
            how.setdefault("difference", refuted.difference)
            self.fail(rule, refuted.expected, actual or Received(values[0]), [refuted.line()], **how)
        self.covered[rule] += 1

    def fail(self, rule: str, expected: str, actual: str | Received, tail: Sequence[str], **how: Any) -> NoReturn:
        """Report a rule as failed; see :meth:`CheckContext.fail`."""
        self.context.fail(rule, expected, actual, tail, **how)

    def expect_raises(
        self, rule: str, errors: tuple[type[BaseException], ...], operation: Callable[[], Any], *, final: bool = True
    ) -> BaseException:
        """Return what an operation, one recorded step, raises, if it is one of these errors.

        Args:
            final: whether nothing that came before may be to blame if it does not.

        Raises:
            RuleFailed: if it returns, or raises something else.
        """
        recorder = self.context.recorder
        self.covered[rule] += 1
        try:
            with recorder.attribute(rule):
                operation()
        except OperationRaised as raised:
            if isinstance(raised.error, errors):
                recorder.refused = True
                return raised.error
            actual = str(raised)
        else:
            actual = came_from(recorder.steps[-1])
        self.fail_unraised(rule, " or ".join(error.__name__ for error in errors), actual, final=final)

    def fail_unraised(self, rule: str, names: str, actual: str, expected: str = "", *, final: bool = True) -> NoReturn:
        """Report that the last step did not raise what it must.

        Args:
            names: the names of the classes that are right, as ``KeyError or ValueError``.
            actual: what came instead.
            expected: what it must raise, if these names do not say it well.
            final: whether nothing that came before may be to blame.
        """
        tail = must_raise(self.context.recorder.steps[-1].source, names)
        self.fail(rule, expected or names, actual, tail, replaces=True, final=final, difference=UNRAISED)

    def fail_among(
        self,
        rule: str,
        numbers: Iterable[int],
        value: Any,
        *,
        name: str = "popped",
        nothing: str = "None",
        unless: str = "",
        **how: Any,
    ) -> NoReturn:
        """Report that something else came than one of some items.

        Args:
            numbers: those of the items; none of them means ``nothing``.
            name: the variable of scripts that holds what came.
            unless: an expression; where it is true, a script accepts what came too.
            how: see :meth:`fail`.
        """
        driver = self.context.driver
        items = [driver.item(number) for number in dict.fromkeys(numbers)]
        received = next((item for item in items if item.number == driver.identify(value) and not driver.same(value, item)), None)
        if received:
            part, came, was = driver.altered(value, received)
            shown, operator = part.format(name), "is" if part == TYPE else "=="
            right, told = f"{shown} {operator} {part.format(received.source)}", Received(value, describe(came))
            expected = f"{shown} {operator} {was.__name__ if isinstance(was, type) else describe(was)}"
        else:
            shown, right, told = name, driver.among_source(name, items), Received(value)
            expected = " or ".join(item.source for item in items[:2]) + (" or another one" if len(items) > 2 else "")
        accepted = " or ".join(filter(None, (unless, right)))
        self.fail(rule, expected or nothing, told, [f"assert {accepted}, f'got {{{shown}!r}}'"], **how)

    def perform(self, function: Callable[..., T], *arguments: Any, name: str = "") -> T:
        """Call, as a step, a function that scripts quote; there its result is assigned to ``name``."""
        written = ", ".join(self.sources.of(argument) or describe(argument) for argument in arguments)
        self.context.recorder.note(f"{f'{name} = ' if name else ''}{function.__qualname__}({written})")
        return function(*arguments)

    def expect_count(self, rule: str, holds: Callable[..., object], count: object, expected: str = "", **how: Any) -> None:
        """Test a rule on a count as :meth:`expect` does, unless the contents are wrong: then the count may well be right."""
        with self.unless_contents_are_wrong():
            self.expect(rule, holds, count, expected=expected, **how)

    @contextmanager
    def unless_contents_are_wrong(self) -> Iterator[None]:
        """Before a count is reported as wrong, compare the contents, which may be the cause."""
        try:
            yield
        except RuleFailed as failure:
            with shown_by("drain"), suppress(NoMore):
                self.drain()
            raise failure from None


@cache
def _takes_argument(method: Callable[..., Any]) -> bool:
    return len(inspect.signature(method).parameters) > 1


def run(context: CheckContext, sequence: str, **options: Any) -> None:
    """Run a fixed sequence, as :func:`~queue_conformance.engine.sequences.commands` reads it, of the commands of the kind.

    Raises:
        RuleFailed: for a difference, attributed to a rule.
    """
    runner = runner_of(context, **options)
    runner.show(runner.kind.varied(context, commands(sequence)))


def machine(kind: type[Lockstep], kinds: Iterable[Kind] = (), name: str = "machine") -> None:
    """Register the check that generates sequences of commands; its rules are those that the table of the class can name."""
    specification, driven = load(), frozenset(kinds) or kinds_at(kind.__module__)

    def generated_sequences(context: CheckContext) -> None:
        explore(Runner(context, kind), kind.prepare(context))

    check(*(rule for rule in kind.rules() if specification[rule].kinds & driven), kinds=driven, name=name)(generated_sequences)
