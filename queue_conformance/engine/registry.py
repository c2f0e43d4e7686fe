"""The registered checks, and the modules of each kind: all that the engine knows about kinds.

A check is a function that gets a :class:`~queue_conformance.engine.context.CheckContext` and tests the rules that it names. It
raises nothing if they pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING

from queue_conformance.specification.kinds import Kind, all_kinds

if TYPE_CHECKING:
    from pathlib import Path

    from queue_conformance.engine.context import CheckContext
    from queue_conformance.engine.driver import Driver
    from queue_conformance.engine.recording import Recorder
    from queue_conformance.implementation import Implementation


@dataclass(frozen=True, slots=True)
class Check:
    """A test of some rules.

    Attributes:
        name: the id of its first rule, or a word such as ``machine``.
        kinds: the kinds of implementation that it can drive.
    """

    name: str
    rules: tuple[str, ...]
    kinds: frozenset[Kind]
    function: Callable[[CheckContext], None]
    module: str

    @property
    def is_machine(self) -> bool:
        """Whether it generates sequences, or replays one; its name says so."""
        return self.name.startswith("machine")

    @property
    def crawls(self) -> bool:
        """Whether it makes whole crawls, which go on otherwise after what others have shown; its kind says so."""
        return getattr(import_module(self.module.partition(".checks.")[0]), "CRAWLS", False)


_registered: dict[tuple[str, frozenset[Kind]], Check] = {}


def check(
    *rules: str, kinds: Iterable[Kind] = (), name: str | None = None
) -> Callable[[Callable[[CheckContext], None]], Callable[[CheckContext], None]]:
    """Register a function as a check.

    Args:
        rules: the ids of the rules that it tests; an unknown id is found by the kit's own tests.

    Raises:
        ValueError: if two checks of one kind have the same name.
    """

    def register(function: Callable[[CheckContext], None]) -> Callable[[CheckContext], None]:
        module = function.__module__
        added = Check(name or rules[0], rules, frozenset(kinds) or kinds_at(module), function, module)
        for known in _registered.values():
            again = known.module == module and known.function.__qualname__ == function.__qualname__
            if known.name == added.name and known.kinds & added.kinds and not again:
                raise ValueError(f"two checks are called {added.name!r}")
        _registered[added.name, added.kinds] = added
        return function

    return register


def kinds_at(module: str) -> frozenset[Kind]:
    """Return the kinds to whose packages a module belongs."""
    return frozenset(kind for kind in all_kinds() if any(module.startswith(f"{folder}.") for folder in kind.folders))


def checks_of(kind: Kind) -> list[Check]:
    """Return the checks that can drive a kind, in the order in which they are run.

    That is the order of the modules of the kind, after what it takes from another; the machines come last.
    """
    names = [f"{folder}.{module}" for folder in kind.folders for module in import_module(folder).MODULES]
    places = {import_module(name).__name__: place for place, name in enumerate(names)}
    found = (check for check in _registered.values() if kind in check.kinds)
    return sorted(found, key=lambda check: (check.is_machine, places.get(check.module, -1)))


def preload(checks: Iterable[Check], implementation: Implementation) -> None:
    """Import what these checks of an implementation need, once here and not in each process that is forked for one."""
    for folder in {check.module.partition(".checks.")[0] for check in checks}:
        getattr(import_module(folder), "preload", lambda implementation: None)(implementation)


def part_of(kind: Kind, module: str) -> ModuleType:
    """Return a module of the main package of a kind."""
    return import_module(f"{kind.folders[0]}.{module}")


def has_part(kind: Kind, module: str) -> bool:
    """Whether the main package of a kind has a module."""
    return find_spec(f"{kind.folders[0]}.{module}") is not None


def make_driver(implementation: Implementation, directory: Path, recorder: Recorder) -> Driver:
    """Return a driver for an implementation, which may store below a directory."""
    # Scrapy takes a quarter of a second to import: only for those who need it.
    module, _, name = implementation.kind.driver.partition(":")
    driver: type[Driver] = getattr(import_module(module), name)
    return driver(implementation, directory, recorder)
