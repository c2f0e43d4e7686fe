"""The model of one queue: which items it holds, and which of them may come next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from queue_conformance.implementation.capabilities import Order

T = TypeVar("T")


def next_of(stored: Sequence[T], order: Order) -> Sequence[T]:
    """Return which of the stored items, in the order of their pushes, may leave next."""
    return {Order.FIFO: stored[:1], Order.LIFO: stored[-1:]}.get(order, stored)


class QueueModel:
    """A queue of item numbers.

    Args:
        order: the order in which items leave; with ``Order.NONE`` any stored item may be next.
    """

    def __init__(self, order: Order) -> None:
        self.order = order
        self.items: list[int] = []

    def __len__(self) -> int:
        return len(self.items)

    def push(self, number: int) -> None:
        """Store an item."""
        self.items.append(number)

    def allowed(self) -> list[int]:
        """Return the items that may come next; none if the queue is empty."""
        return [*next_of(self.items, self.order)]

    def remove(self, number: int) -> None:
        """Take out an item that was allowed.

        Raises:
            ValueError: if it is not stored.
        """
        if self.order is Order.LIFO:
            self.items.reverse()
            self.items.remove(number)
            self.items.reverse()
        else:
            self.items.remove(number)

    def clear(self) -> None:
        """Remove everything."""
        self.items.clear()
