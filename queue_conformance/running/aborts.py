"""What is known of a check that hung, or ended its process: the operation in flight, and the shortest sequence that ends so."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from queue_conformance.engine.outcomes import RETURNS, CheckResult, Observation, Outcome, Violation, blocked, operation_of
from queue_conformance.engine.recording import Recorder
from queue_conformance.engine.registry import Check, make_driver
from queue_conformance.engine.runner import runner_of
from queue_conformance.engine.sequences import Commands, decode, leave_out
from queue_conformance.faults import filesystem
from queue_conformance.implementation import Implementation
from queue_conformance.processes import endings
from queue_conformance.processes.endings import Abort
from queue_conformance.processes.isolation import Answer, Watchdog
from queue_conformance.running.contexts import RunConfig, in_context
from queue_conformance.specification import Rule, load

REPLAY_LIMIT = 0.3
"""Seconds that an operation may take when a hang is run again to shorten it."""

REPLAYS = 60
"""Times that a sequence is run again at most."""


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
    if shorten and not abort.between and abort.sequence and abort.sequence != "[]":
        abort = _shorten(implementation, config, abort)
    rule = abort.rule if abort.rule in rules else next(name for name in check.rules if name in rules)
    violation = replace(fatal_violation(implementation, config, rule, abort), way=check.name)
    observations = [Observation(rule, Outcome.FAILED, check.name, violation=violation)]
    for name in check.rules:
        if name in rules and name != rule:
            # What a machine could not finish may have been tested by a check of its own.
            lost = Observation(name, Outcome.NOT_COVERED, check.name, f"the check came no further than {rule}")
            observations.append(blocked(name, check.name, [rule]) if check.name in rules else lost)
    return CheckResult(check.name, tuple(observations), fatal=True, still=abort.between, finished=False)


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
        expected=RETURNS,
        actual=f"{operation.partition(' = ')[2] or operation.strip()} {abort.how}",
        operations=tuple(steps),
        script=script,
        sequence=tuple(decode(abort.sequence)) if abort.sequence else None,
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
    if abort.many:
        return [
            operation,
            "children = [file.read_text().split() for file in Path('/proc/self/task').glob('*/children')]",
            f"assert sum(map(len, children)) <= {endings.MANY}, 'processes that run, or were not waited for'",
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
    """Leave out operations of a sequence as long as it still ends in the same way."""
    time_limit = min(REPLAY_LIMIT, config.time_limit)
    limited = RunConfig(config.directory, config.seed, time_limit=time_limit, watch=config.watch, guard=config.guard)
    best, replays = abort, REPLAYS

    def ends(sequence: Commands) -> bool:
        nonlocal best, replays
        if not replays or config.run_time.over:
            return False
        replays -= 1
        ended = in_context(implementation, limited, lambda context: runner_of(context).passes(sequence))
        if isinstance(ended, Answer) or ended.rule != abort.rule:
            return False
        best = ended
        return True

    leave_out(decode(abort.sequence), ends)
    return Abort(abort.how, best.hung, best.stacks, best.rule, best.steps, best.sequence)
