"""Kept stores: what a version of a class has stored, beside it, as data, what must come out, and how others read a copy of it.

A store is a directory with ``kept.json`` and, in ``closed`` and ``killed``, what the class has stored.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from queue_conformance.discovery import Implementation
from queue_conformance.discovery.loading import LoadError, dotted
from queue_conformance.engine.kept import Data, Found, Kept, nothing_found
from queue_conformance.engine.kept_outcome import Reading, speaks
from queue_conformance.engine.recording import Recorder, describe
from queue_conformance.engine.registry import make_driver, part_of
from queue_conformance.processes.isolation import Watchdog
from queue_conformance.specification.kinds import Kind, kind_named

FORMAT = 1
FILE = "kept.json"
CLOSED, KILLED = "closed", "killed"


@dataclass(frozen=True)
class KeptStore:
    """What a version of a class has kept.

    Attributes:
        directory: where it is.
        path: the dotted path of the class.
        kind: what that is.
        option: the option that names it, without dashes.
        settings: what it was built with.
        written: the releases that wrote it, in words.
        ordered: whether what waits has an order.
        asks: the requests that readers make, as data.
        stores: what must come out of each part, by how that ended: ``closed`` or ``killed``.
    """

    directory: Path
    path: str
    kind: Kind
    option: str
    settings: Mapping[str, Any]
    written: str
    ordered: bool
    asks: Mapping[str, Sequence[Data]]
    stores: Mapping[str, Found]


def load(directory: Path) -> KeptStore:
    """Read what a store says of itself.

    Raises:
        LoadError: if it is none, or not whole; the message is one line.
    """
    try:
        kept = json.loads((directory / FILE).read_text("utf-8"))
        format_ = kept["format"]
        store = KeptStore(
            directory.absolute(),
            dotted(kept["class"]),
            kind_named(kept["kind"]),
            str(kept["option"]),
            dict(kept["settings"]),
            ", ".join(f"{name} {release}" for name, release in kept["written"].items()),
            bool(kept["ordered"]),
            _lists(kept["asks"], kept["asks"]),
            {how: _lists(kept["stores"][how], nothing_found()) for how in (CLOSED, KILLED) if how in kept["stores"]},
        )
    except OSError as error:
        raise LoadError(f"{directory} is no kept store: {FILE}: {error.strerror}") from error
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise LoadError(f"{directory} is no kept store: {FILE} is damaged ({describe(error, 80)}); write it anew") from error
    if format_ != FORMAT:
        raise LoadError(f"{directory} is of format {format_!r}, and this release reads {FORMAT}; upgrade the kit")
    if not store.stores:
        raise LoadError(f"{directory} keeps nothing, neither {CLOSED} nor {KILLED}; write it anew")
    for how in store.stores:
        if not (directory / how).is_dir():
            raise LoadError(f"{directory} is not whole: {how} is missing; is it in version control, with all files?")
    return store


def _lists(told: Mapping[str, Any], names: Iterable[str]) -> dict[str, list[Data]]:
    """Return lists of data by these names; it raises where they are none."""
    return {name: [dict(one) for one in told[name]] for name in names}


def kept_by(implementation: Implementation, directory: Path) -> Kept:
    """Return what stores in a directory, and reads what is stored there."""
    driver = make_driver(implementation, directory, Recorder(Watchdog()))
    driver.vary(driver.fields)
    found: Kept = part_of(implementation.kind, "kept").Kept(driver)
    return found


def read(implementation: Implementation, stored: Path, asks: Mapping[str, Sequence[Data]], directory: Path) -> Reading:
    """Let a class read a copy of what is stored, here and now.

    Args:
        stored: where that is; it is not changed.
        asks: the requests to make, as data.
        directory: where the copy comes.
    """
    shutil.copytree(stored, directory, symlinks=True, dirs_exist_ok=True)
    before, found = _contents(directory), nothing_found()
    kept = kept_by(implementation, directory)
    try:
        kept.open()
        kept.read(asks, found)
    except Exception as raised:
        error = getattr(raised, "error", raised)  # what the driver was told
        after = _contents(directory)
        changed = any(after.get(name) != content for name, content in before.items())
        said = " ".join(str(error).split())
        told = speaks(error, implementation.cls, before)
        return Reading(found, f"{type(error).__name__}: {said}", not told, changed)
    return Reading(found)


def _contents(directory: Path) -> dict[str, str]:
    return {
        str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in directory.rglob("*")
        if path.is_file()
    }
