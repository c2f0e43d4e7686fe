"""Asynchronous queues of which a start may be refused: a right one, and wrong ones that lose what is stored by it."""

from __future__ import annotations

from mutants import mutant
from queue_reference.async_queues import DiskQueue, checked_limit


class CountsItsRequests(DiskQueue):
    """A file beside it says how many requests it had; it refuses to begin where that cannot be read."""

    def __init__(self, path, maxsize=0):
        super().__init__(path, maxsize)
        self._note = self._path.with_name(f"{self._path.name}.count")
        if self._note.exists() and len(self._note.read_text()) != 8:
            self._refuse()

    def _refuse(self):
        raise ValueError(f"{self._note} cannot be read")

    async def close(self):
        await super().close()
        self._note.write_text(f"{len(self._heap):08}")


@mutant(fails="aqueue.persist.refused-keeps")
class ClearsWhatItCannotCount(CountsItsRequests):
    """Where its count cannot be read, it removes its requests before it says so."""

    def _refuse(self):
        for entry in self._heap:
            self._file(entry).unlink()
        super()._refuse()


@mutant(fails="aqueue.persist.refused-keeps")
class DropsWhatIsBeyondItsLimit(DiskQueue):
    """It drops what is beyond its limit when it begins, and looks only then whether that is one."""

    def __init__(self, path, maxsize=0):
        super().__init__(path)
        for entry in sorted(self._heap)[maxsize:] if maxsize else ():
            self._file(entry).unlink()
        self._heap = sorted(self._heap)[: maxsize or None]
        self._maxsize = checked_limit(maxsize)
