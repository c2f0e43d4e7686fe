"""A queue behind a server and its oracle, side by side, with faults of the connection among the operations."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

from queue_conformance.faults.backend import Backend
from queue_conformance.implementations.recording import OperationRaised
from queue_conformance.models.uncertain import UncertainQueueModel
from queue_conformance.suites.bench import Bench
from queue_conformance.suites.outcomes import RuleBroken
from queue_conformance.suites.programs import Experiment, Operation, Play, Player, drop
from queue_conformance.suites.queues.attribution import SPREAD
from queue_conformance.suites.queues.faulting import PATIENCE, Fault, expect_transient, hurt, patiently, recover
from queue_conformance.suites.queues.pair import NOTHING_PEEKED, QueuePair

FAULTS = ("refuse", "reset", "cut_reply", "cut_request")
"""The operations that hurt the connection, of all queues at once."""


class ServedQueuePair(QueuePair):
    """One queue behind a server and its oracle, which knows what is uncertain after a fault."""

    def __init__(self, bench: Bench, number: int) -> None:
        super().__init__(bench, number)
        self.model: Any = UncertainQueueModel(bench.implementation.capabilities.order)
        assert bench.backend is not None
        self.backend: Backend = bench.backend
        self._suspect = ""

    # --- Faults ------------------------------------------------------------------------------------------------------

    def refuse(self, _item: int = 0) -> None:
        """End every connection and refuse new ones."""
        hurt(self.bench, Fault("refuse"))

    def reset(self, _item: int = 0) -> None:
        """End every connection."""
        hurt(self.bench, Fault("reset"))

    def cut_reply(self, after: int) -> None:
        """Cut the next reply."""
        hurt(self.bench, Fault("cut_reply", after))

    def cut_request(self, after: int) -> None:
        """Cut the next request."""
        hurt(self.bench, Fault("cut_request", after))

    def recover(self, _item: int = 0) -> None:
        """End the fault."""
        if self.backend.faulty:
            recover(self.bench)

    # --- Operations --------------------------------------------------------------------------------------------------

    def push(self, item: int) -> None:
        """Push an item of the pool; while the server is away it may fail, and if the push was cut it may be there or not."""
        if self.model.lost_track:
            return
        if not self.backend.faulty:
            patiently(self.bench, partial(super().push, item))
            return
        rule, number = "queue.push.transient-error", item + self.number * SPREAD
        self._ensure_open()
        requested = self.backend.proxy.requested
        try:
            self.queue.push(self.bench.driver.item(number), owner=rule)
        except OperationRaised as raised:
            expect_transient(self.bench, rule, raised)
            self._suspect = self._suspect or "queue.push.failed-no-trace"
            if self.backend.proxy.requested > requested:
                self.model.push(number, certain=False)
        else:
            self._suspect = rule
            self.model.push(number)
        self._peeked = NOTHING_PEEKED

    def pop(self, _item: int = 0) -> int | None:
        """Pop; ``None`` is right while the server is away, and loses nothing."""
        if self.model.lost_track:
            return None
        self._ensure_open()
        faulty, requested = self.backend.faulty, self.backend.proxy.requested
        value = self.queue.pop(owner="queue.pop.transient-none" if faulty else "queue.pop.exactly-once")
        if value is None and faulty:
            self._examined["queue.pop.transient-none"] += 1
            self._suspect, self._peeked = "queue.pop.transient-keeps", NOTHING_PEEKED
            if self.backend.proxy.requested > requested:
                self.model.fail_pop()
            return None
        if value is None and not self.model.may_be_empty and self._suspect:
            value = self._popped_later()
        if value is None and self.model.may_be_empty:
            self.model.clear()
            self._examined["queue.pop.empty-none"] += 1
            self._seen.add("pop of nothing")
            return None
        number = self._judge(value, "popped")
        assert number is not None
        self._take(value, number)
        if self._suspect:
            self._examined["queue.pop.transient-keeps"] += 1
        return number

    def _popped_later(self) -> Any:
        """Pop again for a while: after an outage a queue may take a moment to find out that its server is back."""
        deadline = time.monotonic() + PATIENCE
        value = None
        while value is None and self.queue.length() and time.monotonic() < deadline:
            del self.bench.recorder.steps[-2:]
            time.sleep(0.01)
            value = self.queue.pop()
        return value

    def peek(self, _item: int = 0) -> None:
        """Peek, where the queue can, while all is well and has been."""
        if not self._suspect:
            self.recover()
            super().peek()

    def length(self, _item: int = 0, rule: str = "queue.len.count") -> None:
        """Compare ``len()`` with what is possible."""
        if self.model.lost_track:
            return
        self._ensure_open()
        faulty = self.backend.faulty
        length = self.queue.length(owner="queue.len.transient-no-raise" if faulty else rule)
        least, most = self.model.least, len(self.model)
        if faulty and least:
            self.bench.expect("queue.len.transient-nonzero", length != 0, f"{least}", length, "length != 0", final=True)
        if "pop of nothing" in self._seen:
            self._examined["queue.len.pop-none"] += 1
        rule = "queue.len.last-known" if faulty else rule
        expected = f"{least}" if least == most else f"{least} to {most}"
        self.bench.expect(rule, least <= length <= most, expected, length, f"{least} <= length <= {most}")

    def truth(self, _item: int = 0) -> None:
        """Compare ``bool()``, while all is well and has been."""
        if not self._suspect:
            self.recover()
            super().truth()

    def close(self, _item: int = 0) -> None:
        """Close, after the end of the fault."""
        self.recover()
        super().close()

    def clear(self, _item: int = 0) -> None:
        """Clear, after the end of the fault."""
        self.recover()
        super().clear()

    def finish(self) -> None:
        """Take out and judge everything that is left after the end of the fault, and close."""
        self.recover()
        self._ensure_open()
        while self.pop() is not None:
            continue
        self.queue.close()
        self._is_open = False

    def _judge(self, value: Any, variable: str) -> int | None:
        try:
            return super()._judge(value, variable)
        except RuleBroken as failure:
            failure.suspect = self._suspect
            raise

    def _rest_is_complete(self, number: int) -> bool:
        return not self._suspect and super()._rest_is_complete(number)


def _after_faults(_player: Player, _play: Play, failure: RuleBroken) -> str | None:
    if failure.rule in ("queue.len.count", "queue.len.truth"):
        return "queue.len.last-known"
    return failure.suspect or None


EXPERIMENTS = (Experiment(drop(*FAULTS), _after_faults),)


def operations() -> list[Operation]:
    """Return the faults that programs are drawn from, and the end of them."""
    cuts = [Operation("cut_reply", 0, 0), Operation("cut_reply", 0, 3), Operation("cut_request", 0, 0)]
    return [Operation("refuse"), Operation("reset"), *cuts, Operation("cut_request", 0, 20), *[Operation("recover")] * 4]
