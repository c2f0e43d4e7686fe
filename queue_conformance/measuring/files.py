"""Measurements as files: lines of JSON, a page with drawings, or these alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from queue_conformance.measuring import page
from queue_conformance.measuring.findings import as_data
from queue_conformance.measuring.step import Measured
from queue_conformance.reports.files import write_text


def write(steps: Sequence[Measured], notes: Sequence[str], file: Path) -> None:
    """Write what was measured to a file, whose ending says in which form.

    Args:
        steps: what was measured.
        notes: what was not, and why.

    Raises:
        OSError: if it cannot be written.
    """
    if file.suffix == ".html":
        write_text(page.render(steps, notes), file)
    elif file.suffix == ".svg":
        write_text(page.drawing(steps), file)
    else:
        write_text("".join(f"{json.dumps(as_data(one))}\n" for one in steps), file)
