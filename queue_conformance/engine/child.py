"""The child of a check: what it tells over a pipe, and what its parent knows of it when it is dead."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

from queue_conformance.engine.case import Case, fixture
from queue_conformance.engine.killpoints import Operation
from queue_conformance.engine.outcomes import NotCovered
from queue_conformance.engine.recording import OperationRaised, Recorder, Step
from queue_conformance.engine.scripts import with_loops
from queue_conformance.engine.writing import INDENT, Line
from queue_conformance.processes import process
from queue_conformance.processes.process import Ended, Say
from queue_conformance.processes.watchdog import Watchdog


class Died:
    """What the parent knows of a child that was killed.

    Args:
        results: the numbers of the items, or the truth values, that its operations returned, as far as they returned.

    Attributes:
        put: the items that were put, that of an operation that did not return included.
        stored: those whose put had returned, and that no operation had returned or cleared.
        closed: those of them that were stored when the last close returned.
        refused: those of them whose put had returned false.
        gone: those that had been returned or cleared.
        spared: how many of the stored ones may be missing: one with a take that did not return, all with a clear.
    """

    def __init__(self, operations: Sequence[Operation], results: Sequence[int | bool | None]) -> None:
        self.put = [operation.number for operation in operations if operation.number is not None]
        self.stored: list[int] = []
        self.closed: list[int] = []
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
            if operation.name == "close":
                self.closed = list(self.stored)
        in_flight = operations[len(results)] if len(results) < len(operations) else Operation("")
        self.spared = len(self.stored) if in_flight.name == "clear" else int(in_flight.name not in ("", "open", "close"))
        if in_flight.number is not None:
            self.spared = 0


def expect_fork() -> None:
    """Raise NotCovered where no process can be forked."""
    if not process.AVAILABLE:
        raise NotCovered("this platform cannot fork")


def heard(said: Iterable[Any]) -> tuple[list[str], list[int | bool | None]]:
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
                indent = INDENT
            case "line", line:
                lines.append(indent + line)
            case "result", result:
                pass
    return lines, results


def lived(case: Case, workload: Callable[[Say], object]) -> Ended:
    """Run a workload in a child, which tells its operations to this process; the first one that raises ends it."""
    context = case.context

    def live(say: Say) -> None:
        context.recorder.watchdog = Pipe(say, context.recorder, context.driver.identify)
        context.driver.after_fork()
        with suppress(OperationRaised):  # it refuses to work: that is for other checks
            workload(say)

    return process.run(live, time_limit=context.time_limit)


def show(case: Case, lines: Sequence[str], end: str, remark: str = "") -> None:
    """Add what a child ran to the operations, where a remark says how it ended, and to the script."""
    context = case.context
    context.recorder.steps += [Step(line.strip()) for line in lines if not line.startswith("with ")]
    context.recorder.steps[-1].source += f"  # {remark}" if remark else ""
    statements: list[str] = []
    for line in lines:
        if line.startswith(INDENT):
            line = f"{statements.pop()}\n{line}"
        statements.append(line)
    case.record.insert(Line(around=lambda _: _forked(with_loops(statements, alike=True), end)))
    for line in _forked(statements, end).splitlines():
        context.watchdog.note(line)


def _forked(statements: Sequence[str], end: str) -> str:
    """Return what another process runs, as the lines of a script."""
    ran = textwrap.indent("\n".join([*statements, end]), INDENT)
    return f"if (child := os.fork()) == 0:\n{ran}\nos.waitpid(child, 0)"


@fixture
def child(case: Case) -> Callable[[Callable[[], None]], None]:
    """``@child``: run a function in another process, which ends then."""

    def run(workload: Callable[[], None]) -> None:
        expect_fork()

        def whole(say: Say) -> None:
            workload()
            say(_END)

        ended = lived(case, whole)
        if _END not in ended.said:
            raise NotCovered("another process did not come to its end")
        show(case, heard(ended.said)[0], "os._exit(0)", "in another process")

    return run


_END = "end"
"""What a child says that came to the end."""


class Pipe(Watchdog):
    """Tells the operations of a child to its parent."""

    def __init__(self, say: Say, recorder: Recorder, identify: Callable[[Any], int | None]) -> None:
        self._say: Say = lambda message: None
        super().__init__()
        self._say, self._recorder, self._identify = say, recorder, identify

    def enter(self, step: str, rule: str) -> None:
        self._say(("line", step))

    def note(self, step: str) -> None:
        self._say(("line", step))

    def leave(self) -> None:
        if hasattr(self, "_recorder"):
            result = self._recorder.steps[-1].result
            self._say(("result", result if type(result) is bool else self._identify(result)))
