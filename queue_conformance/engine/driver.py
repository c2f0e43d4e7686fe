"""What all drivers share: how they build a queue, and how they make its items."""

from __future__ import annotations

import inspect
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

from queue_conformance.engine.closing import NoMore
from queue_conformance.engine.handling import is_of_kit, total
from queue_conformance.engine.quoting import Quotation, quote
from queue_conformance.engine.recording import OperationRaised, Recorder
from queue_conformance.engine.scripts import assemble
from queue_conformance.engine.sources import Sources, among
from queue_conformance.engine.subject import Item, Operations, Subject
from queue_conformance.engine.variety import Variety
from queue_conformance.implementation import Implementation
from queue_conformance.implementation.capabilities import Capabilities
from queue_conformance.implementation.signatures import FACTORY_ARGUMENTS
from queue_conformance.script_support import support

VARIABLES = ("queue", "other", "third", "fourth")
"""The names that scripts give to queues that are open side by side."""

TYPE = "type({})"
"""How scripts write what came out altered, where that is the class of an item."""

TIMES = 3
"""How often it is tried whether the fields of items matter: what depends on time fails now and then with any of them."""

_FEWER = {1: ", plain ones pass", 2: " together, with one alone they pass"}
"""What a report says of items in which less differs, by the number of fields that matter."""


