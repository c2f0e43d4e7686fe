"""Priority queues for Scrapy's scheduler (``SCHEDULER_PRIORITY_QUEUE``), over its memory, disk and external queues."""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from scrapy.utils.httpobj import urlparse_cached
from scrapy.utils.misc import build_from_crawler

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.pqueues import QueueProtocol

logger = logging.getLogger(__name__)


class Place(NamedTuple):
    """Where a request waits. Within a slot the places are served in the order of their rank and start.

    Attributes:
        slot: the slot of the downloader, or ``""`` in a queue that does not look at slots.
        rank: the negated priority.
        start: whether it is for start requests.
    """

    slot: str
    rank: int
    start: bool


class PriorityQueue:
    """The request with the highest priority is served first; at equal priority start requests come last.

    Each place has a downstream queue of its own. Few of them are open at a time: one that becomes empty is closed for good,
    and one that keeps its requests under its key may be *parked*, that is, closed until it is needed again.

    Args:
        crawler: what downstream queues are built from.
        downstream_queue_cls: the class of the downstream queues.
        key: the directory that identifies what they keep, or ``""`` if they keep nothing.
        startprios: what ``close`` returned when the queue was last used.
        start_queue_cls: the class of the downstream queues for start requests, if they have one of their own.

    Raises:
        ValueError: if startprios are not of the form that ``close`` returns.
    """

    MOST_OPEN: ClassVar[int] = 100
    """Downstream queues that are open at most, if they can be parked; a disk queue takes up to two file descriptors."""

    FOREIGN: ClassVar[str] = "another class may have written it. Resume with the SCHEDULER_PRIORITY_QUEUE that the job began with"

    def __init__(
        self,
        crawler: Crawler,
        downstream_queue_cls: type[QueueProtocol],
        key: str,
        startprios: Any = (),
        *,
        start_queue_cls: type[QueueProtocol] | None = None,
    ) -> None:
        self._crawler = crawler
        self._classes: dict[bool, Any] = {False: downstream_queue_cls, True: start_queue_cls}
        self._key = key
        self._open: dict[Place, QueueProtocol] = {}  # the one that was not used for the longest time comes first
        self._parked: dict[Place, int] = {}  # with their lengths
        for slot, ranks in self._ranks_by_slot(startprios).items():
            for rank in ranks:
                for start in (False, True) if start_queue_cls else (False,):
                    place = Place(slot, rank, start)
                    self._queue(place)
                    self._close_if_empty(place)

    @classmethod
    def from_crawler(
        cls,
        crawler: Crawler,
        downstream_queue_cls: type[QueueProtocol],
        key: str,
        startprios: Any = (),
        *,
        start_queue_cls: type[QueueProtocol] | None = None,
    ) -> Self:
        """Build a queue as the scheduler does."""
        return cls(crawler, downstream_queue_cls, key, startprios, start_queue_cls=start_queue_cls)

    # --- What the scheduler calls ------------------------------------------------------------------------------------

    def push(self, request: Request) -> None:
        """Store a request. What the downstream queue raises reaches the caller, and leaves no trace.

        Raises:
            ValueError: if the priority is no integer, or has hundreds of digits.
        """
        if not isinstance(request.priority, int) or abs(request.priority) >= 10**100:
            raise ValueError(f"the priority of {request} must be an integer of less than 100 digits: {request.priority!r}")
        place = self._place_of(request)
        queue = self._queue(place)
        try:
            queue.push(request)
        finally:
            self._close_if_empty(place)

    def pop(self) -> Request | None:
        """Take out the next request; ``None`` if there is none, or if its downstream queue cannot tell it now."""
        while (place := self._next()) is not None:
            request = self._queue(place).pop()
            self._close_if_empty(place)
            if request is not None or place in self._open:
                self._served(place.slot)
                return request
        return None

    def peek(self) -> Request | None:
        """Return what ``pop`` would, and leave it where it is.

        Raises:
            NotImplementedError: if the downstream queue cannot tell.
        """
        place = self._next()
        if place is None:
            return None
        queue: Any = self._queue(place)
        if not hasattr(queue, "peek"):
            raise NotImplementedError(f"{type(queue).__name__} has no peek")
        request: Request | None = queue.peek()
        return request

    def close(self) -> Any:
        """Close all downstream queues, also if one raises; return where requests are left. A second call returns the same."""
        with ExitStack() as closing:
            for place in self._open:
                closing.callback(self._park, place)
        return sorted({place.rank for place in self._parked})

    def __len__(self) -> int:
        return sum(map(len, self._open.values())) + sum(self._parked.values())

    def _place_of(self, request: Request) -> Place:
        start = bool(request.meta.get("is_start_request")) and self._classes[True] is not None
        return Place(self._slot_of(request), -request.priority, start)

    # --- What a queue that looks at slots changes --------------------------------------------------------------------

    def _ranks_by_slot(self, startprios: Any) -> dict[str, list[int]]:
        """Return the ranks to start with; at least one, so that what cannot be built is found early."""
        return {"": self._ranks(startprios or ()) or [0]}

    def _ranks(self, named: Any) -> list[int]:
        if isinstance(named, Iterable) and not isinstance(named, Mapping):
            ranks = list(named)
            if all(isinstance(rank, int) for rank in ranks):
                return ranks
        raise ValueError(f"{named!r} is no list of numbers: {self.FOREIGN}")

    def _slot_of(self, request: Request) -> str:
        return ""

    def _next(self) -> Place | None:
        """Return the place to serve next."""
        return min([*self._open, *self._parked], default=None)

    def _served(self, slot: str) -> None:
        """Note that it was the turn of a slot."""

    def _path_of(self, slot: str) -> str:
        return self._key

    # --- Downstream queues -------------------------------------------------------------------------------------------

    def _queue(self, place: Place) -> QueueProtocol:
        """Return the open queue of a place."""
        queue = self._open.pop(place, None)
        if queue is None:
            name = f"{place.rank}s" if place.start else f"{place.rank}"
            queue = build_from_crawler(self._classes[place.start], self._crawler, f"{self._path_of(place.slot)}/{name}")
            self._parked.pop(place, None)
        self._open[place] = queue
        if self._key and len(self._open) > self.MOST_OPEN:
            self._park(next(iter(self._open)))
        return queue

    def _park(self, place: Place) -> None:
        """Close a queue that may hold requests, and remember how many."""
        length = len(self._open[place])
        queue = self._open.pop(place)
        if length:
            self._parked[place] = length
        queue.close()

    def _close_if_empty(self, place: Place) -> None:
        """Close the queue of a place for good if nothing is in it.

        It may just have given a request away, or raised something more important: what goes wrong here is only logged.
        """
        try:
            if not len(self._open[place]):
                self._open.pop(place).close()
        except Exception:
            logger.exception("Cannot close the downstream queue of %s", place)


