"""The driver of asynchronous schedulers: ``cls(queue=..., fingerprinter=...)`` over queues of the kit's own."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from inspect import signature
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

from queue_conformance.discovery import Implementation
from queue_conformance.discovery.capabilities import Capabilities
from queue_conformance.discovery.loading import load_class
from queue_conformance.engine.record import Record
from queue_conformance.engine.recording import Recorder
from queue_conformance.engine.scripts import assemble, defined_in
from queue_conformance.engine.sources import Sources
from queue_conformance.environments.asynchronous import REQUEST, AsyncDriver
from queue_conformance.kinds.async_queue.direction import higher_first
from queue_conformance.kinds.async_queue.fixtures import RecordedLoop
from queue_conformance.kinds.async_scheduler.fixtures import RULES, SchedulerSubject
from queue_conformance.script_support import support

_IMPORTS: Mapping[str, str] = {
    "DiskQueue": "from qcrawl.core.queues.disk import DiskQueue",
    "MemoryPriorityQueue": "from qcrawl.core.queues.memory import MemoryPriorityQueue",
}
"""The names that lines of scripts may use besides those that all scripts may."""


class AsyncSchedulerDriver(AsyncDriver):
    """Builds schedulers.

    The scheduler computes fingerprints with the class that the setting ``fingerprinter`` names; without one with its own
    attribute ``fingerprinter_class``; and else with qCrawl's. The setting ``queue`` names the class of the queue of crawls;
    everything else is tested over queues of the kit's own, and over those of qCrawl where they behave differently.
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
        for line in self._imports.values():
            exec(line, self._known)
        top = self.class_name.partition(".")[0]
        importable = implementation.importable
        self._known[top] = getattr(sys.modules[self.module_name], top) if importable else implementation.cls

    def _named(self, setting: str) -> str:
        """Return the expression for the class that a setting names, or ``""``."""
        path = str(self.implementation.settings.get(setting, ""))
        if not path:
            return ""
        name = load_class(path).__name__
        self._imports[name] = _import_of(path)
        return name

    def queue_of_crawls(self, maxsize: int = 0) -> tuple[str, dict[str, Any]]:
        """Return the name of the class of the queue of a crawl, and its arguments.

        Args:
            maxsize: how many requests it has room for; 0 for any number. An author's queue without a bound is not used then.
        """
        bound = {"maxsize": maxsize} if maxsize else {}
        if not self.queue or (maxsize and "maxsize" not in self._queue_takes):
            return "MemoryQueue", bound
        place = {"path": f"{self.directory}/own"} if "path" in self._queue_takes else {}
        return self.queue, {**place, **bound}

    @property
    def higher_first(self) -> bool:
        """Whether the queue of crawls serves higher priorities first, or lower ones."""
        if not self.queue:
            return True
        return higher_first(load_class(str(self.implementation.settings["queue"])), self.implementation.claims)

    def _own_fingerprinter(self) -> str:
        if hasattr(self.implementation.cls, "fingerprinter_class"):
            return f"{self.class_name}.fingerprinter_class"
        self._imports["RequestFingerprinter"] = "from qcrawl.utils.fingerprint import RequestFingerprinter"
        return "RequestFingerprinter"

    def renew(self, directory: Path) -> None:
        super().renew(directory)
        if not logging.getLogger().handlers:
            logging.getLogger().addHandler(logging.NullHandler())  # or Python prints what is logged

    # --- Schedulers --------------------------------------------------------------------------------------------------

    def named(self, name: str) -> Any:
        """Return what scripts call by a name, such as a class of script support."""
        first, *rest = name.split(".")
        return reduce(getattr, rest, self._known[first])

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
            made = {key: value for key, (_, value) in parts.items()}
            for key, cls in (("queue", "MemoryQueue"), ("fingerprinter", self.fingerprinter)):
                if key not in made:
                    made[key] = self.named(cls)()
            return self.loop.call(self.named(self.class_name), **values, **made)

        return f"loop.call({self.class_name}, {given})", build

    def use(self, directory: Path) -> None:
        """Do what every crawl does, to see whether it works on the loop of this driver.

        Raises:
            OperationRaised: if something raises, or waits for what nothing brings.
            NeedsRealLoop: if it works on no simulated loop.
            NeverAtRest: if it is busy all the time.
        """
        self.renew(directory)
        scheduler, loop, record = self._begin()
        with self.recorder.attribute(self.interface_rule):
            loop.run(scheduler.add("https://example.com/1"))
            loop.run(scheduler.get())
            loop.call(scheduler.task_done)
            getting = record.sources.give(loop.start(scheduler.get(), "getting"), "getting")
            loop.stays()
            if getting.done():
                return  # it does not wait, which a clock that runs faster shows sooner
            loop.run(scheduler.add("https://example.com/2"))
            loop.run(getting)
            loop.call(scheduler.task_done)
            loop.run(scheduler.close())

    def store_one(self, count: Callable[[], int]) -> bool:
        scheduler, loop, _ = self._begin()
        before = count()
        loop.run(scheduler.add("https://example.com/1"))
        stored = count() > before
        loop.run(scheduler.close())
        return stored

    def _begin(self) -> tuple[Any, RecordedLoop, Record]:
        """Build a scheduler over a queue in memory."""
        record = Record(self.recorder, Sources(str(self.directory)))
        source, build = self.construction("0")
        scheduler = record.construct(source, self.constructor_rule, build, RULES, SchedulerSubject, "scheduler")
        return scheduler, RecordedLoop(self, record, lambda: self.interface_rule), record

    def probe(self, workdir: Callable[[], Path]) -> Capabilities:
        """Find out which loop it needs; what else schedulers may or may not offer is up to the queues below them."""
        self.choose_loop(lambda: self.use(workdir()))
        return Capabilities(real_loop=self.real)

    # --- Scripts -----------------------------------------------------------------------------------------------------

    def script(self, title: str, lines: Sequence[str], *definitions: ModuleType) -> str:
        imports, quoted = self.under_test()
        body = [*quoted, *self.setup("\n".join(lines)), *lines]
        return assemble(title, imports, body, [support, *definitions], self._imports)


_CLASSES = ("queue", "fingerprinter")
"""The settings that name classes, and are no further arguments of the constructor."""


def _import_of(path: str) -> str:
    """Return the line that imports a class."""
    load_class(path)
    parts = path.replace(":", ".").split(".")
    end = next(end for end in range(len(parts) - 1, 0, -1) if ".".join(parts[:end]) in sys.modules)
    return f"from {'.'.join(parts[:end])} import {parts[end]}"
