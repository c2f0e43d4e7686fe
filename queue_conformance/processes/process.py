"""Child processes: how one is started, what it says over a pipe, and how it ends.

Every process that the kit forks is forked here. What runs in it is a function: under a supervisor, with a watchdog
(:mod:`~queue_conformance.processes.isolation`), or as a :class:`Child` of a check, which talks to it, and may kill it. A script
runs in an interpreter of its own (:func:`run_script`).
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import select
import signal
import subprocess
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep  # now: an implementation may replace them in their module
from types import MappingProxyType
from typing import Any, NoReturn, Self

from queue_conformance.processes.descendants import DEATH_OF_PARENT, LIBRARY
from queue_conformance.processes.mailbox import Mailbox
from queue_conformance.processes.stopwatch import Stopwatch

AVAILABLE = hasattr(os, "fork")
"""Whether this platform can fork."""

_fork = getattr(os, "fork", None)  # now: an implementation may replace it in its module

exit_now = os._exit  # likewise: a copy of a process that does not end would go on with what its parent does
"""End this process at once, with a status."""


def fork() -> int:
    """Fork; the child, for which this returns 0, is killed when this process ends, where the system can do that (Linux)."""
    parent = os.getpid()
    pid = forked()
    if pid == 0:
        die_with_parent(parent)
    return pid


def forked() -> int:
    """Fork as :func:`fork` does, but the child need not end with this process."""
    flush()
    with warnings.catch_warnings():
        # Python 3.12 warns about fork in a process with threads. Children use none of them, such as those of a distributed
        # run, whose channels they never touch.
        warnings.simplefilter("ignore", DeprecationWarning)
        assert _fork is not None
        pid: int = _fork()
    if pid == 0:
        gc.freeze()  # a collection would write to, and so copy, every page that holds an object of the parent
    return pid


def flush() -> None:
    """Write what was printed; an implementation may have closed or replaced the streams."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()


def die_with_parent(parent: int, by: str = "SIGKILL") -> None:
    """Let this process be killed when the one that started it ends, where the system can do that (Linux).

    Args:
        parent: the number of that process; if it has ended already, this one ends at once.
        by: the name of the signal that kills it.
    """
    if LIBRARY is not None:
        LIBRARY.prctl(DEATH_OF_PARENT, getattr(signal, by))
        if os.getppid() != parent:
            exit_now(1)


TICK = 0.1
"""Seconds between two looks at what a process does."""

_GRACE = 5.0
"""Seconds that a process gets to end with all that it watches."""


