"""The operations on an implementation, recorded as lines of Python while they run.

Counterexamples, scripts and the watchdog all come from here, so what a report shows is what ran.
"""

from __future__ import annotations

import math
import os
import re
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter  # now: an implementation may replace it in its module
from typing import Any

from queue_conformance.engine.budget import Costs
from queue_conformance.engine.closing import NoMore, WithoutClose
from queue_conformance.processes.isolation import Watchdog
from queue_conformance.specification.words import shortened

_process, _exit = os.getpid, os._exit  # taken now, because an implementation may replace them later

NOTHING = object()
"""The result of a step that has not returned, or that is not an operation."""


class Remark(str):
    """A text that is shown, as it is, instead of the result of a step."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


@dataclass(slots=True)
class Step:
    """One operation.

    Attributes:
        source: the line of Python, with a target if it has a result: ``popped = queue.pop()``.
        result: what it returned, or ``NOTHING`` if it did not, or is no operation.
        error: what it raised, or ``None``.
        raised_at: what was raised where, the same for all that raise at one line of the implementation for one reason.
        refusable: whether an implementation may refuse it; a script then ends there without a failure.
    """

    source: str
    result: Any = NOTHING
    error: BaseException | None = None
    raised_at: str = ""
    refusable: bool = False


class OperationRaised(Exception):
    """An operation on the implementation raised, which its rule says that it must not."""

    def __init__(self, rule: str, step: Step, error: BaseException) -> None:
        super().__init__(rule, step, error)
        self.rule = rule
        self.step = step
        self.error = error
        self.expected = ""

    def __str__(self) -> str:
        return f"{describe(self.error)} raised by {call_of(self.step)}{grounds_of(self.error)}"


class TakesTooLong(Exception):
    """Many calls, each of which returned in time, take too long together; the text says how long."""


SHOWN = 3.0
"""Seconds of many calls after which it is clear that all of them would take several times as long as they may."""

CLEARLY = 3
"""Times as long."""


class Timed:
    """An object that is called many times in one step: each call has the time limit of an operation.

    Args:
        seconds: the time limit of all of them; then, or when it is clear that they take longer, a call raises ``TakesTooLong``.
        calls: how many there will be, or 0 if nobody knows.
    """

    def __init__(self, raw: Any, watchdog: Watchdog, seconds: float = math.inf, calls: int = 0) -> None:
        self._raw = raw
        self._watchdog = watchdog
        self._seconds = seconds
        self._began = watchdog.now
        self._calls, self._done = calls, 0

    def __getattr__(self, name: str) -> Any:
        self._watchdog.go_on()
        found = getattr(self._raw, name)
        if not callable(found):
            return found

        def call(*arguments: Any, **keywords: Any) -> Any:  # iter(queue.pop, None) asks for it once
            self._go_on()
            return found(*arguments, **keywords)

        return call

    def __len__(self) -> int:
        self._go_on()
        return len(self._raw)

    def _go_on(self) -> None:
        passed = self._watchdog.go_on() - self._began
        if passed > self._seconds:
            raise TakesTooLong(f"it is not through after {self._seconds:g} s")
        if passed > SHOWN and passed * self._calls > CLEARLY * self._seconds * self._done:
            raise TakesTooLong(f"{self._calls} calls would take more than {self._seconds:g} s")
        self._done += 1


class Recorder:
    """Runs operations and keeps them; the one in flight is noted for the process that watches this one.

    Attributes:
        attributed: the rule that fails instead of that of an operation, or ``None``.
        faulty: whether there was a fault, over or not.
        refused: whether an operation was refused, which may raise again what it raised then.
        judged: returns the rule that fails instead of another one after that.
        main_rule: the rule of the check, if there is one.
        rule: the rule that would have failed if the last operation had raised.
        without: operations that are called no more, and what is said of each.
        unclosed: takes the place of ``close``, for a class without one, or ``None``.
        costs: what operations cost.
    """

    def __init__(self, watchdog: Watchdog) -> None:
        self.watchdog = watchdog
        self.steps: list[Step] = []
        self.attributed: str | None = None
        self.faulty = self.refused = False
        self.judged: Callable[[str], str] = str
        self.main_rule = ""
        self.rule = ""
        self.without: Mapping[str, str] = {}
        self.unclosed: WithoutClose | None = None
        self.costs = Costs()
        self._indent = ""
        self._raised: BaseException | None = None

    def restart(self, sequence: str = "") -> None:
        """Forget the steps so far, and what they hold; ``sequence``, as ``sequences.encode`` writes it, begins."""
        assigned = (step.source.strip().partition(" = ")[0] for step in self.steps if step.error is None)
        if names := dict.fromkeys(name for name in assigned if name.isidentifier()):
            self.watchdog.enter(f"del {', '.join(names)}", self.rule)  # an operation of the class, too, by its __del__
            self.steps = []
            self.watchdog.leave()
        self.steps = []
        self.faulty = self.refused = False
        if self.unclosed:
            self.unclosed.restart()
        self.watchdog.restart(sequence)

    def call(self, source: str, rule: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run one operation; if it raises or does not return, a rule fails.

        Raises:
            NoMore: if it is not to be called any more.
        """
        if gone := sorted(self.without.keys() & {*_OPERATION.findall(source)}):
            raise NoMore(self.without[gone[0]])
        if self.unclosed and self.unclosed.closes(source):
            return None
        if self._raised is not None:
            _release_frames(self._raised)  # no caller of an implementation keeps what was open when it raised
            self._raised = None
        self.rule = rule = self.judged(self.attributed or rule)
        source = self._indent + source
        step = Step(source)
        self.steps.append(step)
        self.watchdog.enter(source, rule)
        pid, began = _process(), perf_counter()
        try:
            step.result = function(*arguments)
            self.costs.add(rule, perf_counter() - began)
        except TakesTooLong:
            raise
        except BaseException as error:
            step.error = self._raised = error
            step.raised_at = origin_of(error)
            raise OperationRaised(rule, step, error) from error
        finally:
            if _process() != pid:
                self.watchdog.copied("\n".join(step.source for step in self.steps), rule)
                _exit(0)
            self.watchdog.leave()
        if self.unclosed:
            self.unclosed.lend(step.source, step.result)
        return step.result

    def note(self, source: str) -> None:
        """Record a line that is not an operation on the implementation, such as a change to a request."""
        self.steps.append(Step(self._indent + source))
        self.watchdog.note(self._indent + source)

    def remark(self, text: str = "") -> None:
        """Show a text, or nothing, instead of the result of the last step."""
        self.steps[-1].result = Remark(text) if text else NOTHING

    def amend(self, source: str) -> None:
        """Replace the expression of the last step; what it is assigned to stays."""
        step = self.steps[-1]
        step.source = step.source.removesuffix(call_of(step)) + source

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Record the first line of a block, and indent the steps inside."""
        self.note(head)
        self._indent += "    "
        try:
            yield
        finally:
            self._indent = self._indent[4:]

    def release(self) -> None:
        """Let go of everything that operations returned or raised, so that it is deleted unless somebody else holds it."""
        for step in self.steps:
            step.result = NOTHING
            if step.error is not None:
                _release_frames(step.error)

    @contextmanager
    def attribute(self, rule: str) -> Iterator[None]:
        """While this is open, an operation that raises or hangs fails this rule and no other."""
        previous, self.attributed = self.attributed, rule
        try:
            yield
        finally:
            self.attributed = previous


def origin_of(error: BaseException) -> str:
    """Return the class of an exception, the line of the implementation that led to it, and the line that raised it."""
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    foreign = [place for place in frames if not place[0].startswith(_KIT)]
    return f"{type(error).__qualname__} {foreign[0]} {foreign[-1]}" if foreign else ""


_KIT = str(Path(__file__).parent.parent)


def _release_frames(error: BaseException | None) -> None:
    """Cut an exception, and those in its context, off from the local variables of the functions that it went through."""
    while error is not None:
        error.__traceback__ = None
        error = error.__context__


_ADDRESS = re.compile(r" at 0x[0-9a-f]{6,}")
_PASSING = re.compile(r"(?<=\b0x)[0-9a-f]{6,}|(?<=\b127\.0\.0\.1:)\d+|(?<=\blocalhost:)\d+")
"""What differs from run to run: addresses, and the ports of local servers."""


def is_a(value: object, *classes: type) -> bool:
    """Whether a value is of one of these classes, whatever it says of its class: ``isinstance`` would ask it."""
    return issubclass(type(value), classes)


def describe(value: object, limit: int = 100) -> str:
    """Return a short representation, on one line and the same in each run; it never raises."""
    try:
        text = _text(_listed(value, limit) or _repeated(value, limit) or repr(value), limit)
        if is_a(value, BaseException) and not text.startswith(_name(value)):
            text = f"{_name(value)}({_text(str(value), limit)!r})"
    except BaseException as error:
        text = f"<{_name(value)} whose repr() raises {_name(error)}>"
    text = _PASSING.sub("...", _ADDRESS.sub("", text))
    return shortened(text, limit, both_ends=is_a(value, BaseException))  # the last words of a message may be those that count


MOST_CAUSES = 3
"""Causes of an exception that are told at most: each may have one of its own."""


def grounds_of(error: BaseException, told: Callable[[object], str] = describe) -> str:
    """Return what an exception says besides, as the end of a sentence: what it was raised from, and its notes.

    Args:
        told: returns a short representation.
    """
    parts: list[str] = []
    cause = _cause(error)
    while cause is not None and len(parts) < MOST_CAUSES:
        parts.append(f", from {told(cause)}")
        cause = _cause(cause)
    notes = object.__getattribute__(error, "__dict__").get("__notes__")
    if type(notes) is list:
        parts += [f"; note: {told(Remark(' '.join(note.split())))}" for note in notes if type(note) is str]
    return "".join(parts)


def _cause(error: BaseException) -> BaseException | None:
    """Return what an exception was raised from, whatever its class says of itself."""
    found: BaseException | None = BaseException.__dict__["__cause__"].__get__(error)
    return found


def _text(text: str, limit: int) -> str:
    """Return as much of a text as can be shown, without the methods that its class may have."""
    return str.__getitem__(text, slice(20 * limit))


def _name(value: object) -> str:
    """Return the name of the class of an object, whatever that class says of itself."""
    return str(type.__dict__["__name__"].__get__(type(value)))


def _listed(value: object, limit: int) -> str:
    """Return a list with short members, and the number of those for which there is no room; ``""`` for anything else."""
    if type(value) is not list:
        return ""
    shown = [describe(each, limit) for each in value[:limit]]
    while len(text := ", ".join([*shown, *_more(len(value) - len(shown))])) > limit - 2 and len(shown) > 1:
        shown.pop()
    return f"[{text}]"


def _more(count: int) -> list[str]:
    return [f"... {count} more"] if count else []


def _repeated(value: object, limit: int) -> str:
    """Return long text or bytes as a product, if they repeat a few characters; ``""`` for anything else."""
    if type(value) not in (str, bytes) or len(value) <= limit:  # type: ignore[arg-type]
        return ""
    assert isinstance(value, (str, bytes))
    for size in range(1, 10):
        times, rest = divmod(len(value), size)
        if not rest and value[:limit] == (value[:size] * limit)[:limit] and value == value[:size] * times:
            return f"{value[:size]!r} * {times}"
    return ""


def call_of(step: Step) -> str:
    """Return a step without its target."""
    return _TARGET.sub("", step.source.strip())


_OPERATION = re.compile(r"\b(\w+)\(")
_TARGET = re.compile(r"^[\w, ]+ = ")


def came_from(step: Step) -> str:
    """Tell what came of a step that should have raised."""
    if step.result is None or step.result is NOTHING:
        return f"nothing raised by {call_of(step)}"
    return f"{describe(step.result)} from {call_of(step)}"
