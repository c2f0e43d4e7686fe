"""Nothing is blamed for what fails only after other sequences ran in the same process.

A check runs many sequences in one process, and a class may keep something there: a store for each process, a connection, an
event loop. Where one crawl is one process that is right. So what fails is run once more, alone, in a fresh process.
"""

from __future__ import annotations

import os
import runpy
import sys
import tempfile
import traceback
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from queue_conformance.engine.kept_store import FROM
from queue_conformance.engine.outcomes import CheckResult, Observation, Outcome, TimeIsOver, Violation, erroneous
from queue_conformance.engine.verdicts import combined
from queue_conformance.engine.ways import is_by_chance
from queue_conformance.processes import endings, isolation
from queue_conformance.processes.isolation import Answer, Watchdog
from queue_conformance.processes.trees import temporary_directory
from queue_conformance.running import replay
from queue_conformance.running.contexts import RunConfig
from queue_conformance.specification.pairs import mismatch_behind

TIMES, BY_CHANCE_TIMES = 3, 20
"""How often a script is run at most: what threads or processes do to each other does not show each time,
and what is known to fail by chance may pass many times."""

TIME_LIMIT = 60.0
"""Seconds that a script may take."""

ALONE = "it failed after other sequences, and not again when it was run alone in a fresh process"


class ScriptError(Exception):
    """The kit has written a script that is wrong; the message says how.

    Attributes:
        output: what the script printed.
    """

    def __init__(self, message: str, output: str) -> None:
        super().__init__(message)
        self.output = output


def confirmed(result: CheckResult, first: Violation | None, config: RunConfig) -> CheckResult:
    """Blame a check's failed rules only where their scripts fail alone.

    Args:
        result: what came of the check.
        first: how its first sequence failed, if it did; what is shorter was found after others.
        config: how checks are run.

    Returns:
        The same, where what does not fail alone is *not covered*, and so is all that it blocked; with an internal error, where a
        script is wrong; with trouble, where one cannot import what it needs, so that nobody can tell.
    """
    wrong: list[ScriptError] = []
    try:
        observations = [_judged(observation, config, wrong) for observation in result.observations]
    except ImportError as error:
        line = mismatch_behind(str(error)) or f"what failed cannot be tried again alone: {error}"
        lost = (Observation(one.rule, Outcome.NOT_COVERED, one.check, line) for one in result.observations)
        return replace(result, observations=tuple(lost), finished=False, trouble=line)
    if wrong:
        result = replace(result, finished=False, internal_error="; ".join(map(str, wrong)), traceback=wrong[0].output)
    late = str(config.run_time)
    if any(one.outcome is Outcome.NOT_COVERED and one.reason == late for one in observations):
        observations = [_unblocked(one, late) for one in observations]
        result = replace(result, late=True)
    uncertain_rules = [one.rule for one in observations if one.outcome is Outcome.NOT_COVERED and one.reason == ALONE]
    if not uncertain_rules:
        return replace(result, observations=tuple(observations), scripted=True)
    if first is not None and _is_shown(first, config, wrong):
        uncertain_rules = [rule for rule in uncertain_rules if rule != first.rule]
        observations = [observation for observation in observations if observation.rule != first.rule]
        observations.append(Observation(first.rule, Outcome.FAILED, result.check, violation=first))
    if not any(observation.outcome is Outcome.FAILED for observation in observations):
        reason = f"the check came no further than {', '.join(uncertain_rules)}: {ALONE}"
        observations = [_unblocked(observation, reason) for observation in observations]
    notes = result.notes
    if uncertain_rules:
        said = f"{', '.join(uncertain_rules)} did not fail again when it was run alone in a fresh process"
        note = f"{result.check}: {said}: not judged"
        notes = (*notes, note)
    return replace(result, observations=tuple(observations), notes=notes, scripted=True)


def _judged(observation: Observation, config: RunConfig, wrong: list[ScriptError]) -> Observation:
    """Return what is known of a rule by what fails alone; nothing, if the run has no time to run it alone."""
    try:
        return _confirmed(observation, config, wrong)
    except TimeIsOver as reason:
        return Observation(observation.rule, Outcome.NOT_COVERED, observation.check, str(reason))


def _confirmed(observation: Observation, config: RunConfig, wrong: list[ScriptError]) -> Observation:
    if observation.violation is None:
        return observation
    found, before = observation.violation.findings, len(wrong)
    shown = _shown(found, config, wrong)
    if not shown and len(wrong) > before:
        return erroneous(observation.rule, observation.check)
    if not shown:
        return Observation(observation.rule, Outcome.NOT_COVERED, observation.check, ALONE)
    if len(shown) == len(found):
        return observation
    return replace(observation, violation=combined(replace(one, others=()) for one in shown))


