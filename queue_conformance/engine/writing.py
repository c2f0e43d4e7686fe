"""Turns the record of a check into lines of Python: its statements, with literals for everything that it computed."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from queue_conformance.engine.folding import Folding, number_of
from queue_conformance.engine.instrument import Source
from queue_conformance.engine.scripts import with_loops
from queue_conformance.engine.subject import RESULTS
from queue_conformance.engine.syntax import names_in, parse

if TYPE_CHECKING:
    from queue_conformance.engine.record import Record

INDENT = "    "

PURE = frozenset(
    {
        *("abs", "bool", "bytes", "dict", "enumerate", "float", "frozenset", "int", "isinstance", "len", "list", "max", "min"),
        *("range", "repr", "reversed", "round", "set", "sorted", "str", "sum", "tuple", "type", "zip"),
    }
)
"""Functions whose result depends on their arguments alone."""

VARIABLES = {**RESULTS, "drain": "left"}
"""By operation, the variable of scripts that holds its result until it is compared."""


class Block(AbstractContextManager[Any]):
    """A context manager of a check that scripts write in another way, or leave out."""

    _case: Any

    def bind(self, case: Any) -> None:
        """Belong to a case; that is said while the expression of the ``with`` statement is running."""
        self._case = case

    def written(self, body: str, named: bool) -> str:
        """Return the lines of a script, given those inside the block; ``named``: whether the check says ``with ... as name``."""
        return body


@dataclass(slots=True, eq=False)
class Frame:
    """A statement of a check, or the expression of a ``with``, that is running or has run.

    Attributes:
        names: the local variables before it that it mentions.
        began: the number of operations before it; ``ended`` is that after it.
        values: by the numbers of expressions, the value, and the numbers of operations before and after.
        construction: the expression by which scripts make what a fixture made for it, such as the subject.
        constructed: what was made, or ``None``.
    """

    record: Record
    node: ast.AST
    source: Source
    names: Mapping[str, Any]
    began: int
    ended: int
    values: dict[int, tuple[Any, int, int]] = field(default_factory=dict)
    raised: bool = False
    failed: bool = False
    construction: str = ""
    constructed: Any = None

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, *_: object) -> None:
        self.raised = kind is not None
        self.record.leave(self)

    def value_of(self, node: ast.AST | None) -> Any:
        """Return the value of an expression, if it is known."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return self.names.get(node.id)
        return self.values.get(number_of(node), (None, 0, 0))[0]

    def is_silent(self, node: ast.AST | None) -> bool:
        """Whether an expression is a call of a fixture, which scripts do not have."""
        while isinstance(node, (ast.Call, ast.Attribute)):
            node = node.func if isinstance(node, ast.Call) else node.value
        return isinstance(node, ast.Name) and node.id in self.names and id(self.names[node.id]) in self.record.silent

    def looks_around(self, node: ast.AST) -> bool:
        """Whether an expression calls something whose result may differ in another run, such as a function that lists files."""
        return any(isinstance(call, ast.Call) and not self._is_pure(call) for call in ast.walk(node))

    def _is_pure(self, call: ast.Call) -> bool:
        if (isinstance(call.func, ast.Name) and call.func.id in PURE) or self.is_silent(call):
            return True
        if isinstance(call.func, ast.Attribute):
            return type(self.value_of(call.func.value)) in (str, bytes, int, dict, list, set)
        value = self.values.get(number_of(call))
        return value is not None and self.record.sources.has(value[0])

    def operations(self, node: ast.AST) -> Iterator[ast.expr]:
        """Yield the outermost expressions in which operations ran."""
        value = self.values.get(number_of(node))
        if value is not None and value[1] < value[2] and isinstance(node, (ast.Call, ast.Attribute)):
            yield node
            return
        for child in ast.iter_child_nodes(node):
            yield from self.operations(child)


