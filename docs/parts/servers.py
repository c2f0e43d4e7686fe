"""The servers behind queues as tables, from their classes."""

from __future__ import annotations

from collections.abc import Iterator

from queue_conformance.faults import outages
from queue_conformance.faults.outages import Condition
from queue_conformance.faults.servers import RunningServer, Server, classes
from queue_conformance.faults.servers.program import ProgramServer
from queue_conformance.specification.words import listed

CONDITIONS = [kind for kind in vars(outages).values() if isinstance(kind, type) and issubclass(kind, Condition)][1:]
"""The faults that a server offers or not, as reports call them."""

_OTHERS: dict[str, type[Server]] = {"command": ProgramServer, "HOST:PORT": RunningServer}


def table(*names: str) -> str:
    """Return what servers are, and which faults each of them gets.

    Args:
        names: as ``--queue-server`` has them; ``command`` is any program, and ``HOST:PORT`` one that runs already.
    """
    found = [_OTHERS.get(name) or next(classes(name)) for name in names]
    return "\n".join(_rows(names, found))


def _rows(names: tuple[str, ...], found: list[type[Server]]) -> Iterator[str]:
    def row(title: str, *cells: str) -> str:
        return f"| {title} | {' | '.join(cells)} |"

    yield row("", *(f"`{name}`" for name in names))
    yield "|---|" + "---|" * len(names)
    yield row("what it is", *((cls.__doc__ or "").partition("\n")[0] for cls in found))
    yield row(
        "variables that the kit sets for clients", *(listed(f"`{name}`" for name in cls.environment) or "none" for cls in found)
    )
    yield row("how long it lasts", *map(_lasts, found))
    yield row("connections that are refused, reset, cut, stalled and slowed", *("×" for _ in found))
    for fault in CONDITIONS:
        offered = ("×" if cls.offers(fault.offered) else "not covered" for cls in found)
        yield row(f"{fault.name}: {(fault.__doc__ or '').partition(chr(10))[0]}", *offered)


def _lasts(cls: type[Server]) -> str:
    if not cls.ours:
        return "it is yours"
    return "one for each check" if cls.lend is Server.lend else "one for the run, and one for each check that harms it"
