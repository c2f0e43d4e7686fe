"""Checks of persistence by a clean close, in the same process and in another one."""

from __future__ import annotations

from queue_conformance.engine.lockstep import run
from queue_conformance.faults.backend import VARIABLE
from queue_conformance.implementations.scripts import lines_of
from queue_conformance.suites import check
from queue_conformance.suites.bench import Bench
from queue_conformance.suites.processes import expect_in_another_process


@check("queue.persist.reopen")
def items_survive_reopening(bench: Bench) -> None:
    run(bench, "push:0 push:1 push:2 reopen reopen push:3 reopen pop pop pop pop")
    run(bench, " ".join(f"push:{number}" for number in range(40)) + " reopen")


@check("queue.persist.partial")
def what_was_popped_stays_popped(bench: Bench) -> None:
    run(bench, "push:0 push:1 push:2 push:3 pop reopen pop reopen push:4 pop pop reopen pop")
    run(bench, "push:0 push:1 push:2 pop push:3 pop reopen pop pop reopen")


STORED = (1, 2, 3)


@check("queue.persist.new-process")
def items_survive_into_another_process(bench: Bench) -> None:
    run(bench, "push:1 push:2 push:3 reopen")
    rule = "queue.persist.new-process"
    bench.restart()
    queue = bench.open()
    for number in STORED:
        queue.push(bench.driver.item(number))
    queue.close()
    lines = _lines_for_two_processes(bench)
    expect_in_another_process(bench, rule, lines, "the 3 items in another process")


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
