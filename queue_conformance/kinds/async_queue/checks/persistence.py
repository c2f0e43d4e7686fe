"""Checks of what a persistent asynchronous queue keeps: after a close, and in another process."""

from __future__ import annotations

from queue_conformance.engine.bench import Bench
from queue_conformance.engine.check import check
from queue_conformance.engine.scripts import lines_of
from queue_conformance.faults.backend import VARIABLE
from queue_conformance.kinds.async_queue.common import ASYNC
from queue_conformance.running.processes import expect_in_another_process

STORED = (4, 8, 12)
"""Items of equal priority, in the order in which they are put."""

MANY = 20


@check("aqueue.close.keeps", kinds=ASYNC)
def close_keeps_the_requests(open_async_queue, put, loop):
    queue = open_async_queue()
    for number in range(MANY):
        put(queue, number)
    loop.run(queue.close())
    queue = open_async_queue()
    assert loop.run(queue.size()) == MANY


@check(
    "aqueue.persist.reopen",
    kinds=ASYNC,
    sequence=(
        "put:0 put:0 put:0 reopen size reopen put:0 reopen get get get get",
        "put:0 put:0 get reopen put:0 get reopen get reopen size put:0",
        "put:0 put:1 put:2 put:3 reopen get get reopen put:1 get get get",
    ),
)
def requests_survive_reopening(play, sequence):
    play(sequence)


@check("aqueue.persist.reopen", kinds=ASYNC, name="reopen.new-process")
def requests_survive_in_another_process(bench, open_async_queue, put, loop, rule):
    queue = open_async_queue()
    for number in STORED:
        put(queue, number)
    loop.run(queue.close())
    expect_in_another_process(bench, rule, _lines_for_two_processes(bench), "the 3 requests in another process")


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
