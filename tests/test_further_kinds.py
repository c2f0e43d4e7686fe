"""A kind that another distribution brings is one like any other."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parent.parent / "examples" / "request_queue_kind"
CLASSES = "queue_kind_crawlee.examples"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Install the example beside the kit; return what runs Python there."""
    target = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(target), str(EXAMPLE)]
    subprocess.run(pip, check=True, capture_output=True)

    def run(*arguments):
        known = os.pathsep.join([str(target), os.environ.get("PYTHONPATH", "")])
        command = [sys.executable, "-m", *arguments]
        done = subprocess.run(command, cwd=target, env={**os.environ, "PYTHONPATH": known}, capture_output=True, text=True)
        return done.returncode, done.stdout, target

    return run


def test_it_appears_in_the_help_and_among_the_rules(installed):
    assert "request queues too" in " ".join(installed("pytest", "--help")[1].split())
    _, listed, _ = installed("queue_conformance", "rules", "--kind=request-queue")
    ids = [line.split()[0] for line in listed.splitlines()]
    assert ids == ["claims.true", "rq.interface", "rq.fetch", "rq.unique", "rq.reclaim", "rq.count"]


@pytest.mark.parametrize(
    ("name", "failed"), [("MemoryRequestQueue", []), ("AddsHandledAgain", ["rq.unique"]), ("DropsReclaimed", ["rq.reclaim"])]
)
def test_it_is_examined_and_reported(installed, name, failed):
    status, shown, directory = installed("pytest", "-q", f"--queue-class={CLASSES}.{name}", "--conformance-report=report.jsonl")
    assert status == bool(failed), shown
    records = [json.loads(line) for line in (directory / "report.jsonl").read_text().splitlines()]
    assert [record["kind"] for record in records if record["type"] == "implementation"] == ["request-queue"]
    rules = [record for record in records if record["type"] == "rule"]
    assert [record["rule"] for record in rules if record["verdict"] == "broken"] == failed
    for record in rules:
        if record["verdict"] == "broken":
            script = directory / "script.py"
            script.write_text(record["script"])
            assert subprocess.run([sys.executable, script], capture_output=True, cwd=directory).returncode == 1


def test_its_report_is_read_where_it_is_not_installed(installed):
    _, _, directory = installed(
        "pytest", "-q", f"--queue-class={CLASSES}.MemoryRequestQueue", "--conformance-report=report.jsonl"
    )
    command = [sys.executable, "-m", "queue_conformance", "report", "report.jsonl", "-o", "report.md"]
    assert subprocess.run(command, cwd=directory, capture_output=True).returncode == 0
    assert "request queue" in (directory / "report.md").read_text()
