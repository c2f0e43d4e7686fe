"""The last stage: the contracts that a class is measured by, by what it offers and what its author claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from queue_conformance.discovery.claims import without_effect
from queue_conformance.discovery.record import Candidate, Discovery
from queue_conformance.engine.budget import Budget
from queue_conformance.implementation.capabilities import Capabilities, Order, apply_claims, held_to
from queue_conformance.implementation.loading import LoadError
from queue_conformance.running.contexts import RunConfig
from queue_conformance.specification.kinds import Profile, profile_named


def decide(known: Discovery, candidate: Candidate) -> Discovery:
    """Decide what a class is held to.

    Raises:
        LoadError: if the author claims what changes nothing.
    """
    config, found = candidate.config, known.found
    offered = apply_claims(found, known.claims)
    notes = [*known.notes, *_held(found, known.claims)]
    if more := Budget(known.cost).more:
        notes.append(f"an operation takes {known.cost:.2g} s, so loops are shorter{more}")
    profile, also = _contracts(known, offered, config)
    refuted = any(claimed.failed for claimed in known.smoke[1:])
    line = without_effect(known.kind, known.claims, known.lineage, found, (profile, also), refuted=refuted)
    if line and not config.of_project:
        raise LoadError(f"{known.path}: {line}")
    if config.server and not found.server and not offered.server:
        notes.append("it does not use the server that --queue-server names")
    return replace(known, profile=profile, also=also, notes=tuple(notes))


def _contracts(known: Discovery, offered: Capabilities, config: RunConfig) -> tuple[Profile, Profile | None]:
    """Return the contract that a class is held to, and another one that it is measured by as well.

    A queue behind a server has two: the documented interface, and what the installed release of Scrapy relies on. The first
    one gates where the author says so, or names a server and leaves the queue for Scrapy to build.
    """
    usual, documented = known.kind.profile, known.kind.behind_server
    if documented is None or not offered.server:
        return known.profile, None
    by_hook = config.factory is not None and known.hooked and not known.built_by_scrapy
    gate = profile_named(known.claims.get("profile", documented if config.server and not by_hook else usual))
    return gate, usual if gate == documented else documented


def _held(found: Capabilities, claims: Mapping[str, str]) -> Iterator[str]:
    """Yield a note on each capability that did not show, and that an implementation is held to."""
    for name, why in held_to(found, claims).items():
        yield f"held to {name}, which did not show: {why}; where that is not meant, say --conformance-claim={name}=no"
    if "order" in found.held and "order" not in claims:
        order = found.held["order"]
        says = "as its name, its docstring or its base class says"
        yield f"held to {order}, {says}, and it does not keep it; another order is claimed by order={Order.NONE}"
