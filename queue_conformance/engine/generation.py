"""Generated command sequences: how the machine of a kind draws and runs them, and which failures it keeps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from random import Random
from time import monotonic  # now: an implementation may replace it in its module

from queue_conformance.engine.naming import shortest
from queue_conformance.engine.outcomes import NotCovered, RuleFailed, TimeIsOver, TooSlow
from queue_conformance.engine.runner import ATTEMPTS, SHORTENING, Runner
from queue_conformance.engine.sequences import USUAL, Command, Commands
from queue_conformance.engine.ways import explains

LEFT_OUT = 0.4
"""The share of commands that every other sequence leaves out, on average."""

WAYS = 8
"""Sequences with one rule and cause that are shortened at most, each of which consists of something that others lack."""

BUDGET = 60.0
"""Seconds, for each hundred examples, after which no further sequence is run; only slow implementations come near."""

FEWEST = 5
"""Sequences without which they prove nothing, where a slow class has less time than that."""

OFTEN = 3
"""How many times each failure is met before no others are looked for, where runs are compared."""

LONGER = 3
"""How many times as long it may take to draw more than the usual number."""

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
    most = context.examples * drawing.rounds
    count, each = 0, max(1.0, min(most, LONGER * context.examples) / 100)
    began, longest = context.watchdog.now, context.budget.seconds(BUDGET)
    ends, hurries = began + longest * each, longest < BUDGET
    until = monotonic() + drawing.seconds
    context.watchdog.aim("sequences", context.examples, ends)
    while monotonic() < until if drawing.seconds else count < (most if findings.are_rare else context.examples):
        if not drawing.seconds and context.watchdog.now > ends:
            if findings or not hurries or count >= FEWEST:
                break
            if context.watchdog.now > began + BUDGET * each:
                raise NotCovered(f"{FEWEST} sequences take more than {BUDGET * each:g} s{context.budget.more}")
        if context.run_time.over and findings:
            break
        context.go_on()
        count += 1
        context.watchdog.count()
        try:
            runner.run(generate(random, runner.table, drawing.longest))
        except RuleFailed as failure:
            if not findings:
                ends = min(ends, context.watchdog.now + context.budget.seconds(AFTER_FAILURE) * each)
            findings.meet(failure)
        except TooSlow as slow:
            slower.append(slow)
    context.drawn, context.ran = count, {command.name: runner.ran[command.name] for command in runner.table}
    ran = ", ".join(f"{number} {name}" for name, number in runner.ran.most_common())
    context.notes.append(f"machine: {count} sequences; {ran or 'no commands'}")
    if count < context.examples and not drawing.seconds:
        usual = AFTER_FAILURE if findings else BUDGET
        told = f"{context.budget.seconds(usual):g} s {'after a failure' if findings else 'for 100 examples'}{context.budget.more}"
        context.notes.append(f"machine: no more than {count} sequences, because they take more than {told}")
    if slower:
        context.notes.append(f"machine: {len(slower)} sequences prove nothing: {slower[0]}")
        if len(slower) == count:
            raise slower[0]
    if findings:
        context.watchdog.aim("sequences to shorten what failed")
        findings.shorten(runner, attempts * max(1, drawing.longest // USUAL.longest))
        findings.drop_explained(runner)
        for shortest in sorted(findings.shortest.values(), key=_size):
            context.keep(shortest)
    elif missing := [name for name in runner.kind.needed if not runner.ran[name]]:
        raise NotCovered(f"no sequence contained {', '.join(missing)}")


class Findings:
    """The shortest failing sequences: for each rule and cause one of each that consists of something else."""

    def __init__(self) -> None:
        self.shortest: dict[tuple[str, str, str], RuleFailed] = {}
        self._met: dict[tuple[str, str], dict[str, RuleFailed]] = {}
        self._times: Counter[tuple[str, str]] = Counter()

    def __bool__(self) -> bool:
        return bool(self._met)

    @property
    def are_rare(self) -> bool:
        """Whether one was met so few times that there may be others like it, which were not met yet."""
        return any(times < OFTEN for times in self._times.values())

    def meet(self, failure: RuleFailed) -> None:
        """Keep a failure, unless what it consists of includes what a known one does."""
        self._times[failure.finding] += 1
        met = self._met.setdefault(failure.finding, {})
        if any(way != failure.way and explains(way, failure.way) for way in met):
            return
        if (known := met.get(failure.way)) is None or _size(failure) < _size(known):
            met[failure.way] = failure
        if more := [way for way in met if way != failure.way and explains(failure.way, way)]:
            for way in more:
                del met[way]
        if len(met) > WAYS:
            del met[max(met, key=lambda way: _size(met[way]))]

    def shorten(self, runner: Runner, attempts: int) -> None:
        """Shorten all sequences, including those that are only found while others are shortened.

        What a shortened one is part of may fail for the same reason, and is left out.
        """
        done: dict[tuple[str, str], int] = {}
        while waiting := sorted(finding for finding, met in self._met.items() if met):
            met = self._met[waiting[0]]
            first = min(met.values(), key=_size)
            del met[first.way]
            known = [one for one in self.shortest.values() if one.finding == first.finding]
            enough = done.get(first.finding, 0) == WAYS or (known and runner.context.recorder.costs.left(SHORTENING) < 0)
            if enough or any(explains(one.way, first.way) for one in known):
                continue
            done[first.finding] = done.get(first.finding, 0) + 1
            found = shortest(runner, first, attempts, self.meet)
            self._keep(found)

    def _keep(self, found: RuleFailed) -> None:
        """Keep a shortened failure, unless a known one explains it, in the place of those that it explains."""
        known = [one for one in self.shortest.values() if one.rule == found.rule]
        if not any(one.explains(found) for one in known):
            for one in known:
                if found.explains(one):
                    del self.shortest[*one.finding, one.way]
            self.shortest[*found.finding, found.way] = found

    def drop_explained(self, runner: Runner) -> None:
        """Attribute failures again, now that all failed rules are known; drop those that the failure of another rule explains.

        Rules that only long sequences break come first.
        """
        for known in (False, True):  # first as it is where the others are masked, so that it does not depend on which comes first
            shortest: dict[str, tuple[int, int, str]] = {}
            for failure in self.shortest.values():
                shortest[failure.rule] = min(_size(failure), shortest.get(failure.rule, _size(failure)))
            order = sorted(self.shortest.items(), key=lambda pair: (shortest[pair[1].rule], pair[0]), reverse=True)
            for finding, failure in order:
                if finding in self.shortest:
                    self._attribute_again(runner, finding, failure, known=known)

    def _attribute_again(self, runner: Runner, finding: tuple[str, str, str], failure: RuleFailed, *, known: bool) -> None:
        """Attribute one failure again, with those of other rules masked, or explaining it where they are ``known`` to fail."""
        runner.masked = {rule for rule, _, _ in self.shortest} - {failure.rule}
        runner.known = runner.masked if known else frozenset()
        if failure.final or not runner.masked:
            return  # it is certain, or nothing else could explain it
        try:
            with runner.context.driver.varying(failure.varied):
                runner.run(failure.sequence or ())
        except RuleFailed as again:
            if again.rule == failure.rule:
                return
            del self.shortest[finding]
            alike = [one for one in self.shortest.values() if one.rule == again.rule]
            if not (known and any(explains(one.way, again.way) for one in alike)):  # or else it shows that one by other means
                self._keep(again)


def replay(runner: Runner, sequence: Commands) -> None:
    """Run one sequence that failed before, and keep its failure; another release, or another machine, may have generated it.

    If it fails as before, it fails the same rules: which ones was found out together with all others that failed. One that this
    machine does not generate is of a fixed check, which runs it anyway: here it tells whether it fails as before, and no more.
    """
    context, generated = runner.context, runner.table.keys() >= set(sequence)
    if not runner.rows.keys() >= {command.name for command in sequence}:
        return  # it is of another machine
    for fields in ((), *((name,) for name in context.driver.fields), context.driver.fields):
        with context.driver.varying(fields):
            try:
                runner.run(sequence)
            except RuleFailed as failure:
                rules = context.blamed.get(failure.cause, [failure.rule] if generated else [])
                for rule in rules:
                    context.keep(failure.as_rule(rule, final=failure.final))
                if rules:
                    return
            except Exception as error:  # what no machine generates may need what a fixed check alone prepares
                if generated or isinstance(error, TimeIsOver):
                    raise


def _size(failure: RuleFailed) -> tuple[int, int, str]:
    sequence = failure.sequence or ()
    return len(sequence), len(failure.varied), repr(sequence)
