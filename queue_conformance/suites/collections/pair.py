"""A queue of queues and its oracle, side by side."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from typing import Any

from queue_conformance.implementations.recording import OperationRaised
from queue_conformance.models.collections import CollectionModel, PriorityQueueModel, RoundRobinModel
from queue_conformance.specification import Kind
from queue_conformance.suites.bench import Bench
from queue_conformance.suites.outcomes import RuleBroken, shown_by
from queue_conformance.suites.programs import (
    Experiment,
    Operation,
    Play,
    Player,
    Program,
    always,
    drop,
    without_empty_pops,
    without_reopening,
)

Rule = Callable[[Player, Play, RuleBroken], str | None]
"""What names the rule of a failure, in an experiment."""


class CollectionPair:
    """One queue of queues and its oracle; the operations of programs are its methods.

    The number of an item decides its priority or key, see ``CollectionDriver.place_of``.

    Args:
        bench: where the check works.
        number: which of the queues that are open side by side this is; only one is used.

    Every method raises ``RuleBroken`` at a difference, and ``OperationRaised`` if the implementation raises.
    """

    def __init__(self, bench: Bench, number: int) -> None:
        self.bench = bench
        self.by_priority = bench.implementation.kind is Kind.BYTE_PRIORITY_QUEUE
        self.model: CollectionModel = PriorityQueueModel() if self.by_priority else RoundRobinModel()
        self.order_rule = "queuelib.pq.order" if self.by_priority else "queuelib.rr.cycle"
        self.close_rule = "queuelib.pq.close" if self.by_priority else "queuelib.rr.close"
        self.clear_rule = "queuelib.pq.clear" if self.by_priority else "queuelib.clear"
        self.peek_rule = "queue.peek.equals-pop" if self.by_priority else _PEEK
        self.start_rule = "queuelib.pq.startprios" if self.by_priority else "queuelib.rr.close"
        self.queue: Any = bench.open()
        self._examined = bench.examined
        self._cleared: set[int] = set()
        self._peeked: Any = None
        self._seen: set[str] = set()

    # --- Operations --------------------------------------------------------------------------------------------------

    def push(self, item: int) -> None:
        """Push an item of the pool under its priority or key."""
        place = self.bench.driver.place_of(item)
        self.queue.push(self.bench.driver.item(item), place)
        self._examined["queue.push.accept"] += 1
        self.model.push(item, place)
        self._peeked = None

    def push_refused(self, item: int) -> None:
        """Push something that the inner queue refuses, under the priority or key of an item."""
        refused = self.bench.driver.evaluate("'text'")
        try:
            self.queue.push(refused, self.bench.driver.place_of(item))
        except OperationRaised as raised:
            if not isinstance(raised.error, TypeError):
                raise
        else:
            step = self.bench.recorder.steps[-1]
            tail = [
                "try:",
                f"    {step.source}",
                "except TypeError:",
                "    pass  # right",
                "else:",
                "    raise AssertionError('swallowed')",
            ]
            self.bench.fail(
                "queue.push.failed-no-trace", "the TypeError of the inner queue", "no exception", tail, replaces=True, final=True
            )
        self._seen.add("refused")

    def pop(self, _item: int = 0) -> int | None:
        """Pop, and judge what came."""
        empty = not self.model.items
        value = self.queue.pop(owner="queue.pop.empty-none" if empty else "queue.pop.exactly-once")
        peeked, self._peeked = self._peeked, None
        number = self._judge(value)
        if number is None:
            self._seen.add("pop of nothing")
            return None
        if peeked is not None:
            if self.bench.driver.identify(peeked) != number:
                tail = ["assert popped == peeked, f'peek showed {peeked!r}, pop returned {popped!r}'"]
                self.bench.fail(self.peek_rule, f"the item that peek showed, {peeked!r}", value, tail, final=self.by_priority)
            self._examined[self.peek_rule] += 1
        several = len(self.model.active()) > 1
        self.model.remove(number)
        self._examined["queue.pop.exactly-once"] += 1
        self._examined[self.order_rule] += several
        for event, rule in {
            "refused": "queue.push.failed-no-trace",
            "peek": "queue.peek.no-effect",
            "clear": self.clear_rule,
            "reopen": self.start_rule,
        }.items():
            self._examined[rule] += event in self._seen
        return number

    def peek(self, _item: int = 0) -> None:
        """Peek, where the queue can, and judge what came."""
        if not self.bench.offers("peek"):
            return
        allowed = self.model.allowed()
        value = self.queue.peek(owner=self.peek_rule if allowed else "queue.peek.empty-none")
        number = self.bench.driver.identify(value)
        if (value is None and not allowed) or number in allowed:
            self._examined["queue.peek.empty-none"] += not allowed
            self._peeked = value
            self._seen.add("peek")
            return
        popped = self.queue.pop()
        if number is not None and self.bench.driver.identify(popped) == number:
            with shown_by("pop"):
                self._judge(popped)
        if not allowed:
            tail = ["assert peeked is None, f'expected None, got {peeked!r}'"]
            self.bench.fail("queue.peek.empty-none", "None", value, tail, final=True)
        tail = ["assert popped == peeked, f'peek showed {peeked!r}, pop returned {popped!r}'"]
        self.bench.fail(self.peek_rule, f"what pop returns next, {popped!r}", value, tail, final=self.by_priority)

    def length(self, _item: int = 0) -> None:
        """Compare ``len()``."""
        length, expected = self.queue.length(), len(self.model)
        self._compare("queue.len.count", length, expected, f"length == {expected}")
        if "pop of nothing" in self._seen:
            self._examined["queue.len.pop-none"] += 1

    def truth(self, _item: int = 0) -> None:
        """Compare ``bool()``."""
        rule = self.queue.rule_of_truth()
        truth, expected = self.queue.truth(rule), bool(self.model.items)
        self._compare(rule, truth, expected, f"truth is {expected}")
        self.bench.examined["queue.len.truth"] += 1

    def clear(self, _item: int = 0) -> None:
        """Clear, where the queue can, and compare ``len()``."""
        if not self.bench.offers("clear"):
            return
        self.queue.clear(owner=self.clear_rule)
        self._cleared |= set(self.model.items)
        self.model.clear()
        self._peeked = None
        self._seen.add("clear")
        length = self.queue.length()
        self.bench.expect(self.clear_rule, length == 0, "len 0", length, "length == 0")

    def reopen(self, _item: int = 0) -> None:
        """Close, compare what close returns, and build the queue again from it."""
        left = self._close()
        start = sorted(left, key=str)
        self.queue = self.bench.open(start=start, owner=self.start_rule)
        self.model.reopen()
        self._peeked = None
        self._seen.add("reopen")
        self.length()

    def finish(self) -> None:
        """Take out and judge everything that is left, and close."""
        for _ in range(len(self.model) + 1):
            self.pop()
        self._close()

    # --- Judgement ---------------------------------------------------------------------------------------------------

    def _close(self) -> list[Hashable]:
        left = self.queue.close(owner=self.close_rule)
        expected = sorted(self.model.active(), key=str)
        named = list(left) if isinstance(left, Collection) else [left]
        places = [place for place in named if place in self.bench.driver.places]
        matches = len(places) == len(named) and sorted(places, key=str) == expected
        assertion = f"sorted(left, key=str) == {expected!r}"
        self.bench.expect(self.close_rule, matches, repr(expected), left, assertion, final=True)
        return expected

    def _judge(self, value: Any) -> int | None:
        """Compare what came out with what may come; return its number."""
        driver, allowed = self.bench.driver, self.model.allowed()
        if value is None and not allowed:
            self._examined["queue.pop.empty-none"] += 1
            return None
        number: int | None = driver.identify(value)
        if number in allowed and driver.same(value, driver.item(number)):
            return number
        if number in self.model.items:
            rule = self.order_rule
        elif number in self._cleared:
            rule = self.clear_rule
        elif number is None and value is not None and not allowed:
            rule = "queue.pop.empty-none"
        else:
            rule = "queue.pop.exactly-once"
        condition = driver.among_source("popped", [driver.item(n) for n in allowed])
        expected = " or ".join(driver.describe_item(n) for n in allowed) or "None"
        tail = [f"assert {condition}, f'got {{popped!r}}'"]
        self.bench.fail(rule, expected, value, tail)

    def _compare(self, rule: str, actual: object, expected: object, assertion: str) -> None:
        """Report a wrong count, unless the contents are wrong: then the count may well be right."""
        try:
            self.bench.expect(rule, actual == expected, str(expected), actual, assertion)
        except RuleBroken as failure:
            with shown_by("pop"):
                for _ in range(len(self.model) + 1):
                    self.pop()
            raise failure from None


# --- Attribution -----------------------------------------------------------------------------------------------------


_PEEK = "queuelib.rr.peek"


def _after_refused(_player: Player, _play: Play, failure: RuleBroken) -> str:
    return "queuelib.rr.peek-empty" if failure.rule == _PEEK else "queue.push.failed-no-trace"


def _unless_peek(rule: Rule) -> Rule:
    """Say nothing of a peek that shows another item: only a queue that a refused push left empty explains that."""
    return lambda player, play, failure: None if failure.rule == _PEEK else rule(player, play, failure)


def _after_empty_pops(_player: Player, _play: Play, failure: RuleBroken) -> str | None:
    return "queue.len.pop-none" if failure.rule == "queue.len.count" else None


def _after_measuring(_player: Player, _play: Play, failure: RuleBroken) -> str | None:
    return None if failure.rule.startswith("queue.len.") else "queue.len.count"


def _after_reopening(player: Player, _play: Play, _failure: RuleBroken) -> str:
    return "queuelib.pq.startprios" if player.bench.implementation.kind is Kind.BYTE_PRIORITY_QUEUE else "queuelib.rr.close"


def _after_clear(player: Player, _play: Play, _failure: RuleBroken) -> str:
    return "queuelib.pq.clear" if player.bench.implementation.kind is Kind.BYTE_PRIORITY_QUEUE else "queuelib.clear"


EXPERIMENTS = (
    Experiment(drop("push_refused"), _after_refused),
    Experiment(drop("clear"), _unless_peek(_after_clear)),
    Experiment(drop("peek"), _unless_peek(always("queue.peek.no-effect"))),
    Experiment(drop("length", "truth"), _unless_peek(_after_measuring)),
    Experiment(without_reopening, _unless_peek(_after_reopening)),
    Experiment(without_empty_pops, _unless_peek(_after_empty_pops)),
)


ITEMS = 8
"""Different items that programs push; their numbers decide their priorities or keys."""


def operations(bench: Bench) -> list[Operation]:
    """Return what programs are drawn from, simple operations first; pushes and pops are the most frequent."""
    pushes = [Operation("push", 0, item) for item in range(ITEMS)]
    table = [*pushes, Operation("pop"), Operation("length"), Operation("truth"), Operation("reopen")]
    table += [Operation(name) for name in ("peek", "clear") if bench.offers(name)]
    table += [Operation("push_refused", 0, item) for item in range(2)]
    return [*table, *[Operation("pop")] * 5]


def player(bench: Bench) -> Player:
    """Return what plays programs of :class:`CollectionPair`."""
    return Player(bench, CollectionPair, EXPERIMENTS, operations(bench))


def run(bench: Bench, operations: Program) -> None:
    """Play one program on a bench.

    Raises:
        RuleBroken: for a difference, attributed to a rule.
    """
    player(bench).show(operations)
