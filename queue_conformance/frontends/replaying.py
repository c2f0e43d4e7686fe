"""Scripts of a report, which may come from anybody, are run again: what is said and asked before, and said of each."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from queue_conformance.engine.outcomes import Violation
from queue_conformance.reports.provenance import are_made_here, unwritable
from queue_conformance.reports.reading import visible
from queue_conformance.reports.terminal import for_stream
from queue_conformance.running.replay import ReplayError, State, replay
from queue_conformance.specification.words import shortened

LONGEST = 300
"""Characters of a line on how a script ended; what it has printed stands above."""


def run_again(
    path: Path, findings: Mapping[str, Sequence[Violation]], time_limit: float, allow: Sequence[str], *, agreed: bool
) -> list[State]:
    """Run the scripts of a rule again, and print what comes of each.

    Args:
        path: the report that they are in.
        findings: how implementations broke the rule, by their names.
        time_limit: seconds that each script may take.
        allow: what they may connect to or change, see :func:`queue_conformance.running.replay.replay`.
        agreed: whether the user wants to run what no run here has made.

    Raises:
        ReplayError: if one cannot be run, or the user does not want that.
    """
    _expect_consent(path, [one for shown in findings.values() for one in shown], agreed=agreed)
    states = []
    for name, one in [(name, one) for name, shown in findings.items() for one in shown]:
        about = visible(f"{one.rule} ({name})")
        try:
            replayed = replay(one, time_limit, allow)
        except ReplayError as error:
            raise ReplayError(f"{about}: {error}") from error
        print(replayed.output, end="" if not replayed.output or replayed.output.endswith("\n") else "\n")
        where = sys.stderr if replayed.state in (State.UNKNOWN, State.OTHER, State.WRONG) else sys.stdout
        why = shortened(replayed.why, LONGEST, both_ends=True)  # the output has all of it
        print(for_stream(f"{about}: {replayed.state.value}: {why}", where), file=where)
        states.append(replayed.state)
    return states


def _expect_consent(path: Path, violations: Sequence[Violation], *, agreed: bool) -> None:
    """Say what is about to be run, and from where; ask, unless runs of this user on this machine have made all of it."""
    scripts = "the script" if len(violations) == 1 else f"{len(violations)} scripts"
    what = visible(f"{scripts} of {violations[0].rule} in {os.path.abspath(path)}, with modules from {os.getcwd()}")
    if agreed or are_made_here(violations):
        print(for_stream(f"running {what}", sys.stderr), file=sys.stderr)
        return
    stranger = f"no run of yours on this machine made {'it' if len(violations) == 1 else 'all of them'}"
    if nowhere := unwritable():
        stranger += visible(f", or none could note so in {nowhere}")
    if not sys.stdin.isatty():
        raise ReplayError(f"would run {what}; {stranger}: look with --print, then add --yes")
    asked = for_stream(f"run {what}? {stranger}, --print shows what it is [y/N]", sys.stderr)
    print(asked, end=" ", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise ReplayError("has run nothing")
