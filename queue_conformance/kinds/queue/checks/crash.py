"""Crash sweeps of queues on disk: what SIGKILL, and a write that it cut, leave of them."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from queue_conformance.engine.blocks import may_raise, under_test
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.crash import SECONDS, Sweep, crash_sweep
from queue_conformance.engine.crash_claim import suggested_claim
from queue_conformance.engine.fixtures import offers
from queue_conformance.engine.killpoints import When
from queue_conformance.engine.outcomes import NotApplicable, NotCovered
from queue_conformance.kinds.queue.fixtures import keys_of, length_0, popped_late
from queue_conformance.script_support.support import emptied, key

USUAL = (
    "open push:10 push:11 push:12 pop push:13 push:14 close open pop pop push:20 push:21 pop close open pop pop "
    "push:22 push:23 pop push:27 push:28 pop push:34 close"
)
"""A new queue, one that is opened again, items that exceed a buffer.

The numbers of all items have the same number of digits, so that the beginning of one is never another one.
"""

USED = (
    "open push:10 push:11 push:12 close open push:13 pop push:14 kill push:20 pop push:21 close open pop kill push:22 pop push:23"
)
"""A queue that was closed, and killed, before; what a run notes at its end is wrong as soon as the next one goes on."""

CLEARING = "open push:10 push:11 clear push:12 push:13 push:14 push:20 push:21 close open clear push:22 push:23 push:24 push:27"

ITEMS_PER_EXAMPLE = 3
"""Items in the queue that is killed when it is long."""

FEWEST = 12
"""Items in that queue in any case."""

NEW = 9999
"""The number of the item that is pushed after the crash."""

LEASED = (
    "what killed processes had taken is not back in time, though len() counts it: "
    "give a setting with which they are taken for dead sooner"
)


def workloads(context: CheckContext) -> Iterable[str]:
    """Return the workloads in which queues are killed; in the last one a long queue shrinks, and may rewrite its files."""
    generated, random = ["open push:40"], Random(context.seed)
    for number in range(41, 61):
        generated += random.choices([f"push:{number}", "pop", "close open"], [6, 3, 1])
    count = min(2000, ITEMS_PER_EXAMPLE * context.examples)
    if (most := max(FEWEST, context.budget.calls(SECONDS) // 4)) < count:
        context.notes.append(f"{context.check}: long queues have {most} of {count} items{context.budget.more}")
        count = most
    many = range(1000, 1000 + count)
    clearing = [CLEARING] if context.offers("clear") else []
    long = " ".join(["open", *(f"push:{number}" for number in many)])
    return [USUAL, USED, " ".join(generated), *clearing, long, long + " pop" * (2 * len(many) // 3)]


def workloads_without_a_claim(context: CheckContext) -> Iterable[str]:
    """Return these workloads for what is not declared crash-safe: what is, is killed more often below."""
    if context.offers("crash-safe"):
        raise NotApplicable("it is declared crash-safe")
    return workloads(context)


def workloads_with_a_claim(context: CheckContext) -> Iterable[str]:
    """Return these workloads for what is declared crash-safe."""
    if not context.offers("crash-safe"):
        raise NotApplicable("it is not declared crash-safe")
    return workloads(context)


def durability(sweep: Sweep) -> Iterable[str]:
    """Grade a queue by the worst end of a process that it survives."""
    sums = {name: sum(counts[name] for _, counts in sweep.counts) for name in ("lost", "doubled", "phantom", "unusable")}
    wrong = [crash for crash, counts in sweep.counts if any(counts[name] for name in ("lost", "copies", "phantom", "unusable"))]
    closed = any(crash.operations[-1].name == "close" and crash.kill.when is When.AFTER for crash in wrong)
    grade = "none" if closed else "clean close" if wrong else "process crash"
    unusable = f", unusable after {sums['unusable']}" if sums["unusable"] else ""
    counted = f"{sums['lost']} lost, {sums['doubled']} doubled, {sums['phantom']} phantom at {len(sweep.counts)} crash points"
    yield f"durability: {grade} ({counted}{unusable})"
    if raised := sorted(sweep.errors, key=lambda error: (len(error), error)):
        others = f" (other errors: {len(raised) - 1})" if raised[1:] else ""
        yield f"after a crash it raises {raised[0]}{others}"
    yield from suggested_claim(sweep)


@crash_sweep(
    "queue.persist.torn",
    workloads=lambda context: ["open push:10 push:11 push:12 push:13"],
    ways={When.TORN},
    points=lambda context: 64,
)
@crash_sweep(  # a queue that loses what is pushed loses it in the sweep of pops, too
    "queue.persist.crash-push",
    "queue.persist.crash-pop",
    "queue.persist.crash-length",
    workloads=workloads_with_a_claim,
    rare=6,
    masked={"queue.persist.crash-pop": "queue.persist.crash-push"},
    note=durability,
)
@crash_sweep(
    "queue.persist.crash-open",
    "queue.persist.crash-no-phantom",
    "queue.persist.crash-length",
    workloads=workloads_without_a_claim,
    points=lambda context: 45,
    rare=6,
    note=durability,
)
def sigkill_leaves_a_queue_that_works(crash, open_queue, item, rule):
    """A record cut at any byte is detected and the records before it survive, for a queue declared crash-safe.

    Every item whose `push` returned is there after SIGKILL, for a queue declared crash-safe.

    A queue that is not crash-safe still opens after SIGKILL or fails with a clear exception.
    """

    @crash.child
    def died():
        for operation in crash:
            if operation.name == "open":
                queue = open_queue()
            elif operation.name == "push":
                queue.push(item(operation.number))
            else:
                getattr(queue, operation.name)()

    # Whoever gets an exception knows that something is wrong, and may have lost what was stored.
    honest = rule == "queue.persist.crash-open"
    most, left = 2 * len(died.put) + 4, []
    usable = "queue.persist.crash-pop" if rule == "queue.persist.crash-push" and crash.last == "pop" else rule
    with under_test(usable):
        with may_raise(when=honest) as refused:
            queue = open_queue()
            length = len(queue)
            left = first = emptied(queue, most)
            queue.push(item(NEW))
            left = left + emptied(queue, most)
            if offers("shared") and not (died.gone or died.spared):  # else the dead process may hold something
                after = length_0(queue)
            queue.close()
            queue = open_queue()
            left = left + emptied(queue, most)
            queue.close()
        assert len(left) < most, "None from pop in the end"
        if not refused:
            with under_test("queue.persist.torn" if rule == "queue.persist.torn" else "queue.persist.crash-length"):
                if offers("shared"):  # what the dead process had taken may come later, as long as it is counted
                    assert length >= len(first), "a length that counts each item that comes"
                    if not (died.gone or died.spared):
                        assert after == 0, "a length of 0 when nothing comes any more"
                else:
                    assert length == len(first), "a length that is the number of items that come"
        if not isinstance(item(NEW), bytes):
            left = [key(one) for one in left]
        stored, new, gone = keys_of(died.stored), keys_of([NEW]), keys_of(died.gone)
        pushed = keys_of([*died.put, NEW])
        lost = [one for one in stored if one not in left]
        if died.spared:
            lost = lost[died.spared :]
        if lost and offers("shared") and not honest:
            with under_test(usable):
                queue = open_queue()
                late, held = popped_late(queue), len(queue)
                queue.close()
            lost = [one for one in lost if one not in map(key, late)]
            if held and lost:
                raise NotCovered(LEASED)
        copies = [one for one in left if left.count(one) > 1]
        doubled = [one for one in left if one in gone]
        phantoms = [one for one in left if one not in pushed]
        missing = [one for one in new if one not in left]
        crash.tally(refused.raised, lost=len(lost), copies=len(copies), doubled=len(doubled), phantom=len(phantoms))
        with under_test("queue.persist.crash-no-phantom" if honest else "queue.persist.torn"):
            assert phantoms == [], "no item that was never pushed"
        if not honest:
            assert lost == [], "no stored item lost"
            assert copies == [], "no item twice"
        if not refused:
            with under_test("queue.persist.crash-no-phantom" if honest else usable):
                assert missing == [], "the item that is pushed after SIGKILL"
        if rule == "queue.persist.torn" and offers("ordered"):
            survivors = [one for one in left if one in stored]
            assert survivors == (stored if offers("fifo") else stored[::-1])
