"""The first use of asynchronous queues, and what their authors claim."""

from __future__ import annotations

import inspect
from dataclasses import replace

from queue_conformance.engine.bench import Bench

RULES = ("aqueue.iface", "aqueue.ctor.kwargs", "aqueue.put.accept", "aqueue.get.blocks")
SHOWN = ("persistent", "filesystem", "serializes", "bounded", "dedupe", "ttl", "clear")

COROUTINES = ("put", "get", "size", "clear", "close")


def preflight(bench: Bench) -> None:
    """Use a queue once.

    Raises:
        RuleBroken: for the first thing that fails.
    """
    driver = bench.driver
    cls = bench.implementation.cls
    missing = [name for name in (*COROUTINES, "maxsize") if not callable(getattr(cls, name, None))]
    undefined = sorted({*missing, *getattr(cls, "__abstractmethods__", ())})
    names, expected = ", ".join(undefined), f"{', '.join(COROUTINES)} and maxsize"
    bench.recorder.note(f"abstract = getattr({driver.class_name}, '__abstractmethods__', ())")
    assertion = f"all(hasattr({driver.class_name}, name) and name not in abstract for name in {undefined!r})"
    bench.expect("aqueue.iface", not undefined, expected, f"no {names}", assertion)
    plain = [name for name in COROUTINES if not inspect.iscoroutinefunction(getattr(cls, name))]
    told = f"all(asyncio.iscoroutinefunction(getattr({driver.class_name}, name)) for name in {plain!r})"
    bench.expect("aqueue.iface", not plain, "coroutine functions", f"{', '.join(plain)} defined without async", told)

    def use() -> None:
        bench.restart()
        driver.use(driver.directory)

    driver.choose_loop(use)
    bench.restart()
    queue = driver.open()
    item = driver.item(1)
    queue.put(item)
    bench.examined["aqueue.ctor.kwargs"] += 1
    got = queue.get()
    bench.examined["aqueue.get.blocks"] += 1
    tail = [f"assert {driver.among_source('got', [item])}, repr(got)"]
    if driver.identify(got) != 1:
        bench.fail("aqueue.put.accept", item.source, got, tail)
    bench.examined["aqueue.put.accept"] += 1
    queue.close()


def show_absence(bench: Bench, rule: str, name: str) -> None:
    """Show in a few operations what probing found: that a claimed capability is not there."""
    driver, expected = bench.driver, f"{name}, as claimed"
    if name in ("bounded", "dedupe", "ttl"):
        keyword = {"bounded": "maxsize", "dedupe": "dedupe", "ttl": "item_ttl"}[name]
        bench.recorder.note(f"parameters = inspect.signature({driver.builder_name}).parameters")
        tail = [f"assert {keyword!r} in parameters, list(parameters)"]
        bench.fail(rule, expected, f"the constructor takes no {keyword}", tail)
    queue = bench.open()
    item = driver.item(1)
    if name == "serializes":
        bench.recorder.note(f"request = {item.source}")
        item = replace(item, source="request")
    queue.put(item)
    if name == "persistent":
        queue.close()
        size = bench.open().size()
        bench.fail(rule, expected, f"size {size} after close and reopen", ["assert size == 1, size"])
    elif name == "serializes":
        queue.get()
        bench.fail(rule, expected, "the object that was put came out", ["assert got is not request, 'the same object'"])
    elif name == "filesystem":
        bench.recorder.note("left = [path for path in Path(directory).rglob('*') if path.is_file()]")
        bench.fail(rule, expected, "no file in its place", ["assert left, 'no file'"])
