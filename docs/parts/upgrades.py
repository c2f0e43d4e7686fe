"""What one release makes of what another one has stored, from what ``make upgrades`` measured."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from parts.words import CLOSED, classed, opened
from queue_conformance.specification.words import LIBRARIES

HERE = Path(__file__).parent.parent / "upgrades"
MEASURED = HERE / "measured.json"
_READ = tomllib.loads((HERE / "upgrades.toml").read_text("utf-8"))
STEPS: Sequence[Mapping[str, Any]] = _READ.pop("step")
"""What is done before a job goes on, so that nothing is lost."""
TABLE: Mapping[str, Mapping[str, str]] = _READ
"""By library the releases, the oldest first, and what is installed for each."""

NAMES = {**LIBRARIES, "qcrawl-redis": "qCrawl on Redis"}
"""What the page calls a library."""

COLOURS = {"all": "passed", "refuses": "uncertain"}
COLOURS |= dict.fromkeys(("misreads", "forgets", "loses, told", "does not end", "loses"), "failed")
"""What becomes of what was stored, the worst last, and the class of the cell that says it."""

CAUSES = {
    "forgets": (
        "All that was seen is new again, in that run and at every later one: {again} of {before} pages again, and all 60 at the "
        "next start. What waits comes.",
        "Rewrite `requests.seen`: `seen.py`, below. Without it, delete that file: all is new once, and not at every start.",
    ),
    "loses": (
        "What waits is lost for good, {left} of {left}, for the release that wrote it as well. The crawl is *finished*.",
        "Set `SCHEDULER_PRIORITY_QUEUE` to the one that wrote, below; or drain the job with the release that wrote it.",
    ),
    "misreads": (
        "What waits comes without {fields}, so that another callback gets it: {missing} of {left}.",
        "Drain the queue with the release that wrote it.",
    ),
}
"""What is lost in silence, and the step that avoids it."""


def outcome(found: Mapping[str, Any]) -> str:
    """Return what became of what was stored, in one word; the worst, where several classes stored it."""
    if "left" not in found:
        return max((outcome(one) for one in found.values()), key=[*COLOURS].index)
    if found.get("status", 0) is None:
        return "does not end"
    missing = found["left"] - found["recovered"]
    if found.get("told") and found.get("back", found["left"]) == found["left"]:
        return "refuses"
    if missing and found.get("logged", 0) >= missing:
        return "loses, told"
    if missing:
        return "loses" if "again" in found or not found.get("changed") else "misreads"
    return "forgets" if found.get("again") else "all"


def losses() -> str:
    """Return what is lost while nothing is told, the worst first, and how to avoid it."""
    groups: dict[tuple[str, str, str], list[tuple[str, Mapping[str, Any]]]] = {}
    for library in TABLE:
        for written, row in _measured()[library].items():
            for read, found in row.items():
                if (word := outcome(found)) in CAUSES:
                    groups.setdefault((word, library, read), []).append((written, found))
    lines = ["| written by | read by | what is lost, exit status 0 | the step that avoids it |", "|---|---|---|---|"]
    for word, library, read in sorted(groups, key=lambda group: -[*COLOURS].index(group[0])):
        *_, (newest, found) = groups[word, library, read]
        written = newest if len(groups[word, library, read]) == 1 else f"{groups[word, library, read][0][0]} to {newest}"
        what, step = CAUSES[word]
        fields = " and ".join(f"`{field}`" for field in found.get("changed", ()))
        numbers = {"before": 60 - found["left"], "missing": found["left"] - found["recovered"], "again": 0, **found}
        name = NAMES.get(library, library)
        lines.append(f"| {name} {written} | {name} {read} | {what.format(**{**numbers, 'fields': fields})} | {step} |")
    return "\n".join(lines)


def script(name: str) -> str:
    """Return a script that shows a loss from nothing, and what it prints."""
    return f"```sh\n{(HERE / name).read_text('utf-8').rstrip()}\n```"


def _measured() -> Any:
    return json.loads(MEASURED.read_text("utf-8"))


def matrix(library: str) -> str:
    """Return for each pair of releases what became of what was stored."""
    measured = _measured()[library]
    name = NAMES.get(library, library)
    lines = [*opened("matrix"), f"| {name}: written by | {' | '.join(f'read by {one}' for one in measured)} |"]
    lines.append(f"|---|{':-:|' * len(measured)}")
    for written, row in measured.items():
        words = [outcome(found) for found in row.values()]
        lines.append(f"| {written} | {' | '.join(classed(word, COLOURS[word]) for word in words)} |")
    return "\n".join([*lines, CLOSED])


def steps() -> str:
    """Return what was done before a job went on, and what became of it."""
    lines = ["| written by | read by | what is done before | what becomes of it |", "|---|---|---|---|"]
    for step in _measured()["steps"]:
        done = [f"`python {step['run'].replace(' job', ' JOBDIR')}`"] if "run" in step else []
        done += [f"`{step['delete']}` is deleted"] if "delete" in step else []
        done += [f"`-s {setting}`" for setting in step.get("settings", ())]
        found = step["found"]
        word = outcome(found) if found["state"] else "loses"
        later = "and at the next start" if not found["later"] else "in that run and the next one"
        word = classed(f"{word}, {'once' if word == 'forgets' and not found['later'] else later}", COLOURS[word])
        lines.append(f"| {step['from']} | {step['to']} | {', '.join(done)} | {word} |")
    return "\n".join(lines)


def refusals() -> str:
    """Return what does not open, and what is told then."""
    groups: dict[tuple[Any, ...], list[tuple[str, str]]] = {}
    for written, row in _measured()["scrapy"].items():
        for read, found in row.items():
            if outcome(found) == "refuses":
                back = "goes on with all" if found["back"] == found["left"] else f"finds {found['back']} of {found['left']}"
                state = "" if found["back state"] else "; `spider.state` is empty then"
                told = found["told"] if len(found["told"]) < 90 else f"{found['told'][:85]} ..."
                key = (f"`{told.replace('`', '')}`", f"{back}{state}", found["status"])
                groups.setdefault((written, *key), []).append((written, read))
    lines = ["| written by | read by | what the log tells | exit status | the release that wrote it |", "|---|---|---|:-:|---|"]
    for (written, told, back, status), pairs in groups.items():
        lines.append(f"| {written} | {', '.join(read for _, read in pairs)} | {told} | {status} | {back} |")
    return "\n".join(lines)
