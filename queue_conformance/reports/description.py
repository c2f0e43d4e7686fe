"""What an implementation offers, in one line."""

from __future__ import annotations

from queue_conformance.discovery.capabilities import Capabilities, Order
from queue_conformance.specification import Kind

_OF_SCHEDULERS = {
    "configurable": "takes its queues from the settings",
    "persistent": "persistent",
    "filesystem": "in files",
    "server": "behind a server",
    "filters": "filters duplicates",
    "slots": "serves the slots of the downloader in turn",
    "length": "has a length",
}
"""What is said of a scheduler that offers something."""

_OF_ASYNC_QUEUES = {
    "persistent": "persistent",
    "filesystem": "in files",
    "server": "behind a server",
    "bounded": "bounded",
    "serializes": "serializes",
    "dedupe": "stores no request twice if told so",
    "ttl": "forgets requests after a time if told so",
    "real_loop": "needs the stock event loop",
}
"""What is said of an asynchronous queue that offers something."""


def describe(kind: Kind, found: Capabilities) -> str:
    """Return what was found by probing, in one line; nothing for a kind that is not probed."""
    if kind is Kind.ASYNC_SCHEDULER:
        return ""  # it offers what the queue below it does
    if kind is Kind.SCHEDULER:
        return ", ".join(text for name, text in _OF_SCHEDULERS.items() if getattr(found, name)) or "the minimal interface"
    if kind in (Kind.DUPEFILTER, Kind.SPIDER_STATE):
        return _describe_component(kind, found)
    if kind is Kind.PRIORITY_QUEUE:
        parts = ["persistent" if found.persistent else "not persistent", "peek" if found.peek else "no peek"]
        return ", ".join([*parts, "slots" if found.slots else "no slots"])
    if kind in (Kind.BYTE_PRIORITY_QUEUE, Kind.ROUND_ROBIN_QUEUE):
        parts = []
    elif kind is Kind.ASYNC_QUEUE:
        return (
            ", ".join(text for name, text in _OF_ASYNC_QUEUES.items() if getattr(found, name)) or "nothing beyond the interface"
        )
    else:
        parts = ["no order" if found.order is Order.NONE else str(found.order)]
        if found.priority != "none":
            parts[0] = f"{found.priority.replace('-', ' ')}, {parts[0]} within a priority"
        parts.append("persistent" if found.persistent else "not persistent")
        parts += ["in files"] if found.filesystem else []
        parts += ["behind a server"] if found.server else []
    parts.append("peek" if found.peek else "a peek that raises" if found.peek_stub else "no peek")
    parts.append("clear" if found.clear else "no clear")
    parts += ["chunks"] if found.chunked else []
    if found.serializes:
        others = [f"{name} {fate}" for name, fate in found.stores.items() if fate != "kept"]
        parts.append(f"serializes ({', '.join(others) or 'every type tried is kept'})")
    elif kind is Kind.DOWNSTREAM_QUEUE:
        parts.append("keeps the objects")
    return ", ".join(parts)


def _describe_component(kind: Kind, found: Capabilities) -> str:
    parts = ["persistent" if found.persistent else "not persistent"]
    parts += ["in files"] if found.filesystem else []
    parts += ["behind a server"] if found.server else []
    if kind is Kind.DUPEFILTER:
        parts = ["filters", *parts] if found.filters else ["filters nothing"]
    return ", ".join(parts)
