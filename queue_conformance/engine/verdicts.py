"""From what the checks observed to a verdict per rule, and from these to the verdict of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from queue_conformance.engine.outcomes import Observation, Outcome, Violation
from queue_conformance.specification import Level, Rule, fitting
from queue_conformance.specification.applicability import why_not_applicable


class Verdict(StrEnum):
    """What is known of one rule."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    BLOCKED = "blocked"
    NOT_COVERED = "not covered"
    NOT_APPLICABLE = "not applicable"
    UNTESTABLE = "untestable"


NOT_TESTED = (Verdict.ERROR, Verdict.BLOCKED, Verdict.NOT_COVERED)
"""The verdicts on rules that apply, and that this run could not test."""


class RunVerdict(StrEnum):
    """What is known of one implementation, from the best to the worst."""

    CONFORMANT = "CONFORMANT"
    PARTIAL = "PARTIAL"
    INCONCLUSIVE = "INCONCLUSIVE"
    NON_CONFORMANT = "NON-CONFORMANT"


def worst(verdicts: Iterable[RunVerdict]) -> RunVerdict | None:
    """Return the worst of some verdicts; ``None`` of none."""
    return max(verdicts, key=list(RunVerdict).index, default=None)


@dataclass(frozen=True, slots=True)
class RuleVerdict:
    """The verdict on one rule.

    Attributes:
        rule: the rule.
        verdict: what is known of it.
        reason: why, unless it passed or failed.
        violation: the evidence, if it fails.
        known: why the author's baseline expects that it fails, or ``""``.
    """

    rule: Rule
    verdict: Verdict
    reason: str = ""
    violation: Violation | None = None
    known: str = ""


STRONGEST_FIRST = (
    *(Outcome.FAILED, Outcome.ERROR, Outcome.BLOCKED, Outcome.PASSED),
    *(Outcome.CUT_SHORT, Outcome.NOT_APPLICABLE, Outcome.NOT_COVERED),
)
"""What checks say of a rule: the first that any of them says is its verdict."""


def judge(
    rules: Mapping[str, Rule],
    capabilities: frozenset[str],
    releases: Mapping[str, str],
    observations: Iterable[Observation],
    unusable: str = "",
) -> list[RuleVerdict]:
    """Combine what all checks say.

    A rule that any check saw fail has failed; one on which the kit itself failed is an error; one that some check could not
    test because of another failed rule is blocked, even if others saw it pass; one that nothing tested is not covered. Where
    ``close`` is not there, one is blocked if no check saw it pass that needs none.

    Args:
        unusable: why no check could run at all, or ``""``.

    Returns:
        One verdict per rule, in the order of the specification.
    """
    by_rule: dict[str, list[Observation]] = {}
    for observation in observations:
        by_rule.setdefault(observation.rule, []).append(observation)
    return [_judge_rule(rule, capabilities, releases, by_rule.get(name, []), unusable) for name, rule in rules.items()]


def _judge_rule(
    rule: Rule, capabilities: frozenset[str], releases: Mapping[str, str], observations: list[Observation], unusable: str
) -> RuleVerdict:
    if rule.untestable is not None:
        return RuleVerdict(rule, Verdict.UNTESTABLE, rule.untestable)
    for outcome in STRONGEST_FIRST:
        said = [observation for observation in observations if observation.outcome is outcome]
        if said:
            best = min(said, key=lambda observation: observation.size)
            shown = [observation.violation for observation in said if observation.violation]
            if not shown:
                verdict = Verdict.BLOCKED if outcome is Outcome.CUT_SHORT else Verdict(outcome.value)
                return RuleVerdict(rule, verdict, best.reason)
            violation = combined(shown)
            rule = replace(rule, hints=hints_for(rule, violation))
            return RuleVerdict(rule, Verdict(outcome.value), best.reason, violation)
    if unusable:
        return RuleVerdict(rule, Verdict.BLOCKED, unusable)
    if reason := why_not_applicable(rule, capabilities, releases):
        return RuleVerdict(rule, Verdict.NOT_APPLICABLE, reason)
    return RuleVerdict(rule, Verdict.NOT_COVERED, rule.untested or "its check was not run")


def combined(violations: Iterable[Violation]) -> Violation:
    """Return the shortest of the violations of one rule, with the shortest one of each other cause and way.

    A sequence that another one explains is left out, also if that is of another check.
    """
    found = [finding for violation in violations for finding in violation.findings]
    shortest: list[Violation] = []
    for one in sorted(found, key=lambda violation: len(violation.operations)):
        if not any(known.explains(one) for known in shortest):
            shortest = [*(known for known in shortest if not one.explains(known)), one]
    first, *others = shortest
    base = next((one.base for one in found if one.base and one.cause == first.cause), "")
    return replace(first, others=tuple(others), base=base)


def hints_for(rule: Rule, violation: Violation) -> tuple[str, ...]:
    """Return where to look: the hints for each way in which a rule failed, those for the first way first."""
    return tuple(dict.fromkeys(hint for one in violation.findings for hint in fitting(rule.hints, one.evidence)))


def conclude(verdicts: Iterable[RuleVerdict], *, internal_error: bool = False, whole: bool = True) -> RunVerdict:
    """Return the verdict of a run over one implementation.

    A failed MUST rule makes it NON-CONFORMANT. If no MUST rule passed, or the kit itself failed, nothing is known:
    INCONCLUSIVE. If some MUST rule that applies could not be tested, or not by all of its checks, it is PARTIAL. Provisional
    rules do not count.

    Args:
        internal_error: whether the kit failed in some check.
        whole: whether all checks of MUST rules ran to their ends.
    """
    must = [verdict.verdict for verdict in verdicts if verdict.rule.level is Level.MUST and verdict.rule.counts]
    if Verdict.FAILED in must:
        return RunVerdict.NON_CONFORMANT
    if internal_error or Verdict.PASSED not in must:
        return RunVerdict.INCONCLUSIVE
    if not whole or Verdict.NOT_COVERED in must or Verdict.BLOCKED in must:
        return RunVerdict.PARTIAL
    return RunVerdict.CONFORMANT
