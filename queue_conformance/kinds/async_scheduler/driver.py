"""The driver of asynchronous schedulers: ``cls(queue=..., fingerprinter=...)`` over queues of the kit's own."""

from __future__ import annotations

import asyncio
import inspect
import logging
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from inspect import signature
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, ClassVar

from queue_conformance.discovery import Implementation
from queue_conformance.discovery.capabilities import Capabilities
from queue_conformance.discovery.loading import load_class
from queue_conformance.engine.driver import OpenQueue
from queue_conformance.engine.recording import NOTHING, Recorder, Remark
from queue_conformance.engine.scripts import assemble, defined_in
from queue_conformance.environments.asynchronous import REQUEST, SIMULATED, AsyncDriver
from queue_conformance.kinds.async_queue.direction import higher_first
from queue_conformance.loops import table_of
from queue_conformance.script_support import support

FINGERPRINTER = "qcrawl.utils.fingerprint.RequestFingerprinter"
"""What computes fingerprints for a scheduler that names nothing else."""

_IMPORTS: Mapping[str, str] = {
    "Crawler": "from qcrawl.core.crawler import Crawler",
    "DiskQueue": "from qcrawl.core.queues.disk import DiskQueue",
    "MemoryPriorityQueue": "from qcrawl.core.queues.memory import MemoryPriorityQueue",
    "Request": "from qcrawl.core.request import Request",
    "RequestQueue": "from qcrawl.core.queue import RequestQueue",
    "Settings": "from qcrawl.settings import Settings",
    "Spider": "from qcrawl.core.spider import Spider",
    "crawler_module": "import qcrawl.core.crawler as crawler_module",
    "signals_registry": "from qcrawl.signals import signals_registry",
}
"""The names that lines of scripts may use besides those that all scripts may."""


