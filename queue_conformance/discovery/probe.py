"""The fourth stage: what a class offers is found by using it, and compared with what its author claims."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import NoReturn

from queue_conformance.discovery.reaching import UNREACHED, Reach, connections_of, reach_of
from queue_conformance.discovery.record import Candidate, Discovery
from queue_conformance.discovery.slowness import waits
from queue_conformance.discovery.smoke import claims_of, smoke_check_of
from queue_conformance.engine.budget import Budget
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.outcomes import CheckResult, Observation, Outcome, RuleFailed
from queue_conformance.implementation.capabilities import Capabilities, apply_claims, untried
from queue_conformance.implementation.expectations import hold
from queue_conformance.implementation.loading import LoadError
from queue_conformance.processes.endings import Abort
from queue_conformance.processes.stopwatch import IdleTime
from queue_conformance.running.aborts import fatal_result
from queue_conformance.running.contexts import in_context
from queue_conformance.running.execution import observe
from queue_conformance.running.side_effects import quietly
from queue_conformance.specification import Rule


@dataclass(frozen=True)
class _Probed:
    """What probing found: capabilities, what they say of claims, where it stores, seconds of an operation, and what it waits."""

    found: Capabilities
    claimed: CheckResult
    reach: Reach
    cost: float
    slow: float
    idle: bool


def probe(known: Discovery, candidate: Candidate) -> Discovery:
    """Find out what a class offers, and where it stores.

    Raises:
        LoadError: if what it sends to the server cannot be seen.
    """
    rules, implementation, smoke = known.rules(), known.implementation(candidate.cls), known.smoke[0]
    ended = candidate.try_alone(partial(in_context, implementation, candidate.config, partial(_probed, known, candidate, rules)))
    if isinstance(ended, Abort):
        fatal = fatal_result(smoke_check_of(known.kind), implementation, rules, candidate.config, ended)
        failed = tuple(one for one in fatal.observations if one.outcome is Outcome.FAILED)
        smoke = replace(smoke, observations=(*smoke.observations, *failed), fatal=True, finished=False)
        return replace(known, smoke=(smoke,))
    if isinstance(ended.value, CheckResult):
        return replace(known, smoke=(ended.value,))
    probed = ended.value
    if probed.reach.lost:
        raise LoadError(f"{known.path}: {probed.reach.note}")
    notes = [probed.reach.note] if probed.reach.note else []
    if apply_claims(probed.found, known.claims).server and not probed.found.server:
        notes.append(UNREACHED)
    cost = max(probed.cost or known.cost, probed.slow)  # some are probed in other processes
    # What is sent later than with the first push must not find "{host}" where its address should be.
    needed = any("{host}" in value or "{port}" in value for value in map(str, known.settings.values()))
    return replace(
        known,
        found=probed.found,
        smoke=(smoke, probed.claimed),
        notes=(*known.notes, *notes),
        server=known.server if probed.reach.proxied or needed else "",
        cost=cost,
        idle=(probed.idle or probed.slow > 0.0) and Budget(cost).short,
    )


def _probed(known: Discovery, candidate: Candidate, rules: Mapping[str, Rule], context: CheckContext) -> _Probed | CheckResult:
    """Probe a class, and test what is claimed of it; or return what failed meanwhile."""
    implementation, claims = context.implementation, known.claims
    before, idle = connections_of(context), IdleTime()
    context.driver.vary(())
    try:
        with quietly():
            found: Capabilities = context.driver.probe(context.enter_another)
            # Once the probe has chosen a loop.
            reach = reach_of(context, before) if context.backend or known.kind.stores else Reach()
            slow = waits(context)
            if found.persistent and context.backend and context.backend.server.offers("expire"):
                found = replace(
                    found, ttl=found.ttl or context.driver.forgets(context.backend.server.expire, context.enter_another())
                )
    except (RuleFailed, OSError) as error:  # it has left open what others need, too
        return observe(replace(smoke_check_of(known.kind), function=partial(_failing, error)), context, rules)
    found = replace(found, server=reach.proxied or bool(reach.past), kept=bool(candidate.config.kept))
    if (found.server or claims.get("server") == "yes") and known.kind.stores:
        found = hold(found, implementation.cls, implementation.settings, {"persistent": ["it stores in a server"]})
    context.implementation = replace(implementation, capabilities=found)
    claimed = observe(claims_of(known.kind), context, rules)
    lines = untried(found, claims).items()
    left = [Observation(rule, Outcome.NOT_COVERED, claimed.check, why) for rule, why in lines if rule in rules]
    claimed = replace(claimed, observations=(*claimed.observations, *left))
    return _Probed(found, claimed, reach, context.recorder.costs.mean, slow, idle.prevails)


def _failing(error: Exception, _context: CheckContext) -> NoReturn:
    """Fail as a check does that fails like this."""
    raise error
