"""The driver of Scrapy's priority queues, over downstream queues of the kit's own, or those of Scrapy on disk."""

from __future__ import annotations

import inspect
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

from scrapy import version_info
from scrapy.squeues import PickleFifoDiskQueue, PickleLifoDiskQueue
from scrapy.utils.misc import build_from_crawler

from queue_conformance.compat import scrapy
from queue_conformance.engine.recording import NOTHING, OperationRaised, Recorder
from queue_conformance.engine.subject import Item
from queue_conformance.engine.variety import Variety
from queue_conformance.environments import engine, world
from queue_conformance.environments.crawling import CrawlerDriver
from queue_conformance.environments.items import REQUESTS, request_source, with_meta
from queue_conformance.implementation import Implementation
from queue_conformance.implementation.capabilities import Capabilities
from queue_conformance.implementation.expectations import documented, hold, is_unsupported
from queue_conformance.implementation.signatures import methods_of
from queue_conformance.kinds.priority_queue import plain
from queue_conformance.kinds.priority_queue import script_support as downstreams
from queue_conformance.kinds.priority_queue.model import Place
from queue_conformance.script_support import example

PLACES = (
    Place(0, False, "a.example"),
    Place(0, True, "a.example"),
    Place(1, False, "a.example"),
    Place(1, True, "a.example"),
    Place(-2, False, "a.example"),
    Place(0, False, "b.example"),
    Place(0, True, "b.example"),
    Place(1, False, "b.example"),
    Place(-2, True, "b.example"),
    Place(10, False, "c.example"),
    Place(0, False, "c.example"),
    Place(2, True, "d.example"),
)
"""The places of the items of the pool: item ``n`` belongs to ``PLACES[n % len(PLACES)]``."""

CYCLE = len(PLACES) * REQUESTS.period
"""After so many items, places and fields begin again."""

PLAIN = {number % len(PLACES): number for number in range(0, CYCLE, REQUESTS.period)}
"""By the place, the number of an item without other fields."""

SLOTS = tuple(sorted({place.slot for place in PLACES}))
"""The slots of the pool."""

MARKERS = (Place(50, False, "a.example"), Place(-50, True, "z.example"), Place(50, True, "b.example"))
"""Places where no item of the pool belongs."""

MARKED = 1_000_000
"""The number of the first item that belongs to one of ``MARKERS``."""

_STORE = re.compile(r"^store = Store\((\w+)(?:, (\w+))?(, persistent=False)?\)$", re.MULTILINE)
"""The line of a script that makes a store."""

_LOOKS_INSIDE = re.compile(r"\bstore\b(?!\.(normal|start)\b)")
"""Where a script does more with the store than to name the classes of downstream queues."""

_SAME_OBJECT = re.compile(r"\.push\([a-z]\w*\)")
"""A push of a request that the script may change later; only a queue in memory holds this very object."""

_OWN = re.compile(r"\bpop_hosts\([^()]*,[^()]*,|\bStore\(")
"""Pops with peeks between them, and the store: for these a script quotes ``script_support``, and not the shorter ``plain``."""

_OF_SCRAPY = {
    "LifoQueue": ("PickleLifoDiskQueue", "LifoMemoryQueue"),
    "FifoQueue": ("PickleFifoDiskQueue", "FifoMemoryQueue"),
    "UnpeekableQueue": ("", "QueueWithoutPeek"),
    "BareQueue": ("", "BareQueue"),
    "": ("None", "None"),
}
"""Queues of Scrapy, on disk and in memory, that do the same as those of the kit."""


def without_store(lines: Sequence[str]) -> list[str]:
    """Return the lines of a script with queues of Scrapy, or ones that are watched, in the place of a store if they will do."""
    body = "\n".join(lines)
    stores = _STORE.findall(body) or [("LifoQueue", "FifoQueue", "")]
    normal, start, forgets = stores[0]
    rest = _STORE.sub("", body).strip("\n")
    if len(stores) > 1 or not {normal, start} <= _OF_SCRAPY.keys() or "disturbed(" in rest:
        return list(lines)
    same_object = _SAME_OBJECT.search(rest) is not None
    if not _LOOKS_INSIDE.search(rest) and not (same_object and "startprios=state" in rest):
        in_memory = bool(forgets) or same_object
        below, started = _OF_SCRAPY[normal][in_memory], _OF_SCRAPY[start][in_memory]
    elif normal == "LifoQueue":
        below = "WatchedQueue" if forgets else "KeepingQueue"
        rest = _watched(rest, below)
        started = "None" if not start else "WatchedStartQueue" if "isinstance(found, store.start)" in rest else below
    else:
        return list(lines)
    return rest.replace("store.normal", below).replace("store.start", started).splitlines()


def _watched(body: str, below: str) -> str:
    """Return a script that looks at what a class of queues remembers, instead of at the store."""
    body = body.replace("store.built", f"{below}.built").replace("store.items", f"{below}.held")
    body = body.replace("(store, ", f"({below}, ").replace("[queue.key for queue in", "[queue for queue in")
    return re.sub(r"\b(found|queue)\.items\b", r"\1.q", body)


