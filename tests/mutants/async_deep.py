"""A wrong asynchronous queue of which nobody has made the directory."""

from __future__ import annotations

from pathlib import Path

from mutants import mutant
from queue_reference.async_queues import DiskQueue


@mutant(fails="aqueue.persist.deep")
class MakesOneDirectory(DiskQueue):
    """It makes its directory, and none above it."""

    def __init__(self, path, maxsize=0):
        Path(path).mkdir(exist_ok=True)
        super().__init__(path, maxsize)
