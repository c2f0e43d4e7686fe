"""Checks of a queue that several processes use at the same time."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from queue_conformance.engine.process import Child, Say
from queue_conformance.implementations.quoted.processes import consume, in_processes
from queue_conformance.implementations.recording import Remark, Timed, shortened
from queue_conformance.suites import check
from queue_conformance.suites.bench import Bench
from queue_conformance.suites.outcomes import NotExercised, TooSlow
from queue_conformance.suites.queues.construction import REQUESTS_ONLY
from queue_conformance.suites.queues.sharing import (
    drained,
    judging,
    open_with,
    patience_of,
    push_all,
    pushes,
    requests_of,
    urls_of,
)

T = TypeVar("T")

ONCE = "queue.shared.once"
VISIBLE = "queue.shared.visible"

# --- Each item once --------------------------------------------------------------------------------------------------

PROCESSES = 4

WAITING = 100
"""Requests that are there when the processes begin."""

EACH = 25
"""Requests that each of the processes pushes."""

STALL = 0.8
"""Seconds without an operation after which a process may be taken for dead: what it had popped then rightly comes once more."""

ATTEMPTS = 3
"""How often processes get to do it without a stall."""


@check(ONCE, kinds=REQUESTS_ONLY)
def each_item_goes_to_one_process(bench: Bench) -> None:
    for _ in range(ATTEMPTS):
        stall = _side_by_side(bench)
        if stall < STALL:
            return
        bench.restart()
    raise NotExercised(f"this machine is too slow: items came twice, but a process did nothing for {stall:.1f} s")


def _side_by_side(bench: Bench) -> float:
    """Let processes push and pop, and judge what came.

    Returns:
        Seconds that one of them did nothing, if that may be why items came twice; otherwise 0.0.
    """
    size = max(1, min(4, bench.examples // 100))
    waiting, each = range(WAITING * size), EACH * size
    pushed = range(waiting.stop + PROCESSES * each)
    construction = bench.driver.construction("0")[0]
    body = [
        "def work(first, barrier):",
        f"    other = {construction}",
        "    barrier.wait()",
        f"    urls = consume(other, [Request(f'https://example.com/{{n}}') for n in range(first, first + {each})])",
        "    other.close()",
        "    return urls",
        "",
        f"queue = {construction}",
        pushes("queue", waiting),
        f"found = in_processes([functools.partial(work, first) for first in range({waiting.stop}, {pushed.stop}, {each})])",
        f"last = {construction}",
        "left = sum(found, consume(last))",
        "twice = {url for url in left if left.count(url) > 1}",
        f"lost = {pushed.stop} - len(set(left))",
        "assert not twice and lost <= len(last), f'{len(twice)} came twice, {lost} never'",
    ]
    with judging(bench, ONCE, body):
        open_with(bench, waiting)
        bench.recorder.note(f"other = {construction}  # in each of {PROCESSES} processes")
        works = [partial(_work, bench, range(first, first + each)) for first in pushed[waiting.stop :: each]]
        line = f"found = {PROCESSES} * [consume(other, {each} * [Request(...)])]  # side by side"
        found = bench.recorder.call(line, ONCE, in_processes, works)
        outcomes = (f"{len(result.urls)} items" if isinstance(result, Consumed) else str(result) for result in found)
        bench.recorder.steps[-1].result = Remark(shortened(", ".join(outcomes)))
        if slow := [result for result in found if isinstance(result, TooSlow)]:
            raise slow[0]
        if failed := [result for result in found if isinstance(result, str)]:
            bench.fail(ONCE, "no exception", f"{failed[0]} raised in one of {PROCESSES} processes", [], body=body)
        popped = [url for result in found for url in result.urls]
        left, known = drained(bench, ONCE, urls_of(pushed).difference(popped))
    came = Counter(popped + left)
    twice = sum(times > 1 for times in came.values())
    lost = len(urls_of(pushed) - came.keys())
    stall: float = max(result.stall for result in found)
    if twice and lost <= known and stall >= STALL:
        return stall
    bench.examined[ONCE] += 1
    if twice or lost > known:
        expected = f"each of {len(pushed)} items in one of {PROCESSES} processes"
        bench.fail(ONCE, expected, f"{twice} came twice, {lost} never", [], body=body)
    if lost:
        bench.notes.append(
            f"shared by {PROCESSES} processes: {lost} items are not back after {patience_of(bench):g} s, but counted"
        )
    return 0.0


@dataclass(frozen=True)
class Consumed:
    """What a process got.

    Attributes:
        urls: of the requests.
        stall: seconds from the beginning of an operation to the end of the next one, at most.
    """

    urls: Sequence[str]
    stall: float


class Watched:
    """A queue whose operations are timed."""

    def __init__(self, queue: Any) -> None:
        self.queue = queue
        self.stall, self._began = 0.0, time.monotonic()

    def push(self, request: Any) -> None:
        """Push."""
        self._timed(self.queue.push, request)

    def pop(self) -> Any:
        """Pop."""
        return self._timed(self.queue.pop)

    def close(self) -> None:
        """Close."""
        self._timed(self.queue.close)

    def __len__(self) -> int:
        return self._timed(len, self.queue)

    def _timed(self, operation: Callable[..., T], *arguments: Any) -> T:
        before, self._began = self._began, time.monotonic()
        result = operation(*arguments)
        self.stall = max(self.stall, time.monotonic() - before)
        return result


def _work(bench: Bench, numbers: range, barrier: Any) -> Consumed | str | TooSlow:
    """Push and pop in a process of its own; return what came, or what was raised."""
    try:
        other = Watched(bench.driver.construction("0")[1]())
        barrier.wait()
        urls: list[str] = consume(other, requests_of(bench, numbers), patience_of(bench))
        other.close()
    except Exception as error:
        try:
            bench.excuse(error)
        except TooSlow as slow:
            return slow
        return bench.describe(error)
    return Consumed(urls, other.stall)


# --- Seen by others --------------------------------------------------------------------------------------------------

PUSHED = range(1, 4)


@check(VISIBLE, kinds=REQUESTS_ONLY)
def others_see_what_is_pushed(bench: Bench) -> None:
    construction = bench.driver.construction("0")[0]
    waiting = "while len(queue) == 0 and time.monotonic() < end: time.sleep(0.02)"
    queue = open_with(bench)
    queue.pop()
    queue.length()
    with _pushing(bench):
        body = [
            f"queue = {construction}",
            "popped, length = queue.pop(), len(queue)",
            "reader, writer = os.pipe()",
            "child = os.fork()",
            "if child == 0:",
            f"    other = {construction}",
            f"    {pushes('other', PUSHED)}",
            "    os.write(writer, b'.')",
            "    time.sleep(10)  # it stays open",
            "os.close(writer)",
            "os.read(reader, 1)",
            f"end = time.monotonic() + {patience_of(bench):g}",
            waiting,
            "length = len(queue)",
            "left = consume(queue)",
            "os.kill(child, signal.SIGKILL)",
            f"assert length > 0 and len(left) == {len(PUSHED)}, f'len {{length}}, and {{len(left)}} came'",
        ]
        bench.recorder.note(f"other = {construction}  # in another process")
        bench.recorder.note(f"{pushes('other', PUSHED)}  # there")
        with judging(bench, VISIBLE, body):
            bench.recorder.call(waiting, VISIBLE, partial(_wait_for_length, Timed(queue.raw, bench.flight), patience_of(bench)))
            length = queue.length(VISIBLE)
            left = bench.recorder.call(
                "left = consume(queue)", VISIBLE, consume, Timed(queue.raw, bench.flight), (), patience_of(bench)
            )
            bench.recorder.steps[-1].result = Remark(f"{len(left)} items")
    bench.examined[VISIBLE] += 1
    missing = urls_of(PUSHED) - set(left)
    if not length or missing:
        expected = f"len() above 0, and {len(PUSHED)} items, within {patience_of(bench):g} s"
        bench.fail(VISIBLE, expected, f"len() {length}, and {len(PUSHED) - len(missing)} of them", [], body=body)


def _wait_for_length(queue: Any, patience: float) -> None:
    end = time.monotonic() + patience
    while len(queue) == 0 and time.monotonic() < end:
        time.sleep(0.02)


@contextmanager
def _pushing(bench: Bench) -> Iterator[None]:
    """Let another process push requests, and keep its queue open meanwhile.

    Raises:
        NotExercised: if it fails.
    """

    def push(say: Say) -> None:
        failed = ""
        try:
            push_all(bench.driver.construction("0")[1](), requests_of(bench, PUSHED))
        except BaseException as error:
            failed = bench.describe(error)
        say(failed)
        time.sleep(bench.time_limit + 2 * patience_of(bench))

    with Child(push) as child:
        child.hear(1, bench.time_limit)
        if failed := "".join(child.said()):
            raise NotExercised(f"another process failed: {failed}")
        yield
