"""Files that a report is written to; the ending of a name says in which form."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path, PurePath

from queue_conformance.reports import Report

RENDERERS = {
    ".jsonl": "jsonl",
    ".md": "markdown",
    ".xml": "junit",
}
"""The modules of this package whose ``render(report)`` returns the text of a file, by ending."""


def render(report: Report, path: PurePath) -> str:
    """Return the text of a file whose ending is one of ``RENDERERS``."""
    text: str = import_module(f"{__package__}.{RENDERERS[path.suffix]}").render(report)
    return text


def write(report: Report, path: Path) -> None:
    """Write a report to a file.

    Args:
        report: what came of a run.
        path: the file; its ending is one of ``RENDERERS``.

    Raises:
        OSError: if it cannot be written.
    """
    # Half of a surrogate pair is no character, and may be in what an implementation returned.
    path.write_text(render(report, path), "utf-8", errors="backslashreplace")
