"""The report as JSON lines, and back: a header, records, and a footer.

A file without a footer is incomplete, and is refused. :mod:`queue_conformance.reports.schema` describes the records.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from queue_conformance.engine.outcomes import Violation
from queue_conformance.engine.verdicts import RuleVerdict
from queue_conformance.reports import CheckRecord, ImplementationReport, Report
from queue_conformance.reports.reading import ReportError, parse, read
from queue_conformance.reports.records import SCHEMA, Also, Check, Evidence, Header, Implementation

__all__ = ["SCHEMA", "ReportError", "parse", "read", "records", "render"]


def render(report: Report) -> str:
    """Return the text of the file."""
    return "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records(report))


def records(report: Report) -> Iterator[dict[str, Any]]:
    """Yield the records of a report."""
    yield {"type": "header", "schema": SCHEMA, **_fields(Header, report.origin)}
    for found in report.implementations:
        yield _implementation(found)
        for check in found.checks:
            yield _check(found.name, check)
        for verdict in found.verdicts:
            yield _rule(found.name, verdict)
        if also := found.also:
            rules = [_rule(also.name, verdict) for verdict in also.verdicts]
            shared = _fields(Also, also) | {"counts": _counts(also)}
            yield {"type": "also", "implementation": also.name, **shared, "rules": rules}
    for kind, lines in (("error", report.errors), ("gate", report.gate), ("internal_error", report.internal_errors)):
        for line in lines:
            yield {"type": kind, "message": line}
    yield {
        "type": "footer",
        "implementations": len(report.implementations),
        "errors": len(report.errors) + len(report.internal_errors),
        "failed": report.failed,
        **({"interrupted": True} if report.interrupted else {}),
    }


def _fields(record: type[Struct], source: object) -> dict[str, Any]:
    """Return those fields of a record that are attributes of what it is about, in the order of the record."""
    return {name: getattr(source, name) for name in record.__struct_fields__ if hasattr(source, name)}


def _implementation(found: ImplementationReport) -> dict[str, Any]:
    fields = _fields(Implementation, found) | {"offers": sorted(found.offers), "counts": _counts(found)}
    return {"type": "implementation", "implementation": found.name, **fields}


def _counts(found: ImplementationReport) -> dict[str, dict[str, int]]:
    return {level: dict(sorted(counter.items())) for level, counter in found.counts().items()}


def _check(name: str, check: CheckRecord) -> dict[str, Any]:
    fields = _fields(Check, check)
    if not check.fatal:
        del fields["fatal"]
    return {"type": "check", "implementation": name, "check": check.name, **fields}


def _rule(name: str, verdict: RuleVerdict) -> dict[str, Any]:
    rule = verdict.rule
    known = {"hints": rule.hints, "provisional": rule.provisional, "reason": verdict.reason, "known": verdict.known}
    return {
        "type": "rule",
        "implementation": name,
        "rule": rule.id,
        "level": rule.level,
        "verdict": verdict.verdict,
        "sentence": rule.sentence,
        "source": rule.source,
        **{field: value for field, value in known.items() if value},
        **(_violation(verdict.violation) if verdict.violation else {}),
    }


def _violation(violation: Violation) -> dict[str, Any]:
    fields = _fields(Evidence, violation)
    if violation.sequence is None:
        del fields["sequence"]
    for name in ("way", "stacks", "raised_at", "base"):
        if not fields[name]:
            del fields[name]
    return fields | ({"others": list(map(_violation, violation.others))} if violation.others else {})
