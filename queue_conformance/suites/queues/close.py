"""Checks of close."""

from __future__ import annotations

import gc
import os
import textwrap
import threading
from collections.abc import Callable, Set
from pathlib import Path
from typing import Any

from queue_conformance.implementations.quoted.support import names_below
from queue_conformance.implementations.recording import OperationRaised
from queue_conformance.suites import check
from queue_conformance.suites.bench import Bench
from queue_conformance.suites.outcomes import NotApplicable, NotExercised
from queue_conformance.suites.programs import program
from queue_conformance.suites.queues.pair import refusals, run

CYCLES = 50
"""Times that a queue is opened and closed to find what close leaves behind."""

FEWEST = 10
"""Times that it must be, at least."""

BUDGET = 20.0
"""Seconds after which it is not opened any more; only slow queues come near."""

_DESCRIPTORS = next((path for path in ("/proc/self/fd", "/dev/fd") if Path(path).is_dir()), None)


def _descriptors() -> int:
    return len(os.listdir(_DESCRIPTORS)) if _DESCRIPTORS else 0


@check("queue.close.releases")
def close_releases_everything(bench: Bench) -> None:
    rule = "queue.close.releases"
    source, cycle = _cycle(bench)
    bench.recorder.call("kept = []", rule, list)
    try:
        bench.recorder.call(f"for _ in range(3):\n{source}", rule, cycle, 3)  # a cache or a pool is made once
    except OperationRaised as raised:
        failure = bench.unexpected(raised)
        run(bench, program("push:1 push:2 pop reopen pop"))  # which names the rule, if it is another one
        raise failure from raised
    gc.collect()
    descriptors, threads = _descriptors(), threading.active_count()
    bench.recorder.note(f"files, threads = len(os.listdir({_DESCRIPTORS!r})), threading.active_count()")
    cycles = bench.recorder.call(f"for _ in range({CYCLES}):\n{source}", rule, cycle, CYCLES)
    if cycles < CYCLES:
        bench.recorder.steps[-1].source = f"for _ in range({cycles}):\n{source}"
        bench.notes.append(f"{rule}: tried with {cycles} of {CYCLES} queues, because it takes more than {BUDGET:g} s")
    if cycles < FEWEST:
        raise NotExercised(f"it takes more than {BUDGET:g} s to open, use and close {FEWEST} queues")
    if _DESCRIPTORS:
        left = _descriptors() - descriptors
        bench.recorder.note(f"left = len(os.listdir({_DESCRIPTORS!r})) - files")
        actual = f"{left} more after {cycles} queues were opened, used and closed"
        bench.expect(rule, left < cycles / 2, "no more open files", actual, f"left < {cycles // 2}")
    left = threading.active_count() - threads
    bench.recorder.note("left = threading.active_count() - threads")
    actual = f"{left} more after {cycles} queues were opened, used and closed"
    bench.expect(rule, left < cycles / 2, "no more threads", actual, f"left < {cycles // 2}")


def _cycle(bench: Bench) -> tuple[str, Callable[[int], int]]:
    """Return what opens, uses and closes queues, as lines of a loop and as a function of how often.

    The function returns how often it did. The objects are kept, because only close may release what they hold.
    """
    construction, build = bench.driver.construction("0")
    first, second = bench.driver.item(1), bench.driver.item(2)
    kept: list[Any] = []
    twice = 2 if bench.offers("persistent") else 1

    def cycle(times: int) -> int:
        began = len(kept)
        for _ in bench.flight.each(range(times), BUDGET):
            queue = build()
            for item in bench.flight.each((first, second)):
                queue.push(item.value)
            for name in bench.flight.each(("pop", "close")):
                getattr(queue, name)()
            kept.append(queue)
            if twice == 2:
                bench.flight.go_on()
                queue = build()
                for name in bench.flight.each(("pop", "close")):
                    getattr(queue, name)()
                kept.append(queue)
        return (len(kept) - began) // twice

    opening = f"queue = {construction}"
    lines = [
        opening,
        f"queue.push({first.source})",
        f"queue.push({second.source})",
        "queue.pop()",
        "queue.close()",
        "kept.append(queue)",
    ]
    if twice == 2:
        lines += [opening, "queue.pop()", "queue.close()", "kept.append(queue)"]
    return textwrap.indent("\n".join(lines), "    "), cycle


