"""The graph of pages that a whole crawl was about, as a drawing: the operations of a failure hold it as indented lines."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

STEP = 22
"""Pixels between two rows, and between a page and what it leads to."""

_LINE = re.compile(r"# ((?:  )*)(page \d+)(.*)")
_WRONG = re.compile(r"\b(lost|too often|not in its callback)$")


class Row(NamedTuple):
    """One page, and from where a link leads to it.

    Attributes:
        x, y: where it is drawn.
        above: where the page above it, which leads to it, is drawn; its own place if none does.
        text: what is written beside it.
        wrong: whether it was lost, or came too often.
    """

    x: int
    y: int
    above: int
    text: str
    wrong: bool


def rows(operations: Iterable[str]) -> list[Row]:
    """Return the last graph that some operations show, from the top down; none if they show none."""
    found: list[Row] = []
    above: dict[int, int] = {}
    goes_on = False
    for line in "\n".join(operations).splitlines():
        match = _LINE.fullmatch(line)
        if match and not goes_on:
            found, above = [], {}
        goes_on = bool(match)
        if match:
            depth, y = len(match[1]) // 2, STEP * len(found) + STEP // 2
            above[depth] = y
            text = match[2] + match[3]
            found.append(Row(STEP * depth + STEP // 2, y, above.get(depth - 1, y), text, bool(_WRONG.search(text))))
    return found
