"""What whole crawls lost, which the level of a rule must not hide."""

from __future__ import annotations

import re
from typing import NamedTuple

from queue_conformance.reports import ImplementationReport
from queue_conformance.specification import Level, load

_PAGES = re.compile(r"\b(\d+) pages? reached, (\d+) lost\b")
"""How operations tell what came of a crawl; see ``environments/graph.py`` and ``environments/together.py``."""


class Loss(NamedTuple):
    """The pages that a crawl lost, of those that it should have reached."""

    lost: int
    pages: int
    crawl: str
    rule: str

    def __str__(self) -> str:
        verb = "was" if self.lost == 1 else "were"
        return f"{self.lost} of {self.pages} pages {verb} lost in {self.crawl} ({self.rule})"


def worst_loss(found: ImplementationReport) -> Loss | None:
    """Return what was lost in the crawl that lost most, whatever the level of its rule, and whether it is known to fail."""
    losses = []
    for verdict in found.verdicts:
        rule = load().get(verdict.rule.id)  # a report that was read does not hold all of it
        if rule is not None and rule.crawl and verdict.violation is not None:
            for one in verdict.violation.findings:
                told = [(int(reached), int(lost)) for reached, lost in _PAGES.findall("\n".join(one.operations))]
                pages = max(map(sum, told), default=0)  # of the first crawl: one that continues it reaches what is left
                losses += [Loss(lost, pages, rule.crawl, rule.id) for _, lost in told[-1:]]
    return max(losses, key=lambda loss: loss.lost, default=None)


def concluded(found: ImplementationReport) -> str:
    """Return the verdict of a run, and what the worst of its crawls lost."""
    loss = worst_loss(found)
    if loss is None:
        return str(found.verdict)
    return f"{found.verdict}, {'and' if found.failed_rules(Level.MUST) else 'but'} {loss}"
