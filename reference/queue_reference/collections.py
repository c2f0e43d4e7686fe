"""A priority queue and a round-robin queue of bytes, with the interface of queuelib."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable
from contextlib import ExitStack
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class _Collection(Generic[K]):
    """Inner queues by priority or key; those that are empty are never passed open.

    Args:
        qfactory: builds the inner queue of a priority or key.
        start: the priorities or keys to start with.
    """

    def __init__(self, qfactory: Callable[[K], Any], start: Iterable[K] = ()) -> None:
        self._qfactory = qfactory
        self._queues: dict[K, Any] = {}
        for key in start:
            self._queues[key] = qfactory(key)
            self._forget_if_empty(key)

    def _push(self, item: bytes, key: K) -> None:
        if key not in self._queues:
            self._queues[key] = self._qfactory(key)
        try:
            self._queues[key].push(item)
        finally:
            self._forget_if_empty(key)  # a push that failed leaves an empty queue

    def _pop(self, key: K) -> Any:
        item = self._queues[key].pop()
        self._forget_if_empty(key)
        return item

    def _forget_if_empty(self, key: K) -> None:
        if not len(self._queues[key]):
            self._queues.pop(key).close()

    def clear(self) -> None:
        """Remove all items, and close all inner queues."""
        for queue in self._queues.values():
            if hasattr(queue, "clear"):
                queue.clear()
            while queue.pop() is not None:
                pass
            queue.close()
        self._queues.clear()

    def close(self) -> list[K]:
        """Close all inner queues, whatever one of them raises; return the priorities or keys that hold items."""
        with ExitStack() as stack:
            for queue in self._queues.values():
                stack.callback(queue.close)
        return list(self._queues)

    def __len__(self) -> int:
        return sum(map(len, self._queues.values()))


class PriorityQueue(_Collection[int]):
    """The lowest number is served first."""

    def push(self, item: bytes, priority: int = 0) -> None:
        """Store an item under a priority."""
        self._push(item, priority)

    def pop(self) -> Any:
        """Take out the next item; ``None`` if there is none."""
        return self._pop(min(self._queues)) if self._queues else None

    def peek(self) -> Any:
        """Return what ``pop`` would, and leave it where it is."""
        return self._queues[min(self._queues)].peek() if self._queues else None


class RoundRobinQueue(_Collection[Hashable]):
    """The keys are served in turn."""

    def __init__(self, qfactory: Callable[[Hashable], Any], start_domains: Iterable[Hashable] = ()) -> None:
        super().__init__(qfactory, start_domains)
        self._turn = deque(self._queues)

    def push(self, item: bytes, key: Hashable) -> None:
        """Store an item under a key; a key without items waits at the end of the turn."""
        self._push(item, key)
        if key not in self._turn:
            self._turn.append(key)

    def pop(self) -> Any:
        """Take out the next item; ``None`` if there is none."""
        if not self._turn:
            return None
        key = self._turn.popleft()
        item = self._pop(key)
        if key in self._queues:
            self._turn.append(key)
        return item

    def peek(self) -> Any:
        """Return what ``pop`` would, and leave it where it is."""
        return self._queues[self._turn[0]].peek() if self._turn else None

    def clear(self) -> None:
        """Remove all items, and close all inner queues."""
        super().clear()
        self._turn.clear()
