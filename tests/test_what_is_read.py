"""Whatever lies where the kit reads what others may have written, it is data, and what makes no sense is one line."""

import errno
import io
import json
import os
import pickle
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from types import SimpleNamespace

import made_reports
import pytest
from hypothesis.database import DirectoryBasedExampleDatabase
from test_reading import REPORT, RULE

from queue_conformance import __main__ as commands
from queue_conformance import baseline
from queue_conformance.campaign import CampaignError, state
from queue_conformance.config import targets
from queue_conformance.config.values import UsageError
from queue_conformance.engine.sequences import LONGEST, encode
from queue_conformance.engine.sequences import commands as written
from queue_conformance.frontends.cache import RunCache
from queue_conformance.reports import files, jsonl


class Runs:
    """What runs when it is unpickled."""

    def __reduce__(self):
        return exec, ("raise SystemExit('unpickled')",)


DEEP = "[" * 100_000
CONTENTS = {
    "nothing": b"",
    "a pickle": pickle.dumps(Runs()) + b"\n",
    "code": b"raise SystemExit('executed')\n",
    "deep JSON": DEEP.encode() + b"\n",
    "deep JSON in a field": b'{"type": "header", "schema": ' + DEEP.encode() + b"}\n",
    "deep TOML": f"known = {DEEP}\n".encode(),
    "a deep table": b"[[known]]\nexpires" + b".a" * 1_500 + b" = 1\nrule = 'r'\nimplementation = 'i'\nreason = 'r'\n",
    "a long name": b"[[known]]\n" + b"a" * 1_000_000 + b" = 1\nrule = 'r'\nimplementation = 'i'\nreason = 'r'\n",
    "a long header": json.dumps({"type": "header", "schema": "9" * 1_000_000}).encode() + b"\n",
    "a long text in the header": REPORT.replace('"created": "', '"created": "' + "9" * 1_000_000, 1).encode(),
    "a deep field": f'{REPORT.splitlines()[0][:-1]}, "more": {"[" * 700}{"]" * 700}}}\n'.encode(),
    "a long number": b'{"type": "header", "schema": ' + b"9" * 1_000_000 + b"}\n",
    "zeros": bytes(100_000) + b"\n",
    "what is no UTF-8": b"\xff\xfe\xfa\n",
    "half a character": b'{"type": "header", "schema": "\\ud800\\u001b[2J"}\n',
    "an escape": b"\x1b[2J = 1\n",
}


def by_command(*arguments):
    """Return the lines of errors of a command."""

    def read(file):
        out, said = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(said):
            commands.main([str(file) if argument is None else argument for argument in arguments])
        return said.getvalue().splitlines()

    return read


def by_baseline(file):
    try:
        baseline.read(file, "known.toml")
    except baseline.BaselineError as error:
        return str(error).splitlines()
    return []


def by_pyproject(file):
    try:
        targets.read_table(SimpleNamespace(rootpath=file.rename(file.with_name("pyproject.toml")).parent))
    except UsageError as error:
        return str(error).splitlines()
    return []


def by_campaign(name):
    def read(file):
        directory = file.parent / "campaign"
        directory.mkdir()
        (directory / name).write_bytes(file.read_bytes())
        try:
            state.State(directory).close()
        except CampaignError as error:
            return str(error).splitlines()
        return []

    return read


def by_database(file):
    directory = file.parent / "database"
    DirectoryBasedExampleDatabase(directory).save(b"queue-conformance mine", file.read_bytes())
    assert RunCache(None, str(directory)).sequences("mine") == []
    return []


READERS = {
    "replay": by_command("replay", None, RULE, "--yes"),
    "issue": by_command("issue", None, RULE),
    "compare": by_command("compare", None, None),
    "matrix": by_command("matrix", None, "-o", "/dev/null"),
    "report": by_command("report", None),
    "baseline": by_baseline,
    "pyproject": by_pyproject,
    "tasks of a campaign": by_campaign(state.LINES),
    "report of a campaign": by_campaign(state.REPORT),
    "database": by_database,
}
RIGHT = {("nothing", reader) for reader in ("baseline", "pyproject", "tasks of a campaign")}
RIGHT |= {(content, "pyproject") for content in ("a deep table", "a long name")} | {(content, "database") for content in CONTENTS}
"""What is none of the reader's business."""


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("content", CONTENTS)
def test_what_makes_no_sense_is_one_short_line_and_nothing_is_run(tmp_path, content, reader):
    file = tmp_path / "read.jsonl"
    file.write_bytes(CONTENTS[content])
    lines = READERS[reader](file)
    assert len(lines) == ((content, reader) not in RIGHT)
    assert all(line.isprintable() and len(line) < 2000 for line in lines)


