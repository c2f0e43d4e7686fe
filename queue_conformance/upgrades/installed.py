"""What is installed in an environment: what a distribution needs, and how to install it once more."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

KIT = "pytest-queue-conformance"

LIST = """
import json
import sys
from importlib.metadata import distributions, packages_distributions

found = [[one.metadata["Name"], one.version, one.requires or [], one.read_text("direct_url.json")] for one in distributions()]
print(json.dumps([sys.version_info[:2], sys.implementation.cache_tag, found, packages_distributions()]))
"""
"""What an interpreter runs to say what is installed; it imports nothing but the standard library."""


@dataclass(frozen=True)
class Installed:
    """One distribution that is installed.

    Attributes:
        name: as it is written in its metadata.
        version: its version.
        requires: its requirements.
        origin: where it was installed from, if not from an index: what ``direct_url.json`` says.
    """

    name: str
    version: str
    requires: tuple[str, ...] = ()
    origin: Mapping[str, Any] | None = None

    @property
    def requirement(self) -> str:
        """What installs it once more."""
        if not self.origin:
            return f"{self.name}=={self.version}"
        url, vcs = self.origin["url"], self.origin.get("vcs_info")
        return f"{self.name} @ {vcs['vcs']}+{url}@{vcs['commit_id']}" if vcs else f"{self.name} @ {url}"


@dataclass(frozen=True)
class Listing:
    """What is installed in an environment.

    Attributes:
        python: the version of its interpreter, as two numbers.
        tag: what names the interpreters that can share what is compiled.
        by_name: distributions, by their canonical names.
        modules: by the name of a module that can be imported, the distributions that have it.
    """

    python: tuple[int, int]
    tag: str
    by_name: Mapping[str, Installed]
    modules: Mapping[str, Collection[str]]

    @classmethod
    def read(cls, text: str) -> Listing:
        """Return what ``LIST`` has printed."""
        (major, minor), tag, found, modules = json.loads(text)
        read: dict[str, Installed] = {
            canonicalize_name(name): Installed(name, version, tuple(requires), json.loads(origin) if origin else None)
            for name, version, requires, origin in reversed(found)  # the first one on the path is the one that is imported
        }
        return cls((major, minor), tag, read, modules)

    def lacks(self, requirement: Requirement) -> bool:
        """Whether a requirement is not met."""
        found = self.by_name.get(canonicalize_name(requirement.name))
        return found is None or not requirement.specifier.contains(found.version, prereleases=True)

    def needed_by(self, names: Iterable[str]) -> list[Installed]:
        """Return distributions by their names, as far as they are installed, and all that they need."""
        about: dict[str, Any] = {**default_environment(), "python_version": ".".join(map(str, self.python))}
        found: dict[str, Installed] = {}
        todo = [*names]
        while todo:
            name = canonicalize_name(todo.pop())
            if name in self.by_name and name not in found:
                found[name] = self.by_name[name]
                todo += [one.name for one in _wanted(self.by_name[name].requires, about)]
        return [found[name] for name in sorted(found)]


def installed_kit() -> Installed:
    """Return the kit that runs."""
    found = Distribution.from_name(KIT)
    origin = found.read_text("direct_url.json")
    return Installed(KIT, found.version, tuple(found.requires or ()), json.loads(origin) if origin else None)


def of_the_kit() -> list[Requirement]:
    """Return what the kit needs."""
    return [*_wanted(installed_kit().requires, {**default_environment()})]


def _wanted(requires: Iterable[str], about: Mapping[str, Any]) -> Iterator[Requirement]:
    for text in requires:
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate({**about, "extra": ""}):
            yield requirement


def link_kit(where: Path) -> None:
    """Link the kit into a directory that another interpreter has on its path."""
    where.mkdir(parents=True)
    (where / "queue_conformance").symlink_to(Path(__file__).parent.parent, target_is_directory=True)


def link_needed(where: Path, listing: Listing, given: Collection[str]) -> None:
    """Link what the kit needs beside it, for an interpreter that can share what is compiled.

    Args:
        where: the directory.
        listing: what the other environment has; what it has is not linked, so that it stays what it is.
        given: what the other environment must have itself.
    """
    own = {canonicalize_name(one.name): one for one in reversed([*distributions()])}
    todo, linked = of_the_kit(), set(given)
    while todo:
        requirement = todo.pop()
        name = canonicalize_name(requirement.name)
        if name in linked or not listing.lacks(requirement) or name not in own:
            continue
        linked.add(name)
        tops = {file.parts[0] for file in own[name].files or ()} - {"..", "__pycache__"}
        for top in tops:
            (where / top).symlink_to(Path(str(own[name].locate_file(top))).resolve())
        todo += _wanted(own[name].requires or (), {**default_environment()})
