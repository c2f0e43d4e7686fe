"""A platform without fork, SIGKILL and limits (Windows): what needs them is not covered and says so; the rest is judged."""

import json
import os
import pkgutil
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest
from actions import load
from kit import FIFO_DISK, FIFO_MEMORY, further

import queue_conformance
from queue_reference.memory import FifoMemoryQueue

TESTS = Path(__file__).parent
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS / "without_posix"), str(TESTS)])}


def python(*command, timeout=300):
    return subprocess.run([sys.executable, *command], env=ENVIRONMENT, capture_output=True, text=True, timeout=timeout)


def attributed(path, directory, *options):
    """Return the exit status, the verdict, and the record of each rule."""
    report = directory / "report.jsonl"
    options = ["-p", "no:cacheprovider", "-c", os.devnull, f"--rootdir={directory}", "--conformance-examples=20", *options]
    ended = python("-m", "pytest", *options, f"--queue-class={path}", f"--conformance-report={report}")
    assert report.exists(), ended.stdout + ended.stderr
    records = [json.loads(line) for line in report.read_text().splitlines()]
    (found,) = [record for record in records if record["type"] == "implementation"]
    return ended.returncode, found["verdict"], {record["rule"]: record for record in records if record["type"] == "rule"}


def test_every_module_can_be_imported():
    names = [found.name for found in pkgutil.walk_packages(queue_conformance.__path__, "queue_conformance.")]
    others = ("__main__", "campaign.running")  # psutil, which dask uses, takes what Linux has without asking
    ended = python("-c", "\n".join(f"import {name}" for name in names if not name.endswith(others)))
    assert ended.returncode == 0, ended.stderr


CLASS_OF_A_FUNCTION = "scrapy.squeues.FifoMemoryQueue"
CANNOT = {
    "queue.persist.crash-open": "this platform cannot fork",
    "queue.persist.crash-no-phantom": "this platform cannot fork",
    "queue.push.no-silent-loss": "this platform cannot limit the size of files",
    "queue.close.keeps-fault": "there is no server behind the queue",  # which is the other fault that its checks know
}


@pytest.mark.parametrize(("path", "missing"), [(CLASS_OF_A_FUNCTION, {}), *further((FIFO_MEMORY, {}), (FIFO_DISK, CANNOT))])
def test_a_queue_gets_a_verdict(path, missing, tmp_path):
    status, verdict, rules = attributed(path, tmp_path)
    assert (status, verdict) == (0, "CONFORMANT")
    assert missing == {rule: rules[rule].get("reason") for rule in missing}


class EndsAtNine(FifoMemoryQueue):
    """It ends the interpreter when nine requests are stored."""

    def pop(self):
        return os._exit(3) if len(self) == 9 else super().pop()


class HangsAtNine(FifoMemoryQueue):
    """It never returns when nine requests are stored."""

    def pop(self):
        while len(self) == 9:
            time.sleep(0.01)
        return super().pop()


@pytest.mark.further
@pytest.mark.parametrize(
    ("name", "how"),
    [("EndsAtNine", "ended the interpreter with status 3"), ("HangsAtNine", "did not return within 1 s")],
)
def test_what_hangs_or_ends_the_process_costs_its_own_rule_alone(name, how, tmp_path):
    status, verdict, rules = attributed(f"test_without_posix.{name}", tmp_path, "--conformance-time-limit=1")
    assert (status, verdict) == (1, "NON-CONFORMANT")
    assert {rule for rule, record in rules.items() if record["verdict"] == "failed"} == {"queue.pop.exactly-once"}
    assert how in rules["queue.pop.exactly-once"]["actual"]


@pytest.mark.further
def test_the_references_that_the_workflow_tests_get_a_verdict_in_one_run(tmp_path):
    steps = load(TESTS.parent / ".github/workflows/test.yml")["jobs"]["platforms"]["steps"]
    _, _, *options = shlex.split(steps[-1]["run"])
    ended = python("-m", *options, "-c", os.devnull, f"--rootdir={tmp_path}", timeout=900)
    assert ended.returncode == 0, ended.stdout + ended.stderr
