"""Checks under faults of the disk, at push, pop, close and open.

Each one does the same first without a fault, then once with each fault: at every place at which a write can be cut, and so
on. A fault counts only where it is known to have hit: the system refused or cut a write, or the operation raised.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from queue_conformance.faults import disk
from queue_conformance.faults.disk import Fault, NoDescriptors, NoFault, NoPermission, NoSpace, SizeLimit
from queue_conformance.faults.filesystem import mount_small_filesystem
from queue_conformance.implementations.driver import Item, OpenQueue
from queue_conformance.implementations.recording import OperationRaised, describe
from queue_conformance.specification import Kind
from queue_conformance.suites import check
from queue_conformance.suites.bench import Bench, call_of
from queue_conformance.suites.outcomes import NotExercised, RuleBroken
from queue_conformance.suites.programs import program
from queue_conformance.suites.queues.pair import run

Scene = Callable[[Fault], bool]
"""Does something with a fault around one operation, compares afterwards, and tells whether the fault hit."""

ROOMS = (0, 4096, 4 * 4096, 16 * 4096)
"""Bytes that are left on a full file system."""


@check("queue.push.no-silent-loss", "queue.push.failed-no-trace", name="queue.push.no-silent-loss")
def a_push_is_stored_or_raises(bench: Bench) -> None:
    scenes = [partial(_push, bench, size, reopen) for size in ("small", "large") for reopen in (False, True)]
    _under_each_fault(bench, "push", scenes)


@check("queue.persist.partial", "queue.close.keeps", name="disk.pop")
def a_failed_pop_loses_nothing(bench: Bench) -> None:
    large_first, large_last = (2, 1, 3), (1, 3, 2)
    scenes = [
        partial(_pop, bench, large_first, False, False),
        partial(_pop, bench, large_first, False, True),
        partial(_pop, bench, large_last, True, True),
    ]
    _under_each_fault(bench, "pop", scenes)


@check("queue.close.keeps", name="disk.close")
def a_failed_close_loses_nothing(bench: Bench) -> None:
    _under_each_fault(bench, "close", [partial(_close, bench, resumed) for resumed in (True, False)])


@check("queue.persist.reopen", name="disk.open")
def a_failed_open_loses_nothing(bench: Bench) -> None:
    _under_each_fault(bench, "open", [partial(_open, bench)])


# --- Faults ----------------------------------------------------------------------------------------------------------


def _under_each_fault(bench: Bench, operation: str, scenes: Sequence[Scene]) -> None:
    """Play scenes without a fault, and then with each one that this platform and this user permit."""
    if not bench.offers("filesystem"):
        raise NotExercised("nothing is known of files that it stores in")
    if not disk.AVAILABLE:
        raise NotExercised("this platform cannot limit the size of files")
    run(bench, program("push:0 push:1 push:2 reopen"))
    hits, tried = Counter[str](), Counter[str]()
    for fault, scene in _faults(bench, scenes):
        tried[fault.name] += 1
        try:
            hits[fault.name] += scene(fault)
        except RuleBroken as failure:
            bench.keep(failure)
            hits[fault.name] += 1
        except OperationRaised:  # before the fault began, so it says nothing of it
            continue
    if not hits.total():
        raise NotExercised(f"no fault of the disk reached {operation}")
    said = [f"{name} ({count} of {tried[name]} places)" if tried[name] > 1 else name for name, count in hits.items() if count]
    bench.notes.append(f"disk faults that hit {operation}: {', '.join(said)}")


def _faults(bench: Bench, scenes: Sequence[Scene]) -> Iterator[tuple[Fault, Scene]]:
    """Yield each fault with each scene; the one that changes the process comes last."""
    for scene, usual in [(scene, _without_fault(scene)) for scene in scenes]:
        for limit in disk.places(usual.before, usual.after, bench.examples // 20, bench.seed):
            yield SizeLimit(limit), scene
        yield NoDescriptors(), scene
    if disk.permissions_matter(bench.driver.directory):
        for scene in scenes:
            yield NoPermission(), scene
    else:
        bench.notes.append("disk faults not exercised: no permission (needs a user who is not root)")
    if _on_a_small_filesystem(bench):
        try:
            for scene in scenes:
                _without_fault(scene)
        except NotExercised:
            bench.notes.append("disk faults not exercised: no space (what is stored needs more than 4 MiB)")
            return
        for scene in scenes:
            for room in ROOMS:
                for left in bench.directory.iterdir():
                    shutil.rmtree(left)  # the next one needs the space
                yield NoSpace(room), scene
    else:
        needs = "Linux, and root or user namespaces"
        bench.notes.append(f"disk faults not exercised: no space on a file system of its own (needs {needs})")


def _without_fault(scene: Scene) -> NoFault:
    """Play a scene without a fault.

    Raises:
        NotExercised: if it fails, which says nothing of faults.
    """
    usual = NoFault()
    try:
        scene(usual)
    except (RuleBroken, OperationRaised) as failure:
        raise NotExercised(f"it fails without a fault of the disk too: {failure}") from failure
    return usual


def _on_a_small_filesystem(bench: Bench) -> bool:
    """Move the bench to a file system of its own, if possible; it vanishes with the process of the check."""
    place = bench.directory / "small"
    place.mkdir()
    try:
        if not bench.isolated:
            return False
        mount_small_filesystem(str(place))
    except (OSError, AttributeError):  # forbidden; no such functions on this platform
        return False
    bench.directory = place
    return True


# --- Scenes ----------------------------------------------------------------------------------------------------------


def _push(bench: Bench, size: str, reopen: bool, fault: Fault) -> bool:
    """Push under a fault, push once more, and compare."""
    items = _start(bench, fault, size)
    queue = bench.open()
    queue.push(items[1])
    opening = bench.recorder.steps[-2].source
    pushed, hit = _attempt(bench, fault, partial(queue.push, items[2], owner="queue.push.no-silent-loss"))
    failed = pushed is _RAISED
    rule = "queue.push.failed-no-trace" if failed else "queue.push.no-silent-loss"
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


def _pop(bench: Bench, order: Sequence[int], resumed: bool, reopen: bool, fault: Fault) -> bool:
    """Pop under a fault, and compare.

    What is there if the queue is used further, and gone if it is closed and opened again, was discarded by close.
    """
    try:
        return _pop_once(bench, order, resumed, reopen, fault)
    except RuleBroken as failure:
        if not reopen or isinstance(fault, NoFault):
            raise
        try:
            _pop_once(bench, order, resumed, False, fault)
        except RuleBroken:
            raise failure from None
        raise failure.as_rule("queue.close.keeps") from None


def _pop_once(bench: Bench, order: Sequence[int], resumed: bool, reopen: bool, fault: Fault) -> bool:
    """Pop under a fault, and compare; what came out then may come again."""
    rule = "queue.persist.partial"
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


def _close(bench: Bench, resumed: bool, fault: Fault) -> bool:
    """Close under a fault, open again, and compare."""
    rule = "queue.close.keeps"
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


def _open(bench: Bench, fault: Fault) -> bool:
    """Open under a fault, which may well fail; close, open again, and compare."""
    rule = "queue.persist.reopen"
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

_RAISED = object()
"""The result of an operation that raised."""


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
