"""Checks of queuelib's round-robin queue."""

from __future__ import annotations

from queue_conformance.engine.lockstep import run
from queue_conformance.suites import check
from queue_conformance.suites.bench import Bench
from queue_conformance.suites.collections.common import BY_TURNS


@check("queuelib.rr.cycle", kinds=BY_TURNS)
def keys_take_turns(bench: Bench) -> None:
    rule = "queuelib.rr.cycle"
    run(bench, "push:0 push:3 push:1 push:4 push:2 pop pop push:5 pop push:0 pop pop pop pop")
    bench.restart()
    queue = bench.open()
    for source, key in (("b'a'", "1"), ("b'b'", "1"), ("b'c'", "2"), ("b'd'", "2")):
        queue.push(bench.driver.evaluate(source), key)
    for expected in (b"a", b"c", b"b", b"d"):  # the example of the README
        popped = queue.pop()
        bench.expect(rule, popped == expected, repr(expected), popped, f"popped == {expected!r}")


@check("queuelib.rr.falsy", kinds=BY_TURNS)
def falsy_items_are_not_skipped(bench: Bench) -> None:
    rule = "queuelib.rr.falsy"
    queue = bench.open()
    for source, key in (("b''", "a"), ("b'1'", "a"), ("b''", "b")):
        queue.push(bench.driver.evaluate(source), key)
    popped = []
    for _ in range(3):
        popped.append(queue.pop())
        bench.recorder.steps[-1].source = f"popped = [*{'popped' if len(popped) > 1 else '()'}, queue.pop()]"
    wanted = [b"", b"", b"1"]
    bench.expect(
        rule,
        None not in popped and sorted(popped) == wanted,
        f"{wanted} in some order",
        popped,
        f"None not in popped and sorted(popped) == {wanted}",
    )


@check("queuelib.rr.peek", kinds=BY_TURNS)
def peek_shows_what_pop_returns(bench: Bench) -> None:
    run(bench, "push:0 peek pop push:0 push:1 push:3 peek pop peek pop push:2 peek pop peek pop")


@check("queuelib.rr.peek-empty", kinds=BY_TURNS)
def peek_skips_empty_queues(bench: Bench) -> None:
    rule = "queuelib.rr.peek-empty"
    for prepare in ("failed push", "start"):
        with bench.collecting(), bench.recorder.blame(rule):
            bench.restart()
            _peek_beside_empty(bench, rule, prepare)


def _peek_beside_empty(bench: Bench, rule: str, prepare: str) -> None:
    """Peek while a key whose queue is empty stands beside one that holds an item."""
    queue = bench.open()
    item = bench.driver.item(1)
    if prepare == "start":
        queue.push(item, "b")
        queue.close()
        queue = bench.open(start=["b", "a"])
    else:
        bench.expect_raises("queue.push.failed-no-trace", (TypeError,), lambda: queue.push(bench.driver.evaluate("'text'"), "a"))
        queue.push(item, "b")
    peeked = queue.peek()
    bench.expect(rule, bench.driver.same(peeked, item), item.source, peeked, bench.driver.among_source("peeked", [item]))
    popped = queue.pop()
    bench.expect(rule, bench.driver.same(popped, item), item.source, popped, bench.driver.among_source("popped", [item]))


@check("queuelib.rr.close", kinds=BY_TURNS)
def close_names_what_is_left(bench: Bench) -> None:
    run(bench, "push:0 push:1 push:2 pop reopen push:3 reopen pop reopen pop pop reopen")
    run(bench, "push:0 push_refused:1 push_refused:2 reopen pop push_refused:0 reopen")


@check("queuelib.clear", kinds=BY_TURNS)
def clear_removes_everything(bench: Bench) -> None:
    run(bench, "push:0 push:1 push:2 clear length pop push:3 push:1 pop clear push:0 reopen pop clear pop")
