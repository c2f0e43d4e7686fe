"""What comes first: build, store one, take one, close. What fails here is reported once, and blocks everything else.

The module ``preflight`` of each package of checks has:

- ``RULES``: the ids of the rules that ``preflight`` examines;
- ``preflight(bench)``: uses an implementation once, and raises ``RuleBroken`` for the first thing that fails;
- ``SHOWN``: the claims that probing can refute;
- ``show_absence(bench, rule, name)``: shows in a few operations that a claimed capability is not there.
"""

from __future__ import annotations

from queue_conformance.discovery.capabilities import contradictions
from queue_conformance.engine.bench import Bench
from queue_conformance.engine.outcomes import NotApplicable
from queue_conformance.engine.registry import Check, part_of
from queue_conformance.specification.kinds import Kind

CLAIMS = "claims.true"
"""The rule on claims, of every kind."""


def preflight_of(kind: Kind) -> Check:
    """Return the check that uses an implementation of a kind once."""
    part = part_of(kind, "preflight")
    return Check("preflight", part.RULES, frozenset({kind}), part.preflight)


def claims_of(kind: Kind) -> Check:
    """Return the check of what an author claims of an implementation of a kind."""
    return Check(CLAIMS, (CLAIMS,), frozenset({kind}), claims)


def claims(bench: Bench) -> None:
    """Compare what the author claims with what was found.

    Raises:
        RuleBroken: if something claimed is not there.
        NotApplicable: if nothing is claimed that can be found by probing.
    """
    part = part_of(bench.implementation.kind, "preflight")
    claimed = bench.implementation.claims
    absent, disclaimed = contradictions(bench.implementation.capabilities, claimed)
    for name in disclaimed:
        bench.notes.append(f"{name} is disclaimed, but there")
    if not any(name in claimed for name in part.SHOWN):
        raise NotApplicable("nothing is claimed that can be found by probing")
    for name in absent:
        with bench.collecting():
            bench.restart()
            part.show_absence(bench, CLAIMS, name)
    bench.examined[CLAIMS] += 1
