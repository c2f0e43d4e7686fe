"""Run the script of a failed rule again, to see whether the rule is still failing."""

from __future__ import annotations

import ast
import os
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from queue_conformance.engine.kept_store import FROM
from queue_conformance.engine.outcomes import WAITS, Violation, operation_of
from queue_conformance.guard import Guard
from queue_conformance.processes import isolation
from queue_conformance.processes.endings import signal_name
from queue_conformance.processes.process import run_script
from queue_conformance.secrets import HIDDEN, Secrets, needed

SCRIPT = "script.py"

REPLAY = "queue-conformance replay"

LAST = Path(".pytest_cache", "d", "queue-conformance-run", "last.jsonl")
"""Where pytest's cache keeps the report of the last run."""


def last() -> Path | None:
    """Return the report of the last run of pytest here, or in a directory above, if its cache has one."""
    here = Path.cwd()
    return next((found for above in (here, *here.parents) if (found := above / LAST).is_file()), None)


class ReplayError(Exception):
    """A script cannot be run again; the message is one line that says what to do."""


class State(Enum):
    """What a replay shows."""

    FAILED = "still failing"
    OTHER = "fails differently"
    PASSED = "not failing any more"
    UNKNOWN = "could not be replayed"
    WRONG = "an internal error"


@dataclass(frozen=True, slots=True)
class Replay:
    """The result of running a script again.

    Attributes:
        state: what it shows.
        why: how the script ended, short.
        output: what it printed.
    """

    state: State
    why: str
    output: str


def replay(violation: Violation, time_limit: float = 60.0, allow: Sequence[str] = ()) -> Replay:
    """Run a script again: in a fresh interpreter, in a directory of its own, with the current directory on its path.

    Args:
        time_limit: seconds that the script may take.
        allow: what it may connect to or change besides the servers that the report was made with.

    Raises:
        ReplayError: if a secret is hidden in it, or read from the environment, and not there; or if it is refused something.
    """
    names = needed(violation.script)
    if missing := [name for name in names if name not in os.environ]:
        raise ReplayError(f"its script reads what the report hides from the environment; set {', '.join(missing)} there")
    if HIDDEN in violation.script:
        raise ReplayError(
            f"its script holds {HIDDEN} where a secret was; print it with --print, put the secret in, and run it with python"
        )
    path = [os.getcwd(), *map(os.path.abspath, filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)))]
    with tempfile.TemporaryDirectory(prefix="queue-conformance-replay-") as directory:
        file, work = Path(directory, SCRIPT), Path(directory, "work")
        told = telling(violation.script)
        file.write_text(told, "utf-8")
        work.mkdir()
        guard = Guard(Path(directory), allow)
        ended = isolation.run(
            lambda watchdog: run_script(file, path=path, directory=work, time_limit=time_limit, environment={FROM: path[0]}),
            time_limit=time_limit,
            guard=guard,
        )
        if refusal := guard.refusal:
            raise ReplayError(f"its script {refusal.told({})}")
        assert isinstance(ended, isolation.Answer)
        status, output = ended.value
    output = _as_written(output, told, violation.script)
    output = Secrets({name: os.environ[name] for name in names}).text(output) if names else output
    if status is None:
        hangs = _HANG in violation.script
        return Replay(State.FAILED if hangs else State.OTHER, f"the script did not end within {time_limit:g} s", output)
    state, why = judge(violation, status, output)
    return Replay(state, why, output)


_OPERATOR = re.compile(rb" ([=!<>]=|[<>]|(not )?in|is( not)?) ")


def telling(script: str) -> str:
    """Return a script whose failing comparisons tell both of their values; no line moves."""
    lines = script.split("\n")
    try:
        found = [node for node in ast.walk(ast.parse(script)) if isinstance(node, ast.Assert)]
    except SyntaxError:  # which whoever runs it is told
        return script
    for test in (node.test for node in found if not node.msg and node.lineno == node.end_lineno):
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            line = lines[test.lineno - 1].encode()  # columns are those of its bytes
            left, right = test.left, test.comparators[0]
            begin, end = left.end_col_offset, right.end_col_offset
            operator, rest = line[begin : right.col_offset], line[end:]
            if _OPERATOR.fullmatch(operator) and not rest.partition(b"#")[0].strip():
                values = b'f"{_left!r}%b{_right!r}"' % operator
                sides = line[left.col_offset : begin], operator, line[right.col_offset : end]
                told = b"%b(_left := %b)%b(_right := %b), %b%b" % (line[: left.col_offset], *sides, values, rest)
                lines[test.lineno - 1] = told.decode()
    return "\n".join(lines)


def _as_written(output: str, told: str, script: str) -> str:
    """Return an output in which tracebacks have the lines of a script as they were before :func:`telling`."""
    for one, other in zip(told.split("\n"), script.split("\n"), strict=True):
        if one != other:  # and marks below it would point to other columns
            output = re.sub(
                rf"{re.escape(one.strip())}(\n[ ^~]+$)?", other.strip().replace("\\", r"\\"), output, flags=re.MULTILINE
            )
    return output


