"""What a check can end in, besides returning."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from itertools import chain
from types import CodeType, FunctionType
from typing import Any

from queue_conformance import script_support
from queue_conformance.engine.difference import ANOTHER, PLAIN
from queue_conformance.engine.recording import Step
from queue_conformance.engine.shown import NOTHING_SHOWN, Shown
from queue_conformance.engine.ways import explains, is_plainer, raise_alike
from queue_conformance.specification.kinds import all_kinds

SUCCESS = "no exception"
RETURNS = "the call returns"
"""What is expected of an operation that raised, or that hung or died."""


class NotCovered(Exception):
    """A check could not test its rule; the text says why."""


class TimeIsOver(Exception):
    """The run may take no longer; the check in hand tells what it has found by then. The text says how long the run may take."""


class TooSlow(NotCovered):
    """The server or this machine is too slow for the time-outs of the implementation, so the check proves nothing."""


class NotApplicable(Exception):
    """What a rule is about does not exist in this implementation; the text says why."""


class NotAlone(BaseException):
    """A check that shares its process with others needs one of its own: it is run again there, and says nothing here."""


class FailedAmongOthers(NotAlone):
    """A check failed in a shared process, where what other checks left behind may be the cause."""


@dataclass(frozen=True, slots=True)
class Received:
    """What the implementation returned, where a text about it might stand; ``part`` describes what matters of it."""

    value: Any
    part: str = ""


@dataclass(eq=False, repr=False)
class RuleFailed(Exception):
    """A rule failed.

    Attributes:
        final: whether the rule is certain, so that no ablation can attribute the failure to another one.
        write: returns the lines of a script.
        shown_by: the command that showed it, if that is not the one in progress.
        operation: the operation that returned something else, if that is not the last one.
        last: the operation of the implementation that comes last, if a function of the kit calls it.
        difference: how what came differs from what was expected (see :mod:`~queue_conformance.engine.difference`).
        way: what it takes: the check and its case, or what the shortest command sequence consists of.
        survived: the sequence ran to its end nevertheless, and nothing else was wrong.
        deferred: it showed when all else had been judged; if no other rule is to blame, the sequence has survived it.
        others: failures of the same rule that have other causes, or need something else.
        varied: the fields in which items differed.
        fields_matter: whether it was tried that items in which less differs pass.
        at_end: whether it showed when all commands of its sequence were over, in what is compared then.
        raised_at: what a task raised where, as of a :class:`Step`, if it is that which failed.
    """

    rule: str
    expected: str
    actual: str
    steps: Sequence[Step]
    write: Callable[[], Sequence[str]] = tuple
    final: bool = False
    sequence: tuple[Any, ...] | None = None
    shown_by: str = ""
    operation: str = ""
    last: str = ""
    difference: str = ""
    way: str = ""
    survived: bool = False
    deferred: bool = False
    others: list[RuleFailed] = field(default_factory=list)
    varied: frozenset[str] = frozenset()
    fields_matter: bool = False
    at_end: bool = False
    raised_at: str = ""

    def __post_init__(self) -> None:
        super().__init__(f"{self.rule}: expected {self.expected}, got {self.actual}")
        self.steps = list(self.steps)

    @cached_property
    def body(self) -> Sequence[str]:
        """The lines of a script."""
        return self.write()

    @property
    def cause(self) -> str:
        """The operation that failed, and how: failures of a rule that differ in this have causes of their own."""
        last = self.steps[-1] if self.steps else None
        if place := _PLACE.search(self.actual):
            return f"{place[1]} {WAITS}"
        if last is not None and last.error is not None:
            return f"{self.failing_operation} raised {type(last.error).__name__}"
        result = self.actual.partition(" from ")[0]
        difference = result if result in PLAIN else self.difference or ANOTHER
        return f"{self.failing_operation}{'' if difference.startswith('raised ') else ':'} {difference}"

    @property
    def of_length(self) -> bool:
        """Whether what came instead came from ``len``, or was raised by it."""
        return bool(_OF_LENGTH.search(self.actual)) or self.cause.startswith("len raised ")

    @property
    def failing_operation(self) -> str:
        """The operation that failed: the one that raised, or returned something else."""
        last = self.steps[-1] if self.steps else None
        own = "" if last is not None and last.error is not None else self.operation
        return own or self.last or (operation_of(last.source) if last else "") or "the check"

    @property
    def finding(self) -> tuple[str, str]:
        """What stays the same while it is shortened."""
        return self.rule, self.cause

    def explains(self, other: RuleFailed) -> bool:
        """Whether another failure of the same rule needs more than this one, and may be the same."""
        if self.cause == other.cause:
            return explains(self.way, other.way)
        return raise_alike(self.cause, other.cause) and is_plainer(self.way, other.way)

    def add(self, other: RuleFailed) -> None:
        """Keep another failure of the same rule, if it has another cause or needs something else."""
        if (other.cause, other.way) not in {(known.cause, known.way) for known in (self, *self.others)}:
            self.others.append(other)

    def as_rule(self, rule: str, *, final: bool = True) -> RuleFailed:
        """Return the same failure, attributed to another rule."""
        return replace(self, rule=rule, final=final)


WAITS = "waits forever"
"""What is said of a coroutine that nothing lets end."""

_PLACE = re.compile(rf"{WAITS} in ([\w.]+)")
_OF_LENGTH = re.compile(r"^length: | from len\((queue|other|scheduler)\)")
_CALLED = re.compile(r"getattr\(\w+, '(\w+)'|\bcall\(\w+\.(\w+)[,)]|(\w+)\(")
_RUNNERS = ("run", "call", "start", "settle")


def operation_of(source: str) -> str:
    """Return the name of the operation that a line of Python calls, itself or by a loop, or of an attribute in it, or ``""``."""
    return next((name for name in _called(source) if name not in _RUNNERS), "")


def own_operation(source: str, cls: type[Any]) -> str:
    """Return the operation of a class that a line of Python calls, if need be in a function of the kit, or ``""``."""
    own = {name for base in getattr(cls, "__mro__", ()) for name in vars(base)}
    called = _called(source)
    asked = (name for name in called if name in _PROTOCOLS)
    return next(chain((name for name in chain(called, _called_by_kit(called)) if name in own), asked), "")


def _called(source: str) -> list[str]:
    return ["".join(names) for names in _CALLED.findall(source.replace("__len__", "len"))]


def _called_by_kit(names: Iterable[str]) -> Iterator[str]:
    """Yield the names that functions of these names use, and those that they call, if scripts may import them.

    Where a kind has a function of the same name as others, it is the one of the kind.
    """
    folders = dict.fromkeys(folder for kind in all_kinds() for folder in kind.folders)
    of_kinds = (sys.modules.get(f"{folder}.script_support") for folder in folders)
    modules = [*filter(None, of_kinds), *filter(inspect.ismodule, vars(script_support).values())]
    for name in names:
        for module in modules:
            if isinstance(function := vars(module).get(name), FunctionType):
                yield from _names_used(function.__code__, function.__globals__, {name})


def _names_used(code: CodeType, known: Mapping[str, Any], seen: set[str]) -> Iterator[str]:
    yield from code.co_names
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    for name in code.co_names:
        if name not in seen and isinstance(function := known.get(name), FunctionType):
            seen.add(name)
            inner.append(function.__code__)
    for each in inner:
        yield from _names_used(each, known, seen)


_WANTED = re.compile(r"(an exception|[A-Z]\w*(?:Error|Exception))\b")
"""The beginning of what is expected where an operation must raise."""

_PROTOCOLS = ("len", "bool", "iter")
"""Functions that call an operation of another name."""


@contextmanager
def shown_by(operation: str) -> Iterator[None]:
    """Mark failures that are raised inside as shown by another command than the one in progress."""
    try:
        yield
    except RuleFailed as failure:
        failure.shown_by = operation
        raise


@dataclass(frozen=True, slots=True)
class Violation:
    """A failed rule, as data.

    Attributes:
        rule: its id.
        expected: what it asks for, short.
        actual: what happened instead, short.
        operations: what was done, one line each.
        script: a stand-alone program that shows it.
        sequence: the sequence of a machine, which can be run again, or ``None``.
        stacks: where all threads were, for a hang or a crash.
        cause: the operation that failed, and how.
        way: what it takes: the check and its case, or what the shortest command sequence consists of.
        others: violations of the same rule that have other causes, or need something else.
        raised_at: see :class:`Step`; ``""`` if nothing was raised.
        base: the dotted path of a released class from which it derives, and which fails in the same way, or ``""``.
    """

    rule: str
    expected: str
    actual: str
    operations: tuple[str, ...]
    script: str
    sequence: tuple[Any, ...] | None = None
    stacks: str = ""
    cause: str = ""
    way: str = ""
    others: tuple[Violation, ...] = ()
    raised_at: str = field(default="", compare=False)
    base: str = field(default="", compare=False)

    @property
    def findings(self) -> tuple[Violation, ...]:
        """This violation and the others, each by itself."""
        return (replace(self, others=()), *self.others)

    def explains(self, other: Violation) -> bool:
        """Whether another violation of the same rule is the same, or a sequence that has all that this one consists of."""
        of_sequences = bool(self.sequence and other.sequence)
        return self.cause == other.cause and (self.way == other.way or (of_sequences and explains(self.way, other.way)))

    @property
    def said(self) -> str:
        """What was expected and what came, as a clause."""
        return self.actual if self.expected in (SUCCESS, RETURNS) else f"expected {self.expected}, got {self.actual}"

    @property
    def operation(self) -> str:
        """The operation that failed."""
        return self.cause.partition(" raised ")[0].partition(":")[0]

    @property
    def line(self) -> str:
        """The line of the implementation at which it was raised, or ``""``."""
        return _line(self.raised_at)

    @property
    def raises(self) -> frozenset[str]:
        """What was raised where, of this violation and the others; empty if one of them is none of an exception.

        Where another exception was expected, only the line matters: what turns one of them into that there does so with others.
        """
        wanted = [(_WANTED.match(one.expected), one) for one in self.findings]
        found = frozenset(f"not {other[1]} {one.line}" if other else one.raised_at for other, one in wanted)
        return found if all(one.raised_at for one in self.findings) else frozenset()

    def is_shown_by(self, other: Violation) -> bool:
        """Whether all that is raised here is raised in another violation, too, or at a line that raises the wrong class there."""
        shown = other.raises
        wrong = {one.split(" ", 2)[2] for one in shown if one.startswith("not ")}
        return bool(self.raises) and all(one in shown or _line(one) in wrong for one in self.raises)

    @property
    def evidence(self) -> str:
        """What was expected, what came, and the operations of each violation, as one text."""
        return "\n".join(line for one in self.findings for line in (one.expected, one.actual, one.cause, *one.operations))


def _line(raised_at: str) -> str:
    """Return the line of the implementation, of what was raised where."""
    return raised_at.partition(" ")[2].rpartition(" (")[0]


class Outcome(StrEnum):
    """What one check says of one rule."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    BLOCKED = "blocked"
    CUT_SHORT = "cut short"
    """It came to a ``close`` that is not there; what comes after one is asked by rules of its own."""
    NOT_COVERED = "not covered"
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True, slots=True)
class Observation:
    """What one check says of one rule.

    Attributes:
        reason: why, unless it passed or failed.
        violation: the evidence, if it fails.
    """

    rule: str
    outcome: Outcome
    check: str
    reason: str = ""
    violation: Violation | None = None

    @property
    def size(self) -> int:
        """The number of operations of its evidence."""
        return len(self.violation.operations) if self.violation else 0


