"""What an implementation is held to although it does not show it: by documents of a base class, or by what it leaves behind.

A class that loses what it should keep shows no persistence. If that were all, no rule on persistence would apply to it, and the
worst mistake would look like a choice. So what it shows is compared with what is documented of it, and with traces.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from queue_conformance.implementation.capabilities import Capabilities, Order
from queue_conformance.specification.kinds import all_kinds

_ORDERS = (Order.FIFO.value, Order.LIFO.value)

_STORAGE = ("__init__", "from_crawler", "open", "close", "enqueue_request", "next_request")
"""The methods of Scrapy's scheduler that decide where requests are kept."""

_INTERFACE = ("__init__", "enqueue_request", "next_request", "has_pending_requests")
"""The methods of a scheduler that replaces all of it."""

_USED: Mapping[str, tuple[str, ...]] = {
    "request_seen": ("request_fingerprint", "fingerprinter", "fingerprints"),
    "__init__": (),
}
"""What methods of Scrapy's dupefilter use of their object."""

_MEMORY = re.compile(r"memory", re.IGNORECASE)
_PROMISES = {
    "by-priority": re.compile(
        r"^(?!.*\blow(?:er|est)\b)"
        r"(?:.*\bhigh(?:er|est)\b[^,]*\bpriorit(?:y|ies)\b.*\b(?:first|before)\b"
        r"|.*\bpriorit(?:y|ies)\b.*\bhigh(?:er|est) (?:one )?first\b)",
        re.I,
    ),
    "fifo": re.compile(r"\bFIFO\b|\bfirst in,? first out\b", re.I),
}
_SAYS = {
    order: re.compile(
        r"(?:(?:an?|it is|this is an?|items|requests)\b,? ?)?"
        r"(?:(?!(?:beside|for|from|in|like|of|on|over|than|the|to|unlike|with) )[\w-]*[^\Ws],? ){0,2}"
        rf"(?:{order.value}|{ends})\b",
        re.I,
    )
    for order, ends in ((Order.FIFO, "first in,? first out"), (Order.LIFO, "last in,? first out"))
}
"""How a docstring begins that says what order its class has: with that, or with an adjective and a noun before."""
_DENIES = re.compile(r"\b(?:no|not|never|whatever|regardless|unless|except|but)\b|n't\b", re.I)
"""What makes a sentence anything but a plain promise."""
_CLEARS = re.compile(
    r"(clear|delete|drop|forget|remove)s?\b.*\b(data|everything|fingerprints|key|requests|seen|stored)\b", re.IGNORECASE
)


@cache
def _documented() -> Mapping[str, tuple[str, ...]]:
    """Return what is documented of released classes of all kinds, by their dotted paths."""
    return {path: names for kind in all_kinds() for path, names in kind.documented.items()}


def documented(cls: type[Any], settings: Mapping[str, Any]) -> dict[str, str]:
    """Return what is documented that a class offers: by the names of claims, the class whose documentation says so."""
    found: dict[str, str] = {}
    for base in cls.__mro__:
        for path in _paths(base):
            for name in _documented().get(path, ()):
                if name in _ORDERS:
                    found.setdefault("order", name)
                elif not _replaced(name, cls, base, settings):
                    found.setdefault(name, path)
    return found


def lineage_of(cls: type[Any]) -> frozenset[str]:
    """Return the dotted paths of a class and of its base classes, without those of which it inherits only the name."""
    return frozenset(f"{base.__module__}.{base.__qualname__}" for base in cls.__mro__ if not _answers_alone(cls, base))


def _answers_alone(cls: type[Any], base: type[Any]) -> bool:
    """Whether a class has replaced all of what a base class answers the engine, or of how it tells duplicates."""
    if base.__name__ == "Scheduler":
        return _own(cls, base).issuperset(_INTERFACE)
    if base.__module__ != "scrapy.dupefilters" or "request_seen" not in vars(base):
        return False
    return "request_fingerprint" in _own(cls, base) or not _asks(cls, base, "request_seen")


def _own(cls: type[Any], base: type[Any]) -> set[str]:
    """Return the names of what a class, and what is between it and a base class, define themselves."""
    return {name for other in cls.__mro__[: cls.__mro__.index(base)] for name in vars(other)}


def _asks(cls: type[Any], base: type[Any], method: str) -> bool:
    """Whether a method of a class is that of a base class, or calls that, or uses what that uses of the object."""
    for other in cls.__mro__[: cls.__mro__.index(base)]:
        if method in vars(other):
            used = getattr(inspect.unwrap(vars(other)[method]), "__code__", None)
            return used is None or not {"super", base.__name__, *_USED[method]}.isdisjoint(used.co_names)
    return True


def _replaced(name: str, cls: type[Any], base: type[Any], settings: Mapping[str, Any]) -> bool:
    """Whether a setting or a subclass replaces what is documented."""
    if base.__module__ == "scrapy.dupefilters":  # who builds it opens its file
        return not _asks(cls, base, "request_seen") and not _asks(cls, base, "__init__")
    if base.__name__ != "Scheduler":
        return False
    if _answers_alone(cls, base):  # of what is documented, only the name of the base is left
        return True
    own = not _own(cls, base).isdisjoint(_STORAGE)
    if name == "filters":
        return "DUPEFILTER_CLASS" in settings
    return name in ("configurable", "filesystem") and (own or "SCHEDULER_DISK_QUEUE" in settings)


