"""The requests that schedulers are tested with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

REDIRECTED = 1000
"""What is added to the number of a request for a copy of it with another URL."""

RETRIED = 100_000
"""What is added to the number of a request for a copy of it that must not be filtered."""

RICH = (
    "method='POST', headers={'Accept': ['text/html', 'text/plain']}, body=b'\\x00\\xff', cookies={'a': 'b'}, "
    "encoding='cp1252', flags=['flag'], cb_kwargs={'item': (1, None)}, callback=spider.parse_item, errback=spider.handle_error"
)
"""A value in every field that the others leave as it is."""


REFUSED = "refused by the disk queue"
"""What is special about a request that cannot be serialized, and about one whose push into the disk queue raises."""


@dataclass(frozen=True, slots=True)
class Traits:
    """What a scheduler looks at in a request.

    Attributes:
        refused: whether the disk queue of the kit says that it cannot be serialized.
        elsewhere: whether it belongs to another slot of the downloader.
        cls: the name of its class.
        further: the source of further arguments.
        volatile: whether nobody can be asked to serialize these, so that it may be lost when the process ends.
    """

    priority: int = 0
    start: bool = False
    dont_filter: bool = False
    refused: bool = False
    elsewhere: bool = False
    cls: str = "Request"
    further: str = ""
    volatile: bool = False

    @property
    def special(self) -> tuple[str, ...]:
        """What is special about it, in the terms of Scrapy, besides the place where it waits."""
        told = {
            "dont_filter": self.dont_filter,
            REFUSED: self.refused or self.volatile,
            self.cls: self.cls != "Request",
            "all fields": self.further == RICH,
        }
        return tuple(name for name, holds in told.items() if holds)

    @property
    def slot(self) -> str:
        """The slot of the downloader that it belongs to."""
        return "example.org" if self.elsewhere else "example.com"


POOL: Sequence[Traits] = (
    *[Traits()] * 3,
    *[Traits(5)] * 3,
    *[Traits(-3)] * 2,
    *[Traits(start=True)] * 3,
    *[Traits(5, start=True)] * 2,
    Traits(dont_filter=True),
    Traits(5, start=True, dont_filter=True),
    *[Traits(refused=True)] * 2,
    Traits(5, refused=True),
    Traits(start=True, refused=True),
    Traits(dont_filter=True, refused=True),
    *[Traits(elsewhere=True)] * 2,
    Traits(5, elsewhere=True),
    Traits(start=True, elsewhere=True),
    Traits(refused=True, elsewhere=True),
    Traits(further=RICH),
    Traits(5, cls="CustomRequest", further="depth=3, callback=spider.parse"),
    Traits(cls="JsonRequest", further="data={'a': [1]}", dont_filter=True),
    Traits(further="cb_kwargs={'value': lambda: None}", volatile=True),
    Traits(5, further="callback=lambda response: None", volatile=True),
    Traits(further="cb_kwargs={'value': threading.Lock()}", dont_filter=True, volatile=True),
)
"""The requests with the lowest numbers; all others are like the first one."""


@lru_cache(maxsize=1024)
def traits(number: int) -> Traits:
    """Return what is special about the request of a number, or about a redirected or retried copy of one."""
    base = number % REDIRECTED
    found = POOL[base] if base < len(POOL) else POOL[0]
    return replace(found, dont_filter=True) if number >= RETRIED else found
