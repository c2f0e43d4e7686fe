"""What checks of asynchronous queues share."""

from queue_conformance.kinds.async_queue.kind import ASYNC_QUEUE

ASYNC = frozenset({ASYNC_QUEUE})

REAL = "it works on the stock event loop alone, so time is real and waits are bounded: {} at moments that are not under control"
