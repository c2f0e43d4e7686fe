"""Many crashes of one queue: after and inside its operations, and in the middle of its writes."""

from __future__ import annotations

import itertools
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from queue_conformance.faults import crash
from queue_conformance.faults.crash import Kill, Say, When
from queue_conformance.implementations.quoted.kills import trace_lines
from queue_conformance.suites.bench import Bench
from queue_conformance.suites.queues.aftermath import Account, Crash, Life, suffer

T = TypeVar("T")
Story = tuple[str, ...]

STORY = (
    "open push:10 push:11 push:12 pop push:13 push:14 close open pop pop push:20 push:21 pop close open pop pop "
    "push:22 push:23 pop push:27 push:28 pop push:34"
)
"""Operations that every queue is crashed in: a new queue, one that is opened again, items that exceed a buffer.

The numbers of all items have the same number of digits, so that the beginning of one is never another one.
"""

CLEARING = "open push:10 push:11 clear push:12 push:13 push:14 push:20 push:21 close open clear push:22 push:23 push:24 push:27"
"""Operations that a queue is crashed in as well if it can be cleared."""

POINTS = 90
"""Crashes for a hundred examples."""

ITEMS_PER_EXAMPLE = 3
"""Items in the queue that is crashed when it is long."""

PATIENCE = 60.0
"""Seconds for a hundred examples; a queue that is slower is crashed less often."""


def campaign(bench: Bench) -> Iterator[Account]:
    """Yield the accounts of crashes after and inside operations, and in the middle of writes; the simplest come first."""
    points = max(4, POINTS * bench.examples // 100)
    deadline = bench.flight.now + PATIENCE * bench.examples / 100
    stories = [tuple(STORY.split()), _drawn(bench.seed), *([tuple(CLEARING.split())] if bench.offers("clear") else [])]
    many = ("open", *(f"push:{number}" for number in range(1000, 1000 + min(2000, ITEMS_PER_EXAMPLE * bench.examples))))
    rehearsals = [_rehearsal(bench, story) for story in stories]
    plan = [
        *evenly([Crash(story[:end]) for story in stories for end in range(1, len(story) + 1)], points // 4, bench.seed),
        *_at_lines(stories, rehearsals, points // 2, bench.seed),
        *evenly(_at_bytes(stories, rehearsals), points // 4, bench.seed),
        Crash(many),
    ]
    for number, planned in enumerate(bench.each("crashes", plan, deadline)):
        if bench.flight.now > deadline:
            bench.notes.append(
                f"{number} of {len(plan)} crashes were tried, because they take more than {PATIENCE:g} s for 100 examples"
            )
            return
        if (found := suffer(bench, planned)) is not None:
            yield found


def _drawn(seed: int) -> Story:
    """Draw a story."""
    chosen = random.Random(seed)
    story = ["open", "push:40"]
    for number in range(41, 61):
        story += chosen.choices([[f"push:{number}"], ["pop"], ["close", "open"]], [6, 3, 1])[0]
    return tuple(story)


@dataclass(frozen=True, slots=True)
class _Passed:
    """What an operation does when nothing kills it: the lines that it executes, and the sizes that files go through."""

    lines: list[tuple[str, int]]
    sizes: list[range]


def _rehearsal(bench: Bench, story: Story) -> list[_Passed]:
    """Play a story without a crash."""
    bench.restart()

    def rehearse(say: Say) -> None:
        life = Life(bench)
        for operation in story:
            before = crash.sizes(bench.driver.directory)
            lines: list[tuple[str, int]] = []
            trace_lines(bench.implementation.cls, lambda frame, add=lines.append: add((frame.f_code.co_filename, frame.f_lineno)))
            try:
                life.do(operation)
            except BaseException:
                return  # what comes later in the story is not crashed
            finally:
                sys.settrace(None)
            after = crash.sizes(bench.driver.directory)
            grown = [range(before.get(path, 0), size) for path, size in after.items() if size > before.get(path, 0)]
            say(_Passed(lines, grown or [range(1), range(600, 601)]))

    return list(crash.run(rehearse, time_limit=bench.time_limit).said)


def _at_lines(stories: list[Story], rehearsals: list[list[_Passed]], number: int, seed: int) -> list[Crash]:
    """Choose so many crashes before lines of the implementation: each line of each kind of operation once, then again."""
    chosen = random.Random(seed)
    places: dict[tuple[str, tuple[str, int]], list[Crash]] = {}
    for story, passed in zip(stories, rehearsals, strict=True):
        for end, operation in enumerate(passed):
            for count, line in enumerate(operation.lines, 1):
                place = (story[end].partition(":")[0], line)
                places.setdefault(place, []).append(Crash(story[: end + 1], Kill(When.LINE, count)))
    for crashes in places.values():
        chosen.shuffle(crashes)
    first = [crashes.pop() for crashes in places.values()]
    again = itertools.chain(*itertools.zip_longest(*places.values()))
    more = itertools.islice((planned for planned in again if planned is not None), max(0, number - len(first)))
    return sorted([*evenly(first, number, seed), *more], key=lambda planned: len(planned.operations))


def _at_bytes(stories: list[Story], rehearsals: list[list[_Passed]]) -> list[Crash]:
    """Return crashes in the middle of writes."""
    return [
        Crash(story[: end + 1], Kill(When.BYTE, size))
        for story, passed in zip(stories, rehearsals, strict=True)
        for end, operation in enumerate(passed)
        for span in operation.sizes
        for size in evenly(span, 16, end)
    ]


def survives_a_clean_close(bench: Bench) -> bool:
    """Whether everything is there after a close and the end of the process."""
    found = suffer(bench, Crash((*STORY.split(), "close")))
    return found is not None and found.right


def evenly(candidates: Sequence[T], number: int, seed: int) -> list[T]:
    """Choose so many of the candidates, at even distances; the seed decides where to begin."""
    if len(candidates) <= number:
        return list(candidates)
    begin = random.Random(seed).random()
    return [candidates[int((index + begin) * len(candidates) / number)] for index in range(number)]


def shortened(bench: Bench, found: Account, broken: Callable[[Account], object]) -> Account:
    """Leave out operations as long as the same thing goes wrong.

    Args:
        bench: whose queue it is.
        found: what went wrong.
        broken: tells what is wrong, in a form that can be compared.
    """
    wrong, replays = broken(found), 60
    size = max(1, len(found.crash.operations) // 2)
    while size and found.look.symptom != "hung":
        start = len(found.crash.operations) - 1 - size
        while start > 0 and replays > 0:
            replays -= 1
            operations = found.crash.operations[:start] + found.crash.operations[start + size :]
            again = suffer(bench, Crash(operations, found.crash.kill))
            if again is not None and broken(again) == wrong:
                found = again
            start -= size
        size //= 2
    return found
