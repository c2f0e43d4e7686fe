"""The mutants of a module, as mutmut and cosmic-ray make them."""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

OF_COSMIC_RAY = ("AddNot", "ExceptionReplacer", "RemoveDecorator", "ZeroIterationForLoop")
"""What cosmic-ray changes and mutmut does not: conditions, caught exceptions, decorators and loops."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A module with one change.

    Attributes:
        line: the number of the first changed line.
        was: the changed lines as they were, joined.
        becomes: what they are now.
        source: the whole text.
    """

    line: int
    was: str
    becomes: str
    source: str

    def __str__(self) -> str:
        return f"line {self.line}\n    - {self.was}\n    + {self.becomes}"


def mutants_of(source: str, size: int = 0, seed: int = 0) -> list[Mutant]:
    """Return mutants of a module, in the order of their lines, without those that are the same program.

    Args:
        source: the text of the module.
        size: how many, or 0 for all.
        seed: chooses them.
    """
    makers = [*_by_mutmut(source), *_by_cosmic_ray(source)]
    random.Random(seed).shuffle(makers)
    found: dict[str, Mutant] = {}
    same = _meaning(source)
    for make in makers:
        if 0 < size <= len(found):
            break
        changed = make()
        try:
            meaning = _meaning(changed)
        except SyntaxError:
            continue
        if meaning != same:
            found.setdefault(meaning, _mutant(source, changed))
    return sorted(found.values(), key=lambda mutant: (mutant.line, mutant.was, mutant.becomes))


def _by_mutmut(source: str) -> Iterator[Callable[[], str]]:
    import libcst
    from libcst.metadata import MetadataWrapper
    from mutmut.mutation.file_mutation import MutationVisitor, mutation_operators
    from mutmut.mutation.pragma_handling import IgnoredCode

    visitor = MutationVisitor(mutation_operators, IgnoredCode(set(), set(), set()))
    module = MetadataWrapper(libcst.parse_module(source)).visit(visitor)

    def changed(original: libcst.CSTNode, mutated: libcst.CSTNode) -> str:
        found = module.deep_replace(original, mutated)
        assert isinstance(found, libcst.Module)
        return found.code

    for mutation in visitor.mutations:
        if mutation.contained_by_top_level_function is not None:  # mutmut itself makes no others
            yield partial(changed, mutation.original_node, mutation.mutated_node)


def _by_cosmic_ray(source: str) -> Iterator[Callable[[], str]]:
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    def changed(operator: Any, occurrence: int) -> str:
        try:
            return mutate_code(source, operator, occurrence) or source
        except AttributeError:  # it cannot replace dotted names of exceptions
            return source

    for name in OF_COSMIC_RAY:
        operator = get_operator(f"core/{name}")()
        positions = sum(len(list(operator.mutation_positions(node))) for node in ast_nodes(get_ast(source)))
        for occurrence in range(positions):
            yield partial(changed, operator, occurrence)


class _Program(ast.NodeTransformer):
    """Drops what a program does not do: annotations, documentation, the wording of logs and exceptions, and capitals in SQL."""

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, str) and _SQL.match(node.value):
            node.value = node.value.lower()
        return node

    def visit_If(self, node: ast.If) -> ast.AST | None:
        return None if "TYPE_CHECKING" in ast.dump(node.test) else self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        return None if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        if isinstance(node.targets[0], ast.Name) and node.targets[0].id in ("msg", "message"):
            _unworded(node.value)
        return self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        if isinstance(node.exc, ast.Call):
            node.exc.args.clear()
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if _TELLS.fullmatch(ast.unparse(node.func)):
            node.args.clear()
            node.keywords.clear()
        elif isinstance(node.func, ast.Name) and node.func.id == "cast":  # which does nothing
            return self.visit(node.args[-1])
        return self.generic_visit(node)


_SQL = re.compile(r"(BEGIN|COMMIT|CREATE|DELETE|INSERT|PRAGMA|SELECT|UPDATE|VACUUM)\b", re.IGNORECASE)
"""How what SQLite executes begins; it reads capitals as small letters."""

_TELLS = re.compile(r"(self\.)?(logger|log|warnings)\.\w+|warn")
"""Functions that tell somebody something."""


def _unworded(tree: ast.AST) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""


def _meaning(source: str) -> str:
    return ast.dump(_Program().visit(ast.parse(source)))


def _mutant(source: str, changed: str) -> Mutant:
    before, after = source.splitlines(), changed.splitlines()
    start = next((n for n, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), min(len(before), len(after)))
    common = min(len(before), len(after)) - start
    end = next((n for n in range(common) if before[-1 - n] != after[-1 - n]), common)
    return Mutant(start + 1, _joined(before[start : len(before) - end]), _joined(after[start : len(after) - end]), changed)


def _joined(lines: list[str]) -> str:
    return " ".join(line.strip() for line in lines)


def function_around(source: str, line: int) -> int:
    """Return the first line (that of its decorators) of the innermost function around a line, or 0 for none."""
    best = 0
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if first <= line <= (node.end_lineno or first) and first >= best:
                best = first
    return best
