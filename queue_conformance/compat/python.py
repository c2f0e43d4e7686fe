"""How an interpreter ends, in parts: for a process that is a copy of another one and ends without what belongs to that."""

from __future__ import annotations

import atexit
import threading


def forget_exit_functions() -> None:
    """Forget what is registered to be called at the end of the interpreter."""
    atexit._clear()


def end_threads() -> None:
    """Wake the idle workers of executors, and wait for all threads that are not daemons, as an interpreter does at its end."""
    threading._shutdown()  # type: ignore[attr-defined]


def call_exit_functions() -> None:
    """Call what is registered to be called at the end of the interpreter."""
    atexit._run_exitfuncs()
