"""Exceptions that no operation raised, but code of the kit that looks at what one returned: these values may be hostile."""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar

from queue_conformance.engine.recording import NOTHING, Step, call_of, describe

T = TypeVar("T")

_KIT = "queue_conformance"
_LOOKS = re.compile(r"\.(checks\..*|smoke|script_support(\..*)?|engine\.(record|writing|recording|check|handling))$")
"""The modules of code that does nothing but look at values: checks, and what they and scripts call."""

_SURROUNDINGS = (OSError, MemoryError, ImportError)
"""What may be raised because of the machine."""


def total(function: Callable[..., T], otherwise: T) -> Callable[..., T]:
    """Return a function that returns something else where it would raise because of what it looks at, and not for the kit."""

    @wraps(function)
    def looking(*arguments: Any) -> T:
        try:
            return function(*arguments)
        except Exception as error:
            if is_of_kit(error):
                raise
            return otherwise

    return looking


def mishandled(error: Exception, steps: Sequence[Step], *, anywhere: bool = False) -> tuple[str, str] | None:
    """Return what was expected and what came, if an exception is due to a value that an operation returned.

    That is so where it was raised by the code of the value, or by code that does nothing but look at it, as a script would.

    Args:
        error: the exception.
        steps: what was done before.
        anywhere: whatever code of the kit had it in a variable, if it is an object of another class than the plain ones.
    """
    returned = last_returned(steps)
    if returned is None or _package_of(error) in _OURS:
        return None
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    modules = [str(frame.f_globals.get("__name__", "")) for frame in frames]
    held = any(value is returned.result for frame in frames for value in frame.f_locals.values())
    strange = anywhere and held and type(returned.result) not in _PLAIN
    looked = strange or all(map(_LOOKS.search, (name for name in modules if name.startswith(f"{_KIT}."))))
    foreign = _is_foreign(modules[-1]) and not (type(returned.result) is list and not returned.result)  # which runs no code
    if not (foreign or (looked and not isinstance(error, _SURROUNDINGS))):
        return None
    actual = f"{describe(returned.result)} from {call_of(returned)}, and {describe(error)} raised where that is looked at"
    return "a result that can be looked at", actual


def last_returned(steps: Sequence[Step]) -> Step | None:
    """Return the last operation that returned something."""
    return next((step for step in reversed(steps) if step.result is not NOTHING and step.error is None), None)


def is_of_kit(error: Exception) -> bool:
    """Whether an exception is one of the kit's own, which is about something else than a value."""
    return _package_of(error) == _KIT


def _package_of(error: Exception) -> str:
    return type(error).__module__.partition(".")[0]


_PLAIN = (type(None), bool, int, float, str, bytes)
"""The types of values that the kit itself must know how to look at."""

_OURS = (_KIT, "hypothesis", "pytest", "twisted", "scrapy", "queuelib", "qcrawl", "w3lib", "redis", "psycopg")
"""Packages that the kit itself calls."""


def _is_foreign(module: str) -> bool:
    """Whether code is neither the kit's, nor Python's, nor that of libraries which the kit calls."""
    return module.partition(".")[0] not in (*_OURS, *sys.stdlib_module_names)
