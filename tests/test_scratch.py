"""The scratch directory of a run is removed when the run has ended, however it ended, and never before."""

import shutil
import subprocess
import sys

import pytest

from queue_conformance.frontends.scratch import Scratch

RUN = """
import os, sys
from queue_conformance.frontends.scratch import Scratch
print(Scratch().path, flush=True)
sys.stdin.read()
os._exit(1)
"""
NAMESPACE = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc")


def in_a_namespace_of_their_own():
    try:
        return subprocess.run([*NAMESPACE, "true"], capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(
    "where",
    [
        (),
        pytest.param(
            NAMESPACE, marks=pytest.mark.skipif(not in_a_namespace_of_their_own(), reason="needs namespaces of processes")
        ),
    ],
    ids=["here", "in another namespace"],
)
def test_a_run_that_goes_on_keeps_its_directory_and_one_that_was_killed_does_not(where):
    with subprocess.Popen([*where, sys.executable, "-c", RUN], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        path = other.stdout.readline().strip()
        Scratch().remove()
        listed = subprocess.run(["ls", path], capture_output=True, text=True)
        assert listed.stdout.split() == ["lock"]
        if not where:
            other.kill()
    Scratch().remove()
    assert subprocess.run(["ls", path], capture_output=True).returncode != 0


def test_nothing_is_left_of_a_directory_that_was_removed_by_halves():
    scratch = Scratch()
    half = scratch.path.with_name(f"{scratch.path.name}-half")
    half.mkdir()
    (half / "file").touch()
    other = Scratch()
    assert not half.exists()
    assert scratch.path.is_dir()
    shutil.rmtree(other.path)
    for one in (scratch, other, other):
        one.remove()
    assert not scratch.path.exists()
