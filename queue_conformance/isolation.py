"""Run a function in a process of its own, watched: nothing that it does can hang, end or litter the caller.

Implementations under test run nowhere else. A class that calls ``os._exit``, crashes the interpreter, replaces signal
handlers or never returns costs its own verdict only. The child tells what it is doing through a :class:`FlightRecorder`
in shared memory, so that the parent still knows the operations when the child can no longer say anything.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import gc
import math
import mmap
import os
import pickle
import select
import signal
import struct
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from time import monotonic, sleep  # now: an implementation may replace them in their module
from typing import IO, Any, ClassVar, Generic, TypeVar

from queue_conformance.stopwatch import Stopwatch

T = TypeVar("T")

AVAILABLE = hasattr(os, "fork")
"""Whether this platform can isolate; elsewhere functions run in the calling process, unguarded."""

_GRACE = 1.0
"""Seconds that a process gets to write the stacks of its threads before it is killed."""

_FIRST = 1.0
"""What the clock of a child shows at first; 0.0 stands for no time."""

SILENCE = 120.0
"""Seconds, plus three time limits, without a sign of life between operations; no wait of the kit's own is as long."""


@dataclass(frozen=True, slots=True)
class Tally:
    """How far a child has come.

    Attributes:
        unit: what it counts, in the plural, such as ``programs``; ``""`` if it counts nothing.
        done: how many there are so far.
        goal: how many there will be, or 0 if nobody knows.
        began: when it began to count (:attr:`FlightRecorder.now`, seconds).
        ends: when it ends at the latest, likewise, or 0.0.
    """

    unit: str
    done: int
    goal: int
    began: float
    ends: float


class FlightRecorder:
    """What the child is doing, in memory that the parent can read while it runs and after it is gone.

    The layout is two doubles (when the operation in flight began, or between operations the time of the last sign of life,
    negative; and the time that the parent counts for the child), the numbers of the tally, then one slot of UTF-8 text for
    each of the names in ``_SIZES``, each preceded by its length.

    Attributes:
        watched: whether a parent counts the time; the clock of the machine tells it otherwise.
    """

    _SIZES: ClassVar = {"unit": 64, "owner": 256, "program": 16 * 1024, "steps": 48 * 1024}
    _LENGTH = struct.Struct("I")
    _CLOCK = struct.Struct("d")
    _NOW = struct.Struct("d")
    _COUNT = struct.Struct("Q")
    _TALLY = struct.Struct("QQdd")
    _TALLY_AT = _CLOCK.size + _NOW.size

    def __init__(self) -> None:
        self._offsets: dict[str, int] = {}
        self._count = 0
        self.watched = False
        offset = self._TALLY_AT + self._TALLY.size
        for name, size in self._SIZES.items():
            self._offsets[name] = offset
            offset += self._LENGTH.size + size
        self._memory = mmap.mmap(-1, offset)
        self._end = 0
        self.leave()

    def enter(self, step: str, owner: str) -> None:
        """Note that an operation begins.

        Args:
            step: the operation, as a line of Python.
            owner: the id of the rule that is broken if it never ends.
        """
        self.write("owner", owner)
        self.note(step)
        self._CLOCK.pack_into(self._memory, 0, self.now)

    def note(self, step: str) -> None:
        """Add a line of Python to the steps."""
        line = f"{step}\n".encode()
        start = self._offsets["steps"] + self._LENGTH.size
        if self._end + len(line) > self._SIZES["steps"]:
            self._end = 0
        self._memory[start + self._end : start + self._end + len(line)] = line
        self._end += len(line)
        self._LENGTH.pack_into(self._memory, self._offsets["steps"], self._end)

    def go_on(self) -> None:
        """Note that the operation in flight does something anew, which may take as long again."""
        if self.in_flight_since:
            self._CLOCK.pack_into(self._memory, 0, self.now)

    def each(self, things: Iterable[T], seconds: float = math.inf) -> Iterator[T]:
        """Yield things, each of which may take as long as one operation; no more of them after so many seconds."""
        end = self.now + seconds
        for thing in things:
            self.go_on()
            if self.now > end:
                return
            yield thing

    def leave(self) -> None:
        """Note that the operation in flight ended."""
        self._CLOCK.pack_into(self._memory, 0, -self.now)

    def _live(self) -> None:
        """Give a sign of life between operations."""
        if not self.in_flight_since:
            self.leave()

    def restart(self, program: str = "") -> None:
        """Forget the operations so far: a new program begins.

        Args:
            program: the program, in a form that can be played again.
        """
        self._live()
        self._end = 0
        self._LENGTH.pack_into(self._memory, self._offsets["steps"], 0)
        self.write("program", program)

    def write(self, slot: str, text: str) -> None:
        """Replace the text of a slot; what does not fit is dropped as a whole."""
        data = text.encode()
        if len(data) > self._SIZES[slot]:
            data = b""
        offset = self._offsets[slot]
        start = offset + self._LENGTH.size
        self._memory[start : start + len(data)] = data
        self._LENGTH.pack_into(self._memory, offset, len(data))

    def read(self, slot: str) -> str:
        """Return the text of a slot."""
        offset = self._offsets[slot]
        (length,) = self._LENGTH.unpack_from(self._memory, offset)
        start = offset + self._LENGTH.size
        return bytes(self._memory[start : start + length]).decode(errors="replace")

    def aim(self, unit: str, goal: int = 0, ends: float = 0.0) -> None:
        """Begin to count.

        Args:
            unit: what is counted, in the plural, such as ``programs``.
            goal: how many there will be, or 0 if nobody knows.
            ends: when the counting ends at the latest (:attr:`now`, seconds), or 0.0.
        """
        self._count = 0
        self.write("unit", unit)
        self._TALLY.pack_into(self._memory, self._TALLY_AT, 0, goal, self.now, ends)

    def count(self, number: int = 1) -> None:
        """Note that so many more are done."""
        self._live()
        self._count += number
        self._COUNT.pack_into(self._memory, self._TALLY_AT, self._count)

    @property
    def tally(self) -> Tally:
        """How far the child has come."""
        return Tally(self.read("unit"), *self._TALLY.unpack_from(self._memory, self._TALLY_AT))

    @property
    def now(self) -> float:
        """The seconds that the child has had (see :class:`Stopwatch`), to a tenth; limits and budgets go by this clock."""
        if not self.watched:
            return monotonic()
        seconds: float = self._NOW.unpack_from(self._memory, self._CLOCK.size)[0]
        return seconds

    def tell(self, now: float) -> None:
        """Set the clock; the parent does."""
        self.watched = True
        self._NOW.pack_into(self._memory, self._CLOCK.size, now)

    @property
    def in_flight_since(self) -> float:
        """When the operation in flight began (:attr:`now`, seconds), or 0.0."""
        return max(0.0, self._clock)

    @property
    def silent_since(self) -> float:
        """When there was the last sign of life (:attr:`now`, seconds), or 0.0 if an operation is in flight."""
        return max(0.0, -self._clock)

    @property
    def _clock(self) -> float:
        time: float = self._CLOCK.unpack_from(self._memory, 0)[0]
        return time

    def close(self) -> None:
        """Give the memory back."""
        self._memory.close()


