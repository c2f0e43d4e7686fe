"""Run a check in a process of its own, and turn whatever comes of it into observations."""

from __future__ import annotations

import os
import re
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from hypothesis.errors import Flaky

from queue_conformance import isolation
from queue_conformance.discovery import Implementation
from queue_conformance.discovery.loading import LoadError
from queue_conformance.engine import process
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.outcomes import (
    CheckResult,
    NotApplicable,
    NotCovered,
    Observation,
    Outcome,
    RuleFailed,
    TooSlow,
    Violation,
    combined,
    operation_of,
)
from queue_conformance.engine.recording import OperationRaised, Recorder, TakesTooLong, describe
from queue_conformance.engine.registry import Check, make_driver, runner_of
from queue_conformance.engine.sequences import Commands, decode
from queue_conformance.faults import filesystem
from queue_conformance.faults.backend import Backend
from queue_conformance.isolation import Abort, Answer, IsolatedError, Watchdog
from queue_conformance.running.confirmation import confirmed
from queue_conformance.running.faults import AtFault, blaming, fault_in
from queue_conformance.running.surroundings import trouble
from queue_conformance.specification import Rule, load

T = TypeVar("T")


@dataclass(frozen=True)
class RunConfig:
    """How checks are run.

    Attributes:
        directory: where scratch directories are made.
        seed: seeds everything that is drawn.
        examples: programs or requests to draw in a check that draws.
        time_limit: seconds that one operation may take.
        in_process: run in the calling process, without protection.
        known: programs that failed before, which the machines play again.
        server: the server behind the queues, as ``--queue-server`` names it, or ``""``.
        factory: the author's function that builds a queue, or ``None``.
        prepare: the author's function that gives spiders what the class looks for in them, or ``None``.
        may_decline: whether that function may leave a class to the kit, as a hook may.
        watch: called from time to time with what a running check says of itself, or ``None``.
    """

    directory: Path
    seed: int = 0
    examples: int = 100
    time_limit: float = 10.0
    in_process: bool = False
    known: Sequence[Commands] = ()
    server: str = ""
    factory: Callable[..., Any] | None = None
    prepare: Callable[[Any], object] | None = None
    may_decline: bool = True
    watch: Callable[[Watchdog], None] | None = None


def execute(check: Check, implementation: Implementation, rules: Mapping[str, Rule], config: RunConfig) -> CheckResult:
    """Run one check; a machine plays each program that failed before too, in a process of its own.

    So a failure that was found once is found whatever is drawn now, and whatever the other programs do.

    Args:
        check: the check.
        implementation: what it tests.
        rules: the rules that apply to the implementation, by id; the check says nothing of others.
        config: how it is run.

    Returns:
        What it says of rules.
    """
    shown: set[str] = set()

    def run(program: Commands | None) -> CheckResult:
        def covered(context: CheckContext) -> tuple[CheckResult, Violation | None, bool]:
            context.replay = program
            result = observe(check, context, rules)
            first = context.violation(context.first) if context.first and context.first.rule in rules else None
            return result, first, needs_confirmation(context, result)

        def tried() -> Answer[tuple[CheckResult, Violation | None, bool]] | Abort:
            return isolation.twice(lambda: in_context(implementation, config, covered))

        try:
            ended = tried()
            if isinstance(ended, Answer) and ended.value[0].slow:
                ended = tried()
        except IsolatedError as error:
            return internal_error(check, rules, str(error).strip().splitlines()[-1], str(error))
        except LoadError as error:
            return faulty(check, rules, str(error))
        if isinstance(ended, Answer):
            result, first, uncertain = ended.value
            result = _unhurried(replace(result, notes=(*result.notes, *left_note(ended))), ended.before)
            return confirmed(result, first, config.directory) if uncertain else result
        shorten = program is None and ended.owner not in shown
        return fatal_result(check, implementation, rules, config, ended, shorten=shorten)

    def sound(program: Commands | None) -> CheckResult:
        try:
            result = run(program)
        except OSError as error:  # the kit could not even begin
            return _troubled(check, rules, trouble(config.directory, str(error), implementation.server) or describe(error))
        if not (result.failed or result.internal_error):
            return result
        said = "\n".join(observation.violation.evidence for observation in result.failed if observation.violation)
        line = trouble(config.directory, f"{said}\n{result.internal_error}", implementation.server)
        return _troubled(check, rules, line) if line else result

    again = []
    for program in config.known if check.is_machine else ():
        again.append(sound(program))
        if again[-1].fatal:
            shown.update(observation.rule for observation in again[-1].failed)
    return _merged(sound(None), again)


