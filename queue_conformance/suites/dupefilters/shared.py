"""The check of a store that several processes share."""

from __future__ import annotations

import os
import pickle
import time
import warnings
from collections.abc import Callable
from typing import Any

from queue_conformance.faults import crash
from queue_conformance.isolation import die_with_parent
from queue_conformance.suites import check
from queue_conformance.suites.bench import Bench
from queue_conformance.suites.dupefilters import FILTERS
from queue_conformance.suites.outcomes import NotExercised

ATOMIC = "dupefilter.shared.atomic"

PROCESSES = 4
LATER = 1.1
"""Seconds after which the other processes start: what is named after the time of the start is no shared store."""


@check(ATOMIC, kinds=FILTERS)
def one_of_several_processes_is_first(bench: Bench) -> None:
    if not crash.AVAILABLE:
        raise NotExercised("this platform cannot fork")
    bench.restart()
    count = 2 * bench.examples
    requests = bench.driver.requests(0, count)
    bench.driver.job()
    begun = time.monotonic()

    def ask(number: int) -> list[bool]:
        if number:
            time.sleep(max(0.0, begun + LATER - time.monotonic()))
        dupefilter = bench.open(owner=ATOMIC)
        time.sleep(max(0.0, begun + LATER + 0.2 - time.monotonic()))
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
        "begun = time.monotonic()",
        "readers = []",
        f"for number in range({PROCESSES}):",
        "    reader, writer = os.pipe()",
        "    readers.append(reader)",
        "    if os.fork() == 0:",
        f"        time.sleep({LATER} if number else 0)",
        f"        dupefilter, spider = {construction}",
        f"        time.sleep(max(0, begun + {LATER + 0.2:.1f} - time.monotonic()))",
        f"        os.write(writer, bytes(map(bool, {requests.asked('dupefilter')})))",
        "        os._exit(0)",
        "    os.close(writer)",
        f"seen = [os.read(reader, {count}) for reader in readers]",
        f"assert [len(answers) for answers in seen] == [{count}] * {PROCESSES}",
        "left = [number for number, answers in enumerate(zip(*seen)) if answers.count(0) != 1]",
        "assert not left, f'not new to exactly one process: {left}'",
    ]
    bench.examined[ATOMIC] += 1
    if several or never:
        bench.fail(ATOMIC, "each request new to exactly one process", actual, [], body=body)


def side_by_side(function: Callable[[int], Any], processes: int, time_limit: float) -> list[Any]:
    """Call a function in several processes at the same time.

    Args:
        function: gets the number of its process; its result must be picklable.
        processes: how many.
        time_limit: seconds, after which they are killed.

    Returns:
        The results; a ``str`` tells why a process has none.
    """
    readers = []
    for number in range(processes):
        reader, writer = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of forks while the proxy's thread runs
            pid = os.fork()
        if pid == 0:
            try:
                die_with_parent()
                try:
                    result = function(number)
                except BaseException as error:
                    result = repr(error)
                with os.fdopen(writer, "wb") as pipe:
                    pickle.dump(result, pipe)
            finally:
                os._exit(0)
        os.close(writer)
        readers.append((pid, reader))
    return [_result(pid, reader, time_limit) for pid, reader in readers]


def _result(pid: int, reader: int, time_limit: float) -> Any:
    deadline = time.monotonic() + time_limit
    with os.fdopen(reader, "rb") as pipe:
        os.set_blocking(reader, False)
        data = bytearray()
        while time.monotonic() < deadline:
            chunk = pipe.read()
            if chunk == b"":
                break
            data += chunk or b""
            if chunk is None:
                time.sleep(0.005)
        else:
            os.kill(pid, 9)
    os.waitpid(pid, 0)
    return pickle.loads(data) if data else "it was killed"