class Driver(ABC):
    """Opens implementations of one kind, which may store below a directory, and makes items for them."""

    constructor_rule: ClassVar[str]
    """The rule that fails if opening raises."""

    interface_rule: ClassVar[str]
    """The rule that fails if methods are missing."""

    lives_without_close: ClassVar[bool] = False
    """Whether what has no ``close`` is tested nevertheless, as far as that goes; see :attr:`without_close`."""

    subject: ClassVar[type[Subject]] = Subject
    """What records the operations of what is opened."""

    rules: ClassVar[Mapping[str, str]] = {}
    """The rule that an operation breaks if it raises, or does not return."""

    instead: ClassVar[Mapping[str, str]] = {}
    """The rule that fails instead of one that does not apply to the implementation."""

    leak_rule: ClassVar[str] = ""
    """The rule that fails if files stay open that the implementation does not need; of what holds many at once, none."""

    reopen_rule: ClassVar[str] = ""
    """The rule that fails where it cannot be built a second time, if that is another one."""

    fault_rule: ClassVar[str] = ""
    """The rule that fails where a fault may be why, instead of a MUST that speaks of none."""

    own_directory: ClassVar[bool] = True
    """Whether each sequence needs a directory of its own, although the last one has left nothing in its directory."""

    definitions: ClassVar[tuple[ModuleType, ...]] = ()
    """Modules whose definitions scripts may quote."""

    variety: ClassVar[Variety] = Variety()
    """What items differ in besides their numbers."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Let what looks at what came out raise nothing, whatever that is."""
        super().__init_subclass__(**keywords)
        for name, otherwise in _LOOKS:
            if name in vars(cls):
                setattr(cls, name, total(vars(cls)[name], otherwise))

    impatient = False
    """Whether what must happen is waited for only as long as it mostly takes, because what does not is tried again elsewhere."""

    def __init__(self, implementation: Implementation, directory: Path, recorder: Recorder) -> None:
        self.implementation = implementation
        self.directory = directory
        self.recorder = recorder
        self._items: dict[int, Item] = {}
        self._mixed: Sequence[str] = ()
        self.vary(())

    def renew(self, directory: Path) -> None:
        """Begin again in another scratch directory."""
        self.directory = directory

    @property
    def gave_up(self) -> bool:
        """Whether something that must happen was waited for in vain."""
        return False

    # --- Variety of items --------------------------------------------------------------------------------------------

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields in which items may differ without a rule of their own that speaks of them."""
        return self.variety.fields

    def vary(self, fields: Iterable[str]) -> None:
        """Let items differ in these fields from now on; in none of them they are plain."""
        self.varied = frozenset(fields)
        self.given: set[str] = set()  # those that an item has had since then
        self._items.clear()

    def fields_of(self, number: int) -> dict[str, str]:
        """Return the source of each field that the item of a number has."""
        found = self.variety.of(number, self.varied)
        self.given.update(found)
        return found

    def many(self, made: str, names: Sequence[str], numbers: range) -> str:
        """Return the source of very many items.

        Args:
            made: how the item of a ``number`` is made, but for the last parenthesis; further arguments give it fields.
            names: the fields that are mixed in them.
        """
        self._mixed = names
        mixed = self.variety.mixed(names, self.varied)
        self.given.update(name for row in mixed for name in row)
        rows = ", ".join(f"dict({', '.join(row.values())})" if row else "{}" for row in mixed)
        if len(mixed) == 1:
            return f"{made}) for number in {numbers}"
        if len(mixed) == 2:
            return f"{made}, **[{rows}][number % 2]) for number in {numbers}"
        return f"{made}, **fields[number % {len(mixed)}]) for fields in [[{rows}]] for number in {numbers}"

    @contextmanager
    def varying(self, fields: Iterable[str]) -> Iterator[None]:
        """Let items differ in these fields inside."""
        before = self.varied
        self.vary(fields)
        try:
            yield
        finally:
            self.vary(before)

    def simpler(self) -> Iterator[None]:
        """Let items differ less each time, as the next is asked for: first in nothing, then in one field, then in two."""
        before = self.varied
        fewer = [*self.variety.fewer, *self.variety.pairs_of(self._mixed)] if before else []
        for fields in filter(before.issuperset, fewer):
            self.vary(fields)
            yield
        self.vary(before)

    def fields_matter(self, fails: Callable[[], bool | None]) -> bool:
        """Whether something fails each time with the one or two fields in which items differ now, and never with fewer.

        Args:
            fails: runs it, and returns whether it fails alike; ``None`` if that proves nothing.
        """
        own = self.varied
        if len(own) not in _FEWER:
            return False
        for fields in [own, *combinations(sorted(own), len(own) - 1)] * TIMES:
            with self.varying(fields):
                if fails() is not (own == {*fields}):
                    return False
        return True

    def only_with(self, fields: Collection[str]) -> str:
        """Return what a report says of a failure for which one or two fields matter."""
        told = " and ".join(map(self.variety.told, sorted(fields, key=self.fields.index)))
        return f"; only with {told}{_FEWER[len(fields)]}"

    @property
    def without_close(self) -> bool:
        """Whether what is tested has no ``close``, as its first use has shown."""
        broken = self.interface_rule in self.implementation.failed  # it may lack others
        return self.lives_without_close and broken and not callable(getattr(self.implementation.cls, "close", None))

    @property
    def absent(self) -> Collection[str]:
        """What else is missing, without which it is tested as far as that goes."""
        return ()

    @staticmethod
    def closing(closed: Callable[[], None]) -> Callable[..., Any]:
        """Return the ``close`` that what has none gets, for functions of the kit that close it: it notes that, and no more."""
        return lambda *_reason: closed()

    def after_fork(self) -> None:
        """In a forked process, let go of what belongs to its parent."""

    @property
    def class_name(self) -> str:
        """What scripts call the class."""
        if not self.implementation.importable:
            return self.implementation.cls.__name__
        return self.implementation.path.removeprefix(f"{self.module_name}.")

    @property
    def module_name(self) -> str:
        """The module from which scripts import it."""
        parts = self.implementation.path.split(".")
        ends = range(len(parts) - 1, 0, -1)
        return next((name for end in ends if (name := ".".join(parts[:end])) in sys.modules), parts[0])

    @property
    def factory_name(self) -> str:
        """What scripts call the author's function that builds a queue."""
        return _name_of(self.implementation.factory, "open_queue")

    @property
    def prepare_name(self) -> str:
        """What scripts call the author's function that prepares spiders, or ``""``."""
        return _name_of(self.implementation.prepare, "prepare_spider") if self.implementation.prepare else ""

    @property
    def builder_name(self) -> str:
        """What scripts call the author's function, or else the class."""
        return self.factory_name if self.implementation.factory is not None else self.class_name

    def author_builds(self, **given: tuple[str, Any]) -> tuple[str, Callable[[], Any]]:
        """Return how the author's function builds a queue.

        Args:
            given: by name, an expression for each argument, and its value. The function takes those of ``cls``, ``crawler``
                and ``key`` that it wants; all others are settings, which it must take.

        Returns:
            The Python expression, and a function that does the same.
        """
        factory = self.implementation.factory
        assert factory is not None
        wanted = inspect.signature(factory).parameters
        given = {name: both for name, both in given.items() if name in wanted or name not in FACTORY_ARGUMENTS}
        source = ", ".join(f"{name}={source}" for name, (source, _) in given.items())
        values = {name: value for name, (_, value) in given.items()}
        return f"{self.factory_name}({source})", lambda: factory(**values)

    @abstractmethod
    def construction(self, name: str, **options: Any) -> tuple[str, Callable[[], Any]]:
        """Return the Python expression that builds a queue, and a function that does the same."""

    def open(self, name: str = "0", variable: str = "queue", rule: str | None = None, **options: Any) -> Any:
        """Build a queue, which scripts assign to a variable; if this raises, ``rule`` fails, or else ``constructor_rule``."""
        source, build = self.construction(name, **options)
        raw = self.recorder.call(f"{variable} = {source}", rule or self.constructor_rule, build)
        return self.subject(raw, variable, self.operations(), self.rules)

    def operations(self) -> Operations:
        """Return what runs operations on a subject that no check opens."""
        return Operations(self.recorder, Sources(str(self.directory)))

    def store_one(self) -> Iterator[None]:
        """Use an implementation once; yields when it is open, and when it has stored an item."""
        queue = self.open()
        yield
        queue.push(self.item(1))
        yield
        queue.pop()
        queue.close()

    def attempt(self, experiment: Callable[[], bool], directory: Path) -> bool:
        """Try out whether the implementation offers something; if it raises, it does not."""
        self.renew(directory)
        self.recorder.restart()
        try:
            return experiment()
        except (OperationRaised, NoMore):
            return False
        except Exception as error:  # because what came out is nothing that an item could be
            if is_of_kit(error):
                raise
            return False

    def waiting(self) -> Callable[[], object] | None:
        """Return an operation for which nothing is there or ready, which shows whether the class waits, or ``None``."""
        return None

    @abstractmethod
    def probe(self, workdir: Callable[[], Path]) -> Capabilities:
        """Find out by experiments, each in an empty directory, what the implementation offers; no rule is tested here."""

    def forgets(self, expire: Callable[[], int], directory: Path) -> bool:
        """Whether what it has been told is gone after a time that may be meant.

        Args:
            expire: lets all that has a time to live in its server come to its end, and returns how much that was.
            directory: an empty one.
        """
        return False

    @abstractmethod
    def _item(self, number: int) -> Item:
        """Make the item of that number; equal numbers give equal items, different numbers different ones."""

    def item(self, number: int) -> Item:
        """Return the item of that number, always the same object."""
        if number not in self._items:
            self._items[number] = replace(self._item(number), number=number)
        return self._items[number]

    @abstractmethod
    def evaluate(self, source: str) -> Item:
        """Make an item from a Python expression."""

    @abstractmethod
    def identify(self, value: Any) -> int | None:
        """Return the number of an item that came out, or ``None`` if it is not one of the pool."""

    @abstractmethod
    def same(self, value: Any, item: Item) -> bool:
        """Whether what came out is that item of the pool."""

    def key(self, value: Any) -> tuple[Any, str] | None:
        """Return a key for an item that does not equal its copies, and how it is written, as ``{}.url``; else ``None``."""
        return None

    def among_source(self, variable: str, items: Iterable[Item]) -> str:
        """Return an expression that tests whether a variable holds one of some items, or ``None`` if there are none."""
        keys = [(item, self.key(item.value)) for item in items]
        form = next((key[1] for _, key in keys if key), "{}")
        literals = [repr(key[0]) if key else item.source for item, key in keys]
        return among(variable, form, literals) if literals else f"{variable} is None"

    def altered(self, value: Any, item: Item) -> tuple[str, object, object]:
        """Return what of an item came out altered, as scripts write it (``{}.body``); that of ``value``, and that of the item."""
        if type(value) is not type(item.value):
            return TYPE, type(value), type(item.value)
        return "{}", value, item.value

    @abstractmethod
    def setup(self, body: str) -> list[str]:
        """Return the lines of a script that come before ``body``, which begins with the first operation."""

    def imports(self, body: str) -> list[str]:
        """Return the import lines that a script needs in addition to those that :mod:`scripts` adds by name."""
        return []

    def script(self, title: str, lines: Sequence[str], *definitions: ModuleType) -> str:
        """Return a stand-alone script, which may quote the definitions of further modules."""
        body = "\n".join(lines)
        imports, quoted = self.under_test()
        known = [support, *self.definitions, *definitions]
        return assemble(title, [*imports, *self.imports(body)], [*quoted, *self.setup(body), *lines], known)

    def under_test(self) -> tuple[list[str], list[str]]:
        """Return the lines that import the class, and those that define what cannot be imported."""
        quotations = self._quotations()
        imports = [line for quotation in quotations for line in quotation.imports]
        if self.implementation.importable:
            imports.insert(0, f"from {self.module_name} import {self.class_name.partition('.')[0]}")
        return imports, [line for quotation in quotations for line in quotation.lines]

    @property
    def missing(self) -> list[str]:
        """The names of what a script can neither import nor quote, so that it does not run as it is."""
        return [name for quotation in self._quotations() for name in quotation.missing]

    def _quotations(self) -> list[Quotation]:
        """Return the definitions of the class and of what builds it, as far as they cannot be imported."""
        tested = self.implementation
        cls = None if tested.importable else tested.cls
        named = ((cls, self.class_name), (tested.factory, self.factory_name), (tested.prepare, self.prepare_name))
        return [quote(defined, name) for defined, name in named if defined is not None]


_LOOKS: tuple[tuple[str, Any], ...] = (("identify", None), ("same", False), ("key", None))
"""The methods that look at what came out, each with what it returns where that misbehaves."""


def _name_of(function: Any, otherwise: str) -> str:
    name: str = getattr(function, "__name__", "")
    return name if name.isidentifier() else otherwise
