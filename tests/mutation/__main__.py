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
LEAST, LEAST_BY_MUST = 0.92, 0.85
"""The share of the mutants that are not equivalent which the kit must kill, module by module: by any rule, and by MUST rules."""

SURVIVED, NOT_BY_MUST = "SURVIVED", "NOT BY MUST"
OWN, KILL, DO_NOT_KILL = "; its own tests ", "kill it", "do not kill it"
"""What a report tells of a mutant."""

HEAD = f"{'module':36}mutants  equivalent  {'killed':12}  {'by MUST':12}  {'by own tests':12}  CPU s a mutant (median), of all"


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
    parser.add_argument(
        "--again", action="store_true", help="try once more what the last report calls survived, or not killed by MUST"
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
    print(HEAD, flush=True)
    failed = 0
    for name in names:
        arguments = [f"--{key}={getattr(options, key)}" for key in ("sample", "seed", "report", "line")]
        arguments += [f"--{flag}" for flag in ("again", "own", "quick") if getattr(options, flag)]
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
    assert not untouched.first, f"the module as it is fails: {untouched}"
    own = OwnTests(subject, options.copy, options.report) if options.own and subject.distribution else None
    reasons = equivalents(subject.module)
    path = options.report / f"{subject.module}.txt"
    before = told_before(path) if options.again else {}
    spent: list[float] = []
    told: list[str] = []
    with path.open("w", encoding="utf-8") as report:
        for mutant in mutants:
            if reason := next((why for was, becomes, why in reasons if _same(mutant, was, becomes)), ""):
                print(f"{mutant}\n    equivalent: {reason}\n", file=report, flush=True)
                continue
            what, _, of_own = before.get(str(mutant), "").partition(OWN)
            if not what or SURVIVED in what or NOT_BY_MUST in what:
                fate = killer.kill(mutant.source, function_around(killer.source, mutant.line))
                spent.append(fate.seconds)
                what = _told(fate)
            if own and not of_own:
                of_own = KILL if own.kills(mutant.source) else DO_NOT_KILL
            told.append(what + (OWN + of_own if of_own else ""))
            print(f"{mutant}\n    {told[-1]}\n", file=report, flush=True)
    killed = sum(SURVIVED not in what for what in told)
    by_must = sum(SURVIVED not in what and NOT_BY_MUST not in what for what in told)
    by_own = _share(sum(what.endswith(OWN + KILL) for what in told), len(told)) if told and OWN in told[0] else ""
    counted = f"{len(mutants):7}  {len(mutants) - len(told):10}"
    shares = f"{_share(killed, len(told)):12}  {_share(by_must, len(told)):12}  {by_own:12}"
    took = f"{statistics.median(spent or [0.0]):.2f}, {sum(spent):.0f} in {time.monotonic() - started:.0f} s"
    print(f"{subject.module:36}{counted}  {shares}  {took}", flush=True)
    return int(killed < LEAST * len(told) or by_must < LEAST_BY_MUST * len(told))


def told_before(report: Path) -> dict[str, str]:
    """Return what a report tells of each mutant."""
    mutants = report.read_text("utf-8").strip("\n").split("\n\n") if report.exists() else []
    return {mutant: told.strip() for mutant, _, told in (text.rpartition("\n") for text in mutants)}


def _told(fate: Fate) -> str:
    """Return what became of a mutant, as the report tells it."""
    if fate.first is None:
        told = f"{SURVIVED} {fate.trouble}"
    elif fate.must is None:
        told = f"killed by {fate.first}; {NOT_BY_MUST}"
    else:
        told = f"killed by {fate.must}" + (f"; first by {fate.first}" if fate.first != fate.must else "")
    return f"{' '.join(told.split())} ({fate.seconds:.2f} s)"


def _share(killed: int, of: int) -> str:
    return f"{killed:3} {killed / of:4.0%}" if of else "-"


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