def forgets(cls: type[Any], settings: Mapping[str, Any]) -> bool:
    """Whether a class, or a base of it, is documented to clear what it stored when it is closed.

    The docstring of ``close`` may say so, too: «Delete data on close.» And many a class that was copied from a documented one
    goes by the same setting.
    """
    if _CLEARS.match(inspect.getdoc(getattr(cls, "close", None)) or ""):
        return True
    unless = {path: setting for kind in all_kinds() for path, setting in kind.clears.items()}
    for path in (path for base in cls.__mro__ for path in _paths(base)):
        if path in unless:
            return _is_off(unless[path], settings)
    return any(_is_off(name, settings) for name in set(unless.values()) if name and _reads(cls, name))


def _is_off(name: str, settings: Mapping[str, Any]) -> bool:
    return str(settings.get(name, False)) in ("False", "0", "false", "")


def _reads(cls: type[Any], name: str) -> bool:
    """Whether a method of a class has the name of a setting in its code, and no ``True``, which would be its default."""
    found = (inspect.getattr_static(cls, each) for each in dir(cls))
    methods = (getattr(value, "__func__", value) for value in found)
    codes = (getattr(inspect.unwrap(method), "__code__", None) for method in methods if callable(method))
    constants = (code.co_consts for code in codes if code)
    return any(name in each and not any(one is True for one in each) for each in constants)


def _paths(cls: type[Any]) -> Iterator[str]:
    """Yield the dotted paths under which a module has a class of its own; factories give them other names than they bear."""
    module = sys.modules.get(cls.__module__)
    for name, value in vars(module).items() if module else ():
        if value is cls:
            yield f"{cls.__module__}.{name}"


def promised(cls: type[Any]) -> frozenset[str]:
    """Return what the docstring of a class itself promises, by the names of capabilities.

    That is ``by-priority``, if it says that higher priorities come first, and ``fifo``, if it says so of its order.
    """
    text = " ".join(_docstring(cls).replace("`", "").split())
    sentences = [sentence for sentence in re.split("[.;]", text) if not _DENIES.search(sentence)]
    return frozenset(name for name, said in _PROMISES.items() if any(map(said.search, sentences)))


def _docstring(cls: type[Any]) -> str:
    """Return the docstring of a class itself, or ``""`` if it has none, or a slot or a property of this name."""
    own = vars(cls).get("__doc__")
    return inspect.cleandoc(own) if isinstance(own, str) else ""


def says_memory(cls: type[Any]) -> bool:
    """Whether the name or the first line of the docstring of a class says that it keeps things in memory."""
    first = str(cls.__doc__ or "").strip().partition("\n")[0]
    return bool(_MEMORY.search(cls.__name__) or _MEMORY.search(first))


def is_unsupported(error: BaseException) -> bool:
    """Whether an exception of ``peek`` says that there is none, and not that it is broken."""
    return isinstance(error, NotImplementedError) or (isinstance(error, AttributeError) and error.name == "peek")


def orders_by_name(cls: type[Any]) -> Order:
    """Return the order that a class, or a base of it that is not released, has in its name."""
    for base in cls.__mro__:
        if any(path in _documented() for path in _paths(base)):
            break
        said = [order for order in (Order.FIFO, Order.LIFO) if order.lower() in base.__name__.lower()]
        if len(said) == 1:
            return said[0]
    return Order.NONE


def order_by_docstring(cls: type[Any]) -> Order:
    """Return the order that the docstring of a class itself begins with, if its first sentence says that plainly."""
    first = " ".join(re.split(r"[.;]|\n\n", _docstring(cls).replace("`", ""))[0].split())
    if _DENIES.search(first):
        return Order.NONE
    return next((order for order, begins in _SAYS.items() if begins.match(first)), Order.NONE)


def hold(
    found: Capabilities, cls: type[Any], settings: Mapping[str, Any], traces: Mapping[str, Iterable[str]] | None = None
) -> Capabilities:
    """Add to what was found what a class is held to.

    Args:
        traces: what it leaves behind, by the names of claims: the reasons, of which the first one counts.
    """
    held, by_name = dict(found.held), orders_by_name(cls)
    said = by_name if by_name is not Order.NONE else order_by_docstring(cls)
    if Order.NONE not in (said, found.order) and said is not found.order:
        held["order"] = said.value
    for name, path in documented(cls, settings).items():
        if name == "order":
            if path != found.order and not (by_name is found.order is not Order.NONE):
                held[name] = path
        elif name not in found.names:
            held.setdefault(name, f"{path} is documented so")
    for name, reasons in (traces or {}).items():
        reason = "" if name in found.names or (name == "persistent" and forgets(cls, settings)) else next(iter(reasons), "")
        if reason:
            held.setdefault(name, reason)
    spoken = by_name if by_name is not Order.NONE else Order.FIFO if "fifo" in promised(cls) else Order.NONE
    return replace(found, held=held, spoken_order=Order.NONE if "order" in held or spoken is found.order else spoken)
