"""Kept stores: what a version of a class has stored, beside it, as data, what must come out, and how others read a copy of it.

A store is a directory with ``kept.json`` and, in ``closed`` and ``killed``, what the class has stored.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

from queue_conformance.engine.kept import Data, EndedElsewhere, Found, Kept, nothing_found
from queue_conformance.engine.kept_outcome import Outcome, Reading, compare, speaks
from queue_conformance.engine.recording import Recorder, describe
from queue_conformance.engine.registry import make_driver, part_of
from queue_conformance.engine.stored import stored_in
from queue_conformance.implementation import Implementation
from queue_conformance.implementation.capabilities import parse_claims
from queue_conformance.implementation.loading import LoadError, dotted, path_of
from queue_conformance.implementation.signatures import as_arguments
from queue_conformance.processes.files import text_of
from queue_conformance.processes.isolation import Watchdog
from queue_conformance.specification.kinds import Kind, all_kinds, kind_named

FORMAT = 1
FILE = "kept.json"
CLOSED, KILLED = "closed", "killed"

FROM = "QUEUE_CONFORMANCE_FROM"
"""The variable of the environment that says from where the paths in scripts lead, if these run elsewhere."""


@dataclass(frozen=True)
class KeptStore:
    """What a version of a class has kept.

    Attributes:
        directory: where it is.
        told: what reports call that.
        name: what reports called it: that of a project, of whole crawls; else often the path.
        path: the dotted path of the class.
        kind: what that is.
        option: the option that names it, without dashes.
        settings: what it was built with.
        claims: what was claimed of it.
        written: the releases that wrote it, in words.
        ordered: whether what waits has an order.
        asks: the requests that readers make, as data.
        stores: what must come out of each part, by how that ended: ``closed`` or ``killed``.
    """

    directory: Path
    told: str
    name: str
    path: str
    kind: Kind
    option: str
    settings: Mapping[str, Any]
    claims: Mapping[str, str]
    written: str
    ordered: bool
    asks: Mapping[str, Sequence[Data]]
    stores: Mapping[str, Found]


@dataclass(frozen=True)
class Part:
    """A part of a kept store: what was left by a close, or by a kill."""

    store: KeptStore
    how: str

    @property
    def name(self) -> str:
        """What reports call it, whatever comes before its directory."""
        return f"{self.store.directory.name}/{self.how}"

    @property
    def origin(self) -> str:
        """Where it is, and the first release that wrote it."""
        return f"{self.store.told} ({self.store.written.partition(', ')[0]})"


@dataclass(frozen=True, repr=False)
class Became:
    """What became of a part of a kept store.

    Attributes:
        outcome: that in a word.
        detail: what there is to say of it, or ``""``.
    """

    outcome: Outcome
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.outcome}{self.detail and f': {self.detail}'}"

    __repr__ = __str__

    @property
    def harm(self) -> str:
        """What became of it, where a crawl goes on with something else than was kept, or breaks; else ``""``."""
        return str(self) if self.outcome.harms else ""

    @property
    def refusal(self) -> str:
        """What became of it, where it was refused in words; else ``""``."""
        return str(self) if self.outcome is Outcome.REFUSES else ""


def load(directory: Path) -> KeptStore:
    """Read what a store says of itself.

    Raises:
        LoadError: if it is none, or not whole; the message is one line.
    """
    try:
        kept = json.loads(text_of(directory / FILE))
        format_ = kept["format"]
        store = KeptStore(
            directory.absolute(),
            below if not (below := os.path.relpath(directory)).startswith("..") else str(directory.absolute()),
            str(kept.get("name", kept["class"])),
            dotted(kept["class"]),
            kind_named(kept["kind"]),
            str(kept["option"]),
            dict(kept["settings"]),
            parse_claims([f"{name}={value}" for name, value in kept.get("claims", {}).items()], all_kinds()),
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


def parts_of(stores: Iterable[KeptStore]) -> Iterator[Part]:
    """Yield the parts of some stores."""
    return (Part(store, how) for store in stores for how in store.stores)


def kept_by(implementation: Implementation, directory: Path, go_on: Callable[[], object] = lambda: None) -> Kept:
    """Return what stores in a directory, and reads what is stored there; ``go_on`` is called before each operation."""
    driver = make_driver(implementation, directory, Recorder(Watchdog()))
    driver.vary(driver.fields)
    found: Kept = part_of(implementation.kind, "kept").Kept(driver, go_on)
    return found


def read(
    implementation: Implementation,
    stored: Path,
    asks: Mapping[str, Sequence[Data]],
    directory: Path,
    go_on: Callable[[], object] = lambda: None,
) -> Reading:
    """Let a class read a copy of what is stored, here and now.

    Args:
        stored: where that is; it is not changed.
        asks: the requests to make, as data.
        directory: where the copy comes.
        go_on: called before each operation.
    """
    shutil.copytree(stored, directory, symlinks=True, dirs_exist_ok=True)
    before, found = stored_in(directory), nothing_found()
    kept = kept_by(implementation, directory, go_on)
    try:
        kept.open()
        kept.read(asks, found)
        return Reading(found)
    except Exception as raised:
        error = getattr(raised, "error", raised)  # what the driver was told
        after = stored_in(directory)
        changed = any(after.get(name) != content for name, content in before.items())
        said = error.said if isinstance(error, EndedElsewhere) else f"{type(error).__name__}: {error}"
        return Reading(found, " ".join(said.split()), not speaks(error, kept.packages(), before), changed)
    finally:
        with suppress(Exception):  # which may not even be open
            kept.close()


def as_written(kind: Kind) -> bool:
    """Whether what reads is built as it was for writing, and not as its author builds it now."""
    return bool(part_of(kind, "kept").Kept.as_written)


def became_of(part: Part, implementation: Implementation, directory: Path, go_on: Callable[[], object] = lambda: None) -> Became:
    """Let a class read a copy of a part of a store.

    Args:
        directory: where the copy comes.
        go_on: called before each operation.
    """
    store = part.store
    if as_written(store.kind):
        settings = store.settings if store.kind.crawled else as_arguments(implementation.cls, store.settings)
        implementation = replace(implementation, settings=settings, factory=None, prepare=None)
    reading = read(implementation, store.directory / part.how, store.asks, directory, go_on)
    return Became(*outcome(store, part.how, reading))


def outcome(store: KeptStore, how: str, reading: Reading) -> tuple[Outcome, str]:
    """Tell what became of a part of a store, and what there is to say of it."""
    waited = store.stores.get(CLOSED, nothing_found())["pending"]  # after a kill, another version may find more of it
    return compare(store.stores[how], reading, store.ordered, waited)


def read_kept(cls: type[Any], directory: str, how: str, settings: Mapping[str, Any] = MappingProxyType({})) -> Became:
    """Let a class read a copy of a part of a store, for scripts."""
    store = load(Path(os.environ.get(FROM, ""), directory))
    implementation = Implementation(path_of(cls), cls, store.kind, store.kind.profile, settings)
    with TemporaryDirectory() as scratch:
        return became_of(Part(store, how), implementation, Path(scratch))
