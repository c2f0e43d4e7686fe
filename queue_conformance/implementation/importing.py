"""Why something cannot be imported here, and what to install."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import sys
import traceback
from contextlib import suppress
from pathlib import Path

from packaging.requirements import Requirement


def remedy(error: BaseException, package: str) -> str:
    """Return what to do where importing something raised, in a few words, or ``""`` where nothing is known to help.

    Args:
        error: what it raised.
        package: the top-level package of the class that is tested.
    """
    if not isinstance(error, ImportError) or not error.name:
        return ""  # who raises one by hand says what to do
    top = error.name.partition(".")[0]
    if top == package:
        return ""
    if _is_beside(error, top):
        return f"{top} lies beside the module that imports it, which Python 2 found there: write from . import {top}"
    if top in sys.stdlib_module_names:
        version = ".".join(map(str, sys.version_info[:2]))
        return f"Python {version} has no such thing: take a release that was written for it"
    if installed := _installed(top):
        return f"{installed} has no such thing: take releases that go together"
    return f"install {_required(package, top) or top}"


def _is_beside(error: ImportError, top: str) -> bool:
    """Whether what is missing is a module in the directory of the one that imports it."""
    frames = traceback.extract_tb(error.__traceback__)
    directory = Path(frames[-1].filename).parent if frames else Path()
    return (directory / "__init__.py").is_file() and any((directory / name).exists() for name in (f"{top}.py", top))


def _installed(top: str) -> str:
    """Return the distribution that a package belongs to and its version, its own name where none is known, or ``""``."""
    with suppress(ImportError, ValueError, AttributeError):
        if top not in sys.modules and importlib.util.find_spec(top) is None:
            return ""
        for name in importlib.metadata.packages_distributions().get(top, ()):
            return f"{name} {importlib.metadata.version(name)}"
        return top
    return ""


def _required(package: str, top: str) -> str:
    """Return the distribution that has a module, if that of the class requires it and it is not installed, or ``""``.

    It need not be called after the module: where it is the only one that is missing, it is the one.
    """
    missing = []
    for name in importlib.metadata.packages_distributions().get(package, ())[:1]:
        for text in importlib.metadata.requires(name) or ():
            wanted = Requirement(text)
            if wanted.marker is None or wanted.marker.evaluate({"extra": ""}):
                try:
                    importlib.metadata.version(wanted.name)
                except importlib.metadata.PackageNotFoundError:
                    missing.append(wanted.name)
    alike = [name for name in missing if name.lower().replace("-", "_") == top.lower()]
    return (alike or (missing if len(missing) == 1 else [""]))[0]
