"""Lambdas about variables of a script, written as lines of that script."""

from __future__ import annotations

import ast
import builtins
from asyncio import CancelledError
from collections.abc import Callable, Mapping
from typing import Any

from queue_conformance.engine.difference import NONE
from queue_conformance.engine.record import COMPARISONS
from queue_conformance.engine.sources import Sources
from queue_conformance.engine.syntax import body_of, expression, names_in


def written(function: Callable[..., object], sources: Sources) -> ast.expr:
    """Return the expression that a lambda returns; its parameters are variables of the script, all else becomes literals."""
    code = function.__code__
    closure = zip(code.co_freevars, (cell.cell_contents for cell in function.__closure__ or ()), strict=True)
    names = {**vars(builtins), **function.__globals__, **dict(closure)}
    body = expression(body_of(function))
    variables = {*code.co_varnames[: code.co_argcount], *names_in(body, ast.Store)}
    found: ast.expr = _Literals(names, sources, variables).visit(body)
    return found


def asserted(holds: Callable[..., object], sources: Sources, expected: str = "") -> tuple[str, str]:
    """Return what a lambda expects that is true if a rule passes, and the line of a script that fails if it is false."""
    test, variables = written(holds, sources), holds.__code__.co_varnames[: holds.__code__.co_argcount]
    if not expected and isinstance(test, ast.Compare) and len(test.ops) == 1:
        expected = COMPARISONS[type(test.ops[0]).__name__].expected.format(ast.unparse(test.comparators[0]))
    expected = expected or ast.unparse(test)
    message = f"f'got {{{variables[0]}!r}}'" if variables else repr(f"expected {expected}")
    return expected, f"assert {ast.unparse(test)}, {message}"


def compared_with(holds: Callable[..., object], sources: Sources) -> object:
    """Return the literal that a lambda compares its parameter with, or ``NONE``."""
    test = written(holds, sources)
    right = test.comparators[0] if isinstance(test, ast.Compare) and len(test.ops) == 1 else None
    return right.value if isinstance(right, ast.Constant) else NONE


class _Literals(ast.NodeTransformer):
    """Replaces what is known by literals."""

    def __init__(self, names: Mapping[str, Any], sources: Sources, variables: set[str]) -> None:
        self._names = dict(names)
        self._sources = sources
        self._variables = variables

    def visit(self, node: ast.AST) -> Any:
        if _has_value(node) and self._variables.isdisjoint(names_in(node)):
            source = self._sources.of(self._value(node))
            if source is not None and not self._mentions(node):
                return expression(source)
        return self.generic_visit(node)

    def _mentions(self, node: ast.AST) -> bool:
        """Whether a part of an expression has a source that was given to it."""
        return any(self._sources.has(self._value(each)) for each in ast.walk(node) if _has_value(each) and each is not node)

    def _value(self, node: ast.AST) -> Any:
        """Return the value of a part of an expression; if it cannot be evaluated by itself, something without a source."""
        try:
            return eval(compile(ast.Expression(node), "<assertion>", "eval"), self._names)  # type: ignore[arg-type]
        except (Exception, CancelledError):
            return object()


def _has_value(node: ast.AST) -> bool:
    return isinstance(node, ast.expr) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
