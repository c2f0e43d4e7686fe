"""The JSON Schema describes every record of a report, and nothing else."""

import json
import subprocess
import sys
from dataclasses import replace

import pytest
from jsonschema import Draft202012Validator
from kit import ASYNC_MEMORY, DUPEFILTER, FIFO_BYTES, PRIORITY, QCRAWL, SCHEDULER, STATE

from queue_conformance.reports import Origin, Report, jsonl
from queue_conformance.reports.schema import schema
from queue_conformance.specification import Level
from queue_conformance.specification.kinds import EXTERNAL_QUEUE

SCHEMA = schema()
DEFINITIONS = {
    found["properties"]["type"]["enum"][0]: found for found in SCHEMA["$defs"].values() if "type" in found.get("properties", ())
}
TYPES = list(DEFINITIONS)
VALIDATOR = Draft202012Validator(SCHEMA)


def of_type(name):
    """Return a validator for one type of record, whose errors are clearer than those of the whole schema."""
    return Draft202012Validator({**DEFINITIONS[name], "$defs": SCHEMA["$defs"]})


@pytest.fixture(scope="module")
def records(recorded):
    found = [
        recorded("mutants.memory.PeeksAtTheNewest", {"order": "FIFO"}, settings={"FTP_PASSWORD": "hunter2"}),
        recorded("mutants.memory.BreaksInTwoWays", only="machine"),
        recorded("mutants.memory.FactoryHangs", only="smoke", time_limit=1.0),
        recorded("mutants.memory.PopIsKilled", only="queue.pop.exactly-once"),
        *(recorded(path, only="smoke") for path in (FIFO_BYTES, PRIORITY, DUPEFILTER, STATE, SCHEDULER)),
        *([recorded(ASYNC_MEMORY, only="smoke")] if QCRAWL else []),
    ]
    known = tuple(replace(verdict, known="soon") if verdict.violation else verdict for verdict in found[0].verdicts)
    found.append(replace(found[0], name="known", level=Level.SHOULD, verdicts=known))
    based = (replace(one, violation=one.violation and replace(one.violation, base="a.Queue")) for one in found[0].verdicts)
    found.append(replace(found[0], name="based", verdicts=tuple(based)))
    new = tuple(replace(verdict, rule=replace(verdict.rule, provisional="0.1")) for verdict in found[0].verdicts)
    found.append(replace(found[0], name="new", verdicts=new))
    found.append(replace(found[0], name="twice", also=replace(found[0], profile=EXTERNAL_QUEUE)))
    origin = Origin(releases={"scrapy": "2.19.0"})
    text = jsonl.render(Report(tuple(found), ("no class",), origin, ("drop it",), ("it failed",), interrupted=True))
    return [json.loads(line) for line in text.splitlines()]


def test_the_schema_is_one():
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_a_command_prints_it():
    command = [sys.executable, "-m", "queue_conformance.reports.schema"]
    assert json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout) == SCHEMA


def test_it_has_the_version_of_the_reports():
    assert DEFINITIONS["header"]["properties"]["schema"]["enum"] == [jsonl.SCHEMA]


def test_every_record_is_as_the_schema_has_it(records):
    assert {record["type"] for record in records} == set(TYPES)
    for record in records:
        assert [error.message for error in of_type(record["type"]).iter_errors(record)] == []
        VALIDATOR.validate(record)


def test_every_field_of_the_schema_occurs(records):
    for name in TYPES:
        fields = {field for record in records if record["type"] == name for field in record}
        assert fields == DEFINITIONS[name]["properties"].keys(), name


@pytest.mark.parametrize("name", TYPES)
def test_an_unknown_field_is_refused(records, name):
    record = next(record for record in records if record["type"] == name)
    assert not VALIDATOR.is_valid({**record, "colour": "red"})


@pytest.mark.parametrize("name", TYPES)
def test_a_field_that_is_missing_is_refused(records, name):
    record = next(record for record in records if record["type"] == name)
    for field in DEFINITIONS[name]["required"]:
        assert not VALIDATOR.is_valid({key: value for key, value in record.items() if key != field}), field


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("header", {"schema": 2}),
        ("header", {"seed": -1}),
        ("implementation", {"verdict": "GOOD"}),
        ("implementation", {"kind": "A Stack"}),
        ("implementation", {"counts": {"OUGHT": {}}}),
        ("check", {"outcomes": {"queue.pop.fifo": "good"}}),
        ("check", {"outcomes": {"Queue": "passed"}}),
        ("check", {"fatal": False}),
        ("rule", {"level": "OUGHT"}),
        ("rule", {"rule": "Queue Pop"}),
        ("rule", {"verdict": "failed"}),
        ("rule", {"verdict": "blocked"}),
        ("rule", {"known": "but it is kept"}),
        ("footer", {"failed": "no"}),
    ],
)
def test_a_value_that_no_report_has_is_refused(records, name, changes):
    record = next(record for record in records if record["type"] == name and record.get("verdict") not in ("failed", "blocked"))
    record = next((r for r in records if r["type"] == name and r.get("verdict") == "passed"), record)
    assert VALIDATOR.is_valid(record)
    assert not VALIDATOR.is_valid({**record, **changes})


def test_every_field_is_described():
    for name in TYPES:
        fields = DEFINITIONS[name]["properties"]
        assert [field for field, about in fields.items() if field != "type" and "description" not in about] == []