@dataclass(frozen=True, slots=True)
class Fatality:
    """How a process ended without an answer.

    Attributes:
        how: one clause, such as ``did not return within 10 s`` or ``ended the interpreter with status 3``.
        hung: whether it was ended for taking too long.
        between: whether that was not in an operation, but after the last one had returned.
        stacks: the stacks of all threads, as far as they are known.
        owner: the id of the rule that the operation in flight belongs to, or ``""``.
        steps: the operations, as lines of Python; the last one was in flight.
        program: the program that was being played, or ``""``.
    """

    how: str
    hung: bool
    stacks: str
    owner: str
    steps: tuple[str, ...]
    program: str
    between: bool = False


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """What the function returned.

    Attributes:
        value: that.
        before: how it had ended when it was tried before, if that took too long.
    """

    value: T
    before: Fatality | None = None


class IsolatedError(Exception):
    """The function raised in the other process; the text is the traceback there."""


def run(
    function: Callable[[FlightRecorder], T],
    *,
    time_limit: float,
    in_process: bool = False,
    watch: Callable[[FlightRecorder], None] | None = None,
) -> Answer[T] | Fatality:
    """Call a function in a forked process.

    Args:
        function: gets the flight recorder; its result must be picklable.
        time_limit: seconds that one operation (between ``enter`` and ``leave``) may take.
        in_process: call it here instead, without any protection (for debuggers and platforms without fork).
        watch: called about ten times a second in the meantime, with what the flight recorder says.

    Returns:
        The answer, or how the process ended without one.

    Raises:
        IsolatedError: if the function raised, which is an error of the kit.
    """
    flight = FlightRecorder()
    if in_process or not AVAILABLE:
        with _alone():
            try:
                return Answer(function(flight))
            except Exception as error:
                raise IsolatedError(traceback.format_exc()) from error
    with tempfile.TemporaryFile() as stacks:
        reader, writer = os.pipe()
        flight.tell(_FIRST)
        flight.leave()
        pid = fork()
        if pid == 0:
            os.close(reader)
            _child(function, flight, writer, stacks)
        os.close(writer)
        try:
            data, status, hung = _watch(pid, reader, flight, time_limit, watch or _unseen)
        finally:
            os.close(reader)
        if data and status == 0:
            return _unpack(data)
        return _fatality(flight, status, hung, time_limit, stacks)


def twice(attempt: Callable[[], Answer[T] | Fatality]) -> Answer[T] | Fatality:
    """Try once more what took too long: on a machine that does something else, or waits for its disk, that proves nothing.

    Args:
        attempt: runs a function in a process of its own; see :func:`run`.
    """
    first = attempt()
    if isinstance(first, Answer) or not first.hung:
        return first
    second = attempt()
    return replace(second, before=first) if isinstance(second, Answer) else second


