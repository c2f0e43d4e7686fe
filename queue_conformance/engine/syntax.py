"""Python's parser, and what is asked of its trees."""

from __future__ import annotations

import ast
import gc
import inspect
import re
import symtable
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from pathlib import Path
from typing import Any


@contextmanager
def _without_collections() -> Iterator[None]:
    """Keep the garbage collector from running while Python parses.

    Before Python 3.11.8, a collection at that moment may end in a SystemError, because what it finalizes may parse too.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def parse(source: str) -> ast.Module:
    """Parse a module."""
    with _without_collections():
        return ast.parse(source)


def source_of(defined: Any) -> str:
    """Return the source of a class or function, without comments that are for linters.

    Raises:
        OSError, TypeError: if there is none.
    """
    with _without_collections():
        return _FOR_LINTERS.sub("", inspect.getsource(defined).rstrip())


_FOR_LINTERS = re.compile(r"  # (type: ignore|noqa).*")


def expression(source: str) -> ast.expr:
    """Parse an expression."""
    found = parse(source).body[0]
    assert isinstance(found, ast.Expr)
    return found.value


@lru_cache(4096)
def normal(source: str) -> str:
    """Return a line of Python as all lines of scripts are written."""
    return ast.unparse(parse(source))


class Copier(ast.NodeTransformer):
    """Returns a changed copy of a tree, which stays as it is."""

    def generic_visit(self, node: ast.AST) -> Any:
        return ast.copy_location(type(node)(**{name: self._copy(value) for name, value in ast.iter_fields(node)}), node)

    def _copy(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._copy(each) for each in value]
        return self.visit(value) if isinstance(value, ast.AST) else value


def names_in(node: ast.AST, context: type[ast.expr_context] = ast.Load) -> set[str]:
    """Return the names that a tree reads, or assigns."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, context)}


def global_names(source: str) -> tuple[set[str], set[str]]:
    """Return the global names that some code reads, and those that it binds."""
    used, bound = set[str](), set[str]()
    tables = [symtable.symtable(source, "<quoted>", "exec")]
    for symbol in tables[0].get_symbols():
        if symbol.is_assigned() or symbol.is_imported():
            bound.add(symbol.get_name())
    while tables:
        table = tables.pop()
        tables += table.get_children()
        used |= {symbol.get_name() for symbol in table.get_symbols() if symbol.is_referenced() and symbol.is_global()}
    return used, bound


def body_of(function: Callable[..., Any]) -> str:
    """Return the expression that a lambda returns, as it is written; raise LookupError if several begin in its line, or none."""
    code = function.__code__
    lambdas = _lambdas(code.co_filename).get(code.co_firstlineno, [])
    if len(lambdas) != 1:
        raise LookupError(f"{len(lambdas)} lambdas begin in line {code.co_firstlineno} of {code.co_filename}")
    return ast.unparse(lambdas[0].body)


@cache
def _lambdas(path: str) -> dict[int, list[ast.Lambda]]:
    """Return the lambdas of a module that are in no other one, by the lines in which they begin."""
    found: dict[int, list[ast.Lambda]] = {}
    waiting: list[ast.AST] = [parse(Path(path).read_text("utf-8"))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Lambda):
            found.setdefault(node.lineno, []).append(node)
        else:
            waiting += ast.iter_child_nodes(node)
    return found
