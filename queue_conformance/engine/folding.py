"""Expressions of checks as scripts write them: whatever has a known value becomes a literal."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Set
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from queue_conformance.engine.instrument import SCOPES
from queue_conformance.engine.recording import is_a
from queue_conformance.engine.sources import among
from queue_conformance.engine.subject import Subject
from queue_conformance.engine.syntax import Copier, expression, names_in

if TYPE_CHECKING:
    from queue_conformance.engine.writing import Frame


def number_of(node: ast.AST | None) -> int:
    """Return the number of an expression in its check, or -1."""
    return getattr(node, "number", -1)


class Folding(Copier):
    """Returns a copy of a tree in which literals, and variables of the script, replace what is known.

    Args:
        kept: names that scripts keep, because they hold something without a literal.
        variables: by the numbers of expressions, the variables that hold their values.
    """

    def __init__(self, frame: Frame, kept: Set[str], variables: Mapping[int, str] = MappingProxyType({})) -> None:
        self._frame = frame
        self._sources = frame.record.sources
        self._kept = kept
        self._variables = variables
        self._bound: set[str] = set()  # names of comprehensions and lambdas

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, SCOPES):
            self._bound |= names_in(node, ast.Store)
            self._bound |= {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}
        if name := self._variables.get(number_of(node)):
            return ast.Name(name, ast.Load())
        source = self._known(node) if isinstance(node, ast.expr) else None
        if source is not None:
            return expression(source)
        made = self.generic_visit(node)
        return _interpolated(made) if isinstance(made, ast.JoinedStr) else _plain(made)

    def _known(self, node: ast.expr) -> str | None:
        """Return what a script writes instead of an expression, or ``None`` if it is written as it is."""
        if isinstance(node, ast.Name):
            return self._of_name(node.id) if isinstance(node.ctx, ast.Load) else None
        if self._frame.construction and self._constructs(node):
            return self._frame.construction
        if number_of(node) not in self._frame.values or not self._kept.isdisjoint(names_in(node)):
            return None
        value, before, after = self._frame.values[number_of(node)]
        if is_a(value, Subject):
            return str(value.name)
        if self._frame.source.looks and any(map(self._has_name, (part for part in ast.walk(node) if part is not node))):
            return None
        return self._sources.of(value) if before == after and not self._frame.looks_around(node) else None

    def _has_name(self, node: ast.AST) -> bool:
        """Whether scripts have an expression for the value of a part, by which they look at it."""
        around = self._frame.source.globals.get(node.id) if isinstance(node, ast.Name) else None
        return any(map(self._sources.has, (self._frame.value_of(node), around)))

    def _constructs(self, node: ast.expr) -> bool:
        """Whether an expression is the call of a fixture that made something; one that raised has no value."""
        made = self._frame.constructed
        return (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in self._frame.names
            and self._frame.values.get(number_of(node), (made,))[0] is made
        )

    def _of_name(self, name: str) -> str | None:
        if name in self._kept or name in self._bound:
            return None
        if name in self._frame.names:
            value = self._frame.names[name]
            return value.name if is_a(value, Subject) else self._sources.of(value)
        found = self._frame.source.globals
        return self._sources.of(found[name]) if name in found else None

    def test(self, node: ast.expr) -> ast.expr:
        """Return what is asserted; items that cannot be compared are compared by their keys."""
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], (ast.Eq, ast.In)):
            right = self._frame.value_of(node.comparators[0])
            left = ast.unparse(self.visit(node.left))
            items = right if is_a(right, list, tuple) else [right]
            keys = [self._frame.record.key(one) for one in items]
            if keys and all(keys):
                literals = [repr(key[0]) for key in keys if key]
                return expression(among(left, next(key[1] for key in keys if key), literals))
        found: ast.expr = self.visit(node)
        return found


def _interpolated(node: ast.JoinedStr) -> ast.expr:
    """Return an f-string, as a call of ``format`` if it contains quotes or backslashes that it may not before Python 3.12."""
    try:
        ast.unparse(node)
    except ValueError:
        template, values = "", []
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                written = ast.unparse(ast.JoinedStr([ast.FormattedValue(ast.Name("_"), part.conversion, part.format_spec)]))
                template += written[2:-1].replace("{_", "{")
                values.append(part.value)
            elif isinstance(part, ast.Constant):
                template += str(part.value).replace("{", "{{").replace("}", "}}")
        return ast.Call(ast.Attribute(ast.Constant(template), "format", ast.Load()), values, [])
    return node


def _plain(node: ast.AST) -> ast.AST:
    """Return ``f(1, a=2)`` for ``f(*(1,), **{'a': 2})``, ``x.a`` for ``getattr(x, 'a')``, and ``x`` for ``x if True else y``."""
    match node:
        case ast.IfExp(ast.Constant(holds), body, otherwise):
            return body if holds else otherwise
        case ast.Call(ast.Name("getattr"), [left, ast.Constant(str(name))]) if name.isidentifier():
            return ast.Attribute(left, name, ast.Load())
    if not isinstance(node, ast.Call):
        return node
    arguments: list[ast.expr] = []
    for argument in node.args:
        match argument:
            case ast.Starred(ast.Tuple(values) | ast.List(values)):
                arguments += values
            case _:
                arguments.append(argument)
    keywords: list[ast.keyword] = []
    for keyword in node.keywords:
        match keyword:
            case ast.keyword(None, ast.Dict(names, values)) if all(isinstance(name, ast.Constant) for name in names):
                pairs = zip(names, values, strict=True)
                keywords += [ast.keyword(str(name.value), value) for name, value in pairs if isinstance(name, ast.Constant)]
            case _:
                keywords.append(keyword)
    node.args, node.keywords = arguments, keywords
    return node
