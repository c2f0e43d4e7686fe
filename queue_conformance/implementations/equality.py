"""Whether a request came back as it was, the types of all values included."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from queue_conformance.implementations.quoted.example import same
from queue_conformance.implementations.recording import describe


@dataclass(frozen=True, slots=True)
class Difference:
    """The first field in which two requests differ.

    Attributes:
        name: the attribute, or ``class``.
        expected: what was pushed.
        actual: what was popped.
        rare: whether a value that is not ordinary did not survive, and nothing else in that field.
    """

    name: str
    expected: str
    actual: str
    rare: bool = False

    def assertion(self, source: str) -> list[str]:
        """Return lines of a script that fail because of this difference.

        Args:
            source: an expression for the request that was pushed.
        """
        if self.name == "class":
            return [f"assert type(popped) is type({source}), type(popped)"]
        if self.name in ("callback", "errback"):
            return [f"assert popped.{self.name} == {source}.{self.name}, popped.{self.name}"]
        return [
            f"pushed = {source}",
            f"assert same(pushed.{self.name}, popped.{self.name}), f'{{pushed.{self.name}!r}} became {{popped.{self.name}!r}}'",
        ]


def difference(pushed: Any, popped: Any) -> Difference | None:
    """Compare two requests in their class and all of ``Request.attributes``.

    Args:
        pushed: the request as it was.
        popped: what came back.

    Returns:
        The first difference, or ``None`` if they are equal.
    """
    if type(pushed) is not type(popped):
        return Difference("class", type(pushed).__name__, describe(popped))
    for name in pushed.attributes:
        before, after = getattr(pushed, name), getattr(popped, name)
        if name in ("callback", "errback"):  # to which spider a method is bound is a rule of its own
            before, after = (getattr(method, "__func__", method) for method in (before, after))
        if not same(before, after):
            return Difference(name, describe(before), describe(after), _only_rare_values_differ(before, after))
    return None


_SCALARS = (type(None), bool, int, float, str, bytes, datetime)


def is_ordinary(value: Any) -> bool:
    """Whether a value is of the types that documents name for what requests carry, all the way down."""
    if isinstance(value, dict):  # of headers too
        return all(map(is_ordinary, [*value.keys(), *value.values()]))
    return all(map(is_ordinary, value)) if type(value) in (list, tuple, set) else type(value) in _SCALARS


def _only_rare_values_differ(before: Any, after: Any) -> bool:
    if same(before, after):
        return True
    if type(before) is not type(after) or type(before) not in (dict, list, tuple):
        return type(before) not in (dict, list, tuple) and not is_ordinary(before)
    if len(before) != len(after):
        return False
    if not isinstance(before, dict):
        return all(map(_only_rare_values_differ, before, after))
    return all(key in after and _only_rare_values_differ(value, after[key]) for key, value in before.items() if is_ordinary(key))
