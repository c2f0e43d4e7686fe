"""The tables of a file of TOML that the kit edits: every line that it does not replace stays as its author wrote it.

There is no TOML writer in the standard library, and this needs none: the reader of TOML itself tells where each statement
ends, and reads what was written once more.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Collection, Mapping, Sequence
from datetime import date
from itertools import pairwise
from typing import Any


def split(text: str) -> tuple[str, list[str]]:
    """Split a text into what comes before the first table, and the tables; comments right above one belong to it."""
    lines = text.split("\n")
    starts = []
    for key, start, _ in _statements(lines):
        if key == "[]":
            while start and lines[start - 1].lstrip().startswith("#"):
                start -= 1
            starts.append(start)
    if not starts:
        return text, []
    joined = ["\n".join(lines[begin:end]) + "\n" for begin, end in pairwise([0, *starts])]
    return joined[0] if starts[0] else "", [*joined[1:], "\n".join(lines[starts[-1] :])]


def comments(block: str) -> str:
    """Return the comments above a table."""
    lines = block.split("\n")
    above = next(number for number, line in enumerate(lines) if line.lstrip().startswith("["))
    return "".join(f"{line}\n" for line in lines[:above])


def remains(block: str) -> str:
    """Return what is left of a block without its table: comments that stand apart from it."""
    lines = block.split("\n")
    rest = "\n".join(lines[_statements(lines)[-1][2] :])
    return rest.lstrip("\r\n") if "#" in rest else ""


def gap(before: str, end: str) -> str:
    """Return the line breaks that make an empty line after a text."""
    if not before or before.endswith(end * 2):
        return ""
    return end if before.endswith(end) else end * 2


def refreshed(block: str, values: Mapping[str, Any], end: str, keys: Collection[str]) -> str:
    """Replace what these keys have in a block by new values; a key without one is left out."""
    lines = block.split("\n")
    statements = _statements(lines)
    ours = [(start, stop) for key, start, stop in statements if key in keys]
    at = ours[0][0] if ours else statements[-1][2]
    dropped = {number for start, stop in ours for number in range(start, stop)}
    before = [line for number, line in enumerate(lines[:at]) if number not in dropped]
    after = [line for number, line in enumerate(lines) if number >= at and number not in dropped]
    new = [f"{line}{end[:-1]}" for line in _assignments(values)]
    return "\n".join([*before, *new, *(after or [""])])


def table(name: str, values: Mapping[str, Any], end: str) -> str:
    """Return a table of an array of tables."""
    return end.join([f"[[{name}]]", *_assignments(values), ""])


def quoted(value: object) -> str:
    """Return a value as TOML; what JSON writes of texts, numbers and lists is TOML too, but for one character."""
    if isinstance(value, date):
        return str(value)
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{key} = {quoted(each)}' for key, each in value.items())} }}"
    if isinstance(value, str) and '"' in value and "'" not in value and value.isprintable():
        return f"'{value}'"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _assignments(values: Mapping[str, Any]) -> list[str]:
    """Return the lines that give keys their values; each value of a tuple has a line of its own."""
    lines = []
    for key, value in values.items():
        if isinstance(value, tuple):
            lines += [f"{key} = [", *(f"    {quoted(one)}," for one in value), "]"]
        else:
            lines.append(f"{key} = {quoted(value)}")
    return lines


def _statements(lines: Sequence[str]) -> list[tuple[str, int, int]]:
    """Return the statements of TOML: the key, or the header of a table, and the lines that it takes."""
    statements = []
    start = 0
    while start < len(lines):
        end = start + 1
        while (read := _parsed(lines[start:end])) is None:
            end += 1
        if read:
            header = lines[start].lstrip().startswith("[")
            statements.append(("[]" if header else next(iter(read)), start, end))
        start = end
    return statements


def _parsed(lines: Sequence[str]) -> dict[str, Any] | None:
    """Return what some lines say, or ``None`` if a statement in them does not end."""
    try:
        return tomllib.loads("\n".join(line.rstrip("\r") for line in lines))
    except tomllib.TOMLDecodeError:
        return None
