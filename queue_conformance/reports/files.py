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


def write(report: Report, path: Path) -> None:
    """Write a report to a file.

    Args:
        report: what came of a run.
        path: the file; its ending is one of ``RENDERERS``.

    Raises:
        OSError: if it cannot be written.
    """
    module = import_module(f"{__package__}.{RENDERERS[PurePath(path).suffix]}")
    path.write_text(module.render(report), "utf-8", errors="backslashreplace")  # half of a surrogate pair is no character
