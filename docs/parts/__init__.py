"""The parts of the pages that are made from the kit itself: its rules, options, records and results.

A page asks for a part by a comment, and holds it below, so that it is whole wherever it is read: ``make parts`` writes what lies
between ``<!-- generated: rules queue -->`` and ``<!-- until here -->``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from parts import growth, kinds, matrix, options, releases, reports, rules, servers, upgrades

PARTS: Mapping[str, Callable[..., str]] = {
    "rules": rules.family,
    "rule-index": rules.index,
    "rule-counts": rules.counts,
    "kind": kinds.page,
    "servers": servers.table,
    "option-table": options.table,
    "options": options.sections,
    "option-keys": options.keys,
    "claims": options.claims,
    "report-forms": reports.forms,
    "report-records": reports.records,
    "growth": growth.tables,
    "growth-origin": growth.origin,
    "matrix": matrix.tables,
    "matrix-legend": matrix.legend,
    "matrix-origin": matrix.origin,
    "releases": releases.tables,
    "releases-pairs": releases.pairs,
    "releases-regressions": releases.regressions,
    "releases-scripts": releases.scripts,
    "upgrades": upgrades.matrix,
    "upgrades-losses": upgrades.losses,
    "upgrades-refusals": upgrades.refusals,
    "upgrades-script": upgrades.script,
    "upgrades-steps": upgrades.steps,
}
"""What returns the Markdown of a part, by the name that pages use; the words after it are its arguments."""

GENERATED = re.compile(r"^(<!-- generated: (\S+)((?: \S+)*) -->\n)(.*?)^(?=<!-- until here -->$)", re.MULTILINE | re.DOTALL)
"""A part in its page: the comment, the name, the arguments, and what was made of them."""


def fill(text: str) -> str:
    """Return the text of a page with its parts as they are now."""
    return GENERATED.sub(lambda found: f"{found[1]}\n{PARTS[found[2]](*found[3].split()).strip()}\n\n", text)
