"""How a campaign goes on: a line in the terminal, and a page that loads itself again."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime, timedelta

from queue_conformance.baseline import writing
from queue_conformance.campaign.state import PAGE, Finding, State
from queue_conformance.reports.page import about, alarm, css, document, dotted, facts, mark, plural, prose, script, shown, text
from queue_conformance.reports.page import worst as worst_of
from queue_conformance.specification import load
from queue_conformance.verdicts import RuleVerdict, Verdict

TERMINAL, PLAIN, PAGES = 1.0, 60.0, 5.0
"""Seconds between two changes of the line in a terminal, two lines elsewhere, and two versions of the page."""


class Progress:
    """Shows how a campaign goes on.

    Args:
        state: what is known.
        seconds: how long it is to take.
    """

    def __init__(self, state: State, seconds: float) -> None:
        self._state = state
        self._limit = timedelta(seconds=int(seconds))
        self._began = time.monotonic()
        self._before = state.sequences
        self._line = self._page = self._began
        self._in_terminal = sys.stdout.isatty()
        self._back = "\r\x1b[K" if self._in_terminal else ""
        self.errors: list[str] = []

    def say(self, line: str) -> None:
        """Print a line that stays."""
        print(f"{self._back}{line}", flush=True)

    def fail(self, line: str) -> None:
        """Print what cannot be tested, once."""
        if line not in self.errors:
            self.errors.append(line)
            self.say(f"ERROR {line}")

    def found(self, finding: Finding, known: str) -> None:
        """Print a finding."""
        about = f"{finding.level} {finding.violation.rule} of {finding.implementation}: {finding.violation.said}"
        operations = plural(len(finding.violation.operations), "operation")
        self.say(f"{'KNOWN' if known else 'FOUND'} {about} ({operations}, seed {finding.seed})")

    def show(self, *, last: bool = False) -> None:
        """Show how far it is, if it is time to."""
        now = time.monotonic()
        if last or now - self._line >= (TERMINAL if self._in_terminal else PLAIN):
            self._line = now
            end = "\n" if last or not self._in_terminal else ""
            print(f"{self._back}{self._status(now)}", end=end, flush=True)
        if last or now - self._page >= PAGES:
            self._page = now
            writing.save(self._html(now, last), self._state.directory / PAGE)

    def _status(self, now: float) -> str:
        known, elapsed = self._state, now - self._began
        pace = (known.sequences - self._before) / max(elapsed, 1.0)
        return (
            f"{timedelta(seconds=int(elapsed))} of {self._limit}: {plural(known.tasks, 'task')}, {known.sequences} sequences "
            f"({pace:.0f}/s), {plural(len(known.findings), 'finding')}{self._since()}"
        )

    def _since(self) -> str:
        if not self._state.findings:
            return ""
        last = max(finding.at for finding in self._state.findings.values())
        return f", the last one {timedelta(seconds=int((datetime.now(UTC) - last).total_seconds()))} ago"

    def _html(self, now: float, last: bool) -> str:
        known = self._state
        found = known.report.implementations if known.report else ()
        rows = "".join(
            f'<tr><th scope="row">{dotted(one.name)}</th><td class="number">{len(known.seeds[one.name])}</td>'
            f'<td class="number">{known.pace.get(one.name, 0):.0f}</td>'
            f'<td class="number">{sum(f.implementation == one.name for f in known.findings.values())}</td></tr>'
            for one in found
        )
        head = "".join(
            f'<th scope="col"{" class=number" * (index > 0)}>{title}</th>'
            for index, title in enumerate(("Implementation", "Tasks", "Sequences/s", "Findings"))
        )
        table = f'<section class="overview"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></section>'
        title = f"{plural(len(known.findings), 'finding')} – queue conformance campaign"
        main = [
            f'<header><p class="kicker">Queue conformance campaign</p><h1>{plural(len(known.findings), "finding")}</h1>',
            f'<p class="verdict">{text(self._status(now))}{"; it has ended" if last else ""}</p></header><main>',
            alarm("Not tested", self.errors),
            table if rows else "",
            *(self._finding(one) for one in sorted(known.findings.values(), key=lambda one: one.at, reverse=True)),
            "</main>",
        ]
        worst = None if self.errors else worst_of(one.verdict for one in found)
        return document(title, "\n".join(filter(None, main)), worst, refresh=0 if last else int(PAGES))

    def _finding(self, found: Finding) -> str:
        rule = load()[found.violation.rule]
        verdict = RuleVerdict(rule, Verdict.FAILED, violation=found.violation)
        where = [
            ("Implementation", dotted(found.implementation)),
            ("First seen", f"{text(found.at.strftime('%Y-%m-%d %H:%M:%S UTC'))}, seed {found.seed}"),
            ("Seen", f"in {plural(self._state.times[found.id], 'task')}"),
        ]
        summary = f'{mark(verdict)} <span class="level">{text(found.level)}</span> <span class="rule-id">{text(rule.id)}</span>'
        body = facts([*where, *shown(verdict), *about(rule), *script(verdict)])
        return (
            f'<details class="rule {css(verdict)}" id="{found.id}"><summary class="line">{summary} '
            f'<span class="sentence">{prose(rule.sentence)}</span></summary>'
            f'<div class="body"><dl class="facts evidence">{body}</dl></div></details>'
        )
