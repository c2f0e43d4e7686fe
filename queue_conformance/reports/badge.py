"""The report as a badge for a README: a drawing, or what shields.io draws one from.

https://shields.io/badges/endpoint-badge describes the JSON.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import NamedTuple
from xml.sax.saxutils import escape

from queue_conformance.engine.verdicts import RunVerdict, Verdict
from queue_conformance.reports import ImplementationReport, Report
from queue_conformance.specification import Level

LABEL = "queue conformance"
"""The text on the left."""

_COLOURS = {
    RunVerdict.CONFORMANT: "#1f7a3d",
    RunVerdict.PARTIAL: "#9a6700",
    RunVerdict.INCONCLUSIVE: "#69717a",
    RunVerdict.NON_CONFORMANT: "#c0392b",
}
"""White on each of them is easy to read."""


class _Badge(NamedTuple):
    message: str
    colour: str
    error: bool = False


def svg(report: Report) -> str:
    """Return the drawing."""
    badge = _badge(report)
    left, right = _width(LABEL) + 12, _width(badge.message) + 12
    texts = "".join(
        # The length makes the text fit whatever font is there.
        f'<text x="{x}" y="14" textLength="{width - 12}">{escape(text)}</text>'
        for x, width, text in ((6, left, LABEL), (left + 6, right, badge.message))
    )
    title = escape(f"{LABEL}: {badge.message}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" aria-labelledby="title">\n'
        f'  <title id="title">{title}</title>\n'
        f'  <clipPath id="round"><rect width="{left + right}" height="20" rx="3"/></clipPath>\n'
        f'  <g clip-path="url(#round)"><rect width="{left}" height="20" fill="#464d55"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{badge.colour}"/></g>\n'
        f'  <g fill="#fff" font-family="Verdana,DejaVu Sans,Geneva,sans-serif" font-size="11">{texts}</g>\n'
        "</svg>\n"
    )


def endpoint(report: Report) -> str:
    """Return the JSON that shields.io draws a badge from."""
    badge = _badge(report)
    answer = {"schemaVersion": 1, "label": LABEL, "message": badge.message, "color": badge.colour}
    return json.dumps(answer | ({"isError": True} if badge.error else {}), indent=2) + "\n"


def _badge(report: Report) -> _Badge:
    found = report.implementations
    if report.errors or report.internal_errors or not found:
        return _Badge("error", _COLOURS[RunVerdict.NON_CONFORMANT], True)
    counts = Counter(one.verdict for one in found)
    present = [verdict for verdict in reversed(RunVerdict) if counts[verdict]]
    said = _message(found[0]) if len(found) == 1 else ", ".join(f"{counts[verdict]} {verdict}" for verdict in present)
    return _Badge(said, _COLOURS[present[0]])


def _message(found: ImplementationReport) -> str:
    """Return the verdict, and how many rules stand against a better one."""
    must, should = len(found.failed_rules(Level.MUST)), len(found.failed_rules(Level.SHOULD))
    counts = found.counts()[Level.MUST]
    untested = counts[Verdict.NOT_COVERED] + counts[Verdict.BLOCKED]
    said = {
        RunVerdict.NON_CONFORMANT: f"{must} MUST",
        RunVerdict.PARTIAL: f"{untested} MUST not tested" if untested else "not all checks run",
        RunVerdict.CONFORMANT: f"{should} SHOULD failed" if should else "",
        RunVerdict.INCONCLUSIVE: "",
    }[found.verdict]
    return f"{found.verdict} ({said})" if said else str(found.verdict)


# Verdana's widths in thousandths of its size, for the characters that badges have.
_WIDTHS = {
    **dict.fromkeys("0123456789", 636),
    **dict(zip("ABCDEFGHIJKLM", (684, 686, 698, 771, 632, 575, 775, 751, 421, 455, 693, 557, 843), strict=True)),
    **dict(zip("NOPQRSTUVWXYZ", (748, 787, 603, 787, 695, 684, 616, 732, 684, 989, 685, 615, 685), strict=True)),
    **dict(zip("abcdefghijklm", (601, 623, 521, 623, 596, 352, 623, 633, 274, 344, 592, 274, 973), strict=True)),
    **dict(zip("nopqrstuvwxyz", (633, 607, 623, 623, 427, 521, 394, 633, 592, 818, 592, 592, 525), strict=True)),
    **dict(zip(" (),-", (352, 454, 454, 364, 454), strict=True)),
}


def _width(text: str) -> int:
    """Return how wide a text is drawn, in pixels."""
    return round(sum(_WIDTHS[character] for character in text) * 11 / 1000)
