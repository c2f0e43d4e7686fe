"""``queue-conformance``, or ``python -m queue_conformance``: look up rules, and work with the reports of runs.

What tests an implementation is pytest: ``pytest --queue-class=my_package.MyQueue``.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TypeVar

from queue_conformance.campaign import add_options
from queue_conformance.config.values import UsageError, argument, seconds_of
from queue_conformance.measuring.command import add_options as add_measure_options
from queue_conformance.specification import Level, Rule, load
from queue_conformance.specification.kinds import all_kinds, all_profiles
from queue_conformance.specification.selection import UnknownRuleError, matching, select
from queue_conformance.specification.suggestion import did_you_mean
from queue_conformance.upgrades.command import COMMANDS as UPGRADES

# Rules are looked up often, so what looks them up imports nothing else; each command imports what it needs.
if TYPE_CHECKING:
    from queue_conformance.engine.verdicts import RuleVerdict
    from queue_conformance.reports import ImplementationReport, Report

PROGRAM = "queue-conformance"
WORSE = FAILED = 1
USAGE = 2
INTERRUPTED = 130
CLOSED_PIPE = 141
"""What a shell makes of a program that SIGPIPE ended."""

E = TypeVar("E", bound=str)


class CommandError(Exception):
    """A command cannot be done; the message is one line that says what to do."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what a command line says, that of the process by default; return the exit status."""
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115  (a shell may have closed it)
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # what was tested may have said what no encoding can hold
            stream.reconfigure(errors="backslashreplace")
    try:
        asked = _parser().parse_args(arguments)
        status: int = asked.run(asked)
        sys.stdout.flush()
    except CommandError as error:
        line = "\\n".join(str(error).splitlines())  # a file may have any name
        print(f"{PROGRAM}: {line}", file=sys.stderr)
        return USAGE
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes it once more at its end
        return CLOSED_PIPE
    except OSError as error:  # what concerns a file that was named is a CommandError
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        gone = not os.stat(os.curdir).st_nlink and "the directory in which this runs is gone: go to one that is there"
        print(f"{PROGRAM}: {gone or f'cannot write the output: {error.strerror}'}", file=sys.stderr)
        return USAGE
    except KeyboardInterrupt:
        return INTERRUPTED
    return status


