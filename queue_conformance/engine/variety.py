"""What items differ in besides their numbers: a failure that plain items do not show names the field that matters."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations


@dataclass(frozen=True)
class Variety:
    """The fields that items may have.

    Attributes:
        sources: by the name of each field, how it is written.
        shapes: the fields of the items with the lowest numbers, several together; of those that follow each has one, in turn.
        names: what a report calls those whose source does not say what they are.
    """

    sources: Mapping[str, str] = field(default_factory=dict)
    shapes: Sequence[Sequence[str]] = ()
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of all fields."""
        return tuple(self.sources)

    @property
    def period(self) -> int:
        """After so many numbers the fields begin again."""
        return len(self.shapes) + len(self.sources)

    @property
    def pairs(self) -> tuple[tuple[str, ...], ...]:
        """Two fields that an item has together, each such pair."""
        return tuple(pair for shape in self.shapes for pair in combinations(shape, 2))

    def told(self, name: str) -> str:
        """Return what a report calls a field."""
        return self.names.get(name, self.sources[name])

    def of(self, number: int, varied: Collection[str]) -> dict[str, str]:
        """Return the sources of the fields of the item of a number, if items vary in them."""
        place = number % self.period if self.sources else 0
        alone = place - len(self.shapes)
        names = self.shapes[place] if alone < 0 and self.shapes else self.fields[alone : alone + 1]
        return {name: self.sources[name] for name in names if name in varied}
