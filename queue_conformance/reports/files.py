"""Files that a report is written to; the ending of a name says in which form."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path, PurePath

from queue_conformance.reports import Report

RENDERERS = {
    ".jsonl": "jsonl",
    ".html": "html",
    ".svg": "badge:svg",
    ".json": "badge:endpoint",
}
"""By ending the module of this package that makes the text of a file: its ``render(report)``, or the function named after it."""


def write(report: Report, path: Path) -> None:
    """Write a report to a file.

    Args:
        report: what came of a run.
        path: the file; its ending is one of ``RENDERERS``.

    Raises:
        OSError: if it cannot be written.
    """
    module, _, function = RENDERERS[PurePath(path).suffix].partition(":")
    render = getattr(import_module(f"{__package__}.{module}"), function or "render")
    path.write_text(render(report), "utf-8")
