"""The cases of a check: each value of its keywords, and the faults that a value may stand for."""

from __future__ import annotations

import inspect
import itertools
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from random import Random
from typing import Any

from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.outcomes import NotCovered, RuleFailed, TooSlow
from queue_conformance.engine.recording import OperationRaised
from queue_conformance.engine.runner import runner_of
from queue_conformance.engine.sequences import commands
from queue_conformance.engine.ways import way_of_case
from queue_conformance.faults.fault import Fault
from queue_conformance.specification import Level

SECONDS = 10.0
"""Seconds after which no further case of a check begins, where operations are slow, or one has failed."""

COMPARED = 60.0
"""The same where one has failed and runs are compared: what is known to fail may take long, and come before what is new."""

Values = dict[str, Any]
"""By the names of parameters, the values of one case."""

Attempt = Callable[[Any], None]
"""Runs a case with a value that is no fault, and says nothing of rules.

Raises:
    NotCovered: if it fails, which says nothing of faults.
"""


class FaultMissed(NotCovered):
    """The fault of a case did not hit."""


def ways_to_read(sequence: str) -> Callable[[CheckContext], Iterator[bool]]:
    """Return the values of a parameter ``reopen``: whether a queue is opened again before what it stored is taken out.

    One that keeps objects as they are until it is closed stores them only then; only a persistent one can be opened again.

    Args:
        sequence: puts, reopens and takes; if it fails, that is the failure of another rule.
    """

    def ways(context: CheckContext) -> Iterator[bool]:
        if not context.offers("keeps-objects"):
            yield False
        if context.offers("persistent"):
            runner_of(context).show(commands(sequence))
            context.restart()
            yield True

    return ways


def run_cases(context: CheckContext, name: str, cases: Mapping[str, Sequence[Any]], run: Callable[[Values], None]) -> None:
    """Run a check with each combination of values; one that fails, or is not covered, does not keep others from running.

    A value that is a generator function stands for the values that it yields, such as faults, which are tried in turn. It gets
    the context, and if it has a second parameter an :data:`Attempt`.

    Args:
        cases: by the name of a parameter, its values.

    Raises:
        NotCovered: if none was covered.
    """
    missed: list[NotCovered] = []
    tried, hits = Counter[str](), Counter[str]()
    covered = False
    for values in _timely(context, name, combinations(context, name, cases)):
        combination = dict(zip(cases, values, strict=True))
        given = {parameter for parameter, value in combination.items() if inspect.isgeneratorfunction(value)}
        expanded = _expanded(context, combination, run)
        try:
            for case in expanded:
                context.go_on()
                context.way = way_of_case(context.check, case, generated=given)
                with context.collecting():
                    before = context.covered.copy()
                    try:
                        run(case)
                        covered = True
                    except TooSlow:
                        raise
                    except NotCovered as reason:
                        context.covered = before
                        missed.append(reason)
                    except (RuleFailed, OperationRaised):
                        covered = True
                        raise
                    finally:
                        for fault in [value for value in case.values() if isinstance(value, Fault)]:
                            tried[fault.name] += 1
                            hits[fault.name] += fault.hit
        except TooSlow:
            raise
        except NotCovered as reason:
            missed.append(reason)
        finally:
            expanded.close()  # what it has set aside is kept, whatever ended it
            context.way = context.check
    reasons = list(dict.fromkeys(str(reason) for reason in missed if not isinstance(reason, FaultMissed)))
    if not covered and missed:
        raise NotCovered(reasons[0] if reasons else "no fault came in its way")
    context.notes += [reason if tried else f"{name}: not covered in some cases: {reason}" for reason in reasons]
    if hits.total():
        counts = ", ".join(f"{fault} ({hits[fault]} of {tried[fault]})" for fault in tried if hits[fault])
        context.notes.append(f"faults that hit {name}: {counts}")


def combinations(context: CheckContext, name: str, cases: Mapping[str, Sequence[Any]]) -> list[tuple[Any, ...]]:
    """Return the combinations of values: all of them, or fewer if operations are slow.

    Those hold each value of one parameter, each pair of two of three, and so on: that of the parameter with the fewest values
    follows from those of all others.
    """
    found = [*itertools.product(*cases.values())]
    if not context.budget.short or len(cases) < 2:
        return found
    fewest = min(map(len, cases.values()))
    places = itertools.product(*(range(len(values)) for values in cases.values()))
    fewer = [values for values, place in zip(found, places, strict=True) if sum(place) % fewest == 0]
    if len(fewer) < len(found):
        context.notes.append(f"{name}: {len(fewer)} of {len(found)} cases, because operations are slow{context.budget.more}")
    return fewer


def _timely(context: CheckContext, name: str, found: list[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """Yield all combinations; if operations are slow, the first and simplest, and others as long as there is time.

    What a class does where something fails may take much longer than its operations: once the check's own rule, or a MUST, has
    failed by that, it is waited for no longer, either.
    """
    began = context.watchdog.now
    if context.budget.short:
        found = [*found[:1], *Random(context.seed).sample(found[1:], len(found[1:]))]
    for number, values in enumerate(found):
        own = context.recorder.main_rule
        failed = any(rule == own or context.specification[rule].level is Level.MUST for rule in context.failed)
        limit = COMPARED if context.drawing.compared and not context.budget.short else SECONDS
        if number and (context.budget.short or failed) and context.watchdog.now - began > limit:
            told = f"{number} of {len(found)} cases, because they take more than {limit:g} s{context.budget.more}"
            context.notes.append(f"{name}: {told}")
            return
        yield values


def _expanded(context: CheckContext, case: Values, run: Callable[[Values], None]) -> Generator[Values]:
    """Yield a case once for each of the faults that its values stand for; as it is if there are none."""
    name = next((name for name, value in case.items() if inspect.isgeneratorfunction(value)), None)
    if name is None:
        yield case
        return

    def attempt(usual: Any) -> None:
        before = context.covered.copy()
        try:
            run({**case, name: usual})
        except (RuleFailed, OperationRaised, FaultMissed) as failure:
            raise NotCovered(f"it fails without a fault, too: {failure}") from failure
        except NotCovered:
            return  # with a fault it may come to the point
        finally:
            context.covered = before

    arguments = [context, attempt][: len(inspect.signature(case[name]).parameters)]
    with closing(case[name](*arguments)) as values:
        for value in values:
            yield from _expanded(context, {**case, name: value}, run)
