"""A kind that another distribution brings is one like any other."""

import json
import os
import subprocess
import sys

import pytest
from user import ROOT, install_beside

EXAMPLE = ROOT / "examples" / "request_queue_kind"
CLASSES = "queue_kind_crawlee.examples"


@pytest.fixture
def installed(once, tmp_path_factory, tmp_path):
    """Install the example beside the kit; return what runs Python with it."""

    def install():
        target = tmp_path_factory.mktemp("installed")
        install_beside(EXAMPLE, target)
        return target

    target = once("installed", install)

    def run(*arguments):
        known = os.pathsep.join([str(target), os.environ.get("PYTHONPATH", "")])
        command = [sys.executable, *arguments]
        return subprocess.run(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": known}, capture_output=True, text=True)

    return run


def test_it_appears_in_the_help_and_among_the_rules(installed):
    assert "request queues too" in " ".join(installed("-m", "pytest", "--help").stdout.split())
    listed = installed("-m", "queue_conformance", "rules", "--kind=request-queue").stdout
    ids = [line.split()[0] for line in listed.splitlines()]
    assert ids == ["claims.true", "rq.interface", "rq.fetch", "rq.unique", "rq.reclaim", "rq.count"]


def test_it_is_tested_and_reported_and_the_report_is_read_where_it_is_not_installed(installed, tmp_path):
    failing = {"MemoryRequestQueue": [], "AddsHandledAgain": ["rq.unique"], "DropsReclaimed": ["rq.reclaim"]}
    options = [f"--queue-class={CLASSES}.{name}" for name in failing]
    run = installed("-m", "pytest", "-q", "-W", "error", *options, "--conformance-report=report.jsonl")
    assert run.returncode == 1, run.stdout
    records = [json.loads(line) for line in (tmp_path / "report.jsonl").read_text().splitlines()]
    tested = {record["path"]: record for record in records if record["type"] == "implementation"}
    for name, failed in failing.items():
        found = tested[f"{CLASSES}.{name}"]
        assert found["kind"] == "request-queue"
        assert (found["verdict"] == "CONFORMANT") == (not failed)
        rules = [record for record in records if record["type"] == "rule" and record["implementation"] == found["implementation"]]
        failures = [record for record in rules if record["verdict"] == "failed"]
        assert [record["rule"] for record in failures] == failed
        for record in failures:
            (tmp_path / "script.py").write_text(record["script"])
            assert installed("script.py").stderr.splitlines()[-1].startswith("AssertionError: ")
    command = [sys.executable, "-m", "queue_conformance", "report", "report.jsonl", "-o", "report.md"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True).returncode == 0
    assert "request queue" in (tmp_path / "report.md").read_text()


def test_it_has_a_suite_to_subclass(installed, tmp_path):
    source = "from queue_conformance import RequestQueueSuite\n\n\nclass TestMine(RequestQueueSuite):\n    queue_class = {!r}\n"
    (tmp_path / "test_mine.py").write_text(source.format(f"{CLASSES}.DropsReclaimed"))
    run = installed("-m", "pytest", "-q", "-W", "error", "test_mine.py")
    assert "FAILED test_mine.py::TestMine::test_conformance[rq.reclaim]" in run.stdout
