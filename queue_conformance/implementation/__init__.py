"""The implementation under test: how it is imported, recognized and probed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from queue_conformance.implementation.capabilities import Capabilities
from queue_conformance.specification.kinds import Kind, Profile
from queue_conformance.specification.settings import filled


@dataclass(frozen=True, slots=True)
class Implementation:
    """A class under test.

    Attributes:
        path: its dotted path, as the author named it.
        cls: the class.
        kind: what it is.
        profile: the contract that it is held to.
        settings: crawler settings, or arguments of the constructor where there is no crawler.
        claims: what the author says of it, by name of capability.
        capabilities: what was found, with the claims applied.
        errors: the exceptions that its author names, by the name of the claim.
        hooked: whether the author's function builds it; that function may decline.
        factory: the author's function that builds queues, or ``None``.
        prepare: the author's function that gives spiders what the class looks for in them, or ``None``.
        server: the server that it stores in, as ``--queue-server`` names it, or ``""``.
        importable: whether its path leads to it in every process, and not only in this one.
        failed: the rules that failed in its first use; it is tested nevertheless.
        cost: seconds that one operation takes, as its first uses have shown.
        kept: what earlier versions of it have stored.
        places: what stands for ``{host}``, ``{port}`` and ``{password}`` in settings, once the server is there.
    """

    path: str
    cls: type[Any]
    kind: Kind
    profile: Profile
    settings: Mapping[str, Any] = field(default_factory=dict)
    claims: Mapping[str, str] = field(default_factory=dict)
    capabilities: Capabilities = field(default_factory=Capabilities)
    errors: Mapping[str, type[BaseException]] = field(default_factory=dict)
    hooked: bool = True
    factory: Callable[..., Any] | None = None
    prepare: Callable[[Any], object] | None = None
    server: str = ""
    importable: bool = True
    failed: frozenset[str] = frozenset()
    cost: float = 0.0
    kept: tuple[Any, ...] = ()
    places: Mapping[str, str] = field(default_factory=dict)

    @property
    def builder(self) -> Callable[..., Any]:
        """What builds queues: the author's function, or else the class."""
        return self.factory or self.cls

    @property
    def values(self) -> dict[str, Any]:
        """The settings, with the address of the server filled in; a port alone is a number, unless it was given as text."""
        return {name: filled(value, self.places) for name, value in self.settings.items()}
