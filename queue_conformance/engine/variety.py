"""What items differ in besides their numbers: a failure that plain items do not show names the field that matters."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product

COLUMNS = 5
"""Fields of which many items have each combination."""


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
        others: how its other values are written, by the name of a field that may have several.
    """

    sources: Mapping[str, str] = field(default_factory=dict)
    shapes: Sequence[Sequence[str]] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    parts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    others: Mapping[str, Sequence[str]] = field(default_factory=dict)

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
        alone = [one for name in self.fields for one in (*self._parts_of(name), name)]
        return [(), *((one,) for one in alone), *self.pairs]

    def _parts_of(self, name: str) -> list[Part]:
        """Return what has a part of a field, or one of the values that it may have."""
        values = self.values_of(name) if name in self.others else []
        return [Part(name, source) for source in (*self.parts.get(name, ()), *values)]

    def pairs_of(self, names: Iterable[str]) -> list[tuple[str, ...]]:
        """Return the pairs of some fields, each with one value of those that may have several."""
        return [pair for one, other in combinations(names, 2) for pair in product(self._by_value(one), self._by_value(other))]

    def mixed(self, names: Iterable[str], varied: Collection[str]) -> list[dict[str, str]]:
        """Return the sources of the fields that many items have in turn, of some that items vary in.

        Of few fields each combination is there; of more, any three are and are not there in all eight ways: the rows are an
        orthogonal array. Which value the fields have that may have several counts as one field.
        """
        own = {name: self.values_of(name) for name in varied}
        given = [(name, own[name]) for name in names if name in own]
        columns = len(given) + any(len(values) > 1 for _, values in given)
        assert columns <= 2 ** (COLUMNS - 1), "no more fields than the array has columns"

        def has(row: int, column: int) -> int:
            bit = 1 << column if columns <= COLUMNS else 2 ** (COLUMNS - 1) | column
            return (row & bit).bit_count() & 1

        return [
            {name: values[has(row, len(given)) % len(values)] for column, (name, values) in enumerate(given) if has(row, column)}
            for row in range(2 ** min(columns, COLUMNS))
        ]

    def values_of(self, name: str) -> list[str]:
        """Return how the values of a field are written: of a part, that alone."""
        return [name.source] if isinstance(name, Part) else [self.sources[name], *self.others.get(name, ())]

    def _by_value(self, name: str) -> list[Part]:
        """Return what has each of the values of a field."""
        return [Part(name, value) for value in self.values_of(name)]

    def told(self, name: str) -> str:
        """Return what a report calls a field."""
        return self.names.get(name, self.values_of(name)[0])

    def written(self, names: Iterable[str], varied: Collection[str], turn: int = 0) -> dict[str, str]:
        """Return the sources of some fields, of those that items vary in: each turn has another of their values."""
        own = [(name, self.values_of(one)) for name in names for one in varied if one == name]
        return {name: values[turn % len(values)] for name, values in own}

    def of(self, number: int, varied: Collection[str]) -> dict[str, str]:
        """Return the sources of the fields of the item of a number, if items vary in them."""
        turn, place = divmod(number, self.period) if self.sources else (0, 0)
        alone = place - len(self.shapes)
        names = self.shapes[place] if alone < 0 and self.shapes else self.fields[alone : alone + 1]
        return self.written(names, varied, turn)
