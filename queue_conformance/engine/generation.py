"""Generated command sequences: how the machine of a kind draws and runs them, and which failures it keeps."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from time import monotonic  # now: an implementation may replace it in its module

from queue_conformance.engine.outcomes import CAUSES, NotCovered, RuleFailed, TooSlow
from queue_conformance.engine.runner import ATTEMPTS, Runner
from queue_conformance.engine.sequences import USUAL, Command, Commands

LEFT_OUT = 0.4
"""The share of commands that every other sequence leaves out, on average."""

BUDGET = 60.0
"""Seconds, for each hundred examples, after which no further sequence is run; only slow implementations come near."""


AFTER_FAILURE = 20.0
"""Seconds, for each hundred examples, in which sequences are still run after one has failed: others may fail otherwise."""


def generate(random: Random, table: Mapping[Command, int], longest: int) -> Commands:
    """Return a sequence of commands.

    Every other sequence leaves some commands out ("swarm testing"): without pops a queue grows long, and a command that always
    fails does not hide what others would show.
    """
    share = random.choice((0.0, LEFT_OUT))
    names = {name for name in dict.fromkeys(command.name for command in table) if random.random() >= share}
    some = {command: weight for command, weight in table.items() if command.name in names} or table
    length = max(random.randint(1, longest), random.randint(1, longest))
    return tuple(random.choices(list(some), list(some.values()), k=length))


def explore(runner: Runner, attempts: int = ATTEMPTS) -> None:
    """Run generated sequences, or the one that the context is to replay, and keep the shortest of each finding on the context.

    Raises:
        NotCovered: if one of the needed commands was never run.
    """
    context = runner.context
    if context.replay is not None:
        replay(runner, context.replay)
        return
    random, findings, drawing = Random(context.seed), Findings(), context.drawing
    slower: list[TooSlow] = []
    count, each = 0, max(1.0, context.examples / 100)
    ends = context.watchdog.now + BUDGET * each
    until = monotonic() + drawing.seconds
    context.watchdog.aim("sequences", context.examples, ends)
    while monotonic() < until if drawing.seconds else count < context.examples and context.watchdog.now <= ends:
        if context.run_time.over and findings.shortest:
            break
        context.go_on()
        count += 1
        context.watchdog.count()
        try:
            runner.run(generate(random, runner.table, drawing.longest))
        except RuleFailed as failure:
            if not findings.shortest:
                ends = min(ends, context.watchdog.now + AFTER_FAILURE * each)
            findings.meet(failure)
        except TooSlow as slow:
            slower.append(slow)
    context.drawn, context.ran = count, {command.name: runner.ran[command.name] for command in runner.table}
    ran = ", ".join(f"{number} {name}" for name, number in runner.ran.most_common())
    context.notes.append(f"machine: {count} sequences; {ran or 'no commands'}")
    if count < context.examples and not drawing.seconds:
        longest = f"{AFTER_FAILURE:g} s after a failure" if findings.shortest else f"{BUDGET:g} s for 100 examples"
        context.notes.append(f"machine: no more than {count} sequences, because they take more than {longest}")
    if slower:
        context.notes.append(f"machine: {len(slower)} sequences prove nothing: {slower[0]}")
        if len(slower) == count:
            raise slower[0]
    if findings.shortest:
        context.watchdog.aim("sequences to shorten what failed")
        findings.shorten(runner, attempts * max(1, drawing.longest // USUAL.longest))
        findings.drop_explained(runner)
        for shortest in findings.shortest.values():
            context.keep(shortest)
    elif missing := [name for name in runner.kind.needed if not runner.ran[name]]:
        raise NotCovered(f"no sequence contained {', '.join(missing)}")


class Findings:
    """The shortest failing sequence for each rule, operation, and exception or kind of difference."""

    def __init__(self) -> None:
        self.shortest: dict[tuple[str, str], RuleFailed] = {}

    def meet(self, failure: RuleFailed) -> None:
        """Keep a failure, unless a shorter one, or enough others of its rule, are known."""
        known = self.shortest.get(failure.finding)
        if known is None and sum(rule == failure.rule for rule, _ in self.shortest) == CAUSES:
            return
        if known is None or _size(failure) < _size(known):
            self.shortest[failure.finding] = failure

    def shorten(self, runner: Runner, attempts: int) -> None:
        """Shorten all sequences, including those that are only found while others are shortened."""
        done: set[tuple[str, str]] = set()
        while waiting := self.shortest.keys() - done:
            finding = min(waiting)
            self.meet(runner.shortened(self.shortest[finding], attempts, self.meet))
            done.add(finding)

    def drop_explained(self, runner: Runner) -> None:
        """Attribute failures again, now that all failed rules are known; drop those that the failure of another rule explains.

        Rules that only long sequences break come first.
        """
        shortest: dict[str, tuple[int, int, str]] = {}
        for failure in self.shortest.values():
            shortest[failure.rule] = min(_size(failure), shortest.get(failure.rule, _size(failure)))
        for finding, failure in sorted(self.shortest.items(), key=lambda pair: (shortest[pair[1].rule], pair[0]), reverse=True):
            runner.known = runner.masked = {rule for rule, _ in self.shortest} - {failure.rule}
            if failure.final or not runner.known:
                continue  # it is certain, or nothing else could explain it
            try:
                with runner.context.driver.varying(failure.varied):
                    runner.run(failure.sequence or ())
            except RuleFailed as again:
                if again.rule != failure.rule:
                    del self.shortest[finding]
                    self.shortest.setdefault(again.finding, again)


def replay(runner: Runner, sequence: Commands) -> None:
    """Run one sequence that failed before, and keep its failure; another release, or another machine, may have generated it."""
    if not runner.table.keys() >= set(sequence):
        return  # this machine does not generate such commands, so the sequence says nothing
    driver = runner.context.driver
    for fields in ((), driver.fields) if driver.fields else ((),):
        with driver.varying(fields):
            try:
                runner.run(sequence)
            except RuleFailed as failure:
                runner.context.keep(failure)
                return


def _size(failure: RuleFailed) -> tuple[int, int, str]:
    sequence = failure.sequence or ()
    return len(sequence), len(failure.varied), repr(sequence)
