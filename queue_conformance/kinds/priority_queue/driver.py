"""The driver of Scrapy's priority queues, over downstream queues of the kit's own, or those of Scrapy on disk."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import scrapy
import scrapy.squeues
from packaging.version import Version
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.utils.misc import build_from_crawler

from queue_conformance.discovery import Implementation
from queue_conformance.discovery.capabilities import Capabilities
from queue_conformance.discovery.expectations import hold, is_unsupported
from queue_conformance.engine.driver import Item, OpenQueue
from queue_conformance.engine.recording import NOTHING, OperationRaised, Recorder
from queue_conformance.engine.scripts import namespace, quoted
from queue_conformance.environments import engine, world
from queue_conformance.environments.crawling import NEEDS_REACTOR, CrawlerDriver, make_crawler
from queue_conformance.kinds.priority_queue import script_support as downstreams
from queue_conformance.kinds.priority_queue.model import Place
from queue_conformance.script_support import example, kills

_URL = re.compile(r"https://[^/]*/(\d+)")

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
"""Where the items of the pool belong; the number of an item, modulo their count, tells which of them."""

SLOTS = tuple(sorted({place.slot for place in PLACES}))
"""The slots of the pool."""

MARKERS = (Place(50, False, "a.example"), Place(-50, True, "z.example"), Place(50, True, "b.example"))
"""Places that no item of the pool shares."""

MARKED = 1_000_000
"""Items from this number belong to the places of ``MARKERS``."""


class OpenPriorityQueue(OpenQueue):
    """One priority queue; every operation goes through the recorder."""

    def push(self, item: Item, *where: Any, owner: str = "pq.pop.exactly-once") -> Any:
        return super().push(item, *where, owner=owner)

    def pop(self, owner: str = "pq.pop.exactly-once") -> Any:
        return super().pop(owner)

    def peek(self, owner: str = "pq.peek.equals-pop") -> Any:
        return super().peek(owner)

    def length(self, owner: str = "pq.len.sum") -> Any:
        return super().length(owner)

    def truth(self, owner: str = "pq.len.truth") -> Any:
        return super().truth(owner)

    def close(self, owner: str = "pq.close.closes-all") -> Any:
        return super().close(owner)

    def contains(self, slot: str, owner: str = "pq.slot.contains") -> Any:
        """Ask whether a slot has requests."""
        return self._call(f"found = {slot!r} in {self.variable}", owner, lambda: slot in self.raw)


class PriorityQueueDriver(CrawlerDriver):
    """Builds Scrapy's priority queues as the scheduler does.

    Attributes:
        store: what the downstream queues of the kit hold, or ``None`` over those of Scrapy.
    """

    constructor_rule: ClassVar[str] = "pq.ctor.signature"
    interface_rule: ClassVar[str] = "pq.ctor.signature"
    definitions: ClassVar[tuple[ModuleType, ...]] = (example, downstreams, engine, kills)

    def __init__(self, implementation: Implementation, directory: Path, recorder: Recorder) -> None:
        super().__init__(implementation, directory, recorder)
        self.names.update(namespace(example, downstreams))
        self.renew(directory)

    def renew(self, directory: Path) -> None:
        super().renew(directory)
        self.store: downstreams.Store | None = None
        self._classes: tuple[Any, Any] | None = None
        self._sources = ("", "None")
        self._keeps = True
        self._waiting: list[Any] = []
        self.crawler = self.crawler.copied()

    # --- Surroundings ------------------------------------------------------------------------------------------------

    @cached_property
    def takes_start_queues(self) -> bool:
        """Whether it is built with a ``start_queue_cls``; before 2.16, Scrapy also built classes that take none."""
        if Version(scrapy.__version__) >= Version("2.16"):
            return True
        cls = self.implementation.cls
        parameters = inspect.signature(getattr(cls, "from_crawler", cls)).parameters.values()
        return any(found.name == "start_queue_cls" or found.kind is found.VAR_KEYWORD for found in parameters)

    def furnish(self, normal: str = "LifoQueue", start: str | None = "FifoQueue", *, keeps: bool = True) -> downstreams.Store:
        """Build over downstream queues of the kit from now on.

        Args:
            normal: the name of the class, in :mod:`queue_conformance.kinds.priority_queue.script_support`.
            start: the same for start requests; ``None`` for no class of their own.
            keeps: what they hold outlives them; otherwise the key is empty, as it is for queues in memory.

        Returns:
            What holds their requests, records and disturbs them; scripts call it ``store``.
        """
        self.store = store = downstreams.Store() if keeps else downstreams.Store(keeps=False)
        self._keeps = keeps
        self.recorder.note("store = Store()" if keeps else "store = Store(keeps=False)")
        self.recorder.note(f"Normal = store.bind({normal})")
        start = start if self.takes_start_queues else None
        bound = store.bind(getattr(downstreams, normal)), None if start is None else store.bind(getattr(downstreams, start))
        if start is not None:
            self.recorder.note(f"Start = store.bind({start})")
        self._classes, self._sources = bound, ("Normal", "None" if start is None else "Start")
        return store

    def furnish_disk(self, normal: str = "PickleLifoDiskQueue", start: str = "PickleFifoDiskQueue") -> None:
        """Build over disk queues of Scrapy from now on."""
        self._keeps = True
        takes_both = self.takes_start_queues
        self._classes = getattr(scrapy.squeues, normal), getattr(scrapy.squeues, start) if takes_both else None
        self._sources = normal, start if takes_both else "None"

    @property
    def classes(self) -> tuple[Any, Any]:
        """The classes of the downstream queues: for start requests, the second one."""
        assert self._classes is not None
        return self._classes

    def disturb(self, operation: str, *faults: str) -> list[Any]:
        """Let the next calls of an operation of the downstream queues fail.

        Args:
            operation: the name of the method.
            faults: what they raise, as Python expressions; ``None`` lets a pop return ``None`` while there is something.

        Returns:
            What is still to come; it becomes shorter as it comes.
        """
        assert self.store is not None
        waiting: list[Any] = downstreams.disturb(self.store, operation, *(eval(fault, self.names) for fault in faults))
        self._waiting = waiting
        self.recorder.note(f"waiting = disturb(store, {operation!r}, {', '.join(faults)})")
        return waiting

    def recover(self) -> None:
        """Let nothing fail any more."""
        if self._waiting:
            self.recorder.note("waiting.clear()")
        self._waiting.clear()

    def discard(self, item: Item) -> None:
        """Take a request out of what the downstream queues hold, behind the back of the priority queue."""
        assert self.store is not None
        downstreams.discard(self.store, item.value.url)
        self.recorder.note(f"discard(store, {quoted(item.value.url)})")

    def set_active(self, slot: str, count: int) -> None:
        """Let the downloader be busy with so many requests of a slot."""
        engine.occupy(self.crawler, slot, count)
        self.recorder.note(f"occupy(crawler, {slot!r}, {count})")

    # --- Construction ------------------------------------------------------------------------------------------------

    def construction(
        self, name: str, *, state: Any = NOTHING, settings: Mapping[str, Any] | None = None, **options: Any
    ) -> tuple[str, Callable[[], Any]]:
        """Tell how a priority queue is built: as ``Scheduler._dq`` does, or as ``Scheduler._mq`` if nothing is kept.

        Args:
            name: the part of its key below the scratch directory.
            state: what it starts with; scripts call it ``state``.
            settings: further settings of the crawler.
            options: not used.
        """
        world.enter()
        if self._classes is None:
            self.furnish()
        assert self._classes is not None
        normal, start = self._classes
        arguments: dict[str, Any] = {"downstream_queue_cls": normal, "key": ""}
        sources = {"downstream_queue_cls": self._sources[0], "key": '""'}
        if self._keeps:
            arguments |= {"key": f"{self.directory}/{name}", "startprios": () if state is NOTHING else state}
            sources |= {"key": f"directory + {quoted('/' + name)}", "startprios": "()" if state is NOTHING else "state"}
        if self.takes_start_queues:
            arguments["start_queue_cls"] = start
            sources["start_queue_cls"] = self._sources[1]
        crawler: Crawler = self.crawler
        variable = "crawler"
        if settings:
            crawler, variable = self._crawler_with(settings), "other"
        keywords = ", ".join(f"{keyword}={source}" for keyword, source in sources.items())
        # The same distinction as in scrapy.utils.misc.build_from_crawler.
        has_factory = hasattr(self.implementation.cls, "from_crawler")
        source = f"{self.class_name}.from_crawler({variable}, {keywords})" if has_factory else f"{self.class_name}({keywords})"
        return source, lambda: build_from_crawler(self.implementation.cls, crawler, **arguments)

    def _crawler_with(self, settings: Mapping[str, Any]) -> Crawler:
        """Return another crawler, with the same engine."""
        both = {**self.implementation.values, **settings}
        crawler = make_crawler(both)
        crawler.engine = self.crawler.engine
        crawler.spider = self.crawler.spider
        spider = "spider" if self.crawler.spider is self.names["spider"] else "Spider"
        self.recorder.note(f"other = get_crawler(Spider, {self.settings_source(both)})")
        self.recorder.note(f"other.engine, other.{spider} = crawler.engine, spider")
        return crawler

    def open(self, name: str = "0", variable: str = "queue", owner: str | None = None, **options: Any) -> OpenPriorityQueue:
        source, build = self.construction(name, **options)
        raw = self.recorder.call(f"{variable} = {source}", owner or self.constructor_rule, build)
        return OpenPriorityQueue(raw, variable, self.recorder)

    def setup(self, body: str) -> list[str]:
        found = self.implementation.capabilities
        # Where nothing is known yet, it may look at the downloader.
        plain = not self.crawler.asked and (found.peek or found.persistent) and not found.slots and "crawler.engine" not in body
        return [
            "scratch = tempfile.TemporaryDirectory()",
            "directory = scratch.name",
            *(["start_reactor()"] if NEEDS_REACTOR or self.lively or not plain else []),
            f"crawler = get_crawler(Spider{self.settings_argument})",
            'crawler.spider = spider = Spider.from_crawler(crawler, "example")',
            *([f"{self.prepare_name}(spider)"] if self.prepare_name else []),
            *(() if plain else ("give_engine(crawler)",)),
        ]

    # --- Items -------------------------------------------------------------------------------------------------------

    def _item(self, number: int) -> Item:
        return self.request(number, self.place(number))

    def place(self, number: int) -> Place:
        """Return where an item of the pool belongs."""
        return MARKERS[number % len(MARKERS)] if number >= MARKED else PLACES[number % len(PLACES)]

    def request(self, number: int, place: Place = PLACES[0]) -> Item:
        """Make a request.

        Args:
            number: what tells it apart.
            place: its priority, whether it is a start request, and its host.
        """
        priority = f", priority={place.priority}" if place.priority else ""
        meta = ', meta={"is_start_request": True}' if place.start else ""
        item = self.evaluate(f'Request("https://{place.slot}/{number}"{priority}{meta})')
        return Item(item.value, item.source, number)

    def identify(self, value: Any) -> int | None:
        match = _URL.fullmatch(value.url) if isinstance(value, Request) else None
        return int(match[1]) if match else None

    # --- Capabilities ------------------------------------------------------------------------------------------------

    def probe(self, room: Callable[[], Path]) -> Capabilities:
        """Find out what it offers: state that restores something, ``peek``, and whether it looks at slots."""
        implementation = self.implementation
        peeks = callable(getattr(implementation.cls, "peek", None))
        persistent = self.attempt(self._is_persistent, room())
        stored = "requests stay in its downstream queues when it is closed" if self._left_behind() else ""
        found = Capabilities(
            persistent=persistent,
            peek=peeks and self.attempt(self._can_peek, room()),
            slots=self.attempt(self._looks_at_slots, room()),
        )
        return hold(found, implementation.cls, implementation.settings, {"persistent": [stored]})

    def _left_behind(self) -> bool:
        """Whether the downstream queues of the last experiment still hold requests."""
        return self.store is not None and any(self.store.items.values())

    def _is_persistent(self) -> bool:
        """Whether it reports anything that is left, or anything comes back."""
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

    def _looks_at_slots(self) -> bool:
        """Whether it asks the downloader for its slots when it is used."""
        asked: list[str] = []

        downloader = self.crawler.engine.downloader

        class Watched(type(downloader)):  # type: ignore[misc]
            def __getattribute__(self, name: str) -> Any:
                if name != "__class__":
                    asked.append(name)
                return super().__getattribute__(name)

        downloader.__class__ = Watched
        asked.clear()
        queue = self.open()
        for number in (0, 5, 10):
            queue.push(self.item(number))
        queue.pop()
        return any(name in asked for name in ("slots", "get_slot_key"))


def through_json(left: Any) -> Any:
    """Return state as the scheduler reads it when it resumes, or ``NOTHING`` if JSON cannot store it."""
    try:
        return json.loads(json.dumps(left))
    except (TypeError, ValueError):
        return NOTHING
