"""The JSON schema of the records of a report; ``python -m queue_conformance.reports.schema`` prints it."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from queue_conformance.engine.verdicts import Verdict
from queue_conformance.reports.records import SOMETIMES, Record, fields_of


def schema() -> dict[str, Any]:
    """Return the JSON schema of the records."""
    found = msgspec.json.schema(Record)
    found["$defs"]["Rule"]["allOf"] = [
        {
            "if": {"properties": {"verdict": {"const": verdict}}},
            "then": {"required": list(needed), "properties": {name: False for name in SOMETIMES if name not in allowed}},
        }
        for verdict in Verdict
        for needed, allowed in (fields_of(verdict),)
    ]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A record of a report of pytest-queue-conformance",
        "description": "A report is a file of JSON lines in UTF-8, one record per line: a header; for each implementation its "
        "own record, those of its checks, those of its rules, and what it is by a second contract; errors; gate lines; internal "
        "errors; a footer. The version of the schema in the header changes when a program that reads reports must change.",
        **found,
    }


if __name__ == "__main__":
    print(json.dumps(schema(), indent=2))
