"""All of whole crawls: a site, Scrapy's engine in a process of its own, and the class under test in it."""

MODULES = ("fixtures", "checks.pages", "checks.signals", "checks.order", "checks.faults", "checks.shared")
"""The modules with checks, in the order in which their checks are run."""
