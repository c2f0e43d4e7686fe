"""What a run says about a baseline: which entries are right, and which are new, fixed, unknown, expired or unexplained."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from queue_conformance.baseline import PLACEHOLDER, Baseline, Entry
from queue_conformance.engine.outcomes import Violation
from queue_conformance.engine.verdicts import RuleVerdict, Verdict
from queue_conformance.engine.ways import BY_CHANCE
from queue_conformance.implementation.capabilities import lost
from queue_conformance.specification import Level, load
from queue_conformance.specification.suggestion import did_you_mean


@dataclass(frozen=True, slots=True)
class Result:
    """One implementation that a run tested.

    Attributes:
        name: what reports call it.
        kind: what it is.
        level: the level whose failed rules fail the run.
        verdicts: one per rule that is asked of it.
        whole: whether all of its checks were run, and none deselected.
        seed: what seeded the run.
        examples: how many examples were drawn.
        cut: the checks of which there was no time for all cases.
        offers: the capabilities that were found, or ``None`` if it could not be used.
    """

    name: str
    kind: str
    level: Level
    verdicts: tuple[RuleVerdict, ...]
    whole: bool = True
    seed: int = 0
    examples: int = 100
    cut: frozenset[str] = frozenset()
    offers: frozenset[str] | None = None


UPDATE = "--conformance-update-baseline"


class Trouble(StrEnum):
    """Why a baseline is not right."""

    NEW = "new"
    FIXED = "fixed"
    UNKNOWN = "unknown"
    EXPIRED = "expired"
    UNEXPLAINED = "unexplained"
    OUTDATED = "outdated"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing about a baseline that is not right; it fails the run, unless that is only outdated.

    Attributes:
        trouble: which.
        advice: what is so, and what to do, in one line.
        entry: the entry, or ``None`` for a new failure.
        tested: the implementation, if this run tested it.
        violations: what is new.
        was: what it would be if this release of the kit had written the baseline, which is only outdated.
        gone: those of the ways of the entry in which its rule does not fail any more, if it still fails in others.
    """

    trouble: Trouble
    advice: str
    entry: Entry | None = None
    tested: Result | None = None
    violations: tuple[Violation, ...] = ()
    was: Trouble | None = None
    gone: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the line that a report shows."""
        return f"{self.trouble}: {self.advice}"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a run says about a baseline.

    Attributes:
        findings: what is not right, in the order of the file; what is new comes last.
        notes: by implementation, which entries this run says nothing about, and why; and which another release has written.
        outdated: what another release of the kit has written otherwise than this one would, which fails no run; it has notes.
        upcoming: what is new of provisional rules, which fails no run yet; an update writes it down, too.
    """

    findings: tuple[Finding, ...]
    notes: dict[str, list[str]]
    upcoming: tuple[Finding, ...] = ()
    outdated: tuple[Finding, ...] = ()


def mark(baseline: Baseline, name: str, verdicts: Iterable[RuleVerdict]) -> tuple[RuleVerdict, ...]:
    """Return verdicts in which what the baseline knows bears its reason, and what it does not know comes first."""

    def marked(verdict: RuleVerdict) -> RuleVerdict:
        if verdict.violation is None:
            return verdict
        if known := baseline.why_known(name, verdict.violation):
            return replace(verdict, known=known)
        first, *others = sorted(verdict.violation.findings, key=lambda finding: bool(baseline.why_known(name, finding)))
        return replace(verdict, violation=replace(first, others=tuple(others)))

    return tuple(map(marked, verdicts))


