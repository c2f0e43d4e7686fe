"""One report, many renderers. A report is a value; nothing here runs anything."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from queue_conformance import __version__
from queue_conformance.discovery.record import Discovery
from queue_conformance.engine.outcomes import CheckResult, Observation, Outcome
from queue_conformance.engine.verdicts import RuleVerdict, RunVerdict, Verdict, conclude, judge, worst
from queue_conformance.implementation.capabilities import apply_claims
from queue_conformance.secrets import Secrets
from queue_conformance.specification import Level
from queue_conformance.specification.kinds import Profile


@dataclass(frozen=True, slots=True)
class CheckRecord:
    """The result of one check.

    Attributes:
        name: its name.
        outcomes: what it says of rules, by id.
        seconds: how long it took.
        fatal: whether it hung or died.
    """

    name: str
    outcomes: Mapping[str, Outcome]
    seconds: float = 0.0
    fatal: bool = False


@dataclass(frozen=True)
class ImplementationReport:
    """What is known of one implementation.

    Attributes:
        name: what its author calls it; the dotted path of its class, if nothing else.
        path: the dotted path of its class.
        version: its package and the release of that, or ``""``.
        kind: what it is.
        profile: the contract that it was held to.
        level: the level whose failed rules fail the run.
        settings: what it was built with, without secrets.
        claims: what its author claims.
        server: the server that it stores in, or ``""``.
        found: what was found by probing, in one line; ``""`` if it could not be used.
        offers: the same, as the names that rules use.
        stores: for each type of value, what becomes of it in a queue that serializes.
        checks: the result of each check.
        notes: what else is worth reporting.
        verdicts: one per rule of its profile, in the order of the specification.
        verdict: what follows from them.
        also: the same implementation, held to a second contract, which fails no run; ``None`` where there is none.
    """

    name: str
    path: str
    version: str
    kind: str
    profile: str
    level: Level
    settings: Mapping[str, Any]
    claims: Mapping[str, str]
    server: str
    found: str
    offers: frozenset[str]
    stores: Mapping[str, str]
    checks: tuple[CheckRecord, ...]
    notes: tuple[str, ...]
    verdicts: tuple[RuleVerdict, ...]
    verdict: RunVerdict
    also: ImplementationReport | None = None

    def counts(self) -> dict[Level, Counter[Verdict]]:
        """Return the number of rules per level and verdict; provisional rules do not count."""
        counts: dict[Level, Counter[Verdict]] = {level: Counter() for level in Level}
        for verdict in self.verdicts:
            if verdict.rule.counts:
                counts[verdict.rule.level][verdict.verdict] += 1
        return counts

    def failed_rules(self, level: Level | str) -> list[RuleVerdict]:
        """Return the failed rules of a level; provisional rules do not count.

        Raises:
            ValueError: if there is no such level.
        """
        level = Level(level)
        return [v for v in self.verdicts if v.verdict is Verdict.FAILED and v.rule.level is level and v.rule.counts]

    def gates(self, verdict: RuleVerdict) -> bool:
        """Whether a verdict fails the run: failed, of a rule that fails it at the required level, and not known to be."""
        return verdict.verdict is Verdict.FAILED and not verdict.known and verdict.rule.gates(self.level)

    @property
    def failed(self) -> bool:
        """Whether some verdict fails the run."""
        return any(map(self.gates, self.verdicts))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a report comes from.

    Attributes:
        seed: what seeded everything that was drawn.
        examples: command sequences and requests that were drawn.
        releases: the releases of libraries.
        kit: the release of the kit.
        python: the release of Python.
        platform: the platform, as ``sys.platform`` names it.
        created: when it was made: date and time in UTC, ISO 8601.
    """

    seed: int = 0
    examples: int = 100
    releases: Mapping[str, str] = field(default_factory=dict)
    kit: str = __version__
    python: str = field(default_factory=platform.python_version)
    platform: str = sys.platform
    created: str = field(default_factory=_now)


INTERRUPTED = "the run ended early: what is told here is not all; run it to its end"
"""The error in the report of a run that was ended before it had tested all."""


