"""Python's parser, and what is asked of its trees."""

from __future__ import annotations

import ast
import gc


def parse(source: str) -> ast.Module:
    """Parse.

    Before 3.11.8, a collection meanwhile may end in a SystemError, because what it finalizes may parse too.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(source)
    finally:
        if collecting:
            gc.enable()


def expression(source: str) -> ast.expr:
    """Parse an expression."""
    found = parse(source).body[0]
    assert isinstance(found, ast.Expr)
    return found.value


def normal(source: str) -> str:
    """Return a line of Python as all lines of scripts are written."""
    return ast.unparse(parse(source))


def names_in(node: ast.AST, context: type[ast.expr_context] = ast.Load) -> set[str]:
    """Return the names that a tree reads, or assigns."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, context)}
