"""What an implementation does to the process besides its work: what it prints, and which signals it takes."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import tempfile
from collections.abc import Iterator


class _Swallowed(io.TextIOWrapper):
    """Stands for the standard output, with all that a real one has; who closes it closes nothing."""

    def __init__(self) -> None:
        self._bytes = io.BytesIO()
        super().__init__(self._bytes, encoding="utf-8", errors="backslashreplace", write_through=True)

    def fileno(self) -> int:
        return 1

    def close(self) -> None:
        pass

    def text(self) -> str:
        """Return what was written."""
        return self._bytes.getvalue().decode(errors="replace")


@contextlib.contextmanager
def quietly() -> Iterator[list[str]]:
    """Swallow what is printed, from Python and from below; the list holds it afterwards."""
    said: list[str] = []
    stream = _Swallowed()
    sys.stdout.flush()
    sys.stderr.flush()
    with tempfile.TemporaryFile() as file:
        saved = [(number, os.dup(number)) for number in (1, 2)]
        try:
            for number, _ in saved:
                os.dup2(file.fileno(), number)
            with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
                yield said
        finally:
            for number, copy in saved:
                os.dup2(copy, number)
                os.close(copy)
            file.seek(0)
            said += [stream.text(), file.read().decode(errors="replace")]


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
                replaced.append(signal.Signals(number).name)


@contextlib.contextmanager
def noting(notes: list[str], path: str, when: str) -> Iterator[None]:
    """Note what an implementation does to the process besides its work."""
    with quietly() as said, keeping_signal_handlers() as replaced:
        yield
    if text := " ".join(" ".join(said).split()):
        notes.append(f"{path} printed when {when}: {text[:60]!r}")
    if replaced:
        notes.append(f"{path} replaced the handler of {', '.join(replaced)} when {when}")
