"""Checks of persistence by a clean close, in the same process and in another one."""

from __future__ import annotations

import os
import subprocess
import sys

from queue_conformance.faults.backend import VARIABLE
from queue_conformance.implementations.scripts import lines_of
from queue_conformance.suites import check
from queue_conformance.suites.bench import Bench
from queue_conformance.suites.outcomes import NotExercised
from queue_conformance.suites.programs import program
from queue_conformance.suites.queues.pair import run


@check("queue.persist.reopen")
def items_survive_reopening(bench: Bench) -> None:
    run(bench, program("push:0 push:1 push:2 reopen reopen push:3 reopen pop pop pop pop"))
    run(bench, program(" ".join(f"push:{number}" for number in range(40)) + " reopen"))


@check("queue.persist.partial")
def what_was_popped_stays_popped(bench: Bench) -> None:
    run(bench, program("push:0 push:1 push:2 push:3 pop reopen pop reopen push:4 pop pop reopen pop"))
    run(bench, program("push:0 push:1 push:2 pop push:3 pop reopen pop pop reopen"))


PROCESS_LIMIT = 60.0
"""Seconds that another process may take to start, import, open and drain."""

STORED = (1, 2, 3)


@check("queue.persist.new-process")
def items_survive_into_another_process(bench: Bench) -> None:
    run(bench, program("push:1 push:2 push:3 reopen"))
    rule = "queue.persist.new-process"
    bench.restart()
    queue = bench.open()
    for number in STORED:
        queue.push(bench.driver.item(number))
    queue.close()
    lines = _lines_for_two_processes(bench)
    file = bench.directory / "reader.py"
    file.write_text(bench.driver.script(rule, lines), "utf-8")
    try:
        reader = subprocess.run(
            [sys.executable, str(file), str(bench.driver.directory)],
            env=os.environ | _server_of(bench) | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            capture_output=True,
            text=True,
            timeout=PROCESS_LIMIT,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        bench.fail(rule, "3 items in another process", f"no answer within {PROCESS_LIMIT:g} s", [], body=lines)
    said = reader.stderr.strip().splitlines()[-1:] or [f"exit status {reader.returncode}"]
    if "ready" not in reader.stdout:
        raise NotExercised(f"another process could not import the class: {said[0]}")
    bench.examined[rule] += 1
    if reader.returncode:
        bench.fail(rule, "the 3 items in another process", said[0], [], body=lines)


def _server_of(bench: Bench) -> dict[str, str]:
    """Return what another process needs in its environment to use the same server."""
    return {VARIABLE: f"{bench.backend.host}:{bench.backend.port}"} if bench.backend else {}


def _lines_for_two_processes(bench: Bench) -> list[str]:
    """Return the body of a script that writes in one process, and reads and compares in another one."""
    driver = bench.driver
    opening = bench.recorder.steps[0].source
    key = driver.key_source("item")
    expected = ", ".join(driver.key_literal(driver.item(number)) for number in STORED)
    return [
        "if len(sys.argv) == 1:  # the first process",
        *(f"    {line}" for line in lines_of(bench.recorder.steps)),
        *([f"    os.environ[{VARIABLE!r}] = f'{{backend.host}}:{{backend.port}}'"] if bench.backend else []),
        "    sys.exit(subprocess.run([sys.executable, __file__, directory]).returncode)",
        "directory = sys.argv[1]",
        "print('ready', flush=True)",
        opening,
        f"left = [queue.pop() for _ in range({len(STORED) + 1})]",
        f"left = sorted({key} for item in left if item is not None)",
        f"assert left == sorted([{expected}]), f'in another process: {{left}}'",
        "queue.close()",
    ]
