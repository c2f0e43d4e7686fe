"""Checks of how asynchronous queues are built."""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from queue_conformance.engine.bench import Bench, must_raise
from queue_conformance.engine.outcomes import NotApplicable, NotExercised
from queue_conformance.engine.recording import OperationRaised, describe
from queue_conformance.engine.registry import check
from queue_conformance.kinds.async_queue.common import ASYNC


@check("aqueue.iface", kinds=ASYNC)
def the_factory_accepts_the_class(bench: Bench) -> None:
    rule = "aqueue.iface"
    if importlib.util.find_spec("qcrawl") is None:
        raise NotExercised("qCrawl is not installed")
    from qcrawl.core.queue import RequestQueue
    from qcrawl.core.queues.factory import create_queue

    _class_builds_itself(bench)
    driver, cls = bench.driver, bench.implementation.cls
    if not issubclass(cls, RequestQueue):
        bench.notes.append("qCrawl's factory refuses it: it is no subclass of qcrawl.core.queue.RequestQueue")
        raise NotExercised("qCrawl's factory builds subclasses of RequestQueue alone")
    if "." in cls.__qualname__:
        raise NotExercised("qCrawl's factory finds no nested classes")
    if not bench.implementation.importable:
        raise NotExercised("qCrawl's factory cannot import the class")
    source, _ = driver.construction("0")
    arguments = source.removeprefix(f"loop.call({driver.class_name}").removesuffix(")")
    path = f"{{{driver.class_name}.__module__}}.{{{driver.class_name}.__name__}}"
    keywords = driver.keywords("0")
    with bench.recorder.blame(rule):
        bench.recorder.call(
            f"queue = loop.run(create_queue(f'{path}'{arguments}))",
            rule,
            lambda: driver.loop.run(create_queue(f"{cls.__module__}.{cls.__name__}", **keywords)),
        )
    bench.examined[rule] += 1


@check("aqueue.ctor.errors", kinds=ASYNC)
def wrong_keywords_are_refused(bench: Bench) -> None:
    rule = "aqueue.ctor.errors"
    _class_builds_itself(bench)
    with bench.collecting():
        _unknown_keyword(bench, rule)
    if bench.offers("bounded"):
        bench.restart()
        bench.expect_raises(rule, (ValueError,), lambda: bench.open(maxsize=-1), why=": maxsize is negative")


def _unknown_keyword(bench: Bench, rule: str) -> None:
    bench.examined[rule] += 1
    try:
        queue = bench.open(no_such_option=1)
    except OperationRaised as raised:
        if not isinstance(raised.error, TypeError):
            tail = must_raise(raised.step.source, "TypeError")
            bench.fail(rule, "TypeError: the keyword is unknown", f"{describe(raised.error)} raised", tail, replaces=True)
        return
    bench.recorder.steps[-1].refusable = True
    bench.expect_raises(rule, (TypeError,), lambda: queue.put(bench.driver.item(1)), why=": a keyword is unknown")


@check("aqueue.ctor.shipped-config", kinds=ASYNC)
def the_shipped_configuration_works(bench: Bench) -> None:
    rule = "aqueue.ctor.shipped-config"
    _class_builds_itself(bench)
    config = _shipped(bench.implementation.cls)
    if config is None:
        raise NotApplicable("qCrawl ships no configuration for this class")
    foreign = bench.backend is not None and not bench.backend.server.ours
    if foreign and bench.driver.place in config:  # what the author has stored there must not be touched
        config[bench.driver.place] = f"{bench.driver.directory.name}{config[bench.driver.place]}"
    with default_place(bench), bench.recorder.blame(rule):
        queue = bench.open(placed=False, **config)
        item = bench.driver.item(1)
        queue.put(item)
        got = queue.get()
        same = bench.driver.among_source("got", [item])
        bench.expect(rule, bench.driver.identify(got) == 1, item.source, got, same)


def _class_builds_itself(bench: Bench) -> None:
    if bench.implementation.opener is not None:
        raise NotExercised("the author's function builds the queue, and not its constructor alone")


def _shipped(cls: type[Any]) -> dict[str, Any] | None:
    """Return the arguments that qCrawl ships for a class or one of its bases."""
    if importlib.util.find_spec("qcrawl") is None:
        return None
    from qcrawl.settings import Settings

    names = {f"{base.__module__}.{base.__qualname__}" for base in cls.__mro__}
    for backend in Settings().QUEUE_BACKENDS.values():
        if backend.get("class") in names:
            return {name: value for name, value in backend.items() if name != "class"}
    return None


@contextmanager
def default_place(bench: Bench) -> Iterator[None]:
    """Let what is stored in a temporary directory by default be stored below the scratch directory."""
    before = tempfile.tempdir
    tempfile.tempdir = str(bench.driver.directory)
    Path(tempfile.tempdir).mkdir(exist_ok=True)
    bench.recorder.note("tempfile.tempdir = directory")
    try:
        yield
    finally:
        tempfile.tempdir = before