class SlotPriorityQueue(PriorityQueue):
    """Serves the slots of the downloader, those with the fewest active downloads first, and equals in turn.

    Raises:
        ValueError: if startprios are not of the form that ``close`` returns, or slots are addresses.
    """

    def __init__(self, crawler: Crawler, *arguments: Any, **keywords: Any) -> None:
        if crawler.settings.getint("CONCURRENT_REQUESTS_PER_IP") != 0:
            raise ValueError(f"{type(self).__name__} does not support CONCURRENT_REQUESTS_PER_IP")
        self._turn: dict[str, set[Place]] = {}  # the places of each slot; the slot that waits for the longest time comes first
        super().__init__(crawler, *arguments, **keywords)

    def close(self) -> dict[str, list[int]]:
        """Close all downstream queues; return where requests are left, by slot. A second call returns the same."""
        super().close()
        ranks: dict[str, set[int]] = {}
        for place in self._parked:
            ranks.setdefault(place.slot, set()).add(place.rank)
        return {slot: sorted(found) for slot, found in ranks.items()}

    def __contains__(self, slot: str) -> bool:
        return slot in self._turn

    def _ranks_by_slot(self, startprios: Any) -> dict[str, list[int]]:
        if startprios and not isinstance(startprios, Mapping):
            raise ValueError(f"{startprios!r} is no dict of slots: {self.FOREIGN}")
        return {slot: self._ranks(named) for slot, named in dict(startprios or {}).items()} or {"": [0]}

    def _slot_of(self, request: Request) -> str:
        assert self._crawler.engine is not None
        slot: str | None = self._crawler.engine.downloader.get_slot_key(request)
        return (urlparse_cached(request).hostname or "") if slot is None else slot  # before Scrapy 2.14 it may be None

    def _next(self) -> Place | None:
        slot = min(self._turn, key=self._active, default=None)  # the first of several that are equal
        return None if slot is None else min(self._turn[slot])

    def _active(self, slot: str) -> int:
        assert self._crawler.engine is not None
        found = self._crawler.engine.downloader.slots.get(slot)
        return len(found.active) if found is not None else 0

    def _served(self, slot: str) -> None:
        if slot in self._turn:
            self._turn[slot] = self._turn.pop(slot)

    def _path_of(self, slot: str) -> str:
        """Return the directory of a slot; a file name has at most 255 bytes."""
        readable = re.sub(r"[^A-Za-z0-9._-]", "_", slot)[:100]
        digest = hashlib.sha256(slot.encode("utf-8", "surrogatepass")).hexdigest()
        return f"{self._key}/{readable}-{digest[:32]}"

    def _queue(self, place: Place) -> QueueProtocol:
        queue = super()._queue(place)
        self._turn.setdefault(place.slot, set()).add(place)
        return queue

    def _close_if_empty(self, place: Place) -> None:
        super()._close_if_empty(place)
        if place in self._open:
            return
        places = self._turn[place.slot]
        places.discard(place)
        if not places:
            self._forget(place.slot)

    def _forget(self, slot: str) -> None:
        """Leave nothing of a slot without requests, not even its directory."""
        del self._turn[slot]
        if self._key:
            with suppress(OSError):
                Path(self._path_of(slot)).rmdir()
