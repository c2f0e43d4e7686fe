"""Checks of queuelib's priority queue."""

from __future__ import annotations

from queue_conformance.engine.lockstep import run
from queue_conformance.implementations.quoted import inner
from queue_conformance.suites import check
from queue_conformance.suites.bench import Bench
from queue_conformance.suites.collections.common import BY_PRIORITY


@check("queuelib.pq.order", kinds=BY_PRIORITY)
def lowest_number_comes_first(bench: Bench) -> None:
    rule = "queuelib.pq.order"
    run(bench, "push:3 push:1 push:0 push:2 push:4 push:5 pop pop push:2 pop pop pop pop pop")
    bench.restart()
    queue = bench.open()
    one, two, three = (bench.driver.item(number) for number in (1, 2, 3))
    queue.push(one, 1)
    queue.push(two)  # the default priority
    queue.push(three, -1)
    for expected in (three, two, one):
        popped = queue.pop()
        bench.expect(rule, popped == expected.value, expected.source, popped, f"popped == {expected.source}")


@check("queue.peek.equals-pop", kinds=BY_PRIORITY)
def peek_shows_what_pop_returns(bench: Bench) -> None:
    run(bench, "push:1 peek pop push:0 push:2 push:1 peek pop peek pop push:3 peek pop peek pop")
    run(bench, "push:0 push_refused:2 peek pop push_refused:2 push:1 peek pop")


@check("queuelib.pq.close", kinds=BY_PRIORITY)
def close_names_what_is_left(bench: Bench) -> None:
    rule = "queuelib.pq.close"
    run(bench, "push:0 push:1 push:2 pop reopen push:3 reopen pop reopen pop pop reopen")
    run(bench, "push:0 push_refused:1 push_refused:2 reopen pop push_refused:3 reopen")
    bench.restart()
    queue = bench.open()
    for number in range(3):
        queue.push(bench.driver.item(number), bench.driver.place_of(number))
    queue.close(owner=rule)
    built = bench.driver.stores["0"].built
    open_still = [priority for priority, found in built if not found.closed]
    bench.recorder.note("left = [priority for priority, inner in store_0.built if not inner.closed]")
    bench.expect(rule, not open_still, "every inner queue closed", f"{open_still} left open", "not left")


@check("queuelib.pq.startprios", kinds=BY_PRIORITY)
def startprios_restore(bench: Bench) -> None:
    run(bench, "push:0 push:1 push:3 reopen pop reopen push:2 reopen pop pop pop")


@check("queuelib.pq.startprios-empty", kinds=BY_PRIORITY)
def empty_startprios_are_harmless(bench: Bench) -> None:
    rule = "queuelib.pq.startprios-empty"
    for start in ([0, 5], [-9, 5], [5, 7], [5, -9, 7]):
        with bench.collecting(), bench.recorder.blame(rule):
            bench.restart()
            _resume(bench, rule, start)
    with bench.collecting(), bench.recorder.blame(rule):
        bench.restart()
        queue = bench.open()
        queue.push(bench.driver.item(1), 5)
        queue.close()
        bench.recorder.note("start = iter([5])")
        queue = bench.open(start=iter([5]))
        popped = queue.pop()
        same = bench.driver.among_source("popped", [bench.driver.item(1)])
        bench.expect(rule, bench.driver.identify(popped) == 1, bench.driver.describe_item(1), popped, same)


def _resume(bench: Bench, rule: str, start: list[int]) -> None:
    """Store one item at priority 5, resume with priorities that are empty beside it, and take it out."""
    item = bench.driver.item(1)
    queue = bench.open()
    queue.push(item, 5)
    queue.close()
    queue = bench.open(start=start)
    length = queue.length()
    bench.expect(rule, length == 1, "len 1", length, "length == 1")
    same = bench.driver.among_source
    if bench.offers("peek"):
        peeked = queue.peek()
        bench.expect(rule, bench.driver.same(peeked, item), item.source, peeked, same("peeked", [item]))
    popped = queue.pop()
    bench.expect(rule, bench.driver.same(popped, item), item.source, popped, same("popped", [item]))
    popped = queue.pop()
    bench.expect(rule, popped is None, "None", popped, "popped is None")


@check("queuelib.pq.clear", kinds=BY_PRIORITY)
def clear_empties_and_closes(bench: Bench) -> None:
    rule = "queuelib.pq.clear"
    run(bench, "push:0 push:1 push:2 clear length pop push:3 push:1 pop clear push:0 reopen pop clear pop")
    for inner_class in (inner.ClearableInnerQueue, inner.InnerQueue):
        with bench.collecting(), bench.recorder.blame(rule):
            bench.restart()
            queue = bench.open(inner_class=inner_class)
            for number in range(5):
                queue.push(bench.driver.item(number), bench.driver.place_of(number))
            queue.clear()
            store = bench.driver.stores["0"]
            left = sum(map(len, store.items.values()))
            bench.recorder.note("left = sum(map(len, store_0.items.values()))")
            bench.expect(rule, left == 0, "empty inner queues", f"{left} items left in them", "left == 0")
            open_still = [priority for priority, found in store.built if not found.closed]
            bench.recorder.note("left = [priority for priority, inner in store_0.built if not inner.closed]")
            bench.expect(rule, not open_still, "every inner queue closed", f"{open_still} left open", "not left")
