"""Checks of what a persistent asynchronous queue keeps: after a close, and in another process."""

from __future__ import annotations

from queue_conformance.engine.bench import Bench
from queue_conformance.engine.lockstep import run
from queue_conformance.engine.outcomes import NotExercised
from queue_conformance.engine.registry import check
from queue_conformance.engine.scripts import lines_of
from queue_conformance.faults.backend import VARIABLE
from queue_conformance.kinds.async_queue.common import ASYNC
from queue_conformance.running.processes import expect_in_another_process

STORED = (4, 8, 12)
"""Items of equal priority, in the order in which they are put."""

MANY = 20


@check("aqueue.close.keeps", kinds=ASYNC)
def close_keeps_the_requests(bench: Bench) -> None:
    rule = "aqueue.close.keeps"
    queue = bench.open()
    for number in range(MANY):
        queue.put(bench.driver.item(number))
    queue.close()
    queue = bench.open()
    size = queue.size()
    bench.expect(rule, size == MANY, f"{MANY} requests", size, f"size == {MANY}")


@check("aqueue.persist.reopen", kinds=ASYNC)
def requests_survive_reopening(bench: Bench) -> None:
    for text in (
        "put:0 put:0 put:0 reopen size reopen put:0 reopen get get get get",
        "put:0 put:0 get reopen put:0 get reopen get reopen size put:0",
    ):
        with bench.collecting():  # a queue without order keeps its requests all the same
            run(bench, text)
    with bench.collecting():
        _in_another_process(bench)
    with bench.collecting():
        run(bench, "put:0 put:1 put:2 put:3 reopen get get reopen put:1 get get get")


def _in_another_process(bench: Bench) -> None:
    rule, driver = "aqueue.persist.reopen", bench.driver
    bench.restart()
    queue = bench.open()
    for number in STORED:
        queue.put(driver.item(number))
    queue.close()
    lines = _lines_for_two_processes(bench)
    try:
        expect_in_another_process(bench, rule, lines, "the 3 requests in another process")
    except NotExercised as skipped:
        bench.notes.append(str(skipped))  # what was seen in this process counts


def _lines_for_two_processes(bench: Bench) -> list[str]:
    """Return the body of a script that writes in one process, and reads and compares in another one."""
    driver = bench.driver
    opening = bench.recorder.steps[0].source
    expected = ", ".join(driver.key_literal(driver.item(number)) for number in STORED)
    return [
        "if len(sys.argv) == 1:  # the first process",
        *(f"    {line}" for line in lines_of(bench.recorder.steps)),
        *([f"    os.environ[{VARIABLE!r}] = f'{{backend.host}}:{{backend.port}}'"] if bench.backend else []),
        "    sys.exit(subprocess.run([sys.executable, __file__, directory]).returncode)",
        "directory = sys.argv[1]",
        "print('ready', flush=True)",
        opening,
        f"left = drained(loop, queue, {len(STORED) + 1})",
        f"left = sorted({driver.key_source('item')} for item in left)",
        f"assert left == sorted([{expected}]), f'in another process: {{left}}'",
        "loop.run(queue.close())",
    ]
