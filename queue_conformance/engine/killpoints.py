"""Where a crash sweep kills: the ends of operations, lines of the implementation, sizes of files; chosen from rehearsals."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, TypeVar

from queue_conformance.engine.outcomes import NotCovered

T = TypeVar("T")

LONG = 100
"""Operations from which a workload is killed at its end alone, or before lines that no shorter one reaches."""


KILL = "kill"
"""What a workload says for SIGKILL: what follows runs in another process, which opens first."""


class Operation(NamedTuple):
    """One operation of a workload.

    Attributes:
        name: ``push`` of ``push:12``.
        number: 12 of that: the item that it puts; ``None`` of an operation that puts none.
    """

    name: str
    number: int | None = None


Workload = tuple[Operation, ...]


def operations_of(workload: str) -> Workload:
    """Read a workload: operations separated by blanks."""
    pairs = (word.partition(":") for word in workload.split())
    return tuple(Operation(name, int(number) if number else None) for name, _, number in pairs)


def lives_of(operations: Workload) -> list[Workload]:
    """Split a workload into what runs in one process each: where it says ``kill``, the next one opens instead."""
    lives: list[Workload] = [()]
    for operation in operations:
        if operation.name == KILL:
            lives.append((Operation("open"),))
        else:
            lives[-1] = (*lives[-1], operation)
    return lives


class When(StrEnum):
    """Where in the last operation of a workload the child is killed."""

    AFTER = "after it"
    LINE = "before its line"
    BYTE = "when a file reaches the size"
    TORN = "after it, and what it appended is cut at the size"


@dataclass(frozen=True, slots=True)
class Kill:
    """A kill point.

    Attributes:
        when: where it is.
        number: of the line, counted from the beginning of the operation from 1; or the size in bytes.
        file: what is cut, relative to the scratch directory; nothing if it is empty.
        undo: whether the other files are as they were before; nobody knows in which order files are written.
    """

    when: When = When.AFTER
    number: int = 0
    file: str = ""
    undo: bool = False

    def __str__(self) -> str:
        return f"SIGKILL {self.when}{'' if self.when is When.AFTER else f' {self.number}'}"


@dataclass(frozen=True, slots=True)
class Crash:
    """Operations, the last of which is killed."""

    operations: Workload
    kill: Kill = field(default_factory=Kill)


@dataclass(slots=True)
class Passed:
    """What an operation does when nothing kills it.

    Attributes:
        grown: the files that it makes longer, with their sizes before and after.
        appended: those of them that it changes nowhere else.
        changed: the numbers of the lines, counted from 1, before which files were changed; ``None`` if nobody looked. A kill
            before another line leaves what the one before it has left.
    """

    lines: list[tuple[str, int]] = field(default_factory=list)
    grown: dict[str, tuple[int, int]] = field(default_factory=dict)
    appended: list[str] = field(default_factory=list)
    changed: set[int] | None = None


Rehearsal = Sequence[Passed]
"""What the operations of a workload do; those from one on that raises are not there."""


def plan(
    workloads: Sequence[Workload],
    rehearse: Callable[[Workload], Rehearsal],
    ways: Set[When],
    points: int,
    seed: int,
    rare: int = 0,
) -> list[Crash]:
    """Choose about so many kill points, of which the simplest come first.

    Args:
        rare: how many of them are before lines that only long workloads reach, which are not rehearsed without.
    """
    short = [operations for operations in workloads if len(operations) <= LONG]
    planned: list[Crash] = []
    if When.AFTER in ways:
        ends = [Crash(ran[:end]) for ran in short for end in range(1, len(ran)) if ran[end - 1].name != KILL]
        planned += [*evenly(ends, points // 4, seed), *(Crash(operations) for operations in workloads)]
    rehearsals = [rehearse(operations) for operations in short] if ways != {When.AFTER} else []
    if When.LINE in ways:
        planned += _at_lines(short, rehearsals, points // 2, seed)
        if rare and (long := [operations for operations in workloads if len(operations) > LONG]):
            reached = {line for rehearsal in rehearsals for passed in rehearsal for line in passed.lines}
            planned += _at_lines(long, [rehearse(operations) for operations in long], rare, seed, reached)
    if When.BYTE in ways:
        planned += evenly(list(_at_bytes(short, rehearsals)), points // 4, seed)
    if When.TORN in ways:
        planned += _torn(short, rehearsals, points, seed)
    return planned


def _at_lines(
    workloads: Sequence[Workload],
    rehearsals: Sequence[Rehearsal],
    number: int,
    seed: int,
    reached: Set[tuple[str, int]] = frozenset(),
) -> list[Crash]:
    """Choose so many crashes before lines that others have not reached: each one of each kind of operation once, then again."""
    chosen = random.Random(seed)
    places: dict[tuple[str, tuple[str, int]], list[Crash]] = {}
    for operations, rehearsal in zip(workloads, rehearsals, strict=True):
        for end, passed in enumerate(rehearsal):
            for count, line in enumerate(passed.lines, 1):
                if line in reached or (passed.changed is not None and count not in passed.changed):
                    continue
                crash = Crash(operations[: end + 1], Kill(When.LINE, count))
                places.setdefault((operations[end].name, line), []).append(crash)
    for crashes in places.values():
        chosen.shuffle(crashes)
    first = [crashes.pop() for crashes in places.values()]
    again = itertools.chain(*itertools.zip_longest(*places.values()))
    more = itertools.islice((crash for crash in again if crash is not None), max(0, number - len(first)))
    return sorted([*evenly(first, number, seed), *more], key=lambda crash: len(crash.operations))


def _at_bytes(workloads: Sequence[Workload], rehearsals: Sequence[Rehearsal]) -> Iterator[Crash]:
    """Yield crashes in the middle of writes, where anything writes files; a write may be put off until another operation."""
    if not any(passed.grown for rehearsal in rehearsals for passed in rehearsal):
        return
    for operations, rehearsal in zip(workloads, rehearsals, strict=True):
        for end, passed in enumerate(rehearsal):
            for start, size in passed.grown.values() or ((0, 1), (600, 601)):
                for number in evenly(range(start, size), 16, end):
                    yield Crash(operations[: end + 1], Kill(When.BYTE, number))


EDGE = 6
"""The first and last sizes at which each write is cut."""


def _torn(workloads: Sequence[Workload], rehearsals: Sequence[Rehearsal], number: int, seed: int) -> Iterator[Crash]:
    """Yield crashes that cut what the last operation of a workload appended: all sizes, or the first and last and some others."""
    files = [
        (operations, name, range(*rehearsal[-1].grown[name]))
        for operations, rehearsal in zip(workloads, rehearsals, strict=True)
        for name in (rehearsal[-1].appended if len(rehearsal) == len(operations) else ())
    ]
    if not files:
        raise NotCovered("no file is only appended to")
    for operations, name, sizes in files:
        most = number // len(files)
        between = evenly(sizes[EDGE:-EDGE], most - 2 * EDGE, seed)
        for size in sizes if len(sizes) <= most else sorted({*sizes[:EDGE], *between, *sizes[-EDGE:]}):
            yield Crash(operations, Kill(When.TORN, size, name, undo=True))


def evenly(candidates: Sequence[T], number: int, seed: int) -> list[T]:
    """Choose so many of the candidates, at even distances; the seed decides where to begin."""
    if len(candidates) <= number:
        return list(candidates)
    begin = random.Random(seed).random()
    return [candidates[int((index + begin) * len(candidates) / number)] for index in range(number)]