def _shown(found: Iterable[Violation], config: RunConfig, wrong: list[ScriptError]) -> list[Violation]:
    """Return the failures whose scripts fail alone, with those that are alike; scripts that are wrong are told of in ``wrong``.

    Raises:
        TimeIsOver: if the run has no time for any.
    """
    shown: list[Violation] = []
    for one in found:
        try:
            shown += [one] * (any(_is_alike(one, other) for other in shown) or _fails_alone(one, config))
        except ScriptError as error:
            wrong.append(error)
        except TimeIsOver:
            if not shown:
                raise
            break
    return shown


def _is_alike(one: Violation, other: Violation) -> bool:
    """Whether two cases of a check fail in the same operation by what one line of the class raises: one script shows both."""
    return one.sequence is other.sequence is None and one.operation == other.operation and one.is_shown_by(other)


def _is_shown(first: Violation, config: RunConfig, wrong: list[ScriptError]) -> bool:
    with suppress(TimeIsOver):
        return bool(_shown([first], config, wrong))
    return False


def _unblocked(observation: Observation, reason: str) -> Observation:
    return (
        replace(observation, outcome=Outcome.NOT_COVERED, reason=reason)
        if observation.outcome is Outcome.BLOCKED
        else observation
    )


def fails_again(result: CheckResult, config: RunConfig) -> bool:
    """Whether the rules that failed in a check do so once more, by the shortest script of each; no, where none has shown that."""
    config = replace(config, shown=result.shown)
    with suppress(ImportError, ScriptError, TimeIsOver):
        return result.scripted and all(_fails_at_last(violation, config) for violation in result.violations)
    return False


def _fails_alone(violation: Violation, config: RunConfig) -> bool:
    """Whether the script of a failed rule fails, now or for an earlier check, which often finds the same."""
    shown = (violation.script, violation.cause, violation.actual)
    if shown not in config.confirmed and _fails_at_last(violation, config):
        config.confirmed.add(shown)
    return shown in config.confirmed


def _fails_at_last(violation: Violation, config: RunConfig) -> bool:
    times = BY_CHANCE_TIMES if is_by_chance(violation.way) else TIMES
    return any(fails(violation, config) for _ in range(times))


def fails(violation: Violation, config: RunConfig) -> bool:
    """Whether the script of a failed rule fails as it is said to.

    Raises:
        ImportError: if it cannot import what it needs.
        ScriptError: if it does not define what it needs.
        TimeIsOver: if the run has no time for it.
    """
    with temporary_directory(config.directory) as scratch:
        file = scratch / replay.SCRIPT
        file.write_text(violation.script, "utf-8", errors="backslashreplace")
        output = scratch / "output"

        def run(watchdog: Watchdog) -> int:
            os.environ |= config.shown.environment
            watchdog.enter("the script", "")
            return _status(file, output)

        ended = isolation.run(run, time_limit=TIME_LIMIT, guard=config.guard, run_time=config.run_time.again)
        if not isinstance(ended, Answer):
            if ended.how == endings.OVER:
                raise TimeIsOver(str(config.run_time))
            return True
        said = output.read_text("utf-8", errors="replace")
        state, why = replay.judge(violation, ended.value, said)
        if state is replay.State.UNKNOWN:
            raise ImportError(why)
        if state is replay.State.WRONG:
            raise ScriptError(f"{violation.rule}: {why}", said)
        return state is replay.State.FAILED


def _status(file: Path, output: Path) -> int:
    """Run a script in this process as Python would, with what it prints in a file; return its exit status."""
    work = file.with_name("work")
    work.mkdir()
    sys.path[:] = [str(work), *map(os.path.abspath, sys.path)]
    os.environ |= {"PYTHONPATH": os.pathsep.join(sys.path), FROM: os.getcwd()}
    sys.argv = [str(file)]
    os.chdir(work)
    tempfile.tempdir = os.environ["TMPDIR"] = str(file.parent)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.stdout = sys.stderr = output.open("w", buffering=1, encoding="utf-8", errors="backslashreplace")
    for number in (1, 2):
        os.dup2(sys.stdout.fileno(), number)
    if "scrapy.crawler" in sys.modules:  # or else it makes no crawler, which would import the consoles for each script
        from queue_conformance.compat.scrapy import leave_out_consoles

        leave_out_consoles()
    if "twisted.internet.reactor" in sys.modules:  # the class has imported it here, which a script does when one is installed
        from queue_conformance.environments import world

        world.replace_default_reactor()
    try:
        runpy.run_path(str(file), run_name="__main__")
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(bool(ended.code))
    except BaseException:
        traceback.print_exc()
        return 1
    return 0
