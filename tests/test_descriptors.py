"""A class that leaves open all files that there may be fails the rule on that, however many these are; a right one needs few."""

import fcntl
import os
import resource
import subprocess
import sys

import pytest
from kit import FIFO_DISK, FIFO_MEMORY, TESTS, further

RULE = "queue.close.releases"


def run_with(limit, path, tmp_path, **options):
    """Test a class as a user would whose processes may open so many files."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", f"--queue-class={path}", "-k", "smoke or close or many"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(TESTS)},
        **options,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)),
    )


@pytest.mark.parametrize(
    ("limit", "name"),
    [(64, "LeaksFiles"), (64, "LeavesNoDescriptor"), (256, "RaisesWithoutDescriptors")],
)
def test_a_class_that_leaves_no_descriptor_fails_the_rule_on_that(limit, name, tmp_path):
    ended = run_with(limit, f"mutants.memory.{name}", tmp_path)
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert "INTERNAL ERROR" not in ended.stdout
    (failed,) = (line for line in ended.stdout.splitlines() if line.startswith("FAILED "))
    assert RULE in failed


@pytest.mark.parametrize("path", [FIFO_MEMORY, *further(FIFO_DISK)])
def test_a_right_class_needs_few(path, tmp_path):
    ended = run_with(64, path, tmp_path)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_what_a_shell_left_open_beyond_the_limit_is_in_nobodys_way(tmp_path):
    beyond = fcntl.fcntl(0, fcntl.F_DUPFD, 200)
    try:
        ended = run_with(64, FIFO_MEMORY, tmp_path, pass_fds=(beyond,))
    finally:
        os.close(beyond)
    assert ended.returncode == 0, ended.stdout + ended.stderr
