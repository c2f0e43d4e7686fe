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
from queue_conformance.engine.bench import Bench
from queue_conformance.engine.outcomes import (
    CheckResult,
    NotApplicable,
    NotExercised,
    Observation,
    Outcome,
    RuleBroken,
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
from queue_conformance.isolation import Answer, Fatality, FlightRecorder, IsolatedError
from queue_conformance.running.confirmation import confirmed
from queue_conformance.running.faults import AtFault, blaming, fault_in
from queue_conformance.running.surroundings import trouble
from queue_conformance.specification import Rule, load

T = TypeVar("T")


@dataclass(frozen=True)
class Conditions:
    """How checks are run.

    Attributes:
        directory: where scratch directories are made.
        seed: seeds everything that is drawn.
        examples: programs or requests to draw in a check that draws.
        time_limit: seconds that one operation may take.
        in_process: run in the calling process, without protection.
        known: programs that failed before, which the machines play again.
        server: the server behind the queues, as ``--queue-server`` names it, or ``""``.
        opener: the author's function that builds a queue, or ``None``.
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
    opener: Callable[..., Any] | None = None
    prepare: Callable[[Any], object] | None = None
    may_decline: bool = True
    watch: Callable[[FlightRecorder], None] | None = None


def execute(check: Check, implementation: Implementation, rules: Mapping[str, Rule], conditions: Conditions) -> CheckResult:
    """Run one check; a machine plays each program that failed before too, in a process of its own.

    So a failure that was found once is found whatever is drawn now, and whatever the other programs do.

    Args:
        check: the check.
        implementation: what it examines.
        rules: the rules that apply to the implementation, by id; the check says nothing of others.
        conditions: how it is run.

    Returns:
        What it says of rules.
    """
    shown: set[str] = set()

    def run(program: Commands | None) -> CheckResult:
        def examined(bench: Bench) -> tuple[CheckResult, Violation | None, bool]:
            bench.replay = program
            result = observe(check, bench, rules)
            first = bench.violation(bench.first) if bench.first and bench.first.rule in rules else None
            return result, first, needs_confirmation(bench, result)

        def tried() -> Answer[tuple[CheckResult, Violation | None, bool]] | Fatality:
            return isolation.twice(lambda: on_bench(implementation, conditions, examined))

        try:
            ended = tried()
            if isinstance(ended, Answer) and ended.value[0].slow:
                ended = tried()
        except IsolatedError as error:
            return mistaken(check, rules, str(error).strip().splitlines()[-1], str(error))
        except LoadError as error:
            return faulty(check, rules, str(error))
        if isinstance(ended, Answer):
            result, first, doubtful = ended.value
            result = _unhurried(replace(result, notes=(*result.notes, *left_note(ended))), ended.before)
            return confirmed(result, first, conditions.directory) if doubtful else result
        shorten = program is None and ended.owner not in shown
        return fatal_result(check, implementation, rules, conditions, ended, shorten=shorten)

    def sound(program: Commands | None) -> CheckResult:
        try:
            result = run(program)
        except OSError as error:  # the kit could not even begin
            return _troubled(check, rules, trouble(conditions.directory, str(error), implementation.server) or describe(error))
        if not (result.broken or result.mistake):
            return result
        said = "\n".join(observation.violation.evidence for observation in result.broken if observation.violation)
        line = trouble(conditions.directory, f"{said}\n{result.mistake}", implementation.server)
        return _troubled(check, rules, line) if line else result

    again = []
    for program in conditions.known if check.is_machine else ():
        again.append(sound(program))
        if again[-1].fatal:
            shown.update(observation.rule for observation in again[-1].broken)
    return _merged(sound(None), again)


def _troubled(check: Check, rules: Mapping[str, Rule], line: str) -> CheckResult:
    """Return what is known where something around the class failed: nothing of any rule."""
    lost = tuple(Observation(name, Outcome.NOT_EXERCISED, check.name, line) for name in check.rules if name in rules)
    return CheckResult(check.name, lost, finished=False, trouble=line)


def _unhurried(result: CheckResult, before: Fatality | None) -> CheckResult:
    """Return what came of a check, with a note if it had taken too long before."""
    if before is None:
        return result
    slow = (before.steps or ("the check",))[-1]
    note = f"{result.check}: {slow} {before.how} once, and did when it was tried again: this machine was busy"
    return replace(result, notes=(*result.notes, note))


def _merged(result: CheckResult, again: Sequence[CheckResult]) -> CheckResult:
    """Add what replayed programs broke to what came of a check; of each rule the shortest evidence is kept."""
    broken: dict[str, Observation] = {}
    for observation in [*(o for replayed in again for o in replayed.broken), *result.broken]:
        known = broken.get(observation.rule, observation)
        shown = [found.violation for found in (known, observation) if found.violation]
        broken[observation.rule] = replace(observation, violation=combined(shown))
    others = [observation for observation in result.observations if observation.rule not in broken]
    fatal = result.fatal or any(replayed.fatal for replayed in again)
    failed = next((one for one in (result, *again) if one.mistake), result)
    return replace(
        result,
        observations=(*broken.values(), *others),
        fatal=fatal,
        mistake=failed.mistake,
        traceback=failed.traceback,
    )


def needs_confirmation(bench: Bench, result: CheckResult) -> bool:
    """Whether a failure may be due to what came before it in this process, and a script, which runs alone, can show it."""
    return bench.earlier > 0 and bench.isolated and bool(result.broken) and not bench.driver.missing


def on_bench(implementation: Implementation, conditions: Conditions, function: Callable[[Bench], T]) -> Answer[T] | Fatality:
    """Call a function with a bench, in a process and a directory of its own.

    Args:
        implementation: what the bench is for.
        conditions: how it is run.
        function: what to call; its result must be picklable.
    """
    with tempfile.TemporaryDirectory(dir=conditions.directory, ignore_cleanup_errors=True) as directory:

        def alone(flight: FlightRecorder) -> T:
            # What Hypothesis wants to keep for later runs goes with the rest, and not into the author's directory.
            os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", directory)
            opener = conditions.opener if implementation.hooked else None
            opened = replace(implementation, opener=opener, prepare=conditions.prepare)
            sys.path[:] = map(os.path.abspath, sys.path)  # "" means where this process was started
            with chdir(directory), served(opened, Path(directory)) as (reached, backend):
                bench = Bench(
                    reached,
                    Path(directory),
                    flight,
                    conditions.seed,
                    conditions.examples,
                    backend=backend,
                    isolated=process.AVAILABLE and not conditions.in_process,
                    time_limit=conditions.time_limit,
                    moves=True,
                )
                return function(bench)

        return run_blaming(implementation.path, alone, conditions)


def run_blaming(path: str, function: Callable[[FlightRecorder], T], conditions: Conditions) -> Answer[T] | Fatality:
    """Run a function in a process of its own.

    Args:
        path: the dotted path of the class.
        function: what to run.
        conditions: how it is run.

    Raises:
        LoadError: if the class did something so that it could not go on; the message is one line.
        IsolatedError: if the function raised otherwise.
    """

    def blamed(flight: FlightRecorder) -> T | AtFault:
        try:
            with blaming(path):
                return function(flight)
        except AtFault as fault:
            return fault

    how = {"time_limit": conditions.time_limit, "in_process": conditions.in_process, "watch": conditions.watch}
    ended = isolation.run(blamed, **how)  # type: ignore[arg-type]
    if isinstance(ended, Answer) and isinstance(ended.value, AtFault):
        raise LoadError(f"{path} cannot be examined: it {ended.value}")
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


def observe(check: Check, bench: Bench, rules: Mapping[str, Rule]) -> CheckResult:
    """Run a check on a bench and collect what it says of rules."""
    finished, silent, reason = False, Outcome.NOT_EXERCISED, "the check never came to the point"
    failed: CheckResult | None = None
    slow = False
    try:
        try:
            check.function(bench)
            finished = True
        except OperationRaised as raised:
            bench.keep(bench.unexpected(raised))
        if finished and bench.broken:
            reason = f"the check came no further than {', '.join(bench.broken)}"
    except (NotExercised, TakesTooLong) as skipped:
        finished, reason, slow = True, str(skipped), isinstance(skipped, TooSlow)
        bench.examined.clear()
    except (Flaky, TimeoutError) as error:
        finished, reason, slow = True, f"the kit could not tell, for this machine was busy: {describe(error)}", True
        bench.examined.clear()
    except NotApplicable as skipped:
        finished, silent, reason = True, Outcome.NOT_APPLICABLE, str(skipped)
    except RuleBroken as failure:
        bench.keep(failure)
    except Exception as error:
        if fault := fault_in(error, bench.implementation.path):
            raise AtFault(fault) from error
        frame = traceback.extract_tb(error.__traceback__)[-1]
        line = f"{describe(error, 300)} ({frame.filename}, line {frame.lineno})"
        failed = mistaken(check, rules, line, traceback.format_exc())
    observations = [
        Observation(name, Outcome.BROKEN, check.name, violation=bench.violation(failure))
        for name, failure in bench.broken.items()
        if name in rules
    ]
    if failed is not None:
        others = (observation for observation in failed.observations if observation.rule not in bench.broken)
        return replace(failed, observations=(*observations, *others), notes=tuple(bench.notes))
    for name in check.rules:
        if name not in rules or name in bench.broken:
            continue
        if not finished:
            observations.append(blocked(name, check, bench.broken))
        elif bench.examined[name]:
            observations.append(Observation(name, Outcome.KEPT, check.name))
        else:
            observations.append(Observation(name, silent, check.name, reason))
    return CheckResult(check.name, tuple(observations), tuple(bench.notes), finished=finished, slow=slow)


def mistaken(check: Check, rules: Mapping[str, Rule], line: str, trace: str) -> CheckResult:
    """Return what is known when the kit itself fails in a check: nothing of any of its rules.

    Args:
        check: the check.
        rules: the rules that apply to the implementation, by id.
        line: how it failed.
        trace: the traceback.
    """
    reason = f"the kit failed in the check {check.name}, which is a mistake of the kit"
    observations = tuple(Observation(name, Outcome.ERROR, check.name, reason) for name in check.rules if name in rules)
    return CheckResult(check.name, observations, finished=False, mistake=line, traceback=trace)


def faulty(check: Check, rules: Mapping[str, Rule], line: str) -> CheckResult:
    """Return what is known when an implementation leaves nothing in order: nothing of any of the rules of a check."""
    observations = tuple(blocked(name, check, [line]) for name in check.rules if name in rules)
    return CheckResult(check.name, observations, finished=False, fault=line)


def blocked(rule: str, check: Check, by: Iterable[str]) -> Observation:
    """Return the observation that a check could not examine a rule because of other ones."""
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
    conditions: Conditions,
    fatality: Fatality,
    *,
    shorten: bool = True,
) -> CheckResult:
    """Turn a hang, an exit or a crash into the broken rule of the operation that was in flight."""
    if shorten and not fatality.between and fatality.program and fatality.program != "[]":
        fatality = _shorten(implementation, conditions, fatality)
    rule = fatality.owner if fatality.owner in rules else next(name for name in check.rules if name in rules)
    violation = fatal_violation(implementation, conditions, rule, fatality)
    observations = [Observation(rule, Outcome.BROKEN, check.name, violation=violation)]
    for name in check.rules:
        if name in rules and name != rule:
            # What a machine could not finish may have been examined by a check of its own.
            lost = Observation(name, Outcome.NOT_EXERCISED, check.name, f"the check came no further than {rule}")
            observations.append(blocked(name, check, [rule]) if check.name in rules else lost)
    return CheckResult(check.name, tuple(observations), fatal=True, finished=False)


_LIMIT = re.compile(r" (within|for) [\d.e+]+ s$")
"""What is another one where other limits are given."""


def fatal_violation(implementation: Implementation, conditions: Conditions, rule: str, fatality: Fatality) -> Violation:
    """Return the evidence of a hang, an exit or a crash."""
    steps = list(fatality.steps)
    operation = steps[-1] if steps else "the check"
    with tempfile.TemporaryDirectory(dir=conditions.directory) as directory:
        driver = make_driver(implementation, Path(directory), Recorder(FlightRecorder()))
        sentence = load()[rule].sentence
        block = operation[: len(operation) - len(operation.lstrip())]  # in which it was in flight
        guarded = (f"{block}{line}" for line in _guarded(operation.lstrip(), fatality))
        lines = [*steps[:-1], *guarded] if steps else []
        script = driver.script(f"{rule}: {sentence}", lines, filesystem)
    return Violation(
        rule=rule,
        expected="an answer",
        actual=f"{operation.partition(' = ')[2] or operation.strip()} {fatality.how}",
        operations=tuple(steps),
        script=script,
        program=tuple(decode(fatality.program)) if fatality.program else None,
        stacks=own_frames(fatality.stacks),
        cause=f"{operation_of(operation) or 'the check'} {_LIMIT.sub('', fatality.how)}",
    )


def left_note(ended: Answer[Any]) -> list[str]:
    """Return a note on processes that were left behind, if there are any."""
    names = ", ".join(dict.fromkeys(ended.left))
    return [f"it leaves processes behind, which nothing but the end of the check ends: {names}"] if names else []


def _guarded(operation: str, fatality: Fatality) -> list[str]:
    """Return lines of a script that fail if an operation hangs, ends the interpreter, or comes back in two processes."""
    if fatality.twice:
        return [
            "process = os.getpid()",
            "with suppress(Exception):",
            f"    {operation}",
            "if os.getpid() != process:",
            "    os._exit(77)  # a copy of the process, which came back too",
            "with suppress(ChildProcessError):",
            "    assert os.waitstatus_to_exitcode(os.wait()[1]) != 77, 'the operation came back in two processes'",
        ]
    if fatality.hung:
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


def _shorten(implementation: Implementation, conditions: Conditions, fatality: Fatality) -> Fatality:
    """Leave out operations of a program as long as it still ends in the same way."""
    time_limit = min(REPLAY_LIMIT, conditions.time_limit)
    limited = Conditions(conditions.directory, conditions.seed, time_limit=time_limit, watch=conditions.watch)
    best, how = fatality, fatality
    replays = REPLAYS

    def ends(program: Commands) -> bool:
        nonlocal best, replays
        replays -= 1
        ended = on_bench(implementation, limited, lambda bench: runner_of(bench).passes(program))
        if isinstance(ended, Answer) or ended.owner != how.owner:
            return False
        best = ended
        return True

    operations = decode(fatality.program)
    size = max(1, len(operations) // 2)
    while size and replays > 0:
        start = len(operations)
        while start > 0 and replays > 0:
            shorter = operations[: max(0, start - size)] + operations[start:]
            if ends(shorter):
                operations = shorter
            start -= size
        size //= 2
    return Fatality(fatality.how, best.hung, best.stacks, best.owner, best.steps, best.program)
