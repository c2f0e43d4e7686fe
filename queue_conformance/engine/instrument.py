"""Transforms the functions of checks, so that each statement tells the record what it did.

A check is plain Python. Its simple statements run inside ``with __record__.statement(...)``, and the values of their
expressions pass through ``__record__.seen(...)``. So the record can repeat each statement that touched the subject, with
literals for everything that the check computed. Loops need nothing: each turn records its own statements.
"""

from __future__ import annotations

import ast
import textwrap
import types
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import cache
from typing import Any

from queue_conformance.engine.syntax import Copier, body_of, expression, names_in, parse, source_of

SIMPLE = (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Assert)
FOLDED = (ast.Call, ast.Attribute, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Subscript, ast.JoinedStr)
"""Expressions that a script may replace by their values."""

SCOPES = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
"""Expressions with names of their own; only the value of the whole expression is recorded, and what it begins with."""


@dataclass(frozen=True, slots=True)
class Source:
    """The source of one function of a check.

    Attributes:
        statements: the syntax trees of its statements, and of the expressions of ``with``, as they were written.
        looks: whether scripts look anew at what they have a name for, such as a crawler, and do not know what it holds.
    """

    statements: list[ast.AST]
    globals: dict[str, Any]
    looks: bool = False


Instrumented = tuple[Callable[..., Any], Source]

REGISTERED: dict[str, dict[str, Callable[..., Any]]] = {}
"""The fixtures, by their names and their modules: a check has them as parameters, or imports them."""


@cache
def instrument(function: Callable[..., Any]) -> Instrumented:
    """Return a function that reports to its argument ``__record__``, and its source, which it takes as ``__source__``.

    Fixtures that it imports are parameters, too.
    """
    above = "\n" * (function.__code__.co_firstlineno - 1)  # so that tracebacks show the right lines
    tree = parse(above + textwrap.dedent(source_of(function)))
    definition = tree.body[0]
    assert isinstance(definition, ast.FunctionDef)
    transformer = _Transformer()
    definition.decorator_list = []
    definition.body = transformer.block(definition.body)
    read = {node.id for node in ast.walk(definition) if isinstance(node, ast.Name)} - {each.arg for each in definition.args.args}
    imported = [name for name in sorted(read & REGISTERED.keys()) if _imported(function, name)]
    for name in (*imported, "__record__", "__source__"):
        definition.args.kwonlyargs.append(ast.arg(name))
        definition.args.kw_defaults.append(None)
    ast.fix_missing_locations(tree)
    names: dict[str, Any] = {}
    exec(compile(tree, function.__code__.co_filename, "exec"), {}, names)
    made = types.FunctionType(names[function.__name__].__code__, function.__globals__, function.__name__, function.__defaults__)
    return made, Source(transformer.statements, function.__globals__)


