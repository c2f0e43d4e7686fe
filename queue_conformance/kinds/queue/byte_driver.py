"""The driver of queuelib's queues: ``cls(path)`` or ``cls()``, and bytes as items."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

from queue_conformance.engine.driver import Driver
from queue_conformance.engine.recording import Recorder
from queue_conformance.engine.scripts import SCRATCH, namespace, source_of_backend
from queue_conformance.engine.subject import Item
from queue_conformance.engine.variety import Variety
from queue_conformance.implementation import Implementation
from queue_conformance.implementation.capabilities import Capabilities
from queue_conformance.implementation.signatures import takes_path
from queue_conformance.kinds.queue import at_once
from queue_conformance.kinds.queue.attribution import RULES, WHERE_SHARED
from queue_conformance.kinds.queue.probing import Probe
from queue_conformance.script_support import kills

_NUMBER = re.compile(rb"item (\d+)")
"""An item, and its number."""


class ByteItems(Driver):
    """Items of bytes."""

    rules: ClassVar[Mapping[str, str]] = RULES
    instead: ClassVar[Mapping[str, str]] = WHERE_SHARED
    variety: ClassVar[Variety] = Variety(
        {
            "feed": r"b'\n'",
            "zero": r"b'\0'",
            "high": r"b'\xff'",
            "lines": r"b'\r\n\r\n'",
            "blank": "b' '",
        },
        ((),),
    )

    def __init__(self, implementation: Implementation, directory: Path, recorder: Recorder) -> None:
        super().__init__(implementation, directory, recorder)
        self.names = namespace()

    def _item(self, number: int) -> Item:
        large = number % 7 == 6
        end = "" if large else "".join(source[2:-1] for source in self.fields_of(number).values())
        source = f"b'item {number}{end}'" + (" * 1000" if large else "")
        return Item(eval(source), source, number)

    def evaluate(self, source: str) -> Item:
        return Item(eval(source, self.names), source)

    def identify(self, value: Any) -> int | None:
        found = _NUMBER.match(value) if isinstance(value, bytes | bytearray) else None
        return int(found[1]) if found else None

    def same(self, value: Any, item: Item) -> bool:
        return type(value) is type(item.value) and bool(value == item.value)


class ByteQueueDriver(ByteItems):
    """Builds queues from a path, or from nothing if the constructor takes none."""

    constructor_rule: ClassVar[str] = "queuelib.ctor"
    reopen_rule: ClassVar[str] = "queue.persist.reopen"
    own_directory: ClassVar[bool] = False
    leak_rule: ClassVar[str] = "queue.close.releases"
    fault_rule: ClassVar[str] = "queue.fault.recovers"
    interface_rule: ClassVar[str] = "queue.ctor.base-queue"
    lives_without_close: ClassVar[bool] = True
    definitions: ClassVar[tuple[ModuleType, ...]] = (kills,)

    def __init__(self, implementation: Implementation, directory: Path, recorder: Recorder) -> None:
        super().__init__(implementation, directory, recorder)
        self.takes_path = implementation.factory is not None or takes_path(implementation.cls)

    def waiting(self) -> Callable[[], object]:
        """Pop from an empty queue."""
        pop: Callable[[], object] = self.open().pop
        return pop

    def probe(self, workdir: Callable[[], Path]) -> Capabilities:
        return Probe(self, workdir).bytes()

    def script(self, title: str, lines: Sequence[str], *definitions: ModuleType) -> str:
        return super().script(title, lines, *definitions, *(() if self.implementation.server else (at_once,)))

    def construction(self, name: str, *, as_path: bool = False, **options: Any) -> tuple[str, Callable[[], Any]]:
        """Tell how a queue is built.

        Args:
            name: the part of its path below the scratch directory.
            as_path: pass a ``pathlib.Path`` instead of a ``str``.
            options: further arguments of the constructor, which override the settings.
        """
        keywords = {**self.implementation.values, **options}
        arguments: list[Any] = []
        sources: list[str] = []
        if self.takes_path:
            path = f"{self.directory}/{name}"
            source = f"directory + {'/' + name!r}"
            arguments, sources = ([Path(path)], [f"Path({source})"]) if as_path else ([path], [source])
        if self.implementation.factory is not None:
            own = {name: (repr(value), value) for name, value in keywords.items()}
            cls = (self.class_name, self.implementation.cls)
            return self.author_builds(cls=cls, crawler=("None", None), key=(sources[0], arguments[0]), **own)
        sources += [f"{name}={value!r}" for name, value in keywords.items()]
        return f"{self.class_name}({', '.join(sources)})", lambda: self.implementation.cls(*arguments, **keywords)

    def setup(self, body: str) -> list[str]:
        return [*SCRATCH, *source_of_backend(self.implementation.server)]