@dataclass(frozen=True)
class Report:
    """The results of a run.

    Attributes:
        implementations: one report per implementation that could be tested.
        errors: one line per implementation that could not.
        origin: where it comes from.
        gate: one line per entry of the baseline that fails the run, which says what to do.
        internal_errors: one line for each time that the kit itself failed.
        interrupted: whether the run was ended before it had tested all; then an error says so, too.
    """

    implementations: tuple[ImplementationReport, ...]
    errors: tuple[str, ...] = ()
    origin: Origin = field(default_factory=Origin)
    gate: tuple[str, ...] = ()
    internal_errors: tuple[str, ...] = ()
    interrupted: bool = False

    @property
    def failed(self) -> bool:
        """Whether some implementation broke a rule that it must not, or the baseline is not right any more."""
        return bool(self.gate) or any(report.failed for report in self.implementations)

    @property
    def verdict(self) -> RunVerdict:
        """The worst verdict of an implementation; at best INCONCLUSIVE if one could not be tested, or there is none."""
        untested = [RunVerdict.INCONCLUSIVE] if self.errors else []
        return worst([*untested, *(report.verdict for report in self.implementations)]) or RunVerdict.INCONCLUSIVE

    @property
    def inconclusive(self) -> bool:
        """Whether nothing is known of some implementation."""
        return any(report.verdict is RunVerdict.INCONCLUSIVE for report in self.implementations)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the report to a file.

        Args:
            path: the file; its ending says in which form, as for ``--conformance-report``.

        Raises:
            ValueError: if no form has that ending.
            OSError: if it cannot be written.
        """
        from queue_conformance.reports import files

        files.write(self, Path(path))

    def __str__(self) -> str:
        """Return the report as a terminal shows it: as wide as that is, or ``COLUMNS``, or 80 columns where neither is known."""
        from queue_conformance.reports import terminal

        width = shutil.get_terminal_size().columns
        return "\n".join(line.text for line in terminal.render(self, width, verbosity=-1)).rstrip()

    def _repr_html_(self) -> str:
        """Return the report as a notebook shows it: its page, in a frame."""
        from html import escape

        from queue_conformance.reports import html

        return f'<iframe srcdoc="{escape(html.render(self))}" style="border: 0; height: 40em; width: 100%"></iframe>'


def report_on(
    discovery: Discovery,
    results: Iterable[CheckResult],
    releases: Mapping[str, str],
    name: str = "",
    level: Level = Level.MUST,
    whole: bool = True,
) -> ImplementationReport:
    """Combine a discovery with the results of the checks.

    Args:
        results: those of its checks; those of the discovery itself are added.
        name: what its author calls it.
        whole: whether all checks of MUST rules ran to their ends.
    """
    # A distributed run finishes its checks in any order.
    results = {result.check: result for result in [*discovery.smoke, *sorted(results, key=lambda result: result.check)]}.values()
    capabilities = apply_claims(discovery.found, discovery.claims)
    secrets = Secrets(discovery.settings, said=discovery.path)

    def attributed(profile: Profile, observations: Iterable[Observation]) -> tuple[RuleVerdict, ...]:
        verdicts = judge(discovery.rules(profile), capabilities.names, releases, observations, discovery.unusable)
        return tuple(map(secrets.verdict, verdicts))

    internal_error = any(result.internal_error or result.trouble or result.fault for result in results)
    verdicts = attributed(discovery.profile, (observation for result in results for observation in result.observations))
    notes = [*discovery.notes, *(note for result in results for note in (*result.notes, result.trouble) if note)]
    notes = [note for note in notes if note != discovery.unusable]  # which is why its rules are blocked
    shown = replace(discovery.found, shared=capabilities.shared, spoken_order=capabilities.spoken_order)
    found = ImplementationReport(
        name=name or discovery.path,
        path=discovery.path,
        version=discovery.version,
        kind=discovery.kind,
        profile=discovery.profile,
        level=level,
        settings=secrets.settings(discovery.settings),
        claims=discovery.claims,
        server=discovery.server,
        found=discovery.kind.describe(shown) if discovery.usable else "",
        offers=discovery.found.names,
        stores=discovery.found.stores,
        checks=tuple(_record(result) for result in results),
        notes=tuple(dict.fromkeys(map(secrets.text, notes))),
        verdicts=verdicts,
        verdict=conclude(verdicts, internal_error=internal_error, whole=whole),
    )
    if discovery.also is None:
        return found
    said = (result.observations if result.second is None else result.second for result in results)
    verdicts = attributed(discovery.also, (observation for observations in said for observation in observations))
    verdict = conclude(verdicts, internal_error=internal_error, whole=whole)
    return replace(found, also=replace(found, profile=discovery.also, verdicts=verdicts, verdict=verdict))


def _record(result: CheckResult) -> CheckRecord:
    outcomes = {observation.rule: observation.outcome for observation in result.observations}
    return CheckRecord(result.check, outcomes, round(result.seconds, 3), result.fatal)
