"""Faults of the disk: a limit on the size of files, which cuts a write in the middle as a full disk does."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import resource
except ImportError:  # Windows
    AVAILABLE = False
else:
    AVAILABLE = True


def largest_file(directory: Path) -> int:
    """Return the size of the largest file below a directory, in bytes."""
    return max((path.stat().st_size for path in directory.rglob("*") if path.is_file()), default=0)


def reached(directory: Path, limit: int) -> bool:
    """Whether a file below a directory has grown to the limit, so that a write was cut there."""
    return any(path.stat().st_size >= limit for path in directory.rglob("*") if path.is_file())


@contextmanager
def file_size_limit(limit: int) -> Iterator[None]:
    """Let no file of this process grow beyond a size; writes beyond it fail with ``EFBIG`` or are cut short.

    Args:
        limit: bytes.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    previous = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, previous)


def source_of_limit(extra: int) -> list[str]:
    """Return lines of a script that set a limit some bytes above the largest file of ``directory``."""
    sizes = "path.stat().st_size for path in Path(directory).rglob('*') if path.is_file()"
    return [
        f"limit = max(({sizes}), default=0) + {extra}",
        "resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))",
    ]


SOURCE_OF_NO_LIMIT = "resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))"
"""The line of a script that lifts the limit."""
