"""The end of a run in pytest's terminal: each failed rule once in full, and once in a line."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from queue_conformance.compat.pytest import TerminalReporter, writer_of
from queue_conformance.engine.outcomes import CheckResult
from queue_conformance.frontends.items import pack, unpack
from queue_conformance.frontends.printing import Crash, Failure, drawn, write
from queue_conformance.reports import Report, terminal
from queue_conformance.reports.placement import Shown, place, urgent

AGAIN = "failed as above"
"""What pytest's last line calls checks whose failures are all shown with other checks."""

_RESULT = "queue_conformance"
"""The attribute of pytest's report on a check that holds its result."""


def keep(report: pytest.TestReport, name: str, result: CheckResult) -> None:
    """Let pytest's report on a check, which may cross to another process, carry the result."""
    setattr(report, _RESULT, pack((name, result)))


def result_of(report: object) -> tuple[str, CheckResult] | None:
    """Return the name of the implementation and the result that a report carries, or ``None``."""
    text = getattr(report, _RESULT, None)
    found: tuple[str, CheckResult] | None = unpack(text) if text else None
    return found


def _headed(shown: Shown, name: str, width: int) -> tuple[str, str]:
    """Return the head of a failure, with its title where that fits, and what stands below.

    Args:
        name: that of the implementation, or ``""`` where there is no other.
    """
    title, below = shown.titled
    of = f" ({name})" if name else ""
    if title and len(title + of) + len("_  _") <= width:
        return title + of, below
    return shown.rule + of, shown.text


class Summary:
    """What the terminal shows at the end.

    Attributes:
        kept: where the report is kept in pytest's cache, or ``None``.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.kept: Path | None = None
        self._config = config
        self._elsewhere: dict[str, str] = {}
        self._named: set[tuple[str, str]] = set()

    def place(self, report: Report) -> None:
        """Show each failed rule once in pytest's list of failures, with the shortest counterexample of all checks."""
        reporter: TerminalReporter | None = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is None:
            return
        failed: list[Any] = reporter.stats.get("failed", [])
        ours = [(one, found) for one in failed if (found := result_of(one))]
        order = urgent(report, [found for _, found in ours])
        in_order = [ours[number] for number in order]
        width, verbosity = self._config.get_terminal_writer().fullwidth, self._config.get_verbosity()
        style = self._config.getoption("tbstyle")
        draw = partial(drawn, report=report, kept=self.kept, width=width, verbosity=verbosity)
        shown, self._elsewhere = place(report, [found for _, found in in_order], draw, once=verbosity <= 0)
        failed[:] = [one for one in failed if result_of(one) is None]
        for (one, (name, result)), screen in zip(in_order, shown, strict=True):
            told, text = copy(one), screen.text
            if told.nodeid == f"{name}::{result.check}":  # a check may see other rules fail than the one that it is named after
                head, text = _headed(screen, name if len(report.implementations) > 1 else "", width)
                told.nodeid, told.location = f"{name}::{screen.rule}", (*told.location[:2], head)
            told.longrepr = Failure("" if style == "line" else text, Crash(told.nodeid, screen.cause))
            if screen.again and verbosity <= 1:
                reporter.stats.setdefault(AGAIN, []).append(told)
                continue
            reporter.stats.setdefault("failed", []).append(told)
            if reporter.hasopt("f") and told.nodeid.endswith((f"::{screen.rule}", f"[{screen.rule}]")):
                self._named.update((name, rule) for rule in (screen.rule, *screen.breaks))

    def show(self, report: Report, internal_errors: Mapping[str, str]) -> None:
        """Print the report, below pytest's failures and above its own lines on them.

        Args:
            internal_errors: by their title, the tracebacks of the kit.
        """
        reporter: TerminalReporter = self._config.pluginmanager.getplugin("terminalreporter")
        verbosity = max(0, self._config.get_verbosity())
        if self._elsewhere and self._config.getoption("tbstyle") != "no" and verbosity > 0:
            reporter.section("tolerated")
            for title, text in self._elsewhere.items():
                reporter.write_sep("_", title, yellow=True, bold=True)
                write(writer_of(reporter), text)
        reporter.write_sep("=", "queue conformance")  # section() lets the line of the dots end below it
        for line in terminal.render(report, writer_of(reporter).fullwidth, verbosity, self._named):
            markup = {name: True for name in (line.colour, "bold" if line.bold else "") if name}
            reporter.write_line(line.text, **markup)
        if verbosity > 1:
            for title, traceback in internal_errors.items():
                reporter.section(title, sep="_")
                reporter.write_line(traceback)
