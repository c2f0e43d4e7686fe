"""Mutants: wrong implementations. Each one says in its docstring how it misbehaves, and names the rules that it fails.

The kit is proven by them: it must report exactly the named rules as failed, and no further ones than those that they may fail.
Modules whose names contain ``controls`` hold right implementations of other designs, which it must pass.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeVar

C = TypeVar("C", bound=type)


@dataclass(frozen=True)
class Mutant:
    """A mutant.

    Attributes:
        path: its dotted path.
        fails: the ids of the rules that it fails.
        control: the dotted path of a right implementation of the same kind, for scripts to pass on.
        may_fail: the ids of further rules that it breaks: a run of all checks may say so.
        claims: what its author claims.
        settings: what it is built with.
        server: the server that it stores in, or ``""``.
        kept: the dotted path of the earlier version, which has kept what it is asked for, or ``""``.
        hints: the first words of hints that are shown for it.
    """

    path: str
    fails: frozenset[str]
    control: str
    may_fail: frozenset[str] = frozenset()
    claims: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    server: str = ""
    kept: str = ""
    hints: frozenset[str] = frozenset()


QCRAWL = importlib.util.find_spec("qcrawl") is not None
"""Whether qCrawl is installed, which the modules whose names begin with ``async`` need."""

PSYCOPG = importlib.util.find_spec("psycopg") is not None
"""Whether psycopg is installed, which the module ``postgresql`` needs."""

_mutants: list[Mutant] = []


def mutant(
    *,
    fails: str | Iterable[str],
    control: str = "",
    may_fail: str | Iterable[str] = (),
    claims: Mapping[str, str] = MappingProxyType({}),
    settings: Mapping[str, str] = MappingProxyType({}),
    server: str = "",
    kept: str = "",
    hint: str | Iterable[str] = (),
) -> Callable[[C], C]:
    """Register a class as a mutant.

    Args:
        fails: the id of the rule that it fails, or those of several.
        control: the dotted path of a right implementation of the same kind, for scripts to pass on, if it is not the first of
            its bases that is no mutant.
        may_fail: the id of a further rule that it breaks, or those of several: a run of all checks may say so.
        claims: what its author claims.
        settings: what it is built with.
        server: the server that it stores in, or ``""``.
        kept: the dotted path of the earlier version, which has kept what it is asked for, or ``""``.
        hint: the first words of the hint that its author is shown, or those of several, for several rules.
    """

    rules, further, hints = (frozenset([one] if isinstance(one, str) else one) for one in (fails, may_fail, hint))

    def register(cls: C) -> C:
        assert cls.__doc__, f"{cls.__qualname__} does not say how it misbehaves"
        path, *bases = (f"{base.__module__}.{base.__qualname__}" for base in cls.__mro__)
        right = control or next(base for base in bases if base not in {mutant.path for mutant in _mutants})
        _mutants.append(Mutant(path, rules, right, further, dict(claims), dict(settings), server, kept, hints))
        return cls

    return register


def all_mutants() -> Iterator[Mutant]:
    """Yield all mutants."""
    for module in pkgutil.iter_modules(__path__):
        if (module.name.startswith("async") and not QCRAWL) or (module.name == "postgresql" and not PSYCOPG):
            continue
        importlib.import_module(f"{__name__}.{module.name}")
    yield from _mutants
