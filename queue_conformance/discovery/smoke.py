"""What comes first: build, store one, take one, close. What fails here is reported once, and blocks everything else.

The module ``smoke`` of each package of checks has:

- ``RULES``: the ids of the rules that ``smoke`` tests;
- ``smoke(context)``: uses an implementation once, and raises ``RuleFailed`` for the first thing that fails;
- ``SHOWN``: the claims that probing can refute;
- ``it_is_there``: a check that fails where a claimed capability, its case ``name``, is not there.
"""

from __future__ import annotations

from queue_conformance.engine.check import run_case
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.outcomes import NotApplicable
from queue_conformance.engine.registry import Check, part_of
from queue_conformance.implementation.capabilities import contradictions
from queue_conformance.specification.kinds import Kind

CLAIMS = "claims.true"
"""The rule on claims, of every kind."""


def smoke_check_of(kind: Kind) -> Check:
    """Return the check that uses an implementation of a kind once."""
    part = part_of(kind, "smoke")
    return Check("smoke", part.RULES, frozenset({kind}), part.smoke, part.__name__)


def claims_of(kind: Kind) -> Check:
    """Return the check of what an author claims of an implementation of a kind."""
    return Check(CLAIMS, (CLAIMS,), frozenset({kind}), claims, __name__)


def claims(context: CheckContext) -> None:
    """Compare what the author claims with what was found.

    Raises:
        RuleFailed: if something claimed is not there.
        NotApplicable: if nothing is claimed that can be found by probing.
    """
    part = part_of(context.implementation.kind, "smoke")
    claimed = context.implementation.claims
    absent, disclaimed = contradictions(context.implementation.capabilities, claimed)
    for name in disclaimed:
        context.notes.append(f"{name} is disclaimed, but there")
    if not any(name in claimed for name in part.SHOWN):
        raise NotApplicable("nothing is claimed that can be found by probing")
    for name in absent:
        with context.collecting():
            context.restart()
            run_case(context, CLAIMS, part.it_is_there, {"name": name})
    context.covered[CLAIMS] += 1
