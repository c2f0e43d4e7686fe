"""How what came differs from what was expected, in a few words that are the same whatever the values are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Any

from queue_conformance.engine.handling import total
from queue_conformance.engine.recording import describe, is_a

PLAIN = ("None", "True", "False")
"""Results that say by themselves how they differ."""

ANOTHER = "another result"
"""What is said where nothing more is known."""

LOST, DOUBLED, FOREIGN, EARLY, ALTERED = "lost", "doubled", "foreign", "out of turn", "altered"
"""What becomes of items: they do not come, come again, were never put in, come before others, or not as they were."""

LEFT = "not empty"
"""What is said of what should be empty."""

UNRAISED = "nothing raised"
"""What is said of an operation that should raise."""

OTHER = "another one"
"""What is said of a value of the same type."""

OUTCOMES = ("returned", "raised", "cancelled", "waiting")
"""What becomes of tasks."""

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


def difference_in(left: Any, comparison: str, right: Any) -> str:
    """Return how what came differs from what a comparison asks for, which has the name of its syntax node."""
    if comparison in ("NotEq", "IsNot", "NotIn"):
        return "the same"
    if comparison in _LIMITS and is_a(left, int, float):
        return _LIMITS[comparison]
    if comparison == "In":
        right = next(iter(right), NONE) if is_a(right, list, tuple) else NONE
    return difference(left, right)


_LIMITS = {"Lt": "too high", "LtE": "too high", "Gt": "too low", "GtE": "too low"}
"""What a number is that is not on the right side of a limit."""


def difference_of_limits(actual: Any, least: float, most: float) -> str:
    """Return how a number differs from those that are right."""
    return difference(actual, most if is_a(actual, int, float) and actual > most else least)


def untruth(actual: Any, expected: bool) -> str:
    """Return how something differs from what is true, or false."""
    if any(actual is plain for plain in (None, True, False)):
        return str(actual)
    sized = is_a(actual, str, bytes, list, tuple, dict, set, frozenset)
    return ("empty" if expected else LEFT) if sized else f"{'false' if expected else 'true'}"


def _difference(actual: Any, expected: Any) -> str:
    actual, expected = _plain(actual), _plain(expected)
    kind, wanted = type(actual), type(expected)
    if kind in (int, float) and wanted in (int, float):
        return "too low" if actual < expected else "too high"
    if kind is wanted is dict:
        return LEFT if not expected else _of_fields(actual, expected)
    if kind is wanted is tuple and actual[:1] != expected[:1] and actual[:1] and actual[0] in OUTCOMES:
        return str(actual[0])
    if {kind, wanted} <= {list, tuple} or {kind, wanted} <= {set, frozenset}:
        return LEFT if not expected else _of_items(actual, expected)
    if expected is None:
        return "not None"
    if expected is NONE:
        return ANOTHER
    return OTHER if kind is wanted else f"of type {kind.__name__}"


def _plain(value: Any) -> Any:
    """Return what a value of the kit stands for; a list that only shows itself otherwise is a list."""
    return [*value] if is_a(value, list) else getattr(value, "__wrapped__", value)


def _of_fields(actual: dict[Any, Any], expected: dict[Any, Any]) -> str:
    """Tell which fields are altered, of another type, missing or added."""
    both = expected.keys() & actual.keys()
    lost = sorted(str(name) for name in expected.keys() - actual.keys())
    added = sorted(str(name) for name in actual.keys() - expected.keys())
    altered = sorted(str(name) for name in both if actual[name] != expected[name])
    others = sorted(str(name) for name in both if type(actual[name]) is not type(expected[name]) and str(name) not in altered)
    told = ((ALTERED, altered), ("of another type", others), (LOST, lost), ("added", added))
    return "; ".join(f"{how} {', '.join(names)}" for how, names in told if names) or "of other types"


def _of_items(actual: Collection[Any], expected: Collection[Any]) -> str:
    """Tell whether items are lost, doubled, foreign, or only in another order."""
    try:
        found, wanted = Counter(actual), Counter(expected)
    except TypeError:  # dictionaries, say
        return ALTERED if len(actual) == len(expected) else LOST if len(actual) < len(expected) else FOREIGN
    besides = (found - wanted).keys()
    told = {LOST: wanted - found, DOUBLED: besides & wanted.keys(), FOREIGN: besides - wanted.keys()}
    return ", ".join(how for how, found in told.items() if found) or EARLY


def differing(left: dict[Any, Any], right: dict[Any, Any]) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """Return of each of two dictionaries the part that is not the same in the other one."""
    same = {name for name, value in left.items() if name in right and right[name] == value}
    return tuple({name: value for name, value in one.items() if name not in same} for one in (left, right))  # type: ignore[return-value]


def missing_or_besides(left: Any, right: Any, expected: str) -> str:
    """Tell which texts a list lacks, or has in addition, compared with another one; ``""`` if both, or if one says it all."""
    if not all(type(side) is list and all(type(one) in (str, bytes) for one in side) for side in (left, right)):
        return ""
    if not right or not (left or expected):
        return ""
    lacks, besides = Counter(right) - Counter(left), Counter(left) - Counter(right)
    if lacks and besides:
        return ""
    return "".join(f", {describe([*found])} {how}" for found, how in ((lacks, "missing"), (besides, "too many")) if found)
