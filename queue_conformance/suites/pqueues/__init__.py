"""The suite of Scrapy's priority queues."""

MODULES = ("construction", "push", "pop", "faults", "peek", "closing", "resume", "priorities", "slots", "commands")
"""The modules of the suite, in the order in which their checks are run."""
