"""Write ``build/messages.md``: what a terminal of 80 columns shows of every failure of every mutant, to be read by a person.

``make messages`` tests the mutants again whose results are older than the kit; ``make messages MUTANTS="disk PopHangs"`` those
with such words in their names, and no other.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from itertools import groupby
from pathlib import Path
from statistics import median

from kit import ENVIRONMENT, downloads
from test_mutants import JOBS, MUTANTS, report_on

from queue_conformance.reports.failure import brief
from queue_conformance.specification import load

ROOT = Path(__file__).parent.parent
BUILD = ROOT / "build/messages"
SOURCES = [file for folder in ("queue_conformance", "reference", "tests/mutants") for file in (ROOT / folder).rglob("*.py")]
COLUMNS = 80


def run(path: str) -> None:
    """Test a mutant, and keep how it fails."""
    (mutant,) = (one for one in MUTANTS if one.path == path)
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)  # some leave files where they are
        report = report_on(mutant)
        os.chdir(ROOT)
    failed = [(report.kind, v.rule.id, v.violation) for v in report.verdicts if v.violation]
    (BUILD / path).write_bytes(pickle.dumps(failed))


def page(failed: list[tuple[str, str, str, str, str]]) -> str:
    """Return the page: the numbers of each kind, then its failures.

    Args:
        failed: of each failure the kind, the rule, what a terminal shows, the mutant and the script, in this order.
    """
    lines = [
        "# Messages",
        "",
        "| kind | texts | lines at most | scripts: median | most | import the kit |",
        "|---|---|---|---|---|---|",
    ]
    for kind, found in groupby(failed, lambda one: one[0]):
        _, _, texts, _, scripts = zip(*found, strict=True)
        most = max(text.count("\n") + 1 for text in texts)
        length = [script.count("\n") for script in scripts]
        kit = sum("queue_conformance" in script for script in scripts)
        lines.append(f"| {kind} | {len(set(texts))} | {most} | {median(length):g} | {max(length)} | {kit} of {len(scripts)} |")
    for (kind, rule), found in groupby(failed, lambda one: one[:2]):
        lines += ["", f"## {rule} ({kind})"]
        for text, named in groupby(found, lambda one: one[2]):
            lines += ["", ", ".join(one[3] for one in named), "", "```text", text, "```"]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    os.environ["PYTHONPATH"] = ENVIRONMENT["PYTHONPATH"]
    BUILD.mkdir(parents=True, exist_ok=True)
    words, changed = sys.argv[1:], max(file.stat().st_mtime for file in SOURCES)
    paths = [mutant.path for mutant in MUTANTS if downloads() or not mutant.path.startswith(JOBS)]
    kept = {path: (BUILD / path).stat().st_mtime for path in paths if (BUILD / path).exists()}
    due = [path for path in paths if any(word in path for word in words) or (not words and kept.get(path, 0) < changed)]
    with ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("spawn")) as pool:
        list(pool.map(run, due))
    rules, failed = load(), []
    for path in sorted({*kept, *due}):
        for kind, rule, violation in pickle.loads((BUILD / path).read_bytes()):
            text = brief(rules[rule], violation, COLUMNS, f"queue-conformance replay {rule} --print")
            failed.append((kind, rule, text, path.removeprefix("mutants."), violation.script))
    (ROOT / "build/messages.md").write_text(page(sorted(failed)), "utf-8")
    print(f"build/messages.md: {len(failed)} failures of {len({*kept, *due})} mutants")
