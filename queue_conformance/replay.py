"""Run the script of a broken rule again, to see whether the rule is still broken."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from queue_conformance.reports.secrets import HIDDEN, Secrets, needed
from queue_conformance.suites.outcomes import Violation


class ReplayError(Exception):
    """A script cannot be run again; the message is one line that says what to do."""


class State(Enum):
    """What a replay shows."""

    BROKEN = "still broken"
    KEPT = "not broken any more"
    UNKNOWN = "could not be replayed"


@dataclass(frozen=True, slots=True)
class Replay:
    """What came of running a script again.

    Attributes:
        state: what it shows.
        why: how the script ended, short.
        output: what it printed.
    """

    state: State
    why: str
    output: str


def replay(violation: Violation, time_limit: float = 60.0) -> Replay:
    """Run a script again: in a fresh interpreter, in a directory of its own, with the current directory on its path.

    Args:
        violation: the broken rule.
        time_limit: seconds that the script may take.

    Raises:
        ReplayError: if a secret is hidden in it, or read from the environment, and not there.
    """
    names = needed(violation.script)
    if missing := [name for name in names if name not in os.environ]:
        raise ReplayError(f"its script reads what the report hides from the environment; set {', '.join(missing)} there")
    if HIDDEN in violation.script:
        raise ReplayError(
            f"its script holds {HIDDEN} where a secret was; print it with --print, put the secret in, and run it with python"
        )
    with tempfile.TemporaryDirectory(prefix="queue-conformance-replay-") as directory:
        status, output = _run(violation.script, Path(directory), time_limit)
    output = Secrets({name: os.environ[name] for name in names}).text(output) if names else output
    if status == 0:
        return Replay(State.KEPT, "the script ended without an error", output)
    if status is None:
        return Replay(State.BROKEN, f"the script did not end within {time_limit:g} s", output)
    raised = _raised(output)
    name = raised.partition(":")[0]
    if name in ("ImportError", "ModuleNotFoundError") and name not in violation.actual:
        return Replay(State.UNKNOWN, f"{raised}; run this where it can be imported", output)
    if status < 0:
        return Replay(State.BROKEN, f"the script was ended by {signal.Signals(-status).name}", output)
    return Replay(State.BROKEN, raised or f"the script ended with status {status}", output)


def _run(script: str, directory: Path, time_limit: float) -> tuple[int | None, str]:
    """Return the exit status of a script, ``None`` if it did not end, and what it printed."""
    file, said = directory / "script.py", directory / "output"
    file.write_text(script, "utf-8")
    work = directory / "work"
    work.mkdir()
    path = [os.getcwd(), *map(os.path.abspath, filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)))]
    # Not a pipe, which something that the script left behind could hold open.
    with said.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-u", str(file)],
            cwd=work,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        status = None
        try:
            status = process.wait(time_limit)
        except subprocess.TimeoutExpired:
            pass
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return status, said.read_text("utf-8", "replace")


def _raised(output: str) -> str:
    """Return the first line of the last exception in an output, or that of the fault handler; ``""`` if there is none."""
    if hung := re.search(r"^Timeout \(\S+\)!$", output, re.MULTILINE):
        return f"it hangs: {hung[0]}"
    found = re.findall(r"^Traceback \(most recent call last\):\n(?:[ \t].*\n|\n)*(\S.*)$", output, re.MULTILINE)
    return found[-1].strip() if found else ""
