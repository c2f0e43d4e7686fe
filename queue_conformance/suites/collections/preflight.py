"""The first use of queues of queues is that of queues."""

from queue_conformance.suites.queues.preflight import RULES, SHOWN, preflight, show_absence

__all__ = ["RULES", "SHOWN", "preflight", "show_absence"]
