"""``queue-conformance``, or ``python -m queue_conformance``: look up rules, and work with the reports of runs.

What tests an implementation is pytest: ``pytest --queue-class=my_package.MyQueue``.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import NoReturn, TypeVar

from queue_conformance import commands
from queue_conformance.campaign import add_options
from queue_conformance.commands import PROGRAM, USAGE, CommandError
from queue_conformance.config.values import argument, file, natural, seconds_of, touched
from queue_conformance.measuring.command import add_options as add_measure_options
from queue_conformance.specification import Level
from queue_conformance.specification.kinds import all_kinds, all_profiles
from queue_conformance.upgrades.command import COMMANDS as UPGRADES

INTERRUPTED = 130
CLOSED_PIPE = 141
"""What a shell makes of a program that SIGPIPE ended."""

_PATH = argument(lambda text: Path(file(text)))
E = TypeVar("E", bound=str)
AddOptions = Callable[[argparse.ArgumentParser], object]
Command = tuple[str, Callable[[argparse.Namespace], int], str, str, AddOptions]
"""Its name, what runs it, what it does, what there is to say of that, and what adds its options."""


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
        from queue_conformance.reports.terminal import for_stream

        line = "\\n".join(str(error).splitlines())  # a file may have any name
        print(for_stream(f"{PROGRAM}: {line}", sys.stderr), file=sys.stderr)
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
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, run, text, more, add_its_options in COMMANDS:
        description = f"{text[0].upper()}{text[1:]}. {more}".strip()
        command = subparsers.add_parser(name, help=text, description=description, allow_abbrev=False)
        command.set_defaults(run=run, command=name)
        add_its_options(command)
    return parser


def _rules_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "patterns", nargs="*", metavar="PATTERN", help="an id, its beginning, or a pattern such as 'queue.push.*'"
    )
    _choice(command, "--kind", all_kinds(), "only those asked of this kind of implementation")
    _choice(command, "--level", Level, "only those of this level")
    _choice(command, "--profile", all_profiles(), "only those of this profile")
    command.add_argument("--search", default="", metavar="TEXT", help="only those in which this text occurs")
    command.add_argument("--format", choices=("text", "json"), default="text", help="how to write them (default: text)")


def _explain_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("patterns", nargs="+", metavar="RULE", help="an id, its beginning, or a pattern such as 'queue.push.*'")


def _compare_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("old", type=_PATH, metavar="OLD", help="a report of JSON lines")
    command.add_argument("new", type=_PATH, metavar="NEW", help="a later one")


def _matrix_options(command: argparse.ArgumentParser) -> None:
    _reports(command)
    command.add_argument("-o", "--output", type=_PATH, metavar="FILE", help="the page (default: matrix.html)")


def _replay_options(command: argparse.ArgumentParser) -> None:
    _failed_rule(command)
    command.add_argument(
        "--time-limit", type=argument(seconds_of), default=60.0, metavar="SECONDS", help="for one script (default: 60)"
    )
    command.add_argument(
        "--conformance-allow",
        type=argument(touched),
        action="append",
        default=[],
        metavar="HOST:PORT|PATH",
        help="what the script may connect to or change, besides the server that the report was made with",
    )
    command.add_argument("--print", action="store_true", dest="only_print", help="print the script instead of running it")
    command.add_argument("--yes", action="store_true", help="run it though no run of yours on this machine has made it")
    command.add_argument(
        "--other", type=argument(natural), default=0, metavar="N", help="with --print: that of the Nth other cause"
    )


def _report_options(command: argparse.ArgumentParser) -> None:
    _reports(command)
    command.add_argument(
        "-o", "--output", type=_PATH, action="append", metavar="FILE", help="a file, whose ending says in which form; repeats"
    )
    command.add_argument("-v", "--verbose", action="store_true", help="without -o: also list the rules that pass")


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
        "report", type=_PATH, nargs="?", metavar="REPORT", help="a report of JSON lines (default: the last run in pytest's cache)"
    )
    command.add_argument("rule", metavar="RULE", help="the id of a rule that fails in it")
    command.add_argument("--implementation", metavar="NAME", help="only the one of this name (default: all that broke the rule)")


def _reports(command: argparse.ArgumentParser) -> None:
    command.add_argument("reports", type=_PATH, nargs="+", metavar="REPORT", help="a report of JSON lines")


COMMANDS: tuple[Command, ...] = (
    ("rules", commands.run_rules, "list the rules", "", _rules_options),
    ("explain", commands.run_explain, "say all that is known of a rule", "", _explain_options),
    (
        "compare",
        commands.run_compare,
        "say what changed from one report to another",
        "The exit status is 0 if nothing is worse, 1 if something is: a rule that passed before failed or was not tested, a "
        "lower verdict, a lost capability, an implementation that was not tested any more, a new error. Two files "
        "of measurements are compared, too, and nothing of them is worse.",
        _compare_options,
    ),
    (
        "matrix",
        commands.run_matrix,
        "write one page that shows the implementations of several reports side by side",
        "",
        _matrix_options,
    ),
    (
        "replay",
        commands.run_replay,
        "run the script of a failed rule again, to see whether it is still failing",
        "It runs in a fresh interpreter and a temporary directory, with the current directory on the path; what no run of yours "
        "on this machine has made is run only if you say so. "
        "The exit status is 1 if the rule is still failing, 0 if it is not, and 2 if that cannot be told: "
        "the script fails differently, or does not run.",
        _replay_options,
    ),
    (
        "issue",
        commands.run_issue,
        "write a failed rule as an issue in Markdown, ready to paste",
        "It says what is promised, what happens instead, and how to see it, to whoever wrote the class.",
        _failed_rule,
    ),
    (
        "report",
        commands.run_report,
        "write reports again in other forms",
        "Several reports become one; their runs must have been alike.",
        _report_options,
    ),
    (
        "campaign",
        commands.run_campaign,
        "test what pyproject.toml names with seed after seed, for hours",
        "Each finding is printed once. What is known is kept in a directory; started again, the campaign goes on from there. "
        "The exit status is 1 if something fails that the baseline does not know, 2 if something could not be tested, or else 0.",
        add_options,
    ),
    (
        "measure",
        commands.command_of("measuring.command", "run"),
        "measure what classes cost as they grow",
        "Each size is measured in a fresh process, the classes in turn, until the time is over; Ctrl-C keeps what there is. "
        "Nothing passes or fails: what grows is said in a sentence.",
        add_measure_options,
    ),
    *((name, commands.command_of(module, name), text, more, add) for name, module, text, more, add in UPGRADES),
)


if __name__ == "__main__":
    sys.exit(main())
