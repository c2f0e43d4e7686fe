"""The ways in: the command line, suites to subclass in one's own tests, and a function.

Each describes implementations in its own way, and leaves the rest to :class:`~queue_conformance.frontends.runs.Run`, so that
rules, verdicts and reports are the same. The machines are also there as state machines of Hypothesis, for fuzzers.
"""
