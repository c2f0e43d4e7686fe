"""Shorter scripts: a quoted function that is called once, or is a single line, is replaced by its body where it is called."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from queue_conformance.engine.syntax import Copier, names_in, parse

WIDTH = 100
"""The longest line, in characters, that may replace a call."""

OFTEN = 5
"""A function of one line replaces this many calls at most."""

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_NOT_INLINED = (*_DEFINITIONS, ast.If, ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal)
_NEEDS_NO_PARENTHESES = (ast.Name, ast.Constant, ast.Call, ast.Attribute, ast.Subscript, ast.List, ast.Dict, ast.ListComp)
_PURE = (ast.Name, ast.Constant, ast.BinOp, ast.operator, ast.expr_context)
_EVALUATED_LATER_OR_OFTEN = (ast.Lambda, ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp, ast.For, ast.While)


def inline(lines: Sequence[str], blocks: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """Inline functions, given by name in ``blocks``, into the lines of a script; return these and what must still be defined."""
    texts = {"": "\n".join(lines), **blocks}
    try:
        while found := next(filter(None, (_inlined(texts, name) for name in texts if name)), None):
            texts = found
    except SyntaxError:  # the representation of a value may not be valid Python
        return list(lines), dict(blocks)
    everything = "\n".join(texts.values())
    body = texts.pop("")
    return body.splitlines(), {name: _without_idle_methods(source, everything) for name, source in texts.items()}


def without_unread(body: str, watches: str) -> list[str]:
    """Return the lines of a script without ``with`` statements of the function ``watches`` whose result it never reads."""
    lines: list[str | None] = [*body.splitlines()]
    with suppress(SyntaxError):  # the representation of a value may not be valid Python
        tree = parse(body)
        read = {*_read(tree)}
        for node in (each for each in ast.walk(tree) if isinstance(each, ast.With)):
            item, inside = node.items[0], slice(node.lineno, node.end_lineno)
            names = names_in(item.optional_vars, ast.Store) if item.optional_vars else set()
            if ast.unparse(item.context_expr).startswith(f"{watches}(") and read.isdisjoint(names):
                lines[inside] = [line and line[4:] for line in lines[inside]]
                lines[node.lineno - 1] = None
    return [line for line in lines if line is not None]


def _inlined(texts: Mapping[str, str], name: str) -> dict[str, str] | None:
    """Return the texts with every call of a function replaced; ``None`` if that is impossible, or there are too many calls."""
    (function,) = parse(texts[name]).body
    times = sum(_read(parse(text)).count(name) for text in texts.values())
    if not isinstance(function, ast.FunctionDef) or name in _read(function):
        return None
    if not 0 < times <= (OFTEN if _is_short(function) else 1):
        return None
    written = dict(texts)
    for _ in range(times):
        found = _with_one_call_replaced(written, name, function)
        if found is None:
            return None
        written |= found
    return {where: text for where, text in written.items() if where != name}


def _with_one_call_replaced(texts: Mapping[str, str], name: str, function: ast.FunctionDef) -> dict[str, str] | None:
    """Replace one call of a function; return the name and the new text of where it was called."""
    for where, text in texts.items():
        tree = parse(text)
        taken = names_in(tree, ast.Store) | {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
        for statement in (node for node in ast.walk(tree) if isinstance(node, ast.stmt)):
            for call in (each for each in _calls(statement) if each.func.id == name):
                made = _replacement(statement, call, function, taken)
                new = None if made is None else _with_replacement(text.splitlines(), statement, call, made)
                if new is not None:
                    return {where: new}
    return None


def _calls(statement: ast.stmt) -> Iterator[Any]:
    """Yield the calls of named functions in a statement, but not those in the statements nested in it."""
    for node in ast.iter_child_nodes(statement):
        if not isinstance(node, ast.stmt):
            yield from (each for each in ast.walk(node) if isinstance(each, ast.Call) and isinstance(each.func, ast.Name))


def _with_replacement(lines: list[str], statement: ast.stmt, call: ast.Call, made: Sequence[ast.stmt] | ast.expr) -> str | None:
    """Return the lines with an expression instead of the call, or statements instead of the statement, if they fit."""
    if call.lineno != call.end_lineno or (not isinstance(made, ast.expr) and statement.lineno != statement.end_lineno):
        return None
    place = call.lineno - 1
    line = lines[place]
    if isinstance(made, ast.expr):
        start, end = (len(line.encode()[:offset].decode()) for offset in (call.col_offset, call.end_col_offset or 0))
        written = ast.unparse(made)
        new = [f"{line[:start]}{written if isinstance(made, _NEEDS_NO_PARENTHESES) else f'({written})'}{line[end:]}"]
    else:
        block = line[: statement.col_offset]
        new = [block + each for one in made for each in ast.unparse(ast.fix_missing_locations(one)).splitlines()]
    fits = max(map(len, new), default=0) <= max(WIDTH, len(line))
    return "\n".join([*lines[:place], *new, *lines[place + 1 :]]) if fits else None


def _replacement(
    statement: ast.stmt, call: ast.Call, function: ast.FunctionDef, taken: set[str]
) -> list[ast.stmt] | ast.expr | None:
    """Return what does the same as a call: an expression instead of it, or statements instead of the whole statement.

    Args:
        taken: names that already mean something there.
    """
    body = _body(function)
    inside = [node for each in body for node in ast.walk(each)]
    if function.decorator_list or any(isinstance(node, _NOT_INLINED) for node in inside):
        return None
    if any(isinstance(node, ast.Return) and node is not body[-1] for node in inside):
        return None
    given = _arguments(call, function.args)
    if given is None:
        return None
    assigned = {name for each in body for name in names_in(each, ast.Store)}
    read = {name for each in body for name in names_in(each)} - given.keys()
    used = {name for value in given.values() for name in names_in(value)}
    if assigned & (given.keys() | used) or not all(_fits(body, *pair) for pair in given.items()):
        return None
    leaks = not isinstance(body[0], ast.Return) or any(isinstance(node, ast.NamedExpr) for node in inside)
    clashes = assigned & (taken - names_in(statement, ast.Store)) if leaks else set()
    if clashes or (read - assigned) & taken:
        return None
    return _with_the_rest(statement, call, [_Substitution(given).visit(each) for each in body])


def _arguments(call: ast.Call, parameters: ast.arguments) -> dict[str, ast.expr] | None:
    """Return the arguments by the names of their parameters; ``None`` if the call, or the function, is not a plain one."""
    names = [each.arg for each in parameters.args]
    odd = parameters.vararg or parameters.kwarg or parameters.kwonlyargs or parameters.posonlyargs
    if odd or any(isinstance(each, ast.Starred) for each in call.args) or len(call.args) > len(names):
        return None
    defaults = parameters.defaults
    given = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))
    given |= dict(zip(names, call.args, strict=False))
    given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    return given if given.keys() == {*names} and all(keyword.arg for keyword in call.keywords) else None


def _with_the_rest(statement: ast.stmt, call: ast.Call, body: list[ast.stmt]) -> list[ast.stmt] | ast.expr | None:
    """Return the body of a function, and what remains of the statement that calls it."""
    *before, last = body
    result = last.value if isinstance(last, ast.Return) else None
    if result is None:
        return body if isinstance(statement, ast.Expr) and statement.value is call else None
    if not before:
        return result
    results = result.elts if isinstance(result, ast.Tuple) else []
    match statement:
        case ast.Expr(value) if value is call:
            return before if isinstance(result, (ast.Name, ast.Tuple, ast.Attribute)) else [*before, ast.Expr(result)]
        case ast.Assign([ast.Tuple(left)], value) if value is call and len(left) == len(results):
            return [*before, *_assignments(zip(left, results, strict=True))]
        case ast.Assign([target], value) if value is call:
            return [*before, *_assignments([(target, result)])]
        case ast.Assign([target], ast.Subscript(value, ast.Constant(int(place)))) if value is call and results:
            return [*before, *_assignments([(target, results[place])])]
    return None


def _assignments(pairs: Iterable[tuple[ast.expr, ast.expr]]) -> list[ast.stmt]:
    """Return assignments, without those of names to themselves."""
    return [ast.Assign([left], right) for left, right in pairs if ast.unparse(left) != ast.unparse(right)]


def _read(tree: ast.AST) -> list[str]:
    """Return the names that a tree reads, each as often as it does."""
    return [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]


def _is_short(function: ast.FunctionDef) -> bool:
    """Whether a function does nothing but one line, and perhaps return something."""
    lines = [each for each in _body(function) if not isinstance(each, ast.Return)]
    return len(lines) <= 1 and all(isinstance(each, (ast.Assign, ast.Expr)) for each in lines)


def _body(function: ast.FunctionDef) -> list[ast.stmt]:
    """Return the statements of a function without its docstring."""
    return function.body[ast.get_docstring(function) is not None :]


def _fits(body: Sequence[ast.stmt], name: str, value: ast.expr) -> bool:
    """Whether an argument may replace its parameter: it would be evaluated once, or consists of names and constants."""
    if all(isinstance(node, _PURE) for node in ast.walk(value)):
        return True
    times = sum(_read(each).count(name) for each in body)
    again = [node for each in body for node in ast.walk(each) if isinstance(node, _EVALUATED_LATER_OR_OFTEN)]
    return times == 1 and not any(name in names_in(node) for node in again)


class _Substitution(Copier):
    """Replaces parameters by arguments."""

    def __init__(self, given: Mapping[str, ast.expr]) -> None:
        self._arguments = given

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.Name):
            return self._arguments.get(node.id, node)
        made = self.generic_visit(node)
        return _unpacked(made) if isinstance(made, ast.Dict) else made


def _unpacked(node: ast.Dict) -> ast.Dict:
    """Return ``{'a': 1}`` for ``{**{'a': 1}}``."""
    pairs: list[tuple[ast.expr | None, ast.expr]] = []
    for name, value in zip(node.keys, node.values, strict=True):
        if name is None and isinstance(value, ast.Dict):
            pairs += zip(value.keys, value.values, strict=True)
        else:
            pairs.append((name, value))
    return ast.Dict([name for name, _ in pairs], [value for _, value in pairs])


def _without_idle_methods(source: str, everything: str) -> str:
    """Return the source of a class without empty methods that the script does not mention, and counters that nobody reads."""
    (defined,) = parse(source).body
    if not isinstance(defined, ast.ClassDef):
        return source

    def times(name: str) -> int:
        return len(re.findall(rf"{name}\b", everything))

    methods = [node for node in defined.body if isinstance(node, ast.FunctionDef)]
    idle: list[ast.stmt] = [node for node in methods if ast.unparse(node.body[0]) == "..." and times(node.name) == 1]
    for node in defined.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and defined.bases:
            name = node.targets[0].id
            counting = [each for each in methods if [*map(ast.unparse, each.body)] == [f"self.{name} += 1"]]
            idle += [node, *counting] if counting and times(name) == len(counting) + 1 else []
    idle.sort(key=lambda node: node.lineno)
    lines = source.splitlines()
    for node in reversed(idle):
        first = node.lineno - 1
        del lines[first - (not lines[first - 1]) : node.end_lineno]
    if len(idle) == len(defined.body):
        lines.append("    pass")
    return "\n".join(lines)
