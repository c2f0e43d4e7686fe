"""What the names in rules mean, in words for readers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

CAPABILITIES: Mapping[str, str] = {
    "fifo": "its order is FIFO",
    "lifo": "its order is LIFO",
    "ordered": "it has an order",
    "by-priority": "it orders by priority",
    "persistent": "what it holds survives close and reopen",
    "filesystem": "it stores in files below its key",
    "crash-safe": "it is claimed that what it holds survives the death of the process",
    "serializes": "it stores copies of requests, not the objects",
    "peek": "it has a `peek` that answers",
    "peek-stub": "its `peek` only raises",
    "clear": "it has a `clear`",
    "chunked": "its constructor takes a `chunksize`",
    "server": "it stores in a server",
    "redelivers": "it is claimed that what a process had when it died goes to another one",
    "shared": "it is claimed that several processes may use one key",
    "slots": "it serves the slots of the downloader in turn",
    "by-slot": "it serves slot by slot, whatever decides which is next",
    "configurable": "it takes its queues from the `SCHEDULER_*` settings",
    "filters": "it rejects what was seen before",
    "length": "it has a length",
    "bounded": "it takes a `maxsize`",
    "dedupe": "it stores no request twice, where it is told so",
    "ttl": "it forgets requests after a time, where it is told so",
    "iterates": "its requests can be taken out by `async for`",
    "context": "it can be entered by `async with`",
    "unprioritized": "it is claimed that priorities count for nothing (`priority=none`)",
    "probabilistic": "it is claimed that it may take a new request for a known one, at a low rate",
    "upgrades": "it is claimed that it reads what its earlier versions have stored",
    "kept": "`--conformance-kept` names what an earlier version of it has stored",
    "ignores": "it is claimed that some of what tells requests apart counts for nothing",
}
"""When an implementation has a capability; every one that a rule may need, or may exclude."""

LIBRARIES: Mapping[str, str] = {"scrapy": "Scrapy", "queuelib": "queuelib", "qcrawl": "qCrawl"}
"""The libraries whose releases rules name, as they write themselves."""


def listed(words: Iterable[str], last: str = "and") -> str:
    """Join words as a sentence does."""
    *others, final = [*words] or [""]
    return f"{', '.join(others)} {last} {final}" if others else final


def shortened(text: str, limit: int = 100, *, both_ends: bool = False) -> str:
    """Return a text on one line, of at most so many characters, all of them printable: its beginning, or its two ends."""
    text = " ".join(text[: 20 * limit].split())  # it may be very long
    if not text.isprintable():
        text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    if len(text) <= limit:
        return text
    end = 2 * (limit - 3) // 5 if both_ends else 0
    return f"{text[: limit - 3 - end]}...{text[len(text) - end :]}"
