"""Checks that share a process: that of a check which left everything in order runs the next one too, and saves a fork.

What is unusual is not judged here: a check that fails, hangs, ends its process, leaves threads or processes behind, or wants a
process of its own runs again in one, as if it had not run before.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import replace
from multiprocessing import Pipe
from multiprocessing.connection import Connection

from queue_conformance import isolation
from queue_conformance.descendants import children, end_descendants
from queue_conformance.discovery import Implementation
from queue_conformance.engine.outcomes import CheckResult, FailedAmongOthers, NotAlone
from queue_conformance.engine.process import Process, fork
from queue_conformance.engine.registry import Check, checks_of
from queue_conformance.isolation import FIRST, Abort, Answer, Watchdog
from queue_conformance.running.contexts import RunConfig, in_context
from queue_conformance.running.execution import observe
from queue_conformance.specification import Rule

MOST = 3
"""Checks in a row that spoil their process, after which each one gets its own at once."""


class Sharing:
    """A process for the checks of one implementation, and the next one where that has ended.

    Args:
        implementation: what they test.
        rules: the rules that apply to it, by id.
        config: how they are run.
    """

    def __init__(self, implementation: Implementation, rules: Mapping[str, Rule], config: RunConfig) -> None:
        self._implementation, self._rules = implementation, rules
        self._config = replace(config, in_process=True, shared=True, watch=None)
        self._running: tuple[int, Connection] | None = None
        self._spoiled = 0

    def run(self, check: Check) -> CheckResult | Abort | None:
        """Run a check; one that draws sequences has a process of its own.

        Returns:
            What it says; how long it takes, if that is too long; or ``None``, if there is more to it.
        """
        watchdog = isolation.supervises
        if watchdog is None or check.is_machine or self._spoiled >= MOST:
            return None
        watchdog.reset()
        watchdog.tell(FIRST)
        pid, channel = self._running = self._running or self._started(watchdog)
        try:
            channel.send(check.name)
            if isolation.hangs(pid, watchdog, self._config.time_limit, channel.poll):
                self.end()
                return isolation.abort(watchdog, "", self._config.time_limit)
            said: CheckResult | NotAlone | None = channel.recv()
        except (EOFError, OSError):
            said = None
        if isinstance(said, CheckResult):
            self._spoiled = 0
            return said
        self._spoiled += not isinstance(said, NotAlone)
        self.end()
        return None

    def end(self) -> None:
        """End the process, and what it leaves behind."""
        if self._running:
            pid, channel = self._running
            self._running = None
            channel.close()
            Process(pid).end()
            isolation.waits_for_work.discard(pid)
            end_descendants(self._before)

    def _started(self, watchdog: Watchdog) -> tuple[int, Connection]:
        self._before = children()
        ours, theirs = Pipe()
        pid = fork()
        if pid == 0:
            try:
                ours.close()
                isolation.become_tested()
                isolation.watched_by = watchdog
                while self._serve(theirs):
                    pass
            finally:
                os._exit(0)
        theirs.close()
        isolation.waits_for_work.add(pid)
        return pid, ours

    def _serve(self, channel: Connection) -> bool:
        """Run the check that is asked for, and return whether the next one can follow."""
        name = channel.recv()
        check = next(check for check in checks_of(self._implementation.kind) if check.name == name)
        threads = threading.active_count()
        try:
            ended = in_context(self._implementation, self._config, lambda context: observe(check, context, self._rules))
        except NotAlone as reason:
            channel.send(None if isinstance(reason, FailedAmongOthers) else reason)
            return False
        assert isinstance(ended, Answer)
        in_order = _is_sound(ended.value) and threading.active_count() <= threads and not children()
        channel.send(ended.value if in_order else None)
        return in_order


def _is_sound(result: CheckResult) -> bool:
    return result.finished and not (result.failed or result.internal_error or result.slow or result.trouble)
