"""One implementation, as its author describes it: in pyproject.toml, by arguments of a call, or by attributes of a class."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from queue_conformance.config.options import BY_NAME, CLASS_OPTIONS, DESCRIBED, DESCRIBING, OF_A_RUN, SERVERS, TABLE
from queue_conformance.config.values import UsageError, claims_of, converted, is_address, settings_of
from queue_conformance.processes.files import text_of
from queue_conformance.specification.suggestion import did_you_mean

if TYPE_CHECKING:
    from queue_conformance.engine.kept_store import KeptStore

CRAWL = "crawl"
"""The kind of whole crawls with a project, which the classes of the project are not."""

_CLAIMED = ("kind", "profile")
"""Keys that stand for a claim."""


@dataclass(frozen=True, slots=True)
class Target:
    """One implementation to test.

    Attributes:
        name: what reports call it: its name in pyproject.toml, or else the dotted path of its class.
        option: the option that names its class, without dashes.
        path: the dotted path of its class.
        settings: settings by name.
        claims: what its author claims, by name.
        server: the server behind it, or ``""``.
        level: the level whose failed rules fail the run.
        of_project: whether a project names it, whose settings and claims are also for others.
        kept: what earlier versions of it have stored.
    """

    name: str
    option: str
    path: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    claims: Mapping[str, str] = field(default_factory=dict)
    server: str = ""
    level: str = "MUST"
    of_project: bool = False
    kept: tuple[KeptStore, ...] = ()


@dataclass(frozen=True, slots=True)
class Common:
    """What holds for every implementation that does not say otherwise: attributes of :class:`Target`, and one more.

    Attributes:
        on_command_line: the options that the command line gives; these win over what is said of one implementation.
        kept: what earlier versions of any class have stored.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    claims: Mapping[str, str] = field(default_factory=dict)
    server: str = ""
    level: str = "MUST"
    on_command_line: frozenset[str] = frozenset()
    kept: tuple[KeptStore, ...] = ()

    def kept_by(self, name: str, path: str, claims: Mapping[str, str]) -> tuple[KeptStore, ...]:
        """Return what earlier versions of a class, or whole crawls with some spiders of a project, have stored."""
        if claims.get("kind") == CRAWL:
            return tuple(store for store in self.kept if store.kind == CRAWL and same_project(store.name, name))
        return tuple(store for store in self.kept if store.kind != CRAWL and store.path == path)

    def over(self, option: str, own: Mapping[str, Any], common: Mapping[str, Any]) -> dict[str, Any]:
        """Return what an implementation says, and what is common; where both speak, the command line wins."""
        return {**own, **common} if option in self.on_command_line else {**common, **own}


def describe(name: str, option: str, path: str, said: Mapping[str, Any], common: Common, where: str = "") -> Target:
    """Combine what is said of one implementation with what holds for all.

    Args:
        name: what reports call it.
        option: the option that would name its class, without dashes, or ``""``.
        said: what is said of it, by the names in ``DESCRIBING``, ``kind`` and ``profile``; nothing where it is ``None`` or empty.
        where: what messages add to such a name, such as `` in [a table]``.

    Raises:
        UsageError: if something said makes no sense.
    """
    given = {key: None if _nothing(said.get(key)) else said[key] for key in DESCRIBING}
    values = {key: converted(BY_NAME[option], given[key], f"{key}{where}") for key, option in DESCRIBING.items()}
    claims = claims_of(values["claims"], f"claims{where}")
    for key in _CLAIMED:
        if not _nothing(said.get(key)):
            claimed = [f"{name}={value}" for name, value in claims.items() if name == key]
            claims |= claims_of([*claimed, f"{key}={said[key]}"], f"{key}{where}")
    claims = common.over(DESCRIBING["claims"], claims, common.claims)
    return Target(
        name,
        option,
        path,
        common.over(DESCRIBING["settings"], settings_of(values["settings"], f"settings{where}"), common.settings),
        claims,
        common.server if DESCRIBING["server"] in common.on_command_line or not given["server"] else values["server"],
        common.level if DESCRIBING["level"] in common.on_command_line or not given["level"] else values["level"],
        kept=common.kept_by(name, path, claims),
    )


def same_project(one: str, other: str) -> bool:
    """Whether two names of whole crawls, ``module`` or ``module:spider,spider``, are of one project, and share a spider."""
    (module, _, some), (another, _, others) = (name.partition(":") for name in (one, other))
    return module == another and not (some and others and {*some.split(",")}.isdisjoint(others.split(",")))


def _nothing(value: object) -> bool:
    """Whether a value says nothing: there is none, or it is empty."""
    return value is None or (isinstance(value, (str, Mapping, Sequence)) and not value)


