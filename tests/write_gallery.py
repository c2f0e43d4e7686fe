"""Write ``queue_conformance/specification/gallery.json``, so that an installed kit can name what each rule catches.

Run ``python tests/write_gallery.py`` after a change to the gallery; a test says when that is due.
"""

from __future__ import annotations

import importlib
import inspect
import json
import sys
from pathlib import Path

from gallery import QCRAWL, exhibits
from queue_conformance.specification import load

FILE = Path(__file__).parent.parent / "queue_conformance/specification/gallery.json"


def contents() -> dict[str, list[list[str]]]:
    """Return the names and the sentences of the broken implementations, by the rules that they break."""
    found: dict[str, list[list[str]]] = {rule: [] for rule in load()}
    for exhibit in sorted(exhibits(), key=lambda exhibit: exhibit.path):
        module, _, name = exhibit.path.rpartition(".")
        text = inspect.getdoc(getattr(importlib.import_module(module), name)) or ""
        sentence = " ".join(text.partition("\n\n")[0].split())
        for rule in exhibit.rules:
            found[rule].append([exhibit.path.removeprefix("gallery."), sentence])
    return {rule: sorted(exhibits) for rule, exhibits in found.items() if exhibits}


def rendered() -> str:
    """Return the text of the file, with one line per rule."""
    lines = [f"  {json.dumps(rule)}: {json.dumps(named, ensure_ascii=False)}" for rule, named in contents().items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    if not QCRAWL:
        sys.exit("the asynchronous part of the gallery needs qCrawl: pip install 'pytest-queue-conformance[qcrawl]'")
    FILE.write_text(rendered(), "utf-8")