@check("queue.close.keeps")
def close_keeps_what_is_pending(bench: Bench) -> None:
    causes = refusals(bench)
    if not causes:
        raise NotApplicable("nothing is known that this queue refuses to store")
    for cause in causes:
        run(bench, program(f"push:0 push:1 push_refused:{cause} reopen pop push_refused:{cause} push:2 reopen pop pop"))


@check("queue.close.empty-removes")
def an_empty_queue_removes_its_files(bench: Bench) -> None:
    rule = "queue.close.empty-removes"
    queue = bench.open()
    for number in range(3):
        queue.push(bench.driver.item(number))
    queue.close()
    if not names_below(bench.driver.directory):
        raise NotExercised("no file was seen while items were stored")
    queue = bench.open()
    for _ in range(3):
        queue.pop()
    queue.close()
    left = [str(path.relative_to(bench.driver.directory)) for path in sorted(bench.driver.directory.rglob("*"))]
    bench.recorder.note("left = [path for path in Path(directory).rglob('*')]")
    bench.expect(rule, not left, "nothing left", ", ".join(left), "not left")


@check("queue.close.twice")
def a_second_close_is_harmless(bench: Bench) -> None:
    run(bench, program("push:0 reopen pop"))
    rule = "queue.close.twice"
    for stored in (2, 0):
        with bench.collecting():
            bench.restart()
            queue = bench.open()
            for number in range(stored):
                queue.push(bench.driver.item(number))
            queue.close()
            queue.close(owner=rule)
            bench.examined[rule] += 1
            if bench.offers("persistent"):
                _still_there(bench, rule, set(range(stored)))


@check("queue.close.use-after")
def use_after_close_damages_nothing(bench: Bench) -> None:
    run(bench, program("push:0 reopen pop"))
    rule = "queue.close.use-after"
    said: list[str] = []
    for misuse in ("push", "pop", "peek", "len"):
        if misuse == "peek" and not bench.offers("peek"):
            continue
        with bench.collecting():
            bench.restart()
            queue = bench.open()
            for number in (0, 1):
                queue.push(bench.driver.item(number))
            queue.close()
            stored, optional = {0, 1}, set[int]()
            try:
                with bench.recorder.blame(rule):
                    if misuse == "push":
                        queue.push(bench.driver.item(2))
                        optional = {2}  # it returned, so the item may well be there
                    elif misuse == "pop":
                        popped = bench.driver.identify(queue.pop())
                        optional = set() if popped is None else {popped}
                        stored -= optional  # it came out, so it may well be gone
                    else:
                        queue.peek() if misuse == "peek" else queue.length()
                said.append(f"{misuse} raises nothing")
            except OperationRaised as raised:
                if not isinstance(raised.error, Exception):
                    raise
                said.append(f"{misuse} raises {type(raised.error).__name__}")
            _still_there(bench, rule, stored, optional)
    bench.notes.append("after close " + ", ".join(said))


def _still_there(bench: Bench, rule: str, stored: set[int], optional: Set[int] = frozenset()) -> None:
    """Open the queue again and compare: the items that must be there and those that may, in any order, nothing else."""
    with bench.recorder.blame(rule):
        queue = bench.open()
        left = stored | optional
        for _ in range(len(left) + 1):
            popped = queue.pop()
            number = bench.driver.identify(popped)
            items = [bench.driver.item(n) for n in sorted(left)]
            empty_is_right = not left & stored
            shown = [item.source for item in items] + ["None"] * empty_is_right
            ok = number in left or (popped is None and empty_is_right)
            condition = bench.driver.among_source("popped", items, or_none=empty_is_right)
            bench.expect(rule, ok, " or ".join(shown), popped, condition)
            left.discard(number)
        queue.close()
