"""The driver of asynchronous schedulers: ``cls(queue=..., fingerprinter=...)`` over queues of the kit's own."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from inspect import signature
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

from queue_conformance.engine.record import Record
from queue_conformance.engine.recording import Recorder
from queue_conformance.engine.scripts import assemble, defined_in
from queue_conformance.engine.sources import Sources
from queue_conformance.environments.asynchronous import REQUEST, AsyncDriver
from queue_conformance.implementation import Implementation
from queue_conformance.implementation.capabilities import Capabilities
from queue_conformance.implementation.loading import load_class
from queue_conformance.implementation.signatures import methods_of
from queue_conformance.kinds.async_queue.direction import higher_first
from queue_conformance.kinds.async_queue.subject import RecordedLoop
from queue_conformance.kinds.async_scheduler.fixtures import RULES, SchedulerSubject
from queue_conformance.script_support import support

_OF_QCRAWL = {
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
    fault_rule: ClassVar[str] = "ascheduler.fault.recovers"

    def __init__(self, implementation: Implementation, directory: Path, recorder: Recorder) -> None:
        super().__init__(implementation, directory, recorder)  # explains what is missing without qCrawl
        from queue_conformance.kinds.async_scheduler import script_support

        own = {name: f"from {script_support.__name__} import {name}" for name in defined_in(script_support)}
        self._imports = {**own, **_OF_QCRAWL}
        self._import(implementation.claims.get("request", REQUEST), "Request")
        self.fingerprinter = self._named("fingerprinter") or self._own_fingerprinter()
        self.queue = self._named("queue")
        self._known: dict[str, Any] = {}
        exec("\n".join(self._imports.values()), self._known)
        top = self.class_name.partition(".")[0]
        importable = implementation.importable
        self._known[top] = getattr(sys.modules[self.module_name], top) if importable else implementation.cls

    def _named(self, setting: str) -> str:
        """Return the expression for the class that a setting names, or ``""``."""
        path = str(self.implementation.settings.get(setting, ""))
        return self._import(path) if path else ""

    def _import(self, path: str, name: str = "") -> str:
        """Let scripts import a class; return the expression for it.

        Args:
            name: what they call it, if not as it is called where it is defined.
        """
        load_class(path)
        parts = path.replace(":", ".").split(".")
        end = next(end for end in range(len(parts) - 1, 0, -1) if ".".join(parts[:end]) in sys.modules)
        top = parts[end]
        line = f"from {'.'.join(parts[:end])} import {top}"
        if not name:
            name = top if self._imports.get(top, line) == line else f"Own{top}"  # the kit has another class of that name
        self._imports[name] = line if name == top else f"{line} as {name}"
        return ".".join([name, *parts[end + 1 :]])

    def queue_of_crawls(self, maxsize: int = 0) -> tuple[str, dict[str, Any]]:
        """Return the name of the class of the queue of a crawl, and its arguments.

        Args:
            maxsize: how many requests it has room for; 0 for any number. An author's queue without a bound is not used then.
        """
        bound = {"maxsize": maxsize} if maxsize else {}
        takes = signature(self.named(self.queue)).parameters if self.queue else {}
        if not self.queue or (maxsize and "maxsize" not in takes):
            return "MemoryQueue", bound
        place = {"path": f"{self.directory}/own"} if "path" in takes else {}
        return self.queue, {**place, **bound}

    @property
    def higher_first(self) -> bool:
        """Whether the queue of crawls serves higher priorities first, or lower ones."""
        return not self.queue or higher_first(self.named(self.queue), self.implementation.claims)

    @property
    def fingerprints_itself(self) -> bool:
        """Whether the fingerprinter is not just the one that qCrawl has for every scheduler."""
        cls = self.implementation.cls
        named = "fingerprinter" in self.implementation.settings or hasattr(cls, "fingerprinter_class")
        return named or cls.__module__.startswith("qcrawl.")

    def _own_fingerprinter(self) -> str:
        if hasattr(self.implementation.cls, "fingerprinter_class"):
            return f"{self.class_name}.fingerprinter_class"
        return self._import("qcrawl.utils.fingerprint.RequestFingerprinter")

    def renew(self, directory: Path) -> None:
        super().renew(directory)
        if not logging.getLogger().handlers:
            logging.getLogger().addHandler(logging.NullHandler())  # or Python prints what is logged

    # --- Schedulers --------------------------------------------------------------------------------------------------

    def named(self, name: str) -> Any:
        """Return what scripts call by a name, such as a class of script support."""
        return eval(name, self._known)

    def construction(self, name: str, **parts: tuple[str, Any]) -> tuple[str, Callable[[], Any]]:
        """Tell how a scheduler is built.

        Args:
            name: ignored: the queue keeps everything.
            parts: arguments of the constructor that are not the usual ones, each with its source.
        """
        usual = {"queue": "MemoryQueue", "fingerprinter": self.fingerprinter}
        values = {key: value for key, value in self.implementation.values.items() if key not in usual}
        sources = {key: parts[key][0] if key in parts else f"{cls}()" for key, cls in usual.items()}
        sources |= {key: repr(value) for key, value in values.items()}
        given = ", ".join(f"{key}={source}" for key, source in sources.items())

        def build() -> Any:
            made = {key: parts[key][1] if key in parts else self.named(cls)() for key, cls in usual.items()}
            return self.loop.call(self.named(self.class_name), **values, **made)

        return f"loop.call({self.class_name}, {given})", build

    def use(self, directory: Path) -> None:
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

    def store_one(self) -> Iterator[None]:
        scheduler, loop, _ = self._begin()
        yield
        loop.run(scheduler.add("https://example.com/1"))
        yield
        loop.run(scheduler.close())

    def _begin(self) -> tuple[Any, RecordedLoop, Record]:
        """Build a scheduler over a queue in memory."""
        record = Record(self.recorder, Sources(str(self.directory)))
        source, build = self.construction("0")
        scheduler = record.construct(source, self.constructor_rule, build, RULES, SchedulerSubject, "scheduler")
        return scheduler, RecordedLoop(self, record, lambda: self.interface_rule), record

    def probe(self, workdir: Callable[[], Path]) -> Capabilities:
        """Find out which loop it needs; what else schedulers may or may not offer is up to the queues below them."""
        self.choose_loop(workdir)
        return Capabilities(real_loop=self.real, context=bool(methods_of(self.implementation.cls, "__aenter__")))

    # --- Scripts -----------------------------------------------------------------------------------------------------

    def script(self, title: str, lines: Sequence[str], *definitions: ModuleType) -> str:
        imports, quoted = self.under_test()
        body = [*quoted, *self.setup("\n".join(lines)), *lines]
        return assemble(title, imports, body, [support, *definitions], self._imports)
