"""Classes that return hostile values: whatever a check does with one, such as hash, compare, sort or show it, misbehaves.

``memory__pop__Unhashable`` is a queue in memory whose ``pop`` returns such a value from its second call on; classes come into
being when they are asked for. What each operation returns instead of a value is made anew for each call.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any
from unittest.mock import MagicMock, Mock

from mutants import QCRAWL, controls_bare


class Boom(Exception):
    """What hostile values raise."""


def _raises(*arguments: Any, **keywords: Any) -> Any:
    raise Boom("hostile")


def _hostile(name: str, base: type = object, **methods: Any) -> type:
    return type(name, (base,), methods)


class Elementwise:
    """Compares as an array does: with a result that has no truth."""

    def __eq__(self, other):
        return Elementwise()

    __ne__ = __lt__ = __gt__ = __eq__
    __hash__ = None  # type: ignore[assignment]

    def __bool__(self):
        raise ValueError("the truth value of an array is ambiguous")


class Liar:
    @property
    def __class__(self):
        return str


class Suspicious:
    @property
    def __class__(self):
        raise Boom("class?")


class Meta(type):
    """Objects of its classes cannot even be asked for the name of their class."""

    __hash__ = type.__hash__
    __eq__ = _raises
    __name__ = property(_raises)  # type: ignore[assignment]
    __module__ = property(_raises)  # type: ignore[assignment]
    __instancecheck__ = _raises


class Talks(str):
    """A text of another class whose methods raise."""

    __slots__ = ()
    __eq__ = __getitem__ = __iter__ = __contains__ = __add__ = __len__ = _raises  # type: ignore[assignment]
    strip = split = startswith = partition = encode = join = replace = isprintable = _raises  # type: ignore[assignment]
    __hash__ = str.__hash__


class Lists(list):
    """A list of another class whose length and members are wrong."""

    __len__ = lambda self: -1  # noqa: E731
    __iter__ = __getitem__ = __eq__ = _raises  # type: ignore[assignment]


class Maps(dict):
    __iter__ = keys = items = values = get = __getitem__ = __eq__ = __len__ = _raises  # type: ignore[assignment]


class Numbers(int):
    __eq__ = __lt__ = __gt__ = __le__ = __ge__ = __add__ = __sub__ = __bool__ = __repr__ = _raises  # type: ignore[assignment]
    __hash__ = int.__hash__


def _recursive() -> Any:
    found: list[Any] = []
    found.append(found)
    return found


def _deep() -> Any:
    found: list[Any] = []
    for _ in range(5000):
        found = [found]
    return found


async def _coroutine() -> None:
    """Nobody awaits it."""


VALUES: Mapping[str, Callable[[], Any]] = {
    "Unhashable": _hostile("Unhashable", __hash__=None),
    "RaisesInHash": _hostile("RaisesInHash", __hash__=_raises),
    "RaisesInEq": _hostile("RaisesInEq", __eq__=_raises, __ne__=_raises, __hash__=object.__hash__),
    "Elementwise": Elementwise,
    "Liar": Liar,
    "Suspicious": Suspicious,
    "OfStrangeClass": lambda: Meta("Strange", (), {})(),
    "RaisesInRepr": _hostile("RaisesInRepr", __repr__=_raises, __str__=_raises),
    "ReprIsNoText": _hostile("ReprIsNoText", __repr__=lambda self: 5, __str__=lambda self: 5),
    "ReprIsTalks": _hostile("ReprIsTalks", __repr__=lambda self: Talks("hello")),
    "ReprIsHuge": _hostile("ReprIsHuge", __repr__=lambda self: "x\x1b[31m\n" * 2_000_000),
    "NegativeLength": _hostile("NegativeLength", __len__=lambda self: -1),
    "HugeLength": _hostile("HugeLength", __len__=lambda self: 1 << 80),
    "FloatLength": _hostile("FloatLength", __len__=lambda self: 1.5),
    "RaisesInBool": _hostile("RaisesInBool", __bool__=_raises),
    "RaisesInGetattr": _hostile("RaisesInGetattr", __getattr__=_raises),
    "RaisesInGetattribute": _hostile("RaisesInGetattribute", __getattribute__=_raises),
    "Mock": Mock,
    "MagicMock": MagicMock,
    "Endless": itertools.count,
    "EndlessText": lambda: itertools.repeat("https://example.com/1"),
    "Generator": lambda: (number for number in range(3)),
    "Recursive": _recursive,
    "Deep": _deep,
    "NaN": lambda: float("nan"),
    "Huge": lambda: 10**10_000,
    "Text": lambda: "https://example.com/1",
    "Bytes": lambda: b"item 1",
    "Surrogate": lambda: "\ud800\x00",
    "Number": lambda: 1,
    "Mixed": lambda: [1, "1", None, {}, b""],
    "Nested": lambda: {"site": [[0, False]], "other": {"a": [None]}},
    "TupleKeys": lambda: {(1, 2): {3}},
    "Talks": lambda: Talks("https://example.com/1"),
    "Lists": lambda: Lists([1, 2]),
    "Maps": lambda: Maps(a=1),
    "Numbers": lambda: Numbers(1),
    "Error": lambda: Boom("a value, and not raised"),
    "KeyboardInterrupt": lambda: KeyboardInterrupt("a value"),
    "ErrorClass": lambda: Boom,
    "Cancelled": lambda: asyncio.CancelledError(),
    "Coroutine": _coroutine,
    "Future": lambda: asyncio.Future(loop=asyncio.new_event_loop()),
    "RaisesInDel": _hostile("RaisesInDel", __del__=_raises),
    "RaisesInReduce": _hostile("RaisesInReduce", __reduce_ex__=_raises, __reduce__=_raises),
    "NotImplemented": lambda: NotImplemented,
    "Ellipsis": lambda: ...,
    "Type": lambda: type,
}
"""By a name, what makes the value."""

IN_MEMORY = "__len__", "__bool__", "push", "pop", "peek", "close"


class _Memory(controls_bare.BareMemoryQueue):
    def peek(self):
        return self.requests[-1] if self.requests else None


class _PriorityQueue(controls_bare.BarePriorityQueue):
    def peek(self):
        return self._queues[min(self._queues)].peek() if self._queues else None


BASES: dict[str, tuple[type, tuple[str, ...]]] = {
    "memory": (_Memory, IN_MEMORY),
    "bytes": (controls_bare.BareByteQueue, IN_MEMORY),
    "bytespq": (controls_bare.BareBytePriorityQueue, ("__len__", "push", "pop", "close")),
    "turns": (controls_bare.BareRoundRobinQueue, ("__len__", "push", "pop", "close")),
    "pq": (_PriorityQueue, ("__len__", "push", "pop", "peek", "close")),
    "scheduler": (
        controls_bare.SlottedScheduler,
        ("__len__", "open", "close", "enqueue_request", "next_request", "has_pending_requests"),
    ),
    "dupefilter": (controls_bare.BareDupeFilter, ("request_seen", "open", "close", "log")),
    "state": (controls_bare.BareSpiderState, ("spider_opened", "spider_closed", "state")),
}
"""By the first part of a name, the class and its operations."""

if QCRAWL:
    from mutants import async_controls_bare

    BASES["async"] = (async_controls_bare.BareQueue, ("put", "get", "size", "clear", "close", "maxsize"))
    BASES["asyncscheduler"] = (
        async_controls_bare.BareScheduler,
        ("add", "get", "task_done", "join", "close", "qsize", "stats"),
    )


def _from_the_second_on(usual: Callable[..., Any], make: Callable[[], Any], always: bool) -> Callable[..., Any]:
    """Return a method that returns hostile values, of each object from the second call on, or always."""
    calls: dict[int, int] = {}

    def swapped(self: Any, value: Any) -> Any:
        calls[id(self)] = calls.get(id(self), 0) + 1
        return make() if always or calls[id(self)] > 1 else value

    if asyncio.iscoroutinefunction(usual):

        async def returning(self: Any, *arguments: Any, **keywords: Any) -> Any:
            return swapped(self, await usual(self, *arguments, **keywords))
    else:

        def returning(self: Any, *arguments: Any, **keywords: Any) -> Any:
            return swapped(self, usual(self, *arguments, **keywords))

    return returning


ALWAYS = ("push", "close", "open", "log", "put", "clear", "join", "task_done", "add", "spider_closed")
"""The operations at whose results the first use of a class does not look."""


@cache
def __getattr__(name: str) -> Any:
    try:
        base, _, rest = name.partition("__")
        operation, _, value = rest.rpartition("__")
        cls, _ = BASES[base]
        make = each() if value == "Each" else VALUES[value]
    except LookupError:
        raise AttributeError(name) from None
    if operation == "state":
        methods: dict[str, Any] = {"spider_opened": lambda self, spider: setattr(spider, "state", make())}
    else:
        usual = getattr(cls, operation, lambda self: bool(len(self)))
        methods = {operation: _from_the_second_on(usual, make, operation in ALWAYS)}
    return type(name, (cls,), {**methods, "__module__": __name__, "__qualname__": name, "__doc__": f"{operation}: {value}."})


def each() -> Callable[[], Any]:
    """Return what makes all of the values in turn."""
    turn = itertools.cycle(VALUES.values())
    return lambda: next(turn)()
