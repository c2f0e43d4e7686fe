"""The conformance matrix, from the committed verdicts that ``make matrix`` writes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from parts.rules import link
from parts.words import CLOSED, classed, opened
from queue_conformance import specification
from queue_conformance.specification import Level
from queue_conformance.specification.kinds import EXTERNAL_QUEUE, QCRAWL, QUEUELIB, SCRAPY, all_kinds
from queue_conformance.specification.words import LIBRARIES, listed

VERDICTS = Path(__file__).parent.parent / "matrix" / "verdicts.json"

SIGNS: Mapping[str, str] = {
    "passed": classed("✓", "passed"),
    "failed": classed("✗", "failed"),
    "blocked": classed("▪", "uncertain"),
    "not covered": classed("?", "uncertain"),
    "not applicable": "–",
}
"""What stands for a verdict in a cell."""

COLOURS: Mapping[str, str] = {"CONFORMANT": "passed", "NON-CONFORMANT": "failed"}
"""The classes of the verdicts on implementations; those of the others are uncertain."""

_SHOWN = {"passed", "failed", "blocked", "not covered"}


def origin() -> str:
    """Say where the verdicts come from."""
    found = _read()
    named = (*found["releases"], "pytest-queue-conformance", "")
    releases = [f"{LIBRARIES[name]} {release}" for name, release in found["releases"].items()]
    others = dict.fromkeys(one["version"] for one in found["implementations"])
    releases += [other for other in others if other.partition(" ")[0].lower() not in named]
    return (
        f"Tested on {found['created'][:10]} by release {found['kit']} of the kit, with {listed(releases)}, on Python "
        f"{found['python']} ({found['platform']}), seed {found['seed']}, {found['examples']} examples. "
        "Nothing is claimed but what the tables say."
    )


def legend() -> str:
    """Say what the signs mean."""
    return f"Signs: {listed(f'{sign} {verdict}' for verdict, sign in SIGNS.items())}."


def tables() -> str:
    """Return the tables of each kind: its implementations, and their verdict on each rule that applies to one of them."""
    lines: list[str] = []
    for kind in all_kinds():
        for profile in (SCRAPY, EXTERNAL_QUEUE, QUEUELIB, QCRAWL):
            found = [one for one in _read()["implementations"] if (one["kind"], one["profile"]) == (kind, profile)]
            if found:
                title = kind.plural.capitalize()
                title += " behind a server" if profile is EXTERNAL_QUEUE else ""
                lines += [f"## {title}", "", *_implementations(found), "", *_rules(found), ""]
    return "\n".join(lines)


@cache
def _read() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(VERDICTS.read_text("utf-8"))
    for one in found["implementations"]:
        one["verdicts"] = {rule: verdict for verdict, rules in one["rules"].items() for rule in rules}
    return found


def level(one: Mapping[str, Any], rule: str) -> str:
    """Return the level of a rule, as it binds an implementation."""
    return str(one["levels"].get(rule, specification.load()[rule].level))


def failed(one: Mapping[str, Any]) -> list[str]:
    """Return the levels of the rules that an implementation fails."""
    return [level(one, rule) for rule in one["rules"].get("failed", ()) if rule in specification.load()]


def _implementations(found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield from opened("matrix implementations")
    yield "| | implementation | verdict | failed MUST | failed SHOULD |"
    yield "|--:|---|---|--:|--:|"
    for number, one in enumerate(found, 1):
        claims = "".join(f", claimed `{name}={value}`" for name, value in one["claims"].items())
        counts = " | ".join(str(failed(one).count(level)) for level in (Level.MUST, Level.SHOULD))
        verdict = classed(one["verdict"], COLOURS.get(one["verdict"], "uncertain"))
        yield f"| {number} | `{one['name']}`{claims} | {verdict} | {counts} |"
    yield CLOSED


def _rules(found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield from opened("matrix")
    yield f"| rule | level | {' | '.join(str(number) for number, _ in enumerate(found, 1))} |"
    yield f"|---|---|{':-:|' * len(found)}"
    for rule in specification.load().values():
        verdicts = [one["verdicts"].get(rule.id, "") for one in found]
        if _SHOWN.intersection(verdicts):
            yield f"| {link(rule.id, 'rules/')} | {rule.level} | {' | '.join(SIGNS.get(verdict, ' ') for verdict in verdicts)} |"
    yield CLOSED
