"""The crash sweep: a workload runs in a child process, and SIGKILL ends it at one place after another.

Nothing is simulated: a signal that cannot be caught ends the child, and each time the check recovers what is left. A kind gives
the workloads, and one function that is written like any other check::

    @crash_sweep("queue.persist.crash-open", workloads=lambda context: ["open push:10 push:11 pop"])
    def a_queue_opens_after_sigkill(crash, open_queue, item):
        @crash.child
        def died():
            for operation in crash:
                if operation.name == "open":
                    queue = open_queue()
                ...

        queue = open_queue()  # in the parent, when the child is dead
        assert len(queue) <= len(died.put)

The child tells its operations over a pipe, and the parent judges.
"""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from types import FrameType, MappingProxyType
from typing import Any, TypeVar

from queue_conformance.engine import registry
from queue_conformance.engine.case import Case
from queue_conformance.engine.check import run_case, written
from queue_conformance.engine.child import Died, expect_fork, heard, lived, show
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.killpoints import (
    LONG,
    Crash,
    Kill,
    Operation,
    Passed,
    When,
    Workload,
    lives_of,
    operations_of,
    plan,
)
from queue_conformance.engine.outcomes import NotCovered, RuleFailed
from queue_conformance.engine.runner import runner_of
from queue_conformance.engine.sequences import commands, leave_out
from queue_conformance.engine.syntax import normal
from queue_conformance.processes.process import Say
from queue_conformance.processes.trees import remove
from queue_conformance.script_support.kills import (
    contents_below,
    die,
    kill_at_line,
    kill_in_write,
    tear_write,
    trace_lines,
)

T = TypeVar("T")

POINTS = 90
"""Kill points of a sweep, for a hundred examples."""

LOOKS = 3
"""How often a rehearsal looks at the files before each line of each kind of operation."""

FEWEST = 12
"""Kill points of a sweep, however few examples are asked for."""

SECONDS = 60.0
"""Seconds for a hundred examples; what is slower is killed less often."""

SHORTENINGS = 60
"""Shorter workloads that are tried at most where a check failed."""


class Survived(Exception):
    """The child was not killed, because it never came to the kill point, or only rehearsed."""


