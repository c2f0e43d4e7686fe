"""A report of JSON lines, read back: every record is checked, and that they are all there and belong together."""

from __future__ import annotations

import codecs
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from msgspec import UNSET

from queue_conformance.engine.outcomes import Violation
from queue_conformance.engine.verdicts import RuleVerdict
from queue_conformance.processes.files import LONGEST, opened
from queue_conformance.reports import CheckRecord, ImplementationReport, Origin, Report, records
from queue_conformance.reports.records import SCHEMA
from queue_conformance.specification import Level, Rule
from queue_conformance.specification.words import shortened

LINE = 1000
"""Characters of a message at most: what it quotes may be of any length."""

_NO_REPORT = "no report of JSON lines: give the .jsonl file that --conformance-report wrote"
_AGAIN = "take the file as the run wrote it"


class ReportError(ValueError):
    """A file is no report that can be read; the message is one line that says what to do."""


def read(path: Path) -> Report:
    """Read a report back.

    Args:
        path: the file, or a pipe that something writes to.

    Raises:
        ReportError: if it is no report, an incomplete one, or one of another schema.
    """
    try:
        with opened(path) as file:
            return _report(file)
    except OSError as error:
        raise ReportError(f"{path}: {error.strerror}") from error
    except ReportError as error:
        raise ReportError(f"{path}: {shortened(str(error), LINE)}") from error


def parse(text: str) -> Report:
    """Return the report that a text holds; :func:`queue_conformance.reports.jsonl.render` is the inverse.

    Raises:
        ReportError: if it is no report, an incomplete one, or one of another schema.
    """
    return _report(BytesIO(text.encode("utf-8", "backslashreplace")))


# --- Lines -----------------------------------------------------------------------------------------------------------


