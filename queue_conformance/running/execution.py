"""Run a check in a process of its own, and turn whatever comes of it into observations."""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple, TypeVar

from hypothesis.errors import Flaky

from queue_conformance.engine.closing import NeverCloses, NoMore
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.outcomes import (
    CheckResult,
    NotApplicable,
    NotCovered,
    Observation,
    Outcome,
    RuleFailed,
    TimeIsOver,
    TooSlow,
    Violation,
    blocked,
    erroneous,
)
from queue_conformance.engine.recording import OperationRaised, TakesTooLong, describe
from queue_conformance.engine.registry import Check
from queue_conformance.engine.sequences import Commands
from queue_conformance.engine.verdicts import combined
from queue_conformance.engine.violations import violation_of
from queue_conformance.implementation import Implementation
from queue_conformance.implementation.loading import LoadError
from queue_conformance.processes import endings
from queue_conformance.processes.endings import Abort
from queue_conformance.processes.isolation import Answer, IsolatedError
from queue_conformance.running.aborts import fatal_result, left_note
from queue_conformance.running.confirmation import confirmed
from queue_conformance.running.contexts import RunConfig, in_context, twice
from queue_conformance.running.faults import AtFault, fault_in
from queue_conformance.running.inheritance import with_bases
from queue_conformance.running.surroundings import trouble
from queue_conformance.specification import Rule

T = TypeVar("T")


def execute(
    check: Check, implementation: Implementation, rules: Mapping[str, Rule], config: RunConfig, before: Abort | None = None
) -> CheckResult:
    """Run one check; a machine runs each sequence that failed before too, in a process of its own.

    So a failure that was found once is found whatever is drawn now, and whatever the other sequences do.

    Args:
        check: the check.
        implementation: what it tests.
        rules: the rules that apply to the implementation, by id; the check says nothing of others.
        config: how it is run.
        before: how it took too long already, if it did.

    Returns:
        What it says of rules.
    """
    shown: set[str] = set()

    def run(sequence: Commands | None) -> CheckResult:
        def covered(context: CheckContext) -> tuple[CheckResult, Violation | None, bool]:
            context.replay = sequence
            context.blamed = config.known.get(sequence, {}) if sequence else {}
            result = observe(check, context, rules)
            first = violation_of(context, context.first) if context.first and context.first.rule in rules else None
            return result, first, needs_confirmation(context, result)

        attempt = partial(in_context, implementation, config, covered)
        try:
            ended = twice(attempt, before)
            if isinstance(ended, Answer) and ended.value[0].slow and not ended.value[0].failed:
                ended = twice(attempt, before)
        except IsolatedError as error:
            return internal_error(check, rules, str(error).strip().splitlines()[-1], str(error))
        except LoadError as error:
            return faulty(check, rules, str(error))
        if isinstance(ended, Answer):
            result, first, uncertain = ended.value
            result = _unhurried(replace(result, notes=(*result.notes, *left_note(ended))), ended.before)
            shown_config = replace(config, shown=result.shown)
            result = confirmed(result, first, shown_config) if uncertain else result
            alone = not (config.in_process or implementation.server)  # a base may go to another one
            return with_bases(result, implementation.cls, rules, shown_config) if alone else result
        if ended.how == endings.OVER:
            return left_out(check, rules, str(config.run_time))
        shorten = sequence is None and ended.rule not in shown
        return fatal_result(check, implementation, rules, config, ended, shorten=shorten)

    def sound(sequence: Commands | None) -> CheckResult:
        try:
            result = run(sequence)
        except OSError as error:  # the kit could not even begin
            return _troubled(check, rules, trouble(config.directory, str(error), implementation.server) or describe(error))
        if not (result.failed or result.internal_error):
            return result
        said = "\n".join(observation.violation.evidence for observation in result.failed if observation.violation)
        line = trouble(config.directory, f"{said}\n{result.internal_error}", implementation.server)
        return _troubled(check, rules, line) if line else result

    again = []
    for sequence in config.known if check.is_machine else ():
        again.append(sound(sequence))
        if again[-1].fatal:
            shown.update(observation.rule for observation in again[-1].failed)
    return _merged(sound(None), again)


