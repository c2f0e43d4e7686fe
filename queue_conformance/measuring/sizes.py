"""What an implementation costs as it grows: measured size after size, beside others, in processes of their own.

Nothing here passes or fails. Each size is measured in a fresh process and an empty directory, and the implementations in turn
at each size, so that what else the machine does meets them alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count, takewhile
from time import monotonic
from typing import Any, Protocol

from queue_conformance.config.targets import Target
from queue_conformance.config.values import AXES, is_address
from queue_conformance.discovery.record import Discovery
from queue_conformance.discovery.stages import discover
from queue_conformance.engine.growth import Growth
from queue_conformance.engine.registry import has_part, part_of
from queue_conformance.implementation.loading import LoadError
from queue_conformance.measuring.step import Measured as Measured
from queue_conformance.measuring.step import measured
from queue_conformance.measuring.together import COUNTS, measured_together
from queue_conformance.processes import process
from queue_conformance.processes.endings import Abort
from queue_conformance.processes.stopwatch import RunTime
from queue_conformance.running.contexts import RunConfig, in_context, run_blaming

STEP = 4
"""How many times as large the next size is."""


class Measurable(Protocol):
    """One implementation that can be measured."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def axes(self) -> Sequence[str]:
        """What there may be more and more of."""

    def measure(self, axis: str, size: int, seconds: float) -> Measured | str:
        """Return what it costs at one size, or say why that is not known; in so many seconds at most."""


@dataclass(frozen=True)
class Subject:
    """One implementation that is measured from the process in which it is imported.

    Attributes:
        name: what it is called: its dotted path.
        discovery: what is known of it.
        config: how it is run.
        cls: its class, or ``None`` to import it.
    """

    name: str
    discovery: Discovery
    config: RunConfig
    cls: type[Any] | None = None

    @property
    def axes(self) -> Sequence[str]:
        """What there may be more and more of."""
        growth: type[Growth] = part_of(self.discovery.kind, "growth").Growth
        found = self.discovery.found
        together = growth.shared and process.AVAILABLE and (found.shared or found.shared_storage)
        return [*growth.axes, *(["processes"] if together else [])]

    def measure(self, axis: str, size: int, seconds: float) -> Measured | str:
        """Measure one size, or say how that ended."""
        discovery = self.discovery
        config = replace(self.config, server=discovery.server, time_limit=seconds, run_time=RunTime.from_now(seconds))
        look = partial(measured_together, self.name, size) if axis == "processes" else partial(measured, self.name, axis, size)

        def alone(watchdog: Any) -> Measured | str:
            watchdog.enter(f"growing to {size} {axis}", "")
            try:
                ended = in_context(discovery.implementation(self.cls), replace(config, in_process=True), look)
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


def prepare(target: Target, config: RunConfig, cls: type[Any] | None = None) -> Subject:
    """Find out what an implementation is.

    Args:
        target: what to measure.
        config: how it is run.
        cls: its class, or ``None`` to import it.

    Raises:
        LoadError: if it cannot be used, or its kind cannot be measured; the message is one line.
    """
    _expect_lent(target, target.server)
    config = replace(config, server=target.server)
    found = discover(target.path, target.settings, target.claims, config, target.option, cls)
    _expect_lent(target, found.server)
    if not found.usable:
        raise LoadError(f"{target.path} cannot be measured: {found.unusable}; test it first")
    if not has_part(found.kind, "growth"):
        raise LoadError(f"{target.path} is {found.kind.one}, which cannot be measured yet")
    return Subject(target.name, found, config, cls)


def _expect_lent(target: Target, server: str) -> None:
    if is_address(server):
        raise LoadError(f"{target.path}: what {server} holds would be measured, too; name a server that the kit starts")


def measure(subjects: Sequence[Measurable], *, up_to: int, seconds: float, axes: Sequence[str] = ()) -> Iterator[Measured | str]:
    """Measure implementations in turn, size after size, until the time is over.

    Args:
        subjects: what to measure.
        up_to: the largest size.
        seconds: how long all may take; each axis gets an equal part of what remains.
        axes: what grows, all that their kinds know if none is named.

    Yields:
        What one implementation costs at one size, or a line that says what is not measured and why.
    """
    ends = monotonic() + seconds
    known = dict.fromkeys(axis for subject in subjects for axis in subject.axes)
    chosen = [axis for axis in known if not axes or axis in axes]
    for axis in axes:
        if axis not in chosen:
            yield f"{axis}: none of these classes grows by that; they grow by {', '.join(known)}"
    for place, axis in enumerate(chosen):
        share = monotonic() + max(0.0, ends - monotonic()) / (len(chosen) - place)
        yield from _along(axis, [one for one in subjects if axis in one.axes], up_to, share)


def _along(axis: str, subjects: Sequence[Measurable], up_to: int, ends: float) -> Iterator[Measured | str]:
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
            found = subject.measure(axis, size, max(30.0, ends - begun))
            took = monotonic() - begun
            if isinstance(found, str):
                left.remove(subject)
                yield f"{subject.name}: nothing from {size:,} {axis} on: it {found}"
            else:
                expected[subject.name] = took + (STEP - 1) * found.took
                yield found


def _sizes(axis: str, up_to: int) -> list[int]:
    """Return the sizes, the largest one as it was asked for."""
    if axis == "processes":
        return [count for count in COUNTS if count <= up_to]
    sizes = takewhile(lambda size: size < up_to, (AXES[axis] * STEP**power for power in count()))
    return [*sizes, up_to]
