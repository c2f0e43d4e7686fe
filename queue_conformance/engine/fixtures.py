"""The fixtures of every kind."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, NoReturn, Self

from queue_conformance.engine.accidents import ACCIDENTS, is_accident
from queue_conformance.engine.case import Case, SoftBlock, failure_of, fixture
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.driver import Item
from queue_conformance.engine.lockstep import run
from queue_conformance.engine.outcomes import NotCovered, RuleFailed
from queue_conformance.engine.record import Failed
from queue_conformance.engine.recording import OperationRaised, Timed, describe
from queue_conformance.engine.subject import Subject, unwrapped
from queue_conformance.engine.syntax import body_of
from queue_conformance.engine.writing import INDENT, Block
from queue_conformance.script_support import support

BUDGET = 20.0
"""Seconds after which no further turn of many begins; only slow implementations come near."""

FEWEST = 10
"""Turns without which a check says nothing."""


@fixture
def about(case: Case) -> Callable[[str], Block]:
    """``with about(rule)``: what fails inside, also by raising, fails this rule."""

    class About(Block):
        def __init__(self, rule: str) -> None:
            self.rule = rule

        def __enter__(self) -> None:
            case.rules.append(self.rule)
            self.attributed = case.context.recorder.attribute(self.rule)
            self.attributed.__enter__()

        def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
            self.attributed.__exit__(kind, error, trace)
            case.rules.pop()
            if isinstance(error, Failed):
                error.rule = error.rule or self.rule

    return About


@fixture
def also(case: Case) -> Callable[[str], Also]:
    """``with also(rule)``: assertions about another rule; where one fails, the check goes on after the block."""
    return partial(Also, case)


class Also(SoftBlock):
    """A block of assertions without operations.

    Args:
        context: of the check.
        rule: the rule that they are about.
    """

    def __init__(self, case: Case, rule: str) -> None:
        self._context = case
        self._rule = rule
        self._last = False

    def __enter__(self) -> None:
        self._context.rules.append(self._rule)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        self._context.rules.pop()
        if not isinstance(error, Failed):
            return False
        error.rule = self._rule
        self._failed, self._steps = error, list(self._context.context.recorder.steps)
        self._context.failed.append(self)
        return True

    def failure(self) -> RuleFailed:
        self._last = True
        try:
            return failure_of(self._context, self._failed, self._steps, self)
        finally:
            self._last = False

    def written(self, body: str, named: bool) -> str:
        return body if self._last else ""


@fixture
def context(case: Case) -> CheckContext:
    """Where the check works, for what no fixture does."""
    return case.context


@fixture
def rule(case: Case) -> str:
    """The rule that the check is about."""
    return case.rule


@fixture
def directory(case: Case) -> str:
    """The scratch directory below which the implementation stores."""
    return str(case.context.driver.directory)


@fixture
def play(case: Case) -> Callable[..., None]:
    """``play(sequence)``: run commands in lockstep with the model of the kind; see ``lockstep.run``."""
    return partial(run, case.context)


@fixture
def note(case: Case) -> Callable[[str, str], None]:
    """``note("after close", "push raises nothing")``: a remark for the report; those on one topic are one line."""
    notes = case.context.notes

    def noted(topic: str, text: str) -> None:
        known = next((number for number, each in enumerate(notes) if each.startswith(f"{topic} ")), len(notes))
        notes[known:] = [f"{notes[known]}, {text}", *notes[known + 1 :]] if known < len(notes) else [f"{topic} {text}"]

    return noted


@fixture
def made(case: Case) -> Callable[..., Any]:
    """``made(cause)``: what a cause or a lambda makes, or the value of an item; scripts make it anew wherever it is used."""

    def found(cause: Any, *arguments: Any) -> Any:
        value = cause.value if isinstance(cause, Item) else cause(*arguments)
        return case.sources.give(value, getattr(cause, "source", None) or body_of(cause))

    return found


@fixture
def turns(case: Case) -> Callable[..., Iterator[int]]:
    """``for turn in turns(50)``: count, and end sooner where a turn takes long; ten turns are needed, or ``fewest=1``."""

    def counted(count: int, fewest: int = FEWEST) -> Iterator[int]:
        watchdog, notes = case.context.watchdog, case.context.notes
        end = watchdog.now + BUDGET
        for turn in case.context.each("turns", range(count), end):
            if watchdog.now > end:
                if turn < fewest:
                    raise NotCovered(f"{fewest} turns take more than {BUDGET:g} s")
                notes.append(f"{case.rule}: {turn} of {count} turns, because they take more than {BUDGET:g} s")
                return
            yield turn

    return counted


@fixture
def raises(case: Case) -> Callable[..., Block]:
    """``with raises(TypeError)``: the operation inside raises that; ``with raises(error)``: this very exception."""

    class Raises(Block):
        error: BaseException

        def __init__(self, *errors: type[BaseException] | BaseException, because: str = "") -> None:
            self.only = errors[0] if isinstance(errors[0], BaseException) else None
            self.variable = case.record.written(errors, {}) if self.only else ""
            self.errors = tuple(error if isinstance(error, type) else type(error) for error in errors)
            self.names = describe(self.only) if self.only else " or ".join(error.__name__ for error in self.errors)
            self.because = because

        def __enter__(self) -> Raises:
            return self

        def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
            if error is None:
                self._fail(f"returned {describe(case.context.recorder.steps[-1].result)}")
            if not isinstance(error, OperationRaised):
                return False
            if not isinstance(error.error, self.errors) or self.only not in (None, error.error):
                self._fail(f"{describe(error.error)} raised")
            self.error = error.error
            case.context.covered[case.rule] += 1
            return True

        def _fail(self, actual: str) -> NoReturn:
            raise Failed(f"{self.names}{self.because}", actual) from None

        def written(self, body: str, named: bool) -> str:
            caught = f"({self.names.replace(' or ', ', ')})" if len(self.errors) > 1 else self.names
            message = f"{self.names} expected, but the call returned"
            right = f"except {caught}:\n    pass  # right"
            if self.only:
                right = f"except Exception as caught:\n    assert caught is {self.variable}, repr(caught)"
            return f"try:\n{textwrap.indent(body, INDENT)}\n{right}\nelse:\n    raise AssertionError({message!r})"

    return Raises


@fixture
def tolerated(case: Case) -> Callable[..., Block]:
    """``with tolerated() as refused``: the operation inside may raise; then ``refused`` is true. Nothing may ``when=False``."""

    class Tolerated(Block):
        def __init__(self, *errors: type[BaseException], when: bool = True) -> None:
            self.errors = (errors or (Exception,)) if when else ()
            self.raised: BaseException | None = None
            self.failed = False

        def __bool__(self) -> bool:
            return self.raised is not None

        def __enter__(self) -> Tolerated:
            case.record.excused += bool(self.errors)
            return self

        def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
            case.record.excused -= bool(self.errors)
            if isinstance(error, OperationRaised) and isinstance(error.error, self.errors):
                self.raised = error.error
            wrong = getattr(error, "error", error)
            self.failed = self.raised is None and isinstance(wrong, Exception)  # an exit is no refusal: others may refuse there
            return self.raised is not None

        def written(self, body: str, named: bool) -> str:
            if not self.errors or self.failed:
                return body
            return f"with {'suppress(Exception)' if self.raised else 'or_exit()'}:\n{textwrap.indent(body, INDENT)}"

    return Tolerated


@fixture
def uncertain(case: Case) -> Callable[..., Uncertain]:
    """``with uncertain() as refused, fault``: the operation inside returns or raises; then ``refused`` is true."""
    return partial(Uncertain, case)


class Uncertain(SoftBlock):
    """A block in which an operation may raise, or not; scripts allow for both.

    Args:
        context: of the check.
        rule: the rule that what is raised is about, if not the one of the check.
        only: the names of exceptions; unless it is empty, what is raised must be one of them, or derived from one.
        never: the names of exceptions that may not be raised.
        expected: what may be raised, in words.
        consequence: tells what comes of an exception that may not be raised, as a clause.
        soft: whether the check goes on after what may not be raised.

    Attributes:
        raised: what the operation raised, or ``None``.
    """

    raised: BaseException | None = None
    failed: Failed | None = None

    def __init__(
        self,
        case: Case,
        rule: str = "",
        only: Sequence[str] = (),
        never: Sequence[str] = (),
        expected: str = "",
        consequence: Callable[[BaseException], str] = lambda error: "",
        soft: bool = False,
    ) -> None:
        self._context = case
        self._ends = not soft
        self._consequence = consequence
        self.rule = rule
        self.only, self.never = only, never
        self._excuses = not (only or never)
        self.expected = expected or " or ".join(only)

    def __bool__(self) -> bool:
        return self.raised is not None

    def __enter__(self) -> Self:
        self._context.record.excused += self._excuses
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        self._context.record.excused -= self._excuses
        if error is None and not self._excuses:
            self._context.record.returned.add(self.rule or self._context.rule)
        if not isinstance(error, OperationRaised) or not isinstance(error.error, Exception):
            return False
        self.raised = error.error
        if not self.accepts(error.error):
            self.failed = Failed(self.expected, f"{describe(error.error)} raised{self._consequence(error.error)}")
            self.failed.rule = self.rule
            if self._ends:
                raise self.failed from None
            self._steps = list(self._context.context.recorder.steps)
            self._context.failed.append(self)
        else:
            self._context.held(self.rule)
        return True

    def accepts(self, error: Exception) -> bool:
        """Whether this may be raised."""
        names = {cls.__name__ for cls in type(error).__mro__}
        return not (self.only and names.isdisjoint(self.only)) and names.isdisjoint(self.never)

    def asserted(self) -> str:
        """Return the lines of a script that fail unless ``error`` may be raised."""
        wanted = f"& {set(self.only)}" if self.only else f"& {set(self.never)} == set()"
        return f"names = {{cls.__name__ for cls in type(error).__mro__}}\nassert names {wanted}, repr(error)"

    def failure(self) -> RuleFailed:
        """Return how the block failed, if the check went on after it."""
        assert self.failed is not None
        self._ends = True
        try:
            return failure_of(self._context, self.failed, self._steps, self)
        finally:
            self._ends = False

    def written(self, body: str, named: bool) -> str:
        """Where it has a name, what follows is about what happened here: a script ends where the other thing happens."""
        if self.failed and self._ends:
            asserted = textwrap.indent(self.asserted(), INDENT)
            return f"try:\n{textwrap.indent(body, INDENT)}\nexcept Exception as error:\n{asserted}"
        if not named:
            return f"with suppress(Exception):\n{textwrap.indent(body, INDENT)}"
        if not self:
            return f"with or_exit():\n{textwrap.indent(body, INDENT)}"
        ends = "pass\nelse:\n    sys.exit()  # it was done, which is right too"
        return f"try:\n{textwrap.indent(body, INDENT)}\nexcept Exception:\n    {ends}"


@fixture
def refusable(case: Case) -> Callable[..., Uncertain]:
    """``with refusable() as refused``: what is inside may raise, but not by accident, as a dict that lacks a key does."""
    return partial(Refusable, case)


class Refusable(Uncertain):
    """A block in which an operation may raise on purpose, with a text.

    Args:
        context: of the check.
        expected: what is expected of it, in words.
    """

    def __init__(self, case: Case, expected: str = "an exception that explains what is wrong") -> None:
        super().__init__(case, expected=expected)

    def accepts(self, error: Exception) -> bool:
        return bool(str(error)) and not is_accident(error)

    def asserted(self) -> str:
        accidents = ", ".join(cls.__name__ for cls in ACCIDENTS)
        return f"assert str(error) and not isinstance(error, ({accidents})), repr(error)"


def timeout_of(context: CheckContext) -> float:
    """Return the seconds that are waited for what another process did, which must not look like an operation that hangs."""
    return min(context.timeout, context.time_limit / 4)


def operation(function: Callable[..., Any], rule: str = "", *, timed: bool = True) -> None:
    """Register a function that scripts quote as a fixture: checks call it as scripts do, as one operation.

    Args:
        function: the function.
        rule: the rule that fails if it raises, if not the one that the check is about.
        timed: whether each call on a queue has the time limit of an operation.
    """

    def made(case: Case) -> Callable[..., Any]:
        context, record = case.context, case.record
        waits = {"timeout": timeout_of(context)} if "timeout" in inspect.signature(function).parameters else {}

        def given(argument: Any) -> Any:
            return Timed(argument.raw, context.watchdog) if timed and isinstance(argument, Subject) else unwrapped(argument)

        def call(*arguments: Any, **keywords: Any) -> Any:
            written = f"{function.__name__}({record.written(arguments, keywords)})"
            return record.operate(written, rule or case.rule, partial(function, *map(given, arguments), **keywords, **waits))

        return call

    made.__name__, made.__module__, made.__doc__ = function.__name__, function.__module__, function.__doc__
    fixture(made)


def block(function: Callable[..., AbstractContextManager[Any]]) -> None:
    """Register a context manager that scripts quote as a fixture: checks enter it as scripts do."""

    def made(case: Case) -> Callable[..., AbstractContextManager[Any]]:
        @contextmanager
        def entered(head: str, *arguments: Any) -> Iterator[Any]:
            with case.record.recorder.block(head), function(*arguments) as value:
                yield value

        def enter(*arguments: Any) -> AbstractContextManager[Any]:
            return entered(f"with {function.__name__}({case.record.written(arguments, {})}):", *arguments)

        return enter

    made.__name__, made.__module__, made.__doc__ = function.__name__, function.__module__, function.__doc__
    fixture(made)


operation(support.missing_methods, timed=False)
operation(support.truth)