def _troubled(check: Check, rules: Mapping[str, Rule], line: str) -> CheckResult:
    """Return what is known where something around the class failed: nothing of any rule."""
    return replace(left_out(check, rules, line), trouble=line)


def left_out(check: Check, rules: Mapping[str, Rule], reason: str) -> CheckResult:
    """Return what is known where a check had no time: nothing of any rule."""
    lost = (Observation(name, Outcome.NOT_COVERED, check.name, reason) for name in check.rules if name in rules)
    return CheckResult(check.name, tuple(lost), finished=False, late=True)


def _unhurried(result: CheckResult, before: Abort | None) -> CheckResult:
    """Return what came of a check, with a note if it had taken too long before."""
    if before is None:
        return result
    slow = (before.steps or ("the check",))[-1]
    note = f"{result.check}: {slow} {before.how} once, and did when it was tried again"
    return replace(result, notes=(*result.notes, note))


def _merged(result: CheckResult, again: Sequence[CheckResult]) -> CheckResult:
    """Add what replayed sequences broke to what came of a check; of each rule the shortest evidence is kept."""
    failed_rules: dict[str, Observation] = {}
    for observation in [*(o for replayed in again for o in replayed.failed), *result.failed]:
        known = failed_rules.get(observation.rule, observation)
        shown = [found.violation for found in (known, observation) if found.violation]
        failed_rules[observation.rule] = replace(observation, violation=combined(shown))
    others = [observation for observation in result.observations if observation.rule not in failed_rules]
    fatal = result.fatal or any(replayed.fatal for replayed in again)
    failed = next((one for one in (result, *again) if one.internal_error), result)
    return replace(
        result,
        observations=(*failed_rules.values(), *others),
        fatal=fatal,
        scripted=all(one.scripted for one in (result, *again) if one.failed),
        internal_error=failed.internal_error,
        traceback=failed.traceback,
    )


def needs_confirmation(context: CheckContext, result: CheckResult) -> bool:
    """Whether a failure may be due to what came before it in this process, and a script, which runs alone, can show it.

    A script of crawls starts the command line of Scrapy, whose connections nothing leads to the server for tests.
    """
    if context.backend is not None and context.backend.seen:
        scripts = (found.violation.script for found in result.failed if found.violation)
        if any(context.driver.imports(script) for script in scripts):
            return False
    return context.earlier > 0 and context.isolated and bool(result.failed) and not context.driver.missing


class _Ending(NamedTuple):
    """How a check ended, and what that says of the rules that it has not covered.

    Attributes:
        finished: whether it came to its end; if not, what failed blocks them.
    """

    reason: str = ""
    outcome: Outcome = Outcome.NOT_COVERED
    finished: bool = True
    slow: bool = False


def _ending_of(check: Check, context: CheckContext) -> _Ending:
    """Run a check on a context, and tell how it ended."""
    try:
        try:
            check.function(context)
            if leak := context.leak():
                raise leak
        except OperationRaised as raised:
            context.keep(context.unexpected(raised))
            return _Ending(finished=False)
    except (NotCovered, TakesTooLong, TimeIsOver) as skipped:
        context.covered.clear()
        return _Ending(str(skipped), slow=isinstance(skipped, TooSlow))
    except (Flaky, TimeoutError) as error:
        context.covered.clear()
        return _Ending(f"the kit could not tell: {_differed(error)}", slow=True)
    except NoMore as stopped:
        context.covered.clear()
        return _Ending(f"blocked by {stopped}", _outcome_of(stopped))
    except NotApplicable as skipped:
        return _Ending(str(skipped), Outcome.NOT_APPLICABLE)
    except RuleFailed as failure:
        try:
            context.keep(failure)
        except NoMore as stopped:
            return _Ending(f"blocked by {stopped}", _outcome_of(stopped))
        return _Ending(finished=False)
    return _Ending(f"the check came no further than {', '.join(context.failed)}" if context.failed else "")


