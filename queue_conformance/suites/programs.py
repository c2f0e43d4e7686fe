"""Programs: lists of operations on queues, played on the implementation and on its oracle side by side.

A difference in state (an item lost, an order changed, a wrong count) shows late, and has many possible causes. It is
attributed by experiment: the same program is played again without its peeks, its refused pushes, its reopenings and so
on; the first of these whose absence makes the difference vanish names the rule.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence, Set
from typing import Any, NamedTuple

from queue_conformance.implementations.recording import OperationRaised
from queue_conformance.suites.bench import Bench
from queue_conformance.suites.outcomes import RuleBroken


class Operation(NamedTuple):
    """One operation of a program.

    Attributes:
        name: a method of the pair that plays it, such as ``push``.
        queue: the number of the queue, for programs on several.
        item: the number of the item to push, or of the cause of a refusal.
    """

    name: str
    queue: int = 0
    item: int = 0


Program = tuple[Operation, ...]

SHORTENING = 10.0
"""Seconds after which no shorter form of a program that a check prescribes is looked for; only slow queues come near."""


def program(text: str) -> Program:
    """Read a program from its short form.

    Args:
        text: operations separated by blanks: ``push:3`` pushes item 3, ``1.pop`` pops from queue 1, ``reopen`` ...
    """
    operations = []
    for word in text.split():
        queue, dot, rest = word.rpartition(".")
        name, _, item = rest.partition(":")
        operations.append(Operation(name, int(queue) if dot else 0, int(item or 0)))
    return tuple(operations)


def encode(operations: Program) -> str:
    """Return a program as JSON."""
    return json.dumps(operations)


def decode(text: str) -> Program:
    """Return the program that :func:`encode` made the text of."""
    return tuple(Operation(*operation) for operation in json.loads(text))


class Play:
    """One program on its way: queues with their oracles.

    Args:
        bench: where the check works.
        make_pair: opens queue number n with its oracle.
        queues: the queues to open at the beginning; others are opened when they are first used.

    Attributes:
        played: the operations so far.
        results: what they returned; nothing of one that failed, which is the last.
        at: the operation in progress.
    """

    def __init__(self, bench: Bench, make_pair: Callable[[Bench, int], Any], queues: Iterable[int]) -> None:
        self._bench = bench
        self._make_pair = make_pair
        self._waiting = list(queues)
        self._pairs: dict[int, Any] = {}
        self.played: list[Operation] = []
        self.results: list[Any] = []
        self.at: Operation | None = None

    @property
    def queues(self) -> list[int]:
        """The queues that were opened, in order."""
        return list(self._pairs)

    def step(self, operation: Operation) -> None:
        """Play one operation.

        Raises:
            RuleBroken: at a difference between implementation and oracle.
        """
        self.at = operation
        self.played.append(operation)
        try:
            self._open([*self._waiting, operation.queue])
            self.results.append(getattr(self._pairs[operation.queue], operation.name)(operation.item))
        except OperationRaised as raised:
            raise self._bench.unexpected(raised) from raised

    def without(self, name: str, result: object) -> Program:
        """Return what was played without the operations of a name that returned that result."""
        results = [*self.results, *[...] * (len(self.played) - len(self.results))]
        pairs = zip(self.played, results, strict=True)
        return tuple(operation for operation, found in pairs if operation.name != name or found is not result)

    def finish(self) -> None:
        """Compare everything that is left in the queues, and close them.

        Raises:
            RuleBroken: at a difference between implementation and oracle.
        """
        try:
            self._open(self._waiting)
            for number, pair in self._pairs.items():
                self.at = Operation("finish", number)
                pair.finish()
        except OperationRaised as raised:
            raise self._bench.unexpected(raised) from raised

    def _open(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            if number not in self._pairs:
                self._pairs[number] = self._make_pair(self._bench, number)


class Experiment(NamedTuple):
    """What to change in a failing program, and which rule is broken if the failure then vanishes.

    Attributes:
        without: returns the program without the factor; the same program if this says nothing about the failure.
        rule: returns the rule, or ``None`` if this says nothing about the failure.
        alone: whether only the queues that the program uses are opened, and not all that were open.
    """

    without: Callable[[Play], Program]
    rule: Callable[[Player, Play, RuleBroken], str | None]
    alone: bool = False


class Player:
    """Plays programs, and attributes their failures.

    Args:
        bench: where the check works.
        make_pair: opens queue number n with its oracle.
        experiments: how failures of state are attributed, tried in turn.
        table: what programs are drawn from, simple operations first.

    Attributes:
        bench: where the check works.
        table: what programs are drawn from.
        played: how many operations of each name were played.
        known: rules that are known to be broken; what one of them may explain is not blamed on another.
        excused: rules whose failures do not count in an experiment.
    """

    def __init__(
        self,
        bench: Bench,
        make_pair: Callable[[Bench, int], Any],
        experiments: Sequence[Experiment],
        table: Sequence[Operation],
    ) -> None:
        self.bench = bench
        self.table = table
        self.played: Counter[str] = Counter()
        self.known: Set[str] = frozenset()
        self.excused: Set[str] = frozenset()
        self._make_pair = make_pair
        self._experiments = experiments

    def begin(self, operations: Program = (), queues: Iterable[int] | None = None) -> Play:
        """Begin a program.

        Args:
            operations: what will be played, as far as it is known.
            queues: the queues to open at the beginning, if not those that the operations use.
        """
        self.bench.restart(encode(operations))
        if queues is None:
            queues = dict.fromkeys(operation.queue for operation in operations)
        return Play(self.bench, self._make_pair, queues)

    def play(self, operations: Program) -> None:
        """Play a program.

        Raises:
            RuleBroken: for the first difference between implementation and oracle, attributed to a rule.
        """
        play = self.begin(operations)
        try:
            for operation in operations:
                play.step(operation)
            play.finish()
        except RuleBroken as failure:
            is_first = not self.bench.earlier
            attributed = self.attribute(play, failure)
            if is_first:
                self.bench.first = attributed
            raise attributed from None
        finally:
            self.played.update(operation.name for operation in play.played)

    def show(self, operations: Program) -> None:
        """Play a program that a check prescribes; of one that fails, no operation is shown that the failure does not need.

        A failure that the program survived is kept on the bench.

        Raises:
            RuleBroken: for any other, the first difference between implementation and oracle, attributed to a rule.
        """
        try:
            self.play(operations)
        except RuleBroken as failure:
            shortened = self._shortened(failure)
            if not failure.survived:
                raise shortened from None
            self.bench.keep(shortened)

    def _shortened(self, failure: RuleBroken) -> RuleBroken:
        """Leave out one operation after the other, as long as the same rule fails from the same cause."""
        deadline = self.bench.flight.now + SHORTENING
        examined, broken, notes = self.bench.examined.copy(), dict(self.bench.broken), list(self.bench.notes)
        others = {rule: list(kept.others) for rule, kept in broken.items()}
        place = len(failure.program or ()) - 1
        while place >= 0 and self.bench.flight.now < deadline:
            program = failure.program or ()
            try:
                self.play(program[:place] + program[place + 1 :])
            except RuleBroken as shorter:
                if (shorter.rule, shorter.cause, shorter.actual) == (failure.rule, failure.cause, failure.actual):
                    failure = shorter
            except Exception:  # what a check meets otherwise is met in the program itself
                break
            place = min(place, len(failure.program or ())) - 1
        self.bench.examined.clear()
        self.bench.examined.update(examined)
        self.bench.broken.clear()
        self.bench.broken.update(broken)
        for rule, kept in broken.items():
            kept.others = others[rule]
        self.bench.notes[:] = notes
        return failure

    def attribute(self, play: Play, failure: RuleBroken) -> RuleBroken:
        """Find the rule that a failure belongs to.

        Args:
            play: the play that failed.
            failure: how it failed.

        Returns:
            The failure, with its program, attributed to the right rule.
        """
        failure.program = tuple(play.played)
        if failure.shown_by and play.at is not None:
            play.at = play.at._replace(name=failure.shown_by)
        if failure.final or failure.survived or failure.rule in self.known:
            return failure
        found = None
        for experiment in self._experiments:
            if rule := self._named_by(experiment, play, failure):
                found = found or rule
                if not self.known or rule in self.known:
                    return failure.as_rule(rule, final=False)
        return failure.as_rule(found, final=False) if found else failure

    def _named_by(self, experiment: Experiment, play: Play, failure: RuleBroken) -> str | None:
        """Return the rule that an experiment attributes a failure to."""
        reduced = experiment.without(play)
        if reduced == failure.program or not self.passes(reduced, None if experiment.alone else play.queues):
            return None
        rule = experiment.rule(self, play, failure)
        return rule if rule is not None and self.bench.applies(rule) else None

    def passes(self, operations: Program, queues: Iterable[int] | None = None) -> bool:
        """Whether a program plays without a failure, excused ones aside; what it examines does not count.

        Args:
            operations: the program.
            queues: the queues to open at the beginning, if not those that the operations use.
        """
        examined = self.bench.examined.copy()
        play = self.begin(operations, queues)
        try:
            for operation in operations:
                play.step(operation)
            play.finish()
        except RuleBroken as failure:
            return failure.survived or failure.rule in self.excused
        finally:
            self.bench.examined.clear()
            self.bench.examined.update(examined)
        return True


def drop(*names: str) -> Callable[[Play], Program]:
    """Return what leaves out the operations with these names, unless the failure showed in one of them."""

    def without(play: Play) -> Program:
        if play.at is not None and play.at.name in names:
            return tuple(play.played)
        return tuple(operation for operation in play.played if operation.name not in names)

    return without


def without_reopening(play: Play) -> Program:
    """Replace reopenings by what is left of them without the close: a look at the length."""
    kept = (o._replace(name="length") if o.name in ("reopen", "open") else o for o in play.played)
    return tuple(operation for operation in kept if operation.name != "close")


def without_empty_pops(play: Play) -> Program:
    """Leave out the pops that found nothing."""
    return play.without("pop", None)


def always(rule: str) -> Callable[[Player, Play, RuleBroken], str]:
    """Return what names the same rule for every failure."""
    return lambda _player, _play, _failure: rule
