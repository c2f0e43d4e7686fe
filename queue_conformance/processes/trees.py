"""Temporary directories that are removed with all that is in them, however deep that is."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path


def remove(path: Path) -> None:
    """Remove a directory, as far as that is allowed.

    ``shutil.rmtree`` calls itself for each level up to Python 3.12, and a path has limits, too: so what is too far down moves up.
    """
    directories = [path]
    for directory in directories:
        directories += _emptied(directory)
    for directory in reversed(directories):
        with suppress(OSError):
            directory.rmdir()
    names = map(str, count())
    while below := _emptied(path):
        moved = 0
        for directory in below:
            for deeper in _emptied(directory):
                with suppress(OSError):
                    deeper.rename(_free(path, names))
                    moved += 1
            with suppress(OSError):
                directory.rmdir()
                moved += 1
        if not moved:
            break
    with suppress(OSError):
        path.rmdir()


def _free(path: Path, names: Iterator[str]) -> Path:
    return next(found for found in map(path.joinpath, names) if not os.path.lexists(found))


def _emptied(directory: Path) -> list[Path]:
    """Remove the files of a directory, and return the directories in it."""
    below = []
    with suppress(OSError):
        directory.chmod(0o700)
        for entry in [*os.scandir(directory)]:
            if entry.is_dir(follow_symlinks=False):
                below.append(Path(entry.path))
            else:
                with suppress(OSError):
                    os.unlink(entry.path)
    return below


@contextmanager
def temporary_directory(parent: Path | None = None) -> Iterator[Path]:
    """Make a directory, and remove it at the end.

    Args:
        parent: where it is made, if not where the system has such directories.
    """
    path = Path(tempfile.mkdtemp(dir=parent))
    try:
        yield path
    finally:
        remove(path)


@contextmanager
def temporary_files_below(directory: Path) -> Iterator[None]:
    """Let temporary files be made in a directory of their own, which is on the file system of another directory.

    Args:
        directory: where it is made.
    """
    made = directory / "temporary"
    made.mkdir(mode=0o700, exist_ok=True)
    before, told = tempfile.tempdir, os.environ.get("TMPDIR")
    tempfile.tempdir = os.environ["TMPDIR"] = str(made)
    try:
        yield
    finally:
        tempfile.tempdir = before
        if told is None:
            os.environ.pop("TMPDIR", None)
        else:
            os.environ["TMPDIR"] = told
