"""Checks of what a persistent asynchronous queue keeps: after a close, in another process, after SIGKILL."""

from __future__ import annotations

import random

from queue_conformance.faults.backend import VARIABLE
from queue_conformance.faults.crash import Kill, Say, When, die
from queue_conformance.implementations.scripts import lines_of
from queue_conformance.suites import check
from queue_conformance.suites.aqueues.common import ASYNC, drained, in_another_process
from queue_conformance.suites.aqueues.pair import run
from queue_conformance.suites.bench import Bench
from queue_conformance.suites.outcomes import NotExercised
from queue_conformance.suites.processes import expect_in_another_process
from queue_conformance.suites.programs import program

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
            run(bench, program(text))
    with bench.collecting():
        _in_another_process(bench)
    with bench.collecting():
        run(bench, program("put:0 put:1 put:2 put:3 reopen get get reopen put:1 get get get"))


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


# --- SIGKILL ---------------------------------------------------------------------------------------------------------

LINES = 24
"""Lines of a put before which a process is killed."""


@check("aqueue.persist.crash", kinds=ASYNC)
def acknowledged_requests_survive_sigkill(bench: Bench) -> None:
    chosen = random.Random(bench.seed).sample(range(1, 400), LINES - 8)
    lines = (*range(1, 9), *sorted(chosen)) if bench.driver.simulated else (2, 5)
    for kill in (Kill(), *(Kill(When.LINE, line) for line in lines)):
        if not _killed(bench, kill):
            break  # a put has no more lines


def _killed(bench: Bench, kill: Kill) -> bool:
    """Kill a process in or after its last put, look at what is left, and tell whether the kill hit."""
    rule, driver = "aqueue.persist.crash", bench.driver
    bench.restart()
    last = 16
    acknowledged = STORED if kill.when is When.LINE else (*STORED, last)

    def live(say: Say) -> None:
        queue = driver.open()
        for number in STORED:
            queue.put(driver.item(number))
        kill.strike(bench.implementation.cls, driver.directory, lambda: queue.put(driver.item(last)), say)
        say("survived")
        die()

    ended = in_another_process(bench, live)
    if not ended.hit:
        raise NotExercised("the process was not killed")
    if "survived" in ended.said:
        return False
    opening, _ = driver.construction("0")
    puts = [f"loop.run(queue.put({driver.item(n).source}, priority={driver.priority_of(n)}))" for n in (*STORED, last)]
    where = f"before line {kill.number} of it" if kill.number else "after it"
    for line in (f"queue = {opening}", *puts[:-1], f"{puts[-1]}  # SIGKILL {where}", f"queue = {opening}"):
        bench.recorder.note(line)
    shown = list(bench.recorder.steps)
    queue = driver.open(owner=rule)
    left = drained(bench, queue, len(STORED) + 3)
    bench.recorder.steps = shown
    bench.examined[rule] += 1
    lost = [number for number in acknowledged if number not in left.numbers]
    if lost:
        keys = ", ".join(driver.key_literal(driver.item(number)) for number in acknowledged)
        body = [
            "child = os.fork()",
            "if child == 0:",
            f"    loop = {type(driver.loop).__name__}()",
            f"    queue = {opening}",
            *(f"    {put}" for put in puts[:-1]),
            f"    {f'with kill_at_line({driver.class_name}, {kill.number}): ' if kill.number else ''}{puts[-1]}",
            "    os.kill(os.getpid(), signal.SIGKILL)",
            "os.waitpid(child, 0)",
            f"queue = {opening}",
            f"left = drained(loop, queue, {len(STORED) + 3})",
            f"lost = {{{keys}}} - {{getattr(item, 'url', item) for item in left}}",
            "assert not lost, f'lost after SIGKILL: {lost}'",
        ]
        bench.fail(rule, f"{len(acknowledged)} requests after SIGKILL", f"{len(lost)} lost", [], body=body)
    return True