class Within(NamedTuple):
    """A ``with`` block: its expression, the context manager, and what was done inside."""

    head: Frame
    manager: AbstractContextManager[Any]
    entries: list[Entry]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a script, or the lines of a block.

    Attributes:
        defines: the names that it assigns.
        reads: the names that it reads.
        needed: whether it does more than assign, and so is never left out.
        body: the lines inside of a block; ``around`` returns its text, given theirs, and nothing if it is left out.
    """

    text: str = ""
    defines: frozenset[str] = frozenset()
    reads: frozenset[str] = frozenset()
    needed: bool = True
    body: tuple[Line, ...] = ()
    around: Callable[[str], str] | None = None


Entry = Frame | Within | Line


class Writer:
    """Writes statements.

    Local variables of the check stay variables if they hold something that came from the subject, or has no literal. All others
    are replaced by their values, and their assignments are left out.

    Args:
        kept: names that are variables of the script from the beginning.
    """

    def __init__(self, kept: Iterable[str] = ()) -> None:
        self._kept = {*kept}

    def lines(self, entries: Sequence[Entry]) -> list[str]:
        """Return what was done as lines of Python, without those that only define what nothing below reads."""
        return _read_lines([line for entry in entries for line in self._entry(entry)], set())

    def _entry(self, entry: Entry) -> list[Line]:
        if isinstance(entry, Line):
            return [entry]
        return self._statement(entry) if isinstance(entry, Frame) else self._block(entry)

    def _block(self, block: Within) -> list[Line]:
        manager = block.manager
        if isinstance(manager, Block):
            inside = [line for entry in block.entries for line in self._entry(entry)]
            if type(manager).written is Block.written:
                return inside
            named = getattr(block.head.node, "optional_vars", None) is not None
            return [Line(body=tuple(inside), around=lambda text: text and manager.written(text, named))]
        head = self._line(block.head, block.head.node)
        self._kept |= names_in(block.head.node, ast.Store)
        inside = [line for entry in block.entries for line in self._entry(entry)]

        def around(text: str) -> str:
            return f"with {head.text}:\n{textwrap.indent(text or 'pass', INDENT)}"

        return [Line(reads=head.reads, body=tuple(inside), around=around)]

    def _statement(self, frame: Frame) -> list[Line]:
        """Return the lines of a statement; none if only its values matter."""
        node = frame.node
        if isinstance(node, ast.Assert):
            return self._assertion(frame, node)
        operated = frame.ended > frame.began
        targets = {name for target in _targets(node) for name in names_in(target, ast.Store)}
        if not operated and isinstance(node, ast.Expr) and frame.is_silent(node.value):
            return []
        changed = targets if isinstance(node, ast.AugAssign) else set[str]()
        if not operated and self._kept.isdisjoint(names_in(node) | changed) and self._is_literal(frame, node):
            self._kept -= targets
            return []
        lasting = targets if frame.raised else changed
        before = [self._literal(frame, name) for name in sorted(lasting & frame.names.keys() - self._kept)]
        self._kept |= lasting & frame.names.keys()
        line = self._line(frame, node, needed=operated or not targets, defines=targets, changes=changed)
        if not frame.raised:  # otherwise the names hold what they held before
            self._kept |= targets
        return [*before, line]

    def _literal(self, frame: Frame, name: str) -> Line:
        """Return the assignment of the earlier value of a name, which was left out as a literal."""
        return Line(f"{name} = {frame.record.sources.of(frame.names[name])}", frozenset({name}), needed=False)

    def _is_literal(self, frame: Frame, node: ast.AST) -> bool:
        """Whether a statement only names values that have a literal, or is an expression without effect."""
        value = getattr(node, "value", None)
        if isinstance(node, ast.Expr):
            return not frame.looks_around(node)
        return frame.record.sources.of(frame.value_of(value)) is not None and not frame.looks_around(node)

    def _line(
        self,
        frame: Frame,
        node: ast.AST,
        *,
        needed: bool = True,
        defines: Iterable[str] = (),
        changes: Iterable[str] = (),
        start: str = "",
    ) -> Line:
        written = Folding(frame, self._kept).visit(node)
        return Line(start + ast.unparse(written), frozenset(defines), frozenset({*names_in(written), *changes}), needed)

    def expression_of(self, frame: Frame, value: Any) -> str | None:
        """Return the name or expression by which a running statement refers to a value."""
        for name, found in frame.names.items():
            if found is value:
                return str(name)
        for node in ast.walk(frame.node):
            if frame.values.get(number_of(node), (None, 0, 0))[0] is value:
                return self.expression(frame, node)
        return None

    def _assertion(self, frame: Frame, node: ast.Assert) -> list[Line]:
        """Return the operations of an assertion, and the assertion itself if it failed."""
        called = list(frame.operations(node.test))
        if frame.raised and not frame.failed:
            called += [call for call in _calls(node.test) if number_of(call) not in frame.values][:1]
        if not frame.failed:
            return [self._line(frame, call) for call in called]
        variables: dict[int, str] = {}
        lines = []
        for call in called:
            name = VARIABLES.get(_operation(call), "result")
            while name in variables.values() or name in self._kept:
                name = f"{name}_again"
            variables[number_of(call)] = name
            lines.append(self._line(frame, call, start=f"{name} = "))
        test = Folding(frame, self._kept, variables).test(node.test)
        left = node.test.left if isinstance(node.test, ast.Compare) else getattr(node.test, "operand", node.test)
        shown = variables.get(number_of(left)) or (left.id if isinstance(left, ast.Name) and left.id in self._kept else "")
        if not shown and frame.source.looks:
            shown = min(self._kept, default="")
        message = f", f'got {{{shown}!r}}'" if shown else ""
        return [*lines, Line(f"assert {ast.unparse(test)}{message}", reads=frozenset(names_in(test)))]

    def expression(self, frame: Frame, node: ast.AST) -> str:
        """Return an expression of a check as it stands in a script."""
        return ast.unparse(Folding(frame, self._kept).visit(node))


def _read_lines(lines: Sequence[Line], read: set[str]) -> list[str]:
    """Return the text of lines, without those that only define what is not in ``read``, which gets what the others read."""
    kept: list[str] = []
    for line in reversed(lines):
        text = line.text
        if line.around:
            text = line.around("\n".join(_read_lines(line.body, read)))
            read |= _words(text)
        if text and (line.needed or not read.isdisjoint(line.defines)):
            read |= line.reads
            kept.append(text)
    return with_loops(kept[::-1], alike=True)


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    """Yield calls in the order in which they begin; the arguments of one come after it."""
    if isinstance(node, ast.Call):
        yield node
    for child in ast.iter_child_nodes(node):
        yield from _calls(child)


def _targets(node: ast.AST) -> Sequence[ast.AST]:
    """Return what a statement assigns to."""
    return node.targets if isinstance(node, ast.Assign) else [target] if (target := getattr(node, "target", None)) else []


def _operation(call: ast.expr) -> str:
    function = call.func if isinstance(call, ast.Call) else call
    return str(getattr(function, "attr", "") or getattr(function, "id", ""))


def _words(text: str) -> set[str]:
    return names_in(parse(text))
