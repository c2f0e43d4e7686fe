"""Whether a request came back unchanged, including the types of all values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from queue_conformance.engine.context import CheckContext
from queue_conformance.script_support.example import field, same

TOGETHER = {
    "meta": ({"a": 1}, {}, {"a": 2}),
    "cb_kwargs": ({"a": 1}, {}, {"a": 2}),
    "headers": ({b"A": [b"1"], b"B": [b"2"]}, {}, {b"A": [b"3"], b"B": [b"2"]}),
    "cookies": ({"a": "1"}, {}, {"a": "2"}),
    "flags": (["a"], [], ["b"]),
    "method": ("POST", "GET", "PUT"),
    "body": (b"1", b"", b"2", b"x" * 70_000, b"x" * 70_000),
    "priority": (1, 0, -1),
    "dont_filter": (True, False),
}
"""Fields of requests for one URL that wait in one queue: none of them may take over anything from another."""

_MARKS = ("meta", "flags")


def fields_together(context: CheckContext) -> Iterator[str]:
    """Yield the fields of such requests: what keeps objects may mark them, which is no matter of what comes out of it."""
    yield from (name for name in TOGETHER if context.offers("serializes") or name not in _MARKS)


@dataclass(frozen=True, slots=True)
class Difference:
    """The first field in which two requests differ.

    Attributes:
        name: the attribute, or ``__class__``.
        rare: whether a value that is not ordinary did not survive, and nothing else in that field.
        plain: whether ``==`` of the attributes tells.
    """

    name: str
    rare: bool = False
    plain: bool = False


def difference(pushed: Any, popped: Any) -> Difference | None:
    """Compare two requests in their class and all of ``Request.attributes``.

    Args:
        pushed: the request as it was.
        popped: what came back.

    Returns:
        The first difference, or ``None`` if they are equal.
    """
    if type(pushed) is not type(popped):
        return Difference("__class__")
    for name in pushed.attributes:
        before, after = field(pushed, name), field(popped, name)
        if not same(before, after):
            plain = name not in ("callback", "errback") and "nan" not in repr(before) and before != after
            return Difference(name, _only_rare_values_differ(before, after), plain)
    return None


_SCALARS = (type(None), bool, int, float, str, bytes, datetime)


def is_ordinary(value: Any) -> bool:
    """Whether a value, and everything in it, is of a type that documents name for the contents of requests."""
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
