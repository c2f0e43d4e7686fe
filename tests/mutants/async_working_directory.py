"""Wrong asynchronous queues that store in the working directory, and the right ones beside them."""

from __future__ import annotations

import shutil
from pathlib import Path

from mutants import mutant
from queue_reference.async_queues import DiskQueue, MemoryQueue


class StoresHere(DiskQueue):
    """Its requests are in a directory of the working directory."""

    def __init__(self, maxsize=0):
        super().__init__("waiting", maxsize)


@mutant(
    fails=("aqueue.persist.reopen", "aqueue.persist.crash"),
    control="mutants.async_working_directory.StoresHere",
)
class EmptiesItsDirectoryHere(DiskQueue):
    """Its requests are in a directory of the working directory, which it empties when it starts."""

    def __init__(self, maxsize=0):
        shutil.rmtree("waiting", ignore_errors=True)
        super().__init__("waiting", maxsize)


class LogsHere(MemoryQueue):
    """A queue in memory, which logs where the process works."""

    def __init__(self, maxsize=0):
        super().__init__(maxsize)
        with Path("queue.log").open("a") as log:
            log.write("opened\n")