def judge(baseline: Baseline, implementations: Sequence[Result], described: Iterable[str] | None = None) -> Judgement:
    """Compare a baseline with what a run found.

    Args:
        described: all names that an entry may bear, where this run knows them: it tested all that is described.
    """
    by_name = {tested.name: tested for tested in implementations}
    findings: list[Finding] = []
    outdated: list[Finding] = []
    silent: dict[str, dict[str, list[str]]] = {}
    notes: dict[str, list[str]] = {}
    for head, entry in ((known, finding) for known in baseline.known for finding in known.findings):
        tested = by_name.get(entry.implementation)
        if tested is None:
            continue
        found = _judge_entry(baseline, entry, tested, head)
        if isinstance(found, Finding) and found.trouble is Trouble.OUTDATED:
            outdated.append(found)
            notes.setdefault(entry.implementation, []).append(found.advice)
        elif isinstance(found, Finding):
            findings.append(found)
        elif found:
            silent.setdefault(entry.implementation, {}).setdefault(found, []).append(entry.rule)
    if described is not None:
        findings += _nameless(baseline, list(described))
    for tested in implementations:
        findings += _new(baseline, tested, provisional=False)
        findings += _lost(baseline, tested)
    for name, reasons in silent.items():
        lines = [f"this run says nothing about {', '.join(rules)} in {baseline.name}: {why}" for why, rules in reasons.items()]
        notes[name] = [*lines, *notes.get(name, ())]
    upcoming = [found for tested in implementations for found in _new(baseline, tested, provisional=True)]
    return Judgement(tuple(findings), notes, tuple(upcoming), tuple(outdated))


def _judge_entry(baseline: Baseline, entry: Entry, tested: Result, head: Entry) -> Finding | str:
    """Return what is not right about a finding; a text if this run does not tell, which is empty if all is right.

    Args:
        head: the entry that it belongs to, which is named where nothing but what its author wrote is not right.
    """
    where = entry.finding
    specification = load()
    verdict = next((verdict for verdict in tested.verdicts if verdict.rule.id == entry.rule), None)

    def finding(trouble: Trouble, advice: str, gone: Iterable[str] = ()) -> Finding:
        if not baseline.is_current and trouble in (Trouble.FIXED, Trouble.UNKNOWN):
            advice = f"{where} is of {baseline.release}, and this release does not find it; run with {UPDATE}"
            return Finding(Trouble.OUTDATED, advice, entry, tested, was=trouble)
        return Finding(trouble, advice, entry, tested, gone=tuple(gone))

    if entry.rule not in specification:
        advice = f"correct or remove the entry of {entry.implementation} in {baseline.name}"
        return finding(Trouble.UNKNOWN, f"{advice}: there is no rule {entry.rule!r}{did_you_mean(entry.rule, specification)}")
    if tested.kind not in specification[entry.rule].kinds:
        asked = f"is not asked of its kind, {tested.kind.replace('-', ' ')}"
        return finding(Trouble.UNKNOWN, f"{where} {asked}: correct or remove the entry in {baseline.name}")
    if unmet := entry.unmet():
        return unmet
    if verdict is None:
        return "this profile does not have the rule"
    if verdict.verdict is Verdict.PASSED:
        return _missing(entry, tested, "passed") or finding(
            Trouble.FIXED, f"{where} passes now: remove the entry from {baseline.name}, or run with {UPDATE}"
        )
    if verdict.violation is None:
        return verdict.reason
    resembled = not baseline.is_current and any(map(entry.resembles, verdict.violation.findings))
    if not (entry.is_seen_in(verdict.violation) or resembled):
        return _missing(entry, tested, "failing in other ways") or finding(
            Trouble.FIXED,
            f"{where} is not failing in this way any more: remove the entry from {baseline.name}, or run with {UPDATE}",
        )
    if entry.expired(baseline.today):
        return finding(
            Trouble.EXPIRED,
            f"{head.finding} expired on {entry.expires}: repair it, or give a later date in {baseline.name}",
        )
    if entry.reason == PLACEHOLDER:
        return finding(Trouble.UNEXPLAINED, f"{head.finding} has no reason yet: replace {PLACEHOLDER!r} in {baseline.name}")
    if not entry.is_seen_in(verdict.violation) or (entry.cause and not entry.ways and not baseline.is_current):
        advice = f"{where} is of {baseline.release}, which told findings apart otherwise; run with {UPDATE}"
        return finding(Trouble.OUTDATED, advice)
    shown = entry.ways_in(verdict.violation)
    gone = [way for way in _told(entry, tested) if way not in shown]
    if gone and not _missing(entry, tested, ""):
        told = f"{where} is not failing with {'; '.join(gone)} any more"
        return finding(Trouble.FIXED, f"{told}: correct the entry in {baseline.name}, or run with {UPDATE}", gone)
    return ""


