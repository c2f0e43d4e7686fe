"""Broken implementations. Each one says in its docstring how it misbehaves, and names the rules that it breaks.

The kit is proven by them: it must report exactly the named rules as broken.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeVar

C = TypeVar("C", bound=type)


@dataclass(frozen=True)
class Exhibit:
    """A broken implementation.

    Attributes:
        path: its dotted path.
        rules: the ids of the rules that it breaks.
        right: the dotted path of a right implementation of the same kind, for scripts to pass on.
        claims: what its author claims.
        settings: what it is built with.
        server: the server that it stores in, or ``""``.
    """

    path: str
    rules: frozenset[str]
    right: str
    claims: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    server: str = ""


QCRAWL = importlib.util.find_spec("qcrawl") is not None
"""Whether qCrawl is installed, which the modules whose names begin with ``async`` need."""

_exhibits: list[Exhibit] = []


def breaks(
    *rules: str,
    right: str,
    claims: Mapping[str, str] = MappingProxyType({}),
    settings: Mapping[str, str] = MappingProxyType({}),
    server: str = "",
) -> Callable[[C], C]:
    """Put a class into the gallery.

    Args:
        rules: the ids of the rules that it breaks.
        right: the dotted path of a right implementation of the same kind.
        claims: what its author claims.
        settings: what it is built with.
        server: the server that it stores in, or ``""``.
    """

    def exhibit(cls: C) -> C:
        assert cls.__doc__, f"{cls.__qualname__} does not say how it misbehaves"
        path = f"{cls.__module__}.{cls.__qualname__}"
        _exhibits.append(Exhibit(path, frozenset(rules), right, dict(claims), dict(settings), server))
        return cls

    return exhibit


def exhibits() -> Iterator[Exhibit]:
    """Yield all broken implementations."""
    for module in pkgutil.iter_modules(__path__):
        if module.name.startswith("async") and not QCRAWL:
            continue
        importlib.import_module(f"{__name__}.{module.name}")
    yield from _exhibits
