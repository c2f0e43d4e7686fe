"""What an implementation costs as it grows: measured size after size, beside others, in processes of their own.

Nothing here passes or fails. Each size is measured in a fresh process and an empty directory, and the implementations in turn
at each size, so that what else the machine does meets them alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from itertools import count, takewhile
from time import monotonic
from typing import Any

from queue_conformance.config.targets import Target
from queue_conformance.discovery.loading import LoadError
from queue_conformance.engine.registry import part_of
from queue_conformance.measuring.step import Measured as Measured
from queue_conformance.measuring.step import measured
from queue_conformance.processes.isolation import Abort
from queue_conformance.processes.stopwatch import RunTime
from queue_conformance.running.contexts import RunConfig, in_context, run_blaming
from queue_conformance.running.discovery import Discovery, discover

SMALLEST = 1000
"""The first size, of what crawls have by thousands: requests."""

FEWEST = 64
"""The first size of what they have fewer of: hosts, and priorities."""

STEP = 4
"""How many times as large the next size is."""


@dataclass(frozen=True)
class Subject:
    """One implementation that is measured.

    Attributes:
        name: what it is called: its dotted path.
        discovery: what is known of it.
    """

    name: str
    discovery: Discovery

    @property
    def axes(self) -> tuple[str, ...]:
        """What there may be more and more of."""
        axes: tuple[str, ...] = part_of(self.discovery.kind, "growth").Growth.axes
        return axes


def prepare(targets: Sequence[Target], config: RunConfig) -> list[Subject]:
    """Find out what the implementations are.

    Args:
        targets: what to measure.
        config: how they are run.

    Raises:
        LoadError: if one of them cannot be used, or its kind cannot be measured; the message is one line.
    """
    subjects = []
    for target in targets:
        config = replace(config, server=target.server)
        found = discover(target.path, target.settings, target.claims, config, target.option)
        if not found.usable:
            raise LoadError(f"{target.path} cannot be measured: {found.unusable}; test it first")
        if find_spec(f"{found.kind.folders[0]}.growth") is None:
            raise LoadError(f"{target.path} is a {found.kind.words}, which cannot be measured yet")
        subjects.append(Subject(target.name, found))
    return subjects


def measure(
    subjects: Sequence[Subject], config: RunConfig, *, up_to: int, seconds: float, axes: Sequence[str] = ()
) -> Iterator[Measured | str]:
    """Measure implementations in turn, size after size, until the time is over.

    Args:
        subjects: what to measure.
        config: how they are run.
        up_to: the largest size.
        seconds: how long all may take; each axis gets an equal part of what remains.
        axes: what grows, all that their kinds know if none is named.

    Yields:
        What one implementation costs at one size, or a line that says what is not measured and why.
    """
    ends = monotonic() + seconds
    chosen = dict.fromkeys(axis for subject in subjects for axis in subject.axes if not axes or axis in axes)
    for place, axis in enumerate(chosen):
        share = monotonic() + max(0.0, ends - monotonic()) / (len(chosen) - place)
        yield from _along(axis, [one for one in subjects if axis in one.axes], config, up_to, share)


def _along(axis: str, subjects: Sequence[Subject], config: RunConfig, up_to: int, ends: float) -> Iterator[Measured | str]:
    left = list(subjects)
    expected = dict.fromkeys((subject.name for subject in subjects), 0.0)
    for size in _sizes(axis, up_to):
        for subject in [*left]:
            if monotonic() + expected[subject.name] > ends:
                left.remove(subject)
                wanted = f"would take {expected[subject.name]:.0f} s, more than is left"
                yield f"{subject.name}: nothing from {size:,} {axis} on: it {wanted}"
                continue
            begun = monotonic()
            found = _step(subject, axis, size, config, max(30.0, ends - begun))
            took = monotonic() - begun
            if isinstance(found, str):
                left.remove(subject)
                yield f"{subject.name}: nothing from {size:,} {axis} on: it {found}"
            else:
                expected[subject.name] = took + (STEP - 1) * found.took
                yield found


def _sizes(axis: str, up_to: int) -> list[int]:
    """Return the sizes, the largest one as it was asked for."""
    smallest = FEWEST if axis in ("hosts", "priorities") else SMALLEST
    sizes = takewhile(lambda size: size < up_to, (smallest * STEP**power for power in count()))
    return [*sizes, up_to]


def _step(subject: Subject, axis: str, size: int, config: RunConfig, seconds: float) -> Measured | str:
    """Measure one size, or say how that ended."""
    discovery = subject.discovery
    config = replace(config, server=discovery.server, time_limit=seconds, run_time=RunTime.from_now(seconds))

    def alone(watchdog: Any) -> Measured | str:
        watchdog.enter(f"growing to {size} {axis}", "")
        try:
            ended = in_context(
                discovery.implementation(), replace(config, in_process=True), partial(measured, subject.name, axis, size)
            )
        except LoadError as error:  # what the class raised
            return str(error).partition(": it ")[2].replace(" where nothing was called", "")
        finally:
            watchdog.leave()
        assert not isinstance(ended, Abort)
        return ended.value

    try:
        ended = run_blaming(discovery.path, alone, config)
    except LoadError as error:
        return str(error).partition(": it ")[2] or str(error)
    return ended.how if isinstance(ended, Abort) else ended.value
