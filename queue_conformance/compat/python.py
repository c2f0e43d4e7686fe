"""How an interpreter ends, in parts: for a process that is a copy of another one and ends without what belongs to that.

And how it sees less of its stack, for modules that ask for all of it when they are imported.
"""

from __future__ import annotations

import atexit
import contextlib
import inspect
import sys
import threading
from collections.abc import Iterator
from types import FrameType


def forget_exit_functions() -> None:
    """Forget what is registered to be called at the end of the interpreter."""
    atexit._clear()


def end_threads() -> None:
    """Wake the idle workers of executors, and wait for all threads that are not daemons, as an interpreter does at its end."""
    threading._shutdown()  # type: ignore[attr-defined]


def call_exit_functions() -> None:
    """Call what is registered to be called at the end of the interpreter."""
    atexit._run_exitfuncs()


@contextlib.contextmanager
def two_frames_of_the_stack() -> Iterator[None]:
    """Let `inspect.stack()` return its first two frames alone, at which Scrapy looks to see who deprecates a class.

    For each of all frames Python looks at every module and at a source: together for a fifth of a second below pytest.
    """

    def stack(context: int = 1) -> list[tuple[FrameType | None]]:
        frame = sys._getframe(1)
        return [(frame,), (frame.f_back,)]

    whole, inspect.stack = inspect.stack, stack  # type: ignore[assignment]
    try:
        yield
    finally:
        inspect.stack = whole
