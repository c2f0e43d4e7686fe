"""One failed rule as an issue for whoever wrote the class: Markdown for their tracker, with nothing of the kit but one line."""

from __future__ import annotations

from dataclasses import replace

from queue_conformance.engine.outcomes import Violation
from queue_conformance.engine.verdicts import RuleVerdict
from queue_conformance.reports import ImplementationReport, Origin
from queue_conformance.reports.failure import cut
from queue_conformance.reports.markdown import block, code, prose
from queue_conformance.specification import Rule, load
from queue_conformance.specification.grounds import Basis

TITLE = 100
"""Characters of a title at most."""

EXPECTED = 40
"""Those that what is expected has there at least."""


def render(found: ImplementationReport, verdict: RuleVerdict, origin: Origin) -> str:
    """Return an issue: what happens, what should happen and who says so, and a script that shows it."""
    assert verdict.violation is not None
    rule, violation = verdict.rule, verdict.violation
    name = found.path.rpartition(".")[2]
    releases = [f"{library} {release}" for library, release in origin.releases.items()]
    if found.version.lower() not in releases:
        releases.insert(0, found.version)
    parts = [
        f"# {prose(_title(name, violation))}",
        f"{code(found.path)} does not do what is expected here: {rule.sentence} {_grounds(rule)}".rstrip(),
        f"- expected: {code(violation.expected)}\n- actual: {code(violation.actual)}",
        *(f"- also: {code(said)}" for said in dict.fromkeys(other.said for other in violation.others) if said != violation.said),
        f"This script shows it:\n\n{block(violation.script)}".rstrip(),
        f"{', '.join(filter(None, releases))}; Python {origin.python} on {origin.platform}.",
        f"Found by pytest-queue-conformance {origin.kit}, rule {code(rule.id)}.",
    ]
    return "\n\n".join(parts) + "\n"


def _title(name: str, violation: Violation) -> str:
    """Return what happens in a line; where what is expected is long, that is cut, and not what comes instead."""
    expected = cut(violation.expected, max(EXPECTED, TITLE - len(f"{name}: {violation.said}") + len(violation.expected)))
    return cut(f"{name}: {replace(violation, expected=expected).said}", TITLE)


def _grounds(rule: Rule) -> str:
    """Return the promise that is broken, if a document makes one to users of this class, or else why it matters."""
    known = load().get(rule.id)  # a report does not hold all of it
    if known is None:
        return ""
    if known.basis is Basis.WORDS and (rule.level is known.level or not known.binds):
        quote = "" if known.quote in known.source else f", «{known.quote}»"
        return f"The promise: {prose(f'{known.source}{quote}')}."
    return known.harm or known.why