def _differed(error: Exception) -> str:
    """Say what came of two tries of what was generated, if they differed; else what went wrong."""
    if not isinstance(error, ExceptionGroup):
        return describe(error)
    ways = [str(one) if isinstance(one, RuleFailed) else describe(one) for one in error.exceptions]
    return f"two tries of the same commands differed: {', and then '.join([*ways, 'nothing of that'][:2])}"


def observe(check: Check, context: CheckContext, rules: Mapping[str, Rule]) -> CheckResult:
    """Run a check on a context and collect what it says of rules."""
    failed: CheckResult | None = None
    context.check = context.way = check.name
    try:
        ended = _ending_of(check, context)
    except Exception as error:
        ended = _Ending(finished=False)
        if leak := context.leak(error):
            context.keep(leak)
        elif fault := fault_in(error, context.implementation.path):
            raise AtFault(fault) from error
        else:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            line = f"{describe(error, 300)} ({frame.filename}, line {frame.lineno})"
            failed = internal_error(check, rules, line, traceback.format_exc())
    context.reserve.release()  # a script quotes what is in files
    observations = [
        Observation(name, Outcome.FAILED, check.name, violation=violation_of(context, failure))
        for name, failure in context.failed.items()
        if name in rules
    ]
    if failed is not None:
        others = (observation for observation in failed.observations if observation.rule not in context.failed)
        return replace(failed, observations=(*observations, *others), notes=tuple(context.notes))
    for name in check.rules:
        if name not in rules or name in context.failed:
            continue
        if not ended.finished or (context.recorder.unclosed and _closing(name)):
            by = [context.recorder.unclosed.rule] if ended.finished and context.recorder.unclosed else context.failed
            observations.append(blocked(name, check.name, by))
        elif context.covered[name]:
            observations.append(Observation(name, Outcome.PASSED, check.name))
        else:
            observations.append(Observation(name, ended.outcome, check.name, ended.reason or _why_silent(context)))
    notes = tuple(context.notes)
    ran = CheckResult(check.name, tuple(observations), notes, drawn=context.drawn, ran=context.ran, shown=context.shown)
    return replace(ran, finished=ended.finished, slow=ended.slow, late=context.run_time.over)


def _why_silent(context: CheckContext) -> str:
    """Return why a check that ended says nothing of a rule: what it left out, or that nothing came of what it did."""
    if context.run_time.over:
        return str(context.run_time)
    more = context.budget.more
    return next((note for note in context.notes if more and note.endswith(more)), "the check never came to the point")


def _outcome_of(stopped: NoMore) -> Outcome:
    return Outcome.CUT_SHORT if isinstance(stopped, NeverCloses) else Outcome.BLOCKED


def _closing(rule: str) -> bool:
    """Whether a rule is about what a close does or raises, or about whole crawls, which close."""
    return ".close" in rule or rule.endswith(".fault.recovers") or rule.startswith("e2e.")


def internal_error(check: Check, rules: Mapping[str, Rule], line: str, trace: str) -> CheckResult:
    """Return what is known when the kit itself fails in a check: nothing of any of its rules.

    Args:
        check: the check.
        rules: the rules that apply to the implementation, by id.
        line: how it failed.
        trace: the traceback.
    """
    observations = tuple(erroneous(name, check.name) for name in check.rules if name in rules)
    return CheckResult(check.name, observations, finished=False, internal_error=line, traceback=trace)


def faulty(check: Check, rules: Mapping[str, Rule], line: str) -> CheckResult:
    """Return what is known when an implementation leaves nothing in order: nothing of any of the rules of a check."""
    observations = tuple(blocked(name, check.name, [line]) for name in check.rules if name in rules)
    return CheckResult(check.name, observations, finished=False, fault=line)
