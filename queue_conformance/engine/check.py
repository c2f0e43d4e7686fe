"""Checks: plain functions whose parameters are fixtures or cases."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, partial, wraps
from types import MappingProxyType
from typing import Any

import queue_conformance.engine.child
import queue_conformance.engine.fixtures  # noqa: F401  these register the fixtures of every kind
from queue_conformance.engine import registry
from queue_conformance.engine.case import Case, Fixture
from queue_conformance.engine.cases import FaultMissed, run_cases
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.instrument import fixture_of, instrument
from queue_conformance.engine.outcomes import NotApplicable, NotCovered, RuleFailed
from queue_conformance.engine.record import Failed
from queue_conformance.engine.recording import OperationRaised
from queue_conformance.engine.runner import runner_of
from queue_conformance.engine.scripts import raising
from queue_conformance.engine.sequences import commands
from queue_conformance.faults.fault import Fault, Missed
from queue_conformance.specification.kinds import Kind


def check(
    *rules: str,
    kinds: Iterable[Kind] = (),
    name: str | None = None,
    depends_on: str | Sequence[str] = (),
    first: str = "",
    masked: Mapping[str, str] | None = None,
    **cases: Sequence[Any],
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a function as a check.

    Args:
        rules: the ids of the rules that it tests; assertions are about the first, unless ``under_test`` says otherwise.
        kinds: the kinds of implementation that it can drive; all whose folder it stands in, if none is named.
        name: what it is called, if not the id of its first rule.
        depends_on: command sequences, which are run first, and the names of checks, which are run if this one fails: if one of
            them fails, only that is reported.
        first: the name of a check that is run first as well, because this one may never end where that fails.
        masked: by the id of a rule, that of another one; if both fail, the failure of the first is dropped.
        cases: by the name of a parameter, its values; the check runs with each one, or with each combination, the first
            parameter varying last (see :func:`~queue_conformance.engine.cases.run_cases`).
    """

    needed = [depends_on] if isinstance(depends_on, str) else depends_on
    sequences = [each for each in needed if ":" in each]
    others = [each for each in needed if ":" not in each]

    def register(function: Callable[..., None]) -> Callable[..., None]:
        @wraps(function)
        def run(context: CheckContext) -> None:
            run_with = partial(run_case, context, rules[0], function, told={})
            for sequence in sequences:
                runner_of(context).show(commands(sequence))
                context.restart()
            if first:
                _show(context, first)
                context.restart()
            with _unless_broken(context, others):
                if not cases:
                    run_with({})
                    return
                run_cases(context, name or rules[0], cases, run_with)
            for one, other in (masked or {}).items():
                if other in context.failed and one in context.failed:
                    del context.failed[one], context.covered[one]

        registry.check(*rules, kinds=kinds, name=name)(run)
        return function

    return register


def _wrong_length(context: CheckContext) -> RuleFailed | None:
    """Return how ``len`` fails in ordinary use, if it does: then it is no other rule that a wrong length fails."""
    name = context.driver.rules.get("len", "")
    if any(check.name == name for check in registry.checks_of(context.implementation.kind)):
        with context.unnoticed():
            context.failed = {}
            with suppress(RuleFailed):
                _show(context, name)
            return context.failed.get(name)
    return None


def _show(context: CheckContext, name: str) -> None:
    """Run another check, and raise its first failure that a sequence has not survived."""
    function = next(check.function for check in registry.checks_of(context.implementation.kind) if check.name == name)
    with suppress(NotCovered), context.collecting():
        function(context)
    if failure := next((failure for failure in context.failed.values() if not failure.survived), None):
        raise failure


@contextmanager
def _unless_broken(context: CheckContext, others: Sequence[str]) -> Iterator[None]:
    """Raise the failure of the first of some other checks that fails too, instead of what fails inside."""
    if not others:
        yield
        return
    raised = None
    try:
        yield
    except RuleFailed as failure:
        raised = failure
    if raised is None and not context.failed:
        return
    failed_rules, context.failed = context.failed, {}
    covered = context.covered.copy()
    for name in others:
        _show(context, name)
    context.failed, context.covered = failed_rules, covered
    if raised is not None:
        raise raised


def run_case(
    context: CheckContext,
    rule: str,
    check: Callable[..., None],
    values: Mapping[str, Any] = MappingProxyType({}),
    fixtures: Mapping[str, Fixture] = MappingProxyType({}),
    told: dict[object, Sequence[RuleFailed | None]] | None = None,
) -> None:
    """Run a check, each statement of which is recorded.

    Args:
        rule: what its assertions are about.
        check: the function.
        values: the values of one case.
        fixtures: fixtures for this check alone, which win over those that are registered.
        told: the failures of other cases, as they were told, by what is the same where they would be told so again.

    Raises:
        RuleFailed: if it fails; where ``len`` is wrong in ordinary use, too, that is the failure. Who gives fixtures runs a case
            again and again, and has the scripts written of the failures that are kept.
    """
    failures = _failures(context, rule, check, values, fixtures)
    if failures:
        told = {} if told is None else told
        sizes = [len(value) for value in values.values() if isinstance(value, Sized)]  # what takes less is told by itself
        same = context.attempt, *sizes, *(failure and (*failure.finding, failure.way) for failure in failures)
        if same not in told:
            again = partial(_failures, context, rule, check, values, fixtures)
            told[same] = _told(context, failures if fixtures else _written(failures), again, plainer=not fixtures)
        *went_on, last = told[same]
        for failure in went_on:
            if failure:
                context.keep(failure)
        if last:
            raise last


