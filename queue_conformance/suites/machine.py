"""The machine of a kind: drawn programs, played on the implementation and its oracle, shrunk where they fail."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from types import SimpleNamespace

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import HypothesisException
from hypothesis.internal.conjecture import engine

from queue_conformance.suites.outcomes import CAUSES, NotExercised, RuleBroken, TooSlow
from queue_conformance.suites.programs import Operation, Player, Program

LONGEST = 50
"""Operations in a program at most."""

BUDGET = 60.0
"""Seconds, for each hundred examples, after which no further program is played; only slow implementations come near."""

SHRINKING = 30
"""Programs, for each example, that are played at most to find shorter ones once something failed."""

SECOND_LOOK = 2
"""Programs, for each example, that are played at most to look for others beside broken rules that are known."""


def our_settings(examples: int) -> settings:
    """Return settings of Hypothesis that nothing in the author's profiles changes.

    Args:
        examples: how many examples to draw.
    """
    return settings(
        max_examples=examples,
        backend="hypothesis",
        database=None,
        deadline=None,
        derandomize=False,
        phases=(Phase.explicit, Phase.generate, Phase.shrink),
        print_blob=False,
        report_multiple_bugs=True,
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
    )


@contextmanager
def repeatable() -> Iterator[None]:
    """Let Hypothesis draw the same for the same seed, whatever else is imported, and however busy the machine is.

    It mixes the constants of all modules that are not installed, such as the author's, into what it draws: without this,
    a new module would change the programs of a seed. And it stops drawing, and shrinking, after so many seconds: here its
    clock stands still, and whoever draws counts. There are no settings for these; a release of Hypothesis that does them
    in another way, or not yet, is left alone.
    """
    with ExitStack() as stack:
        if (clock := getattr(engine, "time", None)) is not None:
            stack.callback(setattr, engine, "time", clock)
            engine.time = _STOPPED  # type: ignore[attr-defined, assignment]
        try:
            from hypothesis.internal.conjecture import providers
        except ImportError:  # before 6.128
            found = None
        else:
            found = getattr(providers, "_get_local_constants", None)
        if found is not None:
            nothing = type(providers._local_constants)()
            stack.callback(providers.CONSTANTS_CACHE.cache.clear)
            stack.callback(setattr, providers, "_get_local_constants", found)
            providers._get_local_constants = lambda: nothing
            providers.CONSTANTS_CACHE.cache.clear()
        yield


_STOPPED = SimpleNamespace(monotonic=lambda: 0.0, perf_counter=lambda: 0.0)


def programs(table: Sequence[Operation]) -> st.SearchStrategy[list[Operation]]:
    """Return a strategy for programs.

    A minimal length is drawn first: lists of the default length find rare states ten times later.

    Args:
        table: the operations, simple ones first, because programs shrink towards them.
    """
    operation = st.sampled_from(table)
    return st.integers(0, LONGEST).flatmap(lambda shortest: st.lists(operation, min_size=shortest, max_size=LONGEST))


def explore(player: Player, needed: Sequence[str], shrinking: int = SHRINKING) -> None:
    """Play drawn programs, or the one that the bench is to replay, and keep the shortest failure of each rule on the bench.

    A failure that most programs meet would hide others, because Hypothesis draws few programs after a first failure. So the same
    seed is drawn from again, with the rules that are known to be broken only ending a program, until no other is found.

    Args:
        player: plays the programs.
        needed: operations without which the programs prove nothing.
        shrinking: programs, for each example, that are played at most after the first failure, to find others and shorter ones.

    Raises:
        NotExercised: if one of the needed operations was never played.
    """
    bench = player.bench
    if bench.replay is not None:
        replay(player, bench.replay)
        return
    shortest: dict[tuple[str, str], RuleBroken] = {}
    ended: frozenset[tuple[str, str]] = frozenset()  # known: they only end a program
    other: list[Exception] = []
    slower: list[TooSlow] = []
    deadline = bench.flight.now + BUDGET * max(1.0, bench.examples / 100)
    count, most = 0, math.inf
    late = False
    coverage = ""  # until the first failure: what follows are variations of it

    def attempt(operations: Program) -> None:
        nonlocal count, coverage, most, late
        late = late or bench.flight.now > deadline
        if count >= most or late:
            return
        count += 1
        bench.flight.count()
        try:
            player.play(operations)
        except RuleBroken as failure:
            if not shortest:
                most = count + shrinking * bench.examples
            key = failure.rule, failure.cause
            known = shortest.get(key)
            if known is None and sum(rule == failure.rule for rule, _ in shortest) == CAUSES:
                return
            coverage = coverage or _coverage(f"{count} programs until the first failure", player)
            if known is None or _size(failure) < _size(known):
                shortest[key] = failure
            if bench.flight.tally.goal:  # from here on Hypothesis plays as many as it takes to find a shorter one
                bench.flight.aim("programs after the first failure", ends=deadline)
            if key not in ended:
                raise _of_cause(*key)(str(failure)) from None
        except TooSlow as slow:
            slower.append(slow)
        except Exception as error:
            other.append(error)
            raise

    def play_round() -> None:
        @seed(bench.seed)
        @our_settings(bench.examples)
        @given(programs(player.table))
        def drawn(operations: list[Operation]) -> None:
            attempt(tuple(operations))

        try:
            with repeatable():
                drawn()
        except (_CauseFound, HypothesisException, BaseExceptionGroup):
            # Several failures come as a group, and a flaky one as an error of Hypothesis: all of them were seen in attempt().
            if other or not shortest:
                raise

    bench.flight.aim("programs", bench.examples, deadline)
    play_round()
    most = count + SECOND_LOOK * bench.examples
    while shortest.keys() - ended and count < most and not late:
        ended = frozenset(shortest)
        player.known = frozenset(rule for rule, _ in shortest)
        play_round()
    bench.notes.append(coverage or _coverage(f"{count} programs", player))
    if late:
        bench.notes.append(f"machine: no more than {count} programs, because they take more than {BUDGET:g} s for 100 examples")
    _drop_explained(shortest, player)
    for failure in shortest.values():
        bench.keep(failure)
    if slower:
        bench.notes.append(f"machine: {len(slower)} programs prove nothing: {slower[0]}")
        if len(slower) == count:
            raise slower[0]
    if not shortest and (missing := [name for name in needed if not player.played[name]]):
        raise NotExercised(f"no program contained {', '.join(missing)}")


class _CauseFound(Exception):
    """A rule is broken; what Hypothesis tells failures apart by."""


@cache
def _of_cause(rule: str, cause: str) -> type[_CauseFound]:
    return type(f"CauseFound[{rule}, {cause}]", (_CauseFound,), {})


def _drop_explained(failures: dict[tuple[str, str], RuleBroken], player: Player) -> None:
    """Judge failures again, long ones first, now that all broken rules are known; leave out those that another one explains."""
    for key, failure in sorted(failures.items(), key=lambda item: _size(item[1]), reverse=True):
        player.known = player.excused = {rule for rule, _ in failures} - {failure.rule}
        if failure.final or not player.known:
            continue  # it is certain, or there is nothing else that could explain it
        try:
            player.play(failure.program or ())
        except RuleBroken as again:
            if again.rule != failure.rule:
                del failures[key]
                failures.setdefault((again.rule, again.cause), again)


def replay(player: Player, operations: Program) -> None:
    """Play one program that failed before, and keep its failure on the bench.

    Args:
        player: plays the program.
        operations: the program; another release of the kit, or another machine, may have drawn it.
    """
    if not set(player.table).issuperset(operations):
        return  # this machine draws no such operations, and so the program says nothing
    try:
        player.play(operations)
    except RuleBroken as failure:
        player.bench.keep(failure)


def _size(failure: RuleBroken) -> tuple[int, str]:
    operations = failure.program or ()
    return len(operations), repr(operations)


def _coverage(programs: str, player: Player) -> str:
    operations = ", ".join(f"{number} {name}" for name, number in player.played.most_common())
    return f"machine: {programs}; {operations or 'no operations'}"
