"""What processes under test print: passed on when they have ended, without its middle where it is long."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import IO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

HEAD = 256 << 10
"""Bytes that are kept of the beginning."""

TAIL = 64 << 10
"""Bytes that are kept of the end."""

MOST = 4 << 20
"""Bytes from which on a file is cut while it is written."""

STREAMS = (1, 2)
"""The numbers of the standard streams."""

_swallowing = False
"""Whether nothing is passed on: in this process, and in those that it forks meanwhile."""


def nameless_file() -> IO[bytes]:
    """Return a file of no name, in memory where the system has such files."""
    if hasattr(os, "memfd_create"):
        return open(os.memfd_create("queue-conformance"), "r+b", buffering=0)
    return tempfile.TemporaryFile(buffering=0)


class Output:
    """Files for the standard streams of other processes, which are cut where these print too much."""

    def __init__(self) -> None:
        with ExitStack() as stack:
            self._files = [stack.enter_context(nameless_file()) for _ in STREAMS]
            self._stack = stack.pop_all()
        for file in self._files:
            _append_to(file.fileno())
        self._cut, self._tails = [0, 0], [b"", b""]

    def take(self) -> None:
        """Let this process, and those that it starts, print into the files."""
        for stream, file in zip(STREAMS, self._files, strict=True):
            os.dup2(file.fileno(), stream)

    @property
    def streams(self) -> list[int]:
        """The descriptors of the files, for standard output and for errors."""
        return [file.fileno() for file in self._files]

    def cut(self, most: int = MOST) -> None:
        """Leave the beginning of files that are longer than this, and remember the end, whoever writes to them meanwhile."""
        for number, file in enumerate(self._files):
            size = os.fstat(file.fileno()).st_size
            if size > max(most, HEAD):
                self._tails[number] += os.pread(file.fileno(), TAIL, max(HEAD, size - TAIL))
                os.ftruncate(file.fileno(), HEAD)
                self._cut[number] += size - HEAD
                self._tails[number] = self._tails[number][-TAIL:]

    def pass_on(self) -> None:
        """Print what was printed, and how much of it is left out; from here on it is forgotten."""
        self.cut(0)
        for number, (stream, file) in enumerate(zip(STREAMS, self._files, strict=True)):
            head, tail = os.pread(file.fileno(), HEAD, 0), self._tails[number]
            missing = self._cut[number] - len(tail)
            said = f"\n[... at least {missing} bytes are left out ...]\n".encode() if missing else b""
            os.ftruncate(file.fileno(), 0)
            self._cut[number], self._tails[number] = 0, b""
            _print(stream, b"" if _swallowing else head + said + tail)

    def sizes(self) -> list[int]:
        """Return how long the files are, in bytes."""
        return [os.fstat(file.fileno()).st_size for file in self._files]

    def forget(self, sizes: Sequence[int]) -> str:
        """Return the beginning of what was printed since the files had these sizes, and forget it."""
        texts = []
        for size, file in zip(sizes, self._files, strict=True):
            texts.append(os.pread(file.fileno(), HEAD, size).decode(errors="replace"))
            os.ftruncate(file.fileno(), min(size, os.fstat(file.fileno()).st_size))
        return "".join(texts)

    def close(self) -> None:
        """Remove the files."""
        self._stack.close()


def _append_to(number: int) -> None:
    """Let whoever writes write at the end, wherever that is by then."""
    if fcntl is not None:
        fcntl.fcntl(number, fcntl.F_SETFL, fcntl.fcntl(number, fcntl.F_GETFL) | os.O_APPEND)


def _print(stream: int, said: bytes) -> None:
    with suppress(OSError):  # nobody reads it any more
        while said:
            said = said[os.write(stream, said) :]


@contextmanager
def limited() -> Iterator[Output | None]:
    """Let other processes print into files, and pass that on at the end; into a terminal they print directly."""
    output = unless_terminal()
    if output is None:
        yield None
        return
    try:
        yield output
    finally:
        output.pass_on()
        output.close()


def unless_terminal() -> Output | None:
    """Return files for what other processes print; ``None`` where they print into a terminal, and are meant to."""
    return None if not _swallowing and any(map(_is_terminal, STREAMS)) else Output()


@contextmanager
def swallowed() -> Iterator[None]:
    """Pass on nothing of what other processes print meanwhile."""
    global _swallowing
    before, _swallowing = _swallowing, True
    try:
        yield
    finally:
        _swallowing = before


def _is_terminal(stream: int) -> bool:
    with suppress(OSError):
        return os.isatty(stream)
    return False
