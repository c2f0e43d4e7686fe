"""Whether what an implementation sends passes the kit: clients in C are not redirected, and know only what they are told."""

from __future__ import annotations

from typing import NamedTuple

from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.recording import OperationRaised
from queue_conformance.faults.connections import Address

_REACHED = "write {host} and {port} in the setting that holds the address, as in --queue-setting ADDRESS={host}:{port}"

UNREACHED = f"nothing of what it sends passes the kit, so faults of the network cannot be tried: {_REACHED}"


class Reach(NamedTuple):
    """Where an implementation stores.

    Attributes:
        proxied: whether a push goes through the proxy.
        past: what it is connected to past that.
        lost: whether that is the server itself, which the kit starts for checks that it can do no harm in.
    """

    proxied: bool = False
    past: frozenset[Address] = frozenset()
    lost: bool = False

    @property
    def note(self) -> str:
        """What a report says of it, or ``""``."""
        shown = ", ".join(sorted(one if isinstance(one, str) else f"{one[0]}:{one[1]}" for one in self.past))
        return f"it is connected to {shown}, past the kit, where no fault meets it: {_REACHED}" if shown else ""


def reach_of(context: CheckContext) -> Reach:
    """Use an implementation once, and tell where it stores."""
    if context.backend is None:
        return Reach()
    context.restart()
    proxy, server = context.backend.proxy, context.backend.server
    before = proxy.past()
    past: set[Address] = set()

    def requested() -> int:
        past.update(peer for number, peer in proxy.past().items() if number not in before)
        return proxy.requested

    try:
        proxied = context.driver.store_one(requested)
    except OperationRaised:
        proxied = proxy.accepted > 0
    return Reach(proxied, frozenset(past), server.ours and not proxied and server.address in past)
