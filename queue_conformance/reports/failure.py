"""One broken rule, on one screen."""

from __future__ import annotations

import textwrap

from queue_conformance.specification import Rule, fitting
from queue_conformance.suites.outcomes import Violation

WIDTH = 100
"""Columns of a failure."""

FIRST, LAST = 4, 8
"""Operations shown at the beginning and at the end, if there are more."""

STACK_LINES = 10
"""Lines of stacks that are shown."""


def render(rule: Rule, violation: Violation) -> str:
    """Return a broken rule as text.

    Args:
        rule: the rule.
        violation: how it was broken.
    """
    provisional = f", provisional: new in {rule.provisional}, fails no run yet" if rule.provisional else ""
    lines = [
        f"{rule.id}  {rule.level} broken{provisional}",
        *_wrapped(rule.sentence, "  "),
        *_wrapped(violation.expected, "  expected  ", "            "),
        *_wrapped(violation.actual, "  actual    ", "            "),
        "  operations",
        *(f"    {line}" for line in _shortened(violation.operations)),
    ]
    for other in violation.others:
        lines += _wrapped(f"{other.cause}: expected {other.expected}, got {other.actual}", "  also      ", "            ")
    if violation.stacks:
        stacks = violation.stacks.splitlines()
        lines += ["  stacks", *(f"    {line.strip()}" for line in stacks[:STACK_LINES])]
    for hint in fitting(rule.hints, violation.evidence):
        lines += _wrapped(hint, "  hint      ", "            ")
    lines += _wrapped(rule.source, "  source    ", "            ")
    lines += ["  script", textwrap.indent(violation.script.rstrip(), "    ")]
    return "\n".join(lines)


def _wrapped(text: str, first: str, later: str = "  ") -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=later, break_long_words=False, break_on_hyphens=False
    )


def _shortened(operations: tuple[str, ...]) -> list[str]:
    lines = [line for operation in operations for line in operation.splitlines()]
    if len(lines) <= FIRST + LAST + 1:
        return lines
    return [*lines[:FIRST], f"... {len(lines) - FIRST - LAST} more ...", *lines[-LAST:]]
