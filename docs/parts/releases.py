"""The history of releases, from the committed verdicts that ``make releases`` writes."""

from __future__ import annotations

import itertools
import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from parts.matrix import COLOURS, SIGNS, failed, level
from parts.rules import link
from parts.words import CLOSED, classed, opened
from queue_conformance.specification import Level, load
from queue_conformance.specification.pairs import measured
from queue_conformance.specification.words import LIBRARIES

HERE = Path(__file__).parent.parent / "releases"
SCRIPTS = HERE / "scripts.json"
TABLE: Mapping[str, Mapping[str, list[str]]] = tomllib.loads((HERE / "releases.toml").read_text("utf-8"))
"""By library the releases, the oldest first, and what is installed beside each."""


@dataclass(frozen=True, order=True)
class Change:
    """A rule that an implementation fails in one release and not in the next one, or the other way round."""

    library: str
    implementation: str
    rule: str
    before: str
    after: str
    broke: bool

    @property
    def failed(self) -> str:
        """The release that fails."""
        return self.after if self.broke else self.before

    @property
    def key(self) -> str:
        """What its script is kept under."""
        return f"{self.implementation} {self.rule} {self.failed}"


def file_of(library: str, release: str) -> Path:
    """Return where the verdicts of a release are kept."""
    return HERE / "verdicts" / f"{library}-{release}.json"


@cache
def releases_of(library: str) -> Mapping[str, Mapping[str, Any]]:
    """Return by release, the oldest first, its implementations by name; releases that were not tested are left out."""
    files = {release: file_of(library, release) for release in TABLE[library]}
    read = {release: json.loads(file.read_text("utf-8")) for release, file in files.items() if file.exists()}
    return {release: {one["name"]: one for one in found["implementations"]} for release, found in read.items()}


def verdict(library: str, release: str, implementation: str, rule: str) -> str:
    """Return the verdict of a release on a rule; ``""`` if the implementation, or the rule, is not there."""
    found = releases_of(library)[release].get(implementation, {"rules": {}})
    return next((verdict for verdict, rules in found["rules"].items() if rule in rules), "")


def changes() -> list[Change]:
    """Return all changes from passed to failed and back, between neighbours that were tested."""
    return sorted(change for library in TABLE for change in _changes(library))


def _changes(library: str) -> Iterator[Change]:
    releases = list(releases_of(library))
    for implementation, rule in _failed(library):
        for before, after in itertools.pairwise(releases):
            two = [verdict(library, release, implementation, rule) for release in (before, after)]
            if set(two) == {"passed", "failed"}:
                yield Change(library, implementation, rule, before, after, two[1] == "failed")


def _failed(library: str) -> list[tuple[str, str]]:
    """Return the implementations with the rules that they fail in any release, in the order of the specification."""
    found = {
        (name, rule)
        for implementations in releases_of(library).values()
        for name, one in implementations.items()
        for rule in one["rules"].get("failed", ())
        if rule in load()
    }
    order = list(load())
    return sorted(found, key=lambda pair: (pair[0], order.index(pair[1])))


# --- Parts of the page -----------------------------------------------------------------------------------------------


def regressions() -> str:
    """Return what a release broke that the one before it did right."""
    broke = sorted((change for change in changes() if change.broke), key=lambda change: (_level(change), change))
    if not broke:
        return "No rule that one of these releases passes fails in the next one."
    rows = [
        f"| {link(one.rule, 'rules/')} | {_classed(_level(one))} | `{one.implementation}` | {one.before} | {one.after} |"
        for one in broke
    ]
    head = ["| rule | level | implementation | passes | fails |", "|---|---|---|---|---|"]
    return "\n".join([*opened("matrix"), *head, *rows, CLOSED])


def pairs() -> str:
    """Return which releases of Scrapy work with which ones of Twisted."""
    found = dict(reversed(measured().items()))
    twisted = list(next(iter(found.values())))
    head = [f"| Scrapy | {' | '.join(f'Twisted {one}' for one in twisted)} |", f"|---|{':-:|' * len(twisted)}"]
    rows = [f"| {scrapy} | {' | '.join('yes' if row[one] else '**no**' for one in twisted)} |" for scrapy, row in found.items()]
    return "\n".join([*head, *rows])


def tables() -> str:
    """Return for each library the verdicts of its releases, and each rule that one of them fails."""
    lines: list[str] = []
    for library in TABLE:
        if releases_of(library):
            lines += [f"## {LIBRARIES.get(library, library)}", "", *_verdicts(library), "", *_rules(library), ""]
    return "\n".join(lines)


def scripts() -> str:
    """Return what shows each change."""
    known = json.loads(SCRIPTS.read_text("utf-8")) if SCRIPTS.exists() else {}
    lines: list[str] = []
    for one in changes():
        passed = one.before if one.broke else one.after
        lines += [f"`{one.implementation}` and {link(one.rule, 'rules/')}: fails in {one.failed}, passes in {passed}.", ""]
        if script := known.get(one.key):
            lines += ["```python", script.rstrip(), "```", ""]
    return "\n".join(lines)


def _level(change: Change) -> str:
    return level(releases_of(change.library)[change.failed][change.implementation], change.rule)


def _classed(level: str, same: bool = False) -> str:
    """Return a level by which the page can be filtered, and by whether all releases fail alike."""
    return classed(level, f"{level.lower()}{' same' if same else ''}")


def _verdicts(library: str) -> Iterator[str]:
    releases = _newest_first(library)
    names = dict.fromkeys(name for implementations in releases.values() for name in implementations)
    yield from opened("matrix")
    yield f"| implementation | {' | '.join(releases)} |"
    yield f"|---|{':-:|' * len(releases)}"
    for name in names:
        yield f"| `{name}` | {' | '.join(_summary(found.get(name)) for found in releases.values())} |"
    yield CLOSED


def _newest_first(library: str) -> Mapping[str, Mapping[str, Any]]:
    return dict(reversed(releases_of(library).items()))


def _summary(found: Mapping[str, Any] | None) -> str:
    """Return whether an implementation conforms, and the number of MUST and SHOULD rules that it fails."""
    if found is None:
        return " "
    counts = "/".join(str(failed(found).count(level)) for level in (Level.MUST, Level.SHOULD))
    return classed(counts, COLOURS.get(found["verdict"], "uncertain"))


def _rules(library: str) -> Iterator[str]:
    releases = _newest_first(library)
    for name, pairs in itertools.groupby(_failed(library), key=lambda pair: pair[0]):
        bound = next(found[name] for found in releases.values() if name in found)
        yield f"Rules that `{name}` fails:\n"
        yield from opened("matrix")
        yield f"| rule | level | {' | '.join(releases)} |"
        yield f"|---|---|{':-:|' * len(releases)}"
        for _, rule in pairs:
            found = [verdict(library, release, name, rule) for release in releases]
            same = "passed" not in found
            signs = " | ".join(SIGNS.get(one, " ") for one in found)
            yield f"| {link(rule, 'rules/')} | {_classed(level(bound, rule), same)} | {signs} |"
        yield CLOSED
        yield ""
