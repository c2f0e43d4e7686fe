"""What is stored in a directory, so that two looks at it tell whether it has changed."""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

_SQLITE = b"SQLite format 3\0"
_BESIDE = ("-wal", "-shm", "-journal")
"""What SQLite keeps beside a database, and moves into it when that is opened, or closed."""


def stored_in(directory: Path) -> dict[str, str]:
    """Return a digest of each file, by its path; of a database of SQLite it is one of its rows."""
    files = {str(path.relative_to(directory)): path for path in directory.rglob("*") if path.is_file()}
    databases = [name for name, path in files.items() if _begins(path) == _SQLITE]
    beside = {name + suffix for name in databases for suffix in _BESIDE}
    return {
        name: _rows(path) if name in databases else _digest(path.read_bytes())
        for name, path in files.items()
        if name not in beside
    }


def _begins(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(len(_SQLITE))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _rows(path: Path) -> str:
    """Return a digest of what a database holds, read in a copy."""
    with TemporaryDirectory() as scratch:
        for suffix in ("", *_BESIDE):
            if (file := Path(f"{path}{suffix}")).exists():
                shutil.copy(file, Path(scratch, f"database{suffix}"))
        try:
            with closing(sqlite3.connect(Path(scratch, "database"))) as database:
                numbers = [database.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version")]
                return _digest("\n".join([*map(str, numbers), *database.iterdump()]).encode())
        except sqlite3.Error:
            return _digest(path.read_bytes())
