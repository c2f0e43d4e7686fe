"""Faults of the disk: files that may not grow, no descriptors, no permission, no space.

A fault begins and ends around single operations, and tells afterwards whether the operating system refused or cut a write,
as far as that can be seen. What cannot be seen shows by the operation itself: it raises, and without the fault it does not.
"""

from __future__ import annotations

import os
import random
import signal
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from queue_conformance.faults.filesystem import fill_filesystem

try:
    import resource
except ImportError:  # Windows
    AVAILABLE = False
else:
    AVAILABLE = True


class Fault(ABC):
    """A way to hurt a disk.

    Attributes:
        hit: whether a write was seen to be refused or cut.
    """

    name: ClassVar[str]
    """What reports call it."""

    setup_source: ClassVar[Sequence[str]] = ()
    """Lines of a script that come before the queue is opened."""

    hit = False

    @property
    @abstractmethod
    def begin_source(self) -> Sequence[str]:
        """Lines of a script that do the same as ``begin``."""

    @property
    @abstractmethod
    def end_source(self) -> Sequence[str]:
        """Lines of a script that do the same as ``end``."""

    @abstractmethod
    def begin(self, directory: Path) -> None:
        """Let it begin.

        Args:
            directory: where the implementation stores.
        """

    @abstractmethod
    def end(self) -> None:
        """Let everything be as it was before."""


class NoFault(Fault):
    """Nothing happens; only the sizes of files before and afterwards are kept.

    Attributes:
        before: the size of each file when it began, in bytes.
        after: the size of each file when it ended, in bytes.
    """

    name = "no fault"
    begin_source = end_source = ()

    def begin(self, directory: Path) -> None:
        self._directory = directory
        self.before = sizes(directory)

    def end(self) -> None:
        self.after = sizes(self._directory)


class SizeLimit(Fault):
    """No file of this process can grow beyond a size.

    A write across the limit is cut short; a write beyond it fails with ``EFBIG`` and makes the system send ``SIGXFSZ``.

    Args:
        limit: bytes.
    """

    name = "size limit"
    end_source = ("resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))",)

    def __init__(self, limit: int) -> None:
        self.limit = limit

    @property
    def begin_source(self) -> Sequence[str]:
        return [f"resource.setrlimit(resource.RLIMIT_FSIZE, ({self.limit}, resource.RLIM_INFINITY))"]

    def begin(self, directory: Path) -> None:
        self._directory, self._before = directory, sizes(directory)
        self._soft, self._hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        self._handler = signal.signal(signal.SIGXFSZ, self._refused)
        resource.setrlimit(resource.RLIMIT_FSIZE, (self.limit, self._hard))

    def end(self) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (self._soft, self._hard))
        signal.signal(signal.SIGXFSZ, self._handler)
        after = sizes(self._directory)
        self.hit |= any(size == self.limit > self._before.get(path, 0) for path, size in after.items())

    def _refused(self, *_: object) -> None:
        self.hit = True


class NoDescriptors(Fault):
    """This process can open no more files (``EMFILE``) than are open when it begins."""

    name = "no descriptors"
    begin_source = (
        "files = resource.getrlimit(resource.RLIMIT_NOFILE)",
        "os.close(free := os.open(os.devnull, os.O_RDONLY))",
        "resource.setrlimit(resource.RLIMIT_NOFILE, (free, files[1]))",
    )
    end_source = ("resource.setrlimit(resource.RLIMIT_NOFILE, files)",)

    def begin(self, directory: Path) -> None:
        self._files = resource.getrlimit(resource.RLIMIT_NOFILE)
        os.close(free := os.open(os.devnull, os.O_RDONLY))
        resource.setrlimit(resource.RLIMIT_NOFILE, (free, self._files[1]))

    def end(self) -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, self._files)


class NoPermission(Fault):
    """No file can be created, and none opened to write to it (``EACCES``). Root can nevertheless."""

    name = "no permission"
    begin_source = ("for path in [Path(directory), *Path(directory).rglob('*')]: path.chmod(0o555)",)
    end_source = ("for path in [Path(directory), *Path(directory).rglob('*')]: path.chmod(0o755)",)

    def begin(self, directory: Path) -> None:
        self._modes = {path: path.stat().st_mode for path in (directory, *directory.rglob("*"))}
        for path in self._modes:
            path.chmod(0o555)

    def end(self) -> None:
        for path, mode in self._modes.items():
            if path.exists():
                path.chmod(mode)


class NoSpace(Fault):
    """The file system is full (``ENOSPC``); it must be a small one.

    Args:
        room: bytes that are left, a multiple of 4096.
    """

    name = "no space"
    setup_source = ("mount_small_filesystem(directory)",)
    end_source = ("os.unlink(directory + '/filler')",)

    def __init__(self, room: int) -> None:
        self.room = room

    @property
    def begin_source(self) -> Sequence[str]:
        return [f"fill_filesystem(directory, {self.room})"]

    def begin(self, directory: Path) -> None:
        self._directory = directory
        fill_filesystem(str(directory), self.room)

    def end(self) -> None:
        (self._directory / "filler").unlink()


def permissions_matter(directory: Path) -> bool:
    """Whether this user is refused what a mode forbids, which root is not."""
    fault = NoPermission()
    fault.begin(directory)
    try:
        return not os.access(directory, os.W_OK)
    finally:
        fault.end()


def sizes(directory: Path) -> dict[str, int]:
    """Return the size of each file below a directory, in bytes."""
    return {
        path: os.stat(path).st_size
        for parent, _, names in os.walk(directory)
        for name in names
        if os.path.exists(path := os.path.join(parent, name))
    }


DENSE = 41
"""Bytes from where a file grows at each of which a write is cut."""

LAST = 8
"""Bytes before the end of what was written at each of which a write is cut."""


def places(before: Mapping[str, int], after: Mapping[str, int], drawn: int, seed: int) -> list[int]:
    """Return the limits on the size of files that are worth trying around an operation.

    Args:
        before: the size of each file before it, in bytes.
        after: the size of each file after it, where nothing went wrong.
        drawn: how many to draw in each file that grew, besides the ones at its borders.
        seed: for those.
    """
    grown = {path: size for path, size in after.items() if size > before.get(path, 0)}
    # Below the largest size: for files that are written in place, or are there during the operation only.
    found = _borders(max([*before.values(), *after.values()], default=0))
    for path, size in before.items():
        if after.get(path, 0) < size:  # it may have grown before it was cut or removed
            found |= {size + place for place in _borders(size)}
    for path, size in grown.items():
        start = before.get(path, 0)
        growth = size - start
        inside = {*range(DENSE), *_borders(growth), *range(growth - LAST, growth)}
        inside.update(random.Random(seed).choices(range(growth), k=drawn))
        found |= {start + place for place in inside if 0 <= place < growth}
    return sorted(found - {*grown.values()})  # what just fits is not cut


def _borders(end: int) -> set[int]:
    """Return 0 and the powers of two below a number."""
    return {0, *(2**power for power in range(end.bit_length()) if 2**power < end)}
