"""What each command of ``queue-conformance`` does; the module of the command line says how it is called."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from queue_conformance.config.values import UsageError, expect_place
from queue_conformance.specification import Rule, load
from queue_conformance.specification.selection import UnknownRuleError, matching, select
from queue_conformance.specification.suggestion import did_you_mean

# Rules are looked up often, so what looks them up imports nothing else; each command imports what it needs.
if TYPE_CHECKING:
    from queue_conformance.engine.verdicts import RuleVerdict
    from queue_conformance.reports import ImplementationReport, Report

PROGRAM = "queue-conformance"
WORSE = FAILED = 1
USAGE = 2


class CommandError(Exception):
    """A command cannot be done; the message is one line that says what to do."""


# --- Rules -----------------------------------------------------------------------------------------------------------


def run_rules(asked: argparse.Namespace) -> int:
    """List rules."""

    from queue_conformance.specification.explanation import as_data, as_list

    rules = select(_named(asked.patterns), asked.kind, asked.level, asked.profile, asked.search)
    if not rules:
        raise CommandError("no rule is like that; leave one of the conditions out")
    if asked.format == "json":
        print(json.dumps([as_data(rule) for rule in rules], indent=2, ensure_ascii=False))
    else:
        _print(as_list(rules, _width() if sys.stdout.isatty() else None))
    return 0


def run_explain(asked: argparse.Namespace) -> int:
    """Say all that is known of rules."""

    from queue_conformance.specification.explanation import explain

    for index, rule in enumerate(_named(asked.patterns)):
        _print([*([""] if index else []), *explain(rule, min(_width(), 100))])
    return 0


def _named(patterns: Sequence[str]) -> list[Rule]:
    try:
        return matching(load(), patterns or ["*"])
    except UnknownRuleError as error:
        raise CommandError(f"{error} ({PROGRAM} rules lists all)") from error


# --- Reports ---------------------------------------------------------------------------------------------------------


def run_compare(asked: argparse.Namespace) -> int:
    """Say what changed from one report, or one measurement, to another."""

    from queue_conformance.measuring import comparison as measured
    from queue_conformance.reports import comparison
    from queue_conformance.reports.reading import visible

    try:
        costs = [measured.read(path) for path in (asked.old, asked.new)]
    except OSError:  # which is said below
        costs = [None, None]
    if costs[0] and costs[1]:
        _print(map(visible, measured.render(costs[0], costs[1])))
        return 0
    old, new = _read_whole(asked.old), _read_whole(asked.new)
    for label, path, report in (("old", asked.old, old), ("new", asked.new, new)):
        origin = report.origin
        releases = [f"{name} {release}" for name, release in origin.releases.items()]
        about = [f"kit {origin.kit}", f"Python {origin.python}", *releases, f"seed {origin.seed}", f"{origin.examples} examples"]
        print(f"{label}  {path}  {origin.created}")
        _print(textwrap.wrap(", ".join(about), _width(), initial_indent=" " * 5, subsequent_indent=" " * 5))
    found = comparison.compare(old, new)
    _print(comparison.render(found, _width()))
    return WORSE if found.worse else 0


def run_matrix(asked: argparse.Namespace) -> int:
    """Write one page of several reports."""

    from queue_conformance.reports import matrix

    output = asked.output or Path("matrix.html")
    if output.suffix not in ("", ".html"):
        raise CommandError(f"matrix: --output: write the name of a file that ends in .html, not {str(output)!r}")
    _expect_place("matrix", output)
    _write(output, matrix.render([_read_whole(path) for path in asked.reports]))
    if not asked.output:
        print(f"{output} is written")
    return 0


def run_report(asked: argparse.Namespace) -> int:
    """Write reports again in other forms."""

    from queue_conformance.reports import merging, terminal
    from queue_conformance.reports.files import RENDERERS, render

    for path in asked.output or ():
        if path.suffix not in RENDERERS:
            raise CommandError(f"report -o {path}: write the name of a file that ends in {', '.join(RENDERERS)}")
        _expect_place("report", path)
    try:
        read = _read if len(asked.reports) == 1 else _read_whole
        report = merging.merge([read(path) for path in asked.reports])
    except merging.MergeError as error:
        raise CommandError(f"report: {error}") from error
    for path in asked.output or ():
        _write(path, render(report, path))
    if not asked.output:
        _print(line.text for line in terminal.render(report, _width(), 2 * asked.verbose))
    return 0


def run_replay(asked: argparse.Namespace) -> int:
    """Run the script of a failed rule again."""

    from queue_conformance.frontends.replaying import run_again
    from queue_conformance.reports.reading import visible
    from queue_conformance.running.replay import ReplayError, State

    path, rule = _report_and_rule("replay", asked)
    broke = _that_broke("replay", _read(path), rule, asked.implementation)
    findings = {found.name: verdict.violation.findings for found, verdict in broke if verdict.violation}
    if asked.only_print:
        for name, shown in findings.items():
            if asked.other >= len(shown):
                raise CommandError(
                    f"replay: --other: write a whole number from 0 to {len(shown) - 1} for {name}, not {asked.other}"
                )
            print(visible(shown[asked.other].script) if sys.stdout.isatty() else shown[asked.other].script)
        return 0
    if asked.other:
        raise CommandError("replay: --other says which script --print prints; give --print with it, or leave it out")
    try:
        states = run_again(path, findings, asked.time_limit, asked.conformance_allow, agreed=asked.yes)
    except ReplayError as error:
        raise CommandError(f"replay {error}") from error
    if State.FAILED in states:
        return FAILED
    return USAGE if {State.UNKNOWN, State.OTHER, State.WRONG}.intersection(states) else 0


def run_issue(asked: argparse.Namespace) -> int:
    """Write a failed rule as an issue."""

    from queue_conformance.reports import issue

    path, rule = _report_and_rule("issue", asked)
    report = _read(path)
    for found, verdict in _that_broke("issue", report, rule, asked.implementation):
        print(issue.render(found, verdict, report.origin))
    return 0


def _report_and_rule(command: str, asked: argparse.Namespace) -> tuple[Path, str]:
    """Return where a report is, or that of the last run, and a rule, in whichever order they are written."""
    from queue_conformance.running.replay import last

    path, rule = asked.report, asked.rule
    if Path(rule).is_file():
        if path is None:
            raise CommandError(f"{command}: {rule} is a file; name the rule behind it, as {PROGRAM} {command} {rule} RULE")
        path, rule = Path(rule), str(path)
    if not (path := path or last()):
        raise CommandError(f"{command}: no run is in the cache here; name a report, which --conformance-report=FILE.jsonl writes")
    return path, rule


def _that_broke(command: str, report: Report, rule: str, name: str | None) -> list[tuple[ImplementationReport, RuleVerdict]]:
    """Return the implementations that broke a rule, or the one of them that has a name, with the verdict on it."""
    tested = {found.name: found for found in report.implementations}
    if name is not None and name not in tested:
        raise CommandError(f"{command}: the report has no implementation {name!r}{did_you_mean(name, tested)}")
    chosen = [found for found in tested.values() if name in (None, found.name)]
    verdicts = {v.rule.id: v.verdict for found in chosen for v in found.verdicts}
    broke = [(found, v) for found in chosen for v in found.verdicts if v.rule.id == rule and v.violation]
    if rule not in verdicts:
        raise CommandError(f"{command}: the report has no rule {rule!r}{did_you_mean(rule, verdicts, most=3)}")
    if not broke:
        raise CommandError(
            f"{command}: {rule} is not failing in the report but {verdicts[rule]}; there is nothing to {_VERBS[command]}"
        )
    return broke


_VERBS = {"replay": "replay", "issue": "report"}


def run_campaign(asked: argparse.Namespace) -> int:
    """Test what pyproject.toml names, seed after seed."""

    from queue_conformance import campaign

    try:
        return campaign.run(
            seconds=asked.hours * 3600 if asked.hours else asked.minutes * 60,
            directory=Path(asked.directory),
            names=tuple(asked.only),
            workers=asked.workers,
            cluster=asked.cluster,
            update_baseline=asked.update_baseline,
        )
    except campaign.CampaignError as error:
        raise CommandError(f"campaign: {error}") from error


def command_of(module: str, name: str) -> Callable[[argparse.Namespace], int]:
    """Return the function of a module that does a command; the module is imported when it is called."""

    def run(asked: argparse.Namespace) -> int:
        try:
            status: int = getattr(import_module(f"{__package__}.{module}"), name)(asked)
        except UsageError as error:
            raise CommandError(f"{asked.command}: {error}") from error
        return status

    return run


# --- What they share -------------------------------------------------------------------------------------------------


def _read(path: Path) -> Report:
    from queue_conformance.reports import jsonl

    try:
        return jsonl.read(path)
    except jsonl.ReportError as error:
        raise CommandError(str(error)) from error


def _read_whole(path: Path) -> Report:
    """Return a report of a run that was not interrupted."""
    report = _read(path)
    if report.interrupted:
        raise CommandError(f"{path}: the run that wrote it was interrupted, so it is not whole: run again")
    return report


def _expect_place(command: str, path: Path) -> None:
    try:
        expect_place(f"{command}: --output", str(path), path)
    except UsageError as error:
        raise CommandError(str(error)) from error


def _write(path: Path, text: str) -> None:
    from queue_conformance.reports.files import write_text

    try:
        write_text(text, path)
    except OSError as error:
        raise CommandError(f"cannot write {path}: {error.strerror}") from error


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        print(line)


def _width() -> int:
    return shutil.get_terminal_size().columns
