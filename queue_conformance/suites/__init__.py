"""The checks, in the words of the specification: one package per family of kinds.

A check is a function that gets a :class:`~queue_conformance.suites.bench.Bench` and examines the rules that it names. It
raises nothing if they are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from queue_conformance.specification import Kind

if TYPE_CHECKING:
    from queue_conformance.suites.bench import Bench
    from queue_conformance.suites.programs import Player


@dataclass(frozen=True, slots=True)
class Check:
    """A test that examines named rules.

    Attributes:
        name: what its node is called: the id of its first rule, or a word such as ``machine``.
        rules: the ids of the rules that it examines.
        kinds: the kinds of implementation that it can drive.
        function: the test.
    """

    name: str
    rules: tuple[str, ...]
    kinds: frozenset[Kind]
    function: Callable[[Bench], None]


QUEUES = frozenset({Kind.DOWNSTREAM_QUEUE, Kind.BYTE_QUEUE})
COLLECTIONS = frozenset({Kind.BYTE_PRIORITY_QUEUE, Kind.ROUND_ROBIN_QUEUE})

_registered: dict[tuple[str, frozenset[Kind]], Check] = {}


def check(
    *rules: str, kinds: Iterable[Kind] = QUEUES, name: str | None = None
) -> Callable[[Callable[[Bench], None]], Callable[[Bench], None]]:
    """Register a function as a check.

    Args:
        rules: the ids of the rules that it examines; an unknown id is found by the kit's own tests.
        kinds: the kinds of implementation that it can drive.
        name: what its node is called, if not the id of its first rule.

    Raises:
        ValueError: if two checks of one kind have the same name.
    """

    def register(function: Callable[[Bench], None]) -> Callable[[Bench], None]:
        added = Check(name or rules[0], rules, frozenset(kinds), function)
        for known in _registered.values():
            if known.name == added.name and known.kinds & added.kinds:
                raise ValueError(f"two checks are called {added.name!r}")
        _registered[added.name, added.kinds] = added
        return function

    return register


def checks_of(kind: Kind) -> list[Check]:
    """Return the checks that can drive a kind, in the order in which they are run."""
    from queue_conformance.suites import collections, queues

    queues.register()
    collections.register()
    return [found for found in _registered.values() if kind in found.kinds]


def player_of(bench: Bench) -> Player:
    """Return what plays the programs of the bench's kind."""
    from queue_conformance.suites.collections import pair as collections
    from queue_conformance.suites.queues import pair as queues

    return queues.player(bench) if bench.implementation.kind in QUEUES else collections.player(bench)