def read_described(table: Any, common: Common) -> Iterator[Target]:
    """Yield the implementations that ``[tool.queue_conformance.implementations]`` describes.

    Raises:
        UsageError: if something in it makes no sense.
    """
    if not isinstance(table, Mapping):
        raise UsageError(f"{DESCRIBED} in [{TABLE}]: write a table [{TABLE}.{DESCRIBED}.NAME] for each one")
    for name, entry in table.items():
        where = f"[{TABLE}.{DESCRIBED}.{name}]"
        if not isinstance(entry, Mapping):
            raise UsageError(f"{DESCRIBED} in [{TABLE}]: write a table {where}, not {entry!r}")
        said = {key.replace("_", "-"): value for key, value in entry.items()}
        _refuse_unknown(entry, [*CLASS_OPTIONS, *DESCRIBING, "profile"], where)
        named = [option for option in CLASS_OPTIONS if option in said]
        if len(named) != 1 or not isinstance(said[named[0]], str):
            raise UsageError(f"{where}: name one class, by one of {', '.join(CLASS_OPTIONS)}")
        (path,) = converted(BY_NAME[named[0]], said[named[0]], f"{named[0]} in {where}")
        yield describe(name, named[0], path, said, common, f" in {where}")


def chosen(targets: Sequence[Target], names: Sequence[str]) -> list[Target]:
    """Return the targets of some names, or all.

    Raises:
        UsageError: if a name is unknown.
    """
    known = {target.name: target for target in targets}
    for name in names:
        if name not in known:
            raise UsageError(f"nothing is called {name!r} in [{TABLE}]{did_you_mean(name, known)}")
    return [known[name] for name in names] if names else list(known.values())


def read_table(config: pytest.Config) -> dict[str, Any]:
    """Return ``[tool.queue_conformance]`` of the pyproject.toml in pytest's root directory, with dashes in the names of its keys.

    Raises:
        UsageError: if it cannot be read, or has unknown keys.
    """
    file = config.rootpath / "pyproject.toml"
    if not file.is_file():
        return {}
    try:
        tool = tomllib.loads(text_of(file)).get("tool", {})
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{file.name}: {error}") from error
    tool = tool if isinstance(tool, Mapping) else {}
    other = TABLE.rpartition(".")[2].replace("_", "-")
    if other in tool:
        raise UsageError(f"{file.name}: write [{TABLE}], not [tool.{other}]")
    given = tool.get("queue_conformance", {})
    if not isinstance(given, Mapping):
        raise UsageError(f"{file.name}: write a table [{TABLE}], not {given!r}")
    table = {name.replace("_", "-"): value for name, value in given.items()}
    if of_a_run := [name for name in table if name in OF_A_RUN]:
        raise UsageError(f"[{TABLE}] has no key {of_a_run[0]!r}: give --{of_a_run[0]} on the command line")
    names = [name for name in BY_NAME if name not in OF_A_RUN]
    _refuse_unknown(given, [*names, DESCRIBED, SERVERS], f"[{TABLE}]")
    return table


def _refuse_unknown(table: Mapping[str, Any], names: Sequence[str], where: str) -> None:
    """Raise ``UsageError`` for a key that nobody reads."""
    for name in table:
        if name.replace("_", "-") not in names:
            raise UsageError(f"{where} has no key {name!r}{did_you_mean(name.replace('_', '-'), names)}")


def kept_in(given: Iterable[str | os.PathLike[str]], where: str, directory: Path | str = "") -> tuple[KeptStore, ...]:
    """Return what earlier versions have stored.

    Args:
        given: what ``--conformance-kept`` says.
        where: what says so, for messages.
        directory: from where paths lead, if not from the working directory.

    Raises:
        UsageError: if one is no such directory.
    """
    if not given:
        return ()
    from queue_conformance.engine import kept_store
    from queue_conformance.implementation.loading import LoadError

    try:
        return tuple(kept_store.load(Path(directory, one)) for one in given)
    except LoadError as error:
        raise UsageError(f"{where}: {error}") from error


def expect_writers(kept: Iterable[KeptStore], targets: Sequence[Target], where: str) -> None:
    """Refuse what was stored by classes that are not tested.

    Args:
        where: where the stores were given, for the message.

    Raises:
        UsageError: if there is such.
    """
    for line in unasked(kept, targets):
        raise UsageError(f"{where}: {line} here")


def unasked(kept: Iterable[KeptStore], targets: Collection[Target]) -> Iterator[str]:
    """Yield a line for each store that is asked of none of these."""
    for store in kept:
        if not any(store in target.kept for target in targets):
            yield f"{store.told} was written by {store.name}, which is not tested"


def allowed(given: Iterable[str], directory: Path | str = "") -> tuple[str, ...]:
    """Return what a class may touch besides: addresses, and paths from the root.

    Args:
        given: what ``--conformance-allow`` says.
        directory: from where paths lead, if not from the working directory.

    Raises:
        UsageError: if one is neither.
    """
    found = converted(BY_NAME["conformance-allow"], given, "allow")
    return tuple(one if is_address(one) else os.path.abspath(os.path.join(directory, one)) for one in found)
