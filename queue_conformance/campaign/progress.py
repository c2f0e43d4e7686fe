"""The progress of a campaign: a line in the terminal, and a page that reloads itself."""

from __future__ import annotations

import math
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from queue_conformance.campaign.state import PAGE, Finding, State
from queue_conformance.engine.verdicts import RuleVerdict, Verdict, hints_for, worst
from queue_conformance.reports import files
from queue_conformance.reports.page import page, plural
from queue_conformance.reports.placement import ranks
from queue_conformance.reports.terminal import for_stream
from queue_conformance.specification import Level, load

TERMINAL, PLAIN, PAGES = 1.0, 60.0, 5.0
"""Seconds between two changes of the line in a terminal, two lines elsewhere, and two versions of the page."""


def whole(seconds: float) -> timedelta:
    """Return how long that is, in whole seconds."""
    return timedelta(seconds=math.ceil(seconds))


class Progress:
    """Shows the progress of a campaign.

    Args:
        seconds: how long it is to take.
        names: the implementations.
    """

    def __init__(self, state: State, seconds: float, names: Sequence[str] = ()) -> None:
        self._state = state
        self._names = names
        self._limit = whole(seconds)
        self._began = time.monotonic()
        self._before = state.sequences
        self._line = self._page = self._began
        self._in_terminal = sys.stdout.isatty()
        self._back = "\r\x1b[K" if self._in_terminal else ""
        self.errors: list[str] = []

    def say(self, line: str) -> None:
        """Print a line that stays; a terminal shows no word in two parts."""
        print(f"{self._back}{for_stream(line, sys.stdout)}", flush=True)

    def fail(self, line: str) -> None:
        """Print an error, once."""
        if line not in self.errors:
            self.errors.append(line)
            self.say(f"ERROR {line}")

    def found(self, findings: Iterable[Finding], is_known: Callable[[Finding], bool]) -> None:
        """Print findings, those to mend first at first: of what one line raises, or of one rule otherwise, the first one."""
        mistakes: dict[object, list[Finding]] = {}
        for finding in self.ordered(findings):
            mistake = finding.violation.line or finding.violation.rule
            mistakes.setdefault((finding.implementation, mistake, is_known(finding)), []).append(finding)
        for first, *others in mistakes.values():
            about = f"{first.level} {first.violation.rule} of {first.implementation}: {first.violation.said}"
            more = f", {len(others)} more {'at the same line' if first.violation.line else 'of its kind'}" if others else ""
            operations = plural(len(first.violation.operations), "operation")
            self.say(f"{'KNOWN' if is_known(first) else 'FOUND'} {about} ({operations}, seed {first.seed}{more})")

    def ordered(self, findings: Iterable[Finding]) -> list[Finding]:
        """Return findings in the order in which they are best mended."""
        order = ranks(self._state.report.implementations if self._state.report else ())

        def place(one: Finding) -> tuple[int, int, str, datetime]:
            rule = one.violation.rule
            return list(Level).index(Level(one.level)), order.get((one.implementation, rule), len(order)), rule, one.at

        return sorted(findings, key=place)

    def show(self, *, last: bool = False) -> None:
        """Show the progress, if it is time to."""
        now = time.monotonic()
        if last or now - self._line >= (TERMINAL if self._in_terminal else PLAIN):
            self._line = now
            end = "\n" if last or not self._in_terminal else ""
            status = self._status(now)
            width = shutil.get_terminal_size().columns - 1
            while self._in_terminal and len(status) > width and "; " in status:  # a second line would stay
                status = status.rpartition("; ")[0]
            print(f"{self._back}{status[:width] if self._in_terminal else status}", end=end, flush=True)
        if last or now - self._page >= PAGES:
            self._page = now
            files.save(self._html(now, last), self._state.directory / PAGE)

    def _status(self, now: float) -> str:
        known, elapsed = self._state, now - self._began
        pace = (known.sequences - self._before) / max(elapsed, 1.0)
        (covered, rules), (ran, operations) = known.covered(), known.ran()
        done = (
            f"{known.sequences} sequences ({pace:.0f}/s)"
            if known.sequences
            else plural(sum(map(len, known.seeds.values())), "task")
        )
        taken = timedelta(seconds=int(elapsed))
        time_taken = f"{taken} {'of' if taken <= self._limit else 'past'} {self._limit}"
        return (
            f"{time_taken}: {done}, {plural(len(known.findings), 'finding')}{self._since()}"
            f"{f'; {covered}/{rules} rules' if rules else ''}{f', {ran}/{operations} operations' if operations else ''}"
            f"{self._first_runs()}"
        )

    def _first_runs(self) -> str:
        """Say of which implementations no run of all checks has ended, which may take minutes."""
        first, *others = [name for name in self._names if 0 not in self._state.seeds[name]] or [""]
        return f"; first, every check once on {first}{f' and {len(others)} more' if others else ''}" if first else ""

    def _since(self) -> str:
        if not self._state.findings:
            return ""
        last = max(finding.at for finding in self._state.findings.values())
        return f", the last {timedelta(seconds=int((datetime.now(UTC) - last).total_seconds()))} ago"

    def _html(self, now: float, last: bool) -> str:
        known = self._state
        found = known.report.implementations if known.report else ()
        findings = self.ordered(known.findings.values())
        return page(
            "campaign.html",
            f"{plural(len(findings), 'finding')} – queue conformance campaign",
            None if self.errors else worst(one.verdict for one in found),
            refresh=0 if last else int(PAGES),
            status=f"{self._status(now)}{'; it has ended' if last else ''}",
            errors=self.errors,
            rows=[self._row(one.name) for one in found],
            findings=[(finding, verdict_of(finding), known.times[finding.id]) for finding in findings],
        )

    def _row(self, name: str) -> tuple[str, int, int, int]:
        known = self._state
        findings = sum(finding.implementation == name for finding in known.findings.values())
        pace = known.drawn[name] / max(known.drawing[name], 0.001)
        return name, len(known.seeds[name]), round(pace), findings


def verdict_of(finding: Finding) -> RuleVerdict:
    """Return the verdict that a finding is the evidence of."""
    violation = finding.violation
    rule = load()[violation.rule]
    level = Level(finding.level)  # which a profile or a claim may set
    rule = replace(rule, level=level, hints=hints_for(rule, violation))
    return RuleVerdict(rule, Verdict.FAILED, violation=violation)
