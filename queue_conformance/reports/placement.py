"""Where a terminal shows each broken rule: once, with the shortest counterexample of all checks."""

from __future__ import annotations

from collections.abc import Sequence

from queue_conformance.reports import Report, failure
from queue_conformance.suites.outcomes import CheckResult


def place(report: Report, failed: Sequence[tuple[str, CheckResult]]) -> tuple[list[str], dict[str, str]]:
    """Distribute the broken rules over the checks that failed.

    A rule is shown where the check that bears its name failed, or else where the first check failed that saw it broken.

    Args:
        report: what came of the run.
        failed: the checks that failed, in the order in which they are shown: the name of the implementation, and what came of it.

    Returns:
        The text of each failed check; and by title the texts of the broken rules that no failed check saw, unless they are
        known.
    """
    screens, known = {}, {}
    for found in report.implementations:
        for verdict in found.verdicts:
            key = found.name, verdict.rule.id
            if verdict.known:
                known[key] = f"{verdict.rule.id} is broken here too, as is known: {verdict.known}"
            elif verdict.violation:
                screens[key] = failure.render(verdict.rule, verdict.violation)
    seen = [list(dict.fromkeys((path, observation.rule) for observation in result.broken)) for path, result in failed]
    places: dict[tuple[str, str], int] = {}
    for index, broken in enumerate(seen):
        for key in broken:
            if key not in places or failed[index][1].check == key[1]:
                places[key] = index
    texts = []
    for index, broken in enumerate(seen):
        mistake = failed[index][1].mistake
        said = [f"the kit itself failed here: {mistake}"] if mistake else []
        said += [failed[index][1].fault] if failed[index][1].fault else []
        for key in sorted(broken, key=known.__contains__):  # what is new comes first
            if key in known or places[key] == index:
                said.append(known.get(key) or screens[key])
            else:
                said.append(f"{key[1]} is broken here too, as shown {'above' if places[key] < index else 'below'}")
        texts.append("\n\n".join(said))
    return texts, {f"{rule} ({path})": screen for (path, rule), screen in screens.items() if (path, rule) not in places}
