"""The check of jobs whose metadata is torn."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from queue_conformance.engine.bench import Bench
from queue_conformance.engine.outcomes import NotExercised
from queue_conformance.engine.recording import OperationRaised
from queue_conformance.engine.registry import check
from queue_conformance.kinds.job.job import MARK, Content, Job, metadata, some

TORN = "job.torn-metadata"


@dataclass(frozen=True, slots=True)
class Tear:
    """What becomes of a file.

    Attributes:
        name: as reports say it.
        source: the line of a script that does it to ``path``.
        tear: does it.
    """

    name: str
    source: str
    tear: Callable[[Path], Any]


TEARS = (
    Tear("gone", "path.unlink()", Path.unlink),
    Tear("empty", "os.truncate(path, 0)", lambda path: os.truncate(path, 0)),
    Tear("cut in half", "os.truncate(path, path.stat().st_size // 2)", lambda path: os.truncate(path, path.stat().st_size // 2)),
    Tear("one byte short", "os.truncate(path, path.stat().st_size - 1)", lambda path: os.truncate(path, path.stat().st_size - 1)),
)


@check(TORN)
def torn_metadata_is_no_empty_job(bench: Bench) -> None:
    content = some(bench)
    job = Job(bench)
    job.store(content)
    stored = [step.source for step in bench.recorder.steps]
    copy = job.keep()
    if harm := job.harm(content.urls):
        raise NotExercised(f"{harm} without any damage, too")
    opening = [step.source for step in bench.recorder.steps[len(stored) : -1]]
    found = metadata(copy)
    if not found:
        raise NotExercised("no file holds metadata only")
    for path in found:
        for tear in TEARS:
            job.restore(copy)
            if not (job.directory / path).stat().st_size:
                continue
            tear.tear(job.directory / path)
            bench.recorder.restart()
            for line in (*stored, f"# job/{path} is {tear.name}"):
                bench.recorder.note(line)
            bench.examined[TORN] += 1
            try:
                missing = job.missing(content.urls)
            except OperationRaised:
                continue  # reported
            if missing:
                actual = f"{len(missing)} of {len(content.urls)} requests silently lost where job/{path} is {tear.name}"
                body = [*stored, *_torn(opening, tear, content)]
                bench.fail(TORN, "an exception, or every request", actual, [], body=body, final=True)


def _torn(opening: Sequence[str], tear: Tear, content: Content) -> list[str]:
    """Return lines of a script that tear each file of metadata, one at a time."""
    return [
        "job, copy = directory + '/job', directory + '/copy'",
        "shutil.copytree(job, copy)",
        "files = sorted(path for path in Path(job).rglob('*') if path.is_file())",
        f"for path in [path for path in files if {MARK!r} not in path.read_bytes() and path.stat().st_size]:",
        "    shutil.rmtree(job), shutil.copytree(copy, job)",
        f"    {tear.source}",
        "    try:",
        *(f"        {line}" for line in opening),
        "    except Exception:",
        "        continue  # reported, which is right",
        f"    lost = {content.source} - set(left)",
        "    assert not lost, f'{path.name}: {lost}'",
    ]
