"""Wrong schedulers and dupefilters whose storage is of no use once their process was killed."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

from mutants import mutant
from mutants.controls_stores import SnapshotFilter
from mutants.schedulers_resumed import CRASH_SAFE, QUEUES
from queue_reference.scheduler import Scheduler

RIGHT = "queue_reference.scheduler.Scheduler"
ENDS = "scheduler.crash.ends"
KEEPS = "dupefilter.crash.keeps"


# --- Schedulers ------------------------------------------------------------------------------------------------------


class NotesItsLength(Scheduler):
    """It notes in a file how many requests wait, before it stores one, and believes that."""

    def __init__(self, crawler):
        super().__init__(crawler)
        self._noted = None
        self._note_path = Path(self._job, "length") if self._job else None

    def open(self, spider):
        opened = super().open(spider)
        path = self._note_path
        self._noted = int(path.read_text()) if path and path.exists() else super().__len__()
        return opened

    def _note(self, length):
        self._noted = length
        if self._note_path:
            new = self._note_path.with_suffix(".new")
            new.write_text(str(length))
            os.replace(new, self._note_path)

    def enqueue_request(self, request):
        self._note(super().__len__() + 1)
        try:
            return super().enqueue_request(request)
        finally:
            self._note(super().__len__())

    def next_request(self):
        try:
            return super().next_request()
        finally:
            self._note(super().__len__())

    def close(self, reason):
        closing = super().close(reason)
        if self._note_path:
            self._note_path.unlink(missing_ok=True)
        return closing

    def __len__(self):
        return self._noted


@mutant(fails=ENDS, control=RIGHT, settings=QUEUES)
class WaitsForWhatIsNotThere(NotesItsLength):
    """It notes in a file how many requests wait, before it stores one, and believes that."""


@mutant(fails=ENDS, control=RIGHT, settings=QUEUES, claims=CRASH_SAFE)
class WaitsThoughItIsCrashSafe(NotesItsLength):
    """The same, of one that claims to be crash-safe."""


@mutant(fails=ENDS, settings=QUEUES)
class EndsAlthoughSomethingWaits(Scheduler):
    """It takes a job that was not closed for one in which nothing waits, until something new comes."""

    _waits = True

    def open(self, spider):
        opened = super().open(spider)
        mark = self._mark()
        if mark and Path(self._job, "begun").exists():
            self._waits = mark.exists()
        if mark:
            Path(self._job, "begun").touch()
            mark.unlink(missing_ok=True)
        return opened

    def _mark(self):
        return Path(self._job, "closed") if self._job else None

    def enqueue_request(self, request):
        self._waits = True
        return super().enqueue_request(request)

    def has_pending_requests(self):
        return self._waits and super().has_pending_requests()

    def close(self, reason):
        closing = super().close(reason)
        if mark := self._mark():
            mark.touch()
        return closing


# --- Dupefilters -----------------------------------------------------------------------------------------------------


@mutant(fails=KEEPS)
class WritesOverItsSnapshot(SnapshotFilter):
    """It writes over what it has stored."""

    def _save(self):
        with open(self._path, "wb") as file:
            pickle.dump(self._seen, file)


@mutant(fails=KEEPS)
class RemovesItsSnapshotFirst(SnapshotFilter):
    """It removes what it has stored before the new snapshot has its name, and begins with nothing if there is none."""

    def _save(self):
        new = self._path.with_suffix(".new")
        new.write_bytes(pickle.dumps(self._seen))
        self._path.unlink(missing_ok=True)
        new.rename(self._path)
