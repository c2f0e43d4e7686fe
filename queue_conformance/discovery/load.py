"""The first stage: the class is imported, and looked at from outside, in a process of its own: that can hang or end, too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from queue_conformance import guard
from queue_conformance.discovery.claims import foreign
from queue_conformance.discovery.record import Candidate, Discovery
from queue_conformance.implementation.capabilities import ERRORS
from queue_conformance.implementation.expectations import lineage_of, promised
from queue_conformance.implementation.loading import (
    LoadError,
    abstract,
    check_components,
    load_class,
    load_error,
    package_version,
    tell_kind,
)
from queue_conformance.implementation.signatures import as_arguments, takes_key
from queue_conformance.processes.endings import Abort
from queue_conformance.processes.isolation import Watchdog
from queue_conformance.running.contexts import run_blaming
from queue_conformance.running.side_effects import noting
from queue_conformance.secrets import Secrets
from queue_conformance.specification import load as load_rules
from queue_conformance.specification.kinds import Kind, kind_named, profile_named
from queue_conformance.specification.settings import AS_WRITTEN, PLACES, means_address, words_in
from queue_conformance.specification.suggestion import did_you_mean


def load(candidate: Candidate) -> Discovery:
    """Import a class, and tell its kind and the contract that it is held to.

    Raises:
        LoadError: if there is nothing to test.
    """
    notes = _unfilled(candidate)
    import scrapy  # noqa: F401  (most classes need it: import it once, here, and not in every process that is forked)

    ended = candidate.try_alone(partial(run_blaming, candidate.path, partial(_loaded, candidate), candidate.config))
    if isinstance(ended, Abort):
        raise LoadError(f"importing {candidate.path} {ended.how}")
    if isinstance(ended.value, str):
        raise LoadError(ended.value)
    return replace(ended.value, notes=(*notes, *ended.value.notes))


def _unfilled(candidate: Candidate) -> list[str]:
    """Return a note for each setting with words in braces that the class gets as they are.

    Raises:
        LoadError: if one is meant as a part of an address, and the kit has nothing to fill in.
    """
    known, server = ", ".join(f"{{{place}}}" for place in PLACES), candidate.config.server
    shown = Secrets(candidate.settings).settings(candidate.settings)
    notes = []
    for name, value in candidate.settings.items():
        left = [word for word in words_in(value) if not server or word not in PLACES]
        if left and means_address(value, served=bool(server)):
            if left[0] in PLACES:
                raise LoadError(f"the setting {name}: {{{left[0]}}} stands for nothing: name a server by --queue-server")
            raise LoadError(f"the setting {name}: {{{left[0]}}} stands for nothing; {known} do, for what --queue-server names")
        if told := [f"{{{word}}}" for word in dict.fromkeys(words_in(shown[name])) if word in left]:
            names = ", ".join(told)
            notes.append(f"{AS_WRITTEN} {names} in the setting {name}; the kit fills in {known} alone, where a server is named")
    return notes


def _loaded(candidate: Candidate, watchdog: Watchdog) -> Discovery | str:
    """Import the class and look at it from outside; return a line of text if there is nothing to test."""
    notes: list[str] = []
    watchdog.enter(f"import {candidate.path}", "")
    try:
        with noting(notes, candidate.path, "imported"):
            cls = candidate.cls or load_class(candidate.path)
        guard.look_at(cls)
        kind = _kind_of(cls, candidate)
        claims = _claims_of(kind, candidate)
    except LoadError as error:
        return str(error)
    except KeyboardInterrupt:
        if candidate.config.in_process:
            raise
        return f"importing {candidate.path} raised KeyboardInterrupt"
    finally:
        watchdog.leave()
    for store in candidate.config.kept:
        if store.kind != kind:
            return f"{store.directory} was written by {candidate.path} as {store.kind.one}, which is {kind.one} now"
    if candidate.config.factory is not None and not kind.built_by_authors:
        line = f"no function of an author's builds {kind.one}: the kit drives it by the arguments of its constructor"
        if not candidate.config.may_decline:
            return f"{candidate.path}: {line}"
        notes.append(f"pytest_open_queue is not called: {line}")
    return Discovery(
        candidate.path,
        kind,
        profile_named(claims.get("profile", kind.profile)),
        package_version(cls, candidate.path),
        claims=claims,
        settings=candidate.settings if kind.crawled else as_arguments(cls, candidate.settings),
        server=candidate.config.server,
        notes=tuple(notes),
        hooked=kind.built_by_authors,
        lineage=lineage_of(cls),
        promised=promised(cls),
        built_by_scrapy=takes_key(cls),
        kept=candidate.config.kept,
    )


def _kind_of(cls: type[Any], candidate: Candidate) -> Kind:
    """Return the kind of a class that can be tested.

    Raises:
        LoadError: if it cannot.
    """
    path, claims = candidate.path, candidate.claims
    kind = kind_named(claims["kind"]) if "kind" in claims else tell_kind(cls, candidate.option, path)
    for name in ERRORS:
        if name in claims:
            try:
                load_error(claims[name])
            except LoadError as error:
                raise LoadError(f"the claim {name}={claims[name]}: {error}") from error
    if line := abstract(cls, path):
        raise LoadError(line)
    if kind.crawled:
        check_components(candidate.settings)
    return kind


def _claims_of(kind: Kind, candidate: Candidate) -> Mapping[str, str]:
    """Return the claims of a class; where a project's are, without those that are about other kinds.

    Raises:
        LoadError: if one says nothing of the class.
    """
    claims = candidate.claims
    if "follows" in claims:
        bound = {path for rule in load_rules().values() for path in rule.binds}
        if (path := claims["follows"]) not in bound:
            raise LoadError(f"the claim follows={path}: no rule speaks of that class{did_you_mean(path, bound)}")
    if candidate.config.of_project:
        claims = {name: value for name, value in claims.items() if not foreign(kind, {name: value}, candidate.settings)}
    if line := foreign(kind, claims, candidate.settings):
        raise LoadError(f"{candidate.path}: {line}")
    return claims
