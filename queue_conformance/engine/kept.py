"""What a later version is asked for: how a kind stores it, how it is read, and how it is written as data."""

from __future__ import annotations

import json
import os
import signal
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar, TypeVar

from queue_conformance.processes import process

T = TypeVar("T")

Data = Any
"""What JSON can hold."""

Found = dict[str, list[Data]]
"""By name: what is ``pending``, what was seen and is taken ``again``, what is new and ``dropped``."""


def nothing_found() -> Found:
    """Return what is found before anything is read."""
    return {"pending": [], "again": [], "dropped": []}


class EndedElsewhere(Exception):
    """What another process was ended by that read a store.

    Attributes:
        said: the error, with its name.
        package: the package with the ``raise`` that it comes from, or ``""``.
    """

    def __init__(self, said: str, package: str = "") -> None:
        super().__init__(said.partition(": ")[2])
        self.said, self.package = said, package


class Kept(ABC):
    """How an implementation of one kind stores in a check's directory, and is read there; it is asked directly, unrecorded.

    Args:
        driver: a driver of the implementation.
        go_on: called before each operation, which may take as long as any.
    """

    asks: ClassVar[Mapping[str, Sequence[Data]]] = {}
    """Requests that readers make, as data: those that were ``seen``, and those that are ``new``."""

    pending: ClassVar[int] = 0
    """How many requests or items wait when all is written."""

    as_written: ClassVar[bool] = True
    """Whether it is built for reading as it was for writing, and not as its author builds it now."""

    def __init__(self, driver: Any, go_on: Callable[[], object]) -> None:
        self.driver = driver
        self.go_on = go_on

    def each(self, things: Iterable[T]) -> Iterator[T]:
        """Yield things, for each of which there is an operation."""
        for thing in things:
            self.go_on()
            yield thing

    @abstractmethod
    def open(self) -> None:
        """Build and open it; it finds what is stored."""

    @abstractmethod
    def close(self) -> None:
        """Close it."""

    @abstractmethod
    def write(self) -> None:
        """Store."""

    def be_killed(self) -> None:
        """Store in a process that is killed while it is open."""
        if pid := process.fork():
            os.waitpid(pid, 0)
            return
        try:
            self.open()
            self.write()
        finally:
            os.kill(os.getpid(), signal.SIGKILL)

    def packages(self) -> set[str]:
        """Return the packages of what reads, whose errors are of its own choice."""
        return packages_of(self.driver.implementation.cls)

    @abstractmethod
    def read(self, asks: Mapping[str, Sequence[Data]], found: Found) -> None:
        """Take out all that waits, and make the requests that are asked for.

        Args:
            asks: what ``asks`` was when it was written.
            found: what comes out is added here, one after the other, so that it is known when the next one raises.
        """


def packages_of(cls: type[Any]) -> set[str]:
    """Return the packages of a class and of its base classes."""
    return {one.__module__.partition(".")[0] for one in cls.__mro__} - {"builtins", "abc", "typing"}


def as_data(value: Any) -> Data:
    """Return a request, or bytes, as data; what is no JSON is told by its representation."""
    if isinstance(value, bytes):
        return {"bytes": value.decode("latin-1")}
    if not isinstance(getattr(value, "url", None), str):
        return {"value": repr(value)}
    if is_dataclass(value) or not isinstance(getattr(value, "cb_kwargs", None), dict):  # a request of an author's own
        names = [field.name for field in fields(value)] if is_dataclass(value) else getattr(value, "__dict__", ())
        given = {name: getattr(value, name) for name in ("url", *names) if not name.startswith("_")}
        return json.loads(json.dumps({**given, "class": type(value).__qualname__}, default=repr))
    plain = {name: getattr(value, name, None) for name in ("url", "method", "priority", "dont_filter", "encoding")}
    named = {name: getattr(getattr(value, name, None), "__name__", None) for name in ("callback", "errback")}
    others = {name: getattr(value, name, None) for name in ("meta", "cb_kwargs", "cookies", "flags")}
    headers = {name.decode("latin-1"): [*map(_text, values)] for name, values in value.headers.items()}
    body = {"body": _text(value.body), "headers": headers, "class": type(value).__qualname__}
    data: Data = json.loads(json.dumps(plain | named | others | body, default=repr))
    return data


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else repr(value)
