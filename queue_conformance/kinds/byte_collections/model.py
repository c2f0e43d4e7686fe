"""The models of queuelib's collections: by priority, and by turns.

An item is stored under a priority or key, in a FIFO queue of its own; equal item numbers are only ever stored under the
same one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Hashable


class CollectionModel(ABC):
    """Items in one FIFO queue per priority or key."""

    def __init__(self) -> None:
        self._queues: dict[Hashable, deque[int]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._queues.values()))

    def push(self, number: int, where: Hashable) -> None:
        """Store an item under a priority or key."""
        self._queues.setdefault(where, deque()).append(number)

    @abstractmethod
    def allowed(self) -> list[int]:
        """Return the items that may come next; none if nothing is stored."""

    def remove(self, number: int) -> None:
        """Take out an item that was allowed.

        Raises:
            LookupError: if it is not the first of any queue.
        """
        where = next((key for key, queue in self._queues.items() if queue[0] == number), None)
        if where is None:
            raise LookupError(number)
        queue = self._queues[where]
        queue.popleft()
        if not queue:
            del self._queues[where]
        self.served(where)

    def served(self, where: Hashable) -> None:
        """Note that an item of this priority or key came out."""

    @property
    def items(self) -> list[int]:
        """All items."""
        return [number for queue in self._queues.values() for number in queue]

    def active(self) -> set[Hashable]:
        """Return the priorities or keys that hold items."""
        return set(self._queues)

    def clear(self) -> None:
        """Remove everything."""
        self._queues.clear()

    def reopen(self) -> None:
        """Note that the queue was closed and built again."""


class PriorityQueueModel(CollectionModel):
    """The lowest priority that holds items comes first."""

    def allowed(self) -> list[int]:
        if not self._queues:
            return []
        return [self._queues[min(self._queues)][0]]  # type: ignore[type-var]


class RoundRobinModel(CollectionModel):
    """No key is served twice while another one waits.

    A key may come next unless some other key has held items ever since it was last served. In which turn a new key
    starts is left open.
    """

    def __init__(self) -> None:
        super().__init__()
        self._clock = 0
        self._served: dict[Hashable, int] = {}
        self._waiting_since: dict[Hashable, int] = {}

    def push(self, number: int, where: Hashable) -> None:
        if where not in self._queues:
            self._clock += 1
            self._waiting_since[where] = self._clock
        super().push(number, where)

    def allowed(self) -> list[int]:
        return [
            queue[0]
            for key, queue in self._queues.items()
            if all(self._waiting_since[other] > self._served.get(key, 0) for other in self._queues if other != key)
        ]

    def served(self, where: Hashable) -> None:
        self._clock += 1
        self._served[where] = self._waiting_since[where] = self._clock

    def reopen(self) -> None:
        self._served.clear()
