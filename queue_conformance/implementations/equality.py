"""Whether a request came back as it was, the types of all values included."""

from __future__ import annotations

from dataclasses import dataclass
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
    """

    name: str
    expected: str
    actual: str

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
            return Difference(name, describe(before), describe(after))
    return None
