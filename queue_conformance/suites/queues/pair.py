"""A queue and its oracle, side by side; each operation runs on both, and every difference breaks a rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from queue_conformance.implementations.drivers.base import VARIABLES, Item
from queue_conformance.implementations.recording import OperationRaised, describe
from queue_conformance.models.queue import QueueModel
from queue_conformance.specification import Kind
from queue_conformance.suites.bench import Bench
from queue_conformance.suites.outcomes import RuleBroken, shown_by
from queue_conformance.suites.programs import Operation, Player, Program
from queue_conformance.suites.queues.attribution import EXPERIMENTS, ORDER_RULES, SPREAD
from queue_conformance.suites.queues.fallback import serialization_errors


class QueuePair:
    """One queue and its oracle; the operations of programs are its methods.

    Args:
        bench: where the check works.
        number: which of the queues that are open side by side this is.

    Every method raises ``RuleBroken`` at a difference, and ``OperationRaised`` if the implementation raises.
    """

    def __init__(self, bench: Bench, number: int) -> None:
        self.bench = bench
        self.number = number
        self.model = QueueModel(bench.implementation.capabilities.order)
        self.queue: Any = bench.open(str(number), VARIABLES[number])
        self._examined = bench.examined
        self._is_open = True
        self._popped: set[int] = set()
        self._cleared: set[int] = set()
        self._peeked: Any = NOTHING_PEEKED
        self._seen: set[str] = set()

    # --- Operations --------------------------------------------------------------------------------------------------

    def push(self, item: int) -> bool:
        """Push an item of the pool; return whether that went well."""
        self._ensure_open()
        number = item + self.number * SPREAD
        self.queue.push(self.bench.driver.item(number))
        self._examined["queue.push.accept"] += 1
        if number in self.model.items:
            self._seen.add("duplicate")
        if "peek" in self._seen:
            self._seen.add("push after peek")
        self.model.push(number)
        self._peeked = NOTHING_PEEKED
        return True

    def push_refused(self, cause: int) -> None:
        """Push something that must be refused."""
        self._ensure_open()
        items = unstorable(self.bench)
        item, rule, errors = items[cause % len(items)]
        self.bench.expect_raises(rule, errors, lambda: self.queue.push(item))
        self._seen.add("refused")

    def pop(self, _item: int = 0) -> int | None:
        """Pop, and judge what came."""
        self._ensure_open()
        empty = not self.model.items
        value = self.queue.pop(owner="queue.pop.empty-none" if empty else "queue.pop.exactly-once")
        number = self._judge(value, "popped")
        if number is None:
            self._seen.add("pop of nothing")
            return None
        self._take(value, number)
        return number

    def _take(self, value: Any, number: int) -> None:
        """Take out of the oracle what was popped, and compare it with what the last peek showed."""
        peeked, self._peeked = self._peeked, NOTHING_PEEKED
        if peeked is not NOTHING_PEEKED and self.bench.driver.identify(peeked) != number:
            self.bench.fail(
                "queue.peek.equals-pop",
                f"the item that peek showed, {describe(peeked)}",
                value,
                _same("popped", "peeked"),
                final=True,
            )
        if peeked is not NOTHING_PEEKED:
            self._examined["queue.peek.equals-pop"] += 1
        self.model.remove(number)
        self._popped.add(number)
        self._credit()

    def peek(self, _item: int = 0) -> None:
        """Peek, where the queue can, and judge what came."""
        if not self.bench.offers("peek"):
            return
        self._ensure_open()
        empty = not self.model.items
        value = self.queue.peek(owner="queue.peek.empty-none" if empty else "queue.peek.equals-pop")
        number = self.bench.driver.identify(value)
        allowed = self.model.allowed()
        if (value is None and not allowed) or (
            number in allowed and self.bench.driver.same(value, self.bench.driver.item(number))
        ):
            self._examined["queue.peek.empty-none"] += not allowed
            self._peeked = value if allowed else NOTHING_PEEKED
            self._seen.add("peek")
            return
        # Either peek is wrong, or it shows what is wrong with the queue: the next pop tells.
        popped = self.queue.pop()
        if self.bench.driver.identify(popped) == number and type(popped) is type(value):
            with shown_by("pop"):
                self._judge(popped, "popped")
        if empty:
            tail = ["assert peeked is None, f'expected None, got {peeked!r}'"]
            self.bench.fail("queue.peek.empty-none", "None", value, tail, final=True)
        self.bench.fail(
            "queue.peek.equals-pop", f"what pop returns next, {describe(popped)}", value, _same("peeked", "popped"), final=True
        )

    def length(self, _item: int = 0, rule: str = "queue.len.count") -> None:
        """Compare ``len()``."""
        self._ensure_open()
        length = self.queue.length()
        self._judge_length(length, rule, len(self.model), len(self.model))
        if "pop of nothing" in self._seen:
            self._examined["queue.len.pop-none"] += 1

    def truth(self, _item: int = 0) -> None:
        """Compare ``bool()``."""
        self._ensure_open()
        rule = self.queue.rule_of_truth()
        truth = self.queue.truth(rule)
        expected = bool(self.model.items)
        if truth != expected and not self._is_approximate(truth, len(self.model)):
            self._contents_or(
                lambda: self.bench.fail(
                    rule,
                    str(expected),
                    truth,
                    [f"assert truth is {expected}, f'expected {expected}, got {{truth}}'"],
                )
            )
        self._examined["queue.len.truth"] += 1

    def clear(self, _item: int = 0) -> None:
        """Clear, where the queue can, and compare ``len()``."""
        if not self.bench.offers("clear"):
            return
        self._ensure_open()
        self.queue.clear()
        self._cleared |= set(self.model.items)
        self.model.clear()
        self._peeked = NOTHING_PEEKED
        self._seen.add("clear")
        length = self.queue.length()
        if self.bench.applies("queuelib.clear"):
            self.bench.expect("queuelib.clear", length == 0, "len 0", length, "length == 0")

    def close(self, _item: int = 0) -> None:
        """Close, where that loses nothing; the next operation builds the queue again."""
        if self._is_open and self.bench.offers("persistent"):
            self.queue.close()
            self._is_open = False
            self._seen.add("close after refused" if "refused" in self._seen else "close")
            if self._popped and self.model.items:
                self._seen.add("partial")
            self._peeked = NOTHING_PEEKED

    def open(self, _item: int = 0) -> None:
        """Build the queue again, and compare ``len()``."""
        if self._is_open:
            return
        self.queue = self.bench.open(str(self.number), self.queue.variable, owner="queue.persist.reopen")
        self._is_open = True
        self._seen.add("reopen")
        self.length(rule="queue.ctor.stored-length")

    def reopen(self, _item: int = 0) -> None:
        """Close and build again."""
        self.close()
        self.open()

    def finish(self) -> None:
        """Take out and judge everything that is left, and close."""
        self._ensure_open()
        for _ in range(len(self.model) + 1):
            self.pop()
        self.queue.close()
        self._is_open = False

    # --- Judgement ---------------------------------------------------------------------------------------------------

    def _judge_length(self, length: int, rule: str, least: int, most: int) -> None:
        """Compare a length with what is possible."""
        if least <= length <= most or self._is_approximate(length, least):
            self._examined[rule] += 1
            return
        expected = f"{least}" if least == most else f"{least} to {most}"
        condition = f"length == {least}" if least == most else f"{least} <= length <= {most}"
        if self.bench.offers("shared"):
            expected, condition = f"above 0, {least} items remain", "length != 0"
        tail = [f"assert {condition}, f'expected {expected}, got {{length}}'"]
        self._contents_or(lambda: self.bench.fail(rule, expected, length, tail))

    def _is_approximate(self, length: int, least: int) -> bool:
        """Whether a length or truth is right enough where others use the queue too: not 0 while something is there."""
        return self.bench.offers("shared") and (bool(length) or not least)

    def _ensure_open(self) -> None:
        if not self._is_open:
            self.open()

    def _judge(self, value: Any, variable: str) -> int | None:
        """Compare what came out with what may come; return its number."""
        driver = self.bench.driver
        allowed = self.model.allowed()
        if value is None and not allowed:
            self._examined["queue.pop.empty-none"] += 1
            return None
        number: int | None = driver.identify(value)
        expected = " or ".join(driver.describe_item(n) for n in [*dict.fromkeys(allowed)][:3]) or "None"
        if number is not None and number in allowed:
            if driver.same(value, driver.item(number)):
                return number
            rule = "queue.pop.roundtrip" if self.bench.offers("serializes") else "queue.pop.exactly-once"
        elif number is not None and number in self.model.items:
            rule = ORDER_RULES[self.model.order] if self._rest_is_complete(number) else "queue.pop.exactly-once"
        elif number is not None and number in self._cleared:
            rule = "queuelib.clear"
        elif number is None and value is not None and not allowed:
            rule = "queue.pop.empty-none"
        else:
            rule = "queue.pop.exactly-once"
        condition = driver.among_source(variable, [driver.item(n) for n in dict.fromkeys(allowed)])
        tail = [f"assert {condition}, f'expected {_plain(expected)}, got {{{variable}!r}}'"]
        self.bench.fail(rule, expected, value, tail)

    def _rest_is_complete(self, number: int) -> bool:
        """Whether an item out of turn is only that, and no item is missing or doubled; nothing of this is recorded."""
        try:
            rest = [number, *(self.bench.driver.identify(self.queue.raw.pop()) for _ in range(len(self.model)))]
        except BaseException:
            return False
        return sorted(map(str, rest)) == sorted(map(str, [*self.model.items, None]))

    def _contents_or(self, fail: Callable[[], object]) -> None:
        """Report a wrong count, unless the contents are wrong: then the count may well be right."""
        failure: RuleBroken | None = None
        try:
            fail()
        except RuleBroken as broken:
            failure = broken
        with shown_by("pop"):
            for _ in range(len(self.model) + 1):
                self.pop()
        assert failure is not None
        raise failure

    def _credit(self) -> None:
        """Count the rules that a right item examines, by what happened to the queue before."""
        examined, seen = self._examined, self._seen
        examined["queue.pop.exactly-once"] += 1
        several = len(self.model) > 0
        if several and self.model.order in ORDER_RULES:
            examined[ORDER_RULES[self.model.order]] += 1
            if "reopen" in seen:
                examined["queue.pop.order-reopen"] += 1
        for event, rule in _EXAMINED_AFTER.items():
            if event in seen:
                examined[rule] += 1
        if self.number:
            examined["queue.ctor.key-isolation"] += 1
            if "reopen" in seen:
                examined["queue.ctor.key-identity"] += 1
        if "partial" in seen and "reopen" in seen:
            examined["queue.persist.partial"] += 1


NOTHING_PEEKED = object()

_EXAMINED_AFTER = {
    "duplicate": "queue.push.duplicates",
    "peek": "queue.peek.no-effect",
    "push after peek": "queue.peek.then-push",
    "refused": "queue.push.failed-no-trace",
    "close after refused": "queue.close.keeps",
    "reopen": "queue.persist.reopen",
    "clear": "queuelib.clear",
}
"""What a right item shows, by what came before it."""


def unstorable(bench: Bench) -> list[tuple[Item, str, tuple[type[BaseException], ...]]]:
    """Return items that a push must refuse, with the rule that says so and what may be raised.

    That a byte queue raises nothing but TypeError has a check of its own.
    """
    if bench.implementation.kind is Kind.BYTE_QUEUE and bench.offers("persistent"):
        sources = ["'text'", "None", "bytearray(b'item 1')"]
        return [(bench.driver.evaluate(source), "queue.push.bytes-only", (Exception,)) for source in sources]
    if bench.implementation.kind is Kind.DOWNSTREAM_QUEUE and bench.offers("serializes"):
        url = "'https://example.com/1'"
        return [
            (
                bench.driver.evaluate(f"Request({url}, callback=lambda response: None)"),
                "queue.push.callback-foreign",
                serialization_errors(bench),
            ),
            (
                bench.driver.evaluate(f"Request({url}, meta={{'lock': threading.Lock()}})"),
                "queue.push.serialization-error",
                serialization_errors(bench),
            ),
        ]
    return []


def refusals(bench: Bench) -> list[int]:
    """Return the numbers of what a push refuses; a byte queue that takes any value has no refused push to leave a trace."""
    known = unstorable(bench)
    if bench.implementation.kind is not Kind.BYTE_QUEUE:
        return list(range(len(known)))
    return [number for number, (item, _, _) in enumerate(known) if _refuses(bench, item)]


def _refuses(bench: Bench, item: Item) -> bool:
    bench.restart()
    queue = bench.open()
    try:
        queue.push(item)
    except OperationRaised:
        return True
    return False


ITEMS = 6
"""Different items that programs push, to each queue."""


def operations(bench: Bench) -> list[Operation]:
    """Return what programs are drawn from, simple operations first; pushes and pops are the most frequent."""
    pushes = [Operation("push", 0, item) for item in range(ITEMS)]
    table = [*pushes, Operation("pop"), Operation("length"), Operation("truth")]
    if bench.offers("peek"):
        table.append(Operation("peek"))
    if bench.offers("persistent"):
        table.append(Operation("reopen"))
    if bench.offers("clear"):
        table.append(Operation("clear"))
    table += [Operation("push_refused", 0, cause) for cause, _ in enumerate(unstorable(bench))]
    if bench.implementation.kind is Kind.DOWNSTREAM_QUEUE or bench.offers("persistent"):
        table += [Operation("push", 1, 0), Operation("push", 1, 1), Operation("pop", 1)]
    return [*table, *pushes, *[Operation("pop")] * 8]


def player(bench: Bench) -> Player:
    """Return what plays programs: of :class:`QueuePair`, or of what knows faults where a server can be hurt."""
    if bench.backend is None or not bench.offers("server"):
        return Player(bench, QueuePair, EXPERIMENTS, operations(bench))
    from queue_conformance.suites.queues import served

    table = [*operations(bench), *served.operations(bench.examples)]
    return Player(bench, served.ServedQueuePair, (*served.EXPERIMENTS, *EXPERIMENTS), table)


def run(bench: Bench, operations: Program) -> None:
    """Play one program on a bench.

    Raises:
        RuleBroken: for a difference, attributed to a rule.
    """
    player(bench).show(operations)


def _same(left: str, right: str) -> list[str]:
    return [
        f"equal = {left} == {right} or (getattr({left}, 'url', None) == getattr({right}, 'url', 0))",
        f"assert equal, f'pop and peek differ: {{{left}!r}} and {{{right}!r}}'",
    ]


def _plain(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", '"').replace("{", "{{").replace("}", "}}")
