"""Loops in scripts: consecutive statements that differ in nothing, in numbers that count, or in one literal."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from keyword import iskeyword
from typing import Any, NamedTuple

from queue_conformance.engine.syntax import parse

TIMES = 4
"""The fewest repetitions that are written as a loop."""

LONGEST = 20
"""The most statements in the body of a loop."""

WIDTH = 100
"""The longest line, in characters, with the values of a loop."""

MOST_TURNS = 70
"""The most turns of a loop whose statements differ from turn to turn."""

MANY = 500
"""In longer scripts, only identical statements become loops."""

_NOT_LITERAL = (ast.JoinedStr, ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
"""What is evaluated when the loop is over, or is not a literal as a whole."""


class _Literal(NamedTuple):
    """A literal: where it stands in a text, its value, and what a loop over such values calls one."""

    start: int
    end: int
    value: Any
    name: str


class _Count(NamedTuple):
    """A number that changes by the same step each time, alone or between two texts."""

    first: int
    step: int
    before: Any = None
    after: Any = None

    def written(self, more: int) -> str:
        """Return the expression whose number is ``n`` plus so much."""
        number = f"n {'-' if more < 0 else '+'} {abs(more)}" if more else "n"
        if isinstance(self.before, str):
            before, after = (text.replace("{", "{{").replace("}", "}}") for text in (self.before, self.after))
            return "f" + repr(f"{before}{{{number}}}{after}")
        if isinstance(self.before, bytes):
            before, after = (text.replace(b"%", b"%%") for text in (self.before, self.after))
            return f"{before + b'%d' + after!r} % {f'({number})' if more else number}"
        return number


def repeated(statements: Sequence[str], at: int, *, alike: bool) -> tuple[int, list[str]]:
    """Find the loop that saves most lines.

    Args:
        at: the index of the first statement of the loop.
        alike: whether literals may differ from turn to turn.

    Returns:
        How many statements it replaces, and its lines; 0 and none if no loop is shorter.
    """
    best: tuple[int, int, list[str]] = (1, 0, [])
    for size in range(1, LONGEST + 1):
        times = _times(statements, at, size)
        if alike and times < TIMES and len(statements) < MANY:
            times = _times([_pattern(statement) for statement in statements[at : at + size * MOST_TURNS]], 0, size)
        lines = _loop(statements[at : at + size * times], times) if times >= TIMES else []
        saved = sum(text.count("\n") + 1 for text in statements[at : at + size * times]) - len(lines)
        if lines and saved > best[0]:
            best = saved, size * times, lines
    return best[1:]


def _times(things: Sequence[Any], at: int, size: int) -> int:
    """Return how many times in a row the same ``size`` things come, from an index on."""
    times = 1
    while things[at : at + size] == things[at + times * size : at + (times + 1) * size]:
        times += 1
    return times


class _Pattern:
    """A statement as its literals and the text between them; if it is not valid Python, it has no literals.

    Two patterns are equal if only their literals differ.
    """

    def __init__(self, text: str) -> None:
        self.indent = text[: len(text) - len(text.lstrip())]
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]
        self._text = text
        self.literals = []
        with suppress(SyntaxError, ValueError):
            found = _literals(parse(textwrap.dedent(text)))
            self.literals = sorted([self._literal(node, name) for node, name in found], key=lambda one: one.start)
        ends, starts = [0, *(one.end for one in self.literals)], [*(one.start for one in self.literals), len(text)]
        self.between = [text[end:start] for end, start in zip(ends, starts, strict=True)]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Pattern) and self.between == other.between

    def _literal(self, node: ast.expr, name: str) -> _Literal:
        start = self._place(node.lineno, node.col_offset)
        return _Literal(start, self._place(node.end_lineno or 0, node.end_col_offset or 0), ast.literal_eval(node), name)

    def _place(self, line: int, column: int) -> int:
        start = self._lines[line - 1] + len(self.indent)
        return start + len(self._text[start:].encode()[:column].decode())


_pattern = lru_cache(10_000)(_Pattern)


def _literals(node: ast.AST, name: str = "value") -> Iterator[tuple[ast.expr, str]]:
    """Yield the literals in a tree, each with the name that a loop over its values gives it."""
    if isinstance(node, ast.Constant) or (isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant)):
        yield node, name
    elif isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            yield from _literals(value, str(getattr(key, "value", name)))
    elif not isinstance(node, _NOT_LITERAL):
        is_request = isinstance(node, ast.Call) and ast.unparse(node.func) == "Request"
        for child in ast.iter_child_nodes(node):
            yield from _literals(child, "url" if is_request else getattr(node, "arg", None) or name)


def _loop(statements: Sequence[str], times: int) -> list[str]:
    """Return the lines of a loop, with so many turns, that does what some statements do; none if they differ too much."""
    patterns = [_pattern(statement) for statement in statements]
    size = len(statements) // times
    rows = [[one for each in patterns[start : start + size] for one in each.literals] for start in range(0, len(patterns), size)]
    columns = [[one.value for one in column] for column in zip(*rows, strict=True)]
    varying = {at: column for at, column in enumerate(columns) if any(repr(value) != repr(column[0]) for value in column)}
    counts = {at: count for at, column in varying.items() if (count := _count(column))}
    first = next(iter(counts.values()), _Count(0, 0))
    listed = {at: column for at, column in varying.items() if at not in counts or counts[at].step != first.step}
    name, values = next(((rows[0][at].name, column) for at, column in listed.items()), ("", []))
    taken = {word for each in patterns[:size] for text in each.between for word in re.findall(r"\w+", text)} - {name}
    if any(repr(other) != repr(values) for other in listed.values()) or (listed and first.step not in (0, 1)):
        return []
    if "n" in taken or (name and (not name.isidentifier() or iskeyword(name))):
        return []
    written = {at: name if at in listed else counts[at].written(counts[at].first - first.first) for at in varying}
    body, at = "", 0
    for statement, each in zip(statements, patterns[:size], strict=False):
        for number, one in enumerate(each.literals):
            before, after = each.between[number : number + 2]
            text = written.get(at + number, statement[one.start : one.end])
            stands_alone = before.rstrip()[-1:] in "([{,=:" and after.lstrip()[:1] in ")]},:"
            is_one = stands_alone or at + number not in counts or text == "n" or text.startswith("f")
            body += before + (text if is_one else f"({text})")
        body += each.between[-1] + "\n"
        at += len(each.literals)
    return [
        *(patterns[0].indent + line for line in _head(times, first, name, values)),
        *(f"    {line}" for line in body.splitlines()),
    ]


def _count(values: Sequence[Any]) -> _Count | None:
    """Return how some literals count: they differ in one number, which changes by the same step each time."""
    kind = type(values[0])
    if kind not in (int, str, bytes) or any(type(value) is not kind for value in values):
        return None
    if kind is int:
        return _evenly(values)
    rows = [re.split(r"(\d+)", value if kind is str else value.decode("latin-1")) for value in values]
    if len({len(row) for row in rows}) > 1:
        return None
    varying = [at for at, column in enumerate(zip(*rows, strict=True)) if len({*column}) > 1]
    numbers = [int(row[varying[0]]) for row in rows if varying[0] % 2 and row[varying[0]] == str(int(row[varying[0]]))]
    if len(varying) > 1 or len(numbers) < len(rows):
        return None
    parts = ("".join(rows[0][: varying[0]]), "".join(rows[0][varying[0] + 1 :]))
    return _evenly(numbers, *(parts if kind is str else (part.encode("latin-1") for part in parts)))


def _evenly(numbers: Sequence[int], before: Any = None, after: Any = None) -> _Count | None:
    first, step = numbers[0], numbers[1] - numbers[0]
    even = list(numbers) == [first + step * time for time in range(len(numbers))]
    return _Count(first, step, before, after) if even else None


def _head(times: int, count: _Count, name: str, values: Sequence[Any]) -> list[str]:
    """Return the lines above the body of a loop.

    Args:
        times: how often it runs.
        count: what ``n`` counts, if it has a step.
        name: what each of the values is called, if it is one over values.
    """
    if not name and count.step in (0, 1) and not count.first:
        return [f"for {'n' if count.step else '_'} in range({times}):"]
    if not name:
        step = "" if count.step == 1 else f", {count.step}"
        return [f"for n in range({count.first}, {count.first + count.step * times}{step}):"]
    start, end = f"for {name} in [", "]:"
    if count.step:
        start, end = f"for n, {name} in enumerate([", f"], {count.first}):" if count.first else "]):"
    lines = [""]
    for text in map(repr, values):
        if lines[-1] and len(lines[-1]) + len(text) > WIDTH:
            lines.append("")
        lines[-1] += f"{', ' if lines[-1] else ''}{text}"
    if len(lines) == 1 and len(start + lines[0] + end) <= WIDTH:
        return [start + lines[0] + end]
    return [start, *(f"    {line}," for line in lines), end]
