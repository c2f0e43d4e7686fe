"""What became of tasks, and where they wait: for checks, reports and scripts."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Iterable
from typing import Any

Task = asyncio.Task[Any]


def place_of(task: Task) -> str:
    """Return where a task waits, as ``Scheduler.get, line 12 of scheduler.py``: the innermost line of the implementation."""
    frames = _frames(task)
    if not frames:
        return "nothing that can be seen"
    packages = [frame.f_globals.get("__name__", "").partition(".")[0] for frame, _ in frames]
    own = next((package for package in packages if package not in _FOUNDATION), packages[0])
    frame, line = next(found for found, package in zip(reversed(frames), reversed(packages), strict=True) if package == own)
    return f"{frame.f_code.co_qualname}, line {line} of {os.path.basename(frame.f_code.co_filename)}"


def table_of(tasks: Iterable[tuple[str, Task]]) -> str:
    """Return where tasks are, by their names, as one line of a table that shows an interleaving."""
    states = []
    for name, task in tasks:
        kind, _ = outcome_of(task)
        if kind == "waiting":
            coroutine = task.get_coro()
            new = inspect.iscoroutine(coroutine) and inspect.getcoroutinestate(coroutine) == inspect.CORO_CREATED
            kind = "has not begun" if new else f"in {place_of(task).partition(' of ')[0]}"
        states.append(f"{name} {kind}")
    return "; ".join(states)


_FOUNDATION = ("asyncio", "queue_conformance")
"""Packages whose code is not taken for the implementation's, unless there is no other."""


def _frames(task: Task) -> list[tuple[Any, int]]:
    """Return the frames of a task and of all that it awaits, the innermost last."""
    frames = []
    awaited: Any = task.get_coro()
    while awaited is not None:
        frame = getattr(awaited, "cr_frame", None) or getattr(awaited, "gi_frame", None) or getattr(awaited, "ag_frame", None)
        if frame is not None:
            frames.append((frame, frame.f_lineno))
        awaited = (
            getattr(awaited, "cr_await", None) or getattr(awaited, "gi_yieldfrom", None) or getattr(awaited, "ag_await", None)
        )
    return frames


def stuck(*tasks: Task) -> list[str]:
    """Return where tasks wait, for those that have not ended."""
    return [f"waits forever in {place_of(task)}" for task in tasks if not task.done()]


WAITING = ("waiting", None)
"""The outcome of a task that has not ended."""


def outcome_of(task: Task) -> tuple[str, Any]:
    """Return what became of a task: ``waiting``, ``cancelled``, ``raised`` or ``returned``, and the error or the value."""
    if not task.done():
        return WAITING
    if task.cancelled():
        return "cancelled", None
    error = task.exception()
    if error is not None:
        return "raised", error
    return "returned", task.result()
