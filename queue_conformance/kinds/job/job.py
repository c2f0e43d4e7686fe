"""A job whose scheduler is opened and closed in this process, with copies of its directory."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from queue_conformance.engine.bench import Bench
from queue_conformance.engine.driver import Item
from queue_conformance.engine.outcomes import NotExercised
from queue_conformance.engine.recording import OperationRaised, describe
from queue_conformance.engine.scripts import quoted

MARK = b"https://example."
"""What the requests of the kit have in common: files that hold it are not metadata, but requests."""

SOME = (0, 1, 3, 6, 8, 21)
"""Requests of several priorities and slots, start requests among them."""

Stamps = dict[Path, tuple[int, int, int]]
"""What changes of each file when it is written or replaced; the last one is its size."""


@dataclass(frozen=True, slots=True)
class Content:
    """Requests to store.

    Attributes:
        urls: their URLs.
        items: the requests.
        loop: the line of a script that enqueues them all, or ``""`` for one line each.
    """

    urls: tuple[str, ...]
    items: tuple[Item, ...]
    loop: str = ""

    @property
    def source(self) -> str:
        """A Python expression for the set of the URLs."""
        if self.loop:
            return f"{{f'https://example.com/{{n}}' for n in range({len(self.urls)})}}"
        return f"{{{', '.join(map(quoted, self.urls))}}}"


def some(bench: Bench) -> Content:
    """Return requests of several kinds."""
    items = tuple(bench.driver.item(number) for number in SOME)
    return Content(tuple(item.value.url for item in items), items)


def many(bench: Bench, number: int, first: int) -> Content:
    """Return requests each of which has a priority of its own.

    Args:
        bench: where.
        number: how many.
        first: the lowest priority.
    """
    sources = [f'Request("https://example.com/{n}", priority={first + n})' for n in range(number)]
    items = tuple(map(bench.driver.evaluate, sources))
    made = f'Request(f"https://example.com/{{n}}", priority={first} + n)'
    loop = f"for n in range({number}): scheduler.enqueue_request({made})"
    return Content(tuple(item.value.url for item in items), items, loop)


class Job:
    """A job; making one begins afresh.

    Args:
        bench: where.
    """

    def __init__(self, bench: Bench) -> None:
        bench.restart()
        self.bench = bench
        self.directory: Path = bench.driver.job("job")

    def store(self, content: Content) -> None:
        """Open it, enqueue requests, and close it cleanly."""
        scheduler = self.bench.driver.open(job="job")
        if content.loop:
            enqueue = scheduler.raw.enqueue_request
            self.bench.recorder.call(
                content.loop, "scheduler.enqueue.true", lambda: [enqueue(item.value) for item in content.items]
            )
        else:
            for item in content.items:
                scheduler.enqueue(item)
        scheduler.close("shutdown")

    def keep(self, name: str = "copy") -> Path:
        """Keep a copy of the directory, and return its path.

        Raises:
            NotExercised: if there is none.
        """
        if not self.directory.is_dir():
            raise NotExercised("nothing is stored in the job directory")
        copy: Path = self.bench.driver.directory / name
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.directory, copy)
        return copy

    def restore(self, copy: Path) -> None:
        """Put a copy back."""
        shutil.rmtree(self.directory, ignore_errors=True)
        shutil.copytree(copy, self.directory)

    def stamps(self) -> Stamps:
        """Return what changes when a file is written or replaced."""
        stats = {path: path.stat() for path in files(self.directory)}
        return {path: (stat.st_ino, stat.st_mtime_ns, stat.st_size) for path, stat in stats.items()}

    def missing(self, urls: Sequence[str]) -> tuple[str, ...]:
        """Open it, take out everything, and return those of some requests that did not come.

        Raises:
            OperationRaised: if that says that something is wrong.
        """
        scheduler = self.bench.driver.open(job="job")
        left = scheduler.drain()
        scheduler.close("shutdown")
        return tuple(url for url in urls if url not in left)

    def harm(self, urls: Sequence[str]) -> str:
        """Resume it, and tell what is wrong, or ``""``."""
        try:
            missing = self.missing(urls)
        except OperationRaised as raised:
            return f"{describe(raised.error)} on resuming"
        return f"{len(missing)} of {len(urls)} requests silently lost" if missing else ""


def files(directory: Path) -> list[Path]:
    """Return the files below a directory."""
    return sorted(path for path in directory.rglob("*") if path.is_file())


def metadata(directory: Path) -> list[Path]:
    """Return the paths, relative to a directory, of the files below it that hold no request.

    Raises:
        NotExercised: if no file shows its requests.
    """
    found = {path.relative_to(directory): MARK in path.read_bytes() for path in files(directory)}
    if not any(found.values()):
        raise NotExercised("no file shows its requests, so metadata cannot be told from requests")
    return [path for path, holds_requests in found.items() if not holds_requests]
