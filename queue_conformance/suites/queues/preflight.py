"""The first use of queues and of queues of queues, and what their authors claim."""

from __future__ import annotations

from dataclasses import replace

from queue_conformance.specification import Kind
from queue_conformance.suites import COLLECTIONS
from queue_conformance.suites.bench import Bench

RULES = ("queue.ctor.from-crawler", "queuelib.ctor", "queue.ctor.interface", "queue.ctor.base-queue")
METHODS = ("push", "pop", "close", "__len__")


def preflight(bench: Bench) -> None:
    """Use a queue once.

    Raises:
        RuleBroken: for the first thing that fails.
    """
    driver = bench.driver
    queue = driver.open()
    bench.expect(driver.constructor_rule, queue.raw is not None, "a queue", queue.raw, "queue is not None")
    # What queuelib asks for must be there before there is an object; `__len__` always, because len() looks at the class alone.
    on_class = bench.implementation.kind is not Kind.DOWNSTREAM_QUEUE
    names = (*METHODS, "peek") if on_class else METHODS
    looked_at = {name: type(queue.raw) if on_class or name == "__len__" else queue.raw for name in names}
    missing = [name for name, where in looked_at.items() if not callable(getattr(where, name, None))]
    assertion = f"all(callable(getattr(type(queue), name, None)) for name in {missing!r})"
    bench.expect(driver.interface_rule, not missing, f"the methods {', '.join(names)}", f"no {', '.join(missing)}", assertion)
    item = driver.item(1)
    if bench.implementation.kind in COLLECTIONS:
        queue.push(item, driver.places[0])
    else:
        queue.push(item)
    popped = queue.pop()
    same = driver.among_source("popped", [item])
    bench.expect("queue.pop.exactly-once", driver.identify(popped) == 1, item.source, popped, same)
    queue.close()


SHOWN = ("persistent", "filesystem", "serializes", "peek", "clear", "chunked")


def show_absence(bench: Bench, rule: str, name: str) -> None:
    """Show in a few operations what probing found: that a claimed capability is not there."""
    driver, expected = bench.driver, f"{name}, as claimed"
    if name == "chunked":
        with bench.recorder.blame(rule):
            bench.open(chunksize=2)
    queue = bench.open()
    item = driver.item(1)
    if name == "serializes":
        bench.recorder.note(f"pushed = {item.source}")
        item = replace(item, source="pushed")
    queue.push(item, *([driver.places[0]] if bench.implementation.kind in COLLECTIONS else []))
    if name in ("peek", "clear"):
        with bench.recorder.blame(rule):
            getattr(queue, name)()
    elif name == "persistent":
        queue.close()
        popped = bench.open().pop()
        tail = [f"assert {driver.among_source('popped', [item])}, repr(popped)"]
        bench.fail(rule, expected, f"{popped!r} popped after close and reopen", tail)
    elif name == "serializes":
        queue.pop()
        bench.fail(rule, expected, "the object that was pushed came out", ["assert popped is not pushed, 'the same object'"])
    elif name == "filesystem":
        bench.recorder.note("left = [path for path in Path(directory).rglob('*') if path.is_file()]")
        bench.fail(rule, expected, "no file below the key", ["assert left, 'no file'"])
