"""The report as one page for a browser, which needs no network: the verdicts first, then every rule.

The fragment of its address names a rule (``#queue.pop.empty-none``), or a choice of rules (``#?verdict=failed&level=MUST``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from queue_conformance.engine.verdicts import NOT_TESTED, RuleVerdict, Verdict, worst
from queue_conformance.reports import ImplementationReport, Report
from queue_conformance.reports.losses import worst_loss
from queue_conformance.reports.page import KNOWN, SYMBOLS, anchors, grouped, page, plural
from queue_conformance.reports.placement import most_urgent_first
from queue_conformance.reports.terminal import second, why
from queue_conformance.specification import Level

_GATING = (Level.MUST, Level.SHOULD)
_OFFERED = (*NOT_TESTED, Verdict.PASSED, Verdict.NOT_APPLICABLE, Verdict.UNTESTABLE)
_STATES = (
    (str(Verdict.FAILED), SYMBOLS[Verdict.FAILED], "failed"),
    (KNOWN, SYMBOLS[Verdict.FAILED], "failed, known"),
    *((str(verdict), SYMBOLS[verdict], str(verdict)) for verdict in _OFFERED),
)
"""What the filter offers, in this order: the value, the symbol and the words."""


@dataclass(frozen=True)
class _View:
    """One implementation, as the page shows it.

    Attributes:
        found: what is known of it.
        anchor: what links call it.
        short: its name without what comes before the last dot, if that tells it from the others.
        several: whether there are others.
    """

    found: ImplementationReport
    anchor: str
    short: str
    several: bool

    @property
    def prefix(self) -> str:
        """What links to its rules begin with."""
        return f"{self.anchor}/" if self.several else ""

    @property
    def size(self) -> int:
        """The number of its rules."""
        return len(self.found.verdicts)

    @property
    def failed(self) -> list[RuleVerdict]:
        """The failed rules that count, the first to mend first."""
        return [verdict for verdict in most_urgent_first(self.found) if verdict in self.found.failed_rules(verdict.rule.level)]

    @property
    def groups(self) -> Mapping[str, Sequence[RuleVerdict]]:
        """All its rules: those that failed, the first to mend first, then what was not tested, then the others by subject."""
        verdicts, failed = self.found.verdicts, most_urgent_first(self.found)
        unknown = [verdict for verdict in verdicts if verdict.verdict in NOT_TESTED]
        rest = [verdict for verdict in verdicts if verdict.verdict not in (Verdict.FAILED, *NOT_TESTED)]
        groups = {"Failed": failed, "Not tested": unknown} | grouped(rest, lambda verdict: verdict.rule.id)
        return {title: group for title, group in groups.items() if group}

    @property
    def counts(self) -> Mapping[Verdict, Mapping[Level, int]]:
        """The number of rules by verdict and level; levels and verdicts that do not occur are left out."""
        counts = self.found.counts()
        levels = [level for level in Level if any(counts[level].values())]
        rows = {verdict: {level: counts[level][verdict] for level in levels} for verdict in Verdict}
        return {verdict: row for verdict, row in rows.items() if any(row.values())}

    def link(self, verdict: Verdict, level: Level) -> str:
        """Return the fragment that shows its rules of a level with a verdict."""
        states = {_value(v) for v in self.found.verdicts if v.rule.level is level and v.verdict is verdict}
        chosen = {"verdict": ",".join(sorted(states)), "level": level} | ({"in": self.anchor} if self.several else {})
        return f"#?{urlencode(chosen)}"


MOST_UNFOLDED = 20
"""Implementations whose rules a page unfolds: a browser lays out what is shown, and would take seconds for a hundred."""


def render(report: Report) -> str:
    """Return the page."""
    found = report.implementations
    verdicts = [verdict for one in found for verdict in one.verdicts]
    counts = Counter(map(_value, verdicts))
    levels = {verdict.rule.level for verdict in verdicts}
    said = [one.verdict for one in found]
    return page(
        "report.html",
        _title(report),
        None if report.errors or report.internal_errors else worst(said),
        report=report,
        views=list(_views(found)),
        folded=len(found) > MOST_UNFOLDED,
        verdicts=said,
        states=[(value, symbol, label, counts[value]) for value, symbol, label in _STATES if counts[value]],
        levels=[level for level in Level if level in levels],
        gating=_GATING,
        value=_value,
        why=why,
        loss=worst_loss,
        second=second,
    )


def _views(found: Sequence[ImplementationReport]) -> Iterator[_View]:
    short = [one.name.rpartition(".")[2] for one in found]
    for one, name, anchor in zip(found, short, anchors(one.name for one in found), strict=True):
        yield _View(one, anchor, name if short.count(name) == 1 else one.name, len(found) > 1)


def _title(report: Report) -> str:
    found = report.implementations
    verdict = "ERROR" if report.errors or report.internal_errors else str(worst(one.verdict for one in found) or "")
    names = ", ".join(one.name.rpartition(".")[2] for one in found)
    of = names if len(found) < 4 else plural(len(found), "implementation")
    return " – ".join(part for part in (verdict, of, "queue conformance") if part)


def _value(verdict: RuleVerdict) -> str:
    """Return what a filter calls the verdict on a rule."""
    return KNOWN if verdict.known else verdict.verdict.value
