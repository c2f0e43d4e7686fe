"""The driver of asynchronous queues: qCrawl's ``RequestQueue``, ``put(request, priority)`` and ``get()``."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

from queue_conformance.engine.recording import Recorder
from queue_conformance.engine.stored_files import stored_files
from queue_conformance.engine.subject import Item, Subject
from queue_conformance.environments.asynchronous import FIELDS, AsyncDriver, priority_given
from queue_conformance.environments.items import request_source
from queue_conformance.implementation import Implementation
from queue_conformance.implementation.capabilities import Capabilities
from queue_conformance.implementation.expectations import hold, says_memory
from queue_conformance.implementation.signatures import methods_of
from queue_conformance.kinds.async_queue import script_support as consumers
from queue_conformance.kinds.async_queue.direction import higher_first
from queue_conformance.kinds.async_queue.subject import RULES, AsyncSubject, RecordedLoop
from queue_conformance.processes import process
from queue_conformance.script_support import example, kills
from queue_conformance.script_support.interleaving import elsewhere, step
from queue_conformance.specification.settings import source_of_setting

PRIORITIES = (0, 5, -5, 1)
"""The priorities of the items of the pool, by their numbers."""

PLAIN = len(PRIORITIES) * FIELDS.period
"""The numbers from 0, and from each multiple of this, to the next priorities on are those of items without further fields."""

PATHS = ("path", "directory", "dirname", "folder", "filename")
"""Parameters of constructors that say where in the file system a queue stores."""

PLACES = (*PATHS, "namespace", "prefix", "key")
"""Parameters of constructors that say where a queue stores; the kit passes a place of its own."""

REAL = "it works on the stock event loop alone, so time is real and waits are bounded: {} at moments that are not under control"
"""What is noted where checks that choose their moments cannot."""


class AsyncQueueDriver(AsyncDriver):
    """Builds asynchronous queues from keywords, inside a running loop, as qCrawl's factory does."""

    constructor_rule: ClassVar[str] = "aqueue.ctor.kwargs"
    leak_rule: ClassVar[str] = "aqueue.close.releases"
    interface_rule: ClassVar[str] = "aqueue.iface"
    lives_without_close: ClassVar[bool] = True
    fault_rule: ClassVar[str] = "aqueue.fault.recovers"
    rest_rule: ClassVar[str] = "aqueue.get.blocks"
    subject: ClassVar[type[Subject]] = AsyncSubject
    rules: ClassVar[Mapping[str, str]] = RULES
    definitions: ClassVar[tuple[ModuleType, ...]] = (kills, consumers, example)

    def __init__(self, implementation: Implementation, directory: Path, recorder: Recorder) -> None:
        self._counts = Counter[str]()
        super().__init__(implementation, directory, recorder)
        self.parameters = _parameters(implementation.builder)
        self.place = next((name for name in PLACES if name in self.parameters), None)

    def renew(self, directory: Path) -> None:
        super().renew(directory)
        self._counts.clear()

    def requires(self, parameter: str) -> bool:
        """Whether the constructor has no default for a parameter."""
        return self.parameters[parameter].default is inspect.Parameter.empty

    @property
    def limit(self) -> int:
        """The bound of a queue that is told none: that of the settings, or what the constructor has by default."""
        known = self.parameters.get("maxsize")
        default = known.default if known is not None and type(known.default) is int else 0
        return int(self.implementation.values.get("maxsize", default))

    @property
    def unlimited(self) -> dict[str, int]:
        """The arguments of the constructor of a queue without a bound, which may have one by default."""
        return {"maxsize": 0} if "maxsize" in self.parameters else {}

    @property
    def without_close(self) -> bool:
        return not self._defines("close")

    @property
    def absent(self) -> Collection[str]:
        return () if self._defines("clear") else ("clear",)

    def _defines(self, name: str) -> bool:
        return inspect.iscoroutinefunction(getattr(self.implementation.cls, name, None))

    @staticmethod
    def closing(closed: Callable[[], None]) -> Callable[..., Any]:
        async def close() -> None:
            closed()

        return close

    def after_fork(self) -> None:
        """Take a loop of its own in a forked process, where that of the other one must not be touched."""
        self.loop = self._new_loop()
        self.recorder.note(f"loop = {type(self.loop).__name__}()")

    def new_name(self, name: str) -> str:
        """Return a name for a variable of a script that is not in use."""
        self._counts[name] += 1
        return f"{name}_{self._counts[name]}"

    @property
    def higher_first(self) -> bool:
        """Whether higher priorities come first, or lower ones."""
        return higher_first(self.implementation.cls, self.implementation.claims)

    def construction(self, name: str, *, placed: bool = True, **options: Any) -> tuple[str, Callable[[], Any]]:
        """Tell how a queue is built.

        Args:
            name: the part of its place below the scratch directory.
            placed: tell it where to store.
            options: further arguments of the constructor, which override the settings.
        """
        values = self.keywords(name if placed else None, **options)
        sources = {key: source_of_setting(value) for key, value in {**self.implementation.settings, **options}.items()}
        if self.place and placed:
            sources[self.place] = f"directory + {'/' + name!r}"
        if self.implementation.factory is not None:
            given = {key: (text, values[key]) for key, text in sources.items()}
            cls = (self.class_name, self.implementation.cls)
            source, build = self.author_builds(cls=cls, crawler=("None", None), **given)
            if inspect.iscoroutinefunction(self.implementation.factory):
                return f"loop.run({source})", lambda: self.loop.run(build())
            return f"loop.call(lambda: {source})", lambda: self.loop.call(build)
        source = ", ".join([self.class_name, *(f"{key}={text}" for key, text in sources.items())])
        return f"loop.call({source})", lambda: self.loop.call(self.implementation.cls, **values)

    def keywords(self, name: str | None = "0", **options: Any) -> dict[str, Any]:
        """Return the arguments of the constructor.

        Args:
            name: the part of its place below the scratch directory; ``None`` to leave that to the queue.
            options: further arguments, which override the settings.
        """
        place = {self.place: f"{self.directory}/{name}"} if self.place and name is not None else {}
        return {**self.implementation.values, **options, **place}

    def opener(self) -> Callable[[Any], Any]:
        """Return what another process opens a queue with, on a loop of its own."""
        _, build = self.construction("0")

        def opened(loop: Any) -> Any:
            self.loop = loop
            return build()

        return opened

    @property
    def running(self) -> RecordedLoop:
        """Its loop, each call on which is an operation."""
        return RecordedLoop(self, self.operations(), lambda: self.rest_rule)

    def put(self, queue: Any, item: Item) -> Any:
        """Put an item with the priority of its request, and wait for the end."""
        return self.running.run(queue.put(item, priority=item.value.priority))

    def store_one(self) -> Iterator[None]:
        queue, loop = self.open(), self.running
        yield
        self.put(queue, self.item(1))
        yield
        loop.run(queue.get())
        loop.run(queue.close())

    def use(self, directory: Path) -> None:
        self.renew(directory)
        queue, loop = self.open(), self.running
        for number in (1, 2, 3):
            self.put(queue, self.item(number))
        for _ in range(3):
            loop.run(queue.get())
        getting = loop.start(queue.get())
        self.loop.stays(getting)
        if getting.done():
            return  # it does not wait, which a clock that runs faster shows sooner
        self.put(queue, self.item(PLAIN))
        self.loop.settle(getting)
        self.put(queue, self.item(PLAIN + 1))
        loop.run(queue.get())
        loop.run(queue.close())

    def probe(self, workdir: Callable[[], Path]) -> Capabilities:
        """Find out what an implementation offers; ``workdir`` makes an empty directory for each experiment."""
        self.choose_loop(workdir)
        cls = self.implementation.cls
        filesystem = self.attempt(self._filesystem, workdir())
        stored = "it writes files in its place" if stored_files(self.directory, f"{self.directory}/0") else ""
        placed = f"it takes a {self.place}" if self.place in PATHS and not says_memory(cls) else ""
        persistent, copies = self.attempt(self._persistent, workdir()), self.attempt(self._copies, workdir())
        found = Capabilities(
            persistent=persistent,
            shared_storage=persistent and process.AVAILABLE and self.attempt(self._shows_others, workdir()),
            filesystem=filesystem,
            serializes=copies or persistent,  # what is there after a close has been written
            keeps_objects=persistent and not copies,
            clear=bool(methods_of(cls, "clear")),
            bounded="maxsize" in self.parameters,
            dedupe="dedupe" in self.parameters,
            ttl="item_ttl" in self.parameters,
            iterates=bool(methods_of(cls, "__aiter__")),
            real_loop=self.real,
        )
        return hold(found, cls, self.implementation.settings, {"persistent": filter(None, (stored, placed))})

    def _persistent(self) -> bool:
        queue, loop = self.open(), self.running
        for number in (1, 2):
            self.put(queue, self.item(number))
        if not self.without_close:
            loop.run(queue.close())
        return bool(loop.run(self.open().size()) > 0)

    def _shows_others(self) -> bool:
        """Whether another process that had opened the queue before counts what is put here, and then gets it."""
        operations = ("size", "get")
        with ExitStack() as processes:
            others = [
                processes.enter_context(elsewhere(consumers.use_async_queue, self.opener(), type(self.loop), operation))
                for operation in operations
            ]
            for other in others:
                step(other)
            queue, loop = self.open(), self.running
            self.put(queue, self.item(1))
            counts, gets = others
            shared = step(counts) == 1 and step(gets) == self.item(1).value.url and loop.run(queue.size()) == 0
            loop.run(queue.close())
        return bool(shared)

    def _filesystem(self) -> bool:
        self.put(self.open(), self.item(1))
        return any(path.is_file() for path in self.directory.rglob("*"))

    def _copies(self) -> bool:
        queue = self.open()
        self.put(queue, self.item(1))
        return self.running.run(queue.get()) is not self.item(1).value

    def priority_of(self, number: int) -> int:
        """Return the priority of an item of the pool."""
        return PRIORITIES[number % len(PRIORITIES)]

    def _item(self, number: int) -> Item:
        return self.prioritized(number, self.priority_of(number))

    def prioritized(self, number: int, priority: int) -> Item:
        """Return an item of that number whose request says that it has this priority, which need not be that of the pool."""
        fields = self.fields_of(number // len(PRIORITIES))

        def given(value: int) -> Item:
            item = self.evaluate(request_source(f"https://example.com/{number}", fields, [f"priority={value}"]))
            return Item(item.value, item.source, number)

        return given(priority_given(priority, lambda value: given(value).value))

    def same(self, value: Any, item: Item) -> bool:
        return not self.differences(value, item.value)

    def imports(self, body: str) -> list[str]:
        of_factory = ["from qcrawl.core.queues.factory import create_queue"] if "create_queue(" in body else []
        return [*super().imports(body), *of_factory]


def _parameters(builder: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Return the parameters of a constructor, or of the author's function that builds queues, by their names."""
    try:
        return {name: p for name, p in inspect.signature(builder).parameters.items() if p.kind is not p.VAR_KEYWORD}
    except (TypeError, ValueError):
        return {}
