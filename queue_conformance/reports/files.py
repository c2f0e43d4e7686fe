"""Files that a report is written to; the ending of a name says in which form."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from importlib import import_module
from pathlib import Path, PurePath

from queue_conformance.reports import Report

RENDERERS = {
    ".jsonl": "jsonl",
    ".html": "html",
    ".md": "markdown",
    ".xml": "junit",
    ".svg": "badge:svg",
    ".json": "badge:endpoint",
}
"""By ending the module of this package that makes the text of a file: its ``render(report)``, or the function named after it."""


def render(report: Report, path: PurePath) -> str:
    """Return the text of a file whose ending is one of ``RENDERERS``."""
    module, _, function = RENDERERS[path.suffix].partition(":")
    text: str = getattr(import_module(f"{__package__}.{module}"), function or "render")(report)
    return text


def check_name(name: str) -> str:
    """Return the name of a file, if its ending says in which form a report is written to it.

    Raises:
        ValueError: if not; the message says what to write.
    """
    if PurePath(name).suffix not in RENDERERS:
        raise ValueError(f"write the name of a file that ends in {', '.join(RENDERERS)}")
    return name


def write(report: Report, path: Path) -> None:
    """Write a report to a file.

    Args:
        path: the file; its ending is one of ``RENDERERS``.

    Raises:
        ValueError: if it has another ending.
        OSError: if it cannot be written.
    """
    check_name(path.name)
    write_text(render(report, path), path)


def write_text(text: str, path: Path) -> None:
    """Write a text to a file as a whole or not at all, and otherwise where that cannot be: to a pipe, or over a mounted file.

    Raises:
        OSError: if it cannot be written.
    """
    try:
        if path.is_file() or not path.exists() or _is_planted(path):
            save(text, path)
            return
    except OSError as error:
        if error.errno not in _IN_THE_WAY:
            raise
    path.write_text(text, "utf-8", errors="backslashreplace")


_IN_THE_WAY = (errno.EACCES, errno.EPERM, errno.EBUSY, errno.EROFS)
"""Why a file that can be written to cannot be replaced."""


def save(text: str, path: Path) -> None:
    """Replace a file by a text, as a whole or not at all.

    Raises:
        OSError: if it cannot be written, or is a link that another user has put where everybody may write.
    """
    if _is_planted(path):
        raise OSError(errno.ELOOP, "another user made this link, and chose what is written", str(path))
    target = path.resolve()  # a link stays one
    descriptor, name = tempfile.mkstemp(prefix=beside(target), dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            # Half of a surrogate pair is no character, and may be in what an implementation returned.
            file.write(text.encode("utf-8", "backslashreplace"))
        mode = target.stat().st_mode if target.exists() else 0o666 & ~_umask()
        os.chmod(name, mode)
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise


def _is_planted(path: Path) -> bool:
    """Whether a file is a link of another user's in a directory for all, such as ``/tmp``: few kernels refuse to follow it."""
    if not path.is_symlink() or os.name == "nt":
        return False
    there = path.parent.stat()
    return there.st_mode & _FOR_ALL == _FOR_ALL and path.lstat().st_uid not in (os.geteuid(), there.st_uid)


_FOR_ALL = stat.S_ISVTX | stat.S_IWOTH


def beside(target: Path) -> str:
    """Return how the name of a file begins that is to replace another."""
    return f".{target.name[:50]}-queue-conformance-"


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
