"""What is tested, behind a proxy that records every call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from queue_conformance.engine.recording import Recorder, describe, is_a
from queue_conformance.engine.sources import Sources

RESULTS: Mapping[str, str] = {
    "pop": "popped",
    "peek": "peeked",
    "len": "length",
    "bool": "truth",
    "close": "left",
}
"""By operation of a queue, the variable that holds its result where no statement of a check says."""


@dataclass(frozen=True, slots=True)
class Item:
    """Something to push.

    Attributes:
        source: a Python expression that makes an equal one.
        number: its number in the pool of prepared items, or ``None``.
    """

    value: Any
    source: str
    number: int | None = None


class Operations:
    """Runs operations on subjects outside of checks, each of which is a step by itself."""

    def __init__(self, recorder: Recorder, sources: Sources) -> None:
        self.recorder = recorder
        self.sources = sources

    def operate(self, source: str, rule: str, function: Callable[[], Any], name: str = "") -> Any:
        """Run one operation on a subject.

        Args:
            rule: the rule that fails if it raises or does not return.
            name: the variable that holds its result, where no statement of a check says.
        """
        return self.recorder.call(f"{name} = {source}" if name else source, rule, function)

    def make(self, source: str, rule: str, function: Callable[[], Any], name: str = "", *, shown: bool = True) -> Any:
        """Make something that scripts make with the expression ``source``.

        Args:
            name: the variable that holds it, where no statement of a check says.
            shown: whether the operations of a report show the result.
        """
        made = self.operate(source, rule, function, name)
        if not shown:
            self.recorder.remark()
        return made

    def amend(self, source: str) -> None:
        """Replace the expression of the operation in progress."""
        self.recorder.amend(source)

    @property
    def target(self) -> str:
        """The name that the statement in progress assigns to, or ``""``."""
        return ""

    def written(self, *arguments: Any, **keywords: Any) -> str:
        """Return arguments as Python; those without an expression are only described."""
        named = [f"{name}={self._shown(value)}" for name, value in keywords.items()]
        return ", ".join([*map(self._shown, arguments), *named])

    def _shown(self, value: Any) -> str:
        if is_a(value, Subject):
            return str(value.name)
        return value.source if is_a(value, Item) else self._source_of(value) or describe(value)

    def _source_of(self, value: Any) -> str | None:
        return self.sources.of(value)


class Subject:
    """An object of the implementation: each call on it is an operation.

    Args:
        name: its name in scripts.
        rules: by the name of a method, the rule that fails if it raises or does not return.
    """

    __slots__ = ("name", "raw", "record", "rules")
    results: ClassVar[Mapping[str, str]] = RESULTS

    def __init__(self, raw: Any, name: str, record: Operations, rules: Mapping[str, str]) -> None:
        self.raw = raw
        self.name = name
        self.record = record
        self.rules = rules

    def __getattr__(self, method: str) -> Any:
        own = getattr(self.raw, "__dict__", {})
        if method in own and not callable(own[method]) and not callable(getattr(type(self.raw), method, None)):
            return self.record.operate(f"{self.name}.{method}", self.rules.get(method, ""), lambda: getattr(self.raw, method))

        def call(*arguments: Any, **keywords: Any) -> Any:
            return self.record.operate(
                f"{self.name}.{method}({self.record.written(*arguments, **keywords)})",
                self.rules.get(method, ""),
                lambda: getattr(self.raw, method)(*map(unwrapped, arguments), **keywords),
                self.results.get(method, ""),
            )

        return call

    def __len__(self) -> int:
        length: int = self.record.operate(f"len({self.name})", self.rules.get("len", ""), lambda: len(self.raw), "length")
        return length

    def __bool__(self) -> bool:
        truth: bool = self.record.operate(f"bool({self.name})", self.rules.get("bool", ""), lambda: bool(self.raw), "truth")
        return truth


def unwrapped(value: Any) -> Any:
    """Return the object of the implementation behind a proxy, or what an item is; anything else as it is."""
    return value.raw if is_a(value, Subject) else value.value if is_a(value, Item) else value
