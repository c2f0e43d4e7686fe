"""The driver of queuelib's queues: ``cls(path)`` or ``cls()``, and bytes as items."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

from queue_conformance.implementations import Implementation
from queue_conformance.implementations.drivers.base import OPENER_ARGUMENTS, Driver, Item
from queue_conformance.implementations.quoted import kills
from queue_conformance.implementations.recording import Recorder
from queue_conformance.implementations.scripts import namespace, quoted


class ByteItems(Driver):
    """Items of bytes."""

    def __init__(self, implementation: Implementation, directory: Path, recorder: Recorder) -> None:
        super().__init__(implementation, directory, recorder)
        self.names = namespace()

    def _item(self, number: int) -> Item:
        source = f'b"item {number}"' + (" * 1000" if number % 7 == 6 else "")
        return Item(eval(source), source, number)

    def evaluate(self, source: str) -> Item:
        return Item(eval(source, self.names), source)

    def identify(self, value: Any) -> int | None:
        if isinstance(value, bytes) and value.startswith(b"item "):
            digits = value[5:].partition(b"item")[0]
            return int(digits) if digits.isdigit() else None
        return None

    def same(self, value: Any, item: Item) -> bool:
        return type(value) is type(item.value) and bool(value == item.value)

    def key_source(self, variable: str) -> str:
        return variable

    def key_literal(self, item: Item) -> str:
        return item.source

    def setup(self, body: str) -> list[str]:
        return []


class ByteQueueDriver(ByteItems):
    """Builds queues from a path, or from nothing if the constructor takes none."""

    constructor_rule: ClassVar[str] = "queuelib.ctor"
    interface_rule: ClassVar[str] = "queue.ctor.base-queue"
    definitions: ClassVar[tuple[ModuleType, ...]] = (kills,)

    def __init__(self, implementation: Implementation, directory: Path, recorder: Recorder) -> None:
        super().__init__(implementation, directory, recorder)
        self.takes_path = implementation.opener is not None or takes_path(implementation.cls)

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
            source = f"directory + {quoted('/' + name)}"
            arguments, sources = ([Path(path)], [f"Path({source})"]) if as_path else ([path], [source])
        if self.implementation.opener is not None:
            own = {name: (repr(value), value) for name, value in keywords.items()}
            cls = (self.class_name, self.implementation.cls)
            return self.author_builds(cls=cls, crawler=("None", None), key=(sources[0], arguments[0]), **own)
        sources += [f"{name}={value!r}" for name, value in keywords.items()]
        return f"{self.class_name}({', '.join(sources)})", lambda: self.implementation.cls(*arguments, **keywords)

    def setup(self, body: str) -> list[str]:
        if not self.takes_path:
            return []
        return ["scratch = tempfile.TemporaryDirectory()", "directory = scratch.name"]


_PATH_NAMES = ("path", "directory", "dir", "dirname", "file", "filename", "key")


def takes_path(cls: type[Any]) -> bool:
    """Whether the constructor of a byte queue takes a path: its first parameter is required, or named like one."""
    for parameter in _parameters(cls):
        required = parameter.default is parameter.empty and parameter.kind is not parameter.KEYWORD_ONLY
        return (required and parameter.kind is not parameter.VAR_KEYWORD) or parameter.name in _PATH_NAMES
    return False


def keywords(builder: Callable[..., Any]) -> tuple[list[str], bool]:
    """Return the names that a constructor accepts besides the path, and whether it accepts any name.

    Args:
        builder: the class, or the author's function that builds it.
    """
    found = _parameters(builder)
    if inspect.isclass(builder):
        found = found[1 if takes_path(builder) else 0 :]
    else:
        found = [parameter for parameter in found if parameter.name not in OPENER_ARGUMENTS]
    named = [p.name for p in found if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    return named, any(p.kind is p.VAR_KEYWORD for p in found)


def _parameters(builder: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(builder).parameters.values())
    except (TypeError, ValueError):
        return []
