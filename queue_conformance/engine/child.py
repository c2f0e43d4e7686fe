"""The child of a crash sweep: what it tells over a pipe, and what its parent knows of it when it is dead."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from queue_conformance.engine.killpoints import Operation
from queue_conformance.engine.process import Say
from queue_conformance.engine.writing import INDENT
from queue_conformance.flight import FlightRecorder
from queue_conformance.implementations.recording import Recorder


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


def written(lines: Sequence[str]) -> list[str]:
    """Return the lines of a script in which a child runs these, and is killed."""
    return ["if (child := os.fork()) == 0:", *(INDENT + line for line in (*lines, "die()")), "os.waitpid(child, 0)"]


class Pipe(FlightRecorder):
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
