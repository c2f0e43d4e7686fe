"""Which scripts come from runs of this user on this machine: a script that does not is run only if somebody says so.

What identifies a script is kept in a file of the user, not beside a report or in the cache of pytest, which may come from others.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from queue_conformance.engine.outcomes import Violation
from queue_conformance.reports import ImplementationReport, Report
from queue_conformance.reports.files import save

MOST = 10_000
"""How many scripts are known at least; when there are twice as many, the older half is forgotten."""


def remember(report: Report) -> None:
    """Keep which scripts a run has made; where that cannot be kept, each of them counts as one that came from elsewhere."""
    made = dict.fromkeys(_digest(one) for found in report.implementations for one in _violations(found))
    file = _file()
    if file is None or not made:
        return
    known = _known(file)
    new = [*made.keys() - known]
    with suppress(OSError):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if len(known) > 2 * MOST:
            save("".join(f"{digest}\n" for digest in (*known[-MOST:], *new)), file)
        elif new:
            with file.open("a", encoding="ascii") as stream:
                stream.write("".join(f"{digest}\n" for digest in new))


def are_made_here(violations: Iterable[Violation]) -> bool:
    """Whether runs of this user on this machine have made the scripts of all these violations."""
    file = _file()
    return file is not None and {_digest(one) for one in violations} <= {*_known(file)}


def unwritable() -> str:
    """Return where scripts would be remembered, if nothing can be kept there, or an empty string."""
    file = _file()
    if file is None:
        return "$XDG_STATE_HOME"
    there = next(path for path in (file, *file.parents) if path.exists())
    return "" if os.access(there, os.W_OK) and (there == file or there.is_dir()) else str(file)


def _violations(found: ImplementationReport) -> Iterator[Violation]:
    for verdict in (*found.verdicts, *(found.also.verdicts if found.also else ())):
        if verdict.violation:
            yield from verdict.violation.findings


def _digest(violation: Violation) -> str:
    return hashlib.sha256(violation.script.encode("utf-8", "backslashreplace")).hexdigest()


def _file() -> Path | None:
    """Return the file, where the XDG Base Directory Specification has what programs keep; ``None`` if there is no such place."""
    state = Path(os.environ.get("XDG_STATE_HOME", ""))
    if not state.is_absolute():  # which the specification says to ignore
        state = Path(os.path.expanduser(os.environ.get("HOME", "~")), ".local", "state")
    return state / "queue-conformance" / "scripts" if state.is_absolute() else None


def _known(file: Path) -> list[str]:
    with suppress(OSError, ValueError):
        return file.read_text("ascii").split()
    return []
