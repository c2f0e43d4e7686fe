"""A kind of implementation in short, from the registry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from parts.rules import PAGES
from queue_conformance import specification
from queue_conformance.kinds.crawl.kind import CRAWL
from queue_conformance.specification import Level
from queue_conformance.specification.kinds import kind_named
from queue_conformance.specification.words import CAPABILITIES, listed


def page(name: str) -> str:
    """Return how a class of a kind is named, what it is held to, and by which rules."""
    return "\n".join(_lines(name))


def _lines(name: str) -> Iterator[str]:
    kind = kind_named(name)
    rules = [rule for rule in specification.load().values() if kind in rule.kinds]
    if kind != CRAWL:
        options = listed((f"[`--{option}`](../options.md#--{option})" for option in (kind.option, *kind.also_by)), "or")
        yield f"- It is named by {options}, or tested by a subclass of `{kind.suite}`."
    behind = f", and by `{kind.behind_server}` too if it stores in a server" if kind.behind_server else ""
    yield f"- It is measured by the [profile](../kinds.md#profiles) `{kind.profile}`{behind}."
    for family, (file, title) in PAGES.items():
        levels = Counter(rule.level for rule in rules if rule.id.partition(".")[0] == family)
        if levels:
            counted = listed(f"{levels[level]} {level}" for level in Level if levels[level])
            yield f"- Rules in [{title.lower()}](../rules/{file}.md): {counted}."
    if needed := sorted({f"`{need}`" for rule in rules for need in rule.needs if need in CAPABILITIES}):
        yield f"- Some rules are asked only of a class with {listed(needed, 'or')}, as found or claimed."
