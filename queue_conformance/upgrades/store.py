"""Kept stores: written with the version of today, closed and killed, and read by later ones, always in a copy.

What must come out is what the version that wrote it finds in a copy itself, so that no later one is asked for what that one could
not give.
"""

from __future__ import annotations

import json
import platform
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from queue_conformance import __version__
from queue_conformance.config.options import CRAWL_OPTION, DESCRIBING
from queue_conformance.config.project import read_project
from queue_conformance.config.targets import CRAWL, Common, Target, same_project
from queue_conformance.config.values import UsageError
from queue_conformance.discovery.record import Discovery
from queue_conformance.discovery.stages import discover
from queue_conformance.engine import kept_store
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.kept import Data, nothing_found
from queue_conformance.engine.kept_outcome import Outcome, Reading
from queue_conformance.engine.kept_store import CLOSED, FILE, FORMAT, KILLED, KeptStore, kept_by
from queue_conformance.engine.registry import has_part, part_of
from queue_conformance.implementation.loading import LoadError
from queue_conformance.processes.endings import Abort
from queue_conformance.processes.isolation import Answer
from queue_conformance.processes.trees import temporary_directory
from queue_conformance.running.contexts import RunConfig, in_context
from queue_conformance.secrets.values import secrets_in
from queue_conformance.specification.applicability import installed_releases

T = TypeVar("T")

FILES_ONLY = "only what is stored in files can be kept"


@dataclass(frozen=True)
class Part:
    """What a version makes of one part of a kept store.

    Attributes:
        name: the class.
        how: whether it was closed or killed.
        written: with which releases, in words.
        outcome: what became of it.
        detail: what there is to say of that, or ``""``.
    """

    name: str
    how: str
    written: str
    outcome: Outcome
    detail: str


def keep(target: Target, directory: Path, config: RunConfig) -> list[str]:
    """Write what a class stores, and what must come out of it.

    Args:
        target: the class.
        directory: where to; it must be empty, or not be there.
        config: how the class is run.

    Returns:
        What was not kept, and why.

    Raises:
        UsageError: if there is nothing to keep, or the class cannot read it itself.
        LoadError: if the class cannot be used.
    """
    crawls = target.claims.get("kind") == CRAWL
    settings = {} if crawls else dict(target.settings)  # a project has its own, in each version
    secret = next((name for name, value in settings.items() if any(secrets_in(name, value))), None)
    if secret:
        raise UsageError(f"--queue-setting={secret} is a secret, and {FILE} is for a repository; give one that is none")
    if directory.exists() and any(directory.iterdir()):
        raise UsageError(f"{directory} is not empty; each version is kept in a directory of its own")
    discovery = _known(target, config)
    if "persistent" not in discovery.found.names:
        raise UsageError(f"{target.name} stores nothing that outlives it")
    if discovery.server:
        raise UsageError(f"{target.name} stores in a server; {FILES_ONLY}")
    kind = part_of(discovery.kind, "kept").Kept
    notes: list[str] = []
    stores: dict[str, Data] = {}
    with temporary_directory(config.directory) as scratch:
        for how in (CLOSED, KILLED):
            ended = _in_context(discovery, config, partial(_write, scratch / how, how == KILLED))
            if isinstance(ended, Abort):
                raise UsageError(f"{target.name} cannot be kept: it {ended.how}; test it first")
            reading = _read(discovery, scratch / how, kind.asks, config)
            why = _own(reading, kind.pending, len(kind.asks.get("seen", ())), how)
            if why and how == CLOSED:
                raise UsageError(f"{target.name} cannot read what it stores itself: {why}; test it first")
            if why:
                notes.append(f"what is left by a kill, as this version cannot read that itself: {why}")
            else:
                stores[how] = reading.found
        for how in stores:
            shutil.copytree(scratch / how, directory / how, symlinks=True)
    kept = {
        "format": FORMAT,
        "name": target.name,
        "class": target.path,
        "kind": discovery.kind,
        "option": target.option,
        "settings": settings,
        "claims": {} if crawls else dict(target.claims),
        "written": _releases(discovery.version),
        "ordered": not {"fifo", "lifo"}.isdisjoint(discovery.found.names),
        "asks": dict(kind.asks),
        "stores": stores,
    }
    (directory / FILE).write_text(json.dumps(kept, indent=1, ensure_ascii=True) + "\n", "utf-8")
    return notes