class Crashing:
    """The fixture ``crash``: one crash, in the child and in its parent.

    Args:
        passed: is told what each operation does, if nothing is to be killed.
    """

    def __init__(self, case: Case, planned: Crash, passed: list[Passed] | None = None) -> None:
        self._case = case
        self._planned = planned
        self._passed = passed
        self._life = planned
        self._looked: Counter[object] = Counter()
        self._contents: Mapping[str, bytes] | None = None
        self._say: Say = lambda message: None
        self.counts: Counter[str] = Counter()
        self.errors: list[str] = []

    @property
    def last(self) -> str:
        """The name of the operation that is killed."""
        return self._planned.operations[-1].name

    def tally(self, error: BaseException | None = None, **counts: int) -> None:
        """Count what became of the items, and note the exception that was right, if there was one."""
        self.counts.update(counts)
        if error is not None:
            self.counts["unusable"] += 1
            self.errors.append(self._case.context.describe(error))

    # --- In the child --------------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Operation]:
        """Yield the operations, and be killed in or after the last one."""
        *before, last = self._life.operations
        if self._passed is not None:
            for operation in (*before, last):
                with self._rehearsed(operation):
                    yield operation
            return
        for operation in before:
            yield operation
            self._say("done")
        when = self._life.kill.when
        with self._armed():
            yield last
        if when is When.AFTER:
            self._say("done")
        if when in (When.AFTER, When.TORN):
            die()

    def _armed(self) -> AbstractContextManager[object]:
        """Return the context in which the last operation is killed, and tell how it is written."""
        kill, context = self._life.kill, self._case.context
        directory = str(context.driver.directory)
        arguments: dict[When, tuple[Any, ...]] = {
            When.LINE: (kill_at_line, context.implementation.cls, kill.number),
            When.BYTE: (kill_in_write, directory, kill.number),
            When.TORN: (tear_write, directory, kill.file, kill.number, kill.undo),
        }
        if kill.when is When.AFTER:
            return nullcontext()
        function, *given = arguments[kill.when]
        self._case.sources.give(context.implementation.cls, context.driver.class_name)
        self._say(("with", f"{function.__name__}({self._case.record.written(*given)})"))
        armed: AbstractContextManager[object] = function(*given)
        return armed

    @contextmanager
    def _rehearsed(self, operation: Operation) -> Iterator[None]:
        """Tell what an operation does: to its files not where a workload is long, as that is of no use."""
        context, passed = self._case.context, Passed()
        short = len(self._planned.operations) <= LONG
        if short and self._contents is None:
            self._contents = contents_below(context.driver.directory)
        before = seen = self._contents or {}
        if context.backend is None and short:
            passed.changed = set()

        def reached(frame: FrameType) -> None:
            nonlocal seen
            line = frame.f_code.co_filename, frame.f_lineno
            passed.lines.append(line)
            self._looked[operation.name, line] += 1
            if passed.changed is None or self._looked[operation.name, line] > LOOKS:
                return
            if (now := contents_below(context.driver.directory)) != seen:
                passed.changed.add(len(passed.lines))
                seen = now

        trace_lines(context.implementation.cls, reached)
        try:
            yield
        finally:
            sys.settrace(None)
        if short:
            self._contents = contents_below(context.driver.directory)
        for name, content in (self._contents or {}).items():
            old = before.get(name, b"")
            if len(content) > len(old):
                passed.grown[name] = (len(old), len(content))
                passed.appended += [name] * content.startswith(old)
        self._say(passed)

    # --- In the parent -------------------------------------------------------------------------------------------------

    def child(self, workload: Callable[[], None]) -> Died:
        """Run a workload in a child, or in one after another; raise Survived if one was not killed."""
        *earlier, last = lives_of(self._planned.operations)
        results = [result for life in earlier for result in self._live(workload, Crash(life))]
        results += self._live(workload, Crash(last, self._planned.kill))
        if self._passed is not None:
            raise Survived
        self._case.context.recorder.faulty = True
        return Died([*itertools.chain(*earlier, last)], results)

    def _live(self, workload: Callable[[], None], life: Crash) -> list[int | bool | None]:
        """Run what one child does, and return what its operations returned."""
        self._life = life
        with suppress(NameError):  # requests of a scheduler have callbacks of its crawler, and are made where that is
            for operation in life.operations:
                if operation.number is not None:  # made once, here, and not in every process that is forked
                    normal(self._case.context.driver.item(operation.number).source)

        def live(say: Say) -> None:
            self._say = say
            workload()

        ended = lived(self._case, live)
        if self._passed is not None:
            passed = [message for message in ended.said if isinstance(message, Passed)]
            self._passed += passed
            if len(passed) < len(life.operations):
                raise Survived
            return []
        if not ended.hit:
            raise Survived
        lines, results = heard(ended.said)
        show(self._case, lines, "die()", str(life.kill))
        return results