def blocked(rule: str, check: str, by: Iterable[str]) -> Observation:
    """Return the observation that a check could not test a rule because of other ones."""
    return Observation(rule, Outcome.BLOCKED, check, f"blocked by {', '.join(by)}")


def erroneous(rule: str, check: str) -> Observation:
    """Return the observation that nothing is known of a rule because the kit itself failed in a check."""
    return Observation(rule, Outcome.ERROR, check, f"the kit failed in the check {check}, which is an internal error")


@dataclass(frozen=True, slots=True)
class CheckResult:
    """All that came of one check.

    Attributes:
        notes: what else is worth reporting, such as how many operations were run.
        fatal: whether it hung or died.
        still: whether it hung between operations, which takes minutes to tell.
        second: its observations under a second contract, which fails no run; ``None`` if that asks for the same.
        finished: whether it ran to its end, whatever it found on the way.
        internal_error: how the kit itself failed in it, in one line, or ``""``.
        fault: what the implementation did so that it could not go on, in one line, or ``""``.
        slow: whether the server or this machine was too slow for it, or a failure did not come again.
        trouble: what is wrong around the class, in one line that says what to do, or ``""``.
        drawn: how many sequences were drawn and run.
        ran: how many commands of each name they had, also of those that none had.
        shown: what the crawls of the class have shown by now.
        late: whether the run had no time for all of it.
        scripted: whether all that failed did so as scripts in processes of their own, too.
    """

    check: str
    observations: tuple[Observation, ...]
    notes: tuple[str, ...] = ()
    fatal: bool = False
    still: bool = False
    seconds: float = 0.0
    second: tuple[Observation, ...] | None = None
    finished: bool = True
    internal_error: str = ""
    fault: str = ""
    traceback: str = ""
    slow: bool = False
    trouble: str = ""
    drawn: int = 0
    ran: Mapping[str, int] = field(default_factory=dict)
    shown: Shown = NOTHING_SHOWN
    late: bool = False
    scripted: bool = False

    @property
    def failed(self) -> list[Observation]:
        """The observations of failed rules."""
        return [observation for observation in self.observations if observation.outcome is Outcome.FAILED]

    @property
    def violations(self) -> list[Violation]:
        """The evidence of the failed rules."""
        return [observation.violation for observation in self.failed if observation.violation]
