"""The processes that another one leaves behind: a parent of theirs that adopts them can end them."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Set
from pathlib import Path
from time import monotonic, sleep

LIBRARY = ctypes.CDLL(None) if sys.platform == "linux" else None
DEATH_OF_PARENT = 1
"""``PR_SET_PDEATHSIG`` of prctl(2)."""
_ADOPT = 36
"""``PR_SET_CHILD_SUBREAPER`` of prctl(2)."""

kill, _waitpid = os.kill, os.waitpid  # now: an implementation may replace them in their module

_LEAVE = 0.5
"""Seconds that processes get to end by themselves, as those do that wait for the end of another one."""

_LONGEST = 10.0
"""Seconds in which whatever is killed has ended, unless it makes others faster than they can be killed."""


def adopt() -> None:
    """Let this process become the parent of all below it whose parents end, where the system can do that (Linux)."""
    if LIBRARY is not None:
        LIBRARY.prctl(_ADOPT, 1)


def children() -> dict[int, str]:
    """Return the children of this process that have not ended, with their names; where nobody knows them (no /proc), none."""
    found, me = {}, str(os.getpid())
    for number in _candidates():
        with contextlib.suppress(OSError, ValueError):
            name, _, rest = Path("/proc", number, "stat").read_text("utf-8", "replace").partition("(")[2].rpartition(")")
            state, parent = rest.split()[:2]
            if parent == me:
                if state == "Z":
                    _waitpid(int(number), os.WNOHANG)
                else:
                    found[int(number)] = name
    return found


def adopted() -> int:
    """Return how many children this process has, also such as have ended; 0 where nobody knows them."""
    with contextlib.suppress(OSError):
        return len(_listed())
    return 0


def _candidates() -> set[str]:
    """Return the numbers of what may be a child of this process: all processes, where the system does not tell of these alone."""
    try:
        if os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            pass  # there are children, and none has ended
    except ChildProcessError:
        return set()
    with contextlib.suppress(OSError):
        return {*_listed(), *_listed()}  # one that is gone while the system writes this may take the place of another
    with contextlib.suppress(OSError):
        return set(filter(str.isdigit, os.listdir("/proc")))
    return set()


def _listed() -> list[str]:
    """Return the numbers of the children of this process.

    Raises:
        OSError: if this system does not tell them.
    """
    return [number for task in Path("/proc/self/task").iterdir() for number in (task / "children").read_text().split()]


def end_descendants(spared: Set[int] | dict[int, str] = frozenset()) -> tuple[str, ...]:
    """Kill what is left below this process.

    Args:
        spared: the numbers of children that stay.

    Returns:
        The names of what had to be killed.
    """
    left: dict[int, str] = {}
    began = monotonic()
    while monotonic() - began < _LONGEST:
        found = {pid: name for pid, name in children().items() if pid not in spared}
        if not found:
            break
        if monotonic() - began > _LEAVE:
            left |= found
            for pid in found:
                with contextlib.suppress(ProcessLookupError):
                    kill(pid, signal.SIGKILL)
        sleep(0.005)
    return tuple(sorted(left.values()))
