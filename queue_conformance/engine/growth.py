"""What an implementation costs as it grows: what a kind says of how it grows, and of what can be timed then."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter  # now: an implementation may replace it in its module
from typing import Any, ClassVar

from queue_conformance.engine.context import CheckContext


def _nothing(*_: Any) -> Sequence[None]:
    return ()


@dataclass(frozen=True)
class Operation:
    """Something that is timed.

    Attributes:
        name: what users call it: ``push``.
        call: does it once, with what was made for it.
        make: makes what some calls need, from the number of calls; not timed.
        undo: takes back what so many calls have changed; not timed.
    """

    name: str
    call: Callable[[Any], object]
    make: Callable[[int], Sequence[Any]]
    undo: Callable[[int], object] = _nothing


class Growth(ABC):
    """How an implementation of one kind grows in a check's directory, and what it does then; it is asked directly, unrecorded.

    Args:
        context: where the implementation is.
        axis: what there is more and more of, one of ``axes``.
    """

    axes: ClassVar[tuple[str, ...]] = ("stored",)
    """What there may be more and more of."""

    shared: ClassVar[bool] = False
    """Whether several processes may use one store at once: the first operation puts one in, the second takes one out."""

    def __init__(self, context: CheckContext, axis: str) -> None:
        self.context = context
        self.driver = context.driver
        self.axis = axis
        self.raw: Any = None
        self._next = 0

    def numbers(self, count: int) -> range:
        """Return the numbers of so many more things, none of which it has had."""
        self._next += count
        return range(self._next - count, self._next)

    @abstractmethod
    def open(self) -> None:
        """Build and open it; a persistent one finds what it stored."""

    @abstractmethod
    def close(self) -> None:
        """Close it."""

    @abstractmethod
    def fill(self, count: int) -> None:
        """Let it grow by so many, none of which it has had."""

    @abstractmethod
    def operations(self) -> Sequence[Operation]:
        """Return what is timed."""

    def held(self) -> int | None:
        """Return how many it says that it holds, if it can tell: of what stores nothing, nothing grows."""
        return None

    def drain(self, size: int) -> int:
        """Take out all that it holds, if anything can be taken out; return how many that were."""
        return 0

    def timed(self, operation: Operation, made: Sequence[Any]) -> float:
        """Return the seconds that an operation takes for each of the things that were made for it, together."""
        call = operation.call
        begun = perf_counter()
        for one in made:
            call(one)
        return perf_counter() - begun
