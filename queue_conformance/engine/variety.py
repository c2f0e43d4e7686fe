"""What items differ in besides their numbers: a failure that plain items do not show names the field that matters."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations


class Part(str):
    """A field in which items have a part of what they usually have in it; it has the name of the whole field.

    Attributes:
        source: how the part is written.
    """

    source: str

    def __new__(cls, name: str, source: str) -> Part:
        """Make one of the name of a field."""
        made = super().__new__(cls, name)
        made.source = source
        return made

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]
        """Return what a copy is made of."""
        return str(self), self.source


@dataclass(frozen=True)
class Variety:
    """The fields that items may have.

    Attributes:
        sources: by the name of each field, how it is written.
        shapes: the fields of the items with the lowest numbers, several together; of those that follow each has one, in turn.
        names: what a report calls those whose source does not say what they are.
        parts: how the parts of a field that holds several things are written, by its name.
    """

    sources: Mapping[str, str] = field(default_factory=dict)
    shapes: Sequence[Sequence[str]] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    parts: Mapping[str, Sequence[str]] = field(default_factory=dict)

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

    @property
    def fewer(self) -> list[tuple[str, ...]]:
        """What items may differ in, from nothing on: one field, of which a part comes first, and two."""
        alone = [one for name in self.fields for one in (*(Part(name, part) for part in self.parts.get(name, ())), name)]
        return [(), *((one,) for one in alone), *self.pairs]

    def told(self, name: str) -> str:
        """Return what a report calls a field."""
        return self.names.get(name, self._source(name))

    def written(self, names: Iterable[str], varied: Collection[str]) -> dict[str, str]:
        """Return the sources of some fields, of those that items vary in."""
        own = {name: self._source(name) for name in varied}
        return {name: own[name] for name in names if name in own}

    def _source(self, name: str) -> str:
        return name.source if isinstance(name, Part) else self.sources[name]

    def of(self, number: int, varied: Collection[str]) -> dict[str, str]:
        """Return the sources of the fields of the item of a number, if items vary in them."""
        place = number % self.period if self.sources else 0
        alone = place - len(self.shapes)
        names = self.shapes[place] if alone < 0 and self.shapes else self.fields[alone : alone + 1]
        return self.written(names, varied)
