"""The implementation under test: found, loaded, told apart and driven."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from queue_conformance.implementations.capabilities import Capabilities
from queue_conformance.specification import Kind, Profile


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
    """

    path: str
    cls: type[Any]
    kind: Kind
    profile: Profile
    settings: Mapping[str, Any] = field(default_factory=dict)
    claims: Mapping[str, str] = field(default_factory=dict)
    capabilities: Capabilities = field(default_factory=Capabilities)
