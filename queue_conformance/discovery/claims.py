"""Claims that say nothing of an implementation: each is refused in one line, and not passed over in silence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set

from queue_conformance.discovery.smoke import CLAIMS
from queue_conformance.engine.registry import part_of
from queue_conformance.implementation.capabilities import (
    ALLOWED,
    CLASSES,
    ERRORS,
    FLAGS,
    UNSEEN,
    Capabilities,
    apply_claims,
    contradictions,
)
from queue_conformance.specification import Rule, load
from queue_conformance.specification.applicability import installed_releases, rules_of, why_not_applicable
from queue_conformance.specification.kinds import EXTERNAL_QUEUE, Kind, Profile
from queue_conformance.specification.words import listed

EXCUSES = ("probabilistic",)
"""The claims that are there to be asked for less."""

_ALONE = "drop it, or give it to those classes alone that it is about, in [tool.queue_conformance.implementations]"


def understood(kind: Kind) -> dict[str, tuple[str, ...] | None]:
    """Return the claims that say something of a kind, and the values that do; ``None`` where any does.

    What rules and checks are about can be claimed, unless probing finds it out, and then tests the claim. What is said for all
    classes can be taken back for one by ``no``.
    """
    named = {name for rule in _rules(kind) for name in (*rule.needs, *rule.unless, *rule.must_if, *rule.should_if)}
    shown = {*part_of(kind, "smoke").SHOWN}
    found: dict[str, tuple[str, ...] | None] = {}
    found |= {name: ALLOWED[name] for name in FLAGS if name in shown or (name in UNSEEN and name in {*named, *kind.heeds})}
    found |= {name: ("no",) for name in FLAGS if name in {*named, *kind.heeds} and name not in found}
    if not named.isdisjoint({"fifo", "lifo", "ordered"}):
        found["order"] = ALLOWED["order"]
    *directions, none = ALLOWED["priority"]
    priorities = directions if "by-priority" in named or "priority" in kind.heeds else []
    priorities += [none] if not named.isdisjoint({"by-priority", "unprioritized"}) else []
    found |= {"priority": tuple(priorities)} if priorities else {}
    found["profile"] = tuple(value for value in ALLOWED["profile"] if value == kind.profile or _has(kind, value))
    of_any_value = [name for name in (*ERRORS, *CLASSES, "ignores") if name in kind.heeds]
    return found | dict.fromkeys([*of_any_value, "kind", "follows"])


def _rules(kind: Kind) -> list[Rule]:
    return [rule for rule in load().values() if kind in rule.kinds]


def _has(kind: Kind, profile: str) -> bool:
    """Whether a profile has a rule of this kind, besides the one that is in all of them."""
    return any(profile in rule.profiles for rule in _rules(kind) if rule.id != CLAIMS)


def foreign(kind: Kind, claims: Mapping[str, str], settings: Iterable[str]) -> str:
    """Return a line on the first claim that says nothing of a kind, or ``""``.

    Args:
        settings: the names of the settings that the implementation is built with.
    """
    known = understood(kind)
    for name, value in claims.items():
        said = f"the claim {_said(name, value)} says nothing of {kind.plural}"
        values = known.get(name, ())
        if values is not None and value not in values:
            instead = f"; write {name}={listed(values, 'or')}, or" if values else ":"
            return f"{said}{instead} {_ALONE}"
        if (setting := kind.heeds.get(name, "")) and setting not in settings:
            return f"{said} without the setting {setting}; give that, or drop it"
        if name == "follows" and not any(value in rule.binds for rule in _rules(kind)):
            return f"{said}, whose rules do not speak of that class: drop it"
    return ""


def without_effect(
    kind: Kind,
    claims: Mapping[str, str],
    lineage: Set[str],
    found: Capabilities,
    contracts: Iterable[Profile | None],
    *,
    refuted: bool = False,
) -> str:
    """Return a line on the first claim by which no rule is asked that is not asked without it, or ``""``.

    Args:
        lineage: the dotted paths of the class and of its base classes.
        found: what it offers.
        contracts: what it is held to, and measured by.
        refuted: whether a claim that probing finds out was shown not to hold, which says enough.
    """
    profiles = [profile for profile in contracts if profile]

    def asked(name: str, value: str) -> set[tuple[str, str]]:
        changed = {**claims, name: value}
        offered = apply_claims(found, changed).names
        rules = [rule for profile in profiles for rule in rules_of(load(), kind, profile, lineage, changed).values()]
        return {(rule.id, rule.level) for rule in rules if not why_not_applicable(rule, offered, installed_releases())}

    for name in (name for name in UNSEEN if claims.get(name) == "yes" and name not in kind.heeds):
        more, less = asked(name, "yes"), asked(name, "no")
        if more <= less and (more == less or name not in EXCUSES):
            return f"the claim {name} changes nothing here: {_lacking(kind, name, apply_claims(found, claims).names, profiles)}"
    if "ignores" in claims and "filters" not in apply_claims(found, claims).names:
        return "the claim ignores changes nothing here: it filters nothing; drop it"
    shown = part_of(kind, "smoke").SHOWN
    for name in contradictions(apply_claims(found, claims), claims)[0] if not refuted else ():
        if name in shown:
            asks = ": it asks the downloader for no slots, which the rules are about" if name == "slots" else ""
            return f"the claim {name} changes nothing here, for probing does not find that it is so{asks}; drop it"
    for name in ERRORS:
        if name in claims and kind.behind_server and EXTERNAL_QUEUE not in profiles:
            return (
                f"the claim {name} changes nothing here: the profile {profiles[0]} knows no such error; "
                f"claim profile={EXTERNAL_QUEUE} too, lend a server by --queue-server, or drop it"
            )
    return ""


def _lacking(kind: Kind, name: str, offered: Set[str], profiles: Iterable[Profile]) -> str:
    """Return why the rules on a claim are not asked, and what to do."""
    rules = [rule for rule in _rules(kind) if name in {*rule.needs, *rule.must_if, *rule.should_if}]
    asked = [rule for rule in rules if not rule.profiles.isdisjoint(profiles)]
    lacking = [(rule.id, needed) for rule in asked or rules if (needed := rule.needs - offered)]
    if not lacking:
        return f"no rule on it is asked by the profile {listed(profiles)}; drop it"
    rule, needed = lacking[0]
    ways = ["lend a server by --queue-server"] if "server" in needed else []
    ways += ["name what an earlier version has stored by --conformance-kept"] if "kept" in needed else []
    ways += [f"claim {each} too" for each in sorted(needed - {"server", "kept"})]
    return f"{rule} needs {listed(sorted(needed))}; {listed([*ways, 'drop it'], 'or')}"


def _said(name: str, value: str) -> str:
    return name if value == "yes" else f"{name}={value}"
