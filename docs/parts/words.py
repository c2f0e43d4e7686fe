"""What the names in rules, options and reports mean, in words for readers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from queue_conformance.specification import Kind

KINDS: Mapping[str, str] = {
    "downstream-queue": "downstream queues",
    "byte-queue": "byte queues",
    "byte-priority-queue": "priority queues of bytes",
    "round-robin-queue": "round-robin queues",
    "priority-queue": "priority queues",
    "scheduler": "schedulers",
    "dupefilter": "duplicates filters",
    "spider-state": "keepers of spider state",
    "async-queue": "asynchronous queues",
    "async-scheduler": "asynchronous schedulers",
}
"""Kinds of implementation, in the plural."""

CAPABILITIES: Mapping[str, str] = {
    "fifo": "its order is FIFO",
    "lifo": "its order is LIFO",
    "ordered": "it has an order",
    "persistent": "what it holds survives close and reopen",
    "filesystem": "it stores in files below its key",
    "crash-safe": "it is claimed that what it holds survives the death of the process",
    "serializes": "it stores copies of requests, not the objects",
    "peek": "it has a `peek` that answers",
    "peek-stub": "its `peek` only raises",
    "clear": "it has a `clear`",
    "chunked": "its constructor takes a `chunksize`",
    "server": "it stores in a server",
    "shared": "it is claimed that several processes may use one key",
    "slots": "it serves the slots of the downloader in turn",
    "configurable": "it takes its queues from the `SCHEDULER_*` settings",
    "filters": "it rejects what was seen before",
    "length": "it has a length",
    "bounded": "it takes a `maxsize`",
    "dedupe": "it stores no request twice, where it is told so",
    "ttl": "it forgets requests after a time, where it is told so",
}
"""When an implementation has a capability."""

LIBRARIES: Mapping[str, str] = {"scrapy": "Scrapy", "queuelib": "queuelib", "qcrawl": "qCrawl"}

CLAIMS: Mapping[str, str] = {
    "real-loop": "it needs the stock event loop, for sockets or for threads of its own",
    "transient-error": "the exception that it raises while its server is away",
    "serialization-error": "the exception that it raises for a request that cannot be serialized",
    "request": "the class of the requests that an asynchronous queue carries",
    "order": "the order in which items leave it",
    "priority": "which priority an asynchronous queue serves first",
    "kind": "what it is, where the class itself does not tell",
    "profile": "the contract that a downstream queue is held to",
}
"""What is claimed by a name that is no capability."""

_SPECIAL = re.compile(r"([\\*_\[\]<>|$#])")


def escape(text: str) -> str:
    """Return a text of which Markdown understands only the code."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else _SPECIAL.sub(r"\\\1", part) for part in parts)


def cell(text: str) -> str:
    """Return an escaped text that does not end a cell of a table."""
    return re.sub(r"(?<!\\)\|", r"\\|", text)


def listed(words: Iterable[str], last: str = "and") -> str:
    """Join words as a sentence does."""
    *others, final = [*words] or [""]
    return f"{', '.join(others)} {last} {final}" if others else final


def kinds(found: Iterable[Kind]) -> str:
    """Name kinds in the order in which they are declared."""
    chosen = set(found)
    return listed(KINDS[kind] for kind in Kind if kind in chosen)
