"""Runs command sequences on an implementation and its model, and makes the shortest of those that fail."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Set
from functools import cached_property
from typing import TYPE_CHECKING, Any

from queue_conformance.engine.ablation import chain
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.naming import shortest
from queue_conformance.engine.outcomes import RuleFailed
from queue_conformance.engine.recording import OperationRaised
from queue_conformance.engine.registry import part_of
from queue_conformance.engine.sequences import Command, Commands, encode

if TYPE_CHECKING:
    from queue_conformance.engine.lockstep import Lockstep

ATTEMPTS = 200
"""Sequences that are run at most to find a shorter one that fails in the same way."""

SHORTENING = 10.0
"""Seconds after which no shorter form of one failure is looked for; only slow implementations come near."""

CLOSING = ("close", "reopen", "reopen_stale")
"""The commands that close: of what has no ``close``, nothing after them is tested."""

FINISH = "finish"
"""What the end of a sequence is called, in which everything that is left is compared."""


class Run:
    """A command sequence that is running: subjects and their models.

    Args:
        subjects: the numbers of those to open at the beginning; others are opened when they are first used.

    Attributes:
        commands: those that were run, and the one in progress.
        results: what they returned; the last command has none if it failed.
        at: the command in progress.
        before: the number of steps before it.
    """

    def __init__(self, runner: Runner, subjects: Iterable[int]) -> None:
        self._runner = runner
        self._context = runner.context
        self._waiting = list(subjects)
        self._open: dict[int, Lockstep] = {}
        self.commands: list[Command] = []
        self.results: list[Any] = []
        self.at: Command | None = None
        self.before = 0

    @property
    def subjects(self) -> list[int]:
        """The numbers of the subjects that were opened, in order."""
        return list(self._open)

    def fields_of(self, number: int) -> Mapping[str, str]:
        """Return the fields that the item of a number has."""
        found: Mapping[str, str] = self._context.driver.fields_of(number)
        return found

    def step(self, command: Command) -> None:
        """Run one command."""
        self.at = command
        self.commands.append(command)
        try:
            self._enter([*self._waiting, command.subject])
            self.before = len(self._context.recorder.steps)
            row = self._runner.rows[command.name]
            offered = not row.needs or self._context.offers(*row.needs)
            self.results.append(self._open[command.subject].do(command) if offered else None)
        except OperationRaised as raised:
            raise self._context.unexpected(raised) from raised
        except Exception as error:
            self._look_into(error)
            raise

    def through(self, sequence: Commands) -> None:
        """Run all commands of a sequence, and finish."""
        for command in sequence:
            self.step(command)
        self.finish()

    def finish(self) -> None:
        """Compare everything that is left in the subjects, and close them."""
        try:
            self._enter(self._waiting)
            for number, subject in self._open.items():
                self.at, self.before = Command(FINISH, number), len(self._context.recorder.steps)
                subject.finish()
        except OperationRaised as raised:
            raise self._context.unexpected(raised) from raised
        except Exception as error:
            self._look_into(error)
            raise

    def _look_into(self, error: Exception) -> None:
        """Report an exception that is due to what an operation returned."""
        if failure := self._context.mishandled(error):
            raise failure from error

    def _enter(self, numbers: Iterable[int]) -> None:
        make: Callable[..., Lockstep] = self._runner.kind
        for number in numbers:
            if number not in self._open:
                self._open[number] = make(self._context, number, **self._runner.options)


class Runner:
    """Runs command sequences in lockstep, attributes their failures, and shortens them.

    Attributes:
        known: rules that are known to fail; what one of them may explain is not blamed on another.
        masked: rules whose failures do not count in an ablation.
    """

    def __init__(self, context: CheckContext, kind: type[Lockstep], **options: Any) -> None:
        self.context = context
        self.kind = kind.of(context)
        self.rows = self.kind.rows()
        self.options = options
        self.ran: Counter[str] = Counter()
        self.known: Set[str] = frozenset()
        self.masked: Set[str] = frozenset()
        self._tried: dict[tuple[Commands, tuple[int, ...] | None], bool] = {}
        self._attributed = ""  # the rule of the failure that is attributed

    @cached_property
    def table(self) -> dict[Command, int]:
        """What sequences are generated from, with weights."""
        found = self.kind.table(self.context)
        if self.context.recorder.unclosed:
            return {command: weight for command, weight in found.items() if command.name not in CLOSING}
        return found

    def begin(self, sequence: Commands = (), subjects: Iterable[int] | None = None) -> Run:
        """Begin a run, with these subjects open, or those that the sequence uses."""
        self.context.restart(encode(sequence))
        if subjects is None:
            subjects = dict.fromkeys(command.subject for command in sequence)
        return Run(self, subjects)

    def run(self, sequence: Commands) -> None:
        """Run a sequence.

        Raises:
            RuleFailed: for the first difference between implementation and model, attributed to a rule.
        """
        run = self.begin(sequence)
        try:
            run.through(sequence)
        except RuleFailed as failure:
            is_first = not self.context.earlier
            failure.at_end = run.at is None or run.at.name == FINISH
            needed = run.commands if failure.at_end else run.commands[:-1]  # the last one only shows it
            attributed = self.attribute(run, failure)
            attributed.survived |= failure.deferred and attributed.rule == failure.rule
            fields = attributed.varied if self.kind.may_have_items(run.commands) else ()
            attributed.way = self.kind.way(needed, fields)
            if is_first:
                self.context.first = attributed
            raise attributed from None
        finally:
            self.ran.update(command.name for command in run.commands)

    def passes(self, sequence: Commands, subjects: Iterable[int] | None = None) -> bool:
        """Whether a sequence runs without a failure, other than masked ones; what it covers does not count."""
        covered, self.context.covered = self.context.covered, Counter()
        try:
            self.begin(sequence, subjects).through(sequence)
        except RuleFailed as failure:
            deferred = failure.deferred and failure.rule != self._attributed
            return failure.survived or deferred or failure.rule in self.masked
        finally:
            self.context.covered = covered
        return True

    def failure_of(self, sequence: Commands) -> RuleFailed | None:
        """Return how a sequence fails, if it does, attributed to no other rule; what it covers does not count."""
        covered, self.context.covered = self.context.covered, Counter()
        try:
            self.begin(sequence).through(sequence)
        except RuleFailed as failure:
            return failure
        finally:
            self.context.covered = covered
        return None

    def cures(self, sequence: Commands, subjects: tuple[int, ...] | None) -> bool:
        """Whether a sequence :meth:`passes`; each one is tried once for each failure."""
        if (sequence, subjects) not in self._tried:
            self._tried[sequence, subjects] = self.passes(sequence, subjects)
        return self._tried[sequence, subjects]

    def always_cures(self, failure: RuleFailed, tries: Iterable[object]) -> bool:
        """Whether what a failure was attributed to by ablation is what it takes: its sequence passes without it in each try."""
        run = Run(self, ())
        run.commands = list(failure.sequence or ())
        rows = (row for row in self.kind.ablations if row.rule == failure.rule)
        without = [change(run) for row in rows for change in row.changes]
        return failure.sequence not in without and all(self.passes(each) for _ in tries for each in without)

    def attribute(self, run: Run, failure: RuleFailed) -> RuleFailed:
        """Return a failure with its sequence, attributed to the rule that it belongs to."""
        failure.sequence = tuple(run.commands)
        if failure.shown_by and run.at is not None:
            run.at = run.at._replace(name=failure.shown_by)
            failure.operation = self.kind.operations.get(failure.shown_by, failure.shown_by)
        else:
            failure.operation = failure.operation or self.context.own_operation(failure.steps[run.before :])
        if failure.final or failure.survived or failure.rule in self.known:
            return failure
        self._tried.clear()
        self._attributed = failure.rule
        self.kind.failed(self.context)
        found = None
        for ablation in self.kind.ablations:
            if rule := ablation.names(self, run, failure):
                found = found or rule
                if not self.known or rule in self.known:
                    return failure.as_rule(rule, final=False)
        if together := self._together(run):
            return failure.as_rule(together, final=False)
        return failure.as_rule(found, final=False) if found else failure

    def _together(self, run: Run) -> str | None:
        """Return a known rule if several of them together explain a failure that none explains alone.

        Only those count whose factors the sequence has: without a cancellation it says nothing of cancellations.
        """
        known = (row for row in self.kind.ablations if row.changes and self.known & set(row.rules))
        rows = [row for row in known if row.changes[0](run) != tuple(run.commands)]
        reduced, several = chain(*(row.changes[0] for row in rows))(run), len({row.rules for row in rows}) > 1
        return rows[0].rules[0] if several and self.cures(reduced, tuple(run.subjects)) else None

    def show(self, sequence: Commands) -> None:
        """Run a fixed sequence, and shorten it if it fails.

        A failure that the sequence survived is kept on the context.

        Raises:
            RuleFailed: for any other difference between implementation and model, attributed to a rule.
        """
        try:
            self.run(sequence)
        except RuleFailed as failure:
            if not failure.survived:
                raise shortest(self, failure, ATTEMPTS) from None
            known = failure.rule in self.context.failed
            self.context.keep(failure if known else shortest(self, failure, ATTEMPTS))

    def shortened(
        self, failure: RuleFailed, attempts: int = ATTEMPTS, meet: Callable[[RuleFailed], object] = lambda other: None
    ) -> RuleFailed:
        """Make items plain, leave out commands, then make arguments smaller, as long as the same failure shows.

        What the end of the sequence shows, too, is told as it shows there: which operation comes upon it first is chance.

        Args:
            meet: gets other failures.
        """
        self.context.stop_if_shared()
        began = self.context.watchdog.now
        costs = self.context.recorder.costs
        deadline = began + costs.left(SHORTENING)
        hindered = False  # whether something else failed before the command that shows it
        at_once: RuleFailed | None = None  # as it fails by the first command

        def fails(sequence: Commands) -> bool:
            nonlocal failure, attempts, hindered
            attempts -= 1
            if attempts < 0 or self.context.watchdog.now >= deadline or self.context.run_time.over:
                return False
            self.context.watchdog.count()
            try:
                self.run(sequence)
            except RuleFailed as other:
                if other.finding == failure.finding:
                    if at_once and other.at_end:
                        return False  # so does each sequence
                    failure = other
                    return True
                hindered |= not other.at_end
                meet(other)
            except Exception:  # what the check meets otherwise, it meets in the sequence itself
                attempts = 0
            return False

        def sequence() -> Commands:
            return failure.sequence or ()

        with self.context.unnoticed(), self.context.driver.varying(failure.varied):
            failure = self._at_the_end(failure)
            self._make_plain(sequence, fails)
            at_once = self._at_once(failure)
            before: Commands = ()
            while before != sequence() and not (at_once and failure.at_end):  # a smaller argument may make a command needless
                before = sequence()
                self._leave_out(sequence, fails)
                self._make_smaller(sequence, fails)
            if at_once and (failure.at_end or hindered or attempts < 0 or self.context.watchdog.now >= deadline):
                failure = at_once
            self._try_fields(failure, deadline)
        costs.shortening += self.context.watchdog.now - began
        return failure

    def plain(self, failure: RuleFailed) -> RuleFailed:
        """Return how a sequence fails in the same way with items in which less differs, if it does."""
        found = failure

        def fails(sequence: Commands) -> bool:
            nonlocal found
            other = self.tried_as(sequence)
            if other is None or other.finding != failure.finding:
                return False
            found = other
            return True

        with self.context.unnoticed(), self.context.driver.varying(failure.varied):
            self._make_plain(lambda: failure.sequence or (), fails)
            self._try_fields(found, math.inf)
        return found

    def _make_plain(self, sequence: Callable[[], Commands], fails: Callable[[Commands], bool]) -> None:
        """Let items differ in less."""
        for _ in self.context.driver.simpler():
            if fails(sequence()):
                break

    def _try_fields(self, failure: RuleFailed, deadline: float) -> None:
        """Try whether the fields in which items differ matter for a failure, if there is time."""

        def fails() -> bool | None:
            if self.context.watchdog.now >= deadline or self.context.run_time.over:
                return None
            try:
                self.run(failure.sequence or ())
            except RuleFailed as other:
                return other.finding == failure.finding or None
            except Exception:  # which says nothing of these items
                return None
            return False

        failure.fields_matter = self.context.driver.fields_matter(fails)

    def _at_the_end(self, failure: RuleFailed) -> RuleFailed:
        """Return how a sequence fails at its end without its last command, unless all end so; otherwise, the failure."""
        if failure.at_end or failure.final or len(failure.sequence or ()) < 2:
            return failure
        shown = self.tried_as((failure.sequence or ())[:-1])
        return shown if shown and shown.at_end and not shown.survived and not self._at_once(shown) else failure

    def _at_once(self, failure: RuleFailed) -> RuleFailed | None:
        """Return the same failure by the first command of a sequence, if there is one."""
        named = [each for each in self.table if self.kind.operations.get(each.name, each.name) == failure.failing_operation]
        alone = (failure.sequence or ())[-1:] if not failure.at_end else tuple(named[:1])
        shown = self.tried_as(alone) if alone else None
        return shown if shown and shown.finding == failure.finding and not shown.at_end else None

    def tried_as(self, sequence: Commands) -> RuleFailed | None:
        """Return how a sequence fails, attributed to a rule, or ``None``."""
        try:
            self.run(sequence)
        except RuleFailed as failure:
            return failure
        except Exception:  # what the check meets otherwise, it meets in the sequence itself
            return None
        return None

    def _leave_out(self, sequence: Callable[[], Commands], fails: Callable[[Commands], bool]) -> None:
        """Leave out commands, many at once and then each by itself."""
        size = len(sequence()) // 2 or 1
        while size:
            before, place = sequence(), len(sequence())
            while place > 0:
                fails(sequence()[: max(0, place - size)] + sequence()[place:])
                place = min(place - size, len(sequence()))
            size = size // 2 if size > 1 or sequence() == before else size

    def _make_smaller(self, sequence: Callable[[], Commands], fails: Callable[[Commands], bool]) -> None:
        """Make arguments smaller."""
        place = 0
        while place < len(sequence()):  # which may fail sooner with a smaller argument
            for argument in self.kind.simpler(sequence()[place]):
                smaller = sequence()[place]._replace(argument=argument)
                if smaller in self.table and fails((*sequence()[:place], smaller, *sequence()[place + 1 :])):
                    break
            place += 1


def runner_of(context: CheckContext, **options: Any) -> Runner:
    """Return a runner of the command sequences of the context's kind."""
    return Runner(context, part_of(context.implementation.kind, "commands").LOCKSTEP, **options)
