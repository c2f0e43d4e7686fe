"""The same machines as ``RuleBasedStateMachine`` of Hypothesis, for authors to extend with rules of their own.

from queue_conformance import state_machine

class MyMachine(state_machine("my_package.MyQueue")):
    @rule()
    def rotate(self):
        ...

TestMyQueue = MyMachine.TestCase
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, cast

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from queue_conformance.compat.hypothesis import DIGEST
from queue_conformance.config.targets import Common, allowed, describe
from queue_conformance.config.values import UsageError
from queue_conformance.discovery.stages import discover
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.outcomes import RuleFailed
from queue_conformance.engine.runner import runner_of
from queue_conformance.engine.sequences import Command
from queue_conformance.engine.violations import violation_of
from queue_conformance.guard import Guard
from queue_conformance.guard.limits import born
from queue_conformance.implementation import Implementation
from queue_conformance.implementation.loading import LoadError, path_of
from queue_conformance.processes.isolation import Watchdog
from queue_conformance.processes.trees import temporary_directory
from queue_conformance.reports.failure import brief
from queue_conformance.running.contexts import RunConfig, served
from queue_conformance.secrets import Secrets
from queue_conformance.specification import load
from queue_conformance.specification.suggestion import did_you_mean

__tracebackhide__ = True  # what pytest shows of a failure is what the machine did, and not how the kit compares


class QueueMachine(RuleBasedStateMachine):
    """One queue, or several side by side, and their model; see :func:`state_machine`.

    Attributes:
        implementation: what is tested.
        guarded: what guards it: what it may touch that is not lent to it, and since when files are its own.
        queues: how many there are side by side.
    """

    implementation: ClassVar[Implementation]
    guarded: ClassVar[tuple[Sequence[str], int | None]]
    queues: ClassVar[int]

    def __init__(self) -> None:
        super().__init__()
        self._stack = contextlib.ExitStack()
        directory = self._stack.enter_context(temporary_directory())
        allowed, began = self.guarded
        self._guard = Guard(directory, allowed, True, began)  # discovery has found what nothing could stop here
        self._failed = False
        self._guarded(lambda: self._begin(directory))

    def _begin(self, directory: Path) -> None:
        implementation, backend = self._stack.enter_context(served(self.implementation, directory))
        self._context = CheckContext(implementation, directory, Watchdog(), backend=backend)
        self._runner = runner_of(self._context)
        self._run = self._runner.begin()

    def perform(self, name: str, queue: int = 0, item: int = 0) -> None:
        """Run one operation on the implementation and its model.

        Args:
            name: an operation, such as ``push``.
            queue: the number of the queue, from 0 on.
            item: the number of the item to push, from 0 on.

        Raises:
            UsageError: if there is no such operation, queue or item; the message is one line.
            RuleFailed: at a difference, attributed to the rule that fails.
        """
        if name not in self._runner.rows:
            raise UsageError(f"there is no operation {name!r}{did_you_mean(name, self._runner.rows)}")
        if queue not in range(self.queues):
            raise UsageError(f"queue: write a whole number from 0 to {self.queues - 1}, not {queue!r}")
        if not isinstance(item, int) or item < 0:
            raise UsageError(f"item: write a whole number, 0 or more, not {item!r}")
        self._guarded(lambda: self._run.step(Command(name, queue, item)))

    def teardown(self) -> None:
        """Compare everything that is left, and close."""
        try:
            if not self._failed:
                self._guarded(self._run.finish)
        finally:
            self._stack.close()

    def _guarded(self, function: Callable[[], None]) -> None:
        """Call a function; what it must not touch, and does, is what is told.

        Raises:
            LoadError: if it does.
        """
        try:
            with self._guard.watching():
                self._shown(function)
        finally:
            if line := self._guard.refused(self.implementation.path, self.implementation.settings):
                self._failed = True
                raise LoadError(Secrets(self.implementation.settings).text(line)) from None

    def _shown(self, function: Callable[[], None]) -> None:
        try:
            function()
            return
        except RuleFailed as failure:
            self._failed = True
            told = self._runner.plain(self._runner.attribute(self._run, failure))
        raise self._told(told)  # where nothing is being handled: Hypothesis tells failures apart by that, too

    def _told(self, failure: RuleFailed) -> RuleFailed:
        """Return a failure as a test suite shows it: in brief, with no frame of the kit."""
        violation, hide = violation_of(self._context, failure), Secrets(self.implementation.settings).text
        rule = load()[failure.rule]
        _, _, text = brief(rule, violation, WIDTH, "the attribute `script` of this exception").partition("\n")
        failure.__class__ = _failure_class(failure.rule)
        failure.args = (hide(f"{rule.level} failed\n{text}\n"),)
        failure.script = hide(violation.script)  # type: ignore[attr-defined]
        failure.__cause__ = failure.__context__ = None
        return failure.with_traceback(None)


WIDTH = 73
"""Columns of a failure: of the 80 that a terminal has, pytest takes some for margins."""


@cache
def _failure_class(rule: str) -> type[RuleFailed]:
    """Return a class for the failures of one rule, because Hypothesis tells failures apart by their type."""
    return type(f"RuleFailed[{rule}]", (RuleFailed,), {"__module__": "builtins"})  # which no traceback writes before the name


def state_machine(
    cls: type[Any] | str,
    *,
    claims: Mapping[str, Any] | Iterable[str] = (),
    queue_settings: Mapping[str, Any] | Iterable[str] = (),
    server: str = "",
    allow: Iterable[str] = (),
) -> type[QueueMachine]:
    """Make the state machine of a class.

    Args:
        cls: the class, or its dotted path.
        claims: what its author claims, as for ``--conformance-claim``: ``["order=FIFO", "persistent"]``, or by name.
        queue_settings: what it is built with, as for ``--queue-setting``; by name, or as ``NAME=VALUE``.
        server: the server that it stores in, as for ``--queue-server``; faults of the connection are then among the rules.
        allow: what it may connect to or change besides, as for ``--conformance-allow``: ``["localhost:6379"]``.

    Returns:
        A class to subclass; its ``TestCase`` can be collected by pytest. The exception of a failure has the attributes
        ``rule``, which is its id, and ``script``, a program that shows it.

    Raises:
        UsageError: if an argument makes no sense; the message is one line that says what to write.
        LoadError: if there is nothing to test.
    """
    if not isinstance(cls, type | str):
        raise UsageError(f"name a class, or its dotted path, not {cls!r}")
    path, given = path_of(cls), cls if isinstance(cls, type) else None
    said = {"settings": queue_settings, "claims": claims, "server": server}
    target = describe(path, "", path, said, Common())
    with tempfile.TemporaryDirectory() as directory:
        guarded = allowed(allow), born(directory)
        guard = Guard(Path(directory), guarded[0], bool(target.server))
        config = RunConfig(Path(directory), server=target.server, guard=guard)
        try:
            found = discover(path, target.settings, target.claims, config, cls=given)
        finally:
            if line := guard.refused(path, target.settings):
                raise LoadError(Secrets(target.settings).text(line)) from None
        implementation = found.implementation(given)
        with served(implementation, Path(directory)) as (reached, backend):
            table = runner_of(CheckContext(reached, Path(directory), Watchdog(), backend=backend)).table
    # Hypothesis keeps examples by a digest of the machine, of which the source is the same for each class.
    members: dict[str, Any] = {
        "implementation": implementation,
        "guarded": guarded,
        "queues": 1 + max((operation.subject for operation in table), default=0),
        DIGEST: path.encode(),
    }
    for name in dict.fromkeys(operation.name for operation in table):
        members[name] = _rule_of(name, [operation for operation in table if operation.name == name])
    machine: Any = type(f"Machine[{path}]", (QueueMachine,), members)
    phases = [phase for phase in settings().phases if phase is not Phase.explain]  # it would explain by lines of the kit
    machine.TestCase.settings = settings(machine.TestCase.settings, phases=phases)  # no deadline, however slow the class is
    return cast(type[QueueMachine], machine)


def _rule_of(name: str, operations: list[Command]) -> Any:
    """Return a rule of Hypothesis that runs one of some operations of one name."""

    def run(self: QueueMachine, operation: Command) -> None:
        self.perform(*operation)

    run.__name__ = name
    return rule(operation=st.sampled_from(operations))(run)