def _troubled(check: Check, rules: Mapping[str, Rule], line: str) -> CheckResult:
    """Return what is known where something around the class failed: nothing of any rule."""
    lost = tuple(Observation(name, Outcome.NOT_COVERED, check.name, line) for name in check.rules if name in rules)
    return CheckResult(check.name, lost, finished=False, trouble=line)


def _unhurried(result: CheckResult, before: Abort | None) -> CheckResult:
    """Return what came of a check, with a note if it had taken too long before."""
    if before is None:
        return result
    slow = (before.steps or ("the check",))[-1]
    note = f"{result.check}: {slow} {before.how} once, and did when it was tried again: this machine was busy"
    return replace(result, notes=(*result.notes, note))


def _merged(result: CheckResult, again: Sequence[CheckResult]) -> CheckResult:
    """Add what replayed programs broke to what came of a check; of each rule the shortest evidence is kept."""
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
        internal_error=failed.internal_error,
        traceback=failed.traceback,
    )


def needs_confirmation(context: CheckContext, result: CheckResult) -> bool:
    """Whether a failure may be due to what came before it in this process, and a script, which runs alone, can show it."""
    return context.earlier > 0 and context.isolated and bool(result.failed) and not context.driver.missing


def in_context(implementation: Implementation, config: RunConfig, function: Callable[[CheckContext], T]) -> Answer[T] | Abort:
    """Call a function with a context, in a process and a directory of its own.

    Args:
        implementation: what the context is for.
        config: how it is run.
        function: what to call; its result must be picklable.
    """
    with tempfile.TemporaryDirectory(dir=config.directory, ignore_cleanup_errors=True) as directory:

        def alone(watchdog: Watchdog) -> T:
            # What Hypothesis wants to keep for later runs goes with the rest, and not into the author's directory.
            os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", directory)
            factory = config.factory if implementation.hooked else None
            opened = replace(implementation, factory=factory, prepare=config.prepare)
            sys.path[:] = map(os.path.abspath, sys.path)  # "" means where this process was started
            with chdir(directory), served(opened, Path(directory)) as (reached, backend):
                context = CheckContext(
                    reached,
                    Path(directory),
                    watchdog,
                    config.seed,
                    config.examples,
                    backend=backend,
                    isolated=process.AVAILABLE and not config.in_process,
                    time_limit=config.time_limit,
                    moves=True,
                )
                return function(context)

        return run_blaming(implementation.path, alone, config)


def run_blaming(path: str, function: Callable[[Watchdog], T], config: RunConfig) -> Answer[T] | Abort:
    """Run a function in a process of its own.

    Args:
        path: the dotted path of the class.
        function: what to run.
        config: how it is run.

    Raises:
        LoadError: if the class did something so that it could not go on; the message is one line.
        IsolatedError: if the function raised otherwise.
    """

    def attributed(watchdog: Watchdog) -> T | AtFault:
        try:
            with blaming(path):
                return function(watchdog)
        except AtFault as fault:
            return fault

    how = {"time_limit": config.time_limit, "in_process": config.in_process, "watch": config.watch}
    ended = isolation.run(attributed, **how)  # type: ignore[arg-type]
    if isinstance(ended, Answer) and isinstance(ended.value, AtFault):
        raise LoadError(f"{path} cannot be tested: it {ended.value}")
    return ended  # type: ignore[return-value]


@contextmanager
def served(implementation: Implementation, directory: Path) -> Iterator[tuple[Implementation, Backend | None]]:
    """Give an implementation the server that it stores in, if it needs one.

    Args:
        implementation: what to serve.
        directory: where a server of the kit's own may store.

    Yields:
        The implementation with the address of the server filled in, and the server.
    """
    if not implementation.server:
        yield implementation, None
        return
    with Backend(implementation.server, directory / "server") as backend:
        yield replace(implementation, places={"{host}": backend.host, "{port}": str(backend.port)}), backend


