"""Write ``queue_conformance/specification/mutants.json``, so that an installed kit can name what each rule catches.

Run ``python tests/write_mutants.py`` after a change to the mutants; a test says when that is due.
"""

from __future__ import annotations

import importlib
import inspect
import json
import sys
from pathlib import Path

from mutants import PSYCOPG, QCRAWL, all_mutants
from queue_conformance.specification import load

FILE = Path(__file__).parent.parent / "queue_conformance/specification/mutants.json"


def contents() -> dict[str, list[list[str]]]:
    """Return the names and the sentences of the mutants, by the rules that they fail."""
    found: dict[str, list[list[str]]] = {rule: [] for rule in load()}
    for mutant in sorted(all_mutants(), key=lambda mutant: mutant.path):
        module, _, name = mutant.path.rpartition(".")
        text = inspect.getdoc(getattr(importlib.import_module(module), name)) or ""
        sentence = " ".join(text.partition("\n\n")[0].split())
        for rule in mutant.fails:
            found[rule].append([mutant.path.removeprefix("mutants."), sentence])
    return {rule: sorted(named) for rule, named in found.items() if named}


def rendered() -> str:
    """Return the text of the file, with one line per rule."""
    lines = [f"  {json.dumps(rule)}: {json.dumps(named, ensure_ascii=False)}" for rule, named in contents().items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    if not (QCRAWL and PSYCOPG):
        sys.exit("a part of the mutants needs more: pip install 'pytest-queue-conformance[qcrawl,postgresql]'")
    FILE.write_text(rendered(), "utf-8")