def _missing(entry: Entry, tested: Result, seen: str) -> str:
    """Return why a run that did not see a finding does not tell that it is fixed, or ``""``; the rule was ``seen``."""
    if not tested.whole:
        return f"{seen}, but not all checks were run"
    if BY_CHANCE in entry.ways:
        return f"{seen} here, but it fails by chance: remove the entry once that is repaired" if seen else "by chance"
    if entry.ways and not _told(entry, tested):
        return f"{seen} here, but there was no time for all cases"
    if entry.sequence or (tested.seed == entry.seed and tested.examples >= entry.examples):
        return ""
    run = f"--conformance-seed={entry.seed} --conformance-examples={entry.examples}"
    return f"{seen} here, but only a run with {run} tells whether it is fixed"


def _told(entry: Entry, tested: Result) -> list[str]:
    """Return the ways of an entry of which a run tells something: a check says nothing of cases that there was no time for."""
    return [way for way in entry.ways if way.partition(" (")[0] not in tested.cut]


def _nameless(baseline: Baseline, described: list[str]) -> Iterator[Finding]:
    """Yield what is wrong with entries about implementations that nothing describes: one for each name."""
    for name in dict.fromkeys([*(entry.implementation for entry in baseline.entries), *baseline.offered]):
        if name not in described:
            advice = f"correct or remove the entries of {name} in {baseline.name}"
            told = f"{advice}: nothing in pyproject.toml is called {name!r}{did_you_mean(name, described)}"
            yield Finding(Trouble.UNKNOWN, told)


def _new(baseline: Baseline, tested: Result, *, provisional: bool) -> Iterator[Finding]:
    """Yield what fails rules of the level, provisional or not, and is not listed; an expired entry is a finding of its own."""
    entries = baseline.of(tested.name)
    lapsed = _lapsed(entries, tested)
    elsewhere = {entry.rule: f" (its entry is {entry.unmet()})" for entry in entries if entry.unmet()}
    for verdict in tested.verdicts:
        rule = verdict.rule
        if verdict.violation is None or rule.counts is provisional or not rule.asked_at(tested.level):
            continue
        if new := [found for found in verdict.violation.findings if not _listed(baseline, tested, found, lapsed)]:
            known = any(entry.rule == rule.id and not entry.unmet() for entry in entries)
            ways = "; ".join(f"{found.cause}, with {found.way}" if found.way else found.cause for found in new)
            how = f" in another way, too ({ways})" if known else elsewhere.get(rule.id, "")
            advice = f"repair it, or accept it with {UPDATE} and give the reason in {baseline.name}"
            where = f"{rule.id} of {tested.name} fails{how}"
            yield Finding(Trouble.NEW, f"{where}: {advice}", tested=tested, violations=tuple(new))


def _lapsed(entries: Iterable[Entry], tested: Result) -> list[Entry]:
    """Return the entries whose own sequence does not show them any more: what has all that it consists of is another finding."""
    violations = {verdict.rule.id: verdict.violation for verdict in tested.verdicts if verdict.violation}
    shown = (entry for entry in entries if entry.rule in violations and entry.is_seen_in(violations[entry.rule]))
    living = {id(entry) for entry in shown}
    return [entry for entry in entries if tested.whole and entry.sequence and id(entry) not in living]


def _listed(baseline: Baseline, tested: Result, found: Violation, lapsed: list[Entry]) -> bool:
    """Whether an entry, which may have expired, is about a violation."""
    entries = [entry for entry in baseline.accepting(tested.name, found) if not entry.unmet()]
    return any(entry not in lapsed or not baseline.is_current for entry in entries)


def _lost(baseline: Baseline, tested: Result) -> Iterator[Finding]:
    """Yield what an implementation offered once, and does not any more: no rule on it applies now, so none can fail."""
    if tested.offers is None:
        return
    offered = {name.lower() if name in ("FIFO", "LIFO") else name for name in baseline.offered.get(tested.name, ())}
    if missing := lost(offered, tested.offers):
        advice = f"repair it, or accept it with {UPDATE}"
        yield Finding(Trouble.NEW, f"{tested.name} does not offer {', '.join(missing)} any more: {advice}", tested=tested)
