"""The metadata of a job: the files in which no request is stored.

Scripts import what they need from this file; it has no annotations.
"""

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

from queue_conformance.engine.stored_files import MARK
from queue_conformance.faults.disk import SizeLimit, Sizes
from queue_conformance.script_support.kills import limit_writes


def metadata_of(job):
    """Return the contents of the files of a job in which no request is, by their paths below it."""
    contents = {os.path.relpath(path, job): path.read_bytes() for path in sorted(Path(job).rglob("*")) if path.is_file()}
    return {path: content for path, content in contents.items() if MARK not in content}


def tear_file(job, number, state):
    """Leave one of these files gone, empty, cut in half, one byte short or whole; return its path below the job."""
    metadata = [*metadata_of(job)]
    path = Path(job, metadata[number % len(metadata)])
    size = path.stat().st_size
    if state == "gone":
        path.unlink()
    else:
        os.truncate(path, {"empty": 0, "cut in half": size // 2, "one byte short": size - 1, "whole": size}[state])
    return os.path.relpath(path, job)


def close_under_limit(open_scheduler, job, limit, kill=False, restored=False):
    """In another process, which ends then, open a scheduler and close it while no file can grow, or the kernel kills it for that.

    If asked to, put back the metadata that was there before. Return whether that hit when metadata, or a file that would have
    replaced it, had been opened to write.
    """
    metadata = metadata_of(job)
    others = {str(path) for path in Path(job).rglob("*")} - {os.path.join(job, path) for path in metadata}
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        try:
            scheduler = open_scheduler()
            sys.addaudithook(lambda event, given: event == "open" and _opens(given, job, others) and os.write(writer, b"m"))
            if kill:
                limit_writes(limit)
            fault = Sizes(job) if kill else SizeLimit(job, limit)
            with suppress(Exception), fault:
                scheduler.close("shutdown")
            os.write(writer, b"h" * fault.hit)
        finally:
            os._exit(0)
    os.close(writer)
    status = os.waitpid(child, 0)[1]
    with open(reader, "rb") as said:
        found = said.read()
    for path, content in metadata.items() if restored else ():
        Path(job, path).write_bytes(content)
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXFSZ
    return b"m" in found and (killed if kill else found.endswith(b"h"))


def _opens(given, job, others):
    """Whether a file of a job is opened to write that is none of those."""
    path, _, flags = given
    if not isinstance(path, str) or not flags & (os.O_WRONLY | os.O_RDWR):
        return False
    path = os.path.abspath(path)
    return path.startswith(job) and path not in others
