"""The operations on an implementation, recorded as lines of Python while they run.

Counterexamples, scripts and the watchdog all come from here, so what a report shows is what ran.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from queue_conformance.isolation import Watchdog

_process, _exit = os.getpid, os._exit  # now: an implementation may replace them in their module

NOTHING = object()
"""The result of a step that did not return, or is no operation."""


class Remark(str):
    """What is shown of a step instead of its result, as it is."""

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
        refusable: whether an implementation may just as well refuse it, so that a script ends well there.

    """

    source: str
    result: Any = NOTHING
    error: BaseException | None = None
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
        return f"{describe(self.error)} raised by {call_of(self.step)}"


class TakesTooLong(Exception):
    """So many calls, each of which returned in time, are not through in the time that there is; the text says so."""


class Timed:
    """An object that is called many times in one step: each call has the time limit of an operation.

    Args:
        seconds: the time limit of all of them; then a call raises ``TakesTooLong``.
    """

    def __init__(self, raw: Any, watchdog: Watchdog, seconds: float = math.inf) -> None:
        self._raw = raw
        self._watchdog = watchdog
        self._seconds = seconds
        self._end = watchdog.now + seconds

    def __getattr__(self, name: str) -> Any:
        self._go_on()
        return getattr(self._raw, name)

    def __len__(self) -> int:
        self._go_on()
        return len(self._raw)

    def _go_on(self) -> None:
        if self._watchdog.go_on() > self._end:
            raise TakesTooLong(f"it is not through after {self._seconds:g} s")


class Recorder:
    """Runs operations and keeps them; the one in flight is noted for the process that watches this one."""

    def __init__(self, watchdog: Watchdog) -> None:
        self.watchdog = watchdog
        self.steps: list[Step] = []
        self.attributed: str | None = None
        self._indent = ""
        self._raised: BaseException | None = None

    def restart(self, sequence: str = "") -> None:
        """Forget the steps so far: ``sequence`` begins, which is in a form that can be run again."""
        self.steps = []
        self.watchdog.restart(sequence)

    def call(self, source: str, rule: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run one operation; if it raises or does not return, a rule fails."""
        if self._raised is not None:
            _release_frames(self._raised)  # no caller of an implementation keeps what was open when it raised
            self._raised = None
        rule = self.attributed or rule
        source = self._indent + source
        step = Step(source)
        self.steps.append(step)
        self.watchdog.enter(source, rule)
        process = _process()
        try:
            step.result = function(*arguments)
        except TakesTooLong:
            raise
        except BaseException as error:
            step.error = self._raised = error
            raise OperationRaised(rule, step, error) from error
        finally:
            if _process() != process:
                self.watchdog.copied("\n".join(step.source for step in self.steps), rule)
                _exit(0)
            self.watchdog.leave()
        return step.result

    def note(self, source: str) -> None:
        """Record a line that is not an operation on the implementation, such as a change of the caller's request."""
        self.steps.append(Step(self._indent + source))
        self.watchdog.note(self._indent + source)

    def remark(self, text: str = "") -> None:
        """Show this of the last step, and not its result; nothing if there is no text."""
        self.steps[-1].result = Remark(text) if text else NOTHING

    def amend(self, source: str) -> None:
        """Change how the last step is written, but for its target."""
        step = self.steps[-1]
        step.source = step.source.removesuffix(call_of(step)) + source

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Record the first line of a block, and indent what is done in it."""
        self.note(head)
        self._indent += "    "
        try:
            yield
        finally:
            self._indent = self._indent[4:]

    def release(self) -> None:
        """Hold on to no object that an operation returned or raised, so that one which nobody else holds is gone."""
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


def _release_frames(error: BaseException | None) -> None:
    """Let an exception hold on to nothing that the functions it went through held."""
    while error is not None:
        error.__traceback__ = None
        error = error.__context__


_PASSING = re.compile(r"(?<=\b0x)[0-9a-f]{6,}|(?<=\b127\.0\.0\.1:)\d+|(?<=\blocalhost:)\d+")
"""The addresses of objects, and the ports of servers of this machine: other ones in each run."""


def describe(value: object, limit: int = 100) -> str:
    """Return a representation that is short, of one line, the same in each run, and never raises."""
    try:
        text = _listed(value, limit) or _repeated(value, limit) or repr(value)
        if isinstance(value, BaseException) and not text.startswith(type(value).__name__):
            text = f"{type(value).__name__}({str(value)!r})"
    except BaseException as error:
        text = f"<{type(value).__name__} whose repr() raises {type(error).__name__}>"
    return shortened(_PASSING.sub("...", text), limit)


def _listed(value: object, limit: int) -> str:
    """Return a list with each member short, and with the number of those for which there is no room."""
    if type(value) is not list:
        return ""
    shown = [describe(each, limit) for each in value[:limit]]
    while len(text := ", ".join([*shown, *_more(len(value) - len(shown))])) > limit - 2 and len(shown) > 1:
        shown.pop()
    return f"[{text}]"


def _more(count: int) -> list[str]:
    return [f"... {count} more"] if count else []


def _repeated(value: object, limit: int) -> str:
    """Return text or bytes longer than the limit as a product, if they are a few characters again and again."""
    if not isinstance(value, (str, bytes)) or len(value) <= limit:
        return ""
    for size in range(1, 10):
        times, rest = divmod(len(value), size)
        if not rest and value[:limit] == (value[:size] * limit)[:limit] and value == value[:size] * times:
            return f"{value[:size]!r} * {times}"
    return ""


def call_of(step: Step) -> str:
    """Return a step without its target."""
    return _TARGET.sub("", step.source.strip())


_TARGET = re.compile(r"^[\w, ]+ = ")


def came_from(step: Step) -> str:
    """Tell what came of a step that should have raised."""
    if step.result is None or step.result is NOTHING:
        return f"nothing raised by {call_of(step)}"
    return f"{describe(step.result)} from {call_of(step)}"


def shortened(text: str, limit: int = 100) -> str:
    """Return a text on one line of so many characters at most, all of which can be shown."""
    text = " ".join(text[: 20 * limit].split())  # it may be very long
    if not text.isprintable():
        text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return text if len(text) <= limit else f"{text[: limit - 3]}..."
