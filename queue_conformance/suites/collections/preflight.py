"""The first use of queues of queues is that of queues."""

from queue_conformance.suites.queues.preflight import CLAIMS, RULES, SHOWN, preflight, show_absence

__all__ = ["CLAIMS", "RULES", "SHOWN", "preflight", "show_absence"]