@pytest.mark.parametrize("reader", ["replay", "compare", "matrix", "report of a campaign"])
def test_a_report_that_was_cut_anywhere_is_one_line(tmp_path, reader):
    whole = REPORT.encode()
    for number, place in enumerate(sorted({*range(0, len(whole) - 1, 997), *range(len(whole) - 40, len(whole) - 1)})):
        (directory := tmp_path / str(number)).mkdir()
        (directory / "read.jsonl").write_bytes(whole[:place])
        assert len(READERS[reader](directory / "read.jsonl")) == 1, place


HOSTILE = "a\x1b[2Jb\r\n::error::c\u202e"


@pytest.mark.parametrize(
    "command",
    [
        ("report", None),
        ("report", "-v", None),
        ("compare", None, None),
        ("issue", None, RULE),
        ("replay", None, RULE, "--implementation=x"),
    ],
)
def test_a_report_tells_neither_terminals_nor_logs_what_to_do(tmp_path, command, capsys):
    seen = made_reports.violation(RULE, expected=HOSTILE, actual=HOSTILE, operations=(HOSTILE,), cause=HOSTILE, script="1")
    texts = dict.fromkeys(("path", "version", "found", "server"), HOSTILE)
    found = made_reports.implementation(HOSTILE, failed=[seen], known={RULE: HOSTILE})
    found = replace(found, **texts, notes=(HOSTILE,), settings={HOSTILE: HOSTILE}, claims={HOSTILE: HOSTILE})
    file = tmp_path / "report.jsonl"
    file.write_text(jsonl.render(made_reports.report(found, errors=[HOSTILE], gate=[HOSTILE])), "utf-8")
    commands.main([str(file) if argument is None else argument for argument in command])
    lines = "".join(capsys.readouterr()).split("\n")
    assert any("::error::c" in line for line in lines)
    assert [line for line in lines if not line.isprintable() or line.startswith("::")] == []


@pytest.mark.parametrize(
    "damaged",
    [
        DEEP,
        "{}",
        "[]",
        '[["push"]]',
        '[["push", [], 0]]',
        '[["push", 0, -1]]',
        '[["push", 0, true]]',
        "[[0, 0, 0]]",
        encode(written("pop ") * (LONGEST + 1)),
    ],
)
def test_what_is_no_sequence_is_left_in_the_database_and_not_run(tmp_path, damaged):
    database = DirectoryBasedExampleDatabase(tmp_path / "database")
    right = written("push:0 pop")
    for text in (damaged, encode(right)):
        database.save(b"queue-conformance mine", text.encode())
    assert RunCache(None, str(tmp_path / "database")).sequences("mine") == [right]


# --- What commands and runs write ------------------------------------------------------------------------------------


def test_a_run_that_is_ended_while_it_writes_leaves_the_report_before_as_it_was(tmp_path, monkeypatch):
    file = tmp_path / "report.jsonl"
    files.write(made_reports.report(), file)
    before = file.read_bytes()

    def end(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", end)
    with pytest.raises(KeyboardInterrupt):
        files.write(made_reports.report(errors=["another"]), file)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"report.jsonl": before}


def test_what_cannot_be_replaced_is_written_in_its_place(tmp_path, monkeypatch):
    def refuse(*arguments):
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))  # as for a file that is mounted into a container

    file = tmp_path / "report.md"
    file.write_text("old")
    monkeypatch.setattr(os, "replace", refuse)
    files.write_text("new", file)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("report.md", "new")]


def test_a_pipe_stays_a_pipe(tmp_path):
    pipe = tmp_path / "report.jsonl"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    files.write_text("half a character \ud800", pipe)
    assert os.read(reader, 100) == b"half a character \\ud800"
    os.close(reader)
    assert pipe.is_fifo()
