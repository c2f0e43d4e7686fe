"""The check of a store that several processes share."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

from queue_conformance.engine import process
from queue_conformance.engine.bench import Bench
from queue_conformance.engine.outcomes import NotExercised
from queue_conformance.engine.registry import check
from queue_conformance.implementations.quoted.processes import in_processes
from queue_conformance.suites.dupefilters import FILTERS

ATOMIC = "dupefilter.shared.atomic"

PROCESSES = 4

LATER = 1.1
"""Seconds after which the other processes start: what is named after the time of the start is no shared store."""


@check(ATOMIC, kinds=FILTERS)
def one_of_several_processes_is_first(bench: Bench) -> None:
    if not process.AVAILABLE:
        raise NotExercised("this platform cannot fork")
    bench.restart()
    count = max(200, 2 * bench.examples)
    requests = bench.driver.requests(0, count)
    bench.driver.job()

    def work(number: int, barrier: Any) -> list[bool] | str:
        time.sleep(LATER if number else 0)
        try:
            dupefilter = bench.open(owner=ATOMIC)
            barrier.wait()
            return [bool(dupefilter.raw.request_seen(request)) for request in requests.values]
        except Exception as error:
            return repr(error)

    body = [
        "def work(number, barrier):",
        f"    time.sleep({LATER} if number else 0)",
        f"    dupefilter, spider = {bench.driver.construction('job')[0]}",
        "    barrier.wait()",
        f"    return [bool(seen) for seen in {requests.asked('dupefilter')}]",
        "",
        f"seen = in_processes([functools.partial(work, number) for number in range({PROCESSES})])",
        "left = [number for number, answers in enumerate(zip(*seen)) if answers.count(False) != 1]",
        "assert not left, f'not new to exactly one process: {left}'",
    ]
    works = [partial(work, number) for number in range(PROCESSES)]
    answers = bench.recorder.call("seen = in_processes(...)", ATOMIC, in_processes, works)
    if failed := [answer for answer in answers if isinstance(answer, str)]:
        raise NotExercised(f"a process failed: {failed[0]}")
    firsts = [sum(not seen for seen in column) for column in zip(*answers, strict=True)]
    never, several = sum(first == 0 for first in firsts), sum(first > 1 for first in firsts)
    actual = f"of {count} requests {several} were new to more than one process, {never} to none"
    bench.recorder.restart()
    bench.recorder.note(f"dupefilter, spider = {bench.driver.construction('job')[0]}  # in each of {PROCESSES} processes")
    bench.recorder.note(f"seen = {requests.asked('dupefilter')}")
    bench.examined[ATOMIC] += 1
    if several or never:
        bench.fail(ATOMIC, "each request new to exactly one process", actual, [], body=body)
