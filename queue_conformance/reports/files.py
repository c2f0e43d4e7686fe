"""Files that a report is written to; the ending of a name says in which form."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path, PurePath

from queue_conformance.reports import Report

RENDERERS = {
    ".jsonl": "jsonl",
    ".html": "html",
    ".md": "markdown",
    ".xml": "junit",
    ".svg": "badge:svg",
    ".json": "badge:endpoint",
}
"""By ending the module of this package that makes the text of a file: its ``render(report)``, or the function named after it."""


def render(report: Report, path: PurePath) -> str:
    """Return the text of a file whose ending is one of ``RENDERERS``."""
    module, _, function = RENDERERS[path.suffix].partition(":")
    text: str = getattr(import_module(f"{__package__}.{module}"), function or "render")(report)
    return text


def check_name(name: str) -> str:
    """Return the name of a file, if its ending says in which form a report is written to it.

    Raises:
        ValueError: if not; the message says what to write.
    """
    if PurePath(name).suffix not in RENDERERS:
        raise ValueError(f"write the name of a file that ends in {', '.join(RENDERERS)}")
    return name


def write(report: Report, path: Path) -> None:
    """Write a report to a file.

    Args:
        path: the file; its ending is one of ``RENDERERS``.

    Raises:
        ValueError: if it has another ending.
        OSError: if it cannot be written.
    """
    check_name(path.name)
    # Half of a surrogate pair is no character, and may be in what an implementation returned.
    path.write_text(render(report, path), "utf-8", errors="backslashreplace")
