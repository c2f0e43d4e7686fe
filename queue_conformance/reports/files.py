"""Files that a report is written to; the ending of a name says in which form."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path, PurePath

from queue_conformance.reports import Report

RENDERERS = {
    ".jsonl": "jsonl",
}
"""The modules of this package whose ``render(report)`` returns the text of a file, by ending."""


def check_name(name: str) -> str:
    """Return the name of a file, if its ending says in which form a report is written to it.

    Raises:
        ValueError: if not; the message says what to write.
    """
    if not name.endswith(tuple(RENDERERS)):
        raise ValueError(f"write the name of a file that ends in {' or '.join(RENDERERS)}")
    return name


def write(report: Report, path: Path) -> None:
    """Write a report to a file.

    Args:
        report: what came of a run.
        path: the file; its ending is one of ``RENDERERS``.

    Raises:
        ValueError: if it has another ending.
        OSError: if it cannot be written.
    """
    check_name(path.name)
    module = import_module(f"{__package__}.{RENDERERS[PurePath(path).suffix]}")
    path.write_text(module.render(report), "utf-8")
