"""The drivers of queuelib's collections, ``cls(qfactory, start)``, over inner queues of the kit's own."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

from queue_conformance.engine.recording import Recorder
from queue_conformance.engine.scripts import SCRATCH
from queue_conformance.implementation import Implementation
from queue_conformance.implementation.capabilities import Capabilities
from queue_conformance.kinds.byte_collections import script_support as inner
from queue_conformance.kinds.queue.byte_driver import ByteItems

_OVER_STORE = re.compile(r"\(store_(\w+)\.factory\(ClearableInnerQueue\)")
"""What scripts build a collection over, unless they may use a queue of queuelib: they look at the store, or clear it."""


class CollectionDriver(ByteItems):
    """Builds collections; what the inner queues hold survives a close."""

    constructor_rule: ClassVar[str] = "queuelib.ctor"
    interface_rule: ClassVar[str] = "queue.ctor.base-queue"
    lives_without_close: ClassVar[bool] = True
    definitions: ClassVar[tuple[ModuleType, ...]] = (inner,)
    places: ClassVar[tuple[Hashable, ...]]
    """The priorities or keys that checks use."""

    def __init__(self, implementation: Implementation, directory: Path, recorder: Recorder) -> None:
        super().__init__(implementation, directory, recorder)
        self.stores: dict[str, inner.Store] = {}  # scripts call that of "0" store_0

    def renew(self, directory: Path) -> None:
        super().renew(directory)
        self.stores = {}

    def store(self, name: str) -> inner.Store:
        """Return where the inner queues of a queue keep their items."""
        return self.stores.setdefault(name, inner.Store())

    def construction(
        self,
        name: str,
        *,
        start: list[Hashable] | None = None,
        once: bool = False,
        inner_class: type[inner.InnerQueue] = inner.ClearableInnerQueue,
        **options: Any,
    ) -> tuple[str, Callable[[], Any]]:
        """Tell how a queue is built.

        Args:
            name: which store its inner queues keep their items in.
            start: the priorities or keys to start with.
            once: pass them as an iterator.
            inner_class: the class of the inner queues.
            options: further arguments of the constructor, which override the settings.
        """
        arguments: list[Any] = [self.store(name).factory(inner_class)]
        sources = [f"store_{name}.factory({inner_class.__name__})"]
        if start is not None:
            arguments.append(iter(start) if once else start)
            sources.append(f"iter({start!r})" if once else repr(start))
        keywords = {**self.implementation.values, **options}
        sources += [f"{name}={value!r}" for name, value in keywords.items()]
        return f"{self.class_name}({', '.join(sources)})", lambda: self.implementation.cls(*arguments, **keywords)

    def probe(self, workdir: Callable[[], Path]) -> Capabilities:
        cls = self.implementation.cls
        return Capabilities(persistent=True, peek=hasattr(cls, "peek"), clear=hasattr(cls, "clear"))

    def script(self, title: str, lines: Sequence[str], *definitions: ModuleType) -> str:
        body = _OVER_STORE.sub(r"(lambda key: FifoDiskQueue(f'{directory}/\1-{key}')", "\n".join(lines))
        looks_inside = re.search(r"\bstore_|\bclear\(", body)
        return super().script(title, lines if looks_inside else body.splitlines(), *definitions)

    def setup(self, body: str) -> list[str]:
        if "directory" in body:
            return [*SCRATCH]
        return [f"{name} = Store()" for name in sorted(set(re.findall(r"\bstore_\w+", body)))]

    def place_of(self, number: int) -> Hashable:
        """Return the priority or key that an item of the pool belongs to."""
        return self.places[number % len(self.places)]


class BytePriorityQueueDriver(CollectionDriver):
    """queuelib's ``PriorityQueue`` and others with ``push(item, priority=0)``."""

    places: ClassVar[tuple[Hashable, ...]] = (0, 2, -3, 10)


class RoundRobinQueueDriver(CollectionDriver):
    """queuelib's ``RoundRobinQueue`` and others with ``push(item, key)``."""

    places: ClassVar[tuple[Hashable, ...]] = ("a", "b", "c")
