"""Files that are given as reports: whatever is in them, they are read, or refused in one line that says what to do."""

import contextlib
import copy
import io
import json
import os
from dataclasses import replace
from functools import partial

import made_reports
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_schema import VALIDATOR

from queue_conformance import __main__ as commands
from queue_conformance import baseline
from queue_conformance.engine import kept_store
from queue_conformance.implementation.loading import LoadError
from queue_conformance.measuring import comparison as measured
from queue_conformance.processes import files as sources
from queue_conformance.reports import files, jsonl, reading, records
from queue_conformance.specification.kinds import EXTERNAL_QUEUE

AGAIN = "take the file as the run wrote it"
NO_REPORT = "no report of JSON lines: give the .jsonl file that --conformance-report wrote"
OTHER = "its schema is 99, and this release of the kit reads 1"
RULE = "queue.pop.empty-none"


def made():
    """Return a small report in which every type of record and every field occurs."""
    seen = made_reports.violation(RULE, sequence=(("push", 0, 1),), stacks="Thread 1", cause="pop raised IndexError")
    seen = made_reports.violation(**{name: getattr(seen, name) for name in seen.__slots__ if name != "others"}, others=(seen,))
    full = made_reports.implementation(failed=[seen, "queue.peek.then-push"], known=[RULE])
    failed_rules = [verdict for verdict in full.verdicts if verdict.violation]
    others = [next(verdict for verdict in full.verdicts if bool(verdict.reason) == reason) for reason in (True, False)]
    short = {"sentence": "It is.", "source": "here", "hints": ("Look",)}
    verdicts = [replace(one, rule=replace(one.rule, **short)) for one in failed_rules + others]
    check = reading.CheckRecord("machine", {RULE: records.Outcome.FAILED}, 0.5, True)
    small = {"verdicts": tuple(verdicts), "checks": (check,)}
    also = made_reports.implementation(**small, profile=EXTERNAL_QUEUE)
    found = made_reports.implementation(**small, also=also)
    report = made_reports.report(found, made_reports.implementation("other", **small), errors=["no class"], gate=["drop it"])
    return replace(report, internal_errors=("the kit failed",))


REPORT = jsonl.render(made())
LINES = REPORT.splitlines(keepends=True)
NUMBER = {record["type"]: number for number, record in reversed(list(enumerate(map(json.loads, LINES))))}


def changed(kind, **changes):
    """Return the report with other values in the first record of a type; ``...`` stands for none."""
    record = json.loads(LINES[NUMBER[kind]]) | changes
    record = {name: value for name, value in record.items() if value is not ...}
    return "".join([*LINES[: NUMBER[kind]], f"{json.dumps(record)}\n", *LINES[NUMBER[kind] + 1 :]])


def without(kind):
    return "".join(line for number, line in enumerate(LINES) if number != NUMBER[kind])


def twice(kind):
    return REPORT.replace(LINES[NUMBER[kind]], LINES[NUMBER[kind]] * 2)


