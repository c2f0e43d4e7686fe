"""The kinds of implementation: each is one object, and nothing lists them a second time.

Further ones come with other distributions, by entry points of the group ``queue_conformance.kinds``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from queue_conformance.implementation.capabilities import Capabilities


class Profile(str):
    """The contract that a run holds an implementation to: its name, such as ``scrapy``."""

    __slots__ = ()


SCRAPY = Profile("scrapy")
EXTERNAL_QUEUE = Profile("external-queue")
QUEUELIB = Profile("queuelib")
QCRAWL = Profile("qcrawl")


@dataclass(frozen=True, eq=False, repr=False)
class Kind(str):
    """What an implementation is: its name, such as ``scheduler``, and what tells it from other kinds.

    All else lies in a package, the folder of the kind: ``rules.toml``; ``MODULES``, the names of the modules with checks, in the
    order in which these are run; ``smoke``, the first use of a class; and ``commands``, whose ``LOCKSTEP`` has the commands
    of its sequences.

    Attributes:
        name: such as ``scheduler``.
        plural: what several of them are called.
        option: the option that names such a class, without dashes; ``also_by`` are further ones.
        profile: the contract that one is held to unless its author chooses another; ``behind_server`` is the one of those that
            store in a server.
        folders: the packages with its rules and its checks; the first one is its own.
        driver: the class of its driver, as ``module:Class``.
        shows: whether a class shows by its methods or its constructor that it is one.
        foreign: says in what a class that looks like one is made for another framework, or ``""``.
        describe: says what was found by probing, in one line.
        precedence: kinds with more are asked first whether a class is theirs.
        assumed: whether its option takes a class for one that shows no kind: its missing methods are the first thing to report.
        crawled: whether it is built from a crawler of Scrapy, and takes its settings.
        built_by_authors: whether a function of the author's may build it; others are built from the arguments of constructors.
        stores: whether it stores anything that a server could be for.
        documented: what is documented of released classes, and so holds for their subclasses: claims, and an order by name, by
            dotted path.
        clears: released classes that are documented to clear what they stored when they are closed, by dotted path, and the
            setting that says otherwise, or ``""``.
        by_profile: the checks that its two profiles judge differently.
        heeds: the claims that its driver or its checks look at, besides those that its rules name; by name, the setting without
            which a claim says nothing, or ``""``.
    """

    name: str
    _: KW_ONLY
    plural: str
    option: str
    profile: Profile
    folders: tuple[str, ...]
    driver: str
    shows: Callable[[type[Any]], bool]
    describe: Callable[[Capabilities], str]
    foreign: Callable[[type[Any]], str] = lambda cls: ""
    also_by: tuple[str, ...] = ()
    behind_server: Profile | None = None
    precedence: int = 0
    assumed: bool = False
    crawled: bool = False
    built_by_authors: bool = False
    stores: bool = True
    documented: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    clears: Mapping[str, str] = field(default_factory=dict)
    by_profile: frozenset[str] = frozenset()
    heeds: Mapping[str, str] = field(default_factory=dict)

    def __new__(cls, name: str, **attributes: Any) -> Kind:
        """Make a kind."""
        return super().__new__(cls, name)

    def __reduce__(self) -> Any:
        return kind_named, (str(self),)

    @property
    def of_the_kit(self) -> bool:
        """Whether it is one of the kit's own."""
        return self.folders[0].startswith("queue_conformance.")

    @property
    def words(self) -> str:
        """Its name as a sentence has it."""
        return self.replace("-", " ")

    @property
    def one(self) -> str:
        """Its name with the article, as in "an async queue"."""
        return f"{'an' if self[0] in 'aeiou' else 'a'} {self.words}"

    @property
    def suite(self) -> str:
        """The name of the class to subclass in tests."""
        return f"{self.words.title().replace(' ', '')}Suite"


@cache
def all_kinds() -> tuple[Kind, ...]:
    """Return all kinds: those of the kit, then those of other installed distributions.

    Raises:
        ImportError: if a kind of another distribution cannot be imported.
    """
    own: tuple[Kind, ...] = import_module("queue_conformance.kinds").KINDS
    return (*own, *(point.load() for point in entry_points(group="queue_conformance.kinds")))


@cache
def all_profiles() -> tuple[Profile, ...]:
    """Return the contracts of all kinds."""
    return profiles_of(all_kinds())


def profiles_of(kinds: Iterable[Kind]) -> tuple[Profile, ...]:
    """Return the contracts of some kinds."""
    return tuple(dict.fromkeys(name for kind in kinds for name in (kind.behind_server, kind.profile) if name))


def kind_named(name: str) -> Kind:
    """Return a kind by its name.

    Raises:
        ValueError: if there is none; the message is one line.
    """
    for kind in all_kinds():
        if kind == name:
            return kind
    raise ValueError(f"{name!r} is no kind of implementation")


def profile_named(name: str) -> Profile:
    """Return a profile by its name.

    Raises:
        ValueError: if there is none; the message is one line.
    """
    for profile in all_profiles():
        if profile == name:
            return profile
    raise ValueError(f"{name!r} is no profile")
