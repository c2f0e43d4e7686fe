"""Scenes with a fault of the disk around one operation: what is told, is done, and is written as a script."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from queue_conformance.faults.disk import Fault, NoFault
from queue_conformance.implementations.drivers.base import Item, OpenQueue
from queue_conformance.implementations.recording import OperationRaised, describe
from queue_conformance.specification import Kind
from queue_conformance.suites.bench import Bench, call_of
from queue_conformance.suites.outcomes import RuleBroken

_RAISED = object()
"""The result of an operation that raised."""


def push_under_fault(bench: Bench, fault: Fault, *, size: str, reopen: bool) -> bool:
    """Push under a fault, push once more, and compare.

    Args:
        bench: where the check works.
        fault: what happens meanwhile.
        size: of the item: ``small`` or ``large``.
        reopen: close and open before comparing.

    Returns:
        Whether the fault hit.

    Raises:
        RuleBroken: if an item is lost, cut or stored though it was refused.
    """
    items = _start(bench, fault, size)
    queue = bench.open()
    queue.push(items[1])
    opening = bench.recorder.steps[-2].source
    pushed, hit = _attempt(bench, fault, partial(queue.push, items[2], owner="queue.push.no-silent-loss"))
    failed = pushed is _RAISED
    rule = "queue.push.failed-no-trace-fault" if failed else "queue.push.no-silent-loss"
    bench.examined["queue.push.no-silent-loss"] += hit  # an error is not silent
    stored = [bench.driver.key_literal(item) for item in items.values()]
    body = [
        *fault.setup_source,
        opening,
        f"queue.push({items[1].source})",
        *fault.begin_source,
        "try:",
        f"    queue.push({items[2].source})",
        f"    stored = [{', '.join(stored)}]",
        "except Exception:  # an error is right, if it leaves no trace",
        f"    stored = [{stored[0]}, {stored[2]}]",
        *fault.end_source,
        "assert len(queue) == len(stored) - 1, f'len {len(queue)}'",
        f"queue.push({items[3].source})",
        *(["queue.close()", opening] if reopen else []),
    ]
    with _judged(bench, rule, hit, body := body + _comparison(bench, len(items))):
        length = queue.length()
        if length != 2 - failed:
            bench.fail(rule, f"len {2 - failed}", f"len {length}", [], body=body)
        queue.push(items[3])
        if reopen:
            queue.close()
            queue = bench.open()
        _drain(bench, queue, rule, {1, 3} if failed else {1, 2, 3}, set(), items, body)
    return hit


def pop_under_fault(bench: Bench, fault: Fault, *, order: Sequence[int], resumed: bool, reopen: bool) -> bool:
    """Pop under a fault, and compare.

    What is there if the queue is used further, and gone if it is closed and opened again, was discarded by close.

    Args:
        bench: where the check works.
        fault: what happens meanwhile.
        order: the numbers of the items, in the order in which they are pushed; number 2 is a large one.
        resumed: close and open before popping.
        reopen: close and open before comparing.

    Returns:
        Whether the fault hit.

    Raises:
        RuleBroken: if an item neither came out of that pop nor comes out later.
    """
    try:
        hit = _pop_once(bench, fault, order, resumed, reopen)
    except RuleBroken as failure:
        if not reopen or isinstance(fault, NoFault):
            raise
        try:
            _pop_once(bench, fault, order, resumed, False)
        except RuleBroken:
            raise failure from None
        raise failure.as_rule("queue.close.keeps-fault") from None
    bench.examined["queue.close.keeps-fault"] += hit and reopen  # it was closed after that pop
    return hit


def _pop_once(bench: Bench, fault: Fault, order: Sequence[int], resumed: bool, reopen: bool) -> bool:
    """Pop under a fault, and compare; what came out then may come again."""
    rule = "queue.persist.partial-fault"
    items = _start(bench, fault)
    queue = bench.open()
    opening = bench.recorder.steps[-1].source
    for number in order:
        queue.push(items[number])
    if resumed:
        queue.close()
        queue = bench.open()
    before = [step.source for step in bench.recorder.steps]
    popped, hit = _attempt(bench, fault, partial(queue.pop, owner=rule))
    out = {bench.driver.identify(popped)} & set(order)
    key = bench.driver.key_source("item")
    body = [
        *before,
        "popped = None",
        *fault.begin_source,
        "with suppress(Exception):  # an error is right, if it loses nothing",
        "    popped = queue.pop()",
        *fault.end_source,
        *(["queue.close()", opening] if reopen else []),
        f"left = [popped, *(queue.pop() for _ in range({len(items) + 1}))]",
        f"left = {{{key} for item in left if item is not None}}",
        f"assert left == {{{_literals(bench, items)}}}, f'{{len(left)}} items came out of {len(items)} that were pushed'",
    ]
    with _judged(bench, rule, hit, body):
        if reopen:
            queue.close()
            queue = bench.open()
        _drain(bench, queue, rule, set(order) - out, out, items, body)
    return hit


def close_under_fault(bench: Bench, fault: Fault, *, resumed: bool) -> bool:
    """Close under a fault, open again, and compare.

    Args:
        bench: where the check works.
        fault: what happens meanwhile.
        resumed: the queue was closed and opened before, so some items were safely stored.

    Returns:
        Whether the fault hit.

    Raises:
        RuleBroken: if an item is lost.
    """
    rule = "queue.close.keeps-fault"
    items = _start(bench, fault)
    queue = bench.open()
    opening = bench.recorder.steps[-1].source
    queue.push(items[1])
    queue.push(items[2 if resumed else 3])
    if resumed:
        queue.close()
        queue = bench.open()
        queue.push(items[3])
    before = [step.source for step in bench.recorder.steps]
    items = items if resumed else {1: items[1], 3: items[3]}
    _, hit = _attempt(bench, fault, partial(queue.close, owner=rule))
    bench.recorder.note("del queue")
    del queue
    bench.recorder.release()
    body = [
        *before,
        *fault.begin_source,
        "with suppress(Exception):  # an error is right, if it loses nothing",
        "    queue.close()",
        *fault.end_source,
        "del queue",
        opening,
        f"stored = [{_literals(bench, items)}]",
        *_comparison(bench, len(items)),
    ]
    with _judged(bench, rule, hit, body):
        _drain(bench, bench.open(), rule, set(items), set(), items, body)
    return hit


def open_under_fault(bench: Bench, fault: Fault) -> bool:
    """Open under a fault, which may well fail; close, open again, and compare.

    Args:
        bench: where the check works.
        fault: what happens meanwhile.

    Returns:
        Whether the fault hit.

    Raises:
        RuleBroken: if an item is lost.
    """
    rule = "queue.persist.reopen-fault"
    items = _start(bench, fault)
    queue = bench.open()
    opening = bench.recorder.steps[-1].source
    for item in items.values():
        queue.push(item)
    queue.close()
    before = [step.source for step in bench.recorder.steps]
    queue, hit = _attempt(bench, fault, partial(bench.open, owner=rule))
    body = [
        *before,
        "queue = None",
        *fault.begin_source,
        "with suppress(Exception):  # an error is right, if it loses nothing",
        f"    {opening}",
        *fault.end_source,
        "with suppress(Exception):",
        "    queue.close()",
        "del queue",
        opening,
        f"stored = [{_literals(bench, items)}]",
        *_comparison(bench, len(items)),
    ]
    if queue is not _RAISED:
        with suppress(OperationRaised):
            queue.close(owner=rule)
    del queue
    bench.recorder.release()
    with _judged(bench, rule, hit, body):
        _drain(bench, bench.open(), rule, set(items), set(), items, body)
    return hit


# --- Parts of scenes -------------------------------------------------------------------------------------------------


def _start(bench: Bench, fault: Fault, size: str = "large") -> dict[int, Item]:
    """Begin again, and return three items; the second one may be larger than usual buffers."""
    bench.restart()
    for line in fault.setup_source:
        bench.recorder.note(line)
    request = "Request('https://example.com/2', body=b'x' * 100_000)"
    is_request = bench.implementation.kind is Kind.DOWNSTREAM_QUEUE
    large = bench.driver.evaluate(request if is_request else "b'item 2' * 20_000")
    return {1: bench.driver.item(1), 2: large if size == "large" else bench.driver.item(2), 3: bench.driver.item(3)}


def _attempt(bench: Bench, fault: Fault, operation: Callable[[], Any]) -> tuple[Any, bool]:
    """Run one operation under a fault.

    Returns:
        What it returned, or that it raised; and whether the fault hit.
    """
    result = _RAISED
    for line in fault.begin_source:
        bench.recorder.note(line)
    fault.begin(bench.driver.directory)
    try:
        result = operation()
    except OperationRaised:
        if isinstance(fault, NoFault):
            raise
    finally:
        fault.end()
    for line in fault.end_source:
        bench.recorder.note(line)
    return result, fault.hit or result is _RAISED


@contextmanager
def _judged(bench: Bench, rule: str, hit: bool, body: Sequence[str]) -> Iterator[None]:
    """From here on whatever raises breaks the rule; it is examined if the fault hit."""
    bench.examined[rule] += hit
    try:
        with bench.recorder.blame(rule):
            yield
    except OperationRaised as raised:
        bench.fail(rule, "no exception", f"{describe(raised.error)} raised by {call_of(raised.step)}", [], body=body)


def _drain(
    bench: Bench, queue: OpenQueue, rule: str, must: Set[int], may: Set[int], items: Mapping[int, Item], body: Sequence[str]
) -> None:
    """Pop everything, and compare: the items that must be there and those that may, in any order, nothing else."""
    left = {*must, *may}
    for _ in range(len(left) + 1):
        popped = queue.pop()
        number = bench.driver.identify(popped)
        if popped is None and not left & must:
            break
        if number not in left or not bench.driver.same(popped, items[number]):
            expected = f"item {' or '.join(map(str, sorted(left)))}" if left else "None"
            bench.fail(rule, expected, popped, [], body=body)
        left.remove(number)
    with suppress(OperationRaised):  # that close raises nothing is a rule of its own
        queue.close()


def _comparison(bench: Bench, pushed: int) -> list[str]:
    """Return lines of a script that pop everything, and compare it with what is stored."""
    return [
        f"left = [queue.pop() for _ in range({pushed + 1})]",
        f"left = [{bench.driver.key_source('item')} for item in left if item is not None]",
        "assert sorted(left) == sorted(stored), f'{len(left)} items are left of {len(stored)} stored ones'",
    ]


def _literals(bench: Bench, items: Mapping[int, Item]) -> str:
    return ", ".join(map(bench.driver.key_literal, items.values()))
