"""Faults of the disk: files that may not grow, no descriptors, no permission, no space.

A fault begins and ends around single operations, and tells afterwards whether the operating system refused or cut a write,
as far as that can be seen. What cannot be seen shows by the operation itself: it raises, and without the fault it does not.
"""

from __future__ import annotations

import math
import os
import random
import signal
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from queue_conformance.faults.fault import Fault, NoFault
from queue_conformance.faults.filesystem import fill_filesystem

try:
    import resource
except ImportError:  # Windows
    AVAILABLE = False
else:
    AVAILABLE = True


def most_files() -> float:
    """Return how many files this process may have open at once."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0] if AVAILABLE else None
    return math.inf if soft is None or soft == resource.RLIM_INFINITY else soft


class DiskFault(Fault):
    """A fault of the disk that an implementation stores on.

    Args:
        directory: where the implementation stores.
        number: bytes, where the fault has to do with a number of them.
    """

    place = "directory"

    def __init__(self, directory: Path | str, number: int | None = None) -> None:
        super().__init__(number)
        self.directory = Path(directory)


class Sizes(NoFault, DiskFault):
    """Notes the sizes of files before and after.

    Attributes:
        before: the size of each file when it began, in bytes.
        after: the size of each file when it ended, in bytes.
    """

    def begin(self) -> None:
        self.before = sizes(self.directory)

    def end(self) -> None:
        self.after = sizes(self.directory)


class SizeLimit(DiskFault):
    """No file of this process can grow beyond a number of bytes.

    A write across the limit is cut short; a write beyond it fails with ``EFBIG`` and makes the system send ``SIGXFSZ``.
    """

    name = "size limit"
    number: int

    def begin(self) -> None:
        self._before = sizes(self.directory)
        self._soft, self._hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        self._handler = signal.signal(signal.SIGXFSZ, self._refused)
        resource.setrlimit(resource.RLIMIT_FSIZE, (self.number, self._hard))

    def end(self) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (self._soft, self._hard))
        signal.signal(signal.SIGXFSZ, self._handler)
        after = sizes(self.directory)
        self.hit |= any(size == self.number > self._before.get(path, 0) for path, size in after.items())

    def _refused(self, *_: object) -> None:
        self.hit = True


class NoDescriptors(DiskFault):
    """This process can open no more files (``EMFILE``) than are open when it begins."""

    name = "no descriptors"

    def begin(self) -> None:
        self._files = resource.getrlimit(resource.RLIMIT_NOFILE)
        os.close(free := os.open(os.devnull, os.O_RDONLY))
        resource.setrlimit(resource.RLIMIT_NOFILE, (free, self._files[1]))

    def end(self) -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, self._files)


class NoPermission(DiskFault):
    """No file can be created, and none opened to write to it (``EACCES``). Root can nevertheless."""

    name = "no permission"

    def begin(self) -> None:
        self._modes = {path: path.stat().st_mode for path in (self.directory, *self.directory.rglob("*"))}
        for path in self._modes:
            path.chmod(0o555)

    def end(self) -> None:
        for path, mode in self._modes.items():
            if path.exists():
                path.chmod(mode)


class NoSpace(DiskFault):
    """The file system, a small one, is full but for a number of bytes, a multiple of 4096 (``ENOSPC``)."""

    name = "no space"
    setup = "mount_small_filesystem(directory)"
    number: int

    def begin(self) -> None:
        fill_filesystem(str(self.directory), self.number)

    def end(self) -> None:
        (self.directory / "filler").unlink()


class Garbage(DiskFault):
    """Every file holds something else, for good."""

    name = "garbage"

    def begin(self) -> None:
        files = [path for path in self.directory.rglob("*") if path.is_file()]
        for path in files:
            path.write_bytes(b"garbage " * 1000)
        self.hit = bool(files)

    def end(self) -> None:
        """It is for good."""


def permissions_matter(directory: Path) -> bool:
    """Whether this user is refused what a mode forbids, which root is not."""
    with NoPermission(directory):
        return not os.access(directory, os.W_OK)


def sizes(directory: Path) -> dict[str, int]:
    """Return the size of each file below a directory, in bytes."""
    found = {}
    for parent, _, names in os.walk(directory):
        for path in (os.path.join(parent, name) for name in names):
            with suppress(FileNotFoundError):  # a thread of the class may rename or remove it meanwhile
                found[path] = os.stat(path).st_size
    return found


DENSE = 41
"""Bytes from where a file grows at each of which a write is cut."""

LAST = 8
"""Bytes before the end of what was written at each of which a write is cut."""


def places(before: Mapping[str, int], after: Mapping[str, int], samples: int, seed: int) -> list[int]:
    """Return the limits on the size of files that are worth trying around an operation.

    Args:
        before: the size of each file before it, in bytes.
        after: the size of each file after it, where nothing went wrong.
        samples: how many to choose at random in each file that grew, besides the ones at its borders.
        seed: for these.
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
        inside.update(random.Random(seed).choices(range(growth), k=samples))
        found |= {start + place for place in inside if 0 <= place < growth}
    return sorted(found - {*grown.values()})  # what just fits is not cut


def _borders(end: int) -> set[int]:
    """Return 0 and the powers of two below a number."""
    return {0, *(2**power for power in range(end.bit_length()) if 2**power < end)}
