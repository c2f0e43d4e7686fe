"""One report, many renderers. A report is a value; nothing here runs anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from queue_conformance.implementations.capabilities import apply_claims
from queue_conformance.specification import Level
from queue_conformance.suites.outcomes import CheckResult
from queue_conformance.suites.survey import Survey
from queue_conformance.verdicts import RuleVerdict, RunVerdict, Verdict, conclude, judge


@dataclass(frozen=True)
class ImplementationReport:
    """What is known of one implementation.

    Attributes:
        survey: what it is and offers.
        verdicts: one per rule of its profile, in the order of the specification.
        verdict: what follows from them.
        notes: what else is worth reporting.
    """

    survey: Survey
    verdicts: tuple[RuleVerdict, ...]
    verdict: RunVerdict
    notes: tuple[str, ...]

    def counts(self) -> dict[Level, Counter[Verdict]]:
        """Return the number of rules per level and verdict."""
        counts: dict[Level, Counter[Verdict]] = {level: Counter() for level in Level}
        for verdict in self.verdicts:
            counts[verdict.rule.level][verdict.verdict] += 1
        return counts

    def broken(self, level: Level) -> list[RuleVerdict]:
        """Return the broken rules of a level."""
        return [v for v in self.verdicts if v.verdict is Verdict.BROKEN and v.rule.level is level]


@dataclass(frozen=True)
class Report:
    """What came of a run.

    Attributes:
        implementations: one report per class that could be examined.
        errors: one line per class that could not.
        level: the level whose broken rules fail the run.
        seed: what seeded everything that was drawn.
        releases: the installed releases of libraries.
    """

    implementations: tuple[ImplementationReport, ...]
    errors: tuple[str, ...]
    level: str = "MUST"
    seed: int = 0
    releases: Mapping[str, str] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        """Whether a rule of the required level, or of a higher one, is broken."""
        gating = [Level.MUST] if self.level == "MUST" else [Level.MUST, Level.SHOULD]
        return any(report.broken(level) for report in self.implementations for level in gating)

    @property
    def inconclusive(self) -> bool:
        """Whether nothing is known of some implementation."""
        return any(report.verdict is RunVerdict.INCONCLUSIVE for report in self.implementations)


def report_on(survey: Survey, results: Iterable[CheckResult], releases: Mapping[str, str]) -> ImplementationReport:
    """Combine a survey with what came of the checks.

    Args:
        survey: what the implementation is and offers.
        results: what came of its checks; those of the survey itself are added.
        releases: the installed releases of libraries.
    """
    # A distributed run finishes its checks in any order.
    results = [*survey.preflight, *sorted(results, key=lambda result: result.check)]
    observations = [observation for result in results for observation in result.observations]
    broken = [o.rule for o in survey.preflight[0].observations if o.violation]
    unusable = f"blocked by {', '.join(broken)}" if not survey.usable else ""
    capabilities = apply_claims(survey.found, survey.claims)
    verdicts = judge(survey.rules(), capabilities.names, releases, observations, unusable)
    notes = [*survey.notes, *(note for result in results for note in result.notes)]
    return ImplementationReport(survey, tuple(verdicts), conclude(verdicts), tuple(dict.fromkeys(notes)))
