"""Asynchronous queues where qCrawl is not installed: one line, or the author's own class of requests."""

import inspect
import os
import subprocess
import sys

import pytest
from kit import ENVIRONMENT

pytest.importorskip("qcrawl", reason="the module of the queue needs it, and the queue does not")

from mutants.async_controls_bare import BareQueue

HIDES = """
import sys
from importlib.machinery import PathFinder

class WithoutQCrawl:
    find_distributions = PathFinder.find_distributions
    invalidate_caches = PathFinder.invalidate_caches

    def find_spec(name, path=None, target=None):
        return None if name.partition(".")[0] == "qcrawl" else PathFinder.find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = WithoutQCrawl
"""

REQUEST = """
import asyncio

class Request:
    def __init__(self, url, priority=0, **fields):
        self.url, self.priority, self.fields = url, priority, fields

"""


@pytest.fixture
def run(tmp_path):
    """``status, out = run("-k", "aqueue.put.accept")``: run the kit on the queue in a process that has no qCrawl."""
    (tmp_path / "hides.py").write_text(HIDES)
    (tmp_path / "mine.py").write_text(REQUEST + inspect.getsource(BareQueue))
    path = os.pathsep.join([str(tmp_path), ENVIRONMENT["PYTHONPATH"]])

    def ran(*arguments, command=("-m", "pytest", "-q", "-p", "hides", "-p", "no:cacheprovider")):
        command = [sys.executable, *command, *arguments]
        done = subprocess.run(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
        return done.returncode, " ".join(done.stdout.split())

    return ran


def test_one_line_says_what_to_install_or_to_claim(run):
    status, out = run("--queue-class=mine.BareQueue")
    assert status == pytest.ExitCode.USAGE_ERROR
    assert 'qCrawl is not installed: `pip install "pytest-queue-conformance[qcrawl]"`, or name the class' in out
    assert "INTERNAL ERROR" not in out


@pytest.mark.parametrize("rule", ["aqueue.put.accept", "aqueue.scale.stored", "aqueue.clear"])
def test_requests_of_ones_own_need_no_qcrawl(run, rule):
    status, out = run("--queue-class=mine.BareQueue", "--conformance-claim=request=mine.Request", "-k", rule)
    assert status == 0, out
    assert " passed" in out


def test_they_are_measured_without_qcrawl(run):
    measure = "import hides, sys; from queue_conformance.__main__ import main; sys.exit(main())"
    arguments = ("measure", "mine.BareQueue", "--conformance-claim=request=mine.Request", "--up-to=1000", "--axis=stored")
    status, out = run(*arguments, command=("-c", measure))
    assert status == 0, out
    assert "put" in out
