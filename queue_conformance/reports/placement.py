"""Where a terminal shows each failed rule: once, with the shortest counterexample of all checks."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from queue_conformance.engine.outcomes import CheckResult
from queue_conformance.reports import ImplementationReport, Report
from queue_conformance.specification import Level, Rule
from queue_conformance.verdicts import RuleVerdict, Verdict


class Shown(NamedTuple):
    """What a terminal shows of a check that failed.

    Attributes:
        text: all of it.
        cause: the one line of it that pytest's summary has.
        again: whether all of it is shown of other checks.
    """

    text: str
    cause: str
    again: bool = False


def most_urgent_first(found: ImplementationReport) -> list[RuleVerdict]:
    """Return the failed rules in the order in which they are best mended: what gates, then what blocks most, known ones last.

    Crawls come after the others, which show the cause of what happens in them.
    """
    failed_rules = [verdict for verdict in found.verdicts if verdict.violation]
    return sorted(failed_rules, key=lambda verdict: (bool(verdict.known), *_urgency(found, verdict)))


def _urgency(found: ImplementationReport, verdict: RuleVerdict) -> tuple[bool, int, int, bool]:
    gates = verdict.rule.level is Level.MUST and verdict.rule.counts
    return not gates, list(Level).index(verdict.rule.level), -blocks(found, verdict.rule), verdict.rule.id.startswith("e2e.")


def blocks(found: ImplementationReport, rule: Rule) -> int:
    """Return how many rules could not be tested because one failed."""
    return sum(1 for v in found.verdicts if v.verdict is Verdict.BLOCKED and rule.id in re.findall(r"[\w.-]+", v.reason))


def urgent(report: Report, failed: Sequence[tuple[str, CheckResult]]) -> list[int]:
    """Return the numbers of the checks that failed, in the order in which their rules are best mended.

    What only sees again what others show is last.
    """
    ranks = {
        (found.name, verdict.rule.id): rank
        for found in report.implementations
        for rank, verdict in enumerate(most_urgent_first(found))
    }

    def key(number: int) -> tuple[bool, int, int]:
        name, result = failed[number]
        failed_rules = {observation.rule for observation in result.failed}
        return (
            result.check not in failed_rules,
            min((ranks.get((name, rule), len(ranks)) for rule in failed_rules), default=0),
            number,
        )

    return sorted(range(len(failed)), key=key)


def place(
    report: Report, failed: Sequence[tuple[str, CheckResult]], draw: Callable[[ImplementationReport, RuleVerdict], str]
) -> tuple[list[Shown], dict[str, str]]:
    """Distribute the failed rules over the checks that failed.

    A rule is shown where the check that bears its name failed, or else where the first check failed that saw it fail.

    Args:
        failed: the checks that failed, in the order in which they are shown: the name of the implementation, and the result.
        draw: returns a failed rule of an implementation as text.

    Returns:
        What is shown of each failed check; and by title the texts of the failed rules that no failed check saw, unless they are
        known.
    """
    screens: dict[tuple[str, str], Shown] = {}
    known: dict[tuple[str, str], Shown] = {}
    for found in report.implementations:
        for verdict in found.verdicts:
            key = found.name, verdict.rule.id
            if verdict.known:
                text = f"{verdict.rule.id} fails here too, as is known: {verdict.known}"
                known[key] = Shown(text, text, again=True)
            elif one := verdict.violation:
                screens[key] = Shown(draw(found, verdict), one.said)
    seen = [list(dict.fromkeys((path, observation.rule) for observation in result.failed)) for path, result in failed]
    places: dict[tuple[str, str], int] = {}
    for index, failed_rules in enumerate(seen):
        for key in failed_rules:
            if key not in places or failed[index][1].check == key[1]:
                places[key] = index
    shown = []
    for index, failed_rules in enumerate(seen):
        result = failed[index][1]
        internal_error = f"the kit itself failed here: {result.internal_error}" if result.internal_error else ""
        said = [Shown(line, line) for line in (internal_error, result.fault) if line]
        for key in sorted(failed_rules, key=known.__contains__):  # what is new comes first
            if key in known or places[key] == index:
                said.append(known.get(key) or screens[key])
            else:
                text = f"{key[1]} fails here too, as shown {'above' if places[key] < index else 'below'}"
                said.append(Shown(text, text, again=True))
        again = bool(said) and all(one.again for one in said)
        shown.append(Shown("\n\n".join(one.text for one in said), said[0].cause if said else "", again))
    return shown, {f"{rule} ({path})": screen.text for (path, rule), screen in screens.items() if (path, rule) not in places}
