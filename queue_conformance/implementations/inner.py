"""Inner queues for queuelib's queues of queues. Scripts quote these definitions word by word."""

from __future__ import annotations

from collections.abc import Callable, Hashable


class InnerQueue:
    """A FIFO queue of bytes; its list of items outlives it."""

    def __init__(self, items: list[bytes]) -> None:
        self.items = items
        self.closed = 0

    def push(self, item: bytes) -> None:
        if not isinstance(item, bytes):
            raise TypeError(f"not bytes: {item!r}")
        self.items.append(item)

    def pop(self) -> bytes | None:
        return self.items.pop(0) if self.items else None

    def peek(self) -> bytes | None:
        return self.items[0] if self.items else None

    def close(self) -> None:
        self.closed += 1

    def __len__(self) -> int:
        return len(self.items)


class ClearableInnerQueue(InnerQueue):
    def clear(self) -> None:
        self.items.clear()


class Store:
    """The items of all inner queues, by priority or key, and the inner queues that were built."""

    def __init__(self) -> None:
        self.items: dict[Hashable, list[bytes]] = {}
        self.built: list[tuple[Hashable, InnerQueue]] = []

    def factory(self, cls: type[InnerQueue]) -> Callable[[Hashable], InnerQueue]:
        def build(key: Hashable) -> InnerQueue:
            queue = cls(self.items.setdefault(key, []))
            self.built.append((key, queue))
            return queue

        return build
