"""What changed from one report to another."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from queue_conformance.engine.verdicts import NOT_TESTED, RuleVerdict, Verdict, worst
from queue_conformance.implementation.capabilities import lost
from queue_conformance.reports import ImplementationReport, Report
from queue_conformance.specification.words import shortened


class Change(StrEnum):
    """What became of a rule, the worst first."""

    NEWLY_FAILED = "newly failed"
    NO_LONGER_PASSED = "no longer passed"
    NEWLY_SEEN = "newly seen"
    NEWLY_PASSED = "newly passed"
    OTHER = "changed"
    NEW = "new rule"
    GONE = "gone"


WORSE = frozenset({Change.NEWLY_FAILED, Change.NO_LONGER_PASSED})
"""A rule that nothing tests any more is worse than one that passes: silence must not pass for success.

One that fails, and was not tested before, is only seen now: who mends the first failure sees those that it blocked.
"""


@dataclass(frozen=True, slots=True)
class RuleChange:
    """What became of one rule.

    Attributes:
        change: what.
        old: the verdict before, or ``None`` for a new rule.
        new: the verdict now, or ``None`` for a rule that is gone.
    """

    change: Change
    old: RuleVerdict | None
    new: RuleVerdict | None

    @property
    def verdict(self) -> RuleVerdict:
        """The verdict now, or the last one of a rule that is gone."""
        found = self.new or self.old
        assert found is not None
        return found


@dataclass(frozen=True, slots=True)
class ImplementationChange:
    """What became of one implementation.

    Attributes:
        old: what was known of it.
        new: what is known now.
        rules: the rules whose verdicts changed, the worst first.
    """

    old: ImplementationReport
    new: ImplementationReport
    rules: tuple[RuleChange, ...]

    @property
    def lost(self) -> list[str]:
        """What it offered and does not any more; nothing if it could not be used, which its rules tell."""
        return lost(self.old.offers, self.new.offers) if self.new.found else []

    @property
    def verdict_fell(self) -> bool:
        """Whether the verdict of the run is worse than before."""
        old, new = self.old.verdict, self.new.verdict
        return new is not old and new is worst((old, new))

    @property
    def worse(self) -> bool:
        """Whether something is worse than before."""
        return self.verdict_fell or bool(self.lost) or any(rule.change in WORSE for rule in self.rules)


@dataclass(frozen=True, slots=True)
class Comparison:
    """What changed from one report to another.

    Attributes:
        implementations: those in both.
        gone: the names of those that the new one lacks.
        added: those that the old one lacks.
        errors: what only the new one says of implementations that could not be tested, and of the baseline.
    """

    implementations: tuple[ImplementationChange, ...]
    gone: tuple[str, ...]
    added: tuple[ImplementationReport, ...]
    errors: tuple[str, ...]

    @property
    def worse(self) -> bool:
        """Whether something is worse than before."""
        return bool(self.gone or self.errors) or any(change.worse for change in self.implementations)


def compare(old: Report, new: Report) -> Comparison:
    """Compare two reports.

    Implementations are matched by name; if each report has exactly one, these are compared whatever they are called.
    """
    before = {found.name: found for found in old.implementations}
    now = {found.name: found for found in new.implementations}
    if len(before) == len(now) == 1:
        pairs = [(*before.values(), *now.values())]
        before, now = {}, {}
    else:
        pairs = [(found, now[name]) for name, found in before.items() if name in now]
    matched = {found.name for pair in pairs for found in pair}
    said = {*old.errors, *old.gate, *old.internal_errors}
    return Comparison(
        tuple(ImplementationChange(was, found, _rules(was, found)) for was, found in pairs),
        tuple(name for name in before if name not in matched),
        tuple(found for name, found in now.items() if name not in matched),
        tuple(line for line in (*new.errors, *new.gate, *new.internal_errors) if line not in said),
    )


def _rules(old: ImplementationReport, new: ImplementationReport) -> tuple[RuleChange, ...]:
    before = {verdict.rule.id: verdict for verdict in old.verdicts}
    now = {verdict.rule.id: verdict for verdict in new.verdicts}
    changes = [RuleChange(Change.NEW, None, verdict) for name, verdict in now.items() if name not in before]
    changes += [RuleChange(Change.GONE, verdict, None) for name, verdict in before.items() if name not in now]
    for name, verdict in now.items():
        if name in before and before[name].verdict is not verdict.verdict:
            changes.append(RuleChange(_change(before[name].verdict, verdict.verdict), before[name], verdict))
    order = list(Change)
    return tuple(sorted(changes, key=lambda change: order.index(change.change)))


def _change(old: Verdict, new: Verdict) -> Change:
    if new is Verdict.FAILED:
        return Change.NEWLY_FAILED if old is Verdict.PASSED else Change.NEWLY_SEEN
    if new is Verdict.PASSED:
        return Change.NEWLY_PASSED
    if old is Verdict.PASSED and new in NOT_TESTED:
        return Change.NO_LONGER_PASSED
    return Change.OTHER


# --- As text ---------------------------------------------------------------------------------------------------------

LONGEST = 1000
"""Characters at most of a text that a report holds: whoever wrote that may have written anything."""


def render(comparison: Comparison, width: int = 100) -> Iterator[str]:
    """Yield the lines that say what changed."""
    for change in comparison.implementations:
        yield from _implementation(change, width)
    for found in comparison.added:
        yield from ("", _name(found.name), f"  not in the old report; verdict: {found.verdict}")
    for name in comparison.gone:
        yield from ("", _name(name), "  not in the new report")
    if comparison.errors:
        yield ""
        for error in comparison.errors:
            yield from _wrapped(f"ERROR: {shortened(error, LONGEST)}", width, "  ")
    yield ""
    yield from _wrapped(_conclusion(comparison), width, "  ")


def _implementation(change: ImplementationChange, width: int) -> Iterator[str]:
    old, new = change.old, change.new
    yield ""
    yield from _wrapped(" -> ".join(dict.fromkeys(map(_name, (old.name, new.name)))), width, "  ")
    yield f"  verdict: {_step(old.verdict, new.verdict)}"
    for label, was, found in (
        ("version", old.version, new.version),
        ("profile", old.profile, new.profile),
        ("found", old.found, new.found),
    ):
        if was != found:
            step = " -> ".join(shortened(text, LONGEST) or "nothing" for text in (was, found))
            yield from _wrapped(f"  {label}: {step}", width, "    ")
    if change.lost:
        yield from _wrapped(f"  lost: {', '.join(change.lost)}", width, "    ")
    together: dict[str, list[str]] = {}
    for rule in change.rules:
        if rule.change is Change.GONE:
            together.setdefault("gone", []).append(rule.verdict.rule.id)
        elif rule.change is Change.NEW and rule.verdict.verdict is not Verdict.FAILED:
            together.setdefault(f"new, {rule.verdict.verdict}", []).append(rule.verdict.rule.id)
        else:
            yield from _rule(rule, width)
    for title, rules in together.items():
        yield from _wrapped(f"  {title}: {', '.join(rules)}", width, "    ")


def _name(name: str) -> str:
    return shortened(name, LONGEST)


def _step(old: str, new: str) -> str:
    return f"{new}, as before" if old == new else f"{old} -> {new}"


def _rule(change: RuleChange, width: int) -> Iterator[str]:
    verdict = change.verdict
    state = f"{change.old.verdict} before" if change.old else str(verdict.verdict)
    if change.old and change.change not in (Change.NEWLY_FAILED, Change.NEWLY_PASSED):
        state += f", {verdict.verdict} now"
    known = f"; known: {verdict.known}" if verdict.known else ""
    yield from _wrapped(f"  {change.change:<18}{verdict.rule.level:<7}{verdict.rule.id} ({state}{known})", width, " " * 29)
    if said := verdict.violation.said if verdict.violation else verdict.reason:
        yield from _wrapped(" " * 27 + shortened(said, LONGEST), width, " " * 29)


def _conclusion(comparison: Comparison) -> str:
    counts = Counter(rule.change for change in comparison.implementations for rule in change.rules)
    parts = [_counted(counts[change], "rule", change) for change in Change if change in WORSE]
    parts.append(_counted(sum(change.verdict_fell for change in comparison.implementations), "verdict", "lower"))
    losses = sum(len(change.lost) for change in comparison.implementations)
    parts.append(_counted(losses, "capability", "lost").replace("capabilitys", "capabilities"))
    parts.append(_counted(len(comparison.gone), "implementation", "not tested any more"))
    parts.append(_counted(len(comparison.errors), "new error", ""))
    better = _counted(counts[Change.NEWLY_PASSED], "rule", Change.NEWLY_PASSED)
    seen = _counted(counts[Change.NEWLY_SEEN], "failed rule", "that nothing tested before")
    said = [
        f"worse: {', '.join(filter(None, parts))}" if comparison.worse else "nothing is worse",
        *([f"better: {better}"] if better else []),
        *([f"{Change.NEWLY_SEEN}: {seen}"] if seen else []),
    ]
    return "; ".join(said) if counts or comparison.added or comparison.worse else "nothing is worse, and no verdict changed"


def _counted(count: int, noun: str, what: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'} {what}".rstrip() if count else ""


def _wrapped(text: str, width: int, later: str) -> Sequence[str]:
    return textwrap.wrap(text, width, subsequent_indent=later, break_long_words=False, break_on_hyphens=False)