_HANG = "faulthandler.dump_traceback_later("
"""What is in the scripts of hangs."""


def judge(violation: Violation, status: int, output: str) -> tuple[State, str]:
    """Tell from how a script ended whether it shows what it was written for, and say how it ended.

    Args:
        status: the exit status, or the negative number of a signal.
        output: what it printed, to both streams.
    """
    if status == 0:
        return State.PASSED, "the script ended without an error"
    if hung := re.search(r"Timeout \(\S+\)!$", output, re.MULTILINE):
        return State.FAILED if _HANG in violation.script else State.OTHER, f"it hangs: {hung[0]}"
    evidence = f"{violation.cause}\n{violation.actual}"
    if status < 0:
        name = signal_name(-status)
        return State.FAILED if name in evidence else State.OTHER, f"the script was ended by {name}"
    told = _raised(output)
    raised, frames = next((one for one in reversed(told) if _in_script(one[1])), told[-1] if told else ("", []))
    name = _name(raised)
    if name in ("ImportError", "ModuleNotFoundError") and name not in evidence:
        return State.UNKNOWN, f"{raised}; run this where it can be imported"
    if not raised:
        return State.OTHER, f"the script ended with status {status}"
    in_script, of_wrong = bool(_in_script(frames[-1:])), name in _OF_WRONG_SCRIPTS
    asserted = (name == "AssertionError" and in_script) or (not of_wrong and _compares(violation, frames))
    if asserted or any(_is_meant(violation, _name(error), where) for error, where in told):
        return State.FAILED, raised
    if of_wrong and in_script:
        return State.WRONG, f"{raised} in its script"
    return State.OTHER, f"{raised}; what was reported is: {violation.actual}"


_OF_WRONG_SCRIPTS = ("NameError", "SyntaxError", "IndentationError", "TabError")
"""What nobody but the kit is to blame for, where a line of the script itself raises it."""


def _name(raised: str) -> str:
    return raised.partition(":")[0].rpartition(".")[2]


def _is_meant(violation: Violation, name: str, frames: Sequence[tuple[str, int]]) -> bool:
    """Whether an exception of this name is what was reported, raised by the operation that raised it then."""
    operation, raises, reported = violation.cause.partition(" raised ")
    if violation.cause.endswith(f" {WAITS}"):
        return name == "NeverReturns"
    if not raises:
        return re.search(rf"\b{re.escape(name)}\b", violation.actual) is not None
    lines = violation.script.split("\n")
    called = [lines[number - 1] for number in _in_script(frames) if number <= len(lines)]
    given = re.compile(rf"\b{re.escape(operation)}[(,)]")  # called, or given to what calls it: iter(queue.pop, None)
    # A function of the kit calls it, or is written out where it is called.
    call = violation.actual.partition(" raised by ")[2]
    written_out = not re.match(r"\w+\.", call) and not given.search(violation.script)
    says_itself = not call and reported == "AssertionError"  # what a function of the kit found, in its own words
    anywhere = operation == "the check" or written_out or says_itself or operation_of(call) not in ("", operation)
    return name == reported and (anywhere or any(map(given.search, called)))


def _compares(violation: Violation, frames: Sequence[tuple[str, int]]) -> bool:
    """Whether an exception ended what the script does with a result that was reported: it has not even what is compared."""
    lines = violation.script.rstrip().split("\n")
    return " raised " not in violation.cause and any(
        number == len(lines) or lines[number - 1].lstrip().startswith("assert ")
        for number in _in_script(frames)[-1:]
        if number <= len(lines)
    )


def _in_script(frames: Sequence[tuple[str, int]]) -> list[int]:
    """Return the numbers of the lines of the script itself."""
    return [number for file, number in frames if os.path.basename(file) == SCRIPT]


_TRACEBACK = re.compile(r"^(?!\s*\|).*(?<!Group )Traceback \(most recent call last\):\n((?:[ \t].*\n|\n)*)(\S.*)$", re.MULTILINE)
_SYNTAX = re.compile(r"^((?:  .*\n)+)(\w+Error: .*)$", re.MULTILINE)
"""What the interpreter prints where no line of a script is run at all."""

_GROUP = re.compile(r"  \+ Exception Group Traceback .*\n((?:  \|  .*\n)*)  \| (\S.*)$", re.MULTILINE)


def _raised(output: str) -> list[tuple[str, list[tuple[str, int]]]]:
    """Return each exception in an output, those of other processes and of the end of the interpreter too.

    Of each the first line, and the files and lines of its traceback, which may begin where another line was not ended.
    """
    found = next(filter(None, (list(form.finditer(output)) for form in (_TRACEBACK, _GROUP, _SYNTAX))), [])
    return [
        (
            one[2].strip(),
            [(file, int(line)) for file, line in re.findall(r'^[ |]*File "([^"]*)", line (\d+)', one[1], re.MULTILINE)],
        )
        for one in found
    ]
