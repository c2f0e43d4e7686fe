"""What a crash leaves of a queue: a life that it ends, a look at what is there afterwards, and the account of both."""

from __future__ import annotations

import shutil
import signal
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from queue_conformance.faults import crash
from queue_conformance.faults.crash import Kill, Say
from queue_conformance.implementations.recording import describe
from queue_conformance.suites.bench import Bench

NEW = 9999
"""The number of the item that is pushed after the crash."""


@dataclass(frozen=True, slots=True)
class Crash:
    """Operations, the last of which is killed.

    Attributes:
        operations: ``open``, ``push:12``, ``pop``, ``clear`` or ``close`` each.
        kill: where in the last one.
    """

    operations: tuple[str, ...]
    kill: Kill = field(default_factory=Kill)

    @property
    def pushed(self) -> list[int]:
        """The numbers of all items that are pushed, the last one included."""
        return [int(operation[5:]) for operation in self.operations if operation.startswith("push")]

    @property
    def most(self) -> int:
        """More items than any queue can hold after it, even one that delivers each twice."""
        return 2 * len(self.pushed) + 4


@dataclass(slots=True)
class Look:
    """What another process found.

    Attributes:
        found: what came out, as phase, number (or ``None`` if it is no item that exists) and description.
        phase: 0 while it opened and drained the queue, 1 while it pushed and popped one more, 2 after a clean reopening.
        trouble: what ended the look early, as one clause, or ``""``.
        symptom: ``raised``, ``hung``, ``died``, ``endless`` or ``length`` (which is more than can be), or ``""``.
    """

    found: list[tuple[int, int | None, str]] = field(default_factory=list)
    phase: int = 0
    trouble: str = ""
    symptom: str = ""


@dataclass(frozen=True, slots=True)
class Account:
    """What became of the items in a crash.

    Attributes:
        crash: the crash.
        look: what was found afterwards.
        in_flight: the operation that did not return, or ``""``.
        stored: the items whose push had returned, and that no pop had returned and no clear had removed.
        missing: those of them that did not come; a pop in flight may have taken one of them, and a clear all.
        doubled: items that came although they had been popped or removed.
        copies: items that came more than once.
        phantoms: descriptions of what came and was never pushed.
    """

    crash: Crash
    look: Look
    in_flight: str
    stored: tuple[int, ...]
    missing: tuple[int, ...]
    doubled: tuple[int, ...]
    copies: tuple[int, ...]
    phantoms: tuple[str, ...]

    @property
    def spared(self) -> int:
        """How many items may be missing."""
        return len(self.stored) if self.in_flight == "clear" else int(self.in_flight == "pop")

    @property
    def lost(self) -> int:
        """How many items are missing that may not."""
        return max(0, len(self.missing) - self.spared)

    @property
    def new_is_gone(self) -> bool:
        """Whether the item that was pushed after the crash never came, although nothing raised."""
        return not self.look.trouble and NEW not in [number for _, number, _ in self.look.found]

    @property
    def right(self) -> bool:
        """Whether nothing is wrong at all, except that items may come again."""
        return not (self.lost or self.copies or self.phantoms or self.look.trouble or self.new_is_gone)


def suffer(bench: Bench, planned: Crash) -> Account | None:
    """Crash a queue and look at what is left; ``None`` if the kill never hit.

    Args:
        bench: whose implementation it is.
        planned: the crash.
    """
    bench.restart()
    lived = crash.run(lambda say: _live(bench, planned, say), time_limit=bench.time_limit)
    if not lived.hit:
        return None
    found = account(planned, lived.said, look(bench, planned.most))
    shutil.rmtree(bench.driver.directory, ignore_errors=True)
    return found


def _live(bench: Bench, planned: Crash, say: Say) -> None:
    life = Life(bench)
    *before, last = planned.operations
    try:
        for operation in before:
            say(life.do(operation))
        planned.kill.strike(bench.implementation.cls, bench.driver.directory, lambda: life.do(last), say)
    except BaseException:
        sys.settrace(None)  # the queue refuses to work: that is for other checks, and this crash does not happen


