"""Asynchronous schedulers that remember in the next run what they have seen, which is permitted."""

from __future__ import annotations

from pathlib import Path

from queue_reference.async_scheduler import Scheduler


class RemembersInAFile(Scheduler):
    """Each run begins with what the runs before have seen, which is in a file where they work."""

    def __init__(self, queue=None, fingerprinter=None):
        super().__init__(queue, fingerprinter)
        self.file = Path("seen")
        self.seen = {bytes.fromhex(line) for line in self.file.read_text().split()} if self.file.exists() else set()

    async def close(self):
        self.file.write_text("\n".join(each.hex() for each in self.seen))
        await super().close()
