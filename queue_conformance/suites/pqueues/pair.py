"""A priority queue and its oracle, side by side; each operation runs on both, and every difference breaks a rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Any, NoReturn

from queue_conformance.implementations.drivers.priorityqueue import MARKED, PLACES, SLOTS, PriorityQueueDriver
from queue_conformance.implementations.recording import OperationRaised, describe
from queue_conformance.models.priorityqueue import Place, PriorityQueueModel
from queue_conformance.specification import load
from queue_conformance.specification.applicability import installed_releases, why_not_applicable
from queue_conformance.suites.bench import Bench
from queue_conformance.suites.outcomes import RuleBroken, shown_by
from queue_conformance.suites.pqueues.attribution import EXPERIMENTS
from queue_conformance.suites.pqueues.saving import close, save
from queue_conformance.suites.programs import Operation, Player, Program

Furnish = Callable[[PriorityQueueDriver], object]
"""Chooses the downstream queues."""


@cache
def start_requests_come_last() -> bool:
    """Whether the installed release of Scrapy promises that."""
    return not why_not_applicable(load()["pq.pop.tie-start-last"], frozenset(), installed_releases())


class PriorityQueuePair:
    """One priority queue and its oracle; the operations of programs are its methods.

    The number of an item decides its priority, whether it is a start request, and its slot: see ``PLACES``. Each push
    stores a request of its own.

    Args:
        bench: where the check works.
        number: which of the queues that are open side by side this is; only one is used.
        furnish: chooses the downstream queues.
        lifo: whether those for other than start requests are LIFO.

    Every method raises ``RuleBroken`` at a difference, and ``OperationRaised`` if the implementation raises.
    """

    def __init__(self, bench: Bench, number: int, furnish: Furnish | None = None, *, lifo: bool = True) -> None:
        self.bench = bench
        self.driver: PriorityQueueDriver = bench.driver
        if furnish is not None:
            furnish(self.driver)
        elif bench.offers("persistent"):
            self.driver.furnish()
        else:
            self.driver.furnish(keeps=False)
        slots = bench.offers("slots")
        self.model = PriorityQueueModel(lifo=lifo, slots=slots, start_last=start_requests_come_last())
        self.queue: Any = bench.open()
        self._keeps = self.driver.store is None or self.driver.store.keeps
        self._examined = bench.examined
        self._pushes = 0
        self._peeked: Any = None
        self._seen: set[str] = set()
        self._used: set[Place] = set()
        self._suspects: dict[str, set[Place]] = {"pq.push.failed-no-trace": set(), "pq.resume.stale": set()}

    # --- Operations --------------------------------------------------------------------------------------------------

    def push(self, item: int) -> None:
        """Push a request to one of the places."""
        number = self._number(item)
        self.queue.push(self.driver.item(number))
        self.model.push(number, self._place(number))
        self._used.add(self._place(number))
        self._peeked = None

    def push_refused(self, item: int) -> None:
        """Push a request that the downstream queue refuses."""
        if self.driver.store is None:
            return
        rule = "pq.push.error-propagates"
        number = self._number(item)
        waiting = self.driver.disturb("push", 'ValueError("refused")')
        try:
            self.queue.push(self.driver.item(number), owner=rule)
        except OperationRaised as raised:
            if waiting or not isinstance(raised.error, Exception):
                raise
            if not isinstance(raised.error, ValueError):
                self._error_is_lost(f"{describe(raised.error)} raised")
        else:
            if waiting:  # it has not come to the downstream queue yet
                self.driver.recover()
                self.model.push(number, self._place(number))
            else:
                self._error_is_lost("no exception")
        self._seen.add("refused")
        self._suspects["pq.push.failed-no-trace"].add(self._place(number))

    def pop(self, _item: int = 0) -> int | None:
        """Pop, and judge what came."""
        owner = "pq.pop.exactly-once" if len(self.model) else "pq.pop.empty-none"
        value = self.queue.pop(owner=owner)
        peeked, self._peeked = self._peeked, None
        number = self._judge(value, self.model.allowed())
        if number is None:
            return None
        if peeked is not None:
            if self.driver.identify(peeked) != number:
                self.bench.fail("pq.peek.equals-pop", f"what peek showed, {peeked!r}", value, _same(), final=True)
            self._examined["pq.peek.equals-pop"] += 1
        self._take(number)
        return number

    def pop_none(self, _item: int = 0) -> int | None:
        """Pop while the next downstream queue says ``None``; any other request may come instead."""
        if not len(self.model) or self.driver.store is None:
            return self.pop()
        waiting = self.driver.disturb("pop", "None")
        value = self.queue.pop(owner="pq.pop.transient")
        self._peeked = None
        if not waiting:
            self._seen.add("none")
            if not self._keeps:
                self._nothing_is_given_up()
        said_none = not waiting
        if not said_none:
            self.bench.recorder.note("unasked = bool(waiting)")
        self.driver.recover()
        if value is None and said_none:
            return None
        number = self._judge(value, self.model.heads(), said_none=said_none)
        if number is not None:
            self._take(number)
        return number

    def peek(self, _item: int = 0) -> None:
        """Peek, where the queue can, and judge what came."""
        if not self.bench.offers("peek"):
            return
        allowed = self.model.allowed()
        value = self.queue.peek(owner="pq.peek.equals-pop" if allowed else "pq.peek.empty-none")
        number = self.driver.identify(value)
        if (value is None and not allowed) or number in allowed:
            self._examined["pq.peek.empty-none"] += not allowed
            self._peeked = value
            self._seen.add("peek")
            return
        popped = self.queue.pop()
        if number is not None and self.driver.identify(popped) == number:
            with shown_by("pop"):
                self._judge(popped, allowed)
        if not allowed:
            tail = ["assert peeked is None, f'expected None, got {peeked!r}'"]
            self.bench.fail("pq.peek.empty-none", "None", value, tail)
        self.bench.fail("pq.peek.equals-pop", f"what pop returns next, {popped!r}", value, _same())

    def length(self, _item: int = 0) -> None:
        """Compare ``len()``."""
        self._compare("pq.len.sum", self.queue.length(), len(self.model), "length == {}")

    def truth(self, _item: int = 0) -> None:
        """Compare ``bool()``."""
        rule = self.queue.rule_of_truth("pq.len.truth", "pq.len.sum")
        self._compare(rule, self.queue.truth(rule), len(self.model) > 0, "truth is {}")
        self._examined["pq.len.truth"] += 1

    def activity(self, item: int) -> None:
        """Let the downloader be busy with more or fewer requests of a slot."""
        slot, count = SLOTS[item % len(SLOTS)], item // len(SLOTS) % 3
        self.driver.set_active(slot, count)
        self.model.active[slot] = count
        self._peeked = None

    def reopen(self, _item: int = 0) -> None:
        """Close, and resume from the state after a trip through JSON."""
        self._reopen()

    def reopen_unsaved(self, _item: int = 0) -> None:
        """Close, and resume from the state as it is."""
        self._reopen(unsaved=True)

    def reopen_stale(self, item: int = 0) -> None:
        """Close with one request more, that has vanished when the queue is resumed."""
        if not self.bench.offers("persistent") or self.driver.store is None:
            return
        marker = self.driver.item(MARKED + item)
        self.queue.push(marker)
        self._reopen(marker=marker)
        self._seen.add("stale")

    def finish(self) -> None:
        """Take out and judge everything that is left, and close."""
        for _ in range(len(self.model) + 1):
            self.pop()
        close(self.bench, self.queue, nothing_left=True)

    # --- Judgement ---------------------------------------------------------------------------------------------------

    def _number(self, item: int) -> int:
        self._pushes += 1
        return self._pushes * len(PLACES) + item % len(PLACES)

    def _place(self, number: int) -> Place:
        place = self.driver.place(number)
        return place if self.driver.classes[1] is not None else place._replace(start=False)

    def _error_is_lost(self, actual: str) -> NoReturn:
        """Report that something else came of the last push than the error of the downstream queue."""
        tail = ["try:", f"    {self.bench.recorder.steps[-1].source}", "except ValueError:", "    pass  # right", "else:"]
        tail.append("    raise AssertionError('no exception')")
        expected = "the ValueError of the downstream queue"
        self.bench.fail("pq.push.error-propagates", expected, actual, tail, replaces=True, final=True)

    def _reopen(self, *, unsaved: bool = False, marker: Any = None) -> None:
        if not self.bench.offers("persistent") or not self._keeps:
            return
        places = self.model.places | (set() if marker is None else {self._place(marker.number)})
        state = save(self.bench, self.queue, places, self._suspects, self._used)
        self._suspects = {rule: set() for rule in self._suspects}
        self._used = self.model.places
        if marker is not None:
            self.driver.discard(marker)
            self._suspects["pq.resume.stale"].add(self._place(marker.number))
        if unsaved:
            state = self.bench.recorder.steps[-2].result
            self.bench.recorder.steps[-1].source = "state = left"
        self.queue = self.bench.open(state=state, owner="pq.resume.all")
        self._peeked = None
        self._seen.add("reopen")
        self.length()

    def _take(self, number: int) -> None:
        """Take out of the oracle what was popped, and credit what this has examined."""
        place, places = self.model.place_of(number), self.model.places
        self.model.remove(number)
        examined = self._examined
        examined["pq.pop.exactly-once"] += 1
        examined["pq.pop.none-only-empty"] += 1
        if self.bench.offers("slots"):
            examined["pq.slot.least-active"] += any(other.slot != place.slot for other in places)
            places = {other for other in places if other.slot == place.slot}
        examined["pq.pop.order"] += any(other.priority < place.priority for other in places)
        examined["pq.pop.start-priority"] += place.start and any(
            other.priority < place.priority and not other.start for other in places
        )
        examined["pq.pop.tie-start-last"] += not place.start and place._replace(start=True) in places
        order = "pq.pop.start-order" if place.start else "pq.pop.tie-downstream"
        examined[order] += place in self.model.places
        events = {
            "refused": "pq.push.failed-no-trace",
            "none": "pq.pop.transient",
            "peek": "pq.peek.no-effect",
            "reopen": "pq.resume.all",
            "stale": "pq.resume.stale",
        }
        for event, rule in events.items():
            examined[rule] += event in self._seen
        examined["pq.close.state"] += "reopen" in self._seen

    def _judge(self, value: Any, allowed: list[int], *, said_none: bool | None = None) -> int | None:
        """Compare what came out with what may come; return its number. ``None`` may come from a downstream queue that says it."""
        if value is None and not len(self.model):
            self._examined["pq.pop.empty-none"] += 1
            return None
        number = self.driver.identify(value)
        if number in allowed and self.driver.same(value, self.driver.item(number)):
            return number
        rule = self._rule_broken_by(value, number, allowed)
        expected = " or ".join(self.driver.describe_item(n) for n in allowed[:3]) or "None"
        condition = self.driver.among_source("popped", [self.driver.item(n) for n in allowed], or_none=bool(said_none))
        if said_none is False:
            condition = f"not unasked and popped is None or {condition}"
        self.bench.fail(rule, expected, value, [f"assert {condition}, f'got {{popped!r}}'"])

    def _rule_broken_by(self, value: Any, number: int | None, allowed: list[int]) -> str:
        """Return the rule on which something else came than what was allowed."""
        if value is None:
            return "pq.pop.none-only-empty" if self._something_comes() else "pq.pop.exactly-once"
        if number is None or not self.model.contains(number):
            return "pq.pop.exactly-once" if number is not None or allowed else "pq.pop.empty-none"
        if not self._something_comes(allowed[0]):
            return "pq.pop.exactly-once"
        came = self.model.place_of(number)
        places = [self.model.place_of(n) for n in allowed]
        if self.bench.offers("slots"):
            places = [place for place in places if place.slot == came.slot]
            if not places:
                return "pq.slot.least-active"
        expected = places[0]
        if came.priority != expected.priority:
            return "pq.pop.start-priority" if expected.start and not came.start else "pq.pop.order"
        if came.start != expected.start:
            return "pq.pop.tie-start-last"
        return "pq.pop.start-order" if came.start else "pq.pop.tie-downstream"

    def _something_comes(self, number: int | None = None) -> bool:
        """Whether an item, or anything, comes out after what came; this leaves no steps behind."""
        steps = len(self.bench.recorder.steps)
        try:
            came = (self.queue.pop() for _ in range(2 * len(self.model) + 2))
            return any(popped is not None and number in (None, self.driver.identify(popped)) for popped in came)
        except OperationRaised:
            return False
        finally:
            del self.bench.recorder.steps[steps:]

    def _nothing_is_given_up(self) -> None:
        """No downstream queue in memory was closed while it holds requests."""
        assert self.driver.store is not None
        given_up = [queue for queue in self.driver.store.built if queue.closed and queue.items]
        self.bench.recorder.note("left = [queue.key for queue in store.built if queue.closed and queue.items]")
        rule, actual = "pq.pop.never-close-nonempty", f"closed: {[queue.key for queue in given_up]}"
        self._examined[rule] += 1
        if given_up:
            self.bench.fail(rule, "only empty queues closed", actual, ["assert not left, f'closed: {left}'"], final=True)
        del self.bench.recorder.steps[-1]

    def _compare(self, rule: str, actual: object, expected: object, assertion: str) -> None:
        """Report a wrong count, unless the contents are wrong: then the count may well be right."""
        try:
            self.bench.expect(rule, actual == expected, str(expected), actual, assertion.format(expected))
        except RuleBroken as failure:
            with shown_by("pop"):
                for _ in range(len(self.model) + 1):
                    self.pop()
            raise failure from None


def _same() -> list[str]:
    return [
        "equal = peeked is popped or getattr(peeked, 'url', 0) == getattr(popped, 'url', None)",
        "assert equal, f'peek showed {peeked!r}, pop returned {popped!r}'",
    ]


def operations(bench: Bench) -> list[Operation]:
    """Return what programs are drawn from, simple operations first; pushes and pops are the most frequent."""
    table = [Operation("push", 0, item) for item in range(len(PLACES))]
    table += [Operation("pop"), Operation("length"), Operation("truth")]
    if bench.offers("persistent"):
        table += [Operation("reopen"), Operation("reopen_stale"), Operation("reopen_stale", 0, 1)]
    if bench.offers("peek"):
        table.append(Operation("peek"))
    if bench.offers("slots"):
        table += [Operation("activity", 0, item) for item in (0, 1, 4, 5, 8)]
    table += [Operation("pop_none"), *[Operation("push_refused", 0, item) for item in (0, 1, 4, 9)]]
    return [*table, *[Operation("pop")] * 8]


def player(bench: Bench, furnish: Furnish | None = None, *, lifo: bool = True) -> Player:
    """Return what plays programs of :class:`PriorityQueuePair`."""
    return Player(bench, partial(PriorityQueuePair, furnish=furnish, lifo=lifo), EXPERIMENTS, operations(bench))


def run(bench: Bench, operations: Program, furnish: Furnish | None = None, *, lifo: bool = True) -> None:
    """Play one program on a bench.

    Args:
        bench: where the check works.
        operations: the program.
        furnish: chooses other downstream queues than those of the machine.
        lifo: whether those for other than start requests are LIFO.

    Raises:
        RuleBroken: for a difference, attributed to a rule.
    """
    player(bench, furnish, lifo=lifo).show(operations)


def run_each(bench: Bench, programs: Iterable[Program]) -> None:
    """Play programs; the failures of one do not hide those of the next."""
    for operations in programs:
        with bench.collecting():
            run(bench, operations)
