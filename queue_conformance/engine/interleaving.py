"""The interleaving sweep: one process stands still in the midst of an operation, and another one does all of its own.

Where the crash sweep kills, another process goes on instead. There is no luck in it: each place of an operation is one case, on a
fresh store, whatever the machine is busy with. A kind says which operations meet, and how one is done; its check is a case of

    @check("queue.shared.once", between=[interleavings])
    def each_item_comes_once_whatever_is_in_between(cls, open_queue, factory, between):
        with elsewhere(use_queue, factory, between.theirs) as other:
            queue = open_queue(holding=between.holding)
            with in_between(cls, between.number, other):
                queue.pop()
            ...
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any, Literal

from queue_conformance.engine.blocks import MayRaise
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.fixtures import block, operation
from queue_conformance.engine.killpoints import evenly
from queue_conformance.engine.outcomes import NotCovered
from queue_conformance.engine.recording import OperationRaised
from queue_conformance.script_support import interleaving

CASES = 160
"""Cases of a sweep, for a hundred examples."""

FEWEST = 8
"""Cases of a sweep, however few examples are asked for."""

SECONDS = 60.0
"""Seconds for a hundred examples; then no further case begins."""

STALL = 0.5
"""Seconds for which others must wait for a process that stands still in the midst of an operation."""


@dataclass(frozen=True, slots=True)
class Between:
    """A case: what one process does, and what another one does before a step of that.

    Attributes:
        mine: the operation that stands still.
        theirs: the operation of the other process.
        holding: the numbers of the items that are stored before.
        number: the step, counted from 1.
        where: all that, in words.
    """

    mine: str
    theirs: str
    holding: Sequence[int] = ()
    number: int = 0
    where: str = ""

    def stored(self, by: str, mine: int, theirs: int) -> list[int]:
        """Return the numbers of all that is stored: before, and by those of the two processes whose operation is ``by``."""
        return [*self.holding, *([mine] if self.mine == by else []), *([theirs] if self.theirs == by else [])]


Traced = Callable[[Callable[[], object]], None]
"""Calls an operation, and notes where it comes by."""

Operate = Callable[[CheckContext, Between, Traced], None]
"""Does what the first operation of a pair needs, and lets that be called."""


def cases_between(context: CheckContext, pairs: Sequence[Between], operate: Operate) -> Iterator[Between]:
    """Yield the cases of some pairs of operations, until one fails: first those that have a call of the system before them.

    Raises:
        NotCovered: if no operation has a place in its midst, as where the class is no Python.
    """
    places = [_places(context, pair, operate) for pair in pairs]
    if all(len(cases) < 2 for cases in places):  # their ends alone
        raise NotCovered("no operation can be stopped in its midst: its lines are not Python, or it fails where nobody else is")
    found = [case for cases in places for case in cases]
    first, others = ([case for case, changed in found if changed is wanted] for wanted in (True, False))
    number = max(FEWEST, CASES * context.examples // 100)
    chosen = evenly(first, number, context.seed)
    chosen += evenly(others, number - len(chosen), context.seed)
    for case in context.each("interleavings", chosen, SECONDS, FEWEST, context.examples / 100):
        if context.failed:
            return
        yield case


def _places(context: CheckContext, pair: Between, operate: Operate) -> list[tuple[Between, bool]]:
    """Return the cases of a pair, each with whether the operation called the system since the one before.

    They are each place where it can stand still, once, and the end of it.
    """
    passed: list[tuple[tuple[str, int, int], str, bool]] = []
    modules = {base.__module__ for base in context.implementation.cls.__mro__[:-1]}

    def reached(frame: FrameType, called: bool) -> None:
        caller: FrameType | None = frame
        while caller is not None and caller.f_globals.get("__name__") not in modules:
            caller = caller.f_back
        file, line = (caller or frame).f_code.co_filename, (caller or frame).f_lineno
        where = f"{'before' if caller in (None, frame) else 'within'} line {line} of {os.path.basename(file)}"
        passed.append(((frame.f_code.co_filename, frame.f_lineno, frame.f_lasti), where, called))

    def traced(function: Callable[[], object]) -> None:
        interleaving.trace_steps(context.implementation.cls, reached)
        try:
            function()
        finally:
            interleaving.untrace()

    context.restart()
    try:
        operate(context, pair, traced)
    except OperationRaised:  # though nobody else is there: that is for other checks
        return []
    finally:
        context.restart()
    told = f"another process does {pair.theirs}"
    places: dict[tuple[str, int, int], tuple[Between, bool]] = {}
    for number, (place, where, called) in enumerate(passed, 1):
        places.setdefault(place, (replace(pair, number=number, where=f"{told} {where}"), called or number == 1))
    return [*places.values(), (replace(pair, number=len(passed) + 1, where=f"{told} after {pair.mine}"), True)]


class Undelayed(MayRaise):
    """``with undelayed(other)``: what the other process has done; no exception, unless this one stood still for too long."""

    def __init__(self, other: Any) -> None:
        self._stood = other.stood
        super().__init__(when=self._stood > STALL)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> Literal[False]:
        if super().__exit__(kind, error, trace):
            raise NotCovered(f"this machine is too slow: an operation stood still for {self._stood:.1f} s")
        return False


undelayed = Undelayed


elsewhere = block(interleaving.elsewhere)
in_between = block(interleaving.in_between)
step = operation(interleaving.step, timed=False)
finished = operation(interleaving.finished, timed=False)