def _told(
    context: CheckContext,
    failures: Sequence[RuleFailed | None],
    again: Callable[[], Sequence[RuleFailed | None]],
    *,
    plainer: bool,
) -> Sequence[RuleFailed | None]:
    """Return failures as they are told: that of ``len``, if it explains them, or what plainer items show, if these do."""
    of_length = next((failure for failure in failures if failure and failure.of_length), None)
    if of_length and (wrong := _wrong_length(context)):
        context.first = context.first or of_length  # where a wrong length does not fail alone, this may
        return [wrong]
    context.learn(failure.rule for failure in failures if failure)
    final = any(failure and failure.final for failure in failures)  # such as that nothing is left, to run it again with
    # Who gives fixtures runs a case again and again; and where no item had a field, plain ones fail as these do.
    if not plainer or final or not context.driver.given:
        return failures
    context.stop_if_shared()
    context.first = context.first or next(filter(None, failures))  # where a plainer one does not fail alone, this may
    return _plainer(context, failures, again)


def _plainer(
    context: CheckContext, failures: Sequence[RuleFailed | None], again: Callable[[], Sequence[RuleFailed | None]]
) -> Sequence[RuleFailed | None]:
    """Return the failures as they are with plain items, if these fail alike, or else with items that differ in one field.

    If requests with such fields are lost in ordinary use, too, that is the failure.
    """
    shown = [failure and failure.finding for failure in failures]

    def alike(found: Sequence[RuleFailed | None]) -> bool:
        return [failure and failure.finding for failure in found] == shown

    def fails() -> bool | None:
        with suppress(NotCovered, NotApplicable):
            found = again()
            return alike(found) or (None if found else False)
        return None

    with context.unnoticed(), context.driver.varying(context.driver.varied):
        for _ in context.driver.simpler():
            with suppress(NotCovered, NotApplicable):  # for that proves nothing of these items
                found = again()
                if alike(found):
                    found = _written(found)
                    matter = context.driver.fields_matter(fails)
                    for failure in filter(None, found):
                        failure.fields_matter = matter
                    return found
            if not context.driver.varied:
                with context.driver.varying(context.driver.fields):
                    for sequence in runner_of(context).kind.ordinary:
                        try:
                            with suppress(NotCovered):
                                runner_of(context).show(commands(sequence))
                        except RuleFailed as failure:
                            if context.applies(failure.rule):  # else nobody would be told
                                return [failure]
    return failures


def _failures(
    context: CheckContext,
    rule: str,
    check: Callable[..., None],
    values: Mapping[str, Any],
    fixtures: Mapping[str, Fixture],
) -> Sequence[RuleFailed | None]:
    """Run a check; return the failures after which it went on, and the one that ended it, if it failed."""
    function, source = instrument(check)
    if context.recorder.steps:
        context.restart()
    context.recorder.main_rule = rule
    case = Case(context, rule)
    failure = None
    before = context.covered[rule]
    for value in values.values():
        if isinstance(value, Fault):
            case.sources.give(value, value.source)
            case.record.note(value.setup)
    try:
        with ExitStack() as stack:
            found = {name: fixtures.get(name) or fixture_of(function, name) for name in _wanted(function) if name not in values}
            given = {name: _made(stack, found[name], case) if name in found else values[name] for name in _wanted(function)}
            case.record.silent.update(map(id, given.values()))
            function(**given, __record__=case.record, __source__=source)
        if not case.failed:
            for fault in (value for value in values.values() if isinstance(value, Fault)):
                fault.must_hit()
    except Failed as failed:
        failure = case.failure(failed, case.record.lines)
    except Missed as missed:
        raise FaultMissed(str(missed)) from None
    except OperationRaised as raised:
        error = raised.error
        failure = context.unexpected(raised, lambda: raising(case.record.lines(), error))
    except RuleFailed as found:
        if found.sequence is not None:  # which was shortened
            raise
        failure = found
    except Exception as error:
        if (mishandled := case.mishandled(error)) is None:
            raise
        failure = case.failure(mishandled, case.record.lines)
    if case.failed or failure:
        return [*case.failed, failure]
    if rule in case.record.returned:  # where nothing is compared, it is tested that nothing is raised
        context.covered[rule] += context.covered[rule] == before
    return []


def _written(failures: Sequence[RuleFailed | None]) -> Sequence[RuleFailed | None]:
    return [failure and written(failure) for failure in failures]


def written(failure: RuleFailed) -> RuleFailed:
    """Write the script of a failure, which says what has just been recorded, and return the failure."""
    _ = failure.body
    return failure


@cache
def _wanted(function: Callable[..., None]) -> list[str]:
    """Return the names of the fixtures and values that a check asks for."""
    return [name for name in inspect.signature(function).parameters if not name.startswith("__")]


def _made(stack: ExitStack, fixture: Fixture, case: Case) -> Any:
    """Return what a fixture makes; a generator is resumed after the check, with the exception that ended it if there is one."""
    return stack.enter_context(contextmanager(fixture)(case)) if inspect.isgeneratorfunction(fixture) else fixture(case)
