"""The gate of a run: which findings fail it, and what its baseline says about them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path

from queue_conformance.baseline import PLACEHOLDER, Baseline, BaselineError, parse, read, writing
from queue_conformance.baseline.comparison import Judgement, Result, Trouble, judge, mark
from queue_conformance.config.run_config import Options
from queue_conformance.config.targets import Target
from queue_conformance.engine.outcomes import Violation
from queue_conformance.engine.sequences import Known
from queue_conformance.engine.ways import cut_short
from queue_conformance.processes.files import text_of
from queue_conformance.reports import Report, files
from queue_conformance.specification import Level, Rule, load


class Gate:
    """Which findings fail a run.

    Args:
        options: what the user asked for.
        directory: where pytest was called; messages name the baseline from there.

    Raises:
        BaselineError: if the baseline cannot be read.
    """

    def __init__(self, options: Options, directory: Path) -> None:
        self._options = options
        self._updates = options.update_baseline
        self._levels: dict[str, Level] = {}
        self._rules: dict[str, Mapping[str, Rule]] = {}
        self._baseline: Baseline | None = None
        if options.baseline:
            name = os.path.relpath(options.baseline, directory)
            self._baseline = read(options.baseline, name, missing_ok=self._updates)
        for target in options.targets:
            self.register(target)

    def register(self, target: Target) -> None:
        """Register an implementation."""
        self._levels[target.name] = Level(target.level)

    def register_rules(self, implementation: str, rules: Mapping[str, Rule]) -> None:
        """Register the levels that rules have for an implementation, once they are known."""
        self._rules[implementation] = rules

    def _gates(self, implementation: str, rule: str) -> bool:
        held = self._rules.get(implementation, {}).get(rule) or load()[rule]
        return held.gates(self._levels[implementation])

    def sequences(self, implementation: str) -> Known:
        """Return the sequences of the baseline that an implementation is known to fail."""
        return self._baseline.sequences(implementation) if self._baseline else {}

    def why_known(self, implementation: str, violation: Violation) -> str:
        """Return why it is known how a rule failed, or ``""``; a run that updates the baseline knows all that fails it."""
        known = self._baseline.why_known(implementation, violation) if self._baseline else ""
        return known or (PLACEHOLDER if self._updates and self._gates(implementation, violation.rule) else "")

    def fails(self, implementation: str, violation: Violation) -> bool:
        """Whether the run fails by how a rule failed."""
        return self._gates(implementation, violation.rule) and not self.why_known(implementation, violation)

    def attributed(self, report: Report, run: Mapping[str, bool]) -> Report:
        """Return a report with what the baseline says.

        Args:
            run: the implementations of which checks were run, by name; whether all of them were.
        """
        if self._baseline is None:
            return report
        judgement = self._judge(report, run)
        # A run that updates the baseline fails by nothing in it, not even by what has expired.
        baseline = replace(self._baseline, today=date.min) if self._updates else self._baseline
        implementations = tuple(
            replace(
                found,
                verdicts=mark(baseline, found.name, found.verdicts),
                notes=(*found.notes, *judgement.notes.get(found.name, ())),
            )
            for found in report.implementations
        )
        return replace(
            report,
            implementations=implementations,
            gate=() if self._updates else tuple(dict.fromkeys(map(str, judgement.findings))),
        )

    def update(self, run: Mapping[str, bool], *reports: Report) -> list[str]:
        """Bring the baseline up to date, and write it.

        Args:
            run: the implementations of which checks were run, by name; whether all of them were.
            reports: what was found, with one seed each.

        Returns:
            One line for each change, and for what is left to do.

        Raises:
            BaselineError: if it cannot be written.
        """
        baseline, path = self._baseline, self._options.baseline
        assert baseline is not None
        assert path is not None
        try:
            with writing.alone(path):
                exists = path.exists()
                known = read(path, baseline.name, missing_ok=True)  # another run may have updated it since this one began
                text = written = text_of(path) if exists else writing.HEADER
                changes: list[str] = []
                for report in reports:
                    self._baseline = replace(known, today=baseline.today)
                    judgement, tested = self._judge(report, run), self._tested(report, run)
                    written, made = writing.update(written, self._baseline, judgement, tested)
                    known = parse(written, baseline.name)
                    changes += made
                if written != text or not exists:
                    files.save(written, path)
        except OSError as error:
            raise BaselineError(f"--conformance-baseline: cannot write {baseline.name}: {error.strerror}") from error
        self._baseline = known
        left = dict.fromkeys(line for report in reports for line in self._left_to_do(report, run))
        return [*(changes or [f"{baseline.name} is up to date"]), *left]

    def _left_to_do(self, report: Report, run: Mapping[str, bool]) -> Iterator[str]:
        assert self._baseline is not None
        findings = self._judge(report, run).findings
        yield from (str(one) for one in findings if one.trouble is not Trouble.UNEXPLAINED)
        if blank := sum(entry.reason == PLACEHOLDER for entry in self._baseline.known):
            entries = "1 entry has" if blank == 1 else f"{blank} entries have"
            yield f"{entries} no reason yet, which fails the next run: replace {PLACEHOLDER!r} in {self._baseline.name}"

    def _judge(self, report: Report, run: Mapping[str, bool]) -> Judgement:
        assert self._baseline is not None
        described = None
        if self._options.everything:  # suites of the author's tests are described elsewhere
            suites = [entry.implementation for entry in self._baseline.entries if "::" in entry.implementation]
            described = [*self._levels, *suites]
        return judge(self._baseline, self._tested(report, run), described)

    def _tested(self, report: Report, run: Mapping[str, bool]) -> list[Result]:
        origin = report.origin
        return [
            Result(
                found.name,
                found.kind,
                found.level,
                found.verdicts,
                run[found.name],
                origin.seed,
                origin.examples,
                cut_short(found.notes),
                found.offers if found.found else None,
            )
            for found in report.implementations
            if found.name in run
        ]
