"""What a run says about a baseline: which entries are right, and which are new, fixed, unknown, expired or unexplained."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from queue_conformance.baseline import PLACEHOLDER, Baseline, Entry
from queue_conformance.discovery.capabilities import lost
from queue_conformance.engine.outcomes import CAUSES, Violation
from queue_conformance.specification import Level, load
from queue_conformance.suggestion import did_you_mean
from queue_conformance.verdicts import RuleVerdict, Verdict


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
        offers: the capabilities that were found, or ``None`` if it could not be used.
    """

    name: str
    kind: str
    level: Level
    verdicts: tuple[RuleVerdict, ...]
    whole: bool = True
    seed: int = 0
    examples: int = 100
    offers: frozenset[str] | None = None


UPDATE = "--conformance-update-baseline"


class Trouble(StrEnum):
    """Why a baseline is not right."""

    NEW = "new"
    FIXED = "fixed"
    UNKNOWN = "unknown"
    EXPIRED = "expired"
    UNEXPLAINED = "unexplained"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing about a baseline that is not right, which fails the run.

    Attributes:
        trouble: which.
        advice: what is so, and what to do, in one line.
        entry: the entry, or ``None`` for a new failure.
        tested: the implementation, if this run tested it.
        violations: what is new.
    """

    trouble: Trouble
    advice: str
    entry: Entry | None = None
    tested: Result | None = None
    violations: tuple[Violation, ...] = ()

    def __str__(self) -> str:
        """Return the line that a report shows."""
        return f"{self.trouble}: {self.advice}"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a run says about a baseline.

    Attributes:
        findings: what is not right, in the order of the file; what is new comes last.
        notes: by implementation, which entries this run says nothing about, and why.
        upcoming: what is new of provisional rules, which fails no run yet; an update writes it down, too.
    """

    findings: tuple[Finding, ...]
    notes: dict[str, list[str]]
    upcoming: tuple[Finding, ...] = ()


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
    silent: dict[str, dict[str, list[str]]] = {}
    for entry in baseline.entries:
        tested = by_name.get(entry.implementation)
        if tested is None:
            continue
        found = _judge_entry(baseline, entry, tested)
        if isinstance(found, Finding):
            findings.append(found)
        elif found:
            silent.setdefault(entry.implementation, {}).setdefault(found, []).append(entry.rule)
    if described is not None:
        findings += _nameless(baseline, list(described))
    for tested in implementations:
        findings += _new(baseline, tested, provisional=False)
        findings += _lost(baseline, tested)
    notes = {
        name: [f"this run says nothing about {', '.join(rules)} in {baseline.name}: {why}" for why, rules in reasons.items()]
        for name, reasons in silent.items()
    }
    upcoming = [found for tested in implementations for found in _new(baseline, tested, provisional=True)]
    return Judgement(tuple(findings), notes, tuple(upcoming))


def _judge_entry(baseline: Baseline, entry: Entry, tested: Result) -> Finding | str:
    """Return what is not right about an entry; a text if this run does not tell, which is empty if all is right."""
    where = entry.finding
    specification = load()
    verdict = next((verdict for verdict in tested.verdicts if verdict.rule.id == entry.rule), None)

    def finding(trouble: Trouble, advice: str) -> Finding:
        return Finding(trouble, advice, entry, tested)

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
    if not any(map(entry.accepts, verdict.violation.findings)):
        if len(verdict.violation.findings) == CAUSES:
            return f"failing in {CAUSES} other ways, and no more are told apart"
        return _missing(entry, tested, "failing in other ways") or finding(
            Trouble.FIXED,
            f"{where} is not failing in this way any more: remove the entry from {baseline.name}, or run with {UPDATE}",
        )
    if entry.expired(baseline.today):
        return finding(
            Trouble.EXPIRED,
            f"{where} expired on {entry.expires}: repair it, or give a later date in {baseline.name}",
        )
    if entry.reason == PLACEHOLDER:
        return finding(Trouble.UNEXPLAINED, f"{where} has no reason yet: replace {PLACEHOLDER!r} in {baseline.name}")
    return ""


def _missing(entry: Entry, tested: Result, seen: str) -> str:
    """Return why a run that did not see a finding does not tell that it is fixed, or ``""``; the rule was ``seen``."""
    if not tested.whole:
        return f"{seen}, but not all checks were run"
    if entry.sequence or (tested.seed == entry.seed and tested.examples >= entry.examples):
        return ""
    run = f"--conformance-seed={entry.seed} --conformance-examples={entry.examples}"
    return f"{seen} here, but only a run with {run} tells whether it is fixed"


def _nameless(baseline: Baseline, described: list[str]) -> Iterator[Finding]:
    """Yield what is wrong with entries about implementations that nothing describes: one for each name."""
    for name in dict.fromkeys([*(entry.implementation for entry in baseline.entries), *baseline.offered]):
        if name not in described:
            advice = f"correct or remove the entries of {name} in {baseline.name}"
            told = f"{advice}: nothing in pyproject.toml is called {name!r}{did_you_mean(name, described)}"
            yield Finding(Trouble.UNKNOWN, told)


def _new(baseline: Baseline, tested: Result, *, provisional: bool) -> Iterator[Finding]:
    """Yield what fails rules of the level, provisional or not, and is not listed; an expired entry is a finding of its own."""
    entries = [entry for entry in baseline.entries if entry.implementation == tested.name]
    listed = [entry for entry in entries if not entry.unmet()]
    elsewhere = {entry.rule: f" (its entry is {entry.unmet()})" for entry in entries if entry.unmet()}
    for verdict in tested.verdicts:
        rule = verdict.rule
        if verdict.violation is None or rule.counts is provisional or not rule.asked_at(tested.level):
            continue
        if new := [found for found in verdict.violation.findings if not any(entry.accepts(found) for entry in listed)]:
            known = any(entry.rule == rule.id for entry in listed)
            how = f" in another way, too ({'; '.join(found.cause for found in new)})" if known else elsewhere.get(rule.id, "")
            advice = f"repair it, or accept it with {UPDATE} and give the reason in {baseline.name}"
            where = f"{rule.id} of {tested.name} fails{how}"
            yield Finding(Trouble.NEW, f"{where}: {advice}", tested=tested, violations=tuple(new))


def _lost(baseline: Baseline, tested: Result) -> Iterator[Finding]:
    """Yield what an implementation offered once, and does not any more: no rule on it applies now, so none can fail."""
    if tested.offers is None:
        return
    offered = {name.lower() if name in ("FIFO", "LIFO") else name for name in baseline.offered.get(tested.name, ())}
    if missing := lost(offered, tested.offers):
        advice = f"repair it, or accept it with {UPDATE}"
        yield Finding(Trouble.NEW, f"{tested.name} does not offer {', '.join(missing)} any more: {advice}", tested=tested)
