"""Checks that share a process: that of a check which left everything in order runs the next one too, and saves a fork.

What is unusual is not judged here: a check that fails, hangs, ends its process, leaves threads or processes behind, or wants a
process of its own runs again in one, as if it had not run before.
"""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import Any

from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.outcomes import CheckResult, FailedAmongOthers, NotAlone
from queue_conformance.engine.registry import Check, checks_of
from queue_conformance.implementation import Implementation
from queue_conformance.processes import descriptors, endings, isolation, messages, role
from queue_conformance.processes.descendants import children, end_descendants
from queue_conformance.processes.endings import Abort
from queue_conformance.processes.isolation import FIRST, Answer, Watchdog
from queue_conformance.processes.mailbox import Mailbox
from queue_conformance.processes.output import Output, limited
from queue_conformance.processes.process import Process, exit_now, fork
from queue_conformance.running.contexts import RunConfig, in_context
from queue_conformance.running.execution import observe
from queue_conformance.specification import Rule

_RING = b"!"
"""What wakes the one who waits; what is asked and answered is in memory that both share."""

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
        self._box = Mailbox()
        self._running: tuple[int, socket.socket] | None = None
        self._output: Output | None = None
        self._stack = ExitStack()
        self._spoiled = 0

    def run(self, check: Check) -> CheckResult | Abort | None:
        """Run a check; one that draws sequences has a process of its own.

        Returns:
            What it says; how it had to be ended, if it had to; or ``None``, if there is more to it.
        """
        watchdog = role.supervises
        if watchdog is None or role.shielded or check.is_machine or self._spoiled >= MOST:
            return None
        watchdog.reset()
        watchdog.tell(FIRST)
        pid, bell = self._running = self._running or self._started(watchdog)
        output = self._output
        self._box.clear()
        self._box.add(check.name.encode())
        poll = select.poll()
        poll.register(bell, select.POLLIN)
        with suppress(OSError):
            bell.send(_RING)
            limit, run_time = self._config.time_limit, self._config.run_time
            why = isolation.wait_for(pid, watchdog, limit, lambda seconds: bool(poll.poll(seconds * 1000)), output, run_time)
            if why is not None:
                self.end()
                return endings.abort(watchdog, why, limit)
            said = self._answer(bell)
            if isinstance(said, CheckResult):
                self._spoiled = 0
                if output is not None:
                    output.pass_on()
                return said
            self._spoiled -= isinstance(said, NotAlone)
        self._spoiled += 1
        self.end()
        return None

    def _answer(self, bell: socket.socket) -> Any:
        """Return what the process says now; nothing, if it has ended, or a class has written where it should not."""
        bell.recv(1 << 16)
        answers = self._box.messages()[1:]
        return messages.read_message(answers[0])[1] if answers else None

    def end(self) -> None:
        """End the process, and what it leaves behind."""
        if self._running:
            pid, bell = self._running
            self._running = None
            bell.close()
            Process(pid).end()
            role.waits_for_work.discard(pid)
            end_descendants(self._before.keys() | role.waits_for_work)  # of which some began later
            self._stack.close()

    def _started(self, watchdog: Watchdog) -> tuple[int, socket.socket]:
        self._before = children()
        self._output = self._stack.enter_context(limited())
        ours, theirs = socket.socketpair()
        descriptors.withhold(ours.fileno())
        pid = fork()
        if pid == 0:
            try:
                ours.close()
                role.become_tested()
                role.watched_by = watchdog
                role.prints_into(self._output)
                theirs.setblocking(False)  # or else who writes there would wait when it is full
                goes_on = True
                while goes_on and select.select([theirs], [], []) and theirs.recv(len(_RING)):
                    goes_on = self._serve()
                    with suppress(BlockingIOError):  # which wakes the other one, too
                        theirs.send(_RING)
            finally:
                exit_now(0)
        theirs.close()
        role.waits_for_work.add(pid)
        return pid, ours

    def _serve(self) -> bool:
        """Run the check that is asked for, and return whether the next one can follow."""
        name = self._box.messages()[0].decode()
        check = next(check for check in checks_of(self._implementation.kind) if check.name == name)
        threads = threading.active_count()
        try:
            ended = in_context(self._implementation, self._config, lambda context: self._observed(check, context))
        except NotAlone as reason:
            messages.leave_message(self._box, "answer", None if isinstance(reason, FailedAmongOthers) else reason)
            return False
        assert isinstance(ended, Answer)
        result, gave_up = ended.value
        in_order = _is_sound(result) and not gave_up and threading.active_count() <= threads and not children()
        messages.leave_message(self._box, "answer", result if in_order else None)
        return in_order

    def _observed(self, check: Check, context: CheckContext) -> tuple[CheckResult, bool]:
        """Run a check, and return whether something was waited for in vain, too."""
        result = observe(check, context, self._rules)
        return result, context.driver.gave_up


def _is_sound(result: CheckResult) -> bool:
    return result.finished and not (result.failed or result.internal_error or result.slow or result.trouble)
