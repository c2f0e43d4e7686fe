"""What the drivers of asynchronous queues and schedulers share: a loop that is driven by hand, and requests as items."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import importlib.util
import re
import sys
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

from queue_conformance.engine.driver import TYPE, Driver
from queue_conformance.engine.recording import OperationRaised, Recorder
from queue_conformance.engine.scripts import SCRATCH, namespace, source_of_backend
from queue_conformance.engine.subject import Item
from queue_conformance.engine.variety import Variety
from queue_conformance.environments.items import QUERY
from queue_conformance.implementation import Implementation
from queue_conformance.implementation.loading import NO_QCRAWL, LoadError, dotted, load_class
from queue_conformance.loops import MUST_COME, Loop, NeedsRealLoop, NeverAtRest, RealLoop, SimulatedLoop
from queue_conformance.script_support.example import same

REQUEST = "qcrawl.core.request.Request"
"""The class of requests unless the author claims another one."""


def priority_given(priority: int, make: Callable[[int], Any]) -> int:
    """Return what a request is made with, so that it says that it has this priority: some classes turn the sign round.

    Args:
        make: makes a request of what it is given for its priority.
    """
    return -priority if priority and getattr(make(priority), "priority", priority) == -priority else priority


_SIMULATED = "loop = SimulatedLoop()  # queue_conformance.loops.RealLoop() is the stock loop, with bounded waits"
"""The line of scripts that makes a simulated loop."""

_URL = re.compile(r"https://example\.com/(\d+)(\?page=1)?")

FIELDS = Variety(
    {
        "method": "method='POST'",
        "body": "body=b'a=1'",
        "meta": "meta={'item': {'name': None}}",
        "headers": "headers={'Accept': 'text/html'}",
        "callback": "callback='parse_page'",
        "cb_kwargs": "cb_kwargs={'page': 1}",
        "cookies": "cookies={'a': '1'}",
        "url": "'?page=1'",
        "retries": "retries=1",
        "timeout_ms": "timeout_ms=500",
        "proxy": "proxy='http://proxy.example.com:8080'",
        "ts": "ts=1",
    },
    ((),),
    {"url": QUERY},
    others={"method": ["method='PUT'"]},
)
"""What requests have, in turn, besides their number and priority: all that a `Request` of qCrawl has."""

_CALLBACKS = ("callback", "errback")


def request_class(claims: Any) -> type[Any]:
    """Return the class of the requests that an implementation takes.

    Raises:
        LoadError: if it is qCrawl's, and qCrawl is not installed, or if no script could import it.
    """
    path = claims.get("request", REQUEST)
    if path == REQUEST and importlib.util.find_spec("qcrawl") is None:
        raise LoadError(f"{NO_QCRAWL}, or name the class of your requests: --conformance-claim=request=my_package.Request")
    found = load_class(path)
    if dotted(path).rpartition(".")[0] not in sys.modules:
        raise LoadError(f"the claim request={path}: name a class at the top of a module, and none within another class")
    return found


BRIEF = 0.5
"""Seconds that something which must happen is waited for at least where a loop is chosen, or where something is broken."""

MOMENT = 0.02
"""Seconds that something which may not happen is waited for where something is broken."""


def _arguments(fields: Mapping[str, str], number: int) -> dict[str, Any]:
    """Return the arguments of a request with these fields and that number."""
    given = {name: ast.literal_eval(source.removeprefix(f"{name}=")) for name, source in fields.items()}
    return {**given, "url": f"https://example.com/{number}{given.get('url', '')}"}


_CLOCKS = {"time": 1e-6, "monotonic": 1e-6, "perf_counter": 1e-6, "time_ns": 1000, "monotonic_ns": 1000, "perf_counter_ns": 1000}
"""The clocks of the machine, and how far each goes on when it is looked at, where they are slowed."""


_CLOCK = type(time.time)


@contextlib.contextmanager
def _slowed_clocks(cls: type[Any]) -> Iterator[None]:
    """Let the clocks of the machine, as a class sees them, all but stand still.

    Otherwise a class that reads them would seem to work on a simulated loop whenever a busy machine lets enough time pass.
    """
    slowed = {clock: count(clock(), step).__next__ for name, step in _CLOCKS.items() for clock in [getattr(time, name)]}
    modules = {"time", *(base.__module__ for base in cls.__mro__)} & sys.modules.keys()
    bound = [
        (names, name, value)
        for names in map(vars, map(sys.modules.get, modules))
        for name, value in names.items()
        if type(value) is _CLOCK and value in slowed
    ]
    for names, name, clock in bound:
        names[name] = slowed[clock]
    try:
        yield
    finally:
        for names, name, clock in bound:
            names[name] = clock


class AsyncDriver(Driver):
    """What the drivers of asynchronous kinds share.

    Attributes:
        loop: drives the implementation; a new one for each scratch directory.
        request_class: the class of the requests that the implementation takes.
        real: whether the implementation turned out to need the stock event loop.
        hurried: whether something already failed, so that a real loop need not wait long for what must happen.
        rest_rule: the rule that fails if the loop never comes to rest; ``""`` for that of the check.
    """

    rest_rule: ClassVar[str] = ""
    variety: ClassVar[Variety] = FIELDS

    def __init__(self, implementation: Implementation, directory: Path, recorder: Recorder) -> None:
        super().__init__(implementation, directory, recorder)
        self.real = False
        self._choosing = self.hurried = False
        self._slowest = 0.0
        self.loop: Loop = self._new_loop()
        self.request_class = request_class(implementation.claims)
        self._names = {**namespace(), "Request": self.request_class}
        self.turn = 0  # of the fields that the last item of a fixed sequence has had
        self._taken = tuple(filter(self._takes, self.variety.fields))

    def _new_loop(self) -> Loop:
        """Return a loop: a simulated one, unless the implementation needs the stock one."""
        implementation = self.implementation
        if self.real or implementation.server or {"server", "real-loop"} & implementation.capabilities.names:
            brief = min(MUST_COME, max(BRIEF, 2 * self._slowest))
            if self.hurried:
                return RealLoop(must_come=brief, may_not_come=MOMENT)
            return RealLoop(must_come=brief) if self._choosing or self.impatient else RealLoop()
        return SimulatedLoop(wary=self._choosing)

    @property
    def gave_up(self) -> bool:
        return isinstance(self.loop, RealLoop) and (self.hurried or self.loop.waited)

    @property
    def simulated(self) -> bool:
        """Whether time and interleavings are controlled."""
        return isinstance(self.loop, SimulatedLoop)

    @abstractmethod
    def use(self, directory: Path) -> None:
        """Do what every crawl does, to see whether it works on the loop of this driver.

        Raises:
            OperationRaised: if something raises, or waits for what nothing brings.
            NeedsRealLoop: if it works on no simulated loop.
            NeverAtRest: if it is busy all the time.
        """

    def choose_loop(self, workdir: Callable[[], Path]) -> None:
        """Find out which loop an implementation needs: the stock one if it works only there.

        That is what has sockets or threads of its own, whose threads wait, which never comes to rest, or which goes by the
        clock of the machine. What works on neither is tested on the simulated one, which is faster.

        Args:
            workdir: makes an empty directory for each use.
        """

        def works() -> bool:
            try:
                self.use(workdir())
            except (OperationRaised, NeedsRealLoop, NeverAtRest):
                return False
            return True

        if not self.simulated:
            return
        self._choosing = True
        with _slowed_clocks(self.implementation.cls):
            simulated = works()
        if not simulated or getattr(self.loop, "foreign", False):
            self.real = True
            self.real = works()
        self._choosing = False

    def renew(self, directory: Path) -> None:
        super().renew(directory)
        if isinstance(self.loop, RealLoop):
            self.hurried |= self.loop.waited
            self._slowest = max(self._slowest, self.loop.slowest)
        self.loop.finish()
        self.loop = self._new_loop()

    @property
    def fields(self) -> tuple[str, ...]:
        return self._taken

    def _takes(self, name: str) -> bool:
        """Whether requests, which may be of the author's own class, have this field."""
        try:
            self.request_class(**_arguments({name: self.variety.sources[name]}, 0))
        except Exception:
            return False
        return True

    def arguments(self, number: int, turn: int) -> dict[str, Any]:
        """Return the arguments of a request with that number, and the fields whose turn it is."""
        return _arguments(self.fields_of(turn), number)

    def _item(self, number: int) -> Item:
        item = self.evaluate(f"Request('https://example.com/{number}')")
        return Item(item.value, item.source, number)

    def evaluate(self, source: str) -> Item:
        return Item(eval(source, self._names), source)

    def identify(self, value: Any) -> int | None:
        url = getattr(value, "url", None)
        match = _URL.fullmatch(url) if isinstance(url, str) else None
        return int(match[1]) if match else None

    def same(self, value: Any, item: Item) -> bool:
        return type(value) is type(item.value) and value == item.value

    def differences(self, value: Any, request: Any) -> list[str]:
        """Return the names of the fields in which what came out differs from a request; a time stamp may be added."""
        if not issubclass(type(value), type(request)):
            return ["type"]
        if dataclasses.is_dataclass(request):
            fields = [field.name for field in dataclasses.fields(request)]
        else:
            fields = [name for name in getattr(request, "__dict__", ()) if not name.startswith("_")]
        changed = [name for name in fields if not same(*(self._field(one, name) for one in (request, value)))]
        return [name for name in changed if name != "ts" or request.ts]

    def altered(self, value: Any, item: Item) -> tuple[str, object, object]:
        name = next(iter(self.differences(value, item.value)), "type")  # one of a subclass may have the same fields
        if name == "type":
            return TYPE, type(value), type(item.value)
        return f"{{}}.{name}", self._field(value, name), self._field(item.value, name)

    def _field(self, request: Any, name: str) -> object:
        """Return a field of a request; a callback by its name, where a request of the author's own may be bound to its spider."""
        value = getattr(request, name, None)
        if name not in _CALLBACKS or "request" not in self.implementation.claims:
            return value  # qCrawl's engine looks for the method by its name, and takes anything else for `parse`
        return "parse" if value is None else getattr(value, "__name__", value)

    def imports(self, body: str) -> list[str]:
        if "Request(" not in body:
            return []
        module, _, name = dotted(self.implementation.claims.get("request", REQUEST)).rpartition(".")
        return [f"from {module} import {name}{'' if name == 'Request' else ' as Request'}"]

    def key(self, value: Any) -> tuple[Any, str] | None:
        return (value.url, "{}.url") if isinstance(value, self.request_class) else None

    def setup(self, body: str) -> list[str]:
        lines = source_of_backend(self.implementation.server)
        if "directory" in body:
            lines += SCRATCH
        if re.search(r"\bloop\b", body):
            lines.append(_SIMULATED if self.simulated else "loop = RealLoop()")
        return lines
