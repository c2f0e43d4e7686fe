"""Condense a report to what the conformance matrix shows: ``python condense.py REPORT.jsonl verdicts.json``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from queue_conformance.reports import ImplementationReport, Report, jsonl
from queue_conformance.specification import load


def condense(report: Report) -> dict[str, Any]:
    """Return where a report comes from, and the rules of each implementation by verdict."""
    header = next(jsonl.records(report))
    return {
        **{name: value for name, value in header.items() if name not in ("type", "schema")},
        "implementations": [_implementation(found) for found in report.implementations],
    }


def _implementation(found: ImplementationReport) -> dict[str, Any]:
    rules: dict[str, list[str]] = {}
    levels: dict[str, str] = {}
    for verdict in found.verdicts:
        rules.setdefault(verdict.verdict, []).append(verdict.rule.id)
        if verdict.rule.level is not load()[verdict.rule.id].level:  # it binds other classes, or is claimed
            levels[verdict.rule.id] = verdict.rule.level
    return {
        "name": found.name,
        "version": found.version,
        "kind": found.kind,
        "profile": found.profile,
        "claims": dict(found.claims),
        "verdict": found.verdict,
        "levels": levels,
        "rules": rules,
    }


def render(condensed: dict[str, Any]) -> str:
    """Return it as JSON, one line per implementation, so that a change shows in a diff."""
    rest = {name: value for name, value in condensed.items() if name != "implementations"}
    lines = ",\n".join(json.dumps(found) for found in condensed["implementations"])
    return f'{json.dumps(rest)[:-1]}, "implementations": [\n{lines}\n]}}\n'


def main(report: Path, condensed: Path) -> None:
    """Read a report, and write what the matrix shows of it.

    Raises:
        SystemExit: if it is no report, or something could not be tested.
    """
    try:
        found = jsonl.read(report)
    except jsonl.ReportError as error:
        sys.exit(str(error))
    if found.errors:
        sys.exit("\n".join(found.errors))
    condensed.write_text(render(condense(found)), "utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