class Life:
    """A queue in a process that will be killed; nothing of it is recorded."""

    def __init__(self, bench: Bench) -> None:
        self._driver = bench.driver
        self._queue: Any = None

    def do(self, operation: str) -> int | None:
        """Run an operation; return the number of the item that came out."""
        name, _, number = operation.partition(":")
        if name == "open":
            self._queue = self._driver.construction("0")[1]()
        elif name == "push":
            self._queue.push(self._driver.item(int(number)).value)
        elif name == "pop":
            return self._driver.identify(self._queue.pop())  # type: ignore[no-any-return]
        elif name == "clear":
            self._queue.clear()
        else:
            self._queue.close()
        return None


def look(bench: Bench, most: int) -> Look:
    """Let another process open the queue, drain it, push and pop one more, and do that again after a clean close.

    Args:
        bench: whose queue it is.
        most: more items than can be in it.
    """
    ended = crash.run(lambda say: _look(bench, most, say), time_limit=bench.time_limit)
    seen = Look()
    operation = ""
    for kind, value in ended.said:
        if kind == "begin":
            operation = value
        elif kind == "phase":
            seen.phase = value
        elif kind == "found":
            seen.found.append((seen.phase, *value))
        else:
            seen.symptom, seen.trouble = kind, value
    if ended.hung:
        seen.symptom, seen.trouble = "hung", f"{operation} does not return"
    elif ended.signal or ended.status:
        how = signal.Signals(ended.signal).name if ended.signal else f"status {ended.status}"
        seen.symptom, seen.trouble = "died", f"{operation} ends the process ({how})"
    return seen


class _Stopped(Exception):
    """The look is over."""


def _look(bench: Bench, most: int, say: Say) -> None:
    driver = bench.driver
    source, build = driver.construction("0")

    def told(error: BaseException) -> str:
        return describe(error, 1000).replace(str(driver.directory), "directory")[:160]

    def step(operation: str, function: Callable[[], Any]) -> Any:
        say(("begin", operation))
        try:
            return function()
        except Exception as error:
            say(("raised", f"{operation} raises {told(error)}"))
        except BaseException as error:
            say(("died", f"{operation} raises {told(error)}"))
        raise _Stopped

    def drain() -> None:
        for _ in range(most):
            value = step("queue.pop()", queue.pop)
            if value is None:
                return
            number = driver.identify(value)
            known = number is not None and driver.same(value, driver.item(number))
            say(("found", (number if known else None, describe(value))))
        say(("endless", f"pop returned {most} items and goes on"))
        raise _Stopped

    try:
        queue = step(source, build)
        length = step("len(queue)", lambda: len(queue))
        if length > most:
            say(("length", f"len(queue) == {length}"))
            raise _Stopped
        drain()
        say(("phase", 1))
        step("queue.push()", lambda: queue.push(driver.item(NEW).value))
        drain()
        say(("phase", 2))
        step("queue.close()", queue.close)
        queue = step(source, build)
        drain()
        step("queue.close()", queue.close)
    except _Stopped:
        return


def account(planned: Crash, said: Sequence[int | None], seen: Look) -> Account:
    """Compare what was done with what was found.

    Args:
        planned: the crash.
        said: the results of the operations that returned.
        seen: what was found.
    """
    finished = list(zip(planned.operations, said, strict=False))
    in_flight = planned.operations[len(said)] if len(said) < len(planned.operations) else ""
    stored: list[int] = []
    gone: list[int] = []
    for operation, result in finished:
        if operation.startswith("push"):
            stored.append(int(operation[5:]))
        elif operation == "clear" or result is not None:
            taken = [number for number in stored if operation == "clear" or number == result]
            gone += taken
            stored = [number for number in stored if number not in taken]
    known = {*planned.pushed, NEW}
    found = [number for _, number, _ in seen.found]
    counts = Counter(number for number in found if number is not None)
    return Account(
        crash=planned,
        look=seen,
        in_flight=in_flight,
        stored=tuple(stored),
        missing=tuple(number for number in stored if number not in found),
        doubled=tuple(number for number in gone if number in found),
        copies=tuple(number for number, count in counts.items() if count > 1),
        phantoms=tuple(text for _, number, text in seen.found if number not in known),
    )