# --- The command line ------------------------------------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        command = self.prog.removeprefix(PROGRAM).strip()
        said = message.removeprefix("argument ").replace("required: COMMAND", "required: a command")
        raise CommandError(f"{command}: {said} (see --help)".removeprefix(": "))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        PROGRAM,
        description="Look up the rules of pytest-queue-conformance, and work with the reports of its runs.",
        epilog="What tests a queue is pytest --queue-class=my_package.MyQueue",
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def add(name: str, run: Callable[[argparse.Namespace], int], text: str, more: str = "") -> argparse.ArgumentParser:
        command = commands.add_parser(
            name,
            help=text,
            description=f"{text[0].upper()}{text[1:]}. {more}".strip(),
            allow_abbrev=False,
        )
        command.set_defaults(run=run, command=name)
        return command

    command = add("rules", _rules, "list the rules")
    command.add_argument(
        "patterns", nargs="*", metavar="PATTERN", help="an id, its beginning, or a pattern such as 'queue.push.*'"
    )
    _choice(command, "--kind", all_kinds(), "only those asked of this kind of implementation")
    _choice(command, "--level", Level, "only those of this level")
    _choice(command, "--profile", all_profiles(), "only those of this profile")
    command.add_argument("--search", default="", metavar="TEXT", help="only those in which this text occurs")
    command.add_argument("--format", choices=("text", "json"), default="text", help="how to write them (default: text)")

    command = add("explain", _explain, "say all that is known of a rule")
    command.add_argument("patterns", nargs="+", metavar="RULE", help="an id, its beginning, or a pattern such as 'queue.push.*'")

    command = add(
        "compare",
        _compare,
        "say what changed from one report to another",
        "The exit status is 0 if nothing is worse, 1 if something is: a rule that passed before failed or was not tested, a "
        "lower verdict, a lost capability, an implementation that was not tested any more, a new error.",
    )
    command.add_argument("old", type=Path, metavar="OLD", help="a report of JSON lines")
    command.add_argument("new", type=Path, metavar="NEW", help="a later one")

    command = add("matrix", _matrix, "write one page that shows the implementations of several reports side by side")
    _reports(command)
    command.add_argument("-o", "--output", type=Path, metavar="FILE", help="the page (default: matrix.html)")

    command = add(
        "replay",
        _replay,
        "run the script of a failed rule again, to see whether it is still failing",
        "It runs in a fresh interpreter and a temporary directory, with the current directory on the path; what no run of yours "
        "on this machine has made is run only if you say so. "
        "The exit status is 1 if the rule is still failing, 0 if it is not, and 2 if that cannot be told: "
        "the script fails differently, or does not run.",
    )
    _failed_rule(command)
    command.add_argument(
        "--time-limit", type=argument(seconds_of), default=60.0, metavar="SECONDS", help="for one script (default: 60)"
    )
    command.add_argument(
        "--conformance-allow",
        action="append",
        default=[],
        metavar="HOST:PORT|PATH",
        help="what the script may connect to or change, besides the server that the report was made with",
    )
    command.add_argument("--print", action="store_true", dest="only_print", help="print the script instead of running it")
    command.add_argument("--yes", action="store_true", help="run it though no run of yours on this machine has made it")
    command.add_argument("--other", type=int, default=0, metavar="N", help="with --print: that of the Nth other cause")

    command = add(
        "issue",
        _issue,
        "write a failed rule as an issue in Markdown, ready to paste",
        "It says what is promised, what happens instead, and how to see it, to whoever wrote the class.",
    )
    _failed_rule(command)

    command = add(
        "report", _report, "write reports again in other forms", "Several reports become one; their runs must have been alike."
    )
    _reports(command)
    command.add_argument(
        "-o", "--output", type=Path, action="append", metavar="FILE", help="a file, whose ending says in which form; repeats"
    )
    command.add_argument("-v", "--verbose", action="store_true", help="without -o: also list the rules that pass")

    command = add(
        "campaign",
        _campaign,
        "test what pyproject.toml names with seed after seed, for hours",
        "Each finding is printed once. What is known is kept in a directory; started again, the campaign goes on from there. "
        "The exit status is 1 if something fails that the baseline does not know, 0 if nothing does.",
    )
    add_options(command)

    command = add(
        "measure",
        _of("measuring.command", "run"),
        "measure what classes cost as they grow",
        "Each size is measured in a fresh process, the classes in turn, until the time is over; Ctrl-C keeps what there is. "
        "Nothing passes or fails: what grows is said in a sentence.",
    )
    add_measure_options(command)

    for name, module, text, more, add_its_options in UPGRADES:
        add_its_options(add(name, _of(module, name), text, more))
    return parser


def _choice(command: argparse.ArgumentParser, name: str, names: Iterable[E], text: str) -> None:
    def convert(given: str) -> E:
        for member in names:
            if member.lower() == given.lower():
                return member
        raise ValueError(f"write one of {', '.join(names)}")

    command.add_argument(
        name, type=argument(convert), action="append", default=[], metavar=name.strip("-").upper(), help=f"{text}; repeats"
    )


def _failed_rule(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "report", type=Path, nargs="?", metavar="REPORT", help="a report of JSON lines (default: the last run in pytest's cache)"
    )
    command.add_argument("rule", metavar="RULE", help="the id of a rule that fails in it")
    command.add_argument("--implementation", metavar="NAME", help="only the one of this name (default: all that broke the rule)")


def _reports(command: argparse.ArgumentParser) -> None:
    command.add_argument("reports", type=Path, nargs="+", metavar="REPORT", help="a report of JSON lines")


