"""The tests of the libraries themselves on the same mutants, from their source distributions."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import subprocess
import sys
import tarfile
import time
from pathlib import Path

from subjects import Subject

NEEDS = ("pytest", "pytest-asyncio", "pytest-cov", "pytest-twisted", "redis", "sybil", "testfixtures")
"""What the tests of the libraries import, in an environment of their own."""


_OPTIONS = {
    "scrapy": ("-p", "no:asyncio"),
    "queuelib": ("-c", os.devnull, "-p", "no:twisted"),
    "qcrawl": ("-p", "no:twisted", "--no-cov"),
}
"""What each of them needs to run beside the plugins of the others."""


class OwnTests:
    """The own tests of a module.

    Args:
        subject: the module.
        copy: the directory with the copy of its package that is mutated.
        place: where source distributions and an environment for their tests are kept.
    """

    def __init__(self, subject: Subject, copy: Path, place: Path) -> None:
        place = place.resolve()
        self._file = copy.joinpath(*subject.module.split(".")).with_suffix(".py")
        self._python = _environment(place / "environment")
        self._root = copy.parent / "own"
        self._environment = {**os.environ, "PYTHONPATH": str(copy)}
        self._tests = subject.tests
        sources = _sources(subject.distribution, place)
        self._options = _OPTIONS[subject.package]
        if subject.package == "queuelib":  # its tests are a part of the package
            shutil.copytree(sources / "queuelib" / "tests", copy / "queuelib" / "tests")
            self._root = copy
        else:
            shutil.copytree(sources, self._root, ignore=lambda _, names: [subject.package] if subject.package in names else [])
        self._limit = 600.0
        start = time.monotonic()
        self.kills("")
        self._limit = 60 + 5 * (time.monotonic() - start)  # a machine that is busy is so with mutants, too

    def kills(self, source: str) -> bool:
        """Run the tests on a mutant, or on the module as it is.

        Args:
            source: the text of the module, or ``""`` for it as it is.

        Returns:
            Whether a test fails.

        Raises:
            RuntimeError: if one fails on the module as it is.
        """
        original = self._file.read_text("utf-8")
        if source:
            self._file.write_text(source, "utf-8")
        try:
            ended = subprocess.run(
                [self._python, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *self._options, *self._tests],
                cwd=self._root,
                env=self._environment,
                capture_output=True,
                text=True,
                timeout=self._limit,
                check=False,
            )
            failed, said = ended.returncode != 0, ended.stdout + ended.stderr
        except subprocess.TimeoutExpired:
            failed, said = True, "a time-out"
        finally:
            self._file.write_text(original, "utf-8")
        if failed and not source:
            raise RuntimeError(f"the own tests fail on the module as it is: {said[-2000:]}")
        return failed


def _environment(place: Path) -> str:
    """Return the interpreter of an environment in which the tests of the libraries run."""
    python = place / "bin" / "python"
    if not (place / ".installed").exists():
        same = [f"{name}=={importlib.metadata.version(name)}" for name in ("scrapy", "queuelib", "qcrawl")]
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *same, *NEEDS], check=True)
        (place / ".installed").touch()
    return str(python)


def _sources(distribution: str, place: Path) -> Path:
    """Return the directory of the source distribution of what is installed."""
    name = f"{distribution}-{importlib.metadata.version(distribution)}"
    if not (place / name).is_dir():
        # Only this one from its sources: what it is built with may be a wheel.
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", distribution, "--dest", str(place)]
        subprocess.run([*pip, name.replace("-", "==")], check=True)
        with tarfile.open(place / f"{name}.tar.gz") as archive:
            archive.extractall(place, filter="data")
    return place / name
