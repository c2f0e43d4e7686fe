"""What a class under test must not touch: what was there before the run, and is not lent to it.

A class finds its store by settings, variables of the environment, the working directory or an address of its own. Of these the
kit gives it its own; anything else may be the author's production. So each process in which code of a class runs is guarded:
a hook in its interpreter (:mod:`~queue_conformance.guard.hook`), on every platform, and on Linux the kernel, which asks a process
of the kit before it lets anything through (:mod:`~queue_conformance.guard.kernel`): it sees clients in C, and programs that the
class starts. What they refuse does not happen, is noted in shared memory, whatever the class makes of the error, and ends the
run of the class with one line.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import struct
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from queue_conformance.guard import hook, kernel
from queue_conformance.guard.hook import look_at
from queue_conformance.guard.limits import Limits, Refusal

try:
    import fcntl
except ImportError:  # on Windows, where nothing is forked
    fcntl = None  # type: ignore[assignment]

__all__ = ["Guard", "Refusal", "allow", "exempt", "look_at"]


class _Note:
    """A text in memory that processes share."""

    _LENGTH = struct.Struct("I")

    def __init__(self, size: int) -> None:
        self._memory = mmap.mmap(-1, size)
        with tempfile.TemporaryFile() as file:
            self._lock = os.dup(file.fileno())
        weakref.finalize(self, os.close, self._lock).atexit = False

    def read(self) -> str:
        (length,) = self._LENGTH.unpack_from(self._memory)
        return self._memory[self._LENGTH.size : self._LENGTH.size + length].decode(errors="surrogateescape")

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Let no other process in here meanwhile; one that is killed here keeps nobody out."""
        with contextlib.ExitStack() as stack:
            if fcntl is not None:
                with contextlib.suppress(OSError):  # the class has closed it
                    fcntl.lockf(self._lock, fcntl.LOCK_EX)
                    stack.callback(fcntl.lockf, self._lock, fcntl.LOCK_UN)
            yield

    def write(self, text: str) -> None:
        """Replace the text; what does not fit is dropped as a whole."""
        data = text.encode(errors="surrogateescape")
        if len(data) <= len(self._memory) - self._LENGTH.size:
            self._memory[self._LENGTH.size : self._LENGTH.size + len(data)] = data
            self._LENGTH.pack_into(self._memory, 0, len(data))


_LATEST = 200
"""Servers and ports of a run that are remembered besides what the author allows."""


class Guard:
    """Guards the processes of one implementation.

    Args:
        scratch: the directory for all that a run writes; what is older than that was there before the run.
        allowed: what the author allows besides: ``HOST:PORT``, or the path of a file or a socket.
        lent: whether a server is lent to the class.
        began: since when files are the run's own, in nanoseconds, if not since there is the directory.
    """

    def __init__(self, scratch: Path, allowed: Sequence[str] = (), lent: bool = False, began: int | None = None) -> None:
        self._arguments = scratch, allowed, lent, began
        self._refusal, self._allowed = _Note(8 << 10), _Note(64 << 10)
        self.limits = Limits(scratch, self._allowed.read, began)
        self._trusted = lent or bool(allowed)
        self._kept = 0
        for one in allowed:
            self.allow(one)
        self._kept = len(self._allowed.read().split("\n"))

    def __reduce__(self) -> tuple[type[Guard], tuple[Path, Sequence[str], bool, int | None]]:
        """What another interpreter makes of it is as strict, and notes for itself."""
        return Guard, self._arguments

    @property
    def is_blind(self) -> bool:
        """Whether a library in C may do what it likes in this process, and the author has not said where it stores."""
        return not kernel.watches() and not self._trusted

    def allow(self, what: str) -> None:
        """Let ``HOST:PORT``, or a path, be touched."""
        if not self.limits.allows(what):
            self._permit(what, *self.limits.forms_of(what))

    def exempt(self, pid: int) -> None:
        """Let a process do what it likes, with those that it starts, as far as the kernel asks: it is a server of the kit."""
        self._permit(f"process {pid}")

    def _permit(self, *lines: str) -> None:
        """Remember what is allowed: that of the author for good, and else the latest, as a class may listen on many ports."""
        with self._allowed.alone():
            known = [*dict.fromkeys(filter(None, (*self._allowed.read().split("\n"), *lines)))]
            self._allowed.write("\n".join(known[: self._kept] + known[self._kept :][-_LATEST:]))

    @property
    def refusal(self) -> Refusal | None:
        """What was refused first, if anything was."""
        return Refusal.read(self._refusal.read())

    def refuse(self, refusal: Refusal) -> None:
        """Note what was refused, unless something was before."""
        if not self._refusal.read():
            self._refusal.write(refusal.written())

    def refused(self, path: str, settings: Mapping[str, object]) -> str:
        """Return a line on what was refused, which says what to do, or ``""``.

        Args:
            path: the dotted path of the class.
            settings: what it is built with.
        """
        return f"{path} cannot be tested here: it {refusal.told(settings)}" if (refusal := self.refusal) else ""

    # --- Processes ---------------------------------------------------------------------------------------------------

    def enter(self, parent: int) -> int:
        """Guard this process, which was just forked, and all below it, for good.

        Where the kernel helps, what goes on is a fork of it, over which it watches, unless that is so already: of two who
        want to be asked, the kernel takes the first.

        Args:
            parent: the number of its parent.

        Returns:
            The number of the parent of the process that goes on.
        """
        if kernel.AVAILABLE and not kernel.watches():
            parent = kernel.watched(parent, self)
        hook.begin(self)
        return parent

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Guard the interpreter of this process while the block runs."""
        before = hook.begin(self)
        try:
            yield
        finally:
            hook.end(before)


def allow(what: str) -> None:
    """Let ``HOST:PORT``, or a path, be touched where this process is guarded: a server of the kit is there."""
    if (guard := hook.current()) is not None:
        guard.allow(what)
    else:
        kernel.tell("allow", what)


def exempt() -> None:
    """Let this process, which is about to become a server of the kit, do what it likes."""
    if (guard := hook.current()) is not None:
        guard.exempt(os.getpid())
    else:
        kernel.tell("exempt", str(os.getpid()))
