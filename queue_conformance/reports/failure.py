"""One failed rule, on one screen."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from queue_conformance.engine.outcomes import Violation
from queue_conformance.engine.verdicts import hints_for
from queue_conformance.specification import Rule

WIDTH = 100
"""Columns of a failure, where nobody says how many there are."""

LINES = 15
"""Lines that a failure has at most in its brief form."""

TEXT_LINES = 4
"""Lines of one of its texts, if there is room; else two."""

SHORTEST_RESULT = 16
"""Columns without which the result of an operation is not shown."""

LONG_ARGUMENTS = 20
"""Characters of arguments from which on they are not told where they are seen below."""

FIRST, LAST = 4, 8
"""Operations shown at the beginning and at the end, if there are more."""

STACK_LINES = 10
"""Lines of stacks that are shown."""

FAILS_TOO = "{}, from which it derives, fails in the same way"


def brief(rule: Rule, violation: Violation, width: int = WIDTH, script: str = "", breaks: Sequence[str] = ()) -> str:
    """Return a failed rule as text of at most :data:`LINES` lines.

    Args:
        script: how to get the script and all else.
        breaks: the rules that fail at the same line, and are not shown elsewhere.
    """

    operations = _lines(violation.operations)
    for most in range(TEXT_LINES, 1, -1):
        above, below = _texts(rule, violation, width, most, breaks)
        below += [f"  script    {script}"] if script else []  # in one piece, for it is to be copied
        room = LINES - len(above) - len(below)
        if len(operations) <= room:
            break
    operations = _shortened(operations, violation, max(1, room // 3), room - 1 - max(1, room // 3))
    return "\n".join([*above, *(_fitted(f"    {line}", width) for line in operations), *below])


def _texts(rule: Rule, violation: Violation, width: int, most: int, breaks: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return what stands above and below the operations, each text on so many lines at most."""

    def labelled(label: str, text: str) -> list[str]:
        lines = textwrap.wrap(text, width - len(_MARGIN), break_on_hyphens=False)
        if len(lines) > most:
            lines = [*lines[: most - 1], cut(" ".join(lines[most - 1 :]), width - len(_MARGIN))]
        return [f"{_MARGIN if number else f'  {label:<10}'}{line}" for number, line in enumerate(lines)]

    above = [_title(rule, len(violation.findings)), *labelled("rule", rule.sentence)]
    above += [*labelled("expected", violation.expected), *labelled("actual", _without_arguments(violation))]
    below = labelled("breaks", f"{', '.join(breaks)}, too, at the same line") if breaks else []
    if violation.base:
        below += labelled("base", FAILS_TOO.format(violation.base))
    for hint in hints_for(rule, replace(violation, others=()))[:1]:  # the others are not shown
        below += labelled("hint", hint)
    return above, below


def _without_arguments(violation: Violation) -> str:
    """Return what happened, without long arguments of a call that is the last operation below it."""
    told, by, rest = violation.actual.partition(" raised by ")
    last = violation.operations[-1] if violation.operations else ""
    call = last.partition("  # ")[0].rpartition(" = ")[2] if "\n" not in last else ""
    name, _, arguments = call.partition("(")
    if not by or len(arguments) < LONG_ARGUMENTS or not rest.startswith(call):
        return violation.actual
    return f"{told}{by}{name}(...){rest.removeprefix(call)}"


def _fitted(operation: str, width: int) -> str:
    """Return an operation that fits so many columns, if need be without its result."""
    source, _, result = operation.partition("  # ")
    return cut(source if len(source) + SHORTEST_RESULT > width and len(operation) > width and result else operation, width)


def render(rule: Rule, violation: Violation, width: int = WIDTH, *, script: bool = True) -> str:
    """Return a failed rule as text, with all that is known.

    Args:
        script: whether the script stands at the end.
    """

    def wrapped(text: str, first: str, later: str = _MARGIN) -> list[str]:
        wrap = partial(textwrap.wrap, width=width, break_long_words=False, break_on_hyphens=False)
        return wrap(text, initial_indent=first, subsequent_indent=later)

    lines = [
        _title(rule),
        *wrapped(rule.sentence, "  ", "  "),
        *wrapped(violation.expected, "  expected  "),
        *wrapped(violation.actual, "  actual    "),
        "  operations",
        *(f"    {line}" for line in _shortened(_lines(violation.operations), violation, FIRST, LAST)),
    ]
    for other in violation.others:
        again = other.said == violation.said and other.way
        told = f"{other.cause}, with {other.way}" if again else f"{other.cause}: {other.said}"
        lines += wrapped(told, "  also      ")
    if violation.stacks:
        stacks = violation.stacks.splitlines()
        lines += ["  stacks", *(f"    {line.strip()}" for line in stacks[:STACK_LINES])]
    if violation.base:
        lines += wrapped(FAILS_TOO.format(violation.base), "  base      ")
    for hint in hints_for(rule, violation):
        lines += wrapped(hint, "  hint      ")
    lines += wrapped(rule.source, "  source    ")
    if script:
        lines += ["  script", textwrap.indent(violation.script.rstrip(), "    ")]
    return "\n".join(lines)


_MARGIN = " " * 12
"""What stands before all but the first line of a text with a label."""


def _title(rule: Rule, ways: int = 1) -> str:
    provisional = f", provisional: new in {rule.provisional}, fails no run yet" if rule.provisional else ""
    return f"{rule.id}  {rule.level} failed{f' in {ways} ways' if ways > 1 else ''}{provisional}"


def cut(text: str, width: int) -> str:
    """Return a line that fits so many columns: whole words of it, unless one of them is very long."""
    if len(text) <= width:
        return text
    words = text[: width - 2].rpartition(" ")[0].rstrip()
    return f"{words if 4 * len(words) > 3 * width else text[: width - 3]}..."


def _lines(operations: Sequence[str]) -> list[str]:
    return [line for operation in operations for line in operation.splitlines()]


MOST_KEPT = 2
"""Operations that are kept at most of those that are left out."""

_TEXT = re.compile(r"""(['"])((?:(?!\1)[^\\]|\\.)+)\1""")
"""A text in an expression, by which items are told apart."""


def _shortened(lines: list[str], violation: Violation, first: int, last: int) -> list[str]:
    """Return the first and the last lines, and of the others what raised, and what handled the items that are spoken of."""
    if len(lines) <= first + last + 1:
        return lines
    texts = {found[2] for found in _TEXT.finditer(f"{violation.expected} {violation.actual}")}

    def rank(at: int) -> int:
        return 0 if "# raised" in lines[at] else 1 if texts & {found[2] for found in _TEXT.finditer(lines[at])} else 2

    kept: list[int] = []
    while len(kept) < MOST_KEPT and last > 2:
        spoken = [at for at in range(first, len(lines) - last) if at not in kept and rank(at) < 2]
        if not spoken:
            break
        kept.append(min(spoken, key=rank))
        last -= 2  # for this line, and one on how many are left out before it
    shown: list[str] = []
    before = -1
    for at in [*range(first), *sorted(kept), *range(len(lines) - last, len(lines))]:
        if at > before + 1:
            shown.append(lines[at - 1] if at == before + 2 else f"... {at - before - 1} more ...")
        shown.append(lines[at])
        before = at
    return shown
