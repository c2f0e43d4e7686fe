"""The check of a store that several processes share."""

from __future__ import annotations

import os
import pickle
import select
import signal
import time
from collections.abc import Callable
from typing import Any, NoReturn

from queue_conformance.faults import crash
from queue_conformance.isolation import fork
from queue_conformance.suites import check
from queue_conformance.suites.bench import Bench
from queue_conformance.suites.dupefilters import FILTERS
from queue_conformance.suites.outcomes import NotExercised

ATOMIC = "dupefilter.shared.atomic"

PROCESSES = 4

READY = b"."
"""What a process says when it is ready."""

LATER = 1.1
"""Seconds after which the other processes start: what is named after the time of the start is no shared store."""


@check(ATOMIC, kinds=FILTERS)
def one_of_several_processes_is_first(bench: Bench) -> None:
    if not crash.AVAILABLE:
        raise NotExercised("this platform cannot fork")
    bench.restart()
    count = max(200, 2 * bench.examples)
    requests = bench.driver.requests(0, count)
    bench.driver.job()

    def ask(number: int, together: Callable[[], None]) -> list[bool]:
        time.sleep(LATER if number else 0)
        dupefilter = bench.open(owner=ATOMIC)
        together()
        return [bool(dupefilter.raw.request_seen(request)) for request in requests.values]

    answers = side_by_side(ask, PROCESSES, bench.time_limit)
    failed = next((answer for answer in answers if isinstance(answer, str)), None)
    if failed is not None:
        raise NotExercised(f"a process failed: {failed}")
    firsts = [sum(not seen for seen in column) for column in zip(*answers, strict=True)]
    never, several = sum(first == 0 for first in firsts), sum(first > 1 for first in firsts)
    actual = f"of {count} requests {several} were new to more than one process, {never} to none"
    construction = bench.driver.construction("job")[0]
    bench.recorder.note(f"dupefilter, spider = {construction}  # in each of {PROCESSES} processes")
    bench.recorder.note(f"seen = {requests.asked('dupefilter')}")
    body = [
        "gate, opener = os.pipe()",
        "readers = []",
        f"for number in range({PROCESSES}):",
        "    reader, writer = os.pipe()",
        "    readers.append(reader)",
        "    if os.fork() == 0:",
        "        os.close(opener)",
        f"        time.sleep({LATER} if number else 0)",
        f"        dupefilter, spider = {construction}",
        "        os.write(writer, b'.')",
        "        os.read(gate, 1)  # until all are ready",
        f"        os.write(writer, bytes(map(bool, {requests.asked('dupefilter')})))",
        "        os._exit(0)",
        "    os.close(writer)",
        "assert [os.read(reader, 1) for reader in readers] == [b'.'] * len(readers)",
        "os.close(opener)",
        f"seen = [os.read(reader, {count}) for reader in readers]",
        f"assert [len(answers) for answers in seen] == [{count}] * {PROCESSES}",
        "left = [number for number, answers in enumerate(zip(*seen)) if answers.count(0) != 1]",
        "assert not left, f'not new to exactly one process: {left}'",
    ]
    bench.examined[ATOMIC] += 1
    if several or never:
        bench.fail(ATOMIC, "each request new to exactly one process", actual, [], body=body)


def side_by_side(function: Callable[[int, Callable[[], None]], Any], processes: int, time_limit: float) -> list[Any]:
    """Call a function in several processes at the same time.

    Args:
        function: gets the number of its process, and what it must call once, which returns when all processes have
            called it; its result must be picklable.
        processes: how many.
        time_limit: seconds, after which they are killed.

    Returns:
        The results; a ``str`` tells why a process has none.
    """
    gate, opener = os.pipe()
    children: list[tuple[int, int]] = []
    for number in range(processes):
        reader, writer = os.pipe()
        pid = fork()
        if pid == 0:
            _child(function, number, (gate, opener, writer))
        os.close(writer)
        children.append((pid, reader))
    deadline = time.monotonic() + time_limit
    readers = [reader for _, reader in children]
    while readers and time.monotonic() < deadline:
        for reader in select.select(readers, [], [], 0.1)[0]:
            os.read(reader, 1)
            readers.remove(reader)
    os.close(opener)
    results = [_result(pid, reader, deadline) for pid, reader in children]
    os.close(gate)
    return results


def _child(function: Callable[[int, Callable[[], None]], Any], number: int, pipes: tuple[int, int, int]) -> NoReturn:
    gate, opener, writer = pipes

    def together() -> None:
        os.write(writer, READY)
        os.read(gate, 1)

    try:
        os.close(opener)
        try:
            result = function(number, together)
        except BaseException as error:
            os.write(writer, READY)
            result = repr(error)
        with os.fdopen(writer, "wb") as pipe:
            pickle.dump(result, pipe)
    finally:
        os._exit(0)


def _result(pid: int, reader: int, deadline: float) -> Any:
    """Collect what a process says until it ends, or kill it when it is too late."""
    data = bytearray()
    chunk = b"."
    while chunk:
        if not select.select([reader], [], [], max(0.0, deadline - time.monotonic()))[0]:
            os.kill(pid, signal.SIGKILL)
        chunk = os.read(reader, 1 << 16)
        data += chunk
    os.close(reader)
    os.waitpid(pid, 0)
    message = data.removeprefix(READY)  # a process that failed after the start has said it twice
    return pickle.loads(message) if message else "it was killed"
