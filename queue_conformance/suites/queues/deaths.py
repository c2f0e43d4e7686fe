"""The check of what is lost with a process that dies while others use the same queue."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn

from queue_conformance.engine.process import fork
from queue_conformance.implementations.quoted.processes import kill_in_reply
from queue_conformance.suites import check
from queue_conformance.suites.bench import Bench
from queue_conformance.suites.outcomes import NotExercised
from queue_conformance.suites.queues.construction import REQUESTS_ONLY
from queue_conformance.suites.queues.faults import backend_of
from queue_conformance.suites.queues.sharing import drained, judging, open_with, patience_of, pushes, urls_of

NO_LOSS = "queue.shared.no-loss"

AFTER = -1
"""In place of a number of replies: the process is killed after its first pop returned."""

MOST_REPLIES = 8
"""Replies of the server in one pop, at most, in place of each of which a process is killed."""


@dataclass(frozen=True)
class Aftermath:
    """What became of a queue from which processes popped that were killed.

    Attributes:
        lost: how many items neither came out of a pop that returned, nor later.
        counted: what ``len`` says when no more come.
        hits: the deaths that hit.
        body: the lines of a script.
    """

    lost: int
    counted: int
    hits: Sequence[int]
    body: Sequence[str]

    @property
    def wrong(self) -> bool:
        """Whether items are gone that the queue does not know of any more; others may come when a lease has run out."""
        return self.lost > self.counted


@check(NO_LOSS, kinds=REQUESTS_ONLY)
def a_process_that_dies_takes_nothing_with_it(bench: Bench) -> None:
    backend_of(bench)
    found = _aftermath(bench, [AFTER, *range(MOST_REPLIES)])
    if found.wrong:
        each = (_aftermath(bench, [death]) for death in found.hits)
        found = next((alone for alone in each if alone.wrong), None) or _aftermath(bench, found.hits)
        bench.examined[NO_LOSS] += 1
        places = {"after a pop had returned" if death == AFTER else "in pop" for death in found.hits}
        whom = "a process that was" if len(found.hits) == 1 else "processes that were"
        actual = f"{found.lost} other{'' if found.lost == 1 else 's'} lost with {whom} killed {' and '.join(sorted(places))}"
        bench.fail(NO_LOSS, "every item but what its pop had returned", actual, [], body=found.body)
    if found.lost:
        raise NotExercised(
            f"what killed processes had taken is not back after {patience_of(bench):g} s, though len() counts it: "
            "give a setting with which they are taken for dead sooner"
        )
    if len(found.hits) < 2:
        raise NotExercised("no process could be killed inside pop: it does not wait for a reply of the server")
    bench.examined[NO_LOSS] += 1
    bench.notes.append(f"processes killed: 1 after pop, {len(found.hits) - 1} in pop while a reply was on its way")


def _aftermath(bench: Bench, deaths: Sequence[int]) -> Aftermath:
    """Let processes pop and die, one after another, and let another one drain the queue.

    Args:
        bench: where the check works.
        deaths: where in its second pop each of them dies: after so many replies of the server, or ``AFTER`` the first pop; those
            after one that never got so many are left out.
    """
    numbers = range(4 + 2 * len(deaths))
    bench.restart()
    open_with(bench, numbers)
    popped, hits = set[str](), list[int]()
    for death in deaths:
        urls, hit = _pop_and_die(bench, death)
        popped.update(urls)
        if not hit:
            break
        hits.append(death)
        bench.recorder.note(f"popped = other.pop()  # in another process{', which is killed then' if death == AFTER else ''}")
        if death != AFTER:
            bench.recorder.note("other.pop()  # there, killed when the server has answered, before the reply arrives")
    body = _deaths(bench, numbers, hits)
    with judging(bench, NO_LOSS, body):
        left, counted = drained(bench, NO_LOSS, urls_of(numbers) - popped)
    return Aftermath(len(urls_of(numbers) - popped - set(left)), counted, hits, body)


def _deaths(bench: Bench, numbers: range, deaths: Sequence[int]) -> list[str]:
    """Return the lines of a script in which processes die, and another one drains the queue."""
    construction = bench.driver.construction("0")[0]
    lines = [f"queue = {construction}", pushes("queue", numbers), "reader, writer = os.pipe()"]
    for death in deaths:
        lines += [
            "child = os.fork()",
            "if child == 0:",
            f"    other = {construction}",
            "    os.write(writer, other.pop().url.encode() + b' ')",
            "    os.kill(os.getpid(), signal.SIGSTOP)",
            "    other.pop()",
            "    os._exit(0)",
            "os.waitpid(child, os.WUNTRACED)  # it has popped one item, and is stopped",
        ]
        if death == AFTER:
            lines += ["os.kill(child, signal.SIGKILL)", "os.waitpid(child, 0)"]
        else:
            lines.append(f"kill_in_reply(backend, child, {death})  # while it pops another one")
    return [
        *lines,
        "popped = os.read(reader, 10_000).decode().split()",
        f"last = {construction}",
        "left = consume(last)",
        f"lost = {{f'https://example.com/{{n}}' for n in range({len(numbers)})}} - {{*left, *popped}}",
        "assert len(lost) <= len(last), f'lost: {lost}'",
    ]


def _pop_and_die(bench: Bench, death: int) -> tuple[list[str], bool]:
    """Let another process pop, and kill it.

    Returns:
        The URLs of what its pops returned, and whether it was killed where it should be.

    Raises:
        NotExercised: if no pop returned there.
    """
    reader, writer = os.pipe()
    child = fork()
    if child == 0:
        _pop_twice(bench, writer)
    os.close(writer)
    ended, status, end = 0, 0, time.monotonic() + bench.time_limit
    while not ended and time.monotonic() < end:
        ended, status = os.waitpid(child, os.WUNTRACED | os.WNOHANG)
        time.sleep(0.0005)
    stopped = bool(ended) and os.WIFSTOPPED(status)
    hit = stopped
    if stopped and death != AFTER:
        hit = kill_in_reply(backend_of(bench), child, death)
    elif stopped or not ended:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    with os.fdopen(reader) as pipe:
        urls = pipe.read().split()
    if not stopped or not urls:
        raise NotExercised("no pop returned an item in another process")
    return urls, hit


def _pop_twice(bench: Bench, writer: int) -> NoReturn:
    """Pop, tell what came, and stop; pop once more if nothing ends this process then."""
    try:
        with suppress(Exception):  # what it raises is said by another rule
            other = bench.driver.construction("0")[1]()
            os.write(writer, other.pop().url.encode() + b" ")
            os.kill(os.getpid(), signal.SIGSTOP)
            os.write(writer, other.pop().url.encode())
    finally:
        os._exit(0)
