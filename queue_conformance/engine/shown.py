"""What the checks of a class have shown so far, by which later crawls are not waited for, or searched, in vain."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

LEAST = 3.0
"""Seconds that a crawl may wait for its scheduler, or come to no page, in any case."""

LONGEST_WAIT = "QUEUE_CONFORMANCE_LONGEST_WAIT"
"""The variable of the environment that says how many seconds the crawls of scripts may do so, if not as long as they like."""

LONGEST_CRAWL = "QUEUE_CONFORMANCE_LONGEST_CRAWL"
"""The same for how long they may come to no page."""

AS_LONG = 5
"""Times as long as one waited that went on then."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What crawls have shown, and other checks; equal where later crawls go on alike, but for how long they wait.

    Attributes:
        waited: the seconds that one waited at most for its scheduler, with nothing in flight, before it went on.
        in_vain: whether one did so, or hung, to the end of all its time, and failed a MUST rule.
        loses: whether one that nothing befell failed a MUST rule.
        took: the seconds that one took at most which came to its end.
        raised: what the class raised where, as of a ``Step``, in any check that failed a MUST rule by it.
    """

    waited: float = field(default=0.0, compare=False)
    in_vain: bool = False
    loses: bool = False
    took: float = field(default=0.0, compare=False)
    raised: frozenset[str] = frozenset()

    @property
    def longest_wait(self) -> float:
        """Seconds that a crawl may wait for its scheduler: as long as it likes, unless another one did so in vain."""
        return max(LEAST, AS_LONG * self.waited) if self.in_vain else math.inf

    @property
    def longest_crawl(self) -> float:
        """Seconds that a crawl may take in which no page comes: as many as it likes, likewise."""
        return max(LEAST, AS_LONG * self.took) if self.in_vain else math.inf

    @property
    def environment(self) -> dict[str, str]:
        """The variables that tell scripts."""
        return {LONGEST_WAIT: str(self.longest_wait), LONGEST_CRAWL: str(self.longest_crawl)}

    def __or__(self, other: Shown) -> Shown:
        return Shown(
            max(self.waited, other.waited),
            self.in_vain or other.in_vain,
            self.loses or other.loses,
            max(self.took, other.took),
            self.raised | other.raised,
        )


NOTHING_SHOWN = Shown()
"""What is known before the first crawl."""
