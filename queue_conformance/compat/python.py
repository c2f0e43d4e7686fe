"""How an interpreter ends, in parts: for a process that is a copy of another one and ends without what belongs to that.

And how it sees less of its stack, for modules that ask for all of it when they are imported, and has room for it.
"""

from __future__ import annotations

import atexit
import contextlib
import inspect
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType, FunctionType
from typing import Any


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


def _call(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments)


_ROOM = 1 << 16
"""Values for which the frames of functions have room: as many as some hundred of them hold that call each other."""

with_room: Callable[..., Any] = FunctionType(_call.__code__.replace(co_stacksize=_ROOM), globals())
"""Call a function where the frames of all that it calls are in one piece of memory.

Python has them in pieces of 16 KiB, and gets one from the system, and gives it back, with each call that goes beyond the end
of another one: that takes longer than many functions do.
"""