class PriorityQueueDriver(CrawlerDriver):
    """Builds Scrapy's priority queues as the scheduler does.

    Attributes:
        store: what the downstream queues of the kit hold, or ``None`` over those of Scrapy; scripts call it ``store``.
        store_source: how scripts make it.
        persistent: whether what downstream queues hold outlives them.
    """

    constructor_rule: ClassVar[str] = "pq.ctor.signature"
    interface_rule: ClassVar[str] = "pq.ctor.signature"
    lives_without_close: ClassVar[bool] = True
    variety: ClassVar[Variety] = REQUESTS
    rules: ClassVar[Mapping[str, str]] = {
        "push": "pq.pop.exactly-once",
        "pop": "pq.pop.exactly-once",
        "peek": "pq.peek.equals-pop",
        "len": "pq.len.sum",
        "bool": "pq.len.truth",
        "close": "pq.close.closes-all",
    }
    definitions: ClassVar[tuple[ModuleType, ...]] = (example, downstreams, engine, scrapy)

    store: downstreams.Store | None
    _normal: tuple[str, type]
    _start: tuple[str, type | None]

    def __init__(self, implementation: Implementation, directory: Path, recorder: Recorder) -> None:
        super().__init__(implementation, directory, recorder)
        self.renew(directory)

    def renew(self, directory: Path) -> None:
        super().renew(directory)
        self.crawler = self.crawler.copied()
        self.configure()

    # --- Surroundings ------------------------------------------------------------------------------------------------

    @cached_property
    def takes_start_queues(self) -> bool:
        """Whether it is built with a ``start_queue_cls``; before 2.16, Scrapy also built classes that take none."""
        if version_info >= (2, 16):
            return True
        cls = self.implementation.cls
        parameters = inspect.signature(getattr(cls, "from_crawler", cls)).parameters.values()
        return any(found.name == "start_queue_cls" or found.kind is found.VAR_KEYWORD for found in parameters)

    @property
    def separates_start_requests(self) -> bool:
        """Whether start requests have downstream queues of their own."""
        return self.takes_start_queues and self._start[1] is not None

    def configure(
        self, normal: type = downstreams.LifoQueue, start: type | None = downstreams.FifoQueue, *, persistent: bool = True
    ) -> downstreams.Store:
        """Build over downstream queues of the kit from now on.

        Args:
            normal: their class.
            start: that of those for start requests; ``None`` for no class of their own.
            persistent: what they hold outlives them; otherwise the key is empty, as it is for queues in memory.
        """
        self.store = store = downstreams.Store(normal, start, persistent)
        classes = ", ".join(cls.__name__ for cls in (normal, start) if cls)
        self.store_source = f"Store({classes}{'' if persistent else ', persistent=False'})"
        self._normal, self._start, self.persistent = ("store.normal", store.normal), ("store.start", store.start), persistent
        return store

    def configure_disk(self) -> None:
        """Build over disk queues of Scrapy from now on."""
        self.store, self.persistent = None, True
        self._normal = "PickleLifoDiskQueue", PickleLifoDiskQueue
        self._start = "PickleFifoDiskQueue", PickleFifoDiskQueue

    # --- Construction ------------------------------------------------------------------------------------------------

    def construction(
        self, name: str, *, state: Any = NOTHING, startprios: Any = (), cls: type | None = None, **options: Any
    ) -> tuple[str, Callable[[], Any]]:
        """Tell how a priority queue is built: as ``Scheduler._dq`` does, or as ``Scheduler._mq`` if nothing is kept.

        Args:
            name: the part of its key below the scratch directory.
            state: what it starts with; scripts call it ``state``.
            startprios: what it starts with instead, which scripts write out.
            cls: a class of Scrapy instead of the one under test.
        """
        world.enter()
        given: dict[str, tuple[str, Any]] = {"downstream_queue_cls": self._normal, "key": ("''", "")}
        if self.persistent:
            given["key"] = f"directory + {'/' + name!r}", f"{self.directory}/{name}"
            given["startprios"] = (repr(startprios), startprios) if state is NOTHING else ("state", state)
        if self.takes_start_queues:
            given["start_queue_cls"] = self._start
        keywords = ", ".join(f"{keyword}={source}" for keyword, (source, _) in given.items())
        arguments = {keyword: value for keyword, (_, value) in given.items()}
        tested = cls or self.implementation.cls
        called = f"load_object({f'{cls.__module__}.{cls.__name__}'!r})" if cls else self.class_name
        # The same distinction as in scrapy.utils.misc.build_from_crawler.
        factory = ".from_crawler(crawler, " if hasattr(tested, "from_crawler") else "("
        return f"{called}{factory}{keywords})", lambda: build_from_crawler(tested, self.crawler, **arguments)

    def setup(self, body: str) -> list[str]:
        needs_store = "store.normal" in body and "store = " not in body
        return [*super().setup(body), *(["store = Store(LifoQueue, FifoQueue)"] if needs_store else [])]

    def needs_engine(self, body: str) -> bool:
        found = self.implementation.capabilities
        known = found.peek or found.persistent  # where nothing is known yet, it may look at the downloader
        return super().needs_engine(body) or found.slots or not known or "crawler.engine" in body

    def script(self, title: str, lines: Sequence[str], *definitions: ModuleType) -> str:
        body = without_store(lines)
        return super().script(title, body, *definitions, *(() if _OWN.search("\n".join(body)) else (plain,)))

    # --- Items -------------------------------------------------------------------------------------------------------

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(name for name in super().fields if name != "priority")

    def _item(self, number: int) -> Item:
        place = self.place(number)
        fields = with_meta(self.fields_of(number), {"is_start_request": True} if place.start else {})
        given = [f"priority={place.priority}"] if place.priority else []
        return self.evaluate(request_source(f"https://{place.slot}/{number}", fields, given))

    def place(self, number: int) -> Place:
        """Return where an item of the pool belongs."""
        return MARKERS[number % len(MARKERS)] if number >= MARKED else PLACES[number % len(PLACES)]

    # --- Capabilities ------------------------------------------------------------------------------------------------

    def probe(self, workdir: Callable[[], Path]) -> Capabilities:
        """Find out what it offers: state that restores something, ``peek``, and whether it looks at slots."""
        implementation = self.implementation
        peeks = bool(methods_of(implementation.cls, "peek"))
        persistent = self.attempt(self._is_persistent, workdir())
        stored = "requests stay in its downstream queues when it is closed" if self._left_behind() else ""
        found = Capabilities(
            persistent=persistent,
            peek=peeks and self.attempt(self._can_peek, workdir()),
            slots=self.attempt(self._serves_the_idle_slot, workdir()),
        )
        if "slots" not in documented(implementation.cls, implementation.settings):
            found = replace(found, priority_first=found.slots and self.attempt(self._serves_the_highest_priority, workdir()))
        asks = "it asks the downloader for its slots" if self.attempt(self._asks_for_slots, workdir()) else ""
        if not found.slots and not asks:
            found = replace(found, turns=self.attempt(self._takes_turns, workdir()))
        return hold(found, implementation.cls, implementation.settings, {"persistent": [stored], "slots": [asks]})

    def _left_behind(self) -> bool:
        """Whether requests were left in the downstream queues by the last experiment."""
        return self.store is not None and any(self.store.items.values())

    def _is_persistent(self) -> bool:
        """Whether its ``close`` returns a state that is not empty, or requests come back."""
        queue = self.open()
        for number in range(len(PLACES)):
            queue.push(self.item(number))
        left = queue.close()
        if left:
            return True
        queue = self.open(state=left) if left is not None else self.open()
        return queue.pop() is not None

    def _can_peek(self) -> bool:
        queue = self.open()
        queue.push(self.item(0))
        try:
            queue.peek()
        except OperationRaised as raised:
            return not is_unsupported(raised.error)
        return True

    def _serves_the_idle_slot(self) -> bool:
        """Whether of two slots the idle one comes first, whichever it is."""
        return self._first(0, 5, busy=0) == 5 and self._first(0, 5, busy=5) == 0

    def _serves_the_highest_priority(self) -> bool:
        """Whether the higher priority comes first though its slot is busy, whichever it is."""
        return self._first(2, 5, busy=2) == 2 and self._first(0, 7, busy=7) == 7

    def _takes_turns(self) -> bool:
        """Whether two slots are served in turns, whichever of them has the higher priorities."""
        return self._alternates(0, 7) and self._alternates(5, 2)

    def _alternates(self, low: int, high: int) -> bool:
        """Whether three requests at each of two places come out in turns."""
        queue = self.open()
        for number in (low, high):
            for cycle in range(3):
                queue.push(self.item(number + cycle * CYCLE))
        received = [self.identify(queue.pop()) for _ in range(6)]
        if None in received:
            return False
        slots = [self.place(number).slot for number in received if number is not None]
        return slots in ([first, second] * 3 for first, second in itertools.permutations(sorted(set(slots)), 2))

    def _first(self, *numbers: int, busy: int) -> int | None:
        """Return the item that comes first while the slot of one of them is busy."""
        self.crawler = self.crawler.copied()
        queue = self.open()
        engine.occupy(self.crawler, self.place(busy).slot, 2)
        for number in numbers:
            queue.push(self.item(number))
        return self.identify(queue.pop())

    def _asks_for_slots(self) -> bool:
        """Whether it asks the downloader for its slots when it is used."""
        asked: set[str] = set()
        downloader = self.crawler.engine.downloader

        class Watched(type(downloader)):  # type: ignore[misc]
            def __getattribute__(self, name: str) -> Any:
                asked.add(name)
                return super().__getattribute__(name)

        downloader.__class__ = Watched
        queue = self.open()
        for number in (0, 5, 10):
            queue.push(self.item(number))
        queue.pop()
        return not asked.isdisjoint({"slots", "get_slot_key"})