def observe(check: Check, context: CheckContext, rules: Mapping[str, Rule]) -> CheckResult:
    """Run a check on a context and collect what it says of rules."""
    finished, silent, reason = False, Outcome.NOT_COVERED, "the check never came to the point"
    failed: CheckResult | None = None
    slow = False
    try:
        try:
            check.function(context)
            finished = True
        except OperationRaised as raised:
            context.keep(context.unexpected(raised))
        if finished and context.failed:
            reason = f"the check came no further than {', '.join(context.failed)}"
    except (NotCovered, TakesTooLong) as skipped:
        finished, reason, slow = True, str(skipped), isinstance(skipped, TooSlow)
        context.covered.clear()
    except (Flaky, TimeoutError) as error:
        finished, reason, slow = True, f"the kit could not tell, for this machine was busy: {describe(error)}", True
        context.covered.clear()
    except NotApplicable as skipped:
        finished, silent, reason = True, Outcome.NOT_APPLICABLE, str(skipped)
    except RuleFailed as failure:
        context.keep(failure)
    except Exception as error:
        if fault := fault_in(error, context.implementation.path):
            raise AtFault(fault) from error
        frame = traceback.extract_tb(error.__traceback__)[-1]
        line = f"{describe(error, 300)} ({frame.filename}, line {frame.lineno})"
        failed = internal_error(check, rules, line, traceback.format_exc())
    observations = [
        Observation(name, Outcome.FAILED, check.name, violation=context.violation(failure))
        for name, failure in context.failed.items()
        if name in rules
    ]
    if failed is not None:
        others = (observation for observation in failed.observations if observation.rule not in context.failed)
        return replace(failed, observations=(*observations, *others), notes=tuple(context.notes))
    for name in check.rules:
        if name not in rules or name in context.failed:
            continue
        if not finished:
            observations.append(blocked(name, check, context.failed))
        elif context.covered[name]:
            observations.append(Observation(name, Outcome.PASSED, check.name))
        else:
            observations.append(Observation(name, silent, check.name, reason))
    return CheckResult(check.name, tuple(observations), tuple(context.notes), finished=finished, slow=slow)


def internal_error(check: Check, rules: Mapping[str, Rule], line: str, trace: str) -> CheckResult:
    """Return what is known when the kit itself fails in a check: nothing of any of its rules.

    Args:
        check: the check.
        rules: the rules that apply to the implementation, by id.
        line: how it failed.
        trace: the traceback.
    """
    reason = f"the kit failed in the check {check.name}, which is an internal error"
    observations = tuple(Observation(name, Outcome.ERROR, check.name, reason) for name in check.rules if name in rules)
    return CheckResult(check.name, observations, finished=False, internal_error=line, traceback=trace)


def faulty(check: Check, rules: Mapping[str, Rule], line: str) -> CheckResult:
    """Return what is known when an implementation leaves nothing in order: nothing of any of the rules of a check."""
    observations = tuple(blocked(name, check, [line]) for name in check.rules if name in rules)
    return CheckResult(check.name, observations, finished=False, fault=line)


def blocked(rule: str, check: Check, by: Iterable[str]) -> Observation:
    """Return the observation that a check could not test a rule because of other ones."""
    return Observation(rule, Outcome.BLOCKED, check.name, f"blocked by {', '.join(by)}")


# --- What nobody survived --------------------------------------------------------------------------------------------

REPLAY_LIMIT = 0.3
"""Seconds that an operation may take when a hang is played again to shorten it."""

REPLAYS = 60
"""Times that a program is played again at most."""


def fatal_result(
    check: Check,
    implementation: Implementation,
    rules: Mapping[str, Rule],
    config: RunConfig,
    abort: Abort,
    *,
    shorten: bool = True,
) -> CheckResult:
    """Turn a hang, an exit or a crash into the failed rule of the operation that was in flight."""
    if shorten and not abort.between and abort.program and abort.program != "[]":
        abort = _shorten(implementation, config, abort)
    rule = abort.owner if abort.owner in rules else next(name for name in check.rules if name in rules)
    violation = fatal_violation(implementation, config, rule, abort)
    observations = [Observation(rule, Outcome.FAILED, check.name, violation=violation)]
    for name in check.rules:
        if name in rules and name != rule:
            # What a machine could not finish may have been tested by a check of its own.
            lost = Observation(name, Outcome.NOT_COVERED, check.name, f"the check came no further than {rule}")
            observations.append(blocked(name, check, [rule]) if check.name in rules else lost)
    return CheckResult(check.name, tuple(observations), fatal=True, finished=False)


