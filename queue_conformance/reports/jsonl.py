"""The report as JSON lines: a header, one record per rule, one per implementation, and a footer.

A file without a footer is incomplete.
"""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Iterator
from typing import Any

from queue_conformance import __version__
from queue_conformance.reports import ImplementationReport, Report
from queue_conformance.verdicts import RuleVerdict

SCHEMA = 1
"""The version of the records."""


def render(report: Report) -> str:
    """Return the text of the file."""
    return "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records(report))


def records(report: Report) -> Iterator[dict[str, Any]]:
    """Yield the records of a report."""
    yield {
        "type": "header",
        "schema": SCHEMA,
        "kit": __version__,
        "python": platform.python_version(),
        "platform": sys.platform,
        "releases": dict(report.releases),
        "seed": report.seed,
        "level": report.level,
    }
    for implementation in report.implementations:
        for verdict in implementation.verdicts:
            yield _rule(implementation.survey.path, verdict)
        yield _implementation(implementation)
    for error in report.errors:
        yield {"type": "error", "message": error}
    yield {
        "type": "footer",
        "implementations": len(report.implementations),
        "errors": len(report.errors),
        "failed": report.failed,
    }


def _rule(path: str, verdict: RuleVerdict) -> dict[str, Any]:
    record: dict[str, Any] = {
        "type": "rule",
        "implementation": path,
        "rule": verdict.rule.id,
        "level": str(verdict.rule.level),
        "verdict": str(verdict.verdict),
    }
    if verdict.reason:
        record["reason"] = verdict.reason
    if violation := verdict.violation:
        record |= {
            "expected": violation.expected,
            "actual": violation.actual,
            "operations": list(violation.operations),
            "script": violation.script,
        }
        if violation.program is not None:
            record["program"] = [list(operation) for operation in violation.program]
        if violation.stacks:
            record["stacks"] = violation.stacks
    return record


def _implementation(found: ImplementationReport) -> dict[str, Any]:
    survey = found.survey
    counts = {
        str(level): {str(verdict): count for verdict, count in sorted(counter.items())}
        for level, counter in found.counts().items()
    }
    return {
        "type": "implementation",
        "implementation": survey.path,
        "version": survey.version,
        "kind": str(survey.kind),
        "profile": str(survey.profile),
        "order": str(survey.found.order),
        "found": sorted(survey.found.names),
        "stores": dict(survey.found.stores),
        "claimed": dict(survey.claims),
        "notes": list(found.notes),
        "counts": counts,
        "verdict": str(found.verdict),
    }
