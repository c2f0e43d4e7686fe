"""Mutate what the kit tests, and see whether the kit notices; ``make mutation`` runs this, README.md says how to read it."""

from __future__ import annotations

import argparse
import fnmatch
import importlib.util
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

from changes import Mutant, function_around, mutants_of
from killer import Fate, Killer
from own import OwnTests
from subjects import SUBJECTS, Subject

HERE = Path(__file__).parent
LEAST = 0.92
"""The share of the mutants that are not equivalent which the kit must kill, module by module."""


def main() -> int:
    """Mutate the chosen modules, each in a process of its own; return 1 if too many mutants of one survive."""
    parser = argparse.ArgumentParser(prog="mutation", description=__doc__)
    parser.add_argument("modules", nargs="*", help="modules, or patterns such as queuelib.*; all without one")
    parser.add_argument("--sample", type=int, default=40, help="mutants of each module; 0 for all")
    parser.add_argument("--seed", type=int, default=0, help="chooses them")
    parser.add_argument("--report", type=Path, default=Path("build/mutation"), help="where survivors are written")
    parser.add_argument("--line", type=int, default=0, help="only mutants of this line")
    parser.add_argument(
        "--quick", action="store_true", help="leave out machines, crashes, full disks and jobs, which kill little"
    )
    parser.add_argument("--own", action="store_true", help="run the tests of the libraries themselves on the same mutants, too")
    parser.add_argument("--copy", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    names = [name for name in SUBJECTS if any(fnmatch.fnmatch(name, pattern) for pattern in options.modules or ["*"])]
    if not names:
        parser.error(f"no such module: {' '.join(options.modules)}; there are {' '.join(SUBJECTS)}")
    options.report.mkdir(parents=True, exist_ok=True)
    if options.copy:
        return examine(SUBJECTS[names[0]], options)
    print(f"{'module':36} killed  of  equivalent  survived  CPU s a mutant (median)", flush=True)
    failed = 0
    for name in names:
        arguments = [f"--{key}={getattr(options, key)}" for key in ("sample", "seed", "report", "line")]
        arguments += [f"--{flag}" for flag in ("own", "quick") if getattr(options, flag)]
        with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as directory:
            copy = Path(directory, "copy")
            command = [sys.executable, str(HERE), name, f"--copy={copy}", *arguments]
            failed |= subprocess.run(command, env=copied(SUBJECTS[name], copy), check=False).returncode
    return failed


def copied(subject: Subject, directory: Path) -> dict[str, str]:
    """Copy the package of a module into a directory, and return an environment in which the copy is imported."""
    spec = importlib.util.find_spec(subject.package)
    assert spec is not None
    assert spec.origin is not None
    package = Path(spec.origin).parent
    shutil.copytree(package, directory / package.name, ignore=shutil.ignore_patterns("tests"))
    path = [str(directory), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path)), "PYTHONDONTWRITEBYTECODE": "1"}


def examine(subject: Subject, options: argparse.Namespace) -> int:
    """Mutate one module; return 1 if too many mutants survive."""
    killer = Killer(subject, options.copy, thorough=not options.quick)
    killer.learn()
    started = time.monotonic()
    mutants = mutants_of(killer.source, 0 if options.line else options.sample, options.seed)
    mutants = [mutant for mutant in mutants if options.line in (0, mutant.line)]
    untouched = killer.kill(killer.source, 0)
    assert not untouched.by, f"the module as it is fails: {untouched}"
    own = OwnTests(subject, options.copy, options.report) if options.own and subject.distribution else None
    reasons = equivalents(subject.module)
    fates: list[tuple[Mutant, Fate, str]] = []
    theirs: list[tuple[bool, float]] = []
    with (options.report / f"{subject.module}.txt").open("w", encoding="utf-8") as report:
        for mutant in mutants:
            reason = next((why for was, becomes, why in reasons if _same(mutant, was, becomes)), "")
            fate = Fate("") if reason else killer.kill(mutant.source, function_around(killer.source, mutant.line))
            fates.append((mutant, fate, reason))
            what = (
                f"equivalent: {reason}" if reason else f"killed by {fate.by}: {fate.how}" if fate.by else f"SURVIVED {fate.how}"
            )
            said = ""
            if own and not reason:
                theirs.append(own.kills(mutant.source))
                said = "; its own tests kill it" if theirs[-1][0] else "; its own tests do not kill it"
            print(f"{mutant}\n    {what} ({fate.seconds:.2f} s){said}\n", file=report, flush=True)
    equal = [mutant for mutant, _, reason in fates if reason]
    tried = [(mutant, fate) for mutant, fate, reason in fates if not reason]
    survivors = [mutant for mutant, fate in tried if not fate.by]
    share = 1 - len(survivors) / len(tried) if tried else 1.0
    median = statistics.median(fate.seconds for _, fate in tried) if tried else 0.0
    numbers = f"{len(tried) - len(survivors):6} {len(tried):3} {len(equal):11} {len(survivors):9} {median:8.2f}"
    total = sum(fate.seconds for _, fate in tried)
    beside = ""
    if theirs:
        beside = f"; own tests: {sum(killed for killed, _ in theirs)}, {statistics.median(spent for _, spent in theirs):.2f} s"
    took = f"{total:.0f} s CPU, {time.monotonic() - started:.0f} s"
    print(f"{subject.module:36} {numbers}   {share:.0%}  {took}{beside}", flush=True)
    return int(share < LEAST)


def equivalents(module: str) -> list[tuple[str, str, str]]:
    """Return the mutants of a module that are equivalent: a line, what becomes of it, and why; patterns, both."""
    table = tomllib.loads((HERE / "equivalents.toml").read_text("utf-8")).get(module, [])
    return [(entry["was"], becomes, entry["why"]) for entry in table for becomes in _listed(entry["becomes"])]


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def _same(mutant: Mutant, was: str, becomes: str) -> bool:
    return all(
        re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text)
        for pattern, text in ((was, mutant.was), (becomes, mutant.becomes))
    )


if __name__ == "__main__":
    sys.exit(main())
