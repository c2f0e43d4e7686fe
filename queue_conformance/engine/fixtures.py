"""The fixtures of every kind."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial, wraps
from typing import Any

from queue_conformance.engine import lockstep
from queue_conformance.engine.case import Case, Fixture, fixture
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.outcomes import NotApplicable
from queue_conformance.engine.recording import Timed, is_a
from queue_conformance.engine.subject import Item, Subject, unwrapped
from queue_conformance.engine.syntax import body_of
from queue_conformance.script_support import clock, support

BUDGET = 20.0
"""Seconds after which no further turn of many begins; only slow implementations come near."""

FEWEST = 10
"""Turns without which a check says nothing."""


@fixture
def context(case: Case) -> CheckContext:
    """Where the check works, for what no fixture does."""
    return case.context


@fixture
def offers(case: Case) -> Callable[..., bool]:
    """``offers("persistent")``: whether the implementation has a capability, or all of several."""
    return case.context.offers


@fixture
def rule(case: Case) -> str:
    """The rule that the check is about."""
    return case.own


@fixture
def directory(case: Case) -> str:
    """The scratch directory below which the implementation stores."""
    return str(case.context.driver.directory)


@fixture
def expire(case: Case) -> Callable[[], int]:
    """``expire()``: let all that has a time to live in its server come to its end; how much that is."""
    server = case.context.backend.server if case.context.backend else None
    if server is None or not server.offers("expire"):
        raise NotApplicable("it stores nothing in a server of the kit's that lets it expire")
    return lambda: case.record.make("backend.server.expire()", case.rule, server.expire, "expired")


@fixture
def tested_class(case: Case) -> type[Any]:
    """The class that is tested."""
    found: type[Any] = case.sources.give(case.context.implementation.cls, case.context.driver.class_name)
    return found


@fixture
def run(case: Case) -> Callable[..., None]:
    """``run(sequence)``: run commands in lockstep with the model of the kind; see ``lockstep.run``."""
    return partial(lockstep.run, case.context)


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
        return case.context.each("turns", range(count), BUDGET, fewest)

    return counted


DAMAGES: set[str] = set()
"""The names of the fixtures that damage what is stored."""


def operation(function: Callable[..., Any], rule: str = "", *, timed: bool = True, damages: bool = False) -> Fixture:
    """Register a function that scripts quote as a fixture: checks call it as scripts do, as one operation.

    Args:
        rule: the rule that fails if it raises, if not the one that the check is about.
        timed: whether each call on a queue has the time limit of an operation.
        damages: whether it damages what is stored, which is a fault.
    """
    DAMAGES.update([function.__name__] * damages)

    @fixture
    @wraps(function, updated=())
    def made(case: Case) -> Callable[..., Any]:
        context, record = case.context, case.record
        waits = {}
        if "timeout" in inspect.signature(function).parameters:  # what waits for another process must not seem to hang
            waits["timeout"] = min(max(context.timeout, 2 * context.implementation.cost), context.time_limit / 4)

        def given(argument: Any) -> Any:
            return Timed(argument.raw, context.watchdog) if timed and is_a(argument, Subject) else unwrapped(argument)

        def call(*arguments: Any, **keywords: Any) -> Any:
            written = f"{function.__name__}({record.written(*arguments, **keywords)})"
            context.recorder.faulty |= damages
            return record.operate(written, rule or case.rule, partial(function, *map(given, arguments), **keywords, **waits))

        return call

    return made


def block(function: Callable[..., AbstractContextManager[Any]]) -> Fixture:
    """Register a context manager that scripts quote as a fixture: checks enter it as scripts do."""

    @fixture
    @wraps(function, updated=())
    def made(case: Case) -> Callable[..., AbstractContextManager[Any]]:
        @contextmanager
        def entered(head: str, *arguments: Any) -> Iterator[Any]:
            with case.record.recorder.block(head), function(*arguments) as value:
                yield value

        def enter(*arguments: Any) -> AbstractContextManager[Any]:
            return entered(f"with {function.__name__}({case.record.written(*arguments)}):", *arguments)

        return enter

    return made


missing_methods = operation(support.missing_methods, timed=False)
truth = operation(support.truth)
make_unreadable = operation(support.make_unreadable, damages=True)


def named(function: Callable[..., Any]) -> Fixture:
    """Register a function that scripts quote as a fixture; scripts call what it returns as the check does."""

    @fixture
    @wraps(function, updated=())
    def made(case: Case) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            name = case.record.target
            source = f"{function.__name__}({case.record.written(*arguments)})"
            return case.sources.give(case.record.make(source, case.rule, partial(function, *arguments), name), name)

        return call

    return made


contents_of_files = named(support.contents_of_files)
appended_below = named(support.appended_below)
damage_record = operation(support.damage_record, damages=True)
harm_file = operation(support.harm_file, damages=True)
chdir = block(contextlib.chdir)
shortened_file = block(support.shortened_file)
clock_at = block(clock.clock_at)
time_zone = block(clock.time_zone)
years_ago = block(clock.years_ago)
