"""The stages of a discovery: each takes what is known of a class, and returns that with more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from queue_conformance.discovery.build import build
from queue_conformance.discovery.decide import decide
from queue_conformance.discovery.load import load
from queue_conformance.discovery.probe import probe
from queue_conformance.discovery.record import Candidate, Discovery
from queue_conformance.discovery.use import use
from queue_conformance.implementation.loading import LoadError
from queue_conformance.running.contexts import RunConfig
from queue_conformance.running.faults import AtFault, blaming


def discover(
    path: str,
    settings: Mapping[str, Any],
    claims: Mapping[str, str],
    config: RunConfig,
    option: str = "",
    cls: type[Any] | None = None,
) -> Discovery:
    """Find out what must be known of a class before it is tested.

    Args:
        path: its dotted path.
        settings: crawler settings, or arguments of the constructor, as text.
        claims: what its author claims.
        config: how checks are run.
        option: the option that names the class, without dashes, if one does.
        cls: the class, or ``None`` to import it.

    Returns:
        What is known.

    Raises:
        LoadError: if there is nothing to test; the message is one line.
    """
    try:
        with blaming(path):  # what it did to this process, too, in which it is imported once it was alone
            return _known(Candidate(path, settings, claims, config, option, cls))
    except AtFault as fault:
        raise LoadError(f"{path} cannot be tested: it {fault}") from None


def _known(candidate: Candidate) -> Discovery:
    known = use(build(load(candidate), candidate), candidate)
    if known.usable:
        known = probe(known, candidate)
    return decide(known, candidate) if known.probed else known
