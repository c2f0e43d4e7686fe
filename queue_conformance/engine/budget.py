"""The time that the loops of a check have, where the operations of a class are slow."""

from __future__ import annotations

import math
from dataclasses import dataclass

ORDINARY = 0.005
"""Seconds that an operation may take, and nothing is cut short; what is written to a disk or a server takes less."""

USUAL_RUN = 180.0
"""Seconds of a run for which budgets are cut, unless it was given more."""

IN_ALL = 30.0
"""Seconds after which a check looks for no shorter form of any failure."""

LIMITLESS = 10**9
"""Operations of a loop that is not cut short."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How much of its usual time a loop has.

    Attributes:
        cost: seconds that one operation takes, as discovery has measured; 0.0 if it has not.
        run_time: seconds that the run may take, or infinity if nobody said.
    """

    cost: float = 0.0
    run_time: float = math.inf

    @property
    def share(self) -> float:
        """The share of its usual time that a loop has."""
        longer = self.run_time / USUAL_RUN if math.isfinite(self.run_time) else 1.0
        return min(1.0, max(1.0, longer) * ORDINARY / self.cost) if self.cost > ORDINARY else 1.0

    @property
    def short(self) -> bool:
        """Whether loops have less than their usual time."""
        return self.share < 1.0

    def seconds(self, usual: float) -> float:
        """Return the seconds that a loop has which has so many with an ordinary class."""
        return usual * self.share

    def calls(self, seconds: float) -> int:
        """Return how many operations a loop has time for which has so many seconds with an ordinary class."""
        return int(self.seconds(seconds) / self.cost) if self.share < 1.0 else LIMITLESS

    @property
    def more(self) -> str:
        """What to say for the usual time, as the end of a line, or ``""``."""
        if self.share == 1.0:
            return ""
        return f"; --conformance-time={math.ceil(USUAL_RUN * self.cost / ORDINARY / 60)}m gives it more time"


class Costs:
    """What the operations of a class cost, and a check on it.

    Attributes:
        shortening: the seconds in which shorter forms of failures were looked for.
    """

    def __init__(self) -> None:
        self.shortening = 0.0
        self._fastest: dict[str, tuple[int, float]] = {}

    def add(self, rule: str, seconds: float) -> None:
        """Add an operation on a rule, and how long it took."""
        count, least = self._fastest.get(rule, (0, math.inf))
        self._fastest[rule] = count + 1, min(least, seconds)

    def left(self, usual: float) -> float:
        """Return the seconds in which a shorter form of one failure is looked for, of so many."""
        return min(usual, IN_ALL - self.shortening)

    @property
    def mean(self) -> float:
        """Seconds that an operation takes, where nothing holds it up; 0.0 if nothing was done twice.

        Of those on one rule the fastest counts: others may have waited for the machine, or done what is done once.
        """
        repeated = [(count, least) for count, least in self._fastest.values() if count > 1]
        return sum(count * least for count, least in repeated) / max(1, sum(count for count, _ in repeated))
