"""The kit as a user has it: its wheel, in an environment of its own, beside what is installed here."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent
COLUMNS = 80
BESIDE = ("pytest", "scrapy")
"""Programs of other distributions that guides call."""
QUICK = ("pytest", "python", "queue-conformance")
"""Programs that the fork server can run."""

WARNING = re.compile(r"\w+Warning: |\d warnings? in ")
"""What Python or pytest prints of a warning."""


def install(directory: Path) -> Path:
    """Build the wheel, install it, and return where its programs are.

    Args:
        directory: a new one.
    """
    _run("-m", "build", "--wheel", "--no-isolation", "--outdir", str(directory / "dist"), str(ROOT))
    (wheel,) = (directory / "dist").iterdir()
    environment = directory / "environment"
    venv.create(environment)
    python = environment / "bin" / "python"
    _run("-m", "pip", "--python", str(python), "install", "--no-index", "--no-deps", "--no-compile", str(wheel))
    own = Path(sysconfig.get_path("purelib", "venv", {"base": str(environment)}))
    # Of a directory that a .pth file names none is read, and that is how the kit is installed there.
    (own / "beside.pth").write_text(sysconfig.get_path("purelib"), "utf-8")
    for name in BESIDE:
        program = python.with_name(name)
        _, _, text = Path(sys.executable).with_name(name).read_text("utf-8").partition("\n")
        program.write_text(f"#!{python}\n{text}", "utf-8")
        program.chmod(0o755)
    quick = environment / "quick"
    quick.mkdir()
    for name in QUICK:
        program = quick / name
        program.write_text(f"#!{python} -IS\n{(ROOT / 'tests' / 'quick.py').read_text('utf-8')}", "utf-8")
        program.chmod(0o755)
    return python.parent


def install_beside(distribution: Path, directory: Path) -> None:
    """Install a distribution from its sources into a directory, which is to be on the path."""
    pip = ("-m", "pip", "install", "--no-index", "--no-deps", "--no-build-isolation", "--no-compile")
    _run(*pip, "--target", str(directory), str(distribution))


def environment(programs: Path) -> dict[str, str]:
    """Return the environment of a user: without what the tests, or the place where they run, add to it.

    Args:
        programs: where the programs of the kit are.
    """
    ours = ("PYTEST_", "PYTHON", "FORCE_COLOR", "PY_COLORS", "GITHUB_")
    of_ci = ("CI", "BUILD_NUMBER", "TF_BUILD")  # where pytest cuts no line, and Hypothesis has a profile of its own
    theirs = {name: value for name, value in os.environ.items() if not name.startswith(ours) and name not in of_ci}
    path = os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**theirs, "PATH": path, "COLUMNS": str(COLUMNS)}


def quick(programs: Path, server: int) -> dict[str, str]:
    """Return the environment of a user, in which a fork server runs the programs of the kit: an interpreter takes a second.

    Args:
        server: the descriptor of its socket, which commands are to inherit.
    """
    found = environment(programs)
    path = os.pathsep.join([str(programs.with_name("quick")), found["PATH"]])
    return {**found, "PATH": path, "FORK_SERVER": str(server)}


def too_wide(printed: str) -> list[str]:
    """Return the lines that a terminal would break, but for what pytest says of itself, errors, and paths of classes."""
    whole = re.compile(r"(platform|rootdir:|configfile:|plugins:|ERROR:) .*|(= )?\d+ \w+, .* in \d.*|.* (\w+\.)+\w+")
    return [line for line in printed.splitlines() if len(line) > COLUMNS and not whole.fullmatch(line)]


def _run(*arguments: str) -> None:
    done = subprocess.run([sys.executable, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout
