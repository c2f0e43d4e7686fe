"""What a discovery begins with, and what is known of an implementation after each stage of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from queue_conformance.engine.kept_store import KeptStore
from queue_conformance.engine.outcomes import CheckResult, Outcome
from queue_conformance.implementation import Implementation
from queue_conformance.implementation.capabilities import ERRORS, Capabilities, apply_claims
from queue_conformance.implementation.loading import LoadError, is_importable, load_class, load_error
from queue_conformance.processes.endings import Abort
from queue_conformance.processes.isolation import Answer
from queue_conformance.running.contexts import RunConfig, twice
from queue_conformance.running.side_effects import keeping_signal_handlers, quietly
from queue_conformance.specification import Rule, load
from queue_conformance.specification.applicability import rules_of
from queue_conformance.specification.kinds import Kind, Profile

T = TypeVar("T")


@dataclass(frozen=True)
class Candidate:
    """What a discovery begins with.

    Attributes:
        path: the dotted path of a class.
        settings: crawler settings, or arguments of the constructor, as text.
        claims: what its author claims.
        config: how checks are run.
        option: the option that names the class, without dashes, if one does.
        cls: the class, or ``None`` to import it.
    """

    path: str
    settings: Mapping[str, Any]
    claims: Mapping[str, str]
    config: RunConfig
    option: str = ""
    cls: type[Any] | None = None

    def try_alone(self, attempt: Callable[[], Answer[T] | Abort]) -> Answer[T] | Abort:
        """Try something in a process of its own, once more if that took too long, as ``twice`` does.

        Raises:
            LoadError: if the class was refused something: what it tried to reach is no server of its author's to test with.
        """
        ended = twice(attempt)
        if self.config.guard is not None and (line := self.config.guard.refused(self.path, self.settings)):
            raise LoadError(line)
        return ended


@dataclass(frozen=True)
class Discovery:
    """What is known of an implementation.

    Attributes:
        path: its dotted path.
        kind: what it is.
        profile: the contract that it is held to.
        version: its package and the release of that.
        found: what it offers, as found by probing.
        claims: what its author claims.
        settings: what it is built with.
        server: the server that it stores in, as ``--queue-server`` names it, or ``""``.
        smoke: what came of using it once, and of its claims.
        notes: what else is worth reporting.
        hooked: whether the author's hook builds it, if there is one.
        lineage: the dotted paths of the class and of its base classes.
        promised: the capabilities that its docstring promises.
        also: a second contract that it is measured by, which fails no run, or ``None``.
        built_by_scrapy: whether its class can be built as Scrapy builds queues.
        cost: seconds that one operation takes.
        idle: whether it spends most of them in waiting, so that others can use the processor.
        kept: what earlier versions of it have stored.
    """

    path: str
    kind: Kind
    profile: Profile
    version: str
    found: Capabilities = field(default_factory=Capabilities)
    claims: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    server: str = ""
    smoke: tuple[CheckResult, ...] = ()
    notes: tuple[str, ...] = ()
    hooked: bool = True
    lineage: frozenset[str] = frozenset()
    promised: frozenset[str] = frozenset()
    also: Profile | None = None
    built_by_scrapy: bool = True
    cost: float = 0.0
    idle: bool = False
    kept: tuple[KeptStore, ...] = ()

    @property
    def usable(self) -> bool:
        """Whether the class can be used at all, so that its checks make sense."""
        return not self.unusable

    @property
    def unusable(self) -> str:
        """Why its checks make no sense, or ``""``."""
        if not self.smoke or self.smoke[0].finished:
            return ""
        if self.smoke[0].trouble:
            return self.smoke[0].trouble
        return f"blocked by {', '.join(self._broken)}" if self._broken else ""

    @property
    def probed(self) -> bool:
        """Whether it was told what it offers, and its claims were compared with that."""
        return len(self.smoke) > 1

    @property
    def _broken(self) -> list[str]:
        """The rules that its first use broke."""
        first = self.smoke[0].observations if self.smoke else ()
        return [observation.rule for observation in first if observation.outcome is Outcome.FAILED]

    def implementation(self, cls: type[Any] | None = None) -> Implementation:
        """Return the class with all that is known of it.

        Args:
            cls: the class, or ``None`` to import it here.

        Raises:
            LoadError: if it cannot be imported any more.
        """
        importable = cls is None or is_importable(self.path, cls)
        if cls is None:
            with quietly(), keeping_signal_handlers():
                cls = load_class(self.path)
        return Implementation(
            self.path,
            cls,
            self.kind,
            self.profile,
            self.settings,
            self.claims,
            apply_claims(self.found, self.claims),
            {name: load_error(self.claims[name]) for name in ERRORS if name in self.claims},
            self.hooked,
            server=self.server,
            importable=importable,
            failed=frozenset(self._broken),
            cost=self.cost,
            kept=self.kept,
        )

    def rules(self, profile: Profile | None = None) -> dict[str, Rule]:
        """Return the rules of a profile that are asked of this class, by id, at the level that they have for it.

        Args:
            profile: the contract, if not the one that it is held to.
        """
        return rules_of(load(), self.kind, profile or self.profile, self.lineage, self.claims, self.promised)
