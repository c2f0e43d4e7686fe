"""An asynchronous queue, and the loop that it runs on, behind proxies that record every call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from queue_conformance.engine.subject import Operations, Subject, unwrapped
from queue_conformance.loops import Task, outcome_of, table_of

RULES = {
    "put": "aqueue.put.accept",
    "get": "aqueue.get.blocks",
    "size": "aqueue.size",
    "clear": "aqueue.clear",
    "close": "aqueue.close.releases",
    "maxsize": "aqueue.maxsize",
}
"""The rule that fails if an operation raises, or does not return."""


class Call(NamedTuple):
    """A call that is an operation only when a loop runs it.

    Attributes:
        source: the coroutine as Python.
        rule: the rule that fails if it raises, or does not return.
        make: makes the coroutine.
    """

    source: str
    rule: str
    make: Callable[[], Any]


class AsyncSubject(Subject):
    """An asynchronous queue; each call on it waits for the loop, but for that of ``maxsize``, which is no coroutine."""

    __slots__ = ()

    def __getattr__(self, method: str) -> Any:
        if method == "maxsize":
            return super().__getattr__(method)

        def call(*arguments: Any, **keywords: Any) -> Call:
            source = f"{self.name}.{method}({self.record.written(*arguments, **keywords)})"
            return Call(
                source, self.rules.get(method, ""), lambda: getattr(self.raw, method)(*map(unwrapped, arguments), **keywords)
            )

        return call


class RecordedLoop(Subject):
    """The loop of a driver; each call on it, such as ``tick()``, ``settle()``, ``stays()`` or ``advance(1)``, is an operation.

    Args:
        driver: whose loop it is.
        record: keeps the operations.
        rule: returns the rule that fails if a task that was begun fails, or the loop never comes to rest.
    """

    __slots__ = ("_driver", "_rule", "_tasks")

    def __init__(self, driver: Any, record: Operations, rule: Callable[[], str]) -> None:
        self.name = "loop"
        self.record = record
        self._driver = driver
        self._rule = rule
        self._tasks: list[Task] = []

    @property
    def raw(self) -> Any:
        """The loop itself, which is another one in a process that was forked."""
        return self._driver.loop

    def run(self, call: Call | Task, name: str = "") -> Any:
        """Run one operation to its end, or a task that was begun; scripts give the result that name."""
        target = f"{name} = " if name else ""
        if isinstance(call, Call):
            return self.record.operate(f"{target}loop.run({call.source})", call.rule, lambda: self.raw.run(call.make()))
        source = self.record.written(call)
        return self.record.operate(f"{target}loop.run({source})", self._rule(), lambda: self.raw.run(call))

    def start(self, call: Call, name: str = "") -> Task:
        """Begin an operation, in a task; its name is that of the variable that it is assigned to, if none is given."""
        start = partial(self.raw.start, name=self.record.target or name or None)
        task: Task = self.record.make(f"loop.start({call.source})", call.rule, lambda: start(call.make()), name, shown=False)
        self._tasks.append(task)
        return task

    def call(self, function: Callable[[], Any] | Call) -> Any:
        """Call a function while the loop is the running one; a method of what is tested is an operation."""
        if isinstance(function, Call):
            return self.record.operate(f"loop.call({function.source})", function.rule, lambda: self.raw.call(function.make()))
        return self.raw.call(function)

    def __getattr__(self, method: str) -> Callable[..., None]:
        def drive(*arguments: Any) -> None:
            going = [(task.get_name(), task) for task in self._tasks if not task.done()]
            source = f"loop.{method}({self.record.written(*arguments)})"
            self.record.operate(source, self._rule(), lambda: getattr(self.raw, method)(*arguments))
            self.record.recorder.remark(table_of(going))

        return drive


@dataclass(eq=False)
class Pending:
    """A task that puts or gets.

    Attributes:
        variable: its name in scripts.
        task: the task.
        number: the number of the item that it puts, or ``None``.
        cancelled: whether the kit cancelled it.
        closed: whether the queue was closed while it waited.
        others: the numbers of the other requests that the queue may have held meanwhile; for a get, those it held before.
    """

    variable: str
    task: Task
    number: int | None = None
    cancelled: bool = False
    closed: bool = False
    others: set[int] = field(default_factory=set)

    @property
    def outcome(self) -> tuple[str, Any]:
        """What became of it; see ``outcome_of``."""
        return outcome_of(self.task)