class Process:
    """Waits for the end of a child."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._status: int | None = None
        self._poll: select.poll | None = None
        self._descriptor = -1
        with contextlib.suppress(AttributeError, OSError):  # an old kernel, or another one
            self._descriptor = os.pidfd_open(pid)
            self._poll = select.poll()
            self._poll.register(self._descriptor, select.POLLIN)

    def within(self, seconds: float) -> int | None:
        """Return its status, or ``None`` if it does not end within so many seconds."""
        deadline = monotonic() + seconds
        while self._status is None:
            if self._poll is not None:
                self._poll.poll(max(0.0, deadline - monotonic()) * 1000)
            else:
                sleep(0.002)
            try:
                ended, status = os.waitpid(self._pid, os.WNOHANG)
            except ChildProcessError:  # what counts children has waited for it
                ended, status = self._pid, 0
            if ended:
                self._status = status
                self._close()
            elif monotonic() >= deadline:
                break
        return self._status

    def go_on(self) -> None:
        """Let it go on, if something has stopped it."""
        if self._status is None:
            seen = os.waitid(os.P_PID, self._pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT | os.WNOHANG)
            if seen is not None and seen.si_code == os.CLD_STOPPED:
                os.kill(self._pid, signal.SIGCONT)

    def end(self) -> int:
        """Kill it, if it has not ended, and return its status."""
        if self._status is None:
            os.kill(self._pid, signal.SIGKILL)
            _, self._status = os.waitpid(self._pid, 0)
            self._close()
        return self._status

    def stop(self) -> None:
        """Let it end with all that it watches, if it has not ended."""
        if self._status is None and self.within(0.0) is None:
            os.kill(self._pid, signal.SIGTERM)
            self.within(_GRACE)
            self.end()

    def _close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


# --- Children of checks ----------------------------------------------------------------------------------------------

Say = Callable[[Any], None]
"""How a child tells the process that started it something that can be pickled."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended.

    Attributes:
        signal: the signal that ended it, or 0.
        hung: it was silent for too long and was killed for that.
    """

    said: tuple[Any, ...]
    signal: int
    status: int
    hung: bool

    @property
    def hit(self) -> bool:
        """Whether a kill ended it."""
        return not self.hung and self.signal in (signal.SIGKILL, signal.SIGXFSZ)


class Child:
    """A function in a forked process, which cannot outlive this one; as a context, not longer than that."""

    def __init__(self, function: Callable[[Say], object]) -> None:
        self._mailbox = Mailbox()
        self.pid = fork()
        if self.pid == 0:
            _speak(function, self._mailbox)
        self._process = Process(self.pid)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.kill()

    def hear(self, number: int, time_limit: float) -> bool:
        """Wait until it has said so many things, and return whether it does within so many seconds, and before it ends."""
        deadline = monotonic() + time_limit
        while len(self.said()) < number and monotonic() < deadline:
            if self._process.within(_LOOK) is not None:
                break
        return len(self.said()) >= number

    def said(self) -> tuple[Any, ...]:
        """Return what it said by now.

        Raises:
            RuntimeError: if the function raised; the text is the traceback there.
            PassedOn: if it raised that.
        """
        found = tuple(map(pickle.loads, self._mailbox.messages()))
        if found and isinstance(found[-1], (PassedOn, RuntimeError)):
            raise found[-1]
        return found

    def listen(self, time_limit: float) -> Ended:
        """Hear what it says until it ends, or kill it when it is silent for too long.

        Args:
            time_limit: seconds of silence.

        Raises:
            RuntimeError: if the function raised; the text is the traceback there.
            PassedOn: if it raised that.
        """
        clock, deadline, status, heard = Stopwatch(self.pid), time_limit, None, 0
        while status is None and clock.look() < deadline:
            status = self._process.within(0.05)
            if (size := self._mailbox.size) != heard:
                heard, deadline = size, clock.seconds + time_limit
        hung = status is None
        status = self.kill()
        signaled = os.WIFSIGNALED(status)
        return Ended(self.said(), os.WTERMSIG(status) if signaled else 0, 0 if signaled else os.WEXITSTATUS(status), hung)

    def kill(self) -> int:
        """Kill it, if it has not ended, and return its status."""
        return self._process.end()


_LOOK = 0.002
"""Seconds between two looks at what a child says."""


class PassedOn(Exception):
    """What a child process raises, and its parent raises too."""


def _speak(function: Callable[[Say], object], mailbox: Mailbox) -> NoReturn:
    """Call a function, and end this process."""

    def say(value: Any) -> None:
        mailbox.add(pickle.dumps(value))

    code = 1
    try:
        try:
            function(say)
        except PassedOn as stopped:
            say(stopped)
        except BaseException:
            say(RuntimeError(traceback.format_exc()))
        code = 0
    finally:
        exit_now(code)


def run(function: Callable[[Say], object], *, time_limit: float) -> Ended:
    """Call a function in a child, and hear what it says until it ends; see :meth:`Child.listen`."""
    with Child(function) as child:
        return child.listen(time_limit)


# --- Scripts ---------------------------------------------------------------------------------------------------------

_REST = 1.0
"""Seconds in which what a script printed has arrived."""


def run_script(
    file: Path,
    *arguments: str,
    path: Sequence[str],
    directory: Path,
    time_limit: float,
    environment: Mapping[str, str] = MappingProxyType({}),
) -> tuple[int | None, str]:
    """Run a script in a new interpreter, and end what it leaves behind.

    Args:
        environment: what it has besides the environment of this process.

    Returns:
        Its exit status, or ``None`` if it did not end, and what it printed, to both streams.
    """
    said = bytearray()
    script = subprocess.Popen(
        [sys.executable, "-u", str(file), *arguments],
        cwd=directory,
        env={**os.environ, **environment, "PYTHONPATH": os.pathsep.join(path)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,  # no file, which a script may not let grow
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    assert script.stdout is not None
    stream = script.stdout.fileno()

    def read() -> None:
        while data := os.read(stream, 1 << 16):
            said.extend(data)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    status = None
    try:
        with contextlib.suppress(subprocess.TimeoutExpired):
            status = script.wait(time_limit)
    finally:
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(script.pid, signal.SIGKILL)
        elif status is None:
            script.kill()
        script.wait()
        reader.join(_REST)  # something that it left behind may hold the pipe open
        if not reader.is_alive():
            script.stdout.close()
    return status, said.decode("utf-8", "replace")
