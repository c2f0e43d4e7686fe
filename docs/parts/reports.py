"""The forms of a report, and the records of its JSON lines, from their schema."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from parts.words import cell, escape
from queue_conformance.reports.files import RENDERERS
from queue_conformance.reports.schema import schema
from queue_conformance.specification.words import listed

FORMS: Mapping[str, str] = {
    ".jsonl": "all that is known, as JSON lines, which [commands](commands.md) read back",
    ".html": "a page for browsers, in one file, which loads nothing",
    ".xml": "JUnit, for the list of tests that CI systems show: a test per rule",
    ".md": "Markdown, for a comment on a pull request or the summary of a job",
    ".svg": "a badge",
    ".json": "a badge, as an endpoint of shields.io",
}
"""What a file holds, by the ending of its name."""


def forms() -> str:
    """Return one row per form in which a report is written."""
    return "\n".join(["| ending | what the file holds |", "|---|---|", *(f"| `{name}` | {FORMS[name]} |" for name in RENDERERS)])


def records() -> str:
    """Return one section per record, in the order of the schema."""
    found = schema()
    names = [option["$ref"].rpartition("/")[2] for option in found["anyOf"]]
    return "\n".join(line for name in names for line in _record(found["$defs"][name], found["$defs"]))


def _record(record: Mapping[str, Any], definitions: Mapping[str, Any]) -> Iterator[str]:
    yield f"### `{record['properties']['type']['enum'][0]}`\n"
    yield f"{escape(record['description'])}\n"
    yield "| field | value | meaning |"
    yield "|---|---|---|"
    for field, given in record["properties"].items():
        value = {**definitions[given["$ref"].rpartition("/")[2]], **given} if "$ref" in given else given
        optional = "" if field in record["required"] else ", optional"
        yield f"| `{field}` | {cell(_value(value))}{optional} | {cell(escape(value.get('description', '')))} |"
    yield ""


def _value(value: Mapping[str, Any]) -> str:
    if "const" in value:
        return f"`{json.dumps(value['const'])}`"
    if "enum" in value:
        return listed((f"`{json.dumps(option)}`" for option in value["enum"]), "or")
    return str(value.get("type", "any"))
