"""One folder for each kind of implementation, with all that belongs to it."""

from queue_conformance.kinds.async_queue.kind import ASYNC_QUEUE
from queue_conformance.kinds.async_scheduler.kind import ASYNC_SCHEDULER
from queue_conformance.kinds.byte_collections.kind import BYTE_PRIORITY_QUEUE, ROUND_ROBIN_QUEUE
from queue_conformance.kinds.crawl.kind import CRAWL
from queue_conformance.kinds.dupefilter.kind import DUPEFILTER
from queue_conformance.kinds.priority_queue.kind import PRIORITY_QUEUE
from queue_conformance.kinds.queue.kind import BYTE_QUEUE, DOWNSTREAM_QUEUE
from queue_conformance.kinds.scheduler.kind import SCHEDULER
from queue_conformance.kinds.spider_state.kind import SPIDER_STATE

__all__ = [
    "ASYNC_QUEUE",
    "ASYNC_SCHEDULER",
    "BYTE_PRIORITY_QUEUE",
    "BYTE_QUEUE",
    "CRAWL",
    "DOWNSTREAM_QUEUE",
    "DUPEFILTER",
    "KINDS",
    "PRIORITY_QUEUE",
    "ROUND_ROBIN_QUEUE",
    "SCHEDULER",
    "SPIDER_STATE",
]

KINDS = (
    DOWNSTREAM_QUEUE,
    BYTE_QUEUE,
    BYTE_PRIORITY_QUEUE,
    ROUND_ROBIN_QUEUE,
    PRIORITY_QUEUE,
    SCHEDULER,
    CRAWL,
    DUPEFILTER,
    SPIDER_STATE,
    ASYNC_QUEUE,
    ASYNC_SCHEDULER,
)
"""The kinds of the kit, in the order in which readers meet them; the registry has further ones."""
