"""Where a terminal shows each failed rule: once, with the shortest counterexample of all checks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from queue_conformance.engine.outcomes import CheckResult, Violation
from queue_conformance.engine.verdicts import RuleVerdict, Verdict
from queue_conformance.reports import ImplementationReport, Report
from queue_conformance.specification import Level, Rule


class Shown(NamedTuple):
    """What a terminal shows of a check that failed.

    Attributes:
        text: all of it.
        cause: the one line of it that pytest's summary has.
        rule: the rule that it is about, first of all.
        again: whether all of it is shown of other checks.
        breaks: the rules that it names beside that one.
    """

    text: str
    cause: str
    rule: str
    again: bool = False
    breaks: tuple[str, ...] = ()

    @property
    def titled(self) -> tuple[str, str]:
        """The line that says how its rule failed, or ``""``, and the text without it."""
        title, _, below = self.text.partition("\n")
        return (title, below) if title.startswith(f"{self.rule}  ") else ("", self.text)


def most_urgent_first(found: ImplementationReport) -> list[RuleVerdict]:
    """Return the failed rules in the order in which they are best mended: what gates, then what blocks most, known ones last.

    Crawls come after the others, which show the cause of what happens in them. Of rules that one line of the implementation
    fails, the one of the operation that raises comes first.
    """
    failed_rules = [(verdict, violation) for verdict in found.verdicts if (violation := verdict.violation)]
    blocked = {verdict.rule.id: blocks(found, verdict.rule) for verdict, _ in failed_rules}
    at_line = Counter[str]()
    for verdict, violation in failed_rules:
        at_line[violation.line] = max(at_line[violation.line], blocked[verdict.rule.id])

    def urgency(failed: tuple[RuleVerdict, Violation]) -> tuple[bool, bool, int, bool, int, bool, int]:
        (verdict, violation), rule = failed, failed[0].rule
        gates = rule.level is Level.MUST and rule.counts
        crawls = rule.id.startswith(("e2e.", "job."))
        blocked_here = blocked[rule.id]
        blocked_by_line = at_line[violation.line] if violation.line else blocked_here
        of_another = not violation.line or f".{violation.operation.partition('_')[0]}." not in rule.id
        level = list(Level).index(rule.level)
        return bool(verdict.known), not gates, level, crawls, -blocked_by_line, of_another, -blocked_here

    return [verdict for verdict, _ in sorted(failed_rules, key=urgency)]


def blocks(found: ImplementationReport, rule: Rule) -> int:
    """Return how many rules could not be tested because one failed."""
    return sum(1 for v in found.verdicts if v.verdict is Verdict.BLOCKED and rule.id in re.findall(r"[\w.-]+", v.reason))


def ranks(implementations: Iterable[ImplementationReport]) -> dict[tuple[str, str], int]:
    """Return the place of each failed rule in the order of :func:`most_urgent_first`, by the name and by the id."""
    return {(one.name, verdict.rule.id): rank for one in implementations for rank, verdict in enumerate(most_urgent_first(one))}


def urgent(report: Report, failed: Sequence[tuple[str, CheckResult]]) -> list[int]:
    """Return the numbers of the checks that failed, in the order in which the rules that they show are best mended.

    What only sees again what others show is last.
    """
    known = ranks(report.implementations)
    seen = [list(dict.fromkeys((path, observation.rule) for observation in result.failed)) for path, result in failed]
    places = _places(failed, seen)

    def key(number: int) -> tuple[int, int]:
        shown = [known.get(key, len(known)) for key in seen[number] if places[key] == number]
        return min(shown, default=len(known) + 1), number

    return sorted(range(len(failed)), key=key)


def _places(failed: Sequence[tuple[str, CheckResult]], seen: Sequence[Sequence[tuple[str, str]]]) -> dict[tuple[str, str], int]:
    """Return the number of the check that shows each failed rule: the one that bears its name, or else the first that saw it.

    One that shows the rule of its own name comes last: what it shows has that title.
    """
    places: dict[tuple[str, str], tuple[int, int]] = {}
    for index, failed_rules in enumerate(seen):
        name = failed[index][1].check
        shows_its_own = any(rule == name for _, rule in failed_rules)
        for key in failed_rules:
            rank = 0 if key[1] == name else 1 + shows_its_own
            places[key] = min(places.get(key, (rank, index)), (rank, index))
    return {key: index for key, (_, index) in places.items()}


def place(
    report: Report,
    failed: Sequence[tuple[str, CheckResult]],
    draw: Callable[[ImplementationReport, RuleVerdict, Sequence[str]], str],
    *,
    once: bool = True,
) -> tuple[list[Shown], dict[str, str]]:
    """Distribute the failed rules over the checks that failed.

    A rule is shown where the check that bears its name failed, or else where the first check failed that saw it fail.

    Args:
        failed: the checks that failed, in the order in which they are shown: the name of the implementation, and the result.
        draw: returns a failed rule of an implementation as text, with others that fail at the same line.
        once: whether rules that fail at the same line are shown as one.

    Returns:
        What is shown of each failed check; and by title the texts of the failed rules that no failed check saw, unless they are
        known.
    """
    screens: dict[tuple[str, str], Shown] = {}
    again: dict[tuple[str, str], Shown] = {}
    for found in report.implementations:
        leaders = same_line(found) if once else {}
        for verdict in found.verdicts:
            key = found.name, verdict.rule.id
            if verdict.known:
                text = f"{verdict.rule.id} fails here too, as is known: {verdict.known}"
                again[key] = Shown(text, text, verdict.rule.id, again=True)
            elif once and verdict.violation and not found.gates(verdict):
                text = f"{verdict.rule.id} fails here too, a {verdict.rule.level} rule that fails no run: -v shows how"
                again[key] = Shown(text, text, verdict.rule.id, again=True)
            elif leader := leaders.get(verdict.rule.id):
                text = f"{verdict.rule.id} fails at the line that {leader} shows"
                again[key] = Shown(text, text, verdict.rule.id, again=True)
            elif one := verdict.violation:
                breaks = [rule for rule, leader in leaders.items() if leader == verdict.rule.id]
                text = draw(found, verdict, breaks)
                named = tuple(rule for rule in breaks if re.search(rf"{re.escape(rule)}[, ]", text))
                screens[key] = Shown(text, one.said, verdict.rule.id, breaks=named)
    seen = [list(dict.fromkeys((path, observation.rule) for observation in result.failed)) for path, result in failed]
    places = _places(failed, seen)
    shown = []
    for index, failed_rules in enumerate(seen):
        result = failed[index][1]
        internal_error = f"the kit itself failed here: {result.internal_error}" if result.internal_error else ""
        said = [Shown(line, line, result.check) for line in (internal_error, result.fault) if line]
        for key in sorted(failed_rules, key=again.__contains__):  # what is new comes first
            if key in again or places[key] == index:
                said.append(again.get(key) or screens[key])
            else:
                text = f"{key[1]} fails here too, as shown {'above' if places[key] < index else 'below'}"
                said.append(Shown(text, text, key[1], again=True))
        if once and not all(one.again for one in said):
            said = [one for one in said if not one.again]  # what is shown elsewhere needs no line here
        first = said[0] if said else Shown("", "", result.check)
        shown.append(
            first._replace(text="\n\n".join(one.text for one in said), again=bool(said) and all(one.again for one in said))
        )
    return shown, {f"{rule} ({path})": screen.text for (path, rule), screen in screens.items() if (path, rule) not in places}


def same_line(found: ImplementationReport) -> dict[str, str]:
    """Return the rules that fail by nothing but what fails another rule, which is better mended first, by their ids."""
    leaders: dict[str, str] = {}
    shown: list[RuleVerdict] = []
    for verdict in most_urgent_first(found):
        assert verdict.violation is not None
        same = (one.rule.id for one in shown if one.violation and verdict.violation.is_shown_by(one.violation))
        if leader := next(same, None):
            leaders[verdict.rule.id] = leader
        elif not verdict.known:
            shown.append(verdict)
    return leaders
