"""The first use of queues of queues is that of queues."""

from queue_conformance.kinds.queue.preflight import RULES, SHOWN, preflight, show_absence

__all__ = ["RULES", "SHOWN", "preflight", "show_absence"]
