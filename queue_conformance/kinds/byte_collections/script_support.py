"""Inner queues for queuelib's collections.

Scripts quote the definitions that they need from this file word by word; they have no annotations.
"""

import itertools


class InnerQueue:
    """A FIFO queue of bytes; its list of items outlives it."""

    def __init__(self, items):
        self.items = items
        self.closed = 0

    def push(self, item):
        assert not self.closed, "push after close"
        if not isinstance(item, bytes):
            raise TypeError(f"not bytes: {item!r}")
        self.items.append(item)

    def pop(self):
        assert not self.closed, "pop after close"
        return self.items.pop(0) if self.items else None

    def peek(self):
        return self.items[0] if self.items else None

    def close(self):
        self.closed += 1

    def __len__(self):
        return len(self.items)


class ClearableInnerQueue(InnerQueue):
    def clear(self):
        self.items.clear()


class Store:
    """The items of all inner queues, by priority or key, the inner queues that were built, and how often one was not closed."""

    def __init__(self):
        self.items = {}
        self.built = []
        self.refused = 0

    def factory(self, cls):
        def build(key):
            queue = cls(self.items.setdefault(key, []))
            self.built.append((key, queue))
            return queue

        return build


def fill_places(queue, places):
    """Push the number of each place, at that priority or to that key; the last one first."""
    for number in reversed(places):
        queue.push(b"%d" % number, number)


def popped_too_early(queue, count):
    """Pop so many items, and return those before which a lower number should have come."""
    popped = [int(queue.pop()) for _ in range(count)]
    return [early for early, next_popped in itertools.pairwise(popped) if early > next_popped]


def items_peeked_otherwise(queue, count):
    """Peek, and pop what peek should have shown, so many times; return the items that peek did not show."""
    pairs = ((queue.peek(), queue.pop()) for _ in range(count))
    return [popped for peeked, popped in pairs if popped is not None and peeked != popped]


def stored(store):
    """Return how many items all inner queues hold."""
    return sum(map(len, store.items.values()))


def still_open(store):
    """Return the priorities or keys of the inner queues that were not closed."""
    return [key for key, queue in store.built if not queue.closed]


def break_close(store, number):
    """Let the inner queue that was built so-manieth raise when it is closed."""

    def close():
        store.refused += 1
        raise OSError("no space left")

    store.built[number][1].close = close