alone = False
"""Whether this process runs a function that may change what is around it, such as the event loop."""


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Let a function change what is around it, and put the event loop back that ran before."""
    global alone
    alone = True
    loops = sys.modules.get("asyncio")
    before = loops._get_running_loop() if loops else None
    try:
        yield
    finally:
        alone = False
        if loops := sys.modules.get("asyncio"):
            loops._set_running_loop(before)


_LIBRARY = ctypes.CDLL(None) if sys.platform == "linux" else None
_DEATH_OF_PARENT = 1
"""``PR_SET_PDEATHSIG`` of prctl(2)."""


def fork() -> int:
    """Fork; the child is killed when this process ends, where the system can do that (Linux).

    Returns:
        The number of the child, or 0 in the child.
    """
    parent = os.getpid()
    _flush()
    with warnings.catch_warnings():
        # Python 3.12 warns about fork in a process with threads. Children use none of them, such as those of a distributed
        # run, whose channels they never touch.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        die_with_parent(parent)
    return pid


def _flush() -> None:
    """Write what was printed; an implementation may have closed or replaced the streams."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()


def die_with_parent(parent: int) -> None:
    """Let this process be killed when the one that started it ends, where the system can do that (Linux).

    Args:
        parent: the number of that process; if it has ended already, this one ends at once.
    """
    if _LIBRARY is not None:
        _LIBRARY.prctl(_DEATH_OF_PARENT, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


def _child(function: Callable[[FlightRecorder], Any], flight: FlightRecorder, writer: int, stacks: IO[bytes]) -> None:
    """Run the function, send what came of it, and end the process without any clean-up of the parent's."""
    import resource

    global alone
    code, alone = 1, True
    try:
        gc.freeze()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        faulthandler.enable(file=stacks, all_threads=True)
        try:
            message = pickle.dumps((True, function(flight)))
        except BaseException:
            message = pickle.dumps((False, traceback.format_exc()))
        while message:
            message = message[os.write(writer, message) :]
        code = 0
        _flush()
    finally:
        os._exit(code)


def _unseen(_flight: FlightRecorder) -> None:
    """Watch nothing."""


def _watch(
    pid: int, reader: int, flight: FlightRecorder, time_limit: float, watch: Callable[[FlightRecorder], None]
) -> tuple[bytes, int, bool]:
    """Collect what the child sends until it ends; end it when one operation takes too long."""
    data = bytearray()
    hung = False
    clock = Stopwatch(pid, _FIRST)
    try:
        while True:
            readable, _, _ = select.select([reader], [], [], 0.1)
            flight.tell(now := clock.look())
            if readable:
                chunk = os.read(reader, 1 << 16)
                if not chunk:
                    break
                data += chunk
                continue
            # A grandchild may hold the pipe open after the child is gone.
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                pid = 0
                # What it wrote between the look and its end is still in the pipe.
                while select.select([reader], [], [], 0)[0] and (chunk := os.read(reader, 1 << 16)):
                    data += chunk
                return bytes(data), status, hung
            watch(flight)
            began, silent = flight.in_flight_since, flight.silent_since
            if (began and now - began > time_limit) or (silent and now - silent > _patience(time_limit)):
                hung = True
                break
        if hung:
            os.kill(pid, signal.SIGABRT)
        deadline = clock.look() + _GRACE
        while clock.look() < deadline:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                pid = 0
                return bytes(data), status, hung
            sleep(0.001)
    finally:
        if pid:
            os.kill(pid, signal.SIGKILL)
            _, status = os.waitpid(pid, 0)
    return bytes(data), status, hung


def _patience(time_limit: float) -> float:
    """Return the seconds that may pass between operations without any sign of life."""
    return SILENCE + 3 * time_limit


def _unpack(data: bytes) -> Answer[Any]:
    succeeded, value = pickle.loads(data)
    if not succeeded:
        raise IsolatedError(value)
    return Answer(value)


def _fatality(flight: FlightRecorder, status: int, hung: bool, time_limit: float, stacks: IO[bytes]) -> Fatality:
    between = hung and not flight.in_flight_since
    if between:
        how = f"returned, and then nothing went on for {_patience(time_limit):g} s"
    elif hung:
        how = f"did not return within {time_limit:g} s"
    elif os.WIFSIGNALED(status):
        how = f"killed the process ({signal.Signals(os.WTERMSIG(status)).name})"
    else:
        how = f"ended the interpreter with status {os.WEXITSTATUS(status)}"
    stacks.seek(0)
    return Fatality(
        how=how,
        hung=hung,
        stacks=stacks.read().decode(errors="replace"),
        owner=flight.read("owner"),
        steps=tuple(flight.read("steps").splitlines()),
        program=flight.read("program"),
        between=between,
    )
