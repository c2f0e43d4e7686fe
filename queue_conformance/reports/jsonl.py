"""The report as JSON lines, and back: a header, records, and a footer.

A file without a footer is incomplete, and is refused. :mod:`queue_conformance.reports.schema` describes the records.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from queue_conformance.engine.outcomes import Violation
from queue_conformance.reports import CheckRecord, ImplementationReport, Report
from queue_conformance.reports.reading import ReportError, parse, read
from queue_conformance.reports.records import SCHEMA
from queue_conformance.verdicts import RuleVerdict

__all__ = ["SCHEMA", "ReportError", "parse", "read", "records", "render"]


def render(report: Report) -> str:
    """Return the text of the file."""
    return "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records(report))


def records(report: Report) -> Iterator[dict[str, Any]]:
    """Yield the records of a report."""
    origin = report.origin
    yield {
        "type": "header",
        "schema": SCHEMA,
        "kit": origin.kit,
        "python": origin.python,
        "platform": origin.platform,
        "releases": dict(origin.releases),
        "created": origin.created,
        "seed": origin.seed,
        "examples": origin.examples,
    }
    for implementation in report.implementations:
        yield _implementation(implementation)
        for check in implementation.checks:
            yield _check(implementation.name, check)
        for verdict in implementation.verdicts:
            yield _rule(implementation.name, verdict)
        if also := implementation.also:
            yield {
                "type": "also",
                "implementation": also.name,
                "profile": str(also.profile),
                "counts": _counts(also),
                "verdict": str(also.verdict),
                "rules": [_rule(also.name, verdict) for verdict in also.verdicts],
            }
    for error in report.errors:
        yield {"type": "error", "message": error}
    for line in report.gate:
        yield {"type": "gate", "message": line}
    for line in report.internal_errors:
        yield {"type": "internal_error", "message": line}
    yield {
        "type": "footer",
        "implementations": len(report.implementations),
        "errors": len(report.errors) + len(report.internal_errors),
        "failed": report.failed,
    }


def _implementation(found: ImplementationReport) -> dict[str, Any]:
    return {
        "type": "implementation",
        "implementation": found.name,
        "path": found.path,
        "version": found.version,
        "kind": str(found.kind),
        "profile": str(found.profile),
        "level": str(found.level),
        "settings": dict(found.settings),
        "claims": dict(found.claims),
        "server": found.server,
        "found": found.found,
        "offers": sorted(found.offers),
        "stores": dict(found.stores),
        "notes": list(found.notes),
        "counts": _counts(found),
        "verdict": str(found.verdict),
    }


def _counts(found: ImplementationReport) -> dict[str, dict[str, int]]:
    return {
        str(level): {str(verdict): count for verdict, count in sorted(counter.items())}
        for level, counter in found.counts().items()
    }


def _check(name: str, check: CheckRecord) -> dict[str, Any]:
    outcomes = {rule: str(outcome) for rule, outcome in check.outcomes.items()}
    record: dict[str, Any] = {"type": "check", "implementation": name, "check": check.name, "outcomes": outcomes}
    record["seconds"] = check.seconds
    return record | ({"fatal": True} if check.fatal else {})


def _rule(name: str, verdict: RuleVerdict) -> dict[str, Any]:
    rule = verdict.rule
    record: dict[str, Any] = {
        "type": "rule",
        "implementation": name,
        "rule": rule.id,
        "level": str(rule.level),
        "verdict": str(verdict.verdict),
        "sentence": rule.sentence,
        "source": rule.source,
    }
    if rule.hints:
        record["hints"] = list(rule.hints)
    if rule.provisional:
        record["provisional"] = rule.provisional
    if verdict.reason:
        record["reason"] = verdict.reason
    if verdict.known:
        record["known"] = verdict.known
    return record | (_violation(verdict.violation) if verdict.violation else {})


def _violation(violation: Violation) -> dict[str, Any]:
    record: dict[str, Any] = {
        "expected": violation.expected,
        "actual": violation.actual,
        "operations": list(violation.operations),
        "script": violation.script,
        "cause": violation.cause,
    }
    if violation.sequence is not None:
        record["sequence"] = [list(operation) for operation in violation.sequence]
    if violation.stacks:
        record["stacks"] = violation.stacks
    if violation.others:
        record["others"] = [_violation(other) for other in violation.others]
    return record