def _lines(file: BinaryIO) -> Iterator[tuple[int, object]]:
    """Yield the number of each line that is not empty, and what it says."""
    number = 0
    while line := file.readline(LONGEST):
        number += 1
        line = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
        try:
            if len(line) == LONGEST:
                raise ValueError
            if not line.strip():
                continue
            found = json.loads(line.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            if number == 1 and not line.startswith(b'{"type"'):
                raise ReportError(_NO_REPORT) from error
            if not line.endswith(b"\n"):
                raise ReportError(f"it was cut off in line {number}: {_AGAIN}") from error
            raise ReportError(f"line {number} is no JSON: {_AGAIN}") from error
        yield number, found


def visible(text: str) -> str:
    """Return a text as a terminal shows it and nothing else: what it would take for a command is written as an escape."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


_AS_THEY_ARE = ("script", "settings")
"""The fields that are run, or compared, as they are."""

_LONG = ("stacks", "operations")
"""The fields whose texts may have several lines."""


def _shown(found: Any, field: str = "") -> Any:
    """Return a record with nothing in its texts that a terminal, or a log of CI, would take for a command."""
    if field in _AS_THEY_ARE:
        return found
    if isinstance(found, dict):
        return {_shown(name): _shown(value, name) for name, value in found.items()}
    if isinstance(found, list):
        return [_shown(value, field) for value in found]
    if not isinstance(found, str):
        return found
    return visible(found) if field in _LONG else visible(found).replace("\n", "\\n")


def _records(file: BinaryIO) -> Iterator[tuple[int, records.Record]]:
    """Yield the records with their lines: a header, others, and a footer."""
    last: records.Record | None = None
    for number, found in _lines(file):
        kind = found.get("type") if isinstance(found, dict) else None
        if last is None:
            if kind != "header":
                raise ReportError(_NO_REPORT)
            _known(found)
        elif kind == "header":
            raise ReportError(f"a second report begins in line {number}: keep each in a file of its own")
        elif isinstance(last, records.Footer):
            raise ReportError(f"line {number} comes after the footer: {_AGAIN}")
        try:
            last = records.checked(_shown(found))
        except (ValueError, RecursionError) as error:
            raise ReportError(f"line {number} is not as schema {SCHEMA} has it: {error}; {_AGAIN}") from error
        yield number, last
    if last is None:
        raise ReportError("it is empty: run again, and give the file that --conformance-report writes at the end")
    if not isinstance(last, records.Footer):
        raise ReportError("incomplete: it has no footer, so the run that wrote it did not end; run again")


def _known(header: object) -> None:
    """Refuse a header of another schema, whatever else it says."""
    assert isinstance(header, dict)
    schema, kit = header.get("schema"), header.get("kit")
    if schema != SCHEMA or isinstance(schema, bool):
        wrote = f"; kit {kit} wrote it, and reads it" if isinstance(kit, str) else ""
        raise ReportError(f"its schema is {schema!r}, and this release of the kit reads {SCHEMA}{wrote}")


# --- The report ------------------------------------------------------------------------------------------------------


def _report(file: BinaryIO) -> Report:
    found = [record for _, record in _records(file)]
    header, footer = found[0], found[-1]
    assert isinstance(header, records.Header)
    assert isinstance(footer, records.Footer)
    origin = Origin(**{name: getattr(header, name) for name in Origin.__slots__})
    implementations = [record for record in found if isinstance(record, records.Implementation)]
    names = [record.implementation for record in implementations]
    errors = tuple(record.message for record in found if isinstance(record, records.Error))
    internal_errors = tuple(record.message for record in found if isinstance(record, records.InternalError))
    if (footer.implementations, footer.errors) != (len(names), len(errors) + len(internal_errors)):
        raise ReportError(f"records are missing, or there are too many: it does not hold what its footer counts; {_AGAIN}")
    if twice := _twice(names):
        raise ReportError(f"{twice} is in it twice: {_AGAIN}")
    parts: dict[str, list[records.Check | records.Rule | records.Also]] = {name: [] for name in names}
    for record in found:
        if isinstance(record, records.Check | records.Rule | records.Also):
            if record.implementation not in parts:
                raise ReportError(f"records of {record.implementation} have no implementation: {_AGAIN}")
            parts[record.implementation].append(record)
    gate = tuple(record.message for record in found if isinstance(record, records.Gate))
    tested = tuple(_implementation(one, parts[one.implementation]) for one in implementations)
    return Report(tested, errors, origin, gate, internal_errors, interrupted=footer.interrupted is True)


def _twice(names: Iterable[str]) -> str:
    """Return a name that comes twice, or ``""``."""
    return next((name for name, count in Counter(names).items() if count > 1), "")


def _implementation(
    record: records.Implementation, parts: Sequence[records.Check | records.Rule | records.Also]
) -> ImplementationReport:
    name = record.implementation
    checks = [part for part in parts if isinstance(part, records.Check)]
    also = [part for part in parts if isinstance(part, records.Also)]
    if twice := _twice([check.check for check in checks]) or ("a second contract" if len(also) > 1 else ""):
        raise ReportError(f"{twice} is in it twice for {name}: {_AGAIN}")
    same = ("path", "version", "kind", "profile", "settings", "claims", "server", "found", "stores", "notes", "verdict")
    found = ImplementationReport(
        name=name,
        level=Level(record.level),
        offers=frozenset(record.offers),
        checks=tuple(CheckRecord(check.check, check.outcomes, check.seconds, check.fatal is True) for check in checks),
        verdicts=(),
        **{field: getattr(record, field) for field in same},
    )
    found = _judged(found, record, [part for part in parts if isinstance(part, records.Rule)])
    for second in also:
        found = replace(found, also=_judged(replace(found, profile=second.profile), second, second.rules))
    return found


def _judged(
    found: ImplementationReport, record: records.Implementation | records.Also, rules: Sequence[records.Rule]
) -> ImplementationReport:
    """Return a report with the verdicts of its records."""
    if twice := _twice([rule.rule for rule in rules]):
        raise ReportError(f"{twice} is in it twice for {found.name}: {_AGAIN}")
    found = replace(found, verdicts=tuple(_verdict(rule, found) for rule in rules), verdict=record.verdict)
    counts = {level: {verdict: n for verdict, n in counter.items() if n} for level, counter in found.counts().items()}
    if counts != {level: {v: n for v, n in record.counts.get(level, {}).items() if n} for level in Level}:
        raise ReportError(f"rules of {found.name} are missing, or there are too many: {_AGAIN}")
    return found


def _verdict(record: records.Rule, found: ImplementationReport) -> RuleVerdict:
    rule = Rule(
        id=record.rule,
        level=record.level,
        sentence=record.sentence,
        source=record.source,
        profiles=frozenset({found.profile}),
        kinds=frozenset({found.kind}),
        hints=record.hints or (),
        provisional=record.provisional or "",
    )
    violation = None if record.script is UNSET else _violation(record.rule, record)
    return RuleVerdict(rule, record.verdict, record.reason or "", violation, record.known or "")


def _violation(rule: str, record: records.Rule | records.Evidence) -> Violation:
    fields = {name: getattr(record, name) for name in records.Evidence.__struct_fields__}
    given = {name: value for name, value in fields.items() if value is not UNSET}
    others = getattr(record, "others", UNSET) or ()
    return Violation(rule, **given, others=tuple(_violation(rule, other) for other in others))
