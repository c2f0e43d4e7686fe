"""How what came differs from what was expected, in a few words that are the same whatever the values are."""

from __future__ import annotations

from collections import Counter
from typing import Any

from queue_conformance.engine.handling import total

PLAIN = ("None", "True", "False")
"""Results that say by themselves how they differ."""

ANOTHER = "another result"
"""What is said where nothing more is known."""

LOST, DOUBLED, FOREIGN, EARLY, ALTERED = "lost", "doubled", "foreign", "out of turn", "altered"
"""What becomes of items: they do not come, come again, were never put in, come before others, or not as they were."""

NONE = object()
"""Stands for nothing that could be compared."""


def difference(actual: Any, expected: Any = NONE) -> str:
    """Return how what came differs from what was expected; nothing in it depends on which items they are.

    Args:
        actual: what came; it may be anything, and of a class that raises when it is compared.
        expected: what was expected, if that is one value.
    """
    if any(actual is plain for plain in (None, True, False)):
        return str(actual)
    return total(_difference, ANOTHER)(actual, expected)


def _difference(actual: Any, expected: Any) -> str:
    if type(actual) in (int, float) and type(expected) in (int, float):
        return "too low" if actual < expected else "too high"
    if type(actual) is type(expected) is dict:
        return _of_fields(actual, expected)
    if type(actual) in (list, tuple) and type(expected) in (list, tuple):
        return _of_items(Counter(actual), Counter(expected))
    return ANOTHER if type(actual) is type(expected) or expected is NONE else f"of type {type(actual).__name__}"


def _of_fields(actual: dict[Any, Any], expected: dict[Any, Any]) -> str:
    """Tell which fields are altered, missing or added."""
    lost = sorted(str(name) for name in expected.keys() - actual.keys())
    added = sorted(str(name) for name in actual.keys() - expected.keys())
    altered = sorted(str(name) for name in expected.keys() & actual.keys() if actual[name] != expected[name])
    told = ((ALTERED, altered), (LOST, lost), ("added", added))
    return "; ".join(f"{how} {', '.join(names)}" for how, names in told if names) or ANOTHER


def _of_items(actual: Counter[Any], expected: Counter[Any]) -> str:
    """Tell whether items are lost, doubled, foreign, or only in another order."""
    besides = (actual - expected).keys()
    told = {LOST: expected - actual, DOUBLED: besides & expected.keys(), FOREIGN: besides - expected.keys()}
    return ", ".join(how for how, found in told.items() if found) or EARLY
