"""The crash sweep: a workload runs in a child process, and SIGKILL ends it at one place after another.

Nothing is simulated: a signal that cannot be caught ends the child, and each time the check recovers what is left. A kind gives
the workloads, and one function that is written like any other check::

    @crash_sweep("queue.persist.crash-open", workloads=lambda bench: ["open push:10 push:11 pop"])
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

import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, TypeVar

from queue_conformance import suites
from queue_conformance.engine.check import run_case
from queue_conformance.engine.context import Context, NotCovered
from queue_conformance.engine.instrument import instrument
from queue_conformance.engine.killpoints import Crash, Kill, Operation, Passed, When, Workload, operations_of, plan
from queue_conformance.faults import crash as process
from queue_conformance.faults.crash import AVAILABLE, Say
from queue_conformance.flight import FlightRecorder
from queue_conformance.implementations.quoted.kills import (
    contents_below,
    die,
    kill_at_line,
    kill_in_write,
    tear_write,
    trace_lines,
)
from queue_conformance.implementations.recording import OperationRaised, Recorder, Step
from queue_conformance.specification import Kind
from queue_conformance.suites.bench import Bench
from queue_conformance.suites.outcomes import RuleBroken

T = TypeVar("T")

POINTS = 90
"""Kill points of a sweep, for a hundred examples."""

SECONDS = 60.0
"""Seconds for a hundred examples; what is slower is killed less often."""

SHORTENINGS = 60
"""Shorter workloads that are tried at most where a check failed."""


class Died:
    """What the parent knows of a child that was killed.

    Args:
        operations: its workload.
        results: the numbers of the items, or the truth values, that its operations returned, as far as they returned.

    Attributes:
        put: the items that were put, that of an operation that did not return included.
        stored: those whose put had returned, and that no operation had returned or cleared.
        refused: those of them whose put had returned false.
        gone: those that had been returned or cleared.
        spared: how many of the stored ones may be missing: one with a take that did not return, all with a clear.
    """

    def __init__(self, operations: Sequence[Operation], results: Sequence[int | bool | None]) -> None:
        self.put = [operation.number for operation in operations if operation.number is not None]
        self.stored: list[int] = []
        self.refused: list[int] = []
        self.gone: list[int] = []
        for operation, result in zip(operations, results, strict=False):
            if operation.number is not None:
                self.stored.append(operation.number)
                self.refused += [operation.number] * (result is False)
            else:
                taken = [number for number in self.stored if operation.name == "clear" or number == result]
                self.gone += taken
                self.stored = [number for number in self.stored if number not in taken]
        in_flight = operations[len(results)] if len(results) < len(operations) else Operation("")
        self.spared = len(self.stored) if in_flight.name == "clear" else int(in_flight.name not in ("", "open", "close"))
        if in_flight.number is not None:
            self.spared = 0


class Survived(Exception):
    """The child was not killed, because it never came to the kill point, or only rehearsed."""


class Crashing:
    """The fixture ``crash``: one crash, in the child and in its parent.

    Args:
        context: what fixtures are made from.
        planned: the crash.
        passed: is told what each operation does, if nothing is to be killed.

    Attributes:
        counts: what the check counts.
        errors: what it tolerated.
    """

    def __init__(self, context: Context, planned: Crash, passed: list[Passed] | None = None) -> None:
        self._context = context
        self._planned = planned
        self._passed = passed
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
            self.errors.append(self._context.bench.describe(error))

    # --- In the child --------------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Operation]:
        """Yield the operations, and be killed in or after the last one."""
        *before, last = self._planned.operations
        if self._passed is not None:
            for operation in self._planned.operations:
                with self._rehearsed():
                    yield operation
            return
        for operation in before:
            yield operation
            self._say("done")
        with self._armed():
            yield last
        if self._planned.kill.when is When.AFTER:
            self._say("done")
        if self._planned.kill.when in (When.AFTER, When.TORN):
            die()

    def _armed(self) -> AbstractContextManager[object]:
        """Return the context in which the last operation is killed, and tell how it is written."""
        kill, bench = self._planned.kill, self._context.bench
        directory = str(bench.driver.directory)
        arguments: dict[When, tuple[Callable[..., AbstractContextManager[object]], Any, Any]] = {
            When.LINE: (kill_at_line, bench.implementation.cls, (kill.number,)),
            When.BYTE: (kill_in_write, directory, (kill.number,)),
            When.TORN: (tear_write, directory, (kill.file, kill.number, kill.undo)),
        }
        if kill.when is When.AFTER:
            return nullcontext()
        function, subject, others = arguments[kill.when]
        self._context.sources.give(bench.implementation.cls, bench.driver.class_name)
        self._say(("with", f"{function.__name__}({self._context.record.written((subject, *others), {})})"))
        return function(subject, *others)

    @contextmanager
    def _rehearsed(self) -> Iterator[None]:
        """Tell what an operation does."""
        bench, passed = self._context.bench, Passed()
        before = contents_below(bench.driver.directory)
        trace_lines(bench.implementation.cls, lambda frame: passed.lines.append((frame.f_code.co_filename, frame.f_lineno)))
        try:
            yield
        finally:
            sys.settrace(None)
        for name, content in contents_below(bench.driver.directory).items():
            old = before.get(name, b"")
            if len(content) > len(old):
                passed.grown[name] = (len(old), len(content))
                passed.appended += [name] * content.startswith(old)
        self._say(passed)

    # --- In the parent -------------------------------------------------------------------------------------------------

    def child(self, workload: Callable[[], None]) -> Died:
        """Run a workload in a child.

        Raises:
            Survived: if it was not killed.
        """
        bench, record = self._context.bench, self._context.record

        def live(say: Say) -> None:
            self._say = say
            bench.recorder.flight = _Pipe(say, bench.recorder, bench.driver.identify)
            bench.driver.after_fork()
            with suppress(OperationRaised):  # it refuses to work: that is for other checks
                workload()

        ended = process.run(live, time_limit=bench.time_limit)
        if self._passed is not None:
            self._passed += [message for message in ended.said if isinstance(message, Passed)]
            raise Survived
        if not ended.hit:
            raise Survived
        lines, results = _heard(ended.said)
        bench.recorder.steps += [Step(line.strip()) for line in lines if not line.startswith("with ")]
        bench.recorder.steps[-1].source += f"  # {self._planned.kill}"
        record.insert(written := _written(lines))
        bench.flight.note(written)
        return Died(self._planned.operations, results)


_INNER = "    "


def _heard(said: Iterable[Any]) -> tuple[list[str], list[int | bool | None]]:
    """Return the lines that a child ran, those inside a block indented, and what its operations returned."""
    lines: list[str] = []
    results: list[int | bool | None] = []
    result, indent = None, ""
    for message in said:
        match message:
            case "done":
                results.append(result)
                result = None
            case "with", head:
                lines.append(f"with {head}:")
                indent = _INNER
            case "line", line:
                lines.append(indent + line)
            case "result", result:
                pass
    return lines, results


def _written(lines: Sequence[str]) -> str:
    """Return the lines of a script in which a child runs these, and is killed."""
    return "\n".join(["if (child := os.fork()) == 0:", *(_INNER + line for line in (*lines, "die()")), "os.waitpid(child, 0)"])


class _Pipe(FlightRecorder):
    """Tells the operations of a child to its parent.

    Args:
        say: the pipe.
        recorder: keeps the operations.
        identify: returns the number of an item.
    """

    def __init__(self, say: Say, recorder: Recorder, identify: Callable[[Any], int | None]) -> None:
        self._say: Say = lambda message: None
        super().__init__()
        self._say, self._recorder, self._identify = say, recorder, identify

    def enter(self, step: str, owner: str) -> None:
        self._say(("line", step))

    def note(self, step: str) -> None:
        self._say(("line", step))

    def leave(self) -> None:
        if hasattr(self, "_recorder"):
            result = self._recorder.steps[-1].result
            self._say(("result", result if isinstance(result, bool) else self._identify(result)))


# --- The sweep -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sweep:
    """All crashes of one check.

    Attributes:
        bench: where the check works.
        rule: what an assertion is about, unless the check says otherwise.
        check: the instrumented function of the check.
        counts: what the check counted, by crash.
        errors: the exceptions that it tolerated.
    """

    bench: Bench
    rule: str
    check: tuple[Callable[..., None], Any]
    counts: list[tuple[Crash, Counter[str]]] = field(default_factory=list)
    errors: set[str] = field(default_factory=set)

    def run(self, plan: Sequence[Crash]) -> dict[str, RuleBroken]:
        """Crash, and return the first failure of each rule, as short as it gets."""
        found: dict[str, tuple[Crash, RuleBroken]] = {}
        deadline = self.bench.flight.now + SECONDS * self.bench.examples / 100
        for number, planned in enumerate(self.bench.each("crashes", plan, deadline)):
            if self.bench.flight.now > deadline:
                said = f"{number} of {len(plan)} crashes were tried, because they take more than {SECONDS:g} s for 100 examples"
                self.bench.notes.append(said)
                break
            crash, failure = self.judged(planned)
            if failure is not None:
                found.setdefault(failure.rule, (crash, failure))
        if not self.counts:
            raise NotCovered("no operation was reached in which a process could be killed")
        return {rule: self._shortened(*first) for rule, first in found.items()}

    def judged(self, planned: Crash) -> tuple[Crash, RuleBroken | None]:
        """Crash, and return how the check failed; what a torn write leaves is judged in the kinder of its two forms."""
        failure = self.failure(planned)
        if failure is not None and planned.kill.when is When.TORN:
            if self.failure(replace(planned, kill=Kill(When.TORN))) is not None:
                raise NotCovered("items are lost or damaged even where nothing is cut")
            planned = replace(planned, kill=replace(planned.kill, undo=False))
            failure = self.failure(planned)
        return planned, failure

    def failure(self, planned: Crash) -> RuleBroken | None:
        """Crash, and return how the check failed, if it did."""
        made: list[Crashing] = []

        def crash(context: Context) -> Crashing:
            made.append(Crashing(context, planned))
            return made[0]

        failure = None
        self.bench.restart()
        try:
            run_case(self.bench, self.rule, self.check, {}, {"crash": crash})
        except Survived:
            return None
        except RuleBroken as broken:
            failure = broken
            made[0].counts["unusable"] += not made[0].counts
        finally:
            shutil.rmtree(self.bench.driver.directory, ignore_errors=True)
        self.counts.append((planned, made[0].counts))
        self.errors.update(made[0].errors)
        return failure

    def rehearsal(self, operations: Workload) -> list[Passed]:
        """Run a workload without a crash; what comes after an operation that raises is not there."""
        passed: list[Passed] = []
        self.bench.restart()
        with suppress(Survived):
            run_case(self.bench, self.rule, self.check, {}, {"crash": lambda it: Crashing(it, Crash(operations), passed)})
        return passed

    def _shortened(self, crash: Crash, failure: RuleBroken) -> RuleBroken:
        """Leave out operations as long as the check fails alike, but no first ``open``."""
        tries, size = SHORTENINGS, max(1, len(crash.operations) // 2)
        first = int(crash.operations[0].name == "open")
        while size:
            start = len(crash.operations) - 1 - size
            while start >= first and tries > 0:
                tries -= 1
                shorter = replace(crash, operations=crash.operations[:start] + crash.operations[start + size :])
                again = self.failure(shorter)
                if again is not None and _kind_of(again) == _kind_of(failure):
                    crash, failure = shorter, again
                start -= size
            size //= 2
        return failure


def _kind_of(failure: RuleBroken) -> tuple[str, ...]:
    return failure.rule, failure.expected, failure.cause


def crash_sweep(
    *rules: str,
    workloads: Callable[[Bench], Iterable[str]],
    kinds: Iterable[Kind] = suites.QUEUES,
    ways: Set[When] = frozenset({When.AFTER, When.LINE, When.BYTE}),
    points: Callable[[Bench], int] = lambda bench: POINTS,
    masked: Mapping[str, str] = MappingProxyType({}),
    note: Callable[[Sweep], Iterable[str]] = lambda sweep: (),
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a function as the check of a crash sweep.

    Args:
        rules: the ids of the rules that it examines; assertions are about the first, unless ``about`` says otherwise.
        workloads: returns the workloads, the simplest first.
        kinds: the kinds of implementation that it can drive.
        ways: how children are killed.
        points: returns how many kill points there are for a hundred examples.
        masked: by rule, another one; where that fails, the first says nothing.
        note: returns what else is worth reporting.
    """

    def register(function: Callable[..., None]) -> Callable[..., None]:
        def run(bench: Bench) -> None:
            if not AVAILABLE:
                raise NotCovered("this platform cannot fork")
            sweep = Sweep(bench, rules[0], instrument(function))
            chosen = [operations_of(workload) for workload in workloads(bench)]
            failures = sweep.run(plan(chosen, sweep.rehearsal, ways, max(4, points(bench) * bench.examples // 100), bench.seed))
            for rule, other in masked.items():
                if other in failures:
                    failures.pop(rule, None)
                    del bench.examined[rule]
            for failure in failures.values():
                bench.keep(failure)
            bench.notes += note(sweep)

        run.__module__, run.__qualname__ = function.__module__, f"{function.__qualname__} ({rules[0]})"
        suites.check(*rules, kinds=kinds)(run)
        return function

    return register
