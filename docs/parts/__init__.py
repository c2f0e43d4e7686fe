"""The parts of the pages that are made from the kit itself: its rules, options, records and results.

A page asks for a part by a comment on a line of its own: ``% generated: rules queue``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

from parts import kinds, matrix, options, releases, reports, rules, servers
from queue_conformance.specification import load

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
    "matrix": matrix.tables,
    "matrix-legend": matrix.legend,
    "matrix-origin": matrix.origin,
    "releases": releases.tables,
    "releases-regressions": releases.regressions,
    "releases-scripts": releases.scripts,
}
"""What returns the Markdown of a part, by the name that pages use; the words after it are its arguments."""

_ASKED = re.compile(r"^% generated: (\S+)((?: \S+)*)$", re.MULTILINE)


def fill(text: str) -> str:
    """Return the text of a page with its parts in their places."""
    return _ASKED.sub(lambda found: PARTS[found[1]](*found[2].split()), text)


class RuleAnchors(SphinxTransform):
    """Give the section of each rule the id of the rule as its anchor, with the dots that docutils would replace."""

    default_priority = 700

    def apply(self, **kwargs: Any) -> None:
        """Change the ids of the sections."""
        known = load()
        for section in self.document.findall(nodes.section):
            for name in set(section["names"]) & known.keys():
                section["ids"] = [name]
                self.document.ids[name] = section
                self.document.nameids[name] = name


def _read(app: Sphinx, page: str, source: list[str]) -> None:
    source[0] = fill(source[0])


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("source-read", _read)
    app.add_transform(RuleAnchors)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
