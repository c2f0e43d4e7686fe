"""Checks of what SIGKILL leaves of a crawl; of schedulers that are claimed to be safe against it only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from queue_conformance.faults import crash
from queue_conformance.faults.crash import Kill, Say, When
from queue_conformance.implementations.drivers.scheduler import OpenScheduler, traits
from queue_conformance.implementations.recording import OperationRaised, describe
from queue_conformance.suites import check
from queue_conformance.suites.bench import Bench
from queue_conformance.suites.outcomes import NotExercised
from queue_conformance.suites.schedulers.layout import settings_of
from queue_conformance.suites.schedulers.scenes import SCHEDULERS, short

SAFE = "scheduler.crash.safe"
NO_LIMBO = "scheduler.crash.no-limbo"

POINTS = 60
"""Places inside operations to be killed at, for a hundred examples."""

BUDGET = 60.0
"""Seconds for a hundred examples, after which no further one is tried; only slow schedulers come near."""

PROGRAMS: Sequence[Sequence[int | None]] = (
    (0, 3, None, 1, None),
    (0, 20, 8, 23, None, 9, None, 6),
    (15, 0, None, 16, 13, None),
)
"""The numbers of requests to enqueue, and ``None`` where the next one is taken out."""


@dataclass(frozen=True, slots=True)
class Death:
    """The end of a crawl.

    Attributes:
        program: what it did; the last operation is the one in which it died.
        kill: where in that.
        answers: what the operations returned: whether a request was accepted, or the number of the one that came.
    """

    program: tuple[int | None, ...]
    kill: Kill
    answers: tuple[Any, ...]

    @property
    def returned(self) -> set[int]:
        """The requests that were handed out."""
        return {answer for number, answer in zip(self.program, self.answers, strict=False) if number is None}

    @property
    def stored(self) -> list[int]:
        """The requests that were accepted on disk and not handed out."""
        answers = zip(self.program, self.answers, strict=False)
        accepted = (number for number, answer in answers if number is not None and answer and not traits(number).refused)
        return [number for number in accepted if number not in self.returned]

    @property
    def enqueued(self) -> list[int]:
        """The requests that were enqueued and not handed out, accepted or not."""
        return [number for number in self.program if number is not None and number not in self.returned]

    @property
    def spared(self) -> int:
        """How many requests may be gone: one, if it died while it took one out."""
        return int(self.program[-1] is None and len(self.answers) < len(self.program))


@check(SAFE, NO_LIMBO, kinds=SCHEDULERS)
def nothing_is_lost_in_a_crash(bench: Bench) -> None:
    if not crash.AVAILABLE:
        raise NotExercised("this platform cannot fork")
    deaths = 0
    for death in _deaths(bench):
        deaths += 1
        with bench.collecting():
            _look(bench, death)
        if bench.broken:
            break  # the shortest comes first
    if not deaths:
        raise NotExercised("no operation was reached in which a process could be killed")
    bench.notes.append(f"{deaths} places to be killed at")


def _deaths(bench: Bench) -> Iterator[Death]:
    """Let crawls die: after each operation, then at each line of the scheduler."""
    deadline = bench.flight.now + BUDGET * max(1.0, bench.examples / 100)
    prefixes = [tuple(program[: end + 1]) for program in PROGRAMS for end in range(len(program))]
    for prefix in prefixes:
        yield from _die(bench, prefix, Kill())
    left = max(4, POINTS * bench.examples // 100)
    for prefix in bench.each("programs to be killed in", prefixes, deadline):
        for line in count(1):
            if left <= 0 or bench.flight.now > deadline or not (died := list(_die(bench, prefix, Kill(When.LINE, line)))):
                break
            left -= 1
            yield from died


def _die(bench: Bench, program: tuple[int | None, ...], kill: Kill) -> Iterator[Death]:
    """Run a program in a process that is killed in its last operation; nothing is yielded if it survived."""
    bench.restart()

    def live(say: Say) -> None:
        scheduler = bench.open(_settings(bench), job="job")
        for number in program[:-1]:
            say(_perform(bench, scheduler, number))
        directory = bench.driver.directory
        kill.strike(bench.implementation.cls, directory, lambda: _perform(bench, scheduler, program[-1]), say)

    ended = crash.run(live, time_limit=bench.time_limit)
    if ended.hit:
        yield Death(program, kill, ended.said)


def _settings(bench: Bench) -> dict[str, str]:
    """Return settings with queues that can refuse a request, and a filter that forgets nothing."""
    return {**settings_of(bench), "DUPEFILTER_CLASS": "LastingFilter"} if bench.offers("configurable") else {}


def _perform(bench: Bench, scheduler: OpenScheduler, number: int | None) -> Any:
    if number is None:
        return bench.driver.identify(scheduler.next())
    return bool(scheduler.enqueue(bench.driver.fresh(number)))


def _look(bench: Bench, death: Death) -> None:
    """Continue the crawl, and compare."""
    try:
        scheduler = bench.open(_settings(bench), job="job")
        left = scheduler.drain()
    except OperationRaised as raised:
        tail = ["left = drain(scheduler)"]
        _fail(bench, SAFE, death, "a scheduler that works after SIGKILL", f"{describe(raised.error)} raised", tail)
    expected = sorted(map(bench.driver.url, death.stored))
    missing = [url for url in expected if url not in left]
    bench.examined[SAFE] += bool(death.stored)
    if len(missing) > death.spared:
        tail = ["left = drain(scheduler)", f"missing = [url for url in {expected!r} if url not in left]"]
        tail.append(f"assert len(missing) <= {death.spared}, missing")
        _fail(bench, SAFE, death, f"{short(expected)} pending", f"{short(missing)} lost", tail)
    for number in death.enqueued:
        if death.spared or traits(number).dont_filter or bench.driver.url(number) in left:
            continue
        bench.examined[NO_LIMBO] += 1
        if not scheduler.enqueue(bench.driver.fresh(number), NO_LIMBO):
            source = bench.driver.describe_item(number)
            tail = ["left = drain(scheduler)", f"accepted = scheduler.enqueue_request({source})"]
            tail.append(f"assert accepted or {bench.driver.url(number)!r} in left, accepted")
            expected_text = f"{short([bench.driver.url(number)])} pending, or accepted again"
            _fail(bench, NO_LIMBO, death, expected_text, "it is not pending, and rejected as seen", tail)


def _fail(bench: Bench, rule: str, death: Death, expected: str, actual: str, tail: Sequence[str]) -> None:
    opening = bench.driver.opening(_settings(bench), "job")
    *before, last = [_source(bench, number) for number in death.program]
    if death.kill.when is When.LINE:
        last = f"with kill_at_line({bench.driver.class_name}, {death.kill.number}): {last}"
    body = [
        "child = os.fork()",
        "if child == 0:",
        *(f"    {line}" for line in [*opening, *before]),
        f"    {last}",
        "    os.kill(os.getpid(), signal.SIGKILL)",
        "os.waitpid(child, 0)",
        *opening,
        *tail,
    ]
    bench.restart()
    place = f"at its line {death.kill.number}" if death.kill.number else "after it"
    for line in [*opening, *before, f"{last}  # SIGKILL {place}", *opening, *tail[:-1]]:
        bench.recorder.note(line)
    bench.fail(rule, expected, actual, [], body=body)


def _source(bench: Bench, number: int | None) -> str:
    if number is None:
        return "scheduler.next_request()"
    return f"scheduler.enqueue_request({bench.driver.item(number).source})"
