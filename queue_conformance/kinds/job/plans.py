"""Crawls of one job, one after the other, and how each one is stopped."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from queue_conformance.engine.context import CheckContext
from queue_conformance.environments.crawls import Pages

PER_JOB = 50
"""Sequences that cost about as much as the crawls of one job."""

SMALL: Pages = {0: [1, 2, 3], 1: [4], 2: [0, 5], 3: [1], 4: [], 5: [3]}
"""The site of the shortest counterexamples."""

Stop = Mapping[str, Any]
"""How a crawl is stopped: the arguments of ``Site.crawl``."""


def interrupted(*signals: signal.Signals, **when: int) -> Stop:
    """Return how a crawl is stopped by signals."""
    return {"sending": signals, **when}


@dataclass(frozen=True, slots=True)
class Plan:
    """Crawls of one job.

    Attributes:
        rule: the rule that fails if they do not download each page once.
        stops: how each crawl is stopped; after that one goes on to the end.
        pages: the site.
        settings: what the command line sets besides.
    """

    rule: str
    stops: Sequence[Stop]
    pages: Pages = field(default_factory=lambda: SMALL)
    settings: Mapping[str, Any] = field(default_factory=dict)

    def closing(self) -> Plan:
        """Return the plan in which the spider is closed after as many pages, instead of signals, one request at a time."""
        stops = [{"closing": stop.get("after") or 1} if "sending" in stop else stop for stop in self.stops]
        return replace(self, rule="job.resume.command", stops=stops, settings={**self.settings, "CONCURRENT_REQUESTS": 1})


def each(plans: Callable[[CheckContext], Iterable[Plan]], *, ablated: bool = True) -> Callable[[CheckContext], Iterator[Plan]]:
    """Return a function that yields plans as the cases of a check, up to the first one that fails.

    Args:
        plans: the plans.
        ablated: whether that one is tried without signals, too; what fails then is no matter of them.
    """

    def cases(context: CheckContext) -> Iterator[Plan]:
        for plan in context.each("jobs", [*plans(context)]):
            yield plan
            if plan.rule not in context.failed:
                continue
            if ablated and plan.rule != "job.resume.command":
                yield plan.closing()
                if "job.resume.command" in context.failed:
                    del context.failed[plan.rule]
                    raise context.failed["job.resume.command"]
            raise context.failed[plan.rule]

    return cases
