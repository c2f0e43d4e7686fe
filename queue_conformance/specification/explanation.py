"""The rules as text: in a list, and one by one."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from queue_conformance.specification import Rule
from queue_conformance.specification.grounds import Basis
from queue_conformance.specification.kinds import all_kinds, all_profiles
from queue_conformance.specification.words import CAPABILITIES, LIBRARIES, listed

NARROWEST = 40
"""Columns that a sentence needs beside the id and the level of its rule."""


@cache
def mutants() -> Mapping[str, Sequence[tuple[str, str]]]:
    """Return the mutants by which the kit is proven.

    Returns:
        By the id of a rule, the names of the classes that break it, below ``tests/mutants``, and how each misbehaves.
    """
    found = json.loads(files(__package__).joinpath("mutants.json").read_text("utf-8"))
    return {rule: [(name, sentence) for name, sentence in all_mutants] for rule, all_mutants in found.items()}


def as_list(rules: Sequence[Rule], width: int | None = None) -> Iterator[str]:
    """Yield the lines of a list: id, level and sentence, in columns.

    Args:
        width: columns of the terminal; ``None`` writes each rule on one line, for programs that read it.
    """
    longest = max((len(rule.id) for rule in rules), default=0)
    for rule in rules:
        start = f"{rule.id:<{longest}}  {rule.level:<6}  "
        if width is None:
            yield start + rule.sentence
        elif width - len(start) >= NARROWEST:
            yield from _wrapped(start + rule.sentence, width, len(start))
        else:
            yield f"{rule.id}  {rule.level}"
            yield from _wrapped(f"    {rule.sentence}", width, 4)


_DATA = (
    *(
        "id",
        "level",
        "sentence",
        "why",
        "how",
        "source",
        "profiles",
        "kinds",
        "needs",
        "unless",
        "since",
        "basis",
        "quote",
        "harm",
    ),
    *("derived_from", "binds", "must_if", "should_if", "fixed_in", "debatable", "hints", "untestable", "untested"),
)
"""The attributes of a rule that its TOML file has, in the order in which JSON has them."""


def as_data(rule: Rule) -> dict[str, Any]:
    """Return a rule for JSON: what its TOML file says, and the mutants that it catches."""
    data = {name: getattr(rule, name) for name in _DATA}
    data |= {name: sorted(data[name]) for name in ("needs", "unless", "binds", "must_if", "should_if")}
    return data | {
        "profiles": _in_order(rule.profiles, all_profiles()),
        "kinds": _in_order(rule.kinds, all_kinds()),
        "mutants": [{"name": name, "sentence": sentence} for name, sentence in mutants().get(rule.id, ())],
    }


def explain(rule: Rule, width: int = 100) -> Iterator[str]:
    """Yield the lines that say all that is known of a rule."""
    yield f"{rule.id}  {rule.level}"
    yield from _wrapped(f"  {rule.sentence}", width, 2)
    asked = listed(kind.plural for kind in all_kinds() if kind in rule.kinds)
    said = [
        ("why", rule.why),
        ("asked of", asked),
        ("profiles", ", ".join(_in_order(rule.profiles, all_profiles()))),
        ("if", listed(CAPABILITIES[name] for name in sorted(rule.needs))),
        ("unless", listed((CAPABILITIES[name] for name in sorted(rule.unless)), "or")),
        ("since", _releases(rule.since)),
        ("mended in", _releases(rule.fixed_in)),
        ("because", _because(rule)),
        ("binds", f"{listed(sorted(rule.binds))}; for other classes it is a SHOULD" if rule.binds else ""),
        ("MUST if", listed((_must_if(name) for name in sorted(rule.must_if)), "or")),
        ("SHOULD if", listed((_must_if(name) for name in sorted(rule.should_if)), "or")),
        ("debatable", rule.debatable),
        ("tested", _tested(rule)),
        *(("hint", hint) for hint in rule.hints),
        ("source", rule.source),
        *(("catches", f"{name}: {sentence}") for name, sentence in mutants().get(rule.id, ())),
    ]
    before = ""
    for label, text in said:
        if text:
            yield from _wrapped(f"  {'' if label == before else label:<10}{text}", width, 12)
            before = label


def _must_if(name: str) -> str:
    kind, _, value = name.rpartition("=")
    said = {"": CAPABILITIES.get(value, ""), "docstring": f"its docstring says that {CAPABILITIES.get(value, value)}"}
    return said.get(kind) or f"the profile is {value}"


def _because(rule: Rule) -> str:
    """Return on what a rule stands, in words."""
    harm = rule.harm if rule.harm != rule.why else ""
    said = {
        Basis.WORDS: f"the source says: «{rule.quote}»",
        Basis.HARM: harm or "that harms an ordinary crawl",
        Basis.CLAIM: "its author claims it",
        Basis.DERIVED: " ".join(filter(None, [f"without it fail {listed(rule.derived_from)}.", harm])),
        Basis.CODE: "released code does so, and no sentence says it",
        Basis.KIT: "the kit recommends it",
    }
    return said[rule.basis] if rule.basis else ""


def _releases(gates: Mapping[str, str]) -> str:
    return listed(f"{LIBRARIES[library]} {release}" for library, release in gates.items())


def _tested(rule: Rule) -> str:
    if rule.untestable:
        return f"not at all, it is untestable: {rule.untestable}"
    if rule.untested:
        return f"not by this version: {rule.untested}"
    return rule.how


def _in_order(chosen: Iterable[str], names: Iterable[str]) -> list[str]:
    """Return the chosen names as text, in the order in which they are declared."""
    chosen = set(chosen)
    return [str(name) for name in names if name in chosen]


def _wrapped(text: str, width: int, indent: int) -> list[str]:
    # Not within words: what is copied from here must be whole.
    return textwrap.wrap(text, width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)
