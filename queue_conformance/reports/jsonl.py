"""The report as JSON lines, and back: a header, records, and a footer.

A file without a footer is incomplete, and is refused. ``schema.json`` beside this module describes the records.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from queue_conformance.reports import CheckRecord, ImplementationReport, Origin, Report
from queue_conformance.specification import Kind, Level, Profile, Rule
from queue_conformance.suites.outcomes import Outcome, Violation
from queue_conformance.verdicts import RuleVerdict, RunVerdict, Verdict

SCHEMA = 1
"""The version of the records; another one means that a program which reads them must be changed."""

_NO_REPORT = "no report of JSON lines, or one that was cut off"


class ReportError(ValueError):
    """A file is no report that can be read; the message is one line."""


# --- Writing ---------------------------------------------------------------------------------------------------------


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
    yield {
        "type": "footer",
        "implementations": len(report.implementations),
        "errors": len(report.errors),
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
    if violation.program is not None:
        record["program"] = [list(operation) for operation in violation.program]
    if violation.stacks:
        record["stacks"] = violation.stacks
    if violation.others:
        record["others"] = [_violation(other) for other in violation.others]
    return record


# --- Reading ---------------------------------------------------------------------------------------------------------


def read(path: Path) -> Report:
    """Read a report back.

    Args:
        path: the file.

    Raises:
        ReportError: if it is no report, an incomplete one, or one of another schema.
    """
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise ReportError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ReportError(f"{path}: {_NO_REPORT}") from error
    try:
        return parse(text)
    except ReportError as error:
        raise ReportError(f"{path}: {error}") from error


def parse(text: str) -> Report:
    """Return the report that a text holds; :func:`render` is the inverse.

    Raises:
        ReportError: if it is no report, an incomplete one, or one of another schema.
    """
    lines = [line for line in text.split("\n") if line.strip()]
    try:
        found = [json.loads(line) for line in lines]
    except json.JSONDecodeError as error:
        raise ReportError(_NO_REPORT) from error
    if not found or not all(isinstance(record, dict) for record in found) or found[0].get("type") != "header":
        raise ReportError("no report: it does not begin with a header")
    if found[0].get("schema") != SCHEMA:
        wrote = f"; kit {found[0]['kit']} wrote it, and reads it" if "kit" in found[0] else ""
        raise ReportError(f"its schema is {found[0].get('schema')!r}, and this release of the kit reads {SCHEMA}{wrote}")
    if found[-1].get("type") != "footer":
        raise ReportError("incomplete: it has no footer; the run that wrote it did not end")
    try:
        return _report(found)
    except (KeyError, TypeError, ValueError) as error:
        raise ReportError(f"a record is not as schema {SCHEMA} has it: {error!r}") from error


def _report(found: list[dict[str, Any]]) -> Report:
    header = found[0]
    origin = Origin(**{name: header[name] for name in Origin.__slots__})
    by_type: dict[str, list[dict[str, Any]]] = {}
    for record in found:
        by_type.setdefault(record["type"], []).append(record)
    also = {record["implementation"]: record for record in by_type.get("also", ())}
    implementations = tuple(
        _implementation_of(
            record,
            [check for check in by_type.get("check", ()) if check["implementation"] == record["implementation"]],
            [rule for rule in by_type.get("rule", ()) if rule["implementation"] == record["implementation"]],
            also.get(record["implementation"]),
        )
        for record in by_type.get("implementation", ())
    )
    errors, gate = (tuple(record["message"] for record in by_type.get(name, ())) for name in ("error", "gate"))
    return Report(implementations, errors, origin, gate)


def _implementation_of(
    record: Mapping[str, Any],
    checks: Iterable[Mapping[str, Any]],
    rules: Iterable[Mapping[str, Any]],
    also: Mapping[str, Any] | None,
) -> ImplementationReport:
    kind, profile = Kind(record["kind"]), Profile(record["profile"])
    found = ImplementationReport(
        name=record["implementation"],
        path=record["path"],
        version=record["version"],
        kind=kind,
        profile=profile,
        level=Level(record["level"]),
        settings=record["settings"],
        claims=record["claims"],
        server=record["server"],
        found=record["found"],
        offers=frozenset(record["offers"]),
        stores=record["stores"],
        checks=tuple(
            CheckRecord(
                check["check"],
                {rule: Outcome(outcome) for rule, outcome in check["outcomes"].items()},
                check["seconds"],
                check.get("fatal", False),
            )
            for check in checks
        ),
        notes=tuple(record["notes"]),
        verdicts=tuple(_verdict_of(rule, kind, profile) for rule in rules),
        verdict=RunVerdict(record["verdict"]),
    )
    if also is None:
        return found
    second = Profile(also["profile"])
    verdicts = tuple(_verdict_of(rule, kind, second) for rule in also["rules"])
    return replace(found, also=replace(found, profile=second, verdicts=verdicts, verdict=RunVerdict(also["verdict"])))


def _verdict_of(record: Mapping[str, Any], kind: Kind, profile: Profile) -> RuleVerdict:
    rule = Rule(
        id=record["rule"],
        level=Level(record["level"]),
        sentence=record["sentence"],
        source=record["source"],
        profiles=frozenset({profile}),
        kinds=frozenset({kind}),
        hints=tuple(record.get("hints", ())),
        provisional=record.get("provisional", ""),
    )
    violation = _read_violation(rule.id, record) if "script" in record else None
    return RuleVerdict(rule, Verdict(record["verdict"]), record.get("reason", ""), violation, record.get("known", ""))


def _read_violation(rule: str, record: Mapping[str, Any]) -> Violation:
    program = record.get("program")
    return Violation(
        rule,
        record["expected"],
        record["actual"],
        tuple(record["operations"]),
        record["script"],
        None if program is None else tuple(map(tuple, program)),
        record.get("stacks", ""),
        record.get("cause", ""),
        tuple(_read_violation(rule, other) for other in record.get("others", ())),
    )
