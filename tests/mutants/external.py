"""Wrong queues on disk that claim to be external ones."""

from __future__ import annotations

import sqlite3

from mutants import mutant
from queue_conformance import TransientError
from queue_reference.bytequeues import WrongStorageError
from queue_reference.disk import FifoDiskQueue

EXTERNAL = {"profile": "external-queue"}


@mutant(fails="queue.push.full-disk", claims=EXTERNAL)
class CallsAFullDiskTransient(FifoDiskQueue):
    """Raises the transient error when the disk is full."""

    def push(self, request):
        try:
            super().push(request)
        except sqlite3.Error as error:
            raise TransientError(str(error)) from error


@mutant(fails="queue.pop.permanent-raises", claims=EXTERNAL)
class SilentAboutGarbage(FifoDiskQueue):
    """Takes files that it cannot read for an empty queue."""

    _readable = True

    def __init__(self, *arguments):
        try:
            super().__init__(*arguments)
        except WrongStorageError:
            self._readable = False

    def pop(self):
        return super().pop() if self._readable else None

    def close(self):
        if self._readable:
            super().close()

    def __len__(self):
        return super().__len__() if self._readable else 0
