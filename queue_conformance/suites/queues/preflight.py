"""The first use of queues and of queues of queues, and what their authors claim."""

from __future__ import annotations

from dataclasses import replace

from queuelib.queue import BaseQueue

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
    # Without these nothing can be tried; whether the class itself has all that queuelib asks for is a check of its own.
    looked_at = {name: type(queue.raw) if name == "__len__" else queue.raw for name in METHODS}
    missing = [name for name, where in looked_at.items() if not callable(getattr(where, name, None))]
    where = "type(queue)" if "__len__" in missing else "queue"
    assertion = f"all(callable(getattr({where}, name, None)) for name in {missing!r})"
    bench.expect(driver.interface_rule, not missing, f"the methods {', '.join(METHODS)}", f"no {', '.join(missing)}", assertion)
    item = driver.item(1)
    if bench.implementation.kind in COLLECTIONS:
        queue.push(item, driver.places[0])
    else:
        queue.push(item)
    popped = queue.pop()
    same = driver.among_source("popped", [item])
    bench.expect("queue.pop.exactly-once", driver.identify(popped) == 1, item.source, popped, same)
    queue.close()


def satisfies_base_queue(bench: Bench) -> None:
    """Ask queuelib itself whether the class of a built queue has all that its queues have.

    Raises:
        RuleBroken: if it says no.
    """
    rule = "queue.ctor.base-queue"
    queue = bench.open()
    cls = type(queue.raw)
    missing = [name for name in (*METHODS, "peek") if not callable(getattr(cls, name, None))]
    actual = f"no {', '.join(missing)}" if missing else "False"
    bench.expect(rule, issubclass(cls, BaseQueue), "True", actual, "issubclass(type(queue), BaseQueue)", final=True)


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