def read(directory: Path, config: RunConfig) -> Iterator[Part]:
    """Ask the installed version for what an earlier one has kept.

    Args:
        directory: the kept store, which is not changed.
        config: how the class is run.

    Yields:
        What became of each part.

    Raises:
        LoadError: if it is no kept store, or the class cannot be used.
    """
    store = kept_store.load(directory)
    for target in _readers(store):
        discovery = _known(target, config)
        for how in store.stores:
            reading = _read(discovery, store.directory / how, store.asks, config)
            yield Part(target.name, how, store.written, *kept_store.outcome(store, how, reading))


def found(target: Target) -> Target:
    """Return what is named: a class, or whole crawls with the project around the working directory, which have a job.

    Args:
        target: of a project, its path is the spider whose settings they have, or ``""`` where all have the same.

    Raises:
        UsageError: if there is no such project, or its spiders crawl with different settings; the message is one line.
    """
    if target.option != CRAWL_OPTION:
        return target
    found, spider = _crawls(target.settings), target.path
    chosen = [one for one in found if not spider or spider in one.name.partition(":")[2].split(",")] if len(found) > 1 else found
    if len(chosen) != 1:
        spiders = ", ".join(one.name.partition(":")[2] for one in found)
        raise UsageError(f"the spiders of this project crawl with different settings: name one by --spider, of {spiders}")
    return chosen[0]


def _crawls(settings: Mapping[str, Any]) -> list[Target]:
    common = Common({"JOBDIR": "job", **settings}, on_command_line=frozenset({DESCRIBING["settings"]}))
    return [target for target in read_project(common) if target.claims.get("kind") == CRAWL]


def _readers(store: KeptStore) -> list[Target]:
    """Return what is asked for a store: the class that wrote it, or crawls with the project as it is now.

    Raises:
        UsageError: if there are none; the message is one line.
    """
    if store.kind != CRAWL:
        return [Target(store.path, store.option, store.path, store.settings, store.claims)]
    found = [target for target in _crawls({}) if same_project(store.name, target.name)]
    if not found:
        raise UsageError(f"{store.told} was written by crawls with {store.name}, and this is another project")
    return found


def _known(target: Target, config: RunConfig) -> Discovery:
    discovery = discover(target.path, target.settings, target.claims, config, target.option)
    if not discovery.usable:
        raise LoadError(f"{target.path} cannot be used: {discovery.unusable}; test it first")
    if not has_part(discovery.kind, "kept"):
        raise UsageError(f"{target.path} is {discovery.kind.one}, which cannot be kept yet")
    return discovery


def _releases(version: str) -> dict[str, str]:
    """Return the releases that write: of the package of the class, of libraries, of Python and of the kit."""
    name, _, release = version.rpartition(" ")
    own = {name: release} if name and name.lower() not in installed_releases() else {}
    return {**own, **installed_releases(), "Python": platform.python_version(), "pytest-queue-conformance": __version__}


def _in_context(discovery: Discovery, config: RunConfig, function: Callable[[CheckContext], T]) -> Answer[T] | Abort:
    """Call a function as a check is run.

    Raises:
        LoadError: if the class reached for what is not the kit's; the message says what.
    """
    ended = in_context(discovery.implementation(), config, function)
    if config.guard and (line := config.guard.refused(discovery.path, discovery.settings)):
        raise LoadError(line)
    return ended


def _write(where: Path, killed: bool, context: CheckContext) -> None:
    """Store, close or be killed, and copy the directory."""
    directory: Path = context.driver.directory
    kept = kept_by(context.implementation, directory)
    if not killed:
        kept.open()
        kept.write()
        kept.close()
    else:
        kept.be_killed()
    shutil.copytree(directory, where, symlinks=True)


def _read(discovery: Discovery, where: Path, asks: Mapping[str, Sequence[Data]], config: RunConfig) -> Reading:
    """Read a copy of what was stored."""
    ended = _in_context(discovery, config, partial(_reading, where.absolute(), asks))
    return Reading(nothing_found(), ended=ended.how) if isinstance(ended, Abort) else ended.value


def _reading(where: Path, asks: Mapping[str, Sequence[Data]], context: CheckContext) -> Reading:
    return kept_store.read(context.implementation, where, asks, context.driver.directory)


def _own(reading: Reading, pending: int, seen: int, how: str) -> str:
    """Say why a version cannot read what it has stored itself, or ``""``."""
    if reading.ended or reading.error:
        return reading.ended or reading.error
    found, again = len(reading.found["pending"]), len(reading.found["again"])
    if found < (pending if how == CLOSED else min(pending, 1)):
        return f"{found} of {pending} that wait come out"
    if how == CLOSED and reading.found["dropped"]:
        return "what was never seen is taken for seen"
    if not pending and again >= (1 if how == CLOSED else seen):
        return f"{again} of {seen} that were seen are new again"
    return ""
