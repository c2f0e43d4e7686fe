"""Files that others may have written: no pipe is waited for, and nothing is read that has no end."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import BinaryIO

LONGEST = 64 << 20
"""Bytes that a file, or a line of a report, has at most; the longest lines of real reports have some hundred thousand."""


def opened(path: Path) -> BinaryIO:
    """Open a file; to open a pipe that nobody writes to would wait forever.

    Raises:
        OSError: if it cannot be opened.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    file = open(descriptor, "rb")  # noqa: SIM115
    os.set_blocking(descriptor, True)
    return file


def text_of(path: Path) -> str:
    """Return the content of a file.

    Raises:
        OSError: if it cannot be read, or is longer than ``LONGEST``.
        ValueError: if it is no UTF-8.
    """
    with opened(path) as file:
        content = file.read(LONGEST + 1)
    if len(content) > LONGEST:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    return content.decode("utf-8")