# --- Rules -----------------------------------------------------------------------------------------------------------


def _rules(asked: argparse.Namespace) -> int:
    from queue_conformance.specification.explanation import as_data, as_list

    rules = select(_named(asked.patterns), asked.kind, asked.level, asked.profile, asked.search)
    if not rules:
        raise CommandError("no rule is like that; leave one of the conditions out")
    if asked.format == "json":
        print(json.dumps([as_data(rule) for rule in rules], indent=2, ensure_ascii=False))
    else:
        _print(as_list(rules, _width() if sys.stdout.isatty() else None))
    return 0


def _explain(asked: argparse.Namespace) -> int:
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


def _compare(asked: argparse.Namespace) -> int:
    from queue_conformance.reports import comparison

    old, new = _read_whole(asked.old), _read_whole(asked.new)
    for label, path, report in (("old", asked.old, old), ("new", asked.new, new)):
        origin = report.origin
        releases = [f"{name} {release}" for name, release in origin.releases.items()]
        about = [f"kit {origin.kit}", f"Python {origin.python}", *releases, f"seed {origin.seed}", f"{origin.examples} examples"]
        print(f"{label}  {path}  {origin.created}  {', '.join(about)}")
    found = comparison.compare(old, new)
    _print(comparison.render(found, _width()))
    return WORSE if found.worse else 0


def _matrix(asked: argparse.Namespace) -> int:
    from queue_conformance.reports import matrix

    output = asked.output or Path("matrix.html")
    _write(output, matrix.render([_read_whole(path) for path in asked.reports]))
    if not asked.output:
        print(f"{output} is written")
    return 0


def _report(asked: argparse.Namespace) -> int:
    from queue_conformance.reports import merging, terminal
    from queue_conformance.reports.files import RENDERERS, render

    for path in asked.output or ():
        if path.suffix not in RENDERERS:
            raise CommandError(f"report -o {path}: write the name of a file that ends in {' or '.join(RENDERERS)}")
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


def _replay(asked: argparse.Namespace) -> int:
    from queue_conformance.frontends.replaying import run_again
    from queue_conformance.reports.reading import visible
    from queue_conformance.running.replay import ReplayError, State

    path = _path_or_last("replay", asked.report)
    broke = _that_broke("replay", _read(path), asked.rule, asked.implementation)
    findings = {found.name: verdict.violation.findings for found, verdict in broke if verdict.violation}
    if asked.only_print:
        for name, shown in findings.items():
            if asked.other >= len(shown):
                raise CommandError(f"replay {asked.rule} ({name}): --other={asked.other}, of {len(shown) - 1}")
            print(visible(shown[asked.other].script) if sys.stdout.isatty() else shown[asked.other].script)
        return 0
    try:
        states = run_again(path, findings, asked.time_limit, asked.conformance_allow, agreed=asked.yes)
    except ReplayError as error:
        raise CommandError(f"replay {error}") from error
    if State.FAILED in states:
        return FAILED
    return USAGE if {State.UNKNOWN, State.OTHER}.intersection(states) else 0


def _issue(asked: argparse.Namespace) -> int:
    from queue_conformance.reports import issue

    report = _read(_path_or_last("issue", asked.report))
    for found, verdict in _that_broke("issue", report, asked.rule, asked.implementation):
        print(issue.render(found, verdict, report.origin))
    return 0


def _path_or_last(command: str, path: Path | None) -> Path:
    """Return a path, or where the report of the last run is."""
    from queue_conformance.running.replay import last

    if not (path := path or last()):
        raise CommandError(f"{command}: no run is in the cache here; name a report, which --conformance-report=FILE.jsonl writes")
    return path


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


def _campaign(asked: argparse.Namespace) -> int:
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


def _of(module: str, name: str) -> Callable[[argparse.Namespace], int]:
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
    return shutil.get_terminal_size((100, 24)).columns


if __name__ == "__main__":
    sys.exit(main())
