"""The commands of priority queues, in lockstep with a model."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, ClassVar, NoReturn

from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.lockstep import command, machine
from queue_conformance.engine.outcomes import Received, RuleFailed
from queue_conformance.engine.recording import NOTHING, OperationRaised, describe
from queue_conformance.engine.sequences import Command
from queue_conformance.environments.engine import occupy
from queue_conformance.kinds.priority_queue.attribution import ABLATIONS
from queue_conformance.kinds.priority_queue.disturbing import Disturbance
from queue_conformance.kinds.priority_queue.driver import CYCLE, MARKED, PLACES, PLAIN, SLOTS, PriorityQueueDriver
from queue_conformance.kinds.priority_queue.model import Place, PriorityQueueModel
from queue_conformance.kinds.priority_queue.saving import Used, judge_state
from queue_conformance.kinds.priority_queue.script_support import discard, through_json
from queue_conformance.kinds.queue.commands import QueueLockstep
from queue_conformance.specification import load
from queue_conformance.specification.applicability import installed_releases, why_not_applicable

Configure = Callable[[PriorityQueueDriver], object]
"""Chooses the downstream queues."""


DRAWN = 3
"""How many requests with different fields are drawn for each place."""


@cache
def start_requests_come_last() -> bool:
    """Whether the installed release of Scrapy promises that."""
    return not why_not_applicable(load()["pq.pop.tie-start-last"], frozenset(), installed_releases())


class PriorityQueueLockstep(QueueLockstep):
    """One priority queue and its model.

    The number of an item decides its priority, whether it is a start request, and its slot: see ``PLACES``, and its other
    fields. Each push stores a request of its own.

    Args:
        configure: chooses the downstream queues.
        lifo: whether those for other than start requests are LIFO.
    """

    ablations = ABLATIONS
    covers = (
        *("pq.pop.start-order", "pq.pop.tie-downstream", "pq.pop.tie-start-last", "pq.slot.least-active"),
        *("pq.close.state-nonempty", "pq.close.empty-falsy", "pq.push.refused-no-loss"),
    )
    after: ClassVar[Mapping[str, str]] = {
        "refused": "pq.push.failed-no-trace",
        "none": "pq.pop.transient",
        "peek": "pq.peek.no-effect",
        "reopen": "pq.resume.all",
        "stale": "pq.resume.stale",
    }

    operations: ClassVar[Mapping[str, str]] = {
        **QueueLockstep.operations,
        "pop_none": "pop while a downstream queue returns nothing",
        "reopen_stale": "reopen with stale priorities",
        "reopen_unsaved": "reopen without them",
    }
    ordinary = ("push:0 push:12 push:24 push:1 push:13 push:25 push:2 push:26 pop pop push:3 push:27 push:4 push:28",)
    pop_rule = "pq.pop.exactly-once"
    empty_pop_rule = "pq.pop.empty-none"
    peek_rule = "pq.peek.equals-pop"
    empty_peek_rule = "pq.peek.empty-none"
    length_rule = "pq.len.sum"
    truth_rule = "pq.len.truth"

    def __init__(self, context: CheckContext, number: int, configure: Configure | None = None, *, lifo: bool = True) -> None:
        driver = context.driver
        if configure is None:
            driver.configure(persistent=context.offers("persistent"))
        else:
            configure(driver)
        if driver.store is not None:
            context.recorder.note(f"store = {driver.store_source}")
        self._persistent = driver.persistent
        self._lifo = lifo
        self._priority_first = context.offers("priority-first")
        self._turns = context.offers("turns") and not context.offers("slots")
        super().__init__(context, number)
        self._pushes = 0
        self._used: set[Place] = set()
        self._suspects: dict[str, set[Place]] = {"pq.push.failed-no-trace": set(), "pq.resume.stale": set()}

    @classmethod
    def table(cls, context: CheckContext) -> dict[Command, int]:
        found = super().table(context)
        return {command: weight if command.name == "push" else DRAWN * weight for command, weight in found.items()}

    def new_model(self) -> PriorityQueueModel:
        return PriorityQueueModel(
            lifo=self._lifo,
            slots=self.context.offers("slots"),
            priority_first=self._priority_first,
            turns=self._turns,
            start_last=start_requests_come_last(),
        )

    # --- Commands --------------------------------------------------------------------------------------------------

    @command(arguments=range(DRAWN * len(PLACES)))
    def push(self, item: int) -> bool:
        """Push a request to one of the places, with the fields of the item of that number."""
        number = self._number(item)
        self.queue.push(self.driver.item(number))
        self.model.push(number, self._place(number))
        self._used.add(self._place(number))
        self._peeked = NOTHING
        return True

    @command(arguments=(0, 1, 4, 9))
    def push_refused(self, item: int) -> None:
        """Push a request that the downstream queue refuses."""
        if self.driver.store is None:
            return
        rule = "pq.push.error-propagates"
        number = self._number(PLAIN[item])  # what is dropped for a field raises nothing, which is no matter of this command
        with self._disturbed("push", ValueError("refused")) as waiting:
            try:
                with self.about(rule):
                    self.queue.push(self.driver.item(number))
            except OperationRaised as raised:
                if waiting or not isinstance(raised.error, Exception):
                    raise
                if not isinstance(raised.error, ValueError):
                    self._error_is_lost(f"{describe(raised.error)} raised")
            else:
                if not waiting:
                    self._error_is_lost("no exception")
                self.model.push(number, self._place(number))  # it has not come to the downstream queue yet
                self._peeked = NOTHING
        self.events.add("refused")
        self._suspects["pq.push.failed-no-trace"].add(self._place(number))

    @command("pq.pop.none-only-empty", "pq.pop.transient")
    def pop_none(self) -> int | None:
        """Pop while the next downstream queue says ``None``; any other request may come instead."""
        if not len(self.model) or self.driver.store is None:
            return self.pop()
        disturbance = self._disturbed("pop", None)
        with disturbance as waiting, self.about("pq.pop.transient"):
            value = self.queue.pop()
        self._peeked = NOTHING
        said_none = not waiting
        if said_none:
            self.events.add("none")
            if not self._persistent:
                self._nothing_is_given_up()
        if value is None and said_none:
            return None
        unless = " and ".join(filter(None, [disturbance.was_hit, "popped is None"]))
        number = self.compare(value, self.model.heads(), unless)
        if number is not None:
            self.take(value, number)
        return number

    @command(arguments=(0, 1, 4, 5, 8), needs=["slots"])
    def activity(self, item: int) -> None:
        """Let the downloader be busy with more or fewer requests of a slot."""
        slot, count = SLOTS[item % len(SLOTS)], item // len(SLOTS) % 3
        self.perform(occupy, self.sources.give(self.driver.crawler, "crawler"), slot, count)
        self.model.active[slot] = count
        self._peeked = NOTHING

    @command("pq.resume.all", "pq.close.state", needs=["persistent"])
    def reopen(self) -> None:
        """Close, and resume from the state after a trip through JSON."""
        self._reopen()

    @command(needs=["persistent"], weight=0)
    def reopen_unsaved(self) -> None:
        """Close, and resume from the state as it is."""
        self._reopen(unsaved=True)

    @command("pq.resume.stale", arguments=(0, 1), needs=["persistent"])
    def reopen_stale(self, item: int = 0) -> None:
        """Close with one request more, that has vanished when the queue is resumed; where a rule on that is asked."""
        if self.driver.store is None or not self.context.applies("pq.resume.stale"):
            return
        marker = self.driver.item(MARKED + item)
        self.queue.push(marker)
        self._reopen(marker=marker)
        self.events.add("stale")

    def end(self) -> None:
        try:
            self._close(nothing_left=True)
        except RuleFailed as failure:
            failure.deferred = True  # all that the sequence is about has been judged
            raise

    # --- Comparisons ---------------------------------------------------------------------------------------------------

    def _number(self, item: int) -> int:
        self._pushes += 1
        return self._pushes * CYCLE + item

    def _place(self, number: int) -> Place:
        place: Place = self.driver.place(number)
        return place if self.driver.separates_start_requests else place._replace(start=False)

    def _disturbed(self, operation: str, fault: Exception | None) -> Disturbance:
        return Disturbance(self.context.recorder, self.driver.store, operation, fault, sources=repr(fault))

    def _error_is_lost(self, actual: str) -> NoReturn:
        """Report that the last push did not raise the error of the downstream queue."""
        self.fail_unraised("pq.push.error-propagates", "ValueError", actual, "the ValueError of the downstream queue")

    def _reopen(self, *, unsaved: bool = False, marker: Any = None) -> None:
        if not self._persistent:
            return
        places = self.model.places | (set() if marker is None else {self._place(marker.number)})
        state = self._save(Used(places, self._used, self._suspects), unsaved=unsaved)
        self._suspects = {rule: set() for rule in self._suspects}
        self._used = self.model.places
        if marker is not None:
            self.perform(discard, self.sources.give(self.driver.store, "store"), marker.value.url)
            self._suspects["pq.resume.stale"].add(self._place(marker.number))
        self.queue = self.context.open(state=state, rule="pq.resume.all")
        self._peeked = NOTHING
        self.events.add("reopen")
        self.length()

    def _close(self, *, nothing_left: bool) -> Any:
        """Close, and return the state, which is false if nothing is left."""
        state = self.queue.close()
        if nothing_left:
            nothing = "empty state, nothing is left"
            self.expect("pq.close.empty-falsy", lambda left: not left, state, expected=nothing, operation="close")
        return state

    def _save(self, used: Used, *, unsaved: bool) -> Any:
        """Close, judge the state, and return it after a trip through JSON, or as it is."""
        left = self._close(nothing_left=not used.left)
        if not unsaved:
            try:
                json.dumps(left)
            except Exception:  # of a value in it, too
                self.fail("pq.close.state", "state that JSON can store", Received(left), ["json.dumps(left)"], final=True)
        if used.left:
            judge_state(self.context, left, used)
        if unsaved:
            self.context.recorder.note("state = left")
            return left
        return self.perform(through_json, self.sources.give(left, "left"), name="state")

    def cover(self, number: int) -> None:
        place, places, covered = self.model.place_of(number), self.model.places, self.covered
        covered[self.pop_rule] += 1
        covered["pq.pop.none-only-empty"] += 1
        covered["pq.push.refused-no-loss"] += "refused" in self.events
        if self.context.offers("slots"):
            among = {other for other in places if other.priority == place.priority} if self._priority_first else places
            covered["pq.slot.least-active"] += any(other.slot != place.slot for other in among)
            places = places if self._priority_first else {other for other in places if other.slot == place.slot}
        elif self._turns:
            places = {other for other in places if other.slot == place.slot}
        covered["pq.pop.order"] += any(other.priority < place.priority for other in places)
        covered["pq.pop.start-priority"] += place.start and any(
            other.priority < place.priority and not other.start for other in places
        )
        covered["pq.pop.tie-start-last"] += not place.start and place._replace(start=True) in places
        order = "pq.pop.start-order" if place.start else "pq.pop.tie-downstream"
        covered[order] += self.model.shares(number)
        self.cover_after()
        covered["pq.close.state"] += "reopen" in self.events

    def rule_of(self, value: Any, number: int | None, allowed: Sequence[int]) -> str:
        if value is None:
            return "pq.pop.none-only-empty" if self._something_comes() else "pq.pop.exactly-once"
        if number is None or number not in self.model:
            return "pq.pop.exactly-once" if number is not None or allowed else "pq.pop.empty-none"
        if not self._something_comes(allowed[0]):
            return "pq.pop.exactly-once"
        received = self.model.place_of(number)
        places = [self.model.place_of(n) for n in allowed]
        if (self.context.offers("slots") or self._turns) and not (
            self._priority_first and received.priority != places[0].priority
        ):
            places = [place for place in places if place.slot == received.slot]
            if not places:
                return "pq.slot.least-active"
        expected = places[0]
        if received.priority != expected.priority:
            return "pq.pop.start-priority" if expected.start and not received.start else "pq.pop.order"
        if received.start != expected.start:
            return "pq.pop.tie-start-last"
        return "pq.pop.start-order" if received.start else "pq.pop.tie-downstream"

    def _something_comes(self, number: int | None = None) -> bool:
        """Whether the queue still gives out an item, or anything at all if none is named."""
        with self.aside(), suppress(OperationRaised):
            received = (self.queue.pop() for _ in range(2 * len(self.model) + 2))
            return any(popped is not None and number in (None, self.driver.identify(popped)) for popped in received)
        return False

    def _nothing_is_given_up(self) -> None:
        """No downstream queue in memory was closed while it holds requests."""
        store = self.sources.give(self.driver.store, "store")
        self.expect(
            "pq.pop.never-close-nonempty",
            lambda: [queue.key for queue in store.built if queue.closed and queue.items] == [],
            expected="only empty queues closed",
            actual=f"closed: {[queue.key for queue in store.built if queue.closed and queue.items]}",
            final=True,
        )


LOCKSTEP = PriorityQueueLockstep

machine(PriorityQueueLockstep)
