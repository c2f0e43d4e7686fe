"""The first use of queuelib's collections is that of queues."""

from queue_conformance.kinds.queue.smoke import RULES, SHOWN, it_is_there, smoke

__all__ = ["RULES", "SHOWN", "it_is_there", "smoke"]
