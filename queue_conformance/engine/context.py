"""The context of a check: its driver, what it expects, and what came of that."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from queue_conformance.engine import leaks
from queue_conformance.engine.budget import Budget
from queue_conformance.engine.handling import last_returned, mishandled
from queue_conformance.engine.outcomes import (
    RETURNS,
    SUCCESS,
    FailedAmongOthers,
    NotAlone,
    NotCovered,
    Received,
    RuleFailed,
    TimeIsOver,
    TooSlow,
    own_operation,
)
from queue_conformance.engine.recording import OperationRaised, Recorder, Step, call_of, describe, grounds_of, is_a
from queue_conformance.engine.registry import make_driver
from queue_conformance.engine.scripts import lines_with, where_stored
from queue_conformance.engine.sequences import USUAL, Commands, Drawing
from queue_conformance.engine.shown import NOTHING_SHOWN, Shown
from queue_conformance.faults.backend import Backend
from queue_conformance.implementation import Implementation
from queue_conformance.loops import Endless
from queue_conformance.processes.isolation import Watchdog
from queue_conformance.processes.stopwatch import WITHOUT_END, RunTime
from queue_conformance.specification import Level, Specification, load
from queue_conformance.specification.words import shortened

T = TypeVar("T")


@dataclass
class CheckContext:
    """What a check works with.

    Attributes:
        examples: how many sequences or requests to draw.
        crawls: how many graphs of pages to crawl for one rule.
        drawing: how long sequences are, and for how long they are generated.
        replay: a sequence that failed before, which a machine runs instead of drawn ones, or ``None``.
        blamed: by the cause, the rules that this sequence was known to fail.
        check: the name of the check.
        way: what failures need: the check, and its case if it has several.
        backend: the server behind the queue and the proxy before that, if there is one.
        timeout: seconds that a queue gets to find out that its server is back.
        time_limit: seconds that one operation may take in a process that the check itself starts.
        isolated: whether this process runs nothing but checks.
        shared: whether it runs other checks after this one.
        moves: whether the working directory is the scratch directory of the sequence, so that nothing in it outlives that.
        earlier: how many sequences were run in this process before the present one.
        first: the failure of the first sequence of this process, if it failed, with all of its operations.
        drawn: how many sequences were drawn and run.
        ran: how many commands of each name they had, also of those that none had.
        shown: what the crawls of the class have shown by now.
        shown_before: what those of earlier checks have.
        run_time: how long the run may take.
        stands_still: whether one of this check waited for its scheduler until its time was over.
        attempt: which one to fail with less this is; each is told anew, however alike it fails.
    """

    implementation: Implementation
    directory: Path
    watchdog: Watchdog
    seed: int = 0
    examples: int = 100
    crawls: int = 3
    drawing: Drawing = USUAL
    replay: Commands | None = None
    blamed: Mapping[str, Sequence[str]] = field(default_factory=dict)
    check: str = ""
    way: str = ""
    backend: Backend | None = None
    timeout: float = 2.0
    time_limit: float = 10.0
    isolated: bool = False
    shared: bool = False
    moves: bool = False
    specification: Specification = field(default_factory=load)
    covered: Counter[str] = field(default_factory=Counter)
    failed: dict[str, RuleFailed] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    earlier: int = 0
    first: RuleFailed | None = None
    drawn: int = 0
    ran: Mapping[str, int] = field(default_factory=dict)
    shown: Shown = NOTHING_SHOWN
    run_time: RunTime = WITHOUT_END
    stands_still: bool = False
    attempt: int = 0
    _workdirs: int = 0

    def __post_init__(self) -> None:
        self.shown_before = self.shown
        self.recorder = Recorder(self.watchdog)
        self.driver: Any = make_driver(self.implementation, self.directory, self.recorder)
        self.driver.impatient = self.shared
        self.driver.vary(self.driver.fields)
        self.recorder.judged = self.judged
        self._files = leaks.in_use()
        self.reserve = leaks.Reserve()
        self.restart()

    def owns_process(self) -> bool:
        """Return whether this process runs nothing but the check, and may be changed for good; raise NotAlone if it is shared."""
        if self.shared:
            raise NotAlone
        return self.isolated

    def stop_if_shared(self) -> None:
        """End a check that failed in a process which it shares."""
        if self.shared:
            raise FailedAmongOthers

    def restart(self, sequence: str = "") -> None:
        """Begin again: no steps, an empty directory; ``sequence`` is run next, in a form that can be run again.

        Raises:
            RuleFailed: if what was done before has left no descriptor.
        """
        if leak := self.leak():
            raise leak
        self.earlier += bool(self.recorder.steps)
        self.recorder.restart(sequence)
        if not self._reenters():
            self.enter_another()
        self.driver.renew(self.directory / str(self._workdirs))
        if self.backend is not None:
            self.backend.recover()
            self.backend.forget()

    def _reenters(self) -> bool:
        """Work in the directory of the last sequence again, if that has left it empty, and return whether it has.

        To make and remove one takes as long as half a sequence in memory.
        """
        if self.driver.own_directory or self.offers("persistent"):
            return False
        with suppress(OSError):
            if not os.listdir(workdir := self.directory / str(self._workdirs)):
                if self.moves:
                    os.chdir(workdir)
                return True
        return False

    def enter_another(self) -> Path:
        """Make an empty directory, and work there where the working directory may be changed."""
        self._workdirs += 1
        workdir = self.directory / str(self._workdirs)
        workdir.mkdir()
        if self.moves:
            os.chdir(workdir)
        return workdir

    @property
    def budget(self) -> Budget:
        """How much of its usual time a loop has."""
        return Budget(self.implementation.cost, self.run_time.seconds)

    def each(
        self, unit: str, things: Collection[T], seconds: float = math.inf, fewest: int = 0, share: float = 1.0
    ) -> Iterator[T]:
        """Yield things one by one, and show progress; no more of them where they take long.

        Args:
            unit: what they are, in the plural.
            things: what to yield.
            seconds: how long that may take with an ordinary class.
            fewest: how many must be yielded, even if that takes as long with a slow one.
            share: the share of this time that is asked for.

        Raises:
            TimeIsOver: if the run has no more time.
            NotCovered: if even so many take too long.
        """
        began, most = self.watchdog.now, self.budget.seconds(seconds) * share
        self.watchdog.aim(unit, len(things), began + most if math.isfinite(most) else 0.0)
        for number, thing in enumerate(things):
            self.go_on()
            passed = self.watchdog.now - began
            if passed > most and number >= fewest:
                told = f"because they take more than {most:g} s{self.budget.more}"
                self.notes.append(f"{self.check}: {number} of {len(things)} {unit}, {told}")
                return
            if passed > seconds * max(1.0, share):
                raise NotCovered(f"{fewest} {unit} take more than {seconds:g} s")
            yield thing
            self.watchdog.count()

    def go_on(self) -> None:
        """Raise TimeIsOver if the run has no more time."""
        if self.run_time.over:
            raise TimeIsOver(str(self.run_time))

    def open(self, *arguments: Any, **options: Any) -> Any:
        """Build a queue; see the driver."""
        return self.driver.open(*arguments, **options)

    def offers(self, *capabilities: str) -> bool:
        """Whether the implementation has all these capabilities."""
        return self.implementation.capabilities.names.issuperset(capabilities)

    def applies(self, rule: str) -> bool:
        """Whether this implementation is held to a rule."""
        found = self.specification[rule]
        asked = self.implementation.kind in found.kinds and self.implementation.profile in found.profiles
        return asked and self.offers(*found.needs) and found.unless.isdisjoint(self.implementation.capabilities.names)

    def has_tested(self, rule: str) -> bool:
        """Whether something has shown by now that a rule passes, or fails."""
        return self.covered[rule] > 0 or rule in self.failed

    def attributed(self, rule: str) -> str:
        """Return a rule, or the one that fails instead because it does not apply."""
        return rule if self.applies(rule) else str(self.driver.instead.get(rule, rule))

    def judged(self, rule: str) -> str:
        """Return a rule, or the one that fails instead because a fault, or a refusal, may be why."""
        on_faults = self.driver.fault_rule
        if on_faults and self.recorder.refused and rule == self.driver.leak_rule:  # it raises again at the close
            return str(on_faults)
        found = self.specification.get(rule)
        if self.recorder.faulty and found is not None and found.excludes_faults:
            return on_faults or self.recorder.main_rule or rule
        return rule

    def describe(self, value: object) -> str:
        """Return a representation without the scratch directory of this check, which differs from run to run."""
        text = describe(value, 1000).replace(f"{self.driver.directory}/", "")
        return shortened(text, both_ends=is_a(value, BaseException))

    def learn(self, failed: Iterable[str], loses: bool = False) -> None:
        """Note what the crawls of the class have shown, if these failed rules, or one of them, are MUST rules."""
        if any(self.specification[rule].level is Level.MUST for rule in failed):
            self.shown |= Shown(in_vain=self.stands_still, loses=loses)

    def fail(
        self,
        rule: str,
        expected: str,
        actual: str | Received,
        tail: Sequence[str] = (),
        *,
        replaces: bool = False,
        final: bool = False,
        write: Callable[[], Sequence[str]] | None = None,
        difference: str = "",
        operation: str = "",
    ) -> NoReturn:
        """Report a rule as failed.

        Args:
            expected: what it asks for, in a few words.
            actual: what came instead, or a text about it.
            tail: lines of a script, after the steps, that fail if the rule failed; none if the last step does.
            replaces: the tail replaces the last step.
            final: no ablation can attribute the failure to another rule.
            write: returns the lines of a script to use instead of the steps and the tail.
            difference: how what came differs, in words that are the same whatever items they are about.
            operation: the one that returned it, where that is not the first of a command.
        """
        actual, steps = self._received(actual) if isinstance(actual, Received) else actual, self._steps()
        failure = self.failure(rule, expected, actual, steps, write or partial(lines_with, steps, tail, replaces))
        failure.final, failure.difference, failure.operation = final, difference, operation
        raise failure

    def failure(
        self, rule: str, expected: str, actual: str, steps: Sequence[Step], write: Callable[[], Sequence[str]] | None
    ) -> RuleFailed:
        """Return a failure of a rule, or of the one that fails instead; raise TooSlow as :meth:`excuse` does."""
        self.excuse()
        named = self.judged(self.attributed(rule))
        told = {"last": self.own_operation(steps[-1:]), "way": self.way, "varied": self.driver.varied}
        return RuleFailed(named, expected, actual, steps, write or partial(lines_with, steps), **told)

    def own_operation(self, steps: Iterable[Step]) -> str:
        """Return the first operation of the implementation that some steps call, or ``""``."""
        return next(filter(None, (own_operation(step.source, self.implementation.cls) for step in steps)), "")

    def _received(self, actual: Received) -> str:
        """Describe a value, an item of the pool by its source, with the operation that returned it."""
        value = actual.value
        number = self.driver.identify(value)
        known = number is not None and self.driver.same(value, self.driver.item(number))
        text = actual.part or (self.driver.item(number).source if known else describe(value))
        step = next((step for step in reversed(self.recorder.steps) if step.result is value), None)
        return f"{text} from {call_of(step)}" if step else text

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Keep the failure of a rule and go on, so that one check can test many cases."""
        try:
            yield
        except OperationRaised as raised:
            self.keep(self.unexpected(raised))
        except RuleFailed as failure:
            self.keep(failure)

    def keep(self, failure: RuleFailed) -> None:
        """Keep the first failure of a rule, and others of that rule beside it.

        Raises:
            NoMore: if it came after a close that was none.
        """
        if self.recorder.unclosed:
            self.recorder.unclosed.expect_open()
        self.stop_if_shared()
        known = self.failed.setdefault(failure.rule, failure)
        for other in (failure, *failure.others):
            known.add(other)

    def unexpected(self, raised: OperationRaised, write: Callable[[], Sequence[str]] | None = None) -> RuleFailed:
        """Turn an exception of the implementation into the failure of the rule that forbids it.

        Args:
            write: returns the lines of a script to use instead of the steps.

        Raises:
            TooSlow: if it is a time-out for which only the speed of this machine can be the reason.
        """
        self.excuse(raised.error)
        if leak := self.leak(raised.error, write):
            return leak
        told = f"{self.describe(raised.error)} raised by {call_of(raised.step)}{grounds_of(raised.error, self.describe)}"
        expected, actual = raised.expected or SUCCESS, told
        if isinstance(raised.error, Endless):
            expected, actual = RETURNS, f"{call_of(raised.step)} {str(raised.error).removeprefix('it ')}"
        return self.failure(raised.rule, expected, actual, self._steps(), write)

    def leak(self, error: BaseException | None = None, write: Callable[[], Sequence[str]] | None = None) -> RuleFailed | None:
        """Return the failure of a class that has left no descriptor, although a right one needs no more than a few of them.

        Args:
            error: what was raised, if something was.
            write: returns the lines of a script that does what was done, if that is not what the steps say.
        """
        if not self.driver.leak_rule or self.recorder.unclosed or not leaks.lacking(error):
            return None
        left, steps = leaks.in_use() - self._files, [*self.recorder.steps]
        if left <= leaks.most_in(steps, self.driver.builder_name):
            return None
        done = write or partial(lines_with, steps)

        def counting() -> Sequence[str]:
            return ["files = open_files()", *done(), f"assert open_files() - files < {left // 2}"]

        expected, actual = "a few open files", f"{left} files left open, and none can be opened"
        failure = self.failure(self.driver.leak_rule, expected, actual, steps, counting)
        failure.final = True
        return failure

    def mishandled(self, error: Exception) -> RuleFailed | None:
        """Return the failure that an exception stands for if it is due to what an operation in lockstep returned."""
        told, step = mishandled(error, self.recorder.steps, anywhere=True), last_returned(self.recorder.steps)
        if told is None or step is None:
            return None
        variable, assigned, _ = step.source.strip().partition(" = ")
        tail = [f"look_at({variable})"] if assigned and variable.isidentifier() else []
        steps = self._steps()
        return self.failure(self.recorder.rule, *told, steps, partial(lines_with, steps, tail))

    def _steps(self) -> list[Step]:
        """Return what was done, in the scratch directory if something was stored in the working directory."""
        return where_stored(self.recorder.steps, self.driver.directory) if self.moves else [*self.recorder.steps]

    def excuse(self, error: BaseException | None = None) -> None:
        """Raise TooSlow if an error is a time-out, or a client waited for no answer, although no fault has hit the server."""
        if self.backend is None or self.backend.harmed:
            return
        if self.backend.deserted:
            raise TooSlow("the server answers too slowly here for the queue, whose client did not wait for an answer")
        found = error
        while found is not None:
            if isinstance(found, TimeoutError) or "timeout" in type(found).__name__.lower():
                raise TooSlow(f"the server answers too slowly here for the queue, which raises {describe(error)}")
            found = found.__cause__ or found.__context__

    @contextmanager
    def unnoticed(self) -> Iterator[None]:
        """Discard all that is noted inside: coverage, failures and notes."""
        kept = self.covered, self.failed, self.notes
        known = {rule: replace(failure, others=[*failure.others]) for rule, failure in self.failed.items()}
        self.covered, self.failed, self.notes = Counter(), known, []
        try:
            yield
        finally:
            self.covered, self.failed, self.notes = kept
