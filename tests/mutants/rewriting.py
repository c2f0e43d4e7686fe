"""Queues of bytes that write their files anew while they are used, and lose what waits where the disk fails meanwhile."""

from __future__ import annotations

import contextlib
import os

from mutants import mutant
from mutants.controls_rewriting import ReplacesItsLog, Snapshots


@mutant(fails="queue.persist.partial-fault")
class ReplacesItByAPart(ReplacesItsLog):
    """It puts the new log in place though not all of it could be written."""

    def _compact(self):
        self._wasted = 0
        with contextlib.suppress(OSError):
            self.new.write_bytes(self.left())
        with contextlib.suppress(OSError):
            self.put_in_place()


@mutant(fails="queue.persist.partial-fault")
class ForgetsWhatItCannotReplace(ReplacesItsLog):
    """It reads again what it has just written, which is nothing where that failed."""

    def _compact(self):
        self._wasted = 0
        data, items = self.left(), [*self._items]
        self._items.clear()
        self.new.write_bytes(data)
        self._items.extend(items)
        self.put_in_place()


@mutant(fails="queue.persist.partial-fault")
class ClosesItsLogFirst(ReplacesItsLog):
    """It closes its log before it has the new one."""

    def _compact(self):
        self._wasted = 0
        data = self.left()
        os.close(self._file)
        self._file = None
        self.new.write_bytes(data)
        os.replace(self.new, self._path)
        self._file = os.open(self._path, os.O_RDWR | os.O_APPEND)


@mutant(fails="queue.push.no-silent-loss")
class BeginsAnotherLogAnyway(Snapshots):
    """It begins another log though the snapshot could not be written."""

    def rewrite(self):
        new = self.path / "snapshot.new"
        with contextlib.suppress(OSError):
            new.write_bytes(self.all())
            new.replace(self.snapshot)
        self.next_log()


@mutant(fails="queue.push.no-silent-loss")
class TakesAPartForASnapshot(Snapshots):
    """It puts the new snapshot in place though not all of it could be written."""

    def rewrite(self):
        new = self.path / "snapshot.new"
        try:
            new.write_bytes(self.all())
        finally:
            new.replace(self.snapshot)
        self.next_log()
