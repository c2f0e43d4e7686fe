"""The source of a class or function that scripts cannot import, with what it needs from its module."""

from __future__ import annotations

import ast
import builtins
import inspect
import sys
import textwrap
from dataclasses import dataclass
from functools import cache
from typing import Any

from queue_conformance.engine.syntax import global_names, parse, source_of


@dataclass(frozen=True, slots=True)
class Quotation:
    """Source for a script.

    Attributes:
        imports: lines that import one name each.
        lines: the definitions, and comments about what cannot be quoted.
        missing: the names of what cannot be quoted, without which a script does not run.
    """

    imports: tuple[str, ...]
    lines: tuple[str, ...]
    missing: tuple[str, ...]


def quote(defined: Any, name: str) -> Quotation:
    """Return the source of a class or function, and of everything at the top of its module that it uses."""
    where = f"{getattr(defined, '__module__', '?')}.{getattr(defined, '__qualname__', name)}"
    try:
        source = textwrap.dedent(source_of(defined))
        used, bound = global_names(source)
        module = sys.modules[defined.__module__]
        statements = _statements(inspect.getsource(module), module.__package__ or "")
    except (OSError, TypeError, SyntaxError, KeyError, AttributeError):
        bound = set()
    if name not in bound:
        return Quotation((), (f"# {where} cannot be imported, and its source cannot be quoted: define {name} here.", ""), (name,))
    wanted, imports, kept = used - bound, {}, set[int]()
    todo = list(wanted)
    while todo:
        current = todo.pop()
        for number, statement in enumerate(statements):
            if current in statement.binds and number not in kept:
                if statement.imports:
                    imports[current] = statement.imports[current]
                    continue
                kept.add(number)
                todo += statement.uses - wanted
                wanted |= statement.uses
    known = set().union(*(statement.binds for statement in statements), vars(builtins))
    missing = tuple(sorted(used - bound - known))
    comments = [f"# {unknown} belongs to what is around {where}: set it here." for unknown in missing]
    blocks = [statements[number].text for number in sorted(kept)]
    future = [line for statement in statements for line in statement.imports.values() if line.startswith("from __future__ ")]
    lines = [line for block in [*blocks, *filter(None, ["\n".join(comments)]), source] for line in ["", "", *block.splitlines()]]
    return Quotation((*future, *imports.values()), (*lines[1:], "", ""), missing)


@dataclass(frozen=True, slots=True)
class _Statement:
    """A statement at the top of a module.

    Attributes:
        binds: the names that it defines.
        imports: if it is an import, the line for each of these names.
    """

    text: str
    uses: set[str]
    binds: set[str]
    imports: dict[str, str]


@cache
def _statements(source: str, package: str) -> list[_Statement]:
    """Return the statements at the top of a module, but not those that are for running it as a program."""
    lines, found = source.splitlines(), []
    for node in parse(source).body:
        if isinstance(node, ast.If) and "__name__" in ast.unparse(node.test):
            continue
        first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))])
        text = "\n".join(lines[first - 1 : node.end_lineno])
        found.append(_Statement(text, *global_names(text), _imports(node, package.split("."))))
    return found


def _imports(node: ast.stmt, package: list[str]) -> dict[str, str]:
    """Return the line that imports each of the names that an import statement binds."""
    if isinstance(node, ast.Import):
        return {_bound_as(alias): ast.unparse(ast.Import([alias])) for alias in node.names}
    if isinstance(node, ast.ImportFrom):
        above = package[: len(package) - node.level + 1] if node.level else []
        origin = ".".join([*above, *([node.module] if node.module else [])])
        return {_bound_as(alias): ast.unparse(ast.ImportFrom(origin, [alias], 0)) for alias in node.names}
    return {}


def _bound_as(alias: ast.alias) -> str:
    return alias.asname or alias.name.partition(".")[0]
