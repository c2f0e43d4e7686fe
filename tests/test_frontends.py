"""The command line, suites to subclass and the function: the same rules, verdicts and reports."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest
from kit import ASYNC_MEMORY, FIFO_BYTES, FIFO_MEMORY, SCHEDULER, SETTINGS, TESTS, further

from mutants import QCRAWL
from queue_conformance import Report, examine
from queue_conformance.frontends.testcases import SUITES
from queue_conformance.reports import jsonl

FAILED = "mutants.memory.PeeksAtTheNewest"

EXAMINED = {
    FIFO_MEMORY: "DownstreamQueueSuite",
    FAILED: "DownstreamQueueSuite",
    **({ASYNC_MEMORY: "AsyncQueueSuite"} if QCRAWL else {}),
    FIFO_BYTES: "ByteQueueSuite",
    SCHEDULER: "SchedulerSuite",
}

WORDS = {
    FAILED: ("smoke", "claims.true", "machine", "peek.", "len.", "close."),
    FIFO_BYTES: ("smoke", "claims.true", "machine", "peek.", "len.", "close."),
    SCHEDULER: ("smoke", "claims.true", "machine", "iface", "next.", "pending.", "enqueue."),
}
"""What is tested with some checks alone: what their names, or those of their rules, contain."""

SUITE = """
class {name}({suite}):
    settings = {settings!r}

    @pytest.fixture
    def {fixture}(self):
        return {path!r}
"""


def name_of(path):
    return f"Test{path.rpartition('.')[2]}"


def through_pytest(directory, examined, *arguments):
    """Test classes by options and by suites, in one run; return the reports by the names of the implementations."""
    suites = [f"import pytest\nfrom queue_conformance import {', '.join(sorted(set(examined.values())))}\n"]
    table = []
    for path, suite in examined.items():
        option = next(found.kind.option for found in SUITES.values() if found.__name__ == suite)
        given = {"settings": SETTINGS.get(path, {}), "fixture": option.replace("-", "_"), "path": path}
        suites.append(SUITE.format(name=name_of(path), suite=suite, **given))
        settings = ", ".join(f'{name} = "{value}"' for name, value in SETTINGS.get(path, {}).items())
        table.append(f'[tool.queue_conformance.implementations."{path}"]\n{option} = "{path}"\nsettings = {{ {settings} }}\n')
    (directory / "test_suites.py").write_text("".join(suites))
    (directory / "pyproject.toml").write_text("".join(table))
    command = [sys.executable, "-m", "pytest", "-c", os.devnull, "--rootdir=.", "-p", "no:cacheprovider", *arguments]
    command += ["--conformance", "--conformance-examples=10", "--conformance-report=report.jsonl", "test_suites.py"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])}
    environment.pop("PYTEST_ADDOPTS", None)
    result = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True)
    assert result.returncode in (0, 1), result.stdout + result.stderr
    report = jsonl.read(directory / "report.jsonl")
    assert not report.errors
    return {found.name: found for found in report.implementations}


def comparable(report):
    """Return a report as a file holds it, without its name and without times."""
    (found,) = jsonl.parse(jsonl.render(report)).implementations if isinstance(report, Report) else (report,)
    notes = tuple(note for note in found.notes if not note.startswith("an operation takes"))  # as it does on a busy machine
    return replace(found, name="", checks=tuple(replace(check, seconds=0.0) for check in found.checks), notes=notes)


@pytest.mark.parametrize("path", [FAILED, *further(*(path for path in EXAMINED if path != FAILED))])
def test_the_three_entrances_give_the_same_report(tmp_path, path):
    words = WORDS.get(path, ())
    selected = ["-k", " or ".join(words)] if words else []
    reports = through_pytest(tmp_path, {path: EXAMINED[path]}, *selected)
    rules = [f"*{word}*" for word in words]
    called = comparable(examine(path, settings=SETTINGS.get(path, {}), examples=10, rules=rules))
    assert comparable(reports[path]) == called
    assert comparable(reports[f"test_suites.py::{name_of(path)}"]) == called
    assert [v.rule.id for v in called.verdicts if v.violation] == (["queue.peek.equals-pop"] if path == FAILED else [])
    assert len(called.checks) > 10
