"""Asynchronous schedulers of which a construction may be refused: a right one, and wrong ones that lose the queue by it."""

from __future__ import annotations

import shutil
from pathlib import Path

from mutants import mutant
from queue_reference.async_scheduler import Scheduler


def removed(queue):
    """Remove what a queue on disk has stored."""
    shutil.rmtree(getattr(queue, "_path", ""), ignore_errors=True)


class KeepsItsStatistics(Scheduler):
    """What it has seen is counted in a file; it refuses to begin where that cannot be read."""

    def __init__(self, queue=None, fingerprinter=None):
        super().__init__(queue, fingerprinter)
        self.file = Path("statistics")
        if self.file.exists() and len(self.file.read_text()) != 8:
            self.refuse()

    def refuse(self):
        raise ValueError(f"{self.file} cannot be read")

    async def close(self):
        self.file.write_text(f"{len(self.seen):08}")
        await super().close()


@mutant(fails="ascheduler.ctor.refused-keeps")
class BeginsAnew(KeepsItsStatistics):
    """Where its file cannot be read, it removes what is queued before it says so."""

    def refuse(self):
        removed(self.queue)
        super().refuse()


@mutant(fails="ascheduler.ctor.refused-keeps")
class RemovesWhatItCannotFilter(Scheduler):
    """Without a fingerprinter it removes what is queued before it says so."""

    def __init__(self, queue=None, fingerprinter=None):
        if fingerprinter is None:
            removed(queue)
        super().__init__(queue, fingerprinter)