# --- The sweep -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sweep:
    """All crashes of one check."""

    context: CheckContext
    rule: str
    check: Callable[..., None]
    counts: list[tuple[Crash, Counter[str]]] = field(default_factory=list)
    errors: set[str] = field(default_factory=set)
    unclear: list[NotCovered] = field(default_factory=list)

    def run(self, plan: Sequence[Crash]) -> dict[str, RuleFailed]:
        """Crash, and return the first failure of each rule, as short as it gets."""
        found: dict[str, tuple[Crash, RuleFailed]] = {}
        for planned in self.context.each("crashes", plan, SECONDS, FEWEST, self.context.examples / 100):
            crash, failure = self.attributed(planned)
            if failure is not None and failure.rule not in found:
                found[failure.rule] = crash, written(failure)
        if not self.counts:
            raise NotCovered("no operation was reached in which a process could be killed")
        if self.unclear and not found:
            raise self.unclear[0]
        return {rule: self._simplest(*first) for rule, first in found.items()}

    def attributed(self, planned: Crash) -> tuple[Crash, RuleFailed | None]:
        """Crash, and return how the check failed; what a torn write leaves is judged in the kinder of its two forms."""
        failure = self.failure(planned, counted=True)
        if failure is not None and planned.kill.when is When.TORN:
            if self.failure(replace(planned, kill=Kill(When.TORN))) is not None:
                raise NotCovered("items are lost or damaged even where nothing is cut")
            planned = replace(planned, kill=replace(planned.kill, undo=False))
            failure = self.failure(planned)
        return planned, failure

    def failure(self, planned: Crash, *, counted: bool = False) -> RuleFailed | None:
        """Crash, and return how the check failed, if it did; what is run again is not counted."""
        made: list[Crashing] = []

        def crash(case: Case) -> Crashing:
            made.append(Crashing(case, planned))
            return made[0]

        failure = None
        self.context.restart()
        try:
            run_case(self.context, self.rule, self.check, {}, {"crash": crash})
        except Survived:
            return None
        except NotCovered as unclear:  # another crash may show more
            self.unclear.append(unclear)
        except RuleFailed as failed_rules:
            failure = failed_rules
            made[0].counts["unusable"] += not made[0].counts
        finally:
            remove(self.context.driver.directory)
        if counted:
            self.counts.append((planned, made[0].counts))
            self.errors.update(made[0].errors)
        return failure

    def rehearsal(self, operations: Workload) -> list[Passed]:
        """Run a workload without a crash; what comes after an operation that raises is not there."""
        passed: list[Passed] = []
        self.context.restart()
        with suppress(Survived):
            run_case(self.context, self.rule, self.check, {}, {"crash": lambda it: Crashing(it, Crash(operations), passed)})
        return passed

    def _simplest(self, crash: Crash, failure: RuleFailed) -> RuleFailed:
        """Make items plain, and leave out operations but no first ``open``, as long as the check fails alike."""
        driver = self.context.driver

        def fails() -> bool | None:
            with suppress(NotCovered):
                again = self.failure(crash)
                return (_kind_of(again) == _kind_of(failure) or None) if again else False
            return None

        with driver.varying(driver.varied):
            for _ in driver.simpler():
                again = self.failure(crash)
                if again is not None and _kind_of(again) == _kind_of(failure):
                    failure = written(again)
                    break
                if not driver.varied:
                    self._expect_ordinary_use()
            matter = driver.fields_matter(fails)
            failure = self._shortened(crash, failure)
            failure.fields_matter = matter
            return failure

    def _expect_ordinary_use(self) -> None:
        """Prove nothing where items with some fields do not even come back from a process that goes on."""
        with self.context.driver.varying(self.context.driver.fields):
            runner = runner_of(self.context)
            if not all(runner.passes(commands(sequence)) for sequence in runner.kind.ordinary):
                raise NotCovered("not even in a process that goes on do all requests come back as they were")

    def _shortened(self, crash: Crash, failure: RuleFailed) -> RuleFailed:
        """Leave out operations as long as the check fails alike, but no first ``open``."""
        tries, first = SHORTENINGS, int(crash.operations[0].name == "open")

        def fails(between: Workload) -> bool:
            nonlocal failure, tries
            tries -= 1
            shorter = replace(crash, operations=(*crash.operations[:first], *between, crash.operations[-1]))
            again = self.failure(shorter) if tries >= 0 else None
            if again is None or _kind_of(again) != _kind_of(failure):
                return False
            failure = written(again)
            return True

        leave_out(crash.operations[first:-1], fails)
        return failure


def _kind_of(failure: RuleFailed) -> tuple[str, ...]:
    return failure.rule, failure.expected, failure.cause


def crash_sweep(
    *rules: str,
    workloads: Callable[[CheckContext], Iterable[str]],
    depends_on: str = "",
    ways: Set[When] = frozenset({When.AFTER, When.LINE, When.BYTE}),
    points: Callable[[CheckContext], int] = lambda context: POINTS,
    rare: int = 0,
    masked: Mapping[str, str] = MappingProxyType({}),
    note: Callable[[Sweep], Iterable[str]] = lambda sweep: (),
    name: str | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a function as the check of a crash sweep.

    Args:
        rules: the ids of the rules that it tests; assertions are about the first, unless ``under_test`` says otherwise.
        workloads: returns the workloads, the simplest first.
        depends_on: a command sequence, which is run first: if it fails, only that is reported.
        ways: how children are killed.
        points: returns how many kill points there are for a hundred examples.
        rare: how many there are besides, before lines that only long workloads reach.
        masked: by rule, another one; where that fails, the first says nothing.
        note: returns what else is worth reporting.
        name: what the check is called, if not the id of its first rule.
    """

    def register(function: Callable[..., None]) -> Callable[..., None]:
        def run(context: CheckContext) -> None:
            expect_fork()
            context.owns_process()  # for what fails among others, and is run again, has killed many in vain
            if depends_on:
                runner_of(context).show(commands(depends_on))
            sweep = Sweep(context, rules[0], function)
            chosen = [operations_of(workload) for workload in workloads(context)]
            number = max(FEWEST, points(context) * context.examples // 100)
            failures = sweep.run(plan(chosen, sweep.rehearsal, ways, number, context.seed, rare))
            for rule, other in masked.items():
                if other in failures:
                    failures.pop(rule, None)
                    del context.covered[rule]
            for failure in failures.values():
                context.keep(failure)
            context.notes += note(sweep)

        run.__wrapped__ = function  # type: ignore[attr-defined]
        run.__module__, run.__qualname__ = function.__module__, f"{function.__qualname__} ({rules[0]})"
        registry.check(*rules, name=name)(run)
        return function

    return register