def fixture_of(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return the fixture that a check means by a name: the one that it imports, or that of its kind, or of its distribution.

    Raises:
        ValueError: if there are several.
    """
    if imported := _imported(function, name):
        return imported
    found, module = REGISTERED[name], function.__module__
    of_kind = [one for one in found if module.startswith(f"{one.rpartition('.')[0]}.")]
    of_distribution = [one for one in found if one.partition(".")[0] == module.partition(".")[0]]
    meant, *others = of_kind or of_distribution or found
    if others:
        raise ValueError(f"two fixtures are called {name}: in {meant} and in {others[0]}; import the one that {module} means")
    return found[meant]


def _imported(function: Callable[..., Any], name: str) -> Callable[..., Any] | None:
    """Return the fixture that the module of a check has by a name, if it has one."""
    known = function.__globals__.get(name)
    return next((fixture for fixture in REGISTERED[name].values() if fixture is known), None)


def assertion(says: Callable[..., object]) -> Instrumented:
    """Return a function that asserts what a lambda says, and has its parameters."""
    code, transformer = says.__code__, _Transformer()
    statements = transformer.block([ast.Assert(expression(body_of(says)))])
    names = [*code.co_varnames[: code.co_argcount], "__record__", "__source__"]
    arguments = ast.arguments([], [], None, [ast.arg(name) for name in names], [None for _ in names], None, [])
    tree = ast.fix_missing_locations(ast.Module([ast.FunctionDef("assertion", arguments, statements, [])], []))
    around = zip(code.co_freevars, (cell.cell_contents for cell in says.__closure__ or ()), strict=True)
    names_around = {**says.__globals__, **dict(around)}
    made: dict[str, Any] = {}
    exec(compile(tree, "<assertion>", "exec"), names_around, made)
    return made["assertion"], Source(transformer.statements, names_around, looks=True)


def _call(method: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Attribute(ast.Name("__record__", ast.Load()), method, ast.Load()), list(arguments), [])


class _Transformer:
    """Numbers statements and expressions, and wraps them."""

    def __init__(self) -> None:
        self.statements: list[ast.AST] = []

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """Return the statements of a block, wrapped."""
        return [self._statement(statement) for statement in statements]

    def _statement(self, statement: ast.stmt) -> ast.stmt:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            return statement  # a docstring
        if isinstance(statement, SIMPLE):
            opened = _call("statement", *self._place(statement))
            return ast.copy_location(ast.With([ast.withitem(opened)], [self._simple(statement)]), statement)
        if isinstance(statement, ast.With):
            return self._with(statement)
        if isinstance(statement, ast.Delete):
            forgotten = _call("forget", *(ast.Name(name, ast.Load()) for name in names_in(statement, ast.Del)))
            return ast.copy_location(ast.With([ast.withitem(forgotten)], [statement]), statement)
        for name in ("body", "orelse", "finalbody"):
            if isinstance(inner := getattr(statement, name, None), list):
                setattr(statement, name, self.block(inner))
        for handler in getattr(statement, "handlers", []):
            handler.body = self.block(handler.body)
        return statement

    def _place(self, node: ast.AST) -> tuple[ast.expr, ast.expr, ast.expr]:
        """Keep a statement and number its expressions; return the arguments by which the record finds it."""
        for number, each in enumerate(ast.walk(node)):
            if isinstance(each, ast.expr):  # operators and contexts are the same object everywhere
                each.number = number  # type: ignore[attr-defined]
        node.reads = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}  # type: ignore[attr-defined]
        self.statements.append(node)
        return ast.Name("__source__", ast.Load()), ast.Constant(len(self.statements) - 1), expression("locals()")

    def _simple(self, statement: ast.stmt) -> ast.stmt:
        if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)) and statement.value is not None:
            assigned = copy(statement)
            assigned.value = _seen(statement.value, _Expressions().visit(statement.value))
            return assigned
        if not isinstance(statement, ast.Assert):
            wrapped: ast.stmt = _Expressions().visit(statement)
            return wrapped
        test = statement.test
        message = [_Expressions().visit(statement.msg)] if statement.msg else []
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            left, right = _Expressions().visit(test.left), _Expressions().visit(test.comparators[0])
            operator = ast.Constant(type(test.ops[0]).__name__)
            return ast.copy_location(ast.Expr(_call("compare", left, operator, right, *message)), statement)
        return ast.copy_location(ast.Expr(_call("hold", _Expressions().visit(test), *message)), statement)

    def _with(self, statement: ast.With) -> ast.stmt:
        """Return nested blocks, one for each item."""
        inner = self.block(statement.body)
        for item in reversed(statement.items):
            header = _call("head", *self._place(item))
            opened = _call("block", header, _Expressions().visit(item.context_expr))
            inner = [ast.copy_location(ast.With([ast.withitem(opened, item.optional_vars)], inner), statement)]
        return inner[0]


class _Expressions(Copier):
    """Lets the values of expressions pass through the record."""

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, SCOPES):
            return _seen(node, self._scope(node))
        made = self.generic_visit(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            made.func = made.func.args[-1]  # a method is no value of its own
        is_value = isinstance(node, FOLDED) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
        return _seen(node, made) if is_value else made  # type: ignore[arg-type]

    def _scope(self, node: ast.expr) -> ast.expr:
        """Return an expression with names of its own, whose first iterable passes through the record: it is evaluated outside."""
        if not isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            return node
        made, first = copy(node), copy(node.generators[0])
        first.iter = self.visit(first.iter)
        made.generators = [first, *node.generators[1:]]
        return made


def _seen(node: ast.expr, wrapped: ast.expr) -> ast.expr:
    """Return what lets the value of an expression pass through the record."""
    before = ast.Attribute(ast.Name("__record__", ast.Load()), "operations", ast.Load())
    return _call("seen", ast.Constant(node.number), before, wrapped)  # type: ignore[attr-defined]
