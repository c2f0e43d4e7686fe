"""What an implementation does to the process besides its work: to streams, signal handlers, and descriptors of others."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import socket
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from queue_conformance.processes import role
from queue_conformance.processes.endings import signal_name
from queue_conformance.processes.output import HEAD, STREAMS, Output

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class _Beginning(io.BytesIO):
    """Keeps the beginning of what is written."""

    def write(self, data: ReadableBuffer) -> int:
        size = memoryview(data).nbytes
        super().write(memoryview(data).cast("B")[: max(0, HEAD - self.tell())])
        return size


class _Swallowed(io.TextIOWrapper):
    """Stands for the standard output, with all that a real one has; who closes it closes nothing."""

    def __init__(self) -> None:
        self._bytes = _Beginning()
        super().__init__(self._bytes, encoding="utf-8", errors="backslashreplace", write_through=True)

    def fileno(self) -> int:
        return 1

    def close(self) -> None:
        pass

    def text(self) -> str:
        """Return the beginning of what was written."""
        return self._bytes.getvalue().decode(errors="replace")


@contextlib.contextmanager
def quietly() -> Iterator[list[str]]:
    """Swallow what is printed, from Python and from below; the list holds the beginning of it afterwards."""
    said: list[str] = []
    stream = _Swallowed()
    sys.stdout.flush()
    sys.stderr.flush()
    with _swallowed() as below, contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
        yield said
    said += [stream.text(), *below]


@contextlib.contextmanager
def _swallowed() -> Iterator[list[str]]:
    """Swallow what is printed from below; where all that goes into files already, from these."""
    said: list[str] = []
    if role.printed is not None:
        before = role.printed.sizes()
        try:
            yield said
        finally:
            said.append(role.printed.forget(before))
        return
    output = Output()
    saved = [(number, os.dup(number)) for number in STREAMS]
    try:
        output.take()
        yield said
    finally:
        for number, copy in saved:
            os.dup2(copy, number)
            os.close(copy)
        said.append(output.forget([0, 0]))
        output.close()


@contextlib.contextmanager
def keeping_signal_handlers() -> Iterator[list[str]]:
    """Put the signal handlers back that something replaces; the list names them afterwards."""
    replaced: list[str] = []
    before = {number: signal.getsignal(number) for number in signal.valid_signals()}
    try:
        yield replaced
    finally:
        for number, handler in before.items():
            if signal.getsignal(number) is not handler and handler is not None:
                signal.signal(number, handler)
                replaced.append(signal_name(number))


class Sentinel:
    """Two sockets that nobody uses: whoever harms descriptors that are not its own harms these too."""

    def __init__(self) -> None:
        self._sockets = socket.socketpair()
        for one in self._sockets:
            one.setblocking(False)  # or else who writes there would wait when they are full
        self._identities = [self._identity(one) for one in self._sockets]

    def harm(self) -> str:
        """Return what was done to them, in the past tense, or ``""``."""
        for one, identity in zip(self._sockets, self._identities, strict=True):
            if (now := self._identity(one)) != identity:
                return "replaced" if now else "closed"
            with contextlib.suppress(BlockingIOError):
                return "wrote into" if one.recv(1, socket.MSG_PEEK) else "shut down"
        return ""

    def close(self) -> None:
        """Close them, unless something else has their numbers now."""
        for one, identity in zip(self._sockets, self._identities, strict=True):
            if self._identity(one) == identity:
                one.close()
            else:
                one.detach()

    @staticmethod
    def _identity(one: socket.socket) -> tuple[int, int] | None:
        try:
            found = os.fstat(one.fileno())
        except OSError:
            return None
        return found.st_dev, found.st_ino


NOT_ITS_OWN = "descriptors that are not its own"


@contextlib.contextmanager
def noting(notes: list[str], path: str, when: str) -> Iterator[None]:
    """Note what an implementation does to the process besides its work."""
    sentinel = Sentinel()
    try:
        with quietly() as said, keeping_signal_handlers() as replaced:
            yield
        harm = sentinel.harm()
    finally:
        sentinel.close()
    if text := " ".join(" ".join(said).split()):
        notes.append(f"{path} printed when {when}: {text[:60]!r}")
    if replaced:
        notes.append(f"{path} replaced the handler of {', '.join(replaced)} when {when}")
    if harm:
        notes.append(f"{path} {harm} {NOT_ITS_OWN} when {when}")
