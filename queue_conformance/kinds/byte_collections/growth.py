"""How queuelib's collections grow: in what they hold, and in priorities or keys; over inner queues in memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from typing import Any

from queue_conformance.engine.context import CheckContext
from queue_conformance.kinds.byte_collections.script_support import InnerQueue
from queue_conformance.kinds.queue import growth

_FEW = 4
"""Priorities or keys, where there are not to be more and more of them."""


class _Inner(InnerQueue):
    """An inner queue whose pop takes no longer if it holds more."""

    def pop(self) -> Any:
        return self.items.popleft() if self.items else None


class Growth(growth.Growth):
    """A collection; what its inner queues hold outlives it."""

    axes = ("stored", "priorities")

    def __init__(self, context: CheckContext, axis: str) -> None:
        super().__init__(context, axis)
        self._stores: dict[Hashable, deque[bytes]] = {}
        self._left: Any = ()

    def open(self) -> None:
        implementation = self.context.implementation
        self.raw = implementation.cls(self._inner, self._left, **implementation.values)

    def close(self) -> None:
        self._left = self.raw.close()

    @property
    def pushes(self) -> Callable[[Any], object]:
        """What pushes one item with its priority, or to its key."""
        push = self.raw.push
        return lambda item: push(*item)

    def _inner(self, key: Hashable) -> _Inner:
        return _Inner(self._stores.setdefault(key, deque()))

    def _item(self, number: int) -> tuple[bytes, int]:
        return b"https://example.com/%d".ljust(300) % number, number if self.axis == "priorities" else number % _FEW
