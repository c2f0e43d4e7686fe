"""Checks of persistence by a clean close, in the same process and in another one."""

from __future__ import annotations

from queue_conformance.engine.bench import Bench
from queue_conformance.engine.check import check
from queue_conformance.engine.scripts import lines_of
from queue_conformance.faults.backend import VARIABLE
from queue_conformance.running.processes import expect_in_another_process


@check("queue.persist.reopen")
def items_survive_reopening(play):
    play("push:0 push:1 push:2 reopen reopen push:3 reopen pop pop pop pop")
    play(" ".join(f"push:{number}" for number in range(40)) + " reopen")


@check("queue.persist.partial")
def what_was_popped_stays_popped(play):
    play("push:0 push:1 push:2 push:3 pop reopen pop reopen push:4 pop pop reopen pop")
    play("push:0 push:1 push:2 pop push:3 pop reopen pop pop reopen")


STORED = (1, 2, 3)


@check("queue.persist.new-process", presupposes="push:1 push:2 push:3 reopen")
def items_survive_into_another_process(bench, open_queue, item, rule):
    queue = open_queue()
    for number in STORED:
        queue.push(item(number))
    queue.close()
    expect_in_another_process(bench, rule, _lines_for_two_processes(bench), "the 3 items in another process")


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
