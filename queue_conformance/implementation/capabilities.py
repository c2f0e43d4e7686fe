"""What an implementation offers: found by probing, overridden by what its author claims."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from functools import cached_property

from queue_conformance.specification.suggestion import did_you_mean


class Order(StrEnum):
    """The order in which items leave a queue."""

    FIFO = "FIFO"
    LIFO = "LIFO"
    NONE = "none"


class ClaimError(ValueError):
    """A claim is not one that the kit knows; the message is one line that says what to write."""


@dataclass(frozen=True)
class Capabilities:
    """What an implementation offers.

    Most are explained by :data:`queue_conformance.specification.words.CAPABILITIES`, which has those that rules may need.

    Attributes:
        order: the order of items, or of those of one priority.
        spoken_order: the order that its name or its docstring speaks of, if nothing holds it to that.
        priority: whether a queue of requests serves those of higher or of lower priority first: ``higher-first``,
            ``lower-first``, or ``none`` if it does not look at priorities.
        keeps_objects: it serializes, but until it is closed it may return the very object that was pushed.
        priority_first: of a priority queue with slots: they decide only among requests of equal priority.
        turns: a priority queue that serves one slot after the other, whatever the priorities are and the downloader does.
        shared_storage: what two processes open under one key is one queue, whether or not its author claims that they may.
        needs_job: a scheduler of which nothing can be used without the job directory that its author sets.
        hears_downloads: a scheduler that hears, by signals of Scrapy, what becomes of the requests that it hands out.
        real_loop: it needs the stock event loop, for sockets or for threads of its own.
        ignores: what of a request its author claims to count for nothing where duplicates are told, in the order of ``ALLOWED``.
        stores: what became of a value of each type that was pushed: ``kept``, ``refused``, ``changed``, ``lost``.
        kept: what an earlier version of it has stored is there to be read.
        refuses: the fields of requests for which a push raises; checks of their own say whether it may.
        held: what it is held to although probing did not find it: the reason, by the name that claims use; for ``order``
            the value is the order.
        untried: the rules for which nothing that the kit has would show whether they apply: the reason, by id, and the claim
            that says that they do not.
    """

    order: Order = Order.NONE
    spoken_order: Order = Order.NONE
    priority: str = "none"
    persistent: bool = False
    filesystem: bool = False
    serializes: bool = False
    keeps_objects: bool = False
    peek: bool = False
    peek_stub: bool = False
    clear: bool = False
    chunked: bool = False
    server: bool = False
    crash_safe: bool = False
    shared: bool = False
    redelivers: bool = False
    slots: bool = False
    priority_first: bool = False
    turns: bool = False
    shared_storage: bool = False
    configurable: bool = False
    filters: bool = False
    length: bool = False
    bounded: bool = False
    dedupe: bool = False
    ttl: bool = False
    iterates: bool = False
    context: bool = False
    probabilistic: bool = False
    unprioritized: bool = False
    upgrades: bool = False
    kept: bool = False
    needs_job: bool = False
    hears_downloads: bool = False
    real_loop: bool = False
    ignores: tuple[str, ...] = ()
    stores: Mapping[str, str] = field(default_factory=dict)
    refuses: tuple[str, ...] = ()
    held: Mapping[str, str] = field(default_factory=dict)
    untried: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @cached_property
    def names(self) -> frozenset[str]:
        """The names that rules use for what is offered."""
        true = {each.name for each in fields(self) if getattr(self, each.name) is True}
        names = {name.replace("_", "-") for name in true - _EVIDENCE}
        if self.order is not Order.NONE:
            names |= {self.order.lower(), "ordered"}
        if self.priority != "none":
            names.add("by-priority")
        if self.slots or self.turns:
            names.add("by-slot")
        if self.ignores:
            names.add("ignores")
        return frozenset(names)

    @property
    def places(self) -> str:
        """Whether and where it keeps what it is given, in words."""
        where = ["in files"] * self.filesystem + ["behind a server"] * self.server
        return ", ".join(["persistent" if self.persistent else "not persistent", *where, *self.unclaimed])

    @property
    def unclaimed(self) -> list[str]:
        """What it shows that its author may want to claim, in words."""
        return ["shared storage (if meant, claim shared=yes)"] * (self.shared_storage and not self.shared)


_EVIDENCE = {"shared_storage", "needs_job", "hears_downloads"}
"""What probing shows, and nothing that is offered."""

_NO_FLAGS = _EVIDENCE | {"peek_stub", "keeps_objects", "priority_first", "turns", "unprioritized", "kept"}

FLAGS = tuple(sorted(f.name.replace("_", "-") for f in fields(Capabilities) if f.type == "bool" and f.name not in _NO_FLAGS))
"""The capabilities that are there or not, by the names that claims use."""

CLASSES = ("request", "follows")
"""The claims that name a class by its dotted path."""

ERRORS = ("transient-error", "serialization-error")
"""The claims that name an exception by its dotted path."""

CLAIMS = (*FLAGS, *ERRORS, *CLASSES, "order", "priority", "ignores", "kind", "profile")
"""The names that a claim may have."""

UNSEEN = ("crash-safe", "shared", "redelivers", "server", "probabilistic", "real-loop", "upgrades")
"""What probing cannot rule out, so that a claim is believed."""

ALLOWED: Mapping[str, tuple[str, ...]] = dict.fromkeys(FLAGS, ("yes", "no")) | {
    "order": tuple(o.value for o in Order),
    "priority": ("higher-first", "lower-first", "none"),
    "ignores": ("query", "tracking", "case", "slash", "fragment", "method", "body"),
    "profile": ("external-queue", "scrapy"),
}
"""The values that a claim may have, by its name; those of ``kind`` are the kinds; ``ignores`` may have several."""


def parse_claims(texts: Iterable[str], kinds: Iterable[str]) -> dict[str, str]:
    """Read claims of the form ``persistent``, ``peek=no`` or ``order=FIFO``.

    Args:
        texts: the claims as the author wrote them.
        kinds: the values that a claim of a kind may have.

    Returns:
        The value claimed, by name; ``yes`` or ``no`` for what is there or not.

    Raises:
        ClaimError: if a name or a value is unknown, or two claims contradict each other.
    """
    claims: dict[str, str] = {}
    for text in texts:
        name, _, value = text.partition("=")
        name = name.strip().replace("_", "-")
        if name not in CLAIMS:
            raise ClaimError(f"unknown claim {name!r}{did_you_mean(name, CLAIMS)}")
        value = _claimed(name, value.strip() or "yes", kinds)
        if claims.setdefault(name, value) != value:
            raise ClaimError(f"{name}={claims[name]} and {name}={value} contradict each other; drop one of them")
    return claims


def _claimed(name: str, value: str, kinds: Iterable[str]) -> str:
    """Return what is claimed under a name.

    Raises:
        ClaimError: if the value is none that the name may have.
    """
    if name in (*ERRORS, *CLASSES):
        if not all(part.isidentifier() for part in value.split(".")) or "." not in value:
            what = "an exception" if name in ERRORS else "a class"
            example = "errors.MyError" if name in ERRORS else "queues.MyQueue" if name == "follows" else "requests.MyRequest"
            raise ClaimError(f"the claim {name!r} names {what} by its dotted path, such as my_package.{example}")
        return value
    allowed = tuple(kinds) if name == "kind" else ALLOWED[name]
    words = {option.lower(): option for option in allowed}
    synonyms = {"true": "yes", "false": "no", "unordered": "none"}
    several = [part.strip().lower() for part in value.split(",")] if name == "ignores" else [value.lower()]
    chosen = {words.get(synonyms.get(part, part)) for part in several}
    if None in chosen:
        also = ", or several with commas between them" if name == "ignores" else ""
        raise ClaimError(f"the claim {name!r} cannot be {value!r}: write {name}={'|'.join(allowed)}{also}")
    return ",".join(option for option in allowed if option in chosen)


def apply_claims(found: Capabilities, claims: Mapping[str, str]) -> Capabilities:
    """Combine what was found with what is claimed, and with what an implementation is held to although it was not found.

    A claimed order or priority always counts, because the rules on them are about what is declared. Of the rest a claim counts
    where probing can tell nothing; where it contradicts what was found, the rule on claims fails and what was found counts,
    so that one mistake gives one message. What was not found but is expected counts unless the author disclaims it.
    """
    changes: dict[str, object] = {name.replace("-", "_"): True for name in held_to(found, claims)}
    if "order" in found.held:
        changes["order"] = Order(found.held["order"])
    if "order" in claims:
        changes |= {"order": Order(claims["order"]), "spoken_order": Order.NONE}
    if "priority" in claims:
        changes["priority"] = claims["priority"]
        changes["unprioritized"] = claims["priority"] == "none"
    if "ignores" in claims:
        changes["ignores"] = tuple(claims["ignores"].split(","))
    for name in UNSEEN:
        if name in claims:
            changes[name.replace("-", "_")] = claims[name] == "yes"
    return replace(found, **changes)  # type: ignore[arg-type]


def held_to(found: Capabilities, claims: Mapping[str, str]) -> dict[str, str]:
    """Return why an implementation is held to what was not found, by name; without the order, and what its author disclaims."""
    return {name: why for name, why in found.held.items() if name in FLAGS and claims.get(name) != "no"}


def untried(found: Capabilities, claims: Mapping[str, str]) -> dict[str, str]:
    """Return why rules are not covered that may apply, by id, unless the author says that they do not."""
    lines = {rule: (why, claim) for rule, (why, claim) in found.untried.items() if claims.get(claim) != "no"}
    return {rule: f"{why}; if it should not be, say --conformance-claim={claim}=no" for rule, (why, claim) in lines.items()}


def contradictions(found: Capabilities, claims: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Compare claims with what was found.

    Returns:
        The names claimed to be there and absent, and the names claimed to be absent and there.
    """
    attributed = [name for name in claims if name in FLAGS and name not in UNSEEN]
    absent = [name for name in attributed if claims[name] == "yes" and name not in found.names and name not in found.held]
    disclaimed = [name for name in attributed if claims[name] == "no" and name in found.names]
    return absent, disclaimed


def lost(before: Iterable[str], now: Iterable[str]) -> list[str]:
    """Return the capabilities that are no longer offered, by the names of claims, without those that depend on the run."""
    missing = sorted({*before} - {*now} - {"kept", "ordered", "peek-stub", "real-loop", "server"})
    return [name.upper() if name in ("fifo", "lifo") else name for name in missing]
