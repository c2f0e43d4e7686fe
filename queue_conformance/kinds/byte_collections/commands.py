"""The commands of queuelib's collections, in lockstep with a model: those of queues, under priorities or keys."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from typing import Any, ClassVar

from queue_conformance.engine.ablation import Ablation, drop, returned
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.lockstep import Lockstep, command, machine
from queue_conformance.engine.outcomes import SUCCESS
from queue_conformance.engine.recording import NOTHING, OperationRaised
from queue_conformance.kinds.byte_collections.kind import BY_PRIORITY, BY_TURNS, BYTE_PRIORITY_QUEUE
from queue_conformance.kinds.byte_collections.model import CollectionModel, PriorityQueueModel, RoundRobinModel
from queue_conformance.kinds.queue.attribution import COUNTS, without_clearing, without_reopening
from queue_conformance.kinds.queue.commands import QueueLockstep

_AFTER = {"refused": "queue.push.failed-no-trace", "peek": "queue.peek.no-effect"}


def _ablations(clear_rule: str, start_rule: str) -> tuple[Ablation, ...]:
    return (
        # Only a refused push that left an empty queue behind explains that a peek shows another item.
        Ablation(drop("push_refused"), "queuelib.rr.peek-empty", of=("queuelib.rr.peek",)),
        Ablation(drop("push_refused"), "queue.push.failed-no-trace", unless=("queuelib.rr.peek",)),
        Ablation(drop("clear"), clear_rule, unless=("queuelib.rr.peek", *COUNTS)),
        Ablation(without_clearing, clear_rule, of=COUNTS),
        Ablation(drop("peek"), "queue.peek.no-effect", unless=("queuelib.rr.peek",)),
        Ablation(drop("length", "truth"), "queue.len.count", unless=("queuelib.rr.peek", *COUNTS)),
        Ablation(without_reopening, start_rule, unless=("queuelib.rr.peek",)),
        Ablation(returned("pop", None), "queue.len.pop-none", of=("queue.len.count",)),
    )


class CollectionLockstep(QueueLockstep):
    """One collection and its model; the number of an item decides its priority or key, see ``CollectionDriver.place_of``."""

    close_rule: ClassVar[str]
    start_rule: ClassVar[str]
    model_class: ClassVar[type[CollectionModel]]

    @classmethod
    def of(cls, context: CheckContext) -> type[Lockstep]:
        return PriorityLockstep if context.implementation.kind is BYTE_PRIORITY_QUEUE else RoundRobinLockstep

    def new_model(self) -> CollectionModel:
        return self.model_class()

    def store(self, number: int) -> None:
        place = self.driver.place_of(number)
        self.queue.push(self.driver.item(number), place)
        self.model.push(number, place)

    @command()
    def reopen(self) -> None:
        """Close, compare what close returns, and build the queue again from it.

        It is asked for nothing: a length would open inner queues that wait for their first use.
        """
        start = self.end()
        self.queue = self.context.open(start=start, rule=self.start_rule)
        self.model.reopen()
        self._peeked = NOTHING
        self.events.add("reopen")

    @command(arguments=(0, 1))
    def push_refused(self, item: int) -> None:
        """Push something that the inner queue refuses, under the priority or key of an item."""
        try:
            self.queue.push(self.driver.evaluate("'text'"), self.driver.place_of(item))
        except OperationRaised as raised:
            if not isinstance(raised.error, TypeError):
                raise
        else:
            self.fail_unraised("queue.push.failed-no-trace", "TypeError", SUCCESS, "the TypeError of the inner queue")
        self.events.add("refused")

    def end(self) -> list[Hashable]:
        """Close, and compare what that returns with what holds items."""
        with self.about(self.close_rule):
            left = self.queue.close()
        expected = sorted(self.model.active(), key=str)
        self.expect(
            self.close_rule,
            lambda left: isinstance(left, Collection) and sorted(left, key=str) == expected,
            left,
            expected=repr(expected),
            final=True,
        )
        return expected

    def cover(self, number: int) -> None:
        self.covered["queue.pop.exactly-once"] += 1
        self.covered[str(self.order_rule)] += len(self.model.active()) > 1
        self.cover_after()


class PriorityLockstep(CollectionLockstep):
    """A queue by priority and its model."""

    order_rule = "queuelib.pq.order"
    close_rule = "queuelib.pq.close"
    clear_rule = "queuelib.pq.clear"
    start_rule = "queuelib.pq.startprios"
    covers = (order_rule, close_rule)
    after: ClassVar[Mapping[str, str]] = {**_AFTER, "clear": clear_rule, "reopen": start_rule}
    ablations = _ablations(clear_rule, start_rule)
    model_class = PriorityQueueModel


class RoundRobinLockstep(CollectionLockstep):
    """A queue by turns and its model."""

    order_rule = "queuelib.rr.cycle"
    close_rule = start_rule = "queuelib.rr.close"
    peek_rule, peek_is_certain = "queuelib.rr.peek", False
    covers = (order_rule, peek_rule)
    after: ClassVar[Mapping[str, str]] = {**_AFTER, "clear": QueueLockstep.clear_rule, "reopen": start_rule}
    ablations = _ablations(QueueLockstep.clear_rule, start_rule)
    model_class = RoundRobinModel

    def take(self, value: Any, number: int) -> None:
        if len(self.model.allowed()) > 1:
            self.context.recorder.note(f"if popped != {value!r}: sys.exit()  # another key came first, which is right, too")
        super().take(value, number)


LOCKSTEP = CollectionLockstep

machine(PriorityLockstep, BY_PRIORITY)
machine(RoundRobinLockstep, BY_TURNS)
