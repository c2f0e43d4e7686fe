"""What an implementation has written: which files below a directory may hold what was stored."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from pathlib import Path

MARK = b"https://example."
"""What all requests of checks have in common."""

_LOCK = re.compile(r"(^|[^a-z])(lock|lck|pid)([^a-z]|$)", re.IGNORECASE)


def stored_files(directory: Path, place: str = "", marks: Collection[bytes] = (MARK,)) -> list[Path]:
    """Return the files below a directory in which something may be stored.

    That is all but locks, notes of a process's number and, beside the place where a class is to store, logs: text in which there
    is nothing of what was stored.

    Args:
        place: how the paths begin of what is stored where it should be; all do if it is empty.
        marks: what a text has in it that is no log: the URLs of the kit, if nothing else is given.
    """
    found = [path for path in directory.rglob("*") if path.is_file() and not _is_lock(path)]
    return [path for path in found if str(path).startswith(place) or not _is_log(path, marks)]


def _is_log(path: Path, marks: Collection[bytes]) -> bool:
    try:
        content = path.read_bytes()
        return "\0" not in content.decode() and not any(mark in content for mark in marks)
    except (OSError, UnicodeDecodeError):
        return False


def _is_lock(path: Path) -> bool:
    if _LOCK.search(path.name):
        return True
    try:
        return path.stat().st_size < 20 and path.read_bytes().strip() == str(os.getpid()).encode()
    except OSError:
        return False
