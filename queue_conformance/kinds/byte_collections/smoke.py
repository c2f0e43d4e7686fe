"""The first use of queuelib's collections is that of queues."""

from queue_conformance.kinds.queue.smoke import RULES, SHOWN, show_absence, smoke

__all__ = ["RULES", "SHOWN", "show_absence", "smoke"]
