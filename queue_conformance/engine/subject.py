"""What is tested, behind a proxy that records every call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from queue_conformance.engine.recording import is_a

if TYPE_CHECKING:
    from queue_conformance.engine.record import Record


class Subject:
    """An object of the implementation: each call on it is an operation.

    Args:
        name: its name in scripts.
        rules: by the name of a method, the rule that fails if it raises or does not return.
    """

    __slots__ = ("name", "raw", "record", "rules")

    def __init__(self, raw: Any, name: str, record: Record, rules: Mapping[str, str]) -> None:
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
            )

        return call

    def __len__(self) -> int:
        length: int = self.record.operate(f"len({self.name})", self.rules.get("len", ""), lambda: len(self.raw))
        return length

    def __bool__(self) -> bool:
        truth: bool = self.record.operate(f"bool({self.name})", self.rules.get("bool", ""), lambda: bool(self.raw))
        return truth


def unwrapped(value: Any) -> Any:
    """Return the object of the implementation behind a proxy; anything else as it is."""
    return value.raw if is_a(value, Subject) else value
