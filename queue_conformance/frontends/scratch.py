"""A directory for all that a run writes, which another run removes only when this one has ended, however it ended."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from queue_conformance.processes.trees import remove

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_NAME = "queue-conformance-run-"
_LOCK = "lock"


class Scratch:
    """A scratch directory; those of runs that were killed are removed when one is made.

    A lock tells whether a run goes on, and not the number of its process: processes of containers that share a directory
    have numbers that mean nothing, or something else, in another one.

    Attributes:
        path: the directory.
    """

    def __init__(self) -> None:
        self.path = made = _made()
        self._lock = -1
        if fcntl is None:  # nobody can tell whose run goes on
            return
        self._lock = os.open(made / _LOCK, os.O_RDWR | os.O_CREAT)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        # Under its own name only now: what bears it and is not locked is nobody's.
        self.path = made.rename(made.with_name(made.name.removeprefix(".")))
        for other in self.path.parent.glob(f"{_NAME}*"):
            _remove_if_left(other)

    def remove(self) -> None:
        """Remove it."""
        remove(self.path)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def _remove_if_left(path: Path) -> None:
    """Remove a directory that no run holds any more, unless somebody else made it, or can change it."""
    with suppress(OSError):
        found = path.lstat()
        ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if ours and not _is_held(path):
            remove(path)


def _is_held(path: Path) -> bool:
    """Whether the run of a directory goes on."""
    try:
        lock = os.open(path / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def _made() -> Path:
    """Make a directory in memory, or where temporary files are made: memory may be read-only, or not for this user."""
    prefix = f".{_NAME}"
    if root := _root():
        with suppress(OSError):
            return Path(tempfile.mkdtemp(prefix=prefix, dir=root))
    return Path(tempfile.mkdtemp(prefix=prefix))


def _root() -> str | None:
    """Return a directory in memory if there is one with enough room: queues on disk are up to 75 times faster there."""
    shared = Path("/dev/shm")
    try:
        return str(shared) if shutil.disk_usage(shared).free >= 512 << 20 else None
    except OSError:
        return None
