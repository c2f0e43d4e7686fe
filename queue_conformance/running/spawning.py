"""Where a process cannot be forked (Windows): checks run in one that is spawned, one after another until one hangs or ends it."""

from __future__ import annotations

import multiprocessing
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path

from queue_conformance.engine.outcomes import CheckResult
from queue_conformance.engine.registry import Check, checks_of
from queue_conformance.implementation import Implementation
from queue_conformance.implementation.loading import load_class
from queue_conformance.processes import endings, role
from queue_conformance.processes.endings import Abort
from queue_conformance.processes.isolation import FIRST
from queue_conformance.processes.process import TICK
from queue_conformance.processes.stopwatch import Stopwatch
from queue_conformance.processes.watchdog import Watchdog
from queue_conformance.running.aborts import fatal_result
from queue_conformance.running.contexts import RunConfig
from queue_conformance.running.execution import execute, faulty
from queue_conformance.specification import Rule

Asked = tuple[str, Implementation, Mapping[str, Rule], RunConfig]


def execute_in_spawned(check: Check, implementation: Implementation, rules: Mapping[str, Rule], config: RunConfig) -> CheckResult:
    """Run one check in a spawned process; as :func:`~queue_conformance.running.execution.execute` otherwise.

    What another process cannot import runs in this one, without protection.
    """
    if not implementation.importable or config.factory or config.prepare:
        return execute(check, implementation, rules, replace(config, in_process=True))
    global _spawned
    if _spawned is None:
        _spawned = Spawned()
    # The path leads to the class, but its own name need not.
    asked = check.name, replace(implementation, cls=object), rules, replace(config, in_process=True, watch=None)
    ended = _spawned.ask(asked, config)
    if isinstance(ended, CheckResult):
        return ended
    _spawned = None  # what hangs, or is dead, runs no other check
    return fatal_result(check, implementation, rules, config, ended, shorten=False)


class Spawned:
    """A process that runs checks."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        with tempfile.NamedTemporaryFile(prefix="queue-conformance-", delete=False) as file:
            self._file = Path(file.name)
        self._watchdog = Watchdog(self._file)
        self._watchdog.tell(FIRST)
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, self._file, sys.path), daemon=True)
        self._process.start()
        theirs.close()

    def ask(self, asked: Asked, config: RunConfig) -> CheckResult | Abort:
        """Run a check; where that takes too long, or ends the process, say how, and end it."""
        watch: Callable[[Watchdog], None] = config.watch or (lambda watchdog: None)
        self._watchdog.reset()
        clock = Stopwatch(self._process.pid or 0, self._watchdog.now)
        self._connection.send(asked)
        try:
            while not self._connection.poll(TICK):
                self._watchdog.tell(clock.look())
                watch(self._watchdog)
                if endings.overdue(self._watchdog, config.time_limit):
                    return self._end("", config)
            result: CheckResult = self._connection.recv()
            return result
        except EOFError:
            self._process.join()
            return self._end(f"ended the interpreter with status {self._process.exitcode}", config)

    def _end(self, how: str, config: RunConfig) -> Abort:
        self._process.terminate()
        self._process.join()
        self._connection.close()
        found = endings.abort(self._watchdog, how, config.time_limit)
        self._watchdog.close()
        self._file.unlink(missing_ok=True)
        return found


_spawned: Spawned | None = None


def _serve(connection: Connection, file: Path, path: list[str]) -> None:
    """Run the checks that are asked for, until nobody asks any more."""
    sys.path[:] = path
    role.watched_by = Watchdog(file)
    while True:
        try:
            name, implementation, rules, config = connection.recv()
        except EOFError:
            return
        implementation = replace(implementation, cls=load_class(implementation.path))
        check = next(check for check in checks_of(implementation.kind) if check.name == name)
        result = execute(check, implementation, rules, config)
        line = config.guard.refused(implementation.path, implementation.settings) if config.guard else ""
        connection.send(faulty(check, rules, line) if line else result)
