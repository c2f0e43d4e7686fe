"""The model of one queue: which items it holds, and which of them may come next."""

from __future__ import annotations

from queue_conformance.discovery.capabilities import Order


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
        if self.order is Order.FIFO:
            return self.items[:1]
        if self.order is Order.LIFO:
            return self.items[-1:]
        return list(self.items)

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