class AsyncSchedulerDriver(AsyncDriver):
    """Builds schedulers, and runs lines of Python on them.

    The scheduler computes fingerprints with the class that the setting ``fingerprinter`` names; without one with its own
    attribute ``fingerprinter_class``; and else with qCrawl's. The setting ``queue`` names the class of the queue of crawls;
    everything else is examined over queues of the kit's own, and over those of qCrawl where they behave differently.
    """

    constructor_rule: ClassVar[str] = "ascheduler.ctor"
    interface_rule: ClassVar[str] = "ascheduler.add.forms"

    def __init__(self, implementation: Implementation, directory: Path, recorder: Recorder) -> None:
        super().__init__(implementation, directory, recorder)  # explains what is missing without qCrawl
        from queue_conformance.kinds.async_scheduler import script_support

        self._imports = dict(_IMPORTS)
        self._imports["Request"] = _import_of(implementation.claims.get("request", REQUEST))
        self.fingerprinter = self._named("fingerprinter") or self._own_fingerprinter()
        self.queue = self._named("queue")
        self._queue_takes = signature(load_class(str(implementation.settings["queue"]))).parameters if self.queue else {}
        self._known: dict[str, Any] = {}
        self._imports |= {name: f"from {script_support.__name__} import {name}" for name in defined_in(script_support)}
        for name in ("asyncio", "tempfile"):
            exec(f"import {name}", self._known)
        for line in self._imports.values():
            exec(line, self._known)
        top = self.class_name.partition(".")[0]
        importable = implementation.importable
        self._known[top] = getattr(sys.modules[self.module_name], top) if importable else implementation.cls
        self.variables: dict[str, Any] = {**self._known, "loop": self.loop, "directory": str(directory)}

    def _named(self, setting: str) -> str:
        """Return the expression for the class that a setting names, or ``""``."""
        path = str(self.implementation.settings.get(setting, ""))
        if not path:
            return ""
        name = load_class(path).__name__
        self._imports[name] = _import_of(path)
        return name

    def queue_source(self, maxsize: int = 0) -> str:
        """Return an expression for the queue of a crawl.

        Args:
            maxsize: how many requests it has room for; 0 for any number. An author's queue without a bound is not used then.
        """
        if not self.queue or (maxsize and "maxsize" not in self._queue_takes):
            return f"MemoryQueue({f'maxsize={maxsize}' if maxsize else ''})"
        arguments = ['path=directory + "/own"'] if "path" in self._queue_takes else []
        arguments += [f"maxsize={maxsize}"] if maxsize else []
        return f"{self.queue}({', '.join(arguments)})"

    @property
    def higher_first(self) -> bool:
        """Whether the queue of crawls serves higher priorities first, or lower ones."""
        if not self.queue:
            return True
        return higher_first(load_class(str(self.implementation.settings["queue"])), self.implementation.claims)

    def _own_fingerprinter(self) -> str:
        if hasattr(self.implementation.cls, "fingerprinter_class"):
            return f"{self.class_name}.fingerprinter_class"
        self._imports["RequestFingerprinter"] = _import_of(FINGERPRINTER)
        return "RequestFingerprinter"

    def renew(self, directory: Path) -> None:
        super().renew(directory)
        if not logging.getLogger().handlers:
            logging.getLogger().addHandler(logging.NullHandler())  # or Python prints what is logged
        self.variables = {**self._known, "loop": self.loop, "directory": str(directory)}

    # --- Operations --------------------------------------------------------------------------------------------------

    def do(self, source: str, owner: str) -> Any:
        """Run a line of Python, as a script would.

        Args:
            source: an expression, or an assignment to one variable.
            owner: the rule that is broken if it raises or never returns.

        Returns:
            The value of the expression, or of the variable.

        Raises:
            OperationRaised: if it raised.
        """
        going = [(name, task) for name, task in self.variables.items() if isinstance(task, asyncio.Task) and not task.done()]
        value = self.recorder.call(source, owner, self._run, source)
        if source.startswith(_MOVES):
            self.recorder.steps[-1].result = Remark(table_of(going)) if going else NOTHING
        elif isinstance(value, bool) or getattr(type(value), "__repr__", None) is object.__repr__:
            self.recorder.steps[-1].result = NOTHING  # it tells nothing
        return value

    def value(self, source: str) -> Any:
        """Return the value of an expression over the variables; no operation."""
        return eval(_compiled(source, "eval"), self.variables)

    def _run(self, source: str) -> Any:
        target = _TARGET.match(source)
        if target is None:
            return eval(_compiled(source, "eval"), self.variables)
        exec(_compiled(source, "exec"), self.variables)
        value = self.variables[target[1]]
        return NOTHING if isinstance(value, asyncio.Task) else value

    def construction(self, name: str, **parts: tuple[str, Any]) -> tuple[str, Callable[[], Any]]:
        """Tell how a scheduler is built.

        Args:
            name: ignored: the queue keeps everything.
            parts: arguments of the constructor that are not the usual ones, each with its source.
        """
        values = {key: value for key, value in self.implementation.values.items() if key not in _CLASSES}
        sources = {"queue": "MemoryQueue()", "fingerprinter": f"{self.fingerprinter}()"}
        sources |= {key: repr(value) for key, value in values.items()} | {key: source for key, (source, _) in parts.items()}
        given = ", ".join(f"{key}={source}" for key, source in sources.items())

        def build() -> Any:
            known = values | {key: value for key, (_, value) in parts.items()}
            usual = {key: self.value(source) for key, source in sources.items() if key not in known}
            return self.loop.call(self.value(self.class_name), **usual, **known)

        return f"loop.call({self.class_name}, {given})", build

    def open(self, name: str = "0", variable: str = "scheduler", owner: str | None = None, **parts: Any) -> OpenQueue:
        source, build = self.construction(name, **parts)
        raw = self.recorder.call(f"{variable} = {source}", owner or self.constructor_rule, build)
        self.recorder.steps[-1].result = NOTHING
        self.variables[variable] = raw
        return OpenQueue(raw, variable, self.recorder)

    def store_one(self, count: Callable[[], int]) -> bool:
        self.open()
        before = count()
        self.do('loop.run(scheduler.add("https://example.com/1"))', "ascheduler.add.forms")
        stored = count() > before
        self.do("loop.run(scheduler.close())", "ascheduler.close.queue")
        return stored

    def use(self, directory: Path) -> None:
        """Do what every crawl does, to see whether it works on the loop of this driver.

        Raises:
            OperationRaised: if something raises, or waits for what nothing brings.
            NeedsRealLoop: if it works on no simulated loop.
            NeverAtRest: if it is busy all the time.
        """
        self.renew(directory)
        self.open()
        for line in (
            'loop.run(scheduler.add("https://example.com/1"))',
            "got = loop.run(scheduler.get())",
            "loop.call(scheduler.task_done)",
            "getting = loop.start(scheduler.get())",
            "loop.stays(getting)",
        ):
            self.do(line, self.interface_rule)
        if self.variables["getting"].done():
            return  # it does not wait, which a clock that runs faster shows sooner
        for line in (
            'loop.run(scheduler.add("https://example.com/2"))',
            "loop.settle(getting)",
            "got = getting.result()",
            "loop.call(scheduler.task_done)",
            "loop.run(scheduler.close())",
        ):
            self.do(line, self.interface_rule)

    def probe(self, room: Callable[[], Path]) -> Capabilities:
        """Find out which loop it needs; what else schedulers may or may not offer is up to the queues below them."""
        self.choose_loop(lambda: self.use(room()))
        return Capabilities(real_loop=self.real)

    # --- Scripts -----------------------------------------------------------------------------------------------------

    def setup(self, body: str) -> list[str]:
        lines = []
        if "directory" in body:
            lines += ["scratch = tempfile.TemporaryDirectory()", "directory = scratch.name"]
        if re.search(r"\bloop\b", body):
            lines.append(SIMULATED)
        return lines

    def script(self, title: str, lines: Sequence[str], *definitions: ModuleType) -> str:
        imports, quoted = self.under_test()
        body = [*quoted, *self.setup("\n".join(lines)), *lines]
        return assemble(title, imports, body, [support, *definitions], self._imports)


_CLASSES = ("queue", "fingerprinter")
"""The settings that name classes, and are no further arguments of the constructor."""

_MOVES = ("loop.tick(", "loop.settle(", "loop.advance(")
"""The operations that let tasks go on."""

_TARGET = re.compile(r"(\w+) = ")


@lru_cache(1000)
def _compiled(source: str, mode: str) -> CodeType:
    return compile(source, "<operation>", mode)


def _import_of(path: str) -> str:
    """Return the line that imports a class."""
    cls = load_class(path)
    module = inspect.getmodule(cls)
    parts = path.replace(":", ".").split(".")
    end = next(end for end in range(len(parts) - 1, 0, -1) if ".".join(parts[:end]) in sys.modules)
    return f"from {'.'.join(parts[:end])} import {parts[end]}" if module else f"import {path}"
