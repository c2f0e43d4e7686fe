"""Wrong asynchronous queues whose storage contradicts itself once their process was killed."""

from __future__ import annotations

from mutants import mutant
from queue_reference.async_queues import DiskQueue


@mutant(fails=("aqueue.persist.crash-size", "aqueue.persist.harmed"), may_fail="aqueue.persist.torn")
class NotesItsSize(DiskQueue):
    """It notes in a file how many requests it has, after each change, and believes that in the next run."""

    def __init__(self, path, maxsize=0):
        super().__init__(path, maxsize)
        self._note_path = self._path.with_name(f"{self._path.name}.size")
        self._missing = int(self._note_path.read_text()) - len(self._heap) if self._note_path.exists() else 0

    def _note(self):
        new = self._note_path.with_suffix(".new")
        new.write_text(str(len(self._heap)))
        new.replace(self._note_path)

    async def _store(self, entry, data):
        await super()._store(entry, data)
        self._note()

    async def get(self):
        request = await super().get()
        self._note()
        return request

    async def clear(self):
        await super().clear()
        self._note()

    async def size(self):
        return await super().size() + self._missing
