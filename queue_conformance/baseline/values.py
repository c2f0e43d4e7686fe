"""The values of what a baseline holds; who reads one of them raises ``ValueError`` with what to write."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from functools import partial
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement

from queue_conformance.engine.sequences import checked


def a_text(value: object) -> str:
    """Return a text."""
    if not isinstance(value, str):
        raise ValueError("write a text in quotes")
    return value


def some_text(value: object, otherwise: str = "write some text") -> str:
    """Return a text that says something."""
    if not a_text(value).strip():
        raise ValueError(otherwise)
    return a_text(value)


def some_texts(value: object) -> tuple[str, ...]:
    """Return a list of texts."""
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ValueError("write a list of texts")
    return tuple(value)


def _date(value: object) -> date:
    if type(value) is not date:
        raise ValueError("write a date such as 2030-01-31, without quotes")
    return value


def _conditions(value: object) -> tuple[str, ...]:
    texts = (value,) if isinstance(value, str) else some_texts(value)
    for text in texts:
        try:
            condition = Requirement(text)
        except InvalidRequirement:
            condition = None
        if condition is None or not condition.specifier or condition.extras or condition.url or condition.marker:
            raise ValueError("write a condition such as 'scrapy<2.20', or a list of them")
    return texts


def _findings(value: object) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(one, dict) and "rule" in one for one in value):
        raise ValueError("write a list of findings, each with a rule")
    return value


def a_number(value: object) -> int:
    """Return a whole number."""
    if type(value) is not int or value < 0:
        raise ValueError("write a whole number, 0 or more")
    return value


READERS: Mapping[str, Callable[[object], Any]] = {
    "implementation": some_text,
    "rule": some_text,
    "cause": a_text,
    "ways": some_texts,
    "reason": partial(some_text, otherwise="say why this is acceptable"),
    "issue": a_text,
    "expires": _date,
    "versions": _conditions,
    "expected": a_text,
    "actual": a_text,
    "operations": some_texts,
    "sequence": checked,
    "seed": a_number,
    "examples": a_number,
    "also": _findings,
}
"""What reads the value of each key; it raises ``ValueError`` with what to write."""
