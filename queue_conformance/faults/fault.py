"""What every fault is: a context manager that proves that it hit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Self


class Missed(Exception):
    """A fault did not hit what it was meant for, which proves nothing; the text says which one."""


class Fault(ABC):
    """A fault that begins when its block is entered, and ends when that is left.

    Args:
        number: what distinguishes faults of one class, such as a number of bytes.

    Attributes:
        hit: whether it was seen to hit something; an operation that raises in its block is hit.
        is_ordinary: whether crawls without faults meet it too, so that what it breaks breaks there.
    """

    name: ClassVar[str]
    """What reports call it."""

    place: ClassVar[str]
    """The variable of scripts that holds what it is done to."""

    setup: ClassVar[str] = ""
    """A line of a script that comes before everything else."""

    hit = False
    is_ordinary = False

    def __init__(self, number: int | None = None) -> None:
        self.number = number

    @property
    def source(self) -> str:
        """The expression that makes it in scripts."""
        return f"{type(self).__name__}({self.place}{'' if self.number is None else f', {self.number}'})"

    @abstractmethod
    def begin(self) -> None:
        """Let it begin."""

    @abstractmethod
    def end(self) -> None:
        """Let everything be as it was before."""

    def __enter__(self) -> Self:
        self.begin()
        return self

    def __exit__(self, kind: type[BaseException] | None, *raised: object) -> None:
        self.end()
        self.hit |= kind is not None

    def must_hit(self, seen: bool = False) -> None:
        """Go on only if it hit.

        Args:
            seen: whether that was seen in what an operation returned.

        Raises:
            Missed: if it did not.
        """
        self.hit |= seen
        if not self.hit:
            raise Missed(f"{self.name}: nothing came in its way")


class NoFault(Fault):
    """Nothing happens, and nothing may raise."""

    name = "no fault"
    is_ordinary = True

    def must_hit(self, seen: bool = False) -> None:
        if self.hit:
            raise Missed("the operation raises without a fault, too")
