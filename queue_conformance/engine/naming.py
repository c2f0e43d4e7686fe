"""Names for what fails that each later run gives it, too: without that, a baseline calls new what it knows.

What leaves out commands and makes arguments smaller one by one may end where one command less needs other arguments; another
seed then finds the same with less. And what fails by chance has no shortest sequence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import takewhile
from random import Random
from typing import TYPE_CHECKING

from queue_conformance.engine.outcomes import RuleFailed
from queue_conformance.engine.sequences import Command, Commands, encode
from queue_conformance.engine.ways import BY_CHANCE, explains

if TYPE_CHECKING:
    from queue_conformance.engine.runner import Runner

SHORT = 10
"""The most commands of a sequence that is tried without each of them, and with other arguments."""

OTHERS = 30
"""With how many other arguments such a sequence is tried."""

AGAIN = 8
"""How often a sequence must fail in the same way, without which it fails by chance."""

LOOKING = 10.0
"""Seconds after which nothing is looked for that needs less; only slow implementations come near."""


def shortest(
    runner: Runner, failure: RuleFailed, attempts: int, meet: Callable[[RuleFailed], object] = lambda other: None
) -> RuleFailed:
    """Return a failure shortened, and by the name that other runs give it, too, where runs are compared.

    Args:
        attempts: sequences that are run at most to shorten one.
        meet: gets other failures.
    """
    found = runner.shortened(failure, attempts, meet)
    return named(runner, found, attempts, meet) if runner.context.drawing.compared else found


def named(runner: Runner, failure: RuleFailed, attempts: int, meet: Callable[[RuleFailed], object]) -> RuleFailed:
    """Return a shortened failure by a name that other runs give it, too."""
    while plainer := _with_less(runner, failure) or _with_first(runner, failure):
        failure = runner.shortened(plainer, attempts, meet)
    with _looking(runner, failure) as timely:
        return _as_chance(runner, failure, timely) if _fails_by_chance(runner, failure, timely) else failure


@contextmanager
def _looking(runner: Runner, failure: RuleFailed) -> Iterator[Callable[[object], bool]]:
    """Look for another form of a failure; yields a function that returns whether there is time for one more try."""
    context, began = runner.context, runner.context.watchdog.now
    limit = context.recorder.costs.left(LOOKING)
    try:
        with context.unnoticed(), context.driver.varying(failure.varied):
            yield lambda tried: not context.run_time.over and context.watchdog.now - began <= limit
    finally:
        context.recorder.costs.shortening += context.watchdog.now - began


def _fails_by_chance(runner: Runner, failure: RuleFailed, timely: Callable[[object], bool]) -> bool:
    """Whether the same sequence passes, or fails otherwise, when it is run again."""
    for _ in takewhile(timely, range(AGAIN)):
        try:
            runner.run(failure.sequence or ())
        except RuleFailed as shown:
            if (shown.finding, shown.sequence) != (failure.finding, failure.sequence):
                return True
        except Exception:  # the machine was too slow, say
            return False
        else:
            return True
    return False


def _as_chance(runner: Runner, failure: RuleFailed, timely: Callable[[object], bool]) -> RuleFailed:
    """Return a failure that shows now and then, by the rule that it shows: one ablation that passes says nothing.

    Where a moment decides, as that of a cancellation does, ablations that always pass do.
    """
    rule = failure.rule
    if rule not in runner.kind.timed or not runner.always_cures(failure, takewhile(timely, range(AGAIN))):
        shown = (runner.failure_of(failure.sequence or ()) for _ in takewhile(timely, range(AGAIN)))
        rule = next((one.rule for one in shown if one and one.cause == failure.cause), rule)
    return replace(failure.as_rule(rule), way=f"{failure.way}, {BY_CHANCE}")


def _with_less(runner: Runner, failure: RuleFailed) -> RuleFailed | None:
    """Return the same failure by part of what a short sequence consists of, with other arguments, if that is soon found."""
    random = Random(encode(failure.sequence or ()))
    arguments: dict[tuple[str, int], list[Command]] = {}
    for each in runner.table:
        arguments.setdefault((each.name, each.subject), []).append(each)

    def another(command: Command) -> Command:
        return random.choice([command, random.choice(arguments.get((command.name, command.subject), [command]))])

    tried = (tuple(map(another, left)) for left in _each_left_out(failure) for _ in range(OTHERS))
    return _first_alike(runner, failure, tried, lambda way: way != failure.way and explains(way, failure.way))


def _with_first(runner: Runner, failure: RuleFailed) -> RuleFailed | None:
    """Return the same failure by a command that comes earlier in the table than one of a short sequence, if that shows it."""
    sequence = failure.sequence or ()
    names = list(dict.fromkeys(command.name for command in runner.table))

    def tried() -> Iterator[Commands]:
        for place in range(_needed(failure) if len(sequence) <= SHORT else 0):
            command = sequence[place]
            for name in names[: names.index(command.name)] if command.name in names else ():  # others are drawn for no sequence
                alike = [each for each in runner.table if (each.name, each.subject) == (name, command.subject)]
                same = [each for each in alike if each.argument == command.argument]
                for each in (same or alike)[:1]:
                    yield (*sequence[:place], each, *sequence[place + 1 :])

    return _first_alike(runner, failure, tried(), lambda way: True)


def _first_alike(
    runner: Runner, failure: RuleFailed, tried: Iterable[Commands], fits: Callable[[str], bool]
) -> RuleFailed | None:
    """Return the same failure by the first sequence that shows it in a way that fits, if that is soon found."""
    with _looking(runner, failure) as timely:
        for sequence in takewhile(timely, tried):
            runner.context.watchdog.count()
            found = runner.tried_as(sequence)
            if found is not None and found.finding == failure.finding and fits(found.way):
                return found
    return None


def _each_left_out(failure: RuleFailed) -> list[Commands]:
    """Return the sequence of a failure without one command, for each name of those that lead to it; none of a long one."""
    sequence = failure.sequence or ()
    if len(sequence) > SHORT:
        return []
    places = {command.name: place for place, command in enumerate(sequence[: _needed(failure)])}
    return [(*sequence[:place], *sequence[place + 1 :]) for place in places.values()]


def _needed(failure: RuleFailed) -> int:
    """Return how many commands lead to a failure; the last one may only show it."""
    return len(failure.sequence or ()) - (not failure.at_end)
