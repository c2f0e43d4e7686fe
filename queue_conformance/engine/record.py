"""The record of a check: what it did to the subject, statement by statement, and what it compared.

Instrumented functions call its methods (see :mod:`queue_conformance.engine.instrument`).
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from copy import copy
from typing import Any, NamedTuple, NoReturn, cast

from queue_conformance.engine.difference import LEFT, OTHER, difference_in, differing, missing_or_besides, untruth
from queue_conformance.engine.handling import total
from queue_conformance.engine.instrument import SCOPES, Source, assertion
from queue_conformance.engine.recording import Recorder, call_of, describe, is_a
from queue_conformance.engine.sources import Sources
from queue_conformance.engine.subject import Operations, Subject, unwrapped
from queue_conformance.engine.syntax import body_of, names_in, normal, parse
from queue_conformance.engine.writing import Block, Entry, Frame, Line, Within, Writer
from queue_conformance.faults.fault import Fault

LONGEST_ORIGIN = 80
"""The longest expression, in characters, that is shown as the origin of a value."""


class Failed(Exception):
    """An assertion of a check does not hold; it is about ``rule``, or about the rule of the check if that is empty."""

    rule = ""

    def __init__(self, expected: str, actual: str, difference: str = "") -> None:
        super().__init__(f"expected {expected}, got {actual}")
        self.expected = expected
        self.actual = actual
        self.difference = difference


class Comparison(NamedTuple):
    """A comparison: a function that tells whether it holds, and what it expects, with ``{}`` for the right side."""

    holds: Callable[[Any, Any], Any]
    expected: str


COMPARISONS: Mapping[str, Comparison] = {
    "Eq": Comparison(operator.eq, "{}"),
    "NotEq": Comparison(operator.ne, "anything but {}"),
    "Lt": Comparison(operator.lt, "less than {}"),
    "LtE": Comparison(operator.le, "at most {}"),
    "Gt": Comparison(operator.gt, "more than {}"),
    "GtE": Comparison(operator.ge, "at least {}"),
    "Is": Comparison(operator.is_, "{}"),
    "IsNot": Comparison(operator.is_not, "anything but {}"),
    "In": Comparison(lambda left, right: left in right, "{}"),
    "NotIn": Comparison(lambda left, right: left not in right, "none of {}"),
}
"""By the names of their syntax nodes."""


class Record(Operations):
    """What a check did.

    Args:
        recorder: keeps the operations, and shows the one in flight to whoever watches the process.
        key: what tells items apart that are not equal to themselves, such as requests: an item's key, and how it is written of
            a variable; ``None`` for everything else.
        held: called after each comparison that holds.

    Attributes:
        case: the case that its blocks belong to.
        operations: how many there were so far.
        returned: the rules of operations that were not allowed to raise, and did not.
        excused: how many of the open blocks allow an operation to raise.
    """

    def __init__(
        self,
        recorder: Recorder,
        sources: Sources,
        key: Callable[[Any], tuple[Any, str] | None] = lambda value: None,
        held: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(recorder, sources)
        self.case: Any = None
        self.operations = 0
        self.key = key
        self.held = held
        self.returned: set[str] = set()
        self.excused = 0
        self.silent: set[int] = set()  # ids of fixtures, whose calls are no lines of scripts
        self._frames: list[Frame] = []
        self._all: list[Entry] = []
        self._entries = self._all  # of the innermost block that is open

    def lines(self) -> list[str]:
        """Return what was done so far as lines of Python."""
        return Writer().lines(self._all)

    @property
    def target(self) -> str:
        node = self._frames[-1].node if self._frames else None
        found = node.targets[0] if isinstance(node, ast.Assign) and not isinstance(node.value, SCOPES) else None
        return found.id if isinstance(found, ast.Name) else ""

    def operate(self, source: str, rule: str, function: Callable[[], Any], name: str = "") -> Any:
        self.operations += 1
        if not self._frames:
            self._entries.append(Line(normal(source)))
        result = self.recorder.call(source, rule, function)
        if not self.excused:
            self.returned.add(self.recorder.attributed or rule)
        return result

    def run(self, source: str, function: Callable[[], Any]) -> Any:
        """Run what takes longer than an operation may, has a time limit of its own, and raises nothing."""
        self.operations += 1
        self.recorder.note(source)
        self.recorder.steps[-1].result = function()
        self.recorder.watchdog.leave()
        return self.recorder.steps[-1].result

    def note(self, source: str) -> None:
        """Add a line, if there is one, that belongs to no statement of the check."""
        if source:
            self._entries.append(Line(source))
            self.recorder.note(source)

    def insert(self, entry: Line) -> None:
        """Add lines of scripts that stand for what no statement of the check did."""
        self._entries.append(entry)

    def fill(self, put: Callable[[Any], object], items: Iterable[Any]) -> None:
        """Put items into what the statement in progress opens; scripts do so in statements of their own, after it."""
        for each in items:
            try:
                put(each)
            finally:
                self.insert(Line(normal(self.recorder.steps[-1].source.strip())))

    def precede(self, source: str) -> None:
        """Add a line before the statement in progress."""
        self._entries.insert(len(self._entries) - bool(self._frames), Line(normal(source)))
        self.recorder.note(source)

    def amend(self, source: str) -> None:
        """Replace the expression of the operation in progress, by which a fixture makes something."""
        super().amend(source)
        frame = self._frames[-1] if self._frames else None
        if frame is not None and frame.construction and frame.constructed is None:  # else it is done with what it makes
            frame.construction = source

    def construct(
        self,
        source: str,
        rule: str,
        build: Callable[[], Any],
        rules: Mapping[str, str],
        kind: Callable[..., Subject] = Subject,
        name: str = "queue",
    ) -> Subject:
        """Build a subject, named as the variable that the statement in progress assigns to.

        Args:
            rule: the rule that fails if that raises.
            rules: see :class:`~queue_conformance.engine.subject.Subject`.
            name: what it is called where nothing assigns it.
        """
        name = self.target or name
        made: Subject = self.make(source, rule, lambda: kind(build(), name, self, rules), name, shown=False)
        return made

    def make(self, source: str, rule: str, function: Callable[[], Any], name: str = "", *, shown: bool = True) -> Any:
        frame = self._frames[-1] if self._frames else None
        if frame is not None:
            frame.construction = source
        name = self.target or name
        made = super().make(f"{name} = {source}" if name else source, rule, function, shown=shown)
        if frame is not None:
            frame.constructed = made
        return made

    def _source_of(self, value: Any) -> str | None:
        source = super()._source_of(value)
        return Writer().expression_of(self._frames[-1], value) if source is None and self._frames else source

    # --- What instrumented functions call ------------------------------------------------------------------------------

    def statement(self, source: Source, number: int, names: Mapping[str, Any]) -> Frame:
        """Run one statement."""
        frame = self.head(source, number, names)
        self._entries.append(frame)
        return frame

    def leave(self, frame: Frame) -> None:
        """Note that a statement is at its end."""
        frame.ended = self.operations
        self._frames.pop()

    def head(self, source: Source, number: int, names: Mapping[str, Any]) -> Frame:
        """Begin the head of a block."""
        node = source.statements[number]
        known = {name: names[name] for name in node.reads if name in names}  # type: ignore[attr-defined]
        if isinstance(node, ast.AugAssign):  # which may change what a name holds in place
            known = {name: copy(value) if is_a(value, list, set, dict) else value for name, value in known.items()}
        self._frames.append(Frame(self, node, source, known, self.operations, self.operations))
        return self._frames[-1]

    def seen(self, number: int, before: int, value: Any) -> Any:
        """Note the value of an expression."""
        if self._frames:
            self._frames[-1].values[number] = (value, before, self.operations)
        return value

    @contextmanager
    def block(self, frame: Frame, manager: AbstractContextManager[Any]) -> Iterator[Any]:
        """Run a block."""
        if isinstance(manager, Block):
            manager.bind(self.case)
        self.leave(frame)
        outer, self._entries = self._entries, []
        outer.append(Within(frame, manager, self._entries))
        self.recorder.faulty |= isinstance(manager, Fault) and not manager.is_ordinary
        try:
            with (
                self.recorder.block(f"with {manager.source}:") if isinstance(manager, Fault) else nullcontext(),
                manager as entered,
            ):
                yield entered
        finally:
            self._entries = outer

    @contextmanager
    def forget(self, subject: Any) -> Iterator[None]:
        """Let go of a subject that the check deletes, so that nothing here keeps it alive."""
        yield
        if not is_a(subject, Subject):
            return
        subject.raw = None
        self._entries.append(Line(f"del {subject.name}"))
        self.recorder.note(f"del {subject.name}")
        self.recorder.release()

    def compare(self, left: Any, comparison: str, right: Any, expected: str = "") -> None:
        """Assert that a comparison holds."""
        known, left = COMPARISONS[comparison], unwrapped(left)
        try:
            holds = self._holds(left, comparison, unwrapped(right))
        except Exception as error:  # the code of the subject's value, or of one that is no such thing
            self._fail(expected or known.expected.format(self._shown(right)), f"{describe(left)}, and {describe(error)} raised")
        if not holds:
            if comparison == "Eq" and type(left) is type(right) is dict:
                left, right = total(differing, (left, right))(left, right)
            shown = self._alternatives(right) if comparison == "In" else self._shown(right)
            differs = missing_or_besides(left, right, expected) if comparison == "Eq" else ""
            expected = expected or known.expected.format("nothing" if _is_empty(right) else shown)
            self._fail(expected, self._received(left, expected) + differs, difference_in(left, comparison, right))
        self.held()

    def hold(self, value: Any, expected: str = "") -> None:
        """Assert that a value is true."""
        if not self._is_true(value):
            frame = self._frames[-1]
            test = cast(ast.Assert, frame.node).test
            denied = test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else None
            actual = frame.value_of(denied) if denied else value
            expected = expected or f"a {'false' if denied else 'true'} value"
            self._fail(expected, self._received(actual, expected), _untruth(frame, test, actual))
        self.held()

    # -------------------------------------------------------------------------------------------------------------------

    def _is_true(self, value: Any) -> bool:
        return total(bool, False)(value)

    def _holds(self, left: Any, comparison: str, right: Any) -> bool:
        """Compare, items by their keys."""
        if comparison in ("Eq", "NotEq") and (key := self.key(right)):
            found = self.key(left)
            return (found is not None and found[0] == key[0]) == (comparison == "Eq")
        if comparison in ("In", "NotIn") and is_a(right, list, tuple):
            among = any(left is one or self._holds(left, "Eq", one) for one in right)
            return among == (comparison == "In")
        return bool(COMPARISONS[comparison].holds(left, right))

    def _alternatives(self, right: Any) -> str:
        return " or ".join(dict.fromkeys(map(self._shown, right))) if is_a(right, list, tuple) else self._shown(right)

    def _received(self, value: Any, expected: str) -> str:
        """Describe the value of an assertion, with the call or the variable that it came from."""
        key = self.key(value)
        known = (self.sources.of(one) for one, _ in self.sources.given if key and self.key(one) == key)
        text = next((source for source in known if source and source != expected), None) or _described(value)
        frame = self._frames[-1]
        test = cast(ast.Assert, frame.node).test
        node, name = _tested(test), _name_in(test)
        steps = (step for step in reversed(self.recorder.steps) if name and step.source.strip().startswith(f"{name} = "))
        given = next(map(call_of, steps), "") if name else self._expression(node)
        if given and len(given) <= LONGEST_ORIGIN and " for " not in given:
            return text if given in expected else f"{text} from {given}"
        return f"{name.replace('_', ' ')}: {text}" if name else text

    def _expression(self, node: ast.expr) -> str:
        """Return an expression as scripts write it, or as the check does if scripts have a literal; ``""`` if it says little."""
        if not isinstance(node, (ast.Call, ast.Attribute, ast.Subscript)):
            return ""
        written = Writer().expression(self._frames[-1], node)
        if not names_in(parse(written)):
            written = ast.unparse(node)
        return "" if re.search(r"\b(getattr|Exactly|key)\(", written) else written

    def _fail(self, expected: str, actual: str, difference: str = "") -> NoReturn:
        self._frames[-1].failed = True
        raise Failed(expected, actual, self._told(actual, difference))

    def _told(self, actual: str, difference: str) -> str:
        """Return a difference, with the name of what came where no operation returned it."""
        name, told, _ = actual.partition(": ")
        if not told or name != _name_in(cast(ast.Assert, self._frames[-1].node).test).replace("_", " "):
            return difference
        return name if difference == LEFT else f"{name} {'differs' if difference in ('', OTHER) else difference}"


def _untruth(frame: Frame, test: ast.expr, actual: Any) -> str:
    """Return how what came differs from what an assertion says of it without a comparison; ``""`` if it says several things."""
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and test.func.id == "isinstance":
        return f"of type {type(unwrapped(frame.value_of(test.args[0]))).__name__}"
    denied = isinstance(test, ast.UnaryOp)
    return "" if isinstance(test, (ast.BoolOp, ast.Compare)) else untruth(actual, not denied)


def _tested(test: ast.expr) -> ast.expr:
    """Return the part of an assertion that is what came."""
    found: ast.expr = test.left if isinstance(test, ast.Compare) else getattr(test, "operand", test)
    return found


def _name_in(test: ast.expr) -> str:
    """Return the name of what came in an assertion, or ``""`` if it has none."""
    node = _tested(test)
    return node.id if isinstance(node, ast.Name) else ""


class Refuted(Record):
    """A lambda that says something of variables of a script, and is known to be false, whatever it says when it is asked again.

    Args:
        values: those of its parameters, which are variables of the script; all else becomes literals.
        expected: what it asks for, if it does not say that well.

    Attributes:
        difference: how what came differs from what it asks for.
    """

    def __init__(self, record: Operations, says: Callable[..., object], values: Iterable[Any], expected: str = "") -> None:
        super().__init__(record.recorder, record.sources)
        function, source = assertion(says)
        self._variables = dict(zip(says.__code__.co_varnames, values, strict=False))
        self.expected, self.difference = expected or body_of(says), ""
        with suppress(Exception):  # the code of a value may raise anything
            try:
                function(**self._variables, __record__=self, __source__=source)
            except Failed as failed:
                self.expected, self.difference = expected or failed.expected, failed.difference

    def _told(self, actual: str, difference: str) -> str:
        return difference

    def _is_true(self, value: Any) -> bool:
        return False

    def _holds(self, left: Any, comparison: str, right: Any) -> bool:
        return False

    def line(self) -> str:
        """Return the line of a script that fails."""
        cast(Frame, self._all[0]).failed = True
        (line,) = Writer(self._variables).lines(self._all)
        return line if self._variables else f"{line}, {f'expected {self.expected}'!r}"


def _described(value: Any) -> str:
    return "nothing" if _is_empty(value) else describe(value)


def _is_empty(value: Any) -> bool:
    return type(value) is list and not value
