"""Checks that run before they are asked for, beside the one that is asked for: as many as there are processors."""

from __future__ import annotations

import select
from collections import deque
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from time import monotonic
from typing import Any

from queue_conformance.engine.outcomes import CheckResult
from queue_conformance.implementation.loading import LoadError
from queue_conformance.processes import output, role
from queue_conformance.processes.host import Host
from queue_conformance.processes.output import Output
from queue_conformance.processes.process import TICK

PATIENCE = 5.0
"""Seconds for which a check that runs is waited for where another one is to run alone, if it has not run for longer by then."""


@dataclass
class _Lane:
    """A process that runs one check after the other.

    Attributes:
        check: the name of the one that it runs now, or ``""``.
        known: what it runs that with.
        began: when it began to (``time.monotonic()``).
        output: what that prints into; ``None`` for where this process does.
    """

    host: Host
    check: str = ""
    known: Any = None
    began: float = 0.0
    output: Output | None = None


class Ahead:
    """The checks that will be asked for, run in processes that are forks of this one.

    Args:
        work: runs the check of a name with what is known; called in those processes.
        names: of the checks, in the order in which they begin.
        known: returns what is known that lets the check of a name go on otherwise.
        jobs: how many run at once.
        timeout: seconds without any sign of life after which a process is given up.
        idle: the names of those that wait now and then: while one of them runs, one more does.
        stands: whether a result that came of less, or one that does not fail yet (``None``), stands where more is known by now.
    """

    def __init__(
        self,
        work: Callable[[tuple[str, Any]], CheckResult],
        names: Iterable[str],
        known: Callable[[str], Any],
        jobs: int,
        timeout: float,
        idle: Container[str] = (),
        stands: Callable[[CheckResult | None, Any, Any], bool] = lambda _result, before, now: before == now,
    ) -> None:
        self._work, self._known, self._jobs, self._timeout, self._idle = work, known, jobs, timeout, idle
        self._stands = stands
        self._waiting = deque(names)
        self._lanes: list[_Lane] = []
        self._done: dict[str, tuple[CheckResult, Any, Output | None]] = {}

    def result(self, name: str) -> CheckResult | None:
        """Return what comes of a check with what is known now, once; what it printed is printed now.

        Returns:
            That; or ``None`` if it is not known here.

        Raises:
            HostEnded: if a process has ended, or does nothing any more.
            IsolatedError: if a check raised, which is an error of the kit.
            LoadError: if the class did something so that its check could not go on.
        """
        known = self._known(name)
        self._forget_outdated(name)
        if not (name in self._done or name in self._waiting or any(lane.check == name for lane in self._lanes)):
            return None
        while not self._is_done(name, known):
            self._fill()
            self._look(name)
        self._fill()  # what follows is not waited for
        result, _, printed = self._done.pop(name)
        if printed is not None:
            printed.pass_on()
        _close(printed)
        if not (self._waiting or any(lane.check for lane in self._lanes)):
            self._end(self._lanes)
        return result

    def _is_done(self, name: str, known: Any) -> bool:
        """Whether what comes of a check is there; what came, or would come, of too little is begun anew."""
        if name in self._done:
            result, before, printed = self._done[name]
            if self._stands(result, before, known):
                return True
            _close(printed)
            del self._done[name]
        elif stale := [lane for lane in self._lanes if lane.check == name and not self._stands(None, lane.known, known)]:
            self._end(stale)
        else:
            return False
        self._waiting.appendleft(name)
        return False

    def _forget_outdated(self, asked: str) -> None:
        """Let what ran with less than is known now run again; not at last, when it is asked for."""
        done = [(name, result, known) for name, (result, known, _) in self._done.items() if name != asked]
        for name in [name for name, result, known in done if not self._stands(result, known, self._known(name))]:
            _close(self._done.pop(name)[2])
            self._waiting.append(name)

    def again(self, name: str) -> CheckResult | None:
        """Return what comes of a check when it runs once more, as :meth:`result` does."""
        self._waiting.appendleft(name)
        return self.result(name)

    def _fill(self) -> None:
        """Give each process something to do."""
        while self._waiting and len(self._lanes) < self._room and all(lane.check for lane in self._lanes):
            self._lanes.append(_Lane(Host(self._work, LoadError, self._timeout)))
            role.waits_for_work.add(self._lanes[-1].host.pid)
        for lane in self._lanes:
            if self._waiting and not lane.check and sum(bool(one.check) for one in self._lanes) < self._room:
                lane.check, lane.output = self._waiting.popleft(), output.unless_terminal()
                lane.known, lane.began = self._known(lane.check), monotonic()
                lane.host.begin((lane.check, lane.known), lane.output.streams if lane.output else ())

    @property
    def _room(self) -> int:
        """How many checks run at once: one more while one runs that waits now and then."""
        return self._jobs + any(lane.check in self._idle for lane in self._lanes)

    def _look(self, name: str) -> None:
        """Wait a moment for whichever check is done first, and take what comes of it."""
        busy = [lane for lane in self._lanes if lane.check]
        poll = select.poll()
        for lane in busy:
            poll.register(lane.host.bell, select.POLLIN)
        poll.poll(TICK * 1000)
        for lane in busy:
            if lane.host.look(0.0):
                self._done[lane.check] = lane.host.answer(), lane.known, lane.output
                lane.check, lane.output = "", None
            elif lane.check == name and role.supervises is not None:
                role.supervises.show(lane.host.watchdog)

    def rest(self, known: Callable[[str], Any]) -> None:
        """Wait until nothing runs, without beginning anything; what goes on for long is ended, and begins again later.

        What has run for long already is waited for as long again: to begin anew would take that long at least.

        Args:
            known: returns what may be known soon that lets the check of a name go on otherwise: what would begin again then is
                not waited for.

        Raises:
            HostEnded: as :meth:`result` does, and the others that it raises.
        """
        now = monotonic()
        wanted = [lane for lane in self._lanes if lane.check and self._stands(None, lane.known, known(lane.check))]
        patience = max([PATIENCE, *(now - lane.began for lane in wanted)])
        while any(lane.check for lane in wanted) and monotonic() < now + patience:
            self._look("")
        running = [lane for lane in self._lanes if lane.check]
        self._waiting.extendleft(lane.check for lane in reversed(running))
        self._end(running)

    def stop(self) -> None:
        """End the processes, and forget all that was not asked for."""
        self._end(self._lanes)
        for _, _, printed in self._done.values():
            _close(printed)
        self._done.clear()
        self._waiting.clear()

    def _end(self, lanes: Iterable[_Lane]) -> None:
        """End processes."""
        for lane in [*lanes]:
            self._lanes.remove(lane)
            role.waits_for_work.discard(lane.host.pid)
            lane.host.close()
            _close(lane.output)


def _close(printed: Output | None) -> None:
    if printed is not None:
        printed.close()
