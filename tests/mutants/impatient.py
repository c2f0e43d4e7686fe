"""Mutants that take what they have handed out for lost after a while, and hand it out again."""

from __future__ import annotations

import time

from mutants import mutant
from mutants.controls_schedulers import SQLiteScheduler
from queue_reference.memory import FifoMemoryQueue

PATIENCE = 300


@mutant(fails="queue.pop.exactly-once", control="queue_reference.memory.FifoMemoryQueue")
class PopsAgain(FifoMemoryQueue):
    """What it has given last, it gives once more, unless it is asked for more within five minutes."""

    given, until = None, 0.0

    def pop(self):
        if self.given is None or time.time() < self.until:
            self.given, self.until = super().pop(), time.time() + PATIENCE
            return self.given
        again, self.given = self.given, None
        return again


@mutant(fails="scheduler.enqueue.true")
class SchedulesAgain(SQLiteScheduler):
    """What it has handed out last, it hands out once more when it is asked five minutes later."""

    given, until = None, 0.0

    def next_request(self):
        if self.given is not None and time.time() >= self.until:
            again, self.given = self.given, None
            return again
        request = super().next_request()
        if request is not None:
            self.given, self.until = request, time.time() + PATIENCE
        return request
