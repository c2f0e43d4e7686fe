"""What one process stores, read by another one."""

from __future__ import annotations

import ast
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from queue_conformance.engine.case import Case, fixture
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.difference import ANOTHER
from queue_conformance.engine.instrument import assertion
from queue_conformance.engine.outcomes import NotCovered
from queue_conformance.engine.record import Record
from queue_conformance.engine.scripts import lines_of
from queue_conformance.engine.sources import Sources
from queue_conformance.engine.writing import Frame, Writer
from queue_conformance.faults.backend import VARIABLE
from queue_conformance.processes.process import run_script

READY = "ready"
"""What the other process says before each part of what it compares, and behind it: closing nothing, it may fail as it exits."""

SAY_READY = f"print({READY!r}, flush=True)"

_WEST = time.localtime().tm_gmtoff <= 0

SURROUNDINGS = {"PYTHONHASHSEED": "random", "TZ": f"XXX{'-' if _WEST else ''}23:59:59"}
"""What is otherwise there: strings have other hashes, and the local time is a day away, so that it is another day."""

PROCESS_LIMIT = 60.0
"""Seconds that another process may take to start, import, open and read."""


def expect_in_another_process(
    context: CheckContext, parts: Sequence[tuple[str, str]], lines: Sequence[str], *arguments: str
) -> None:
    """Test rules by running the second half of a script in a new process, where hashes and time zone differ.

    Args:
        parts: the rules, each with what it expects, short.
        lines: the body of the script. With arguments, it says ``ready`` once it has imported the class, and then only reads
            and compares what is below the directory that its first argument names; it says so again between two parts.

    Raises:
        RuleFailed: if it finds something else, or does not end.
        NotCovered: if it cannot import the class, or does not know how it is built.
    """
    if missing := context.driver.missing:
        raise NotCovered(f"another process cannot import {', '.join(missing)}")
    file = context.directory / "reader.py"
    file.write_text(context.driver.script(parts[0][0], lines), "utf-8")
    server = {VARIABLE: f"{context.backend.host}:{context.backend.port}"} if context.backend else {}
    environment = {**server, **SURROUNDINGS}
    path = [folder for folder in sys.path if folder]
    given = (str(context.driver.directory), *arguments)
    status, said = run_script(file, *given, path=path, directory=Path.cwd(), time_limit=PROCESS_LIMIT, environment=environment)
    begun = [line == READY for line in said.splitlines()].count(True)
    rule, expected = parts[min(max(begun, 1), len(parts)) - 1]
    if status is None:
        context.fail(rule, expected, f"no answer within {PROCESS_LIMIT:g} s", write=lambda: lines)
    said = said.replace(f"{context.driver.directory}/", "")  # which is another one in each run
    told = [line for line in said.strip().splitlines() if line != READY] or [f"exit status {status}"]
    if not begun:
        raise NotCovered(f"another process could not import the class: {told[-1]}")
    context.covered.update(asked for asked, _ in parts[:begun])
    if status and begun <= len(parts):
        name, said = told[-1].partition(": ")[::2]
        if name == "AssertionError":
            actual, how = said, f"{ANOTHER} {said.partition(': ')[0]}" if ": " in said else ""
        else:
            actual, how = told[-1], ""  # the script raises something else: that its other process has failed
        context.fail(rule, expected, actual, write=lambda: lines, difference=how)


def in_two_processes(
    context: CheckContext, stores: Iterable[str], prepares: Iterable[str], reads: Iterable[str], *names: str
) -> list[str]:
    """Return the body of a script that runs itself again in another process, where hashes and time zone differ.

    Args:
        stores: lines of the first process.
        prepares: those that come first in the other one; where these fail, it is not the class that fails.
        reads: those that follow.
        names: what the other one is told besides ``directory``.
    """
    told = ", ".join(("directory", *names))
    return [
        "if len(sys.argv) == 1:  # the first process",
        *(f"    {line}" for line in stores),
        *([f"    os.environ[{VARIABLE!r}] = f'{{backend.host}}:{{backend.port}}'"] if context.backend else []),
        f"    command = [sys.executable, __file__, {told}]",
        f"    sys.exit(subprocess.run(command, env={{**os.environ, **{SURROUNDINGS}}}).returncode)",
        f"{told} = sys.argv[1{':' * bool(names)}]",
        *prepares,
        SAY_READY,
        *reads,
        SAY_READY,
    ]


def reading(context: CheckContext, read: Callable[..., object], kept: object) -> list[str]:
    """Return the lines of a script that read what is kept, and compare."""
    _, source = assertion(read)
    said = source.statements[0]
    assert isinstance(said, ast.Assert)
    frame = Frame(Record(context.recorder, Sources(str(context.driver.directory))), said, source, {}, 0, 0)
    left = Writer(read.__code__.co_varnames[: read.__code__.co_argcount]).expression(frame, said.test)
    return [f"left = {left}", f"assert left == {kept!r}, f'in another process: {{left}}'"]


@fixture
def expect_kept_for_another_process(case: Case) -> Callable[..., None]:
    """``expect_kept_for_another_process(lambda queue: len(queue), 3, "3 items")``: that is kept where a new process reads it."""
    return partial(_expect_kept, case.context, case.own)


def _expect_kept(
    context: CheckContext,
    rule: str,
    read: Callable[..., object],
    kept: object,
    expected: str,
    before: Sequence[str] = (),
    **options: Any,
) -> None:
    """Test a rule by building in a new process, too, what the first step here built.

    Args:
        read: a lambda of what was built that is run there: what it keeps.
        kept: what that must be.
        expected: the same, short.
        before: lines that come first there; where these fail, it is not the class that fails.
        options: what it is built with there, by name, if that differs from the first step.

    Raises:
        RuleFailed: if something else is kept, or the process does not end.
        NotCovered: if it cannot import the class, or does not know how it is built.
    """
    steps = context.recorder.steps
    opening = steps[0].source
    if options:
        opening = f"{read.__code__.co_varnames[0]} = {context.driver.construction('0', **options)[0]}"
    prepares = [*before, *(f"{option} = {value!r}" for option, value in options.items())]
    lines = in_two_processes(context, lines_of(steps), prepares, [opening, *reading(context, read, kept)])
    expect_in_another_process(context, [(rule, expected)], lines)
