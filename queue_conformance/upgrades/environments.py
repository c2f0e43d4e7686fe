"""Environments in which a class is run: an interpreter, a virtual environment, requirements, or a commit of the author's own."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement

from queue_conformance.config.values import UsageError
from queue_conformance.upgrades.command import FORMS
from queue_conformance.upgrades.installed import LIST, Listing, link_kit, link_needed, of_the_kit

GIT = "git:"
GIVEN = ("scrapy", "queuelib")
"""What an environment must have itself; all else that the kit needs is lent to it."""


@dataclass(frozen=True)
class Checkout:
    """A commit of the author's own repository, unpacked.

    Attributes:
        commit: its whole name.
        place: the directory in it, from its top, where the command was run.
        tree: where it is unpacked.
    """

    commit: str
    place: str
    tree: Path

    @property
    def path(self) -> list[Path]:
        """What is first on the path."""
        here = self.tree / self.place
        return [here / "src", here] if (here / "src").is_dir() else [here]


@dataclass(frozen=True)
class Environment:
    """Where a class is run.

    Attributes:
        given: as it was written.
        python: its interpreter.
        listing: what is installed.
        lent: the directory with what the kit needs and this has not.
        checkout: what is first on the path, or ``None``.
    """

    given: str
    python: Path
    listing: Listing
    lent: Path
    checkout: Checkout | None = None

    def call(self, function: str, answer: Path, **asked: Any) -> Any:
        """Call a function of ``queue_conformance.upgrades.calls`` there.

        Args:
            function: its name.
            answer: a file that is not there.
            asked: what it is called with; JSON must hold it.

        Raises:
            UsageError: if it cannot be done there; the message is one line.
        """
        path = [self.lent, *(self.checkout.path if self.checkout else []), os.environ.get("PYTHONPATH", "")]
        if self.checkout:
            asked["within"] = str(self.checkout.tree)
        ended = subprocess.run(
            [self.python, "-P", "-c", "from queue_conformance.upgrades.calls import main; main()"],
            input=json.dumps({"function": function, "answer": str(answer.absolute()), "asked": asked}),
            capture_output=True,
            text=True,
            errors="replace",
            cwd=self.checkout.path[-1] if self.checkout else None,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(str(one) for one in path if str(one) not in ("", "."))},
        )
        if not answer.exists():
            raise UsageError(f"{self.given}: {_last_line(ended.stderr) or f'exit status {ended.returncode}'}")
        said = json.loads(answer.read_text("utf-8"))
        if "error" in said:
            raise UsageError(f"{self.given}: {said['error']}")
        return said["value"]


def find(given: str, scratch: Path, kept: Path) -> Environment:
    """Find an environment, or make it.

    Args:
        given: as it is written.
        scratch: a directory that is removed in the end.
        kept: the directory for what is made by installing; what is there from before is taken.

    Raises:
        UsageError: if there is none; the message is one line.
    """
    checkout = None
    if given.startswith(GIT):
        checkout, python = _unpack(given, scratch / _name(given)), Path(sys.executable)
    elif (interpreter := _interpreter(given)) is not None:
        python = interpreter
    elif _requirements(given):
        python = install(given, kept, [str(one) for one in of_the_kit() if one.name in GIVEN])
    else:
        raise UsageError(f"{given} is no environment: write {FORMS}")
    listing = _listing(given, python)
    for needed in of_the_kit():
        if needed.name in GIVEN and listing.lacks(needed):
            found = listing.by_name.get(needed.name)
            raise UsageError(
                f"{given} has {f'{needed.name} {found.version}' if found else f'no {needed.name}'}; {needed} is needed"
            )
    lent = scratch / f"{_name(given)}-lent"
    link_kit(lent)
    if listing.tag == sys.implementation.cache_tag:
        link_needed(lent, listing, GIVEN)
    elif lacks := [str(one) for one in of_the_kit() if one.name not in GIVEN and listing.lacks(one)]:
        _pip(given, python, "--target", lent, *lacks)
    return Environment(given, python, listing, lent, checkout)


def install(given: str, where: Path, also: Iterable[str] = ()) -> Path:
    """Make a virtual environment with some requirements, unless it is there, and return its interpreter.

    Args:
        given: requirements, with spaces between.
        where: the directory of such environments.
        also: what must be there, too.

    Raises:
        UsageError: if it cannot be made; the message is one line.
    """
    directory = where.absolute() / _name(given)
    python, made = directory / "bin" / "python", directory / "made"
    if not made.exists():
        shutil.rmtree(directory, ignore_errors=True)
        uv = shutil.which("uv")
        _run(
            given,
            [uv, "venv", "--quiet", "--python", sys.executable, directory] if uv else [sys.executable, "-m", "venv", directory],
        )
        _pip(given, python, *_requirements(given), *also)
        made.touch()
    return python


def _pip(given: str, python: Path, *arguments: str | Path) -> None:
    """Install something in an environment, or, with ``--target``, for it."""
    uv = shutil.which("uv")
    own: list[str | Path] = [python, "-m", "pip", "install", "--disable-pip-version-check"]
    pip = [uv, "pip", "install", "--python", python] if uv else own
    _run(given, [*pip, "--quiet", *arguments])


def _interpreter(given: str) -> Path | None:
    """Return the interpreter that is named, or that of a virtual environment, or ``None`` if neither is meant.

    Raises:
        UsageError: if there is none.
    """
    path = Path(given).expanduser()
    if path.is_dir():
        places = (path / "bin" / "python", path / "Scripts" / "python.exe")
        if not (python := next((place for place in places if place.exists()), None)):
            raise UsageError(f"{given} is no virtual environment: it has no bin/python")
        return python.absolute()
    if path.exists():
        return path.absolute()
    if re.fullmatch(r"(python|pypy)[\d.]*", given):
        if not (found := shutil.which(given)):
            raise UsageError(f"{given} is not on the path")
        return Path(found)
    if os.sep in given and "@" not in given:
        raise UsageError(f"{given} is not there")
    return None


def _requirements(given: str) -> list[str]:
    """Return requirements with spaces between; none if it is something else."""
    for parts in ([given], given.split()):
        try:
            return [str(Requirement(part)) for part in parts]
        except InvalidRequirement:
            continue
    return []


def _unpack(given: str, where: Path) -> Checkout:
    def git(*arguments: str) -> str:
        try:
            ended = subprocess.run(["git", *arguments], capture_output=True, text=True)
        except OSError as error:
            raise UsageError(f"{given}: git: {error.strerror}") from error
        if ended.returncode:
            raise UsageError(f"{given}: {_last_line(ended.stderr) or 'there is no such commit'}")
        return ended.stdout.strip()

    top, place = git("rev-parse", "--show-toplevel"), git("rev-parse", "--show-prefix")
    revision = given.removeprefix(GIT)
    commit = git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision or 'HEAD'}^{{commit}}")
    where.mkdir(parents=True)
    packed = where.with_suffix(".tar")
    git("-C", top, "archive", f"--output={packed}", commit)
    with tarfile.open(packed) as archive:
        if hasattr(tarfile, "data_filter"):  # from Python 3.11.4
            archive.extraction_filter = staticmethod(tarfile.data_filter)
        archive.extractall(where)
    return Checkout(commit, place, where)


def _listing(given: str, python: Path) -> Listing:
    try:
        ended = subprocess.run([python, "-P", "-c", LIST], capture_output=True, text=True, errors="replace")
    except OSError as error:
        raise UsageError(f"{given} is no interpreter of Python: {error.strerror}") from error
    try:
        return Listing.read(ended.stdout)
    except (ValueError, TypeError, AttributeError) as error:
        said = next(iter(ended.stderr.split("\n")), "").strip() or "it says nothing"
        raise UsageError(f"{given} is no interpreter of Python 3.11 or later: {said}") from error


def _run(given: str, command: Sequence[str | Path]) -> None:
    ended = subprocess.run(command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, env=_alone())
    if ended.returncode:
        said = [line for line in ended.stderr.splitlines() if "ResolutionImpossible" not in line]  # which says nothing else
        raise UsageError(f"{given} cannot be installed: {_last_line(chr(10).join(said)) or f'exit status {ended.returncode}'}")


def _alone() -> Mapping[str, str]:
    """Return the variables of the process but for those that lead pip to other environments."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PIP_TARGET", "PIP_PREFIX")}


def _last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")


def _name(given: str) -> str:
    """Return a name for a file that no other environment has."""
    key = hashlib.sha256(f"{given} {sys.version}".encode()).hexdigest()[:8]
    return f"{re.sub(r'[^A-Za-z0-9.]+', '-', given).strip('-.')[-40:]}-{key}"
