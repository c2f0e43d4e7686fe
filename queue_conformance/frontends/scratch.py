"""A directory for all that a run writes, which another run removes only when this one has ended, however it ended."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

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
        root = _root()
        made = Path(tempfile.mkdtemp(prefix=f".{_NAME}", dir=root))
        self.path = made
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
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def _remove_if_left(path: Path) -> None:
    """Remove a directory that no run holds any more."""
    try:
        lock = os.open(path / _LOCK, os.O_RDWR)
    except FileNotFoundError:
        shutil.rmtree(path, ignore_errors=True)
        return
    except OSError:
        return  # somebody else's
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(path, ignore_errors=True)
    except OSError:
        pass  # its run goes on
    finally:
        os.close(lock)


def _root() -> str | None:
    """Return a directory in memory if there is one with enough room: queues on disk are up to 75 times faster there."""
    shared = Path("/dev/shm")
    try:
        return str(shared) if shutil.disk_usage(shared).free >= 512 << 20 else None
    except OSError:
        return None
