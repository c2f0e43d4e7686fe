"""The commands of queues, in lockstep with a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NoReturn

from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.difference import ALTERED, DOUBLED, EARLY, FOREIGN, difference, difference_of_limits
from queue_conformance.engine.driver import VARIABLES
from queue_conformance.engine.lockstep import Lockstep, command, machine
from queue_conformance.engine.outcomes import SUCCESS, NotApplicable, Received, RuleFailed, shown_by
from queue_conformance.engine.recording import NOTHING, OperationRaised, describe
from queue_conformance.engine.sequences import Command, commands
from queue_conformance.engine.subject import Item
from queue_conformance.kinds.queue.attribution import ABLATIONS, ORDER_RULES, SPREAD
from queue_conformance.kinds.queue.fallback import serialization_errors
from queue_conformance.kinds.queue.kind import BYTE_QUEUE, DOWNSTREAM_QUEUE, QUEUES
from queue_conformance.kinds.queue.model import QueueModel


def unstorable(context: CheckContext) -> list[tuple[Item, str, tuple[type[BaseException], ...]]]:
    """Return items that a push must refuse, with the rule that says so and what may be raised.

    That a byte queue raises nothing but TypeError has a check of its own.
    """
    evaluate, kind = context.driver.evaluate, context.implementation.kind
    if kind is BYTE_QUEUE and context.offers("persistent"):
        sources = ("'text'", "None", "bytearray(b'item 1')")
        return [(evaluate(source), "queue.push.bytes-only", (Exception,)) for source in sources]
    if kind is DOWNSTREAM_QUEUE and context.offers("serializes"):
        url, errors = "'https://example.com/1'", serialization_errors(context)
        foreign = evaluate(f"Request({url}, callback=lambda response: None)")
        unserializable = evaluate(f"Request({url}, meta={{'lock': threading.Lock()}})")
        return [(foreign, "queue.push.callback-foreign", errors), (unserializable, "queue.push.serialization-error", errors)]
    return []


class QueueLockstep(Lockstep):
    """One queue and its model."""

    ablations = ABLATIONS
    covers: ClassVar[Sequence[str]] = (
        "queue.pop.fifo",
        "queue.pop.lifo",
        "queue.pop.order-reopen",
        "queue.persist.partial",
        "queue.ctor.key-identity",
    )
    after: ClassVar[Mapping[str, str]] = {
        "duplicate": "queue.push.duplicates",
        "peek": "queue.peek.no-effect",
        "push after peek": "queue.peek.then-push",
        "refused": "queue.push.failed-no-trace",
        "close after refused": "queue.close.keeps",
        "reopen": "queue.persist.reopen",
        "clear": "queuelib.clear",
    }
    ordinary: ClassVar[Sequence[str]] = ("push:0 push:1 push:2 push:3 pop push:4 push:5 push:36 push:7 push:8",)
    operations: ClassVar[Mapping[str, str]] = {
        "length": "len",
        "truth": "bool",
        "push_refused": "refused push",
        "drain": "pop",
    }
    pop_rule: ClassVar[str] = "queue.pop.exactly-once"
    empty_pop_rule: ClassVar[str] = "queue.pop.empty-none"
    peek_rule: ClassVar[str] = "queue.peek.equals-pop"
    peek_is_certain: ClassVar[bool] = True
    empty_peek_rule: ClassVar[str] = "queue.peek.empty-none"
    length_rule: ClassVar[str] = "queue.len.count"
    truth_rule: ClassVar[str] = "queue.len.truth"
    clear_rule: ClassVar[str] = "queuelib.clear"

    def __init__(self, context: CheckContext, number: int) -> None:
        super().__init__(context, number)
        self.driver = context.driver
        if number and context.implementation.kind is BYTE_QUEUE and not self.driver.takes_path and context.offers("persistent"):
            raise NotApplicable("it takes no path, so that two of it are one queue")
        self.model: Any = self.new_model()
        self.queue: Any = context.open(str(number), VARIABLES[number])
        self._is_open = True
        self._popped = False
        self._cleared: set[int] = set()
        self._peeked: Any = NOTHING
        self._misnamed: RuleFailed | None = None

    @classmethod
    def of(cls, context: CheckContext) -> type[Lockstep]:
        if context.backend is None or not context.offers("server"):
            return cls
        from queue_conformance.kinds.queue.served import ServedQueueLockstep

        return ServedQueueLockstep

    @classmethod
    def table(cls, context: CheckContext) -> dict[Command, int]:
        kind = context.implementation.kind
        stores_bytes = kind is BYTE_QUEUE and context.offers("persistent")
        several = kind is DOWNSTREAM_QUEUE or (stores_bytes and context.driver.takes_path)
        return super().table(context) | dict.fromkeys(commands("1.push:0 1.push:1 1.pop") if several else (), 1)

    def new_model(self) -> Any:
        """Return the model of an empty queue."""
        return QueueModel(self.context.implementation.capabilities.order)

    @property
    def order_rule(self) -> str | None:
        """The rule on the order in which items come, if there is one."""
        return ORDER_RULES.get(self.model.order)

    # --- Commands ----------------------------------------------------------------------------------------------------

    @command("queue.push.accept", arguments=range(6))
    def push(self, item: int) -> bool:
        """Push an item of the pool; return whether that went well."""
        self._ensure_open()
        number = item + self.number * SPREAD
        again = number in self.model.items
        self.store(number)
        self.covered["queue.push.accept"] += 1
        if again:
            self.events.add("duplicate")
        if "peek" in self.events:
            self.events.add("push after peek")
        self._peeked = NOTHING
        return True

    def store(self, number: int) -> None:
        """Push the item of a number into the queue and into the model."""
        self.queue.push(self.driver.item(number))
        self.model.push(number)

    @command("queue.pop.exactly-once", "queue.pop.empty-none", "queue.pop.roundtrip", weight=5)
    def pop(self) -> int | None:
        """Pop, and compare what came with the model, and with what the last peek showed."""
        self._ensure_open()
        with self.about(self.pop_rule if len(self.model) else self.empty_pop_rule):
            value = self.queue.pop()
        number = self.compare(value, self.model.allowed())
        if number is None:
            self.events.add("pop of nothing")
            return None
        self.take(value, number)
        return number

    def take(self, value: Any, number: int) -> None:
        """Take an item that may come out of the model, and compare it with what the last peek showed."""
        peeked, self._peeked = self._peeked, NOTHING
        if peeked is not NOTHING:
            if self.driver.identify(peeked) != number:
                self.fail_peek(f"the item that peek showed, {describe(peeked)}", value, "popped", "peeked", "not as peek showed")
            self.covered[self.peek_rule] += 1
        self.cover(number)
        self.model.remove(number)
        self._popped = True

    @command("queue.len.count", "queue.len.pop-none")
    def length(self) -> None:
        """Compare ``len()``."""
        self._ensure_open()
        self.compare_length(len(self.queue), self.length_rule, len(self.model), len(self.model))
        self.covered["queue.len.pop-none"] += "pop of nothing" in self.events

    @command("queue.len.truth")
    def truth(self) -> None:
        """Compare ``bool()``."""
        self._ensure_open()
        rule = self.truth_rule if hasattr(type(self.queue.raw), "__bool__") else self.length_rule  # whose value it is
        expected = len(self.model) > 0
        with self.about(rule):
            truth = bool(self.queue)
        if not self.context.offers("shared") or (expected and not truth):
            self.expect_count(rule, lambda truth: truth is expected, truth)
        self.covered[self.truth_rule] += 1

    @command(needs=["peek"])
    def peek(self) -> None:
        """Peek, and compare what came."""
        self._ensure_open()
        allowed = self.model.allowed()
        with self.about(self.peek_rule if allowed else self.empty_peek_rule):
            value = self.queue.peek()
        number = self.driver.identify(value)
        if (number in allowed and self.driver.same(value, self.driver.item(number))) if allowed else value is None:
            self.covered[self.empty_peek_rule] += not allowed
            self._peeked = value if allowed else NOTHING
            self.events.add("peek")
            return
        # Either peek is wrong, or it shows what is wrong with the queue: the next pop tells.
        popped = self.queue.pop()
        if self.driver.identify(popped) == number and type(popped) is type(value):
            with shown_by("pop"):
                self.compare(popped, allowed)
        if not allowed:
            self.expect(self.empty_peek_rule, lambda peeked: peeked is None, value, final=True)
        differs = self.difference_of(value, number, allowed)
        self.fail_peek(f"what pop returns next, {describe(popped)}", value, "peeked", "popped", differs)

    def fail_peek(self, expected: str, value: Any, left: str, right: str, differs: str) -> NoReturn:
        """Report that peek and pop show different items."""
        tail = [
            f"equal = {left} == {right} or (getattr({left}, 'url', None) == getattr({right}, 'url', 0))",
            f"assert equal, f'pop and peek differ: {{{left}!r}} and {{{right}!r}}'",
        ]
        self.context.fail(self.peek_rule, expected, Received(value), tail, final=self.peek_is_certain, difference=differs)

    @command(needs=["persistent"])
    def reopen(self) -> None:
        """Close and build again."""
        self.close()
        self.open()

    @command(needs=["persistent"], weight=0)
    def close(self) -> None:
        """Close, where that loses nothing; the next command builds the queue again."""
        if self._is_open:
            self.end()
            self.events.add("close after refused" if "refused" in self.events else "close")
            if self._popped and self.model.items:
                self.events.add("partial")
            self._peeked = NOTHING

    @command("queue.persist.reopen", "queue.ctor.stored-length", needs=["persistent"], weight=0)
    def open(self) -> None:
        """Build the queue again, and compare ``len()``."""
        if not self._is_open:
            self.queue = self.context.open(str(self.number), self.queue.name, rule="queue.persist.reopen")
            self._is_open = True
            self.events.add("reopen")
            self.length()
            self.covered["queue.ctor.stored-length"] += 1

    @command(needs=["clear"])
    def clear(self) -> None:
        """Clear, and compare ``len()``."""
        self._ensure_open()
        with self.about(self.clear_rule):
            self.queue.clear()
        self._cleared |= set(self.model.items)
        self.model.clear()
        self._peeked = NOTHING
        self.events.add("clear")
        if self.context.applies(self.clear_rule):
            self.length()
            self.covered[self.clear_rule] += 1

    @command(
        "queue.push.bytes-only",
        "queue.push.callback-foreign",
        "queue.push.serialization-error",
        arguments=lambda context: range(len(unstorable(context))),
    )
    def push_refused(self, cause: int) -> None:
        """Push something that must be refused."""
        self._ensure_open()
        items = unstorable(self.context)
        item, rule, errors = items[cause % len(items)]
        try:
            self.expect_raises(rule, errors, lambda: self.queue.push(item), final=False)
        except RuleFailed as failure:
            if self.context.recorder.steps[-1].error is None:
                raise
            failure.survived = True  # it was refused, though by another error
            self._misnamed = self._misnamed or failure
        self.events.add("refused")

    def drain(self) -> None:
        for _ in range(len(self.model) + 1):
            self.pop()

    def finish(self) -> None:
        self._ensure_open()
        self.drain()
        self.end()
        self.judge_refusals()

    def judge_refusals(self) -> None:
        """Report an error of the wrong type once all else was judged.

        Raises:
            RuleFailed: if there was one.
        """
        if self._misnamed:
            raise self._misnamed

    def end(self) -> object:
        """Close the queue."""
        try:
            self.queue.close()
        except OperationRaised as raised:
            if raised.rule == self.driver.fault_rule:
                self.context.fail(raised.rule, SUCCESS, str(raised), final=True)
            raise
        self.covered["queue.fault.recovers"] += "refused" in self.events
        self._is_open = False
        return None

    def _ensure_open(self) -> None:
        if not self._is_open:
            self.open()

    # --- Comparisons -------------------------------------------------------------------------------------------------

    def compare_length(self, length: int, rule: str, least: int, most: int) -> None:
        """Compare a length with what is possible."""
        if self.context.offers("shared"):
            if least:
                self.expect_count(rule, lambda length: length != 0, length, f"above 0, {least} items remain")
        elif least == most:
            self.expect_count(rule, lambda length: length == least, length)
        else:
            differs = difference_of_limits(length, least, most)
            self.expect_count(rule, lambda length: least <= length <= most, length, f"{least} to {most}", difference=differs)

    def compare(self, value: Any, allowed: Sequence[int], unless: str = "") -> int | None:
        """Compare what was popped with what may come; return its number.

        Args:
            value: what was popped.
            allowed: the numbers of what may come; none of them means nothing.
            unless: an expression; where it is true, a script accepts what was popped too.
        """
        if value is None and not len(self.model):
            self.covered[self.empty_pop_rule] += 1
            return None
        number: int | None = self.driver.identify(value)
        if number in allowed and self.driver.same(value, self.driver.item(number)):
            return number
        differs = self.difference_of(value, number, allowed)
        self.fail_among(self.rule_of(value, number, allowed), allowed, value, unless=unless, difference=differs)

    def difference_of(self, value: Any, number: int | None, allowed: Sequence[int]) -> str:
        """Return how what was popped differs from what may come."""
        if number is None:
            return difference(value) if value is None else FOREIGN
        if number in allowed:
            return ALTERED
        return EARLY if number in self.model.items else DOUBLED

    def rule_of(self, value: Any, number: int | None, allowed: Sequence[int]) -> str:
        """Return the rule that fails because of what came."""
        if number is None:
            return self.pop_rule if value is None or allowed else self.empty_pop_rule
        if number in allowed:
            return "queue.pop.roundtrip" if self.context.offers("serializes") else self.pop_rule
        if number in self.model.items:
            return self.order_rule if self.order_rule and self.rest_is_complete(number) else self.pop_rule
        return self.clear_rule if number in self._cleared else self.pop_rule

    def rest_is_complete(self, number: int) -> bool:
        """Whether an item out of turn is only that, and no item is missing or doubled; nothing of this is recorded."""
        try:
            rest = [number, *(self.driver.identify(self.queue.raw.pop()) for _ in range(len(self.model)))]
        except BaseException:
            return False
        return sorted(map(str, rest)) == sorted(map(str, [*self.model.items, None]))

    def cover(self, number: int) -> None:
        """Note which rules a right item covers, after what happened to the queue before."""
        covered, events, several = self.covered, self.events, len(self.model) > 1
        covered["queue.pop.exactly-once"] += 1
        if several and self.order_rule:
            covered[self.order_rule] += 1
            covered["queue.pop.order-reopen"] += "reopen" in events
        covered["queue.ctor.key-isolation"] += bool(self.number)
        covered["queue.ctor.key-identity"] += bool(self.number) and "reopen" in events
        covered["queue.persist.partial"] += "partial" in events and "reopen" in events
        self.cover_after()


LOCKSTEP = QueueLockstep

machine(QueueLockstep, QUEUES)
