"""Whether what an implementation sends passes the kit: clients in C are not redirected, and know only what they are told."""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.recording import OperationRaised
from queue_conformance.faults.connections import Address, peers

_REACHED = "write {host} and {port} in the setting that holds the address, as in --queue-setting ADDRESS={host}:{port}"

UNREACHED = f"nothing of what it sends passes the kit, so faults of the network cannot be tried: {_REACHED}"


class Reach(NamedTuple):
    """Where an implementation stores.

    Attributes:
        proxied: whether a push goes through the proxy.
        past: what it is connected to past that.
        lost: whether that is the server itself, which the kit starts for checks that it can do no harm in.
        named: whether the author has named a server, or the kit has found it.
    """

    proxied: bool = False
    past: frozenset[Address] = frozenset()
    lost: bool = False
    named: bool = True

    @property
    def note(self) -> str:
        """What a report says of it, or ``""``."""
        shown = ", ".join(sorted(one if isinstance(one, str) else f"{one[0]}:{one[1]}" for one in self.past))
        how = _REACHED if self.named else f"name a server by --queue-server, and {_REACHED}"
        return f"it is connected to {shown}, past the kit, where no fault meets it: {how}" if shown else ""


def connections_of(context: CheckContext) -> dict[int, Address]:
    """Return what the process of a check is connected to besides the kit's proxy, by the numbers of its sockets."""
    return context.backend.past() if context.backend else peers()


def reach_of(context: CheckContext, before: Container[int] = ()) -> Reach:
    """Use an implementation once, and tell where it stores.

    Args:
        context: what it is used in.
        before: the numbers of the sockets that were there before it was used at all.
    """
    context.restart()
    past: set[Address] = set()

    def requested() -> int:
        past.update(peer for number, peer in connections_of(context).items() if number not in before)
        return context.backend.requested if context.backend else 0

    requested()
    try:
        opened, stored = [requested() for _ in context.driver.store_one()]
        proxied = stored > opened or requested() > stored  # what collects pushes sends them later
    except OperationRaised:
        proxied = context.backend is not None and context.backend.accepted > 0
    lost = context.backend is not None and context.backend.server.ours and not proxied and context.backend.server.address in past
    return Reach(proxied, frozenset(past), lost, context.backend is not None)
