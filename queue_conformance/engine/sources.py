"""Values as Python expressions, as scripts write them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from types import BuiltinFunctionType, FunctionType
from typing import Any

from queue_conformance.engine.syntax import normal

LONG = 60
"""From this many equal characters or bytes on, and from this many final zeros of a number, a value is written as a product."""


class Sources:
    """Knows expressions for values: literals, ``directory`` for the scratch directory, and whatever :meth:`give` was told."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self._given: dict[int, tuple[Any, str]] = {}

    def give(self, value: Any, source: str) -> Any:
        """Note the expression for a value, and return the value, which is kept so that its id stays its own."""
        self._given[id(value)] = (value, source)
        return value

    @property
    def given(self) -> Iterable[tuple[Any, str]]:
        """The values that were given an expression, each with that expression."""
        return self._given.values()

    def has(self, value: Any) -> bool:
        """Whether a value was given an expression."""
        return id(value) in self._given

    def of(self, value: Any) -> str | None:
        """Return an expression that makes an equal value, or ``None`` if none is known."""
        try:
            return self._of(value)
        except Exception:  # the code of a value may raise anything
            return None

    def _of(self, value: Any) -> str:
        """Return an expression that makes an equal value; raise LookupError if none is known."""
        if id(value) in self._given:
            return normal(self._given[id(value)][1])
        kind = type(value)
        if kind is int and abs(value) >= 10**LONG and value % 10**LONG == 0:
            return _power(value)
        if value is None or kind in (bool, int, complex) or (kind is float and math.isfinite(value)):
            return repr(value)
        if kind in (str, bytes):
            return self._text(value)
        if kind is range and (value.start, value.step) == (0, 1):
            return f"range({value.stop})"
        if kind in (bytearray, range):
            return repr(value)
        if kind in (tuple, list, set, frozenset):
            return self._collection(value)
        if kind is dict:
            return f"{{{', '.join(f'{self._of(name)}: {self._of(found)}' for name, found in value.items())}}}"
        if isinstance(value, (type, BuiltinFunctionType)) and str(value.__module__).endswith(("builtins", ".script_support")):
            return value.__name__
        if kind is FunctionType and ".script_support" in value.__module__ and value.__name__.isidentifier():
            return str(value.__name__)  # scripts quote it
        raise LookupError

    def _text(self, value: str | bytes) -> str:
        if isinstance(value, str) and value.startswith(self.directory):
            below = value.removeprefix(self.directory)
            return f"directory + {below!r}" if below else "directory"
        if len(value) >= LONG and value.count(value[:1]) == len(value):  # type: ignore[arg-type]
            return f"{value[:1]!r} * {len(value)}"
        return repr(value)

    def _collection(self, value: Iterable[Any]) -> str:
        known = [self._of(each) for each in value]
        inner = ", ".join(known)
        if isinstance(value, list):
            return f"[{inner}]"
        if isinstance(value, tuple):
            return f"({inner},)" if len(known) == 1 else f"({inner})"
        literal = f"{{{', '.join(sorted(known))}}}" if known else "set()"
        return f"frozenset({literal})" if isinstance(value, frozenset) else literal


def among(left: str, form: str, literals: Sequence[str]) -> str:
    """Return an expression that tests whether something has one of some keys.

    Args:
        left: the expression for it.
        form: how its key is written, as ``{}.url``.
        literals: the keys.
    """
    compared = f"== {literals[0]}" if len(literals) == 1 else f"in ({', '.join(literals)})"
    guard = "" if form == "{}" else f"{left} is not None and "
    return f"{guard}{form.format(left)} {compared}"


def _power(value: int) -> str:
    """Return a round number as a product with a power of ten."""
    digits = str(value).rstrip("0")
    power = f"10**{len(str(value)) - len(digits)}"
    return {"1": power, "-1": f"-{power}"}.get(digits, f"{digits} * {power}")
