"""Test releases of libraries, each in an environment of its own: ``python build.py [PATTERN...]``, such as ``scrapy-2.1*``.

``--only="scrapy.pqueues.*"`` tests these classes alone: their verdicts get a date of their own, and those of the others stay.

What came of each is condensed to ``verdicts/LIBRARY-RELEASE.json``; what shows that a rule failed in one release and passed in
the next or the one before is kept in ``scripts.json``. Which releases of Scrapy make an engine with which ones of Twisted is
kept in ``queue_conformance/specification/twisted.json``, by which the kit advises. Environments and reports stay in
``build/releases``.
"""

from __future__ import annotations

import argparse
import json
import os
import runpy
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent.parent
sys.path.insert(0, str(DOCS))

from parts.releases import SCRIPTS, TABLE, changes, file_of  # noqa: E402 - found by the path above

from queue_conformance.reports import jsonl  # noqa: E402

MATRIX = DOCS / "matrix"
BUILD = DOCS.parent / "build" / "releases"
TWISTED = ("24.11.0", "25.5.0", "26.4.0", "26.10.0")
"""The releases of Twisted with which each one of Scrapy is tried; the oldest first."""

PAIRS = DOCS.parent / "queue_conformance" / "specification" / "twisted.json"

ENGINE = """
from queue_conformance.environments import engine
from scrapy import Spider
from scrapy.utils.test import get_crawler

engine.start_reactor()
crawler = get_crawler(Spider)
crawler.spider = Spider.from_crawler(crawler, "example")
engine.give_engine(crawler)
crawler.engine.downloader
"""
"""What fails with a Twisted that Scrapy does not work with."""

CONDENSE = runpy.run_path(str(MATRIX / "condense.py"))


def names_of(library: str) -> list[str]:
    """Return the implementations of a library that the matrix knows."""
    table = tomllib.loads((MATRIX / "pyproject.toml").read_text("utf-8"))
    names = table["tool"]["queue_conformance"]["implementations"]
    return [name for name in names if name.startswith(f"{library.replace('-', '_')}.")]


def environment(name: str, requirements: Sequence[str]) -> Path:
    """Make an environment with some requirements and the kit, unless it is there, and return its interpreter."""
    directory = BUILD / name
    python = directory / "bin" / "python"
    if not (directory / "made").exists():
        shutil.rmtree(directory, ignore_errors=True)
        if uv := shutil.which("uv"):
            subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, directory], check=True)
            install = [uv, "pip", "install", "--quiet", "--python", str(python)]
        else:
            subprocess.run([sys.executable, "-m", "venv", directory], check=True)
            install = [str(python), "-m", "pip", "install", "--quiet"]
        subprocess.run([*install, *requirements, "--editable", f"{DOCS.parent}[redis]"], check=True)
        (directory / "made").touch()
    return python


def tested(library: str, release: str, others: Sequence[str], names: Sequence[str], whole: bool) -> None:
    """Test a release, and keep its report and its verdicts.

    Args:
        others: what is installed beside it.
        names: its implementations to test.
        whole: whether these are all, and what is kept of others goes.

    Raises:
        SystemExit: if nothing of it could be tested.
    """
    name = f"{library}-{release}"
    python = environment(name, [f"{library}=={release}", *others])
    report = BUILD / f"{name}.jsonl"
    report.unlink(missing_ok=True)
    command = [python, "-m", "pytest", "-c", MATRIX / "pyproject.toml", "-p", "no:cacheprovider", "-q", "--tb=no"]
    only = [f"--conformance-only={one}" for one in names]
    subprocess.run([*command, *only, f"--conformance-report={report}", MATRIX], cwd=DOCS.parent, stdout=subprocess.DEVNULL)
    found = jsonl.read(report)
    if not found.implementations:
        sys.exit(f"{name}: {'; '.join(found.errors)}")
    condensed, kept = CONDENSE["condense"](found), file_of(library, release)
    kept.parent.mkdir(exist_ok=True)
    kept.write_text(CONDENSE["render"](condensed if whole else put_into(json.loads(kept.read_text("utf-8")), condensed)), "utf-8")


def put_into(known: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """Return what is known of a release, with what was found of some implementations now in the place of theirs."""
    anew = {one["name"]: {**one, "created": found["created"]} for one in found["implementations"]}
    return {**known, "implementations": [anew.get(one["name"], one) for one in known["implementations"]]}


def pair(release: str, twisted: str) -> bool:
    """Tell whether a release of Scrapy makes an engine with one of Twisted."""
    python = environment(f"scrapy-{release}-twisted-{twisted}", [f"scrapy=={release}", f"twisted=={twisted}"])
    return subprocess.run([python, "-c", ENGINE], stderr=subprocess.DEVNULL).returncode == 0


def write_pairs(pairs: Mapping[str, Mapping[str, bool]]) -> None:
    """Keep which releases of Scrapy work with which ones of Twisted: those that were tried now, and the others as they were."""
    known = {**json.loads(PAIRS.read_text("utf-8")), **pairs}
    lines = (f" {json.dumps(release)}: {json.dumps(known[release])}" for release in TABLE["scrapy"] if release in known)
    PAIRS.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


def scripts() -> dict[str, str]:
    """Return what shows each change, by the key of the change; what was not tested now is kept as it was."""
    known: dict[str, str] = json.loads(SCRIPTS.read_text("utf-8")) if SCRIPTS.exists() else {}
    shown = {}
    for change in changes():
        report = BUILD / f"{change.library}-{change.failed}.jsonl"
        tested = jsonl.read(report).implementations if report.exists() else ()
        verdicts = [verdict for one in tested if one.name == change.implementation for verdict in one.verdicts]
        if verdicts:
            (verdict,) = [one for one in verdicts if one.rule.id == change.rule]
            shown[change.key] = verdict.violation.script if verdict.violation else ""
        elif change.key in known:
            shown[change.key] = known[change.key]
    return shown


def main(patterns: Sequence[str], only: str = "*") -> None:
    """Test the releases whose names fit one of some patterns, or all; of each the implementations that fit another pattern."""
    os.environ.pop("PYTEST_ADDOPTS", None)
    pairs: dict[str, dict[str, bool]] = {}
    for library, releases in TABLE.items():
        names = [name for name in names_of(library) if fnmatch(name, only)]
        for release, others in releases.items():
            if names and (not patterns or any(fnmatch(f"{library}-{release}", pattern) for pattern in patterns)):
                print(f"{library} {release}", flush=True)
                tested(library, release, others, names, whole=only == "*")
                if library == "scrapy" and only == "*":
                    pairs[release] = {twisted: pair(release, twisted) for twisted in TWISTED}
    if pairs:
        write_pairs(pairs)
    SCRIPTS.write_text(f"{json.dumps(scripts(), indent=0)}\n", "utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("patterns", nargs="*", help="releases, such as scrapy-2.1*; all without one")
    parser.add_argument("--only", default="*", help="implementations, such as scrapy.pqueues.*")
    given = parser.parse_args()
    main(given.patterns, given.only)