_LIMIT = re.compile(r" (within|for) [\d.e+]+ s$")
"""What is another one where other limits are given."""


def fatal_violation(implementation: Implementation, config: RunConfig, rule: str, abort: Abort) -> Violation:
    """Return the evidence of a hang, an exit or a crash."""
    steps = list(abort.steps)
    operation = steps[-1] if steps else "the check"
    with tempfile.TemporaryDirectory(dir=config.directory) as directory:
        driver = make_driver(implementation, Path(directory), Recorder(Watchdog()))
        sentence = load()[rule].sentence
        block = operation[: len(operation) - len(operation.lstrip())]  # in which it was in flight
        guarded = (f"{block}{line}" for line in _guarded(operation.lstrip(), abort))
        lines = [*steps[:-1], *guarded] if steps else []
        script = driver.script(f"{rule}: {sentence}", lines, filesystem)
    return Violation(
        rule=rule,
        expected="an answer",
        actual=f"{operation.partition(' = ')[2] or operation.strip()} {abort.how}",
        operations=tuple(steps),
        script=script,
        program=tuple(decode(abort.program)) if abort.program else None,
        stacks=own_frames(abort.stacks),
        cause=f"{operation_of(operation) or 'the check'} {_LIMIT.sub('', abort.how)}",
    )


def left_note(ended: Answer[Any]) -> list[str]:
    """Return a note on processes that were left behind, if there are any."""
    names = ", ".join(dict.fromkeys(ended.left))
    return [f"it leaves processes behind, which nothing but the end of the check ends: {names}"] if names else []


def _guarded(operation: str, abort: Abort) -> list[str]:
    """Return lines of a script that fail if an operation hangs, ends the interpreter, or comes back in two processes."""
    if abort.twice:
        return [
            "process = os.getpid()",
            "with suppress(Exception):",
            f"    {operation}",
            "if os.getpid() != process:",
            "    os._exit(77)  # a copy of the process, which came back too",
            "with suppress(ChildProcessError):",
            "    assert os.waitstatus_to_exitcode(os.wait()[1]) != 77, 'the operation came back in two processes'",
        ]
    if abort.hung:
        return [
            "faulthandler.dump_traceback_later(5, exit=True)  # ends a hang with status 1",
            "with suppress(Exception):",
            f"    {operation}",
        ]
    return [
        "child = os.fork()",
        "if child == 0:",
        f"    {operation}",
        "    os._exit(77)  # right: it returned",
        "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 77, 'the operation ended the process'",
    ]


def own_frames(stacks: str) -> str:
    """Return the stacks that the fault handler wrote, without the frames of the kit, Hypothesis and pytest."""
    lines = []
    for line in stacks.splitlines():
        if line.startswith("  File "):
            if not any(part in line for part in ("/queue_conformance/", "/hypothesis/", "/_pytest/", "/pluggy/")):
                lines.append(line)
        elif line.startswith(("Thread ", "Current thread ")):
            lines.append(line)
    return "\n".join(lines)


def _shorten(implementation: Implementation, config: RunConfig, abort: Abort) -> Abort:
    """Leave out operations of a program as long as it still ends in the same way."""
    time_limit = min(REPLAY_LIMIT, config.time_limit)
    limited = RunConfig(config.directory, config.seed, time_limit=time_limit, watch=config.watch)
    best, how = abort, abort
    replays = REPLAYS

    def ends(program: Commands) -> bool:
        nonlocal best, replays
        replays -= 1
        ended = in_context(implementation, limited, lambda context: runner_of(context).passes(program))
        if isinstance(ended, Answer) or ended.owner != how.owner:
            return False
        best = ended
        return True

    operations = decode(abort.program)
    size = max(1, len(operations) // 2)
    while size and replays > 0:
        start = len(operations)
        while start > 0 and replays > 0:
            shorter = operations[: max(0, start - size)] + operations[start:]
            if ends(shorter):
                operations = shorter
            start -= size
        size //= 2
    return Abort(abort.how, best.hung, best.stacks, best.owner, best.steps, best.program)