def line_of(kind):
    return f"line {NUMBER[kind] + 1} is not as schema 1 has it: "


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "it is empty: run again, and give the file that --conformance-report writes at the end"),
        ("queue,pop\n", NO_REPORT),
        (b"\x00\x01\xff", NO_REPORT),
        (b"\x1f\x8b\x08\x00", NO_REPORT),
        (REPORT.encode("utf-16"), NO_REPORT),
        ("[]\n", NO_REPORT),
        ("[" * 100_000, NO_REPORT),
        ('{"type": "rule"}\n', NO_REPORT),
        ('{"type": ["header"]}\n', NO_REPORT),
        ('{"type": "header", "schema": 99}\n', OTHER),
        ('{"type": "header", "schema": true}\n', "its schema is True, and this release of the kit reads 1"),
        ('{"type": "header", "schema": 99, "kit": "7"}\n', f"{OTHER}; kit 7 wrote it, and reads it"),
        (LINES[0], "incomplete: it has no footer, so the run that wrote it did not end; run again"),
        (LINES[0][:-20], f"it was cut off in line 1: {AGAIN}"),
        (REPORT[:-9], f"it was cut off in line {len(LINES)}: {AGAIN}"),
        (REPORT.replace("}\n", "}}\n", 1), f"line 1 is no JSON: {AGAIN}"),
        (LINES[0].encode() + b'{"type": "\xff"}\n', f"line 2 is no JSON: {AGAIN}"),
        (LINES[0] + "[" * 100_000 + "\n", f"line 2 is no JSON: {AGAIN}"),
        (LINES[0] + "9" * 10_000 + "\n", f"line 2 is no JSON: {AGAIN}"),
        (REPORT * 2, f"a second report begins in line {len(LINES) + 1}: keep each in a file of its own"),
        (REPORT + LINES[1], f"line {len(LINES) + 1} comes after the footer: {AGAIN}"),
        (LINES[0] + "1\n", f"line 2 is not as schema 1 has it: Expected `object`, got `int`; {AGAIN}"),
        (changed("header", seed=...), f"{line_of('header')}Object missing required field `seed`; {AGAIN}"),
        (changed("header", seed="7"), f"{line_of('header')}Expected `int`, got `str` - at `$.seed`; {AGAIN}"),
        (changed("gate", type="grate"), f"{line_of('gate')}Invalid value 'grate' - at `$.type`; {AGAIN}"),
        (changed("rule", verdict="good"), f"{line_of('rule')}Invalid enum value 'good' - at `$.verdict`; {AGAIN}"),
        (changed("rule", verdict="passed"), f"{line_of('rule')}a rule whose verdict is passed has no field `known`; {AGAIN}"),
        (changed("rule", script=...), f"{line_of('rule')}a rule whose verdict is failed lacks the field `script`; {AGAIN}"),
        (changed("implementation", colour="red"), f"{line_of('implementation')}Object contains unknown field `colour`; {AGAIN}"),
        (changed("check", implementation="who"), f"records of who have no implementation: {AGAIN}"),
        (changed("rule", rule="queue.pop.lifo"), None),
        (without("rule"), f"rules of {made_reports.QUEUE} are missing, or there are too many: {AGAIN}"),
        (without("error"), f"records are missing, or there are too many: it does not hold what its footer counts; {AGAIN}"),
        (without("gate"), None),
        (changed("implementation", implementation="other"), f"other is in it twice: {AGAIN}"),
        (twice("also"), f"a second contract is in it twice for {made_reports.QUEUE}: {AGAIN}"),
        (twice("rule"), f"{RULE} is in it twice for {made_reports.QUEUE}: {AGAIN}"),
        (REPORT.encode("utf-8-sig").replace(b"\n", b"\r\n\r\n"), None),
    ],
)  # fmt: skip
def test_a_file_is_read_or_refused_in_one_line(tmp_path, content, message):
    file = tmp_path / "report.jsonl"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    if message is None:
        jsonl.read(file)
        return
    with pytest.raises(jsonl.ReportError) as caught:
        jsonl.read(file)
    assert str(caught.value) == f"{file}: {message}"


def test_what_is_no_file_is_one_line(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    said = {"none": "No such file or directory", ".": "Is a directory", "loop": "Too many levels of symbolic links"}
    for name, message in said.items():
        with pytest.raises(jsonl.ReportError, match=f": {message}$"):
            jsonl.read(tmp_path / name)
    with pytest.raises(jsonl.ReportError, match="it is empty"):  # and it does not wait for somebody who writes to it
        jsonl.read(tmp_path / "pipe")
    assert measured.read(tmp_path / "pipe") is None


@pytest.mark.parametrize("read", [partial(baseline.read, name="known.toml"), lambda path: kept_store.load(path.parent)])
def test_a_pipe_and_what_is_too_large_are_refused_in_one_line(tmp_path, monkeypatch, read):
    monkeypatch.setattr(sources, "LONGEST", 1000)
    path = tmp_path / kept_store.FILE
    path.write_text(" " * 1001)
    with pytest.raises((LoadError, baseline.BaselineError), match="File too large"):
        read(path)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises((LoadError, baseline.BaselineError), match=r"is no file|is damaged"):
        read(path)


def test_a_line_without_an_end_is_refused(monkeypatch):
    monkeypatch.setattr(reading, "LONGEST", 1000)
    with pytest.raises(jsonl.ReportError, match="no report"):
        jsonl.parse("x" * 5000)
    with pytest.raises(jsonl.ReportError, match="cut off in line 2"):
        jsonl.parse(LINES[0] + " " * 5000 + LINES[-1])


def test_a_pipe_that_something_writes_to_is_read():
    out, into = os.pipe()
    with open(into, "wb") as file:
        file.write(REPORT.encode())
    assert jsonl.render(jsonl.read(f"/dev/fd/{out}")) == REPORT
    os.close(out)


# --- Whatever is wrong -----------------------------------------------------------------------------------------------

ODD = st.sampled_from(
    [None, True, -1, 0, 1.5, 10**30, "", "x", "MUST", "passed", "failed", RULE, "a\nb\x1b\x00", "\ud800", [], [[]], {}, {"": []}]
) | st.recursive(st.none() | st.integers() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3), max_leaves=5)


