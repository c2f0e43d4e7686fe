"""The first use of Scrapy's priority queues, and what their authors claim."""

from __future__ import annotations

from queue_conformance.engine.bench import Bench

RULES = ("pq.ctor.signature", "pq.pop.exactly-once")
SHOWN = ("persistent", "peek", "slots")
METHODS = ("push", "pop", "close", "__len__")


def preflight(bench: Bench) -> None:
    """Use a priority queue once as the scheduler does for queues in memory, and once as for queues on disk.

    Raises:
        RuleBroken: for the first thing that fails.
    """
    rule = "pq.ctor.signature"
    driver = bench.driver
    for keeps in (False, True):
        bench.restart()
        driver.furnish(keeps=keeps)
        queue = driver.open()
        missing = [name for name in METHODS if not hasattr(type(queue.raw), name) or not callable(getattr(queue.raw, name))]
        assertion = f"all(callable(getattr(type(queue), name, None)) for name in {missing!r})"
        bench.expect(rule, not missing, f"the methods {', '.join(METHODS)}", f"no {', '.join(missing)}", assertion)
        item = driver.item(0)
        queue.push(item)
        popped = queue.pop()
        same = driver.among_source("popped", [item])
        bench.expect("pq.pop.exactly-once", driver.identify(popped) == 0, item.source, popped, same)
        queue.close(owner="pq.pop.exactly-once")


def show_absence(bench: Bench, rule: str, name: str) -> None:
    """Show in a few operations what probing found: that a claimed capability is not there."""
    driver, expected = bench.driver, f"{name}, as claimed"
    queue = bench.open()
    first, second = driver.item(0), driver.item(5)
    queue.push(first)
    if name == "peek":
        with bench.recorder.blame(rule):
            queue.peek()
    elif name == "persistent":
        left = queue.close()
        bench.recorder.note("state = json.loads(json.dumps(left or ()))")
        queue = bench.open(state=left or ())
        popped = queue.pop()
        bench.fail(rule, expected, f"{popped!r} popped after close and resume", ["assert popped is not None, repr(popped)"])
    elif name == "slots":
        queue.push(second)
        driver.set_active("b.example", 2)
        popped = queue.pop()
        tail = [f"assert {driver.among_source('popped', [first])}, repr(popped)"]
        bench.fail(rule, f"{expected}: {first.source}, as b.example is busy", popped, tail)
