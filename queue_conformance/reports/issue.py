"""One failed rule as an issue for whoever wrote the class: Markdown for their tracker, with nothing of the kit but one line."""

from __future__ import annotations

from queue_conformance.reports import ImplementationReport, Origin
from queue_conformance.reports.markdown import block, code, prose
from queue_conformance.verdicts import RuleVerdict


def render(found: ImplementationReport, verdict: RuleVerdict, origin: Origin) -> str:
    """Return an issue: what is promised, what happens instead, and a script that shows it."""
    assert verdict.violation is not None
    rule, violation = verdict.rule, verdict.violation
    name = found.path.rpartition(".")[2]
    releases = [f"{library} {release}" for library, release in origin.releases.items()]
    if found.version.lower() not in releases:
        releases.insert(0, found.version)
    parts = [
        f"# {name}: {rule.sentence}",
        f"{code(found.path)} does otherwise. The promise: {prose(rule.source)}.",
        f"- expected: {code(violation.expected)}\n- actual: {code(violation.actual)}",
        *(f"- also: {code(other.actual)}" for other in violation.others),
        f"This script shows it:\n\n{block(violation.script)}".rstrip(),
        f"{', '.join(filter(None, releases))}; Python {origin.python} on {origin.platform}.",
        f"Found by pytest-queue-conformance {origin.kit}, rule {code(rule.id)}.",
    ]
    return "\n\n".join(parts) + "\n"