@st.composite
def internal_errors(draw, record):
    """Draw a record with something wrong in one place of it, or in a place within that."""
    record = copy.deepcopy(record)
    inside = record
    while True:
        keys = list(range(len(inside))) if isinstance(inside, list) else list(inside)
        if not keys:
            inside["more" if isinstance(inside, dict) else 0 :] = draw(ODD) if isinstance(inside, dict) else [draw(ODD)]
            return record
        key = draw(st.sampled_from(keys))
        if isinstance(inside[key], dict | list) and inside[key] and draw(st.booleans()):
            inside = inside[key]
            continue
        what = draw(st.sampled_from(["replace", "replace", "remove", "add"]))
        if what == "remove":
            del inside[key]
        elif what == "add" and isinstance(inside, dict):
            inside[draw(st.text(max_size=3))] = draw(ODD)
        else:
            inside[key] = draw(ODD)
        return record


@st.composite
def wrong_reports(draw):
    """Draw the bytes of a report with one to three mistakes: within records, of whole lines, and of bytes."""
    lines = LINES
    for _ in range(draw(st.integers(1, 2))):
        number = draw(st.integers(0, len(lines) - 1))
        what = draw(st.sampled_from(["record"] * 6 + ["drop", "twice", "move"]))
        if what == "record":
            with contextlib.suppress(ValueError):
                line = f"{json.dumps(draw(internal_errors(json.loads(lines[number]))), ensure_ascii=False)}\n"
                lines = [*lines[:number], line, *lines[number + 1 :]]
            continue
        kept = lines[:number] + lines[number + 1 :]
        at = draw(st.integers(0, len(kept)))
        lines = kept if what == "drop" else [*kept[:at], lines[number], *kept[at:]] if what == "move" else [*lines, lines[number]]
    written = "".join(lines).encode("utf-8", "backslashreplace")
    if draw(st.integers(0, 5)) == 0:
        at = draw(st.integers(0, len(written)))
        written = written[:at] + draw(st.binary(max_size=3)) + written[at + draw(st.integers(0, 50)) :]
    return written


@given(wrong_reports())
@settings(max_examples=100, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))
def test_commands_do_what_they_can_with_a_report_or_refuse_it_in_one_line(tmp_path_factory, written):
    directory = tmp_path_factory.mktemp("reports")
    file, right = directory / "mutated.jsonl", directory / "right.jsonl"
    file.write_bytes(written)
    right.write_text(REPORT)
    outputs = [argument for ending in files.RENDERERS for argument in ("-o", f"{directory}/out{ending}")]
    for arguments in (
        ["compare", right, file],
        ["compare", file, right],
        ["matrix", file, right, "-o", directory / "out.html"],
        ["report", file, *outputs],
        ["report", file, "--verbose"],
        ["replay", file, RULE, "--print"],
    ):
        out, said = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
            status = commands.main(list(map(str, arguments)))
        said.seek(0)
        lines = said.read().splitlines()
        assert (status in (0, 1)) == (lines == []), lines
        assert len(lines) <= 1


@given(st.sampled_from(LINES).map(json.loads).flatmap(internal_errors))
@settings(max_examples=200, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))
def test_the_reader_takes_what_the_schema_takes(record):
    try:
        records.checked(record)
        taken = True
    except ValueError:
        taken = False
    assert taken == VALIDATOR.is_valid(record), record
