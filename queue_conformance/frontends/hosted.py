"""The run of a class that is imported in a process of its own, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, NoReturn

from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.outcomes import CheckResult, blocked
from queue_conformance.engine.registry import Check
from queue_conformance.frontends.implementation_run import ImplementationRun
from queue_conformance.guard import Guard
from queue_conformance.implementation.loading import LoadError
from queue_conformance.processes.descendants import children
from queue_conformance.processes.endings import SILENCE
from queue_conformance.processes.host import Host, HostEnded
from queue_conformance.processes.isolation import IsolatedError, Watchdog
from queue_conformance.running.execution import internal_error
from queue_conformance.running.faults import remember_modules


class Hosted:
    """Like :class:`ImplementationRun`, but with all checks of the implementation run in a process of its own.

    Args:
        begin: discovers it; called there.
        time_limit: seconds that one operation may take.
        watch: called from time to time with the progress of a running check, or ``None``.
        guard: guards what the class must not touch.

    Attributes:
        discovery: what is known of the implementation.
        rules: the rules that its checks may speak of, by id.
        checks: the checks to run, in order.
        ended: how its process ended unasked, in one line, or ``""``.

    Raises:
        LoadError: if there is nothing to test; the message is one line.
    """

    def __init__(
        self,
        path: str,
        begin: Callable[[], ImplementationRun],
        time_limit: float,
        watch: Callable[[Watchdog], None] | None,
        guard: Guard,
    ) -> None:
        self._path = path
        self._watch = watch
        self.ended = ""
        self.checks: list[Check]
        implementation_run: ImplementationRun | None = None

        def work(asked: str | Sequence[str] | None) -> Any:
            nonlocal implementation_run
            if implementation_run is None or asked is None:
                before = children()
                implementation_run = begin()
                if left := children().items() - before.items():
                    _note_processes(implementation_run, [name for _, name in left])
                checks = [replace(check, function=_elsewhere) for check in implementation_run.checks]
                return implementation_run.discovery, implementation_run.rules, checks
            if not isinstance(asked, str):
                return implementation_run.expect(asked)
            return implementation_run.run(next(check for check in implementation_run.checks if check.name == asked))

        remember_modules()
        self._start = partial(Host, work, LoadError, 2 * SILENCE + 6 * time_limit, guard)
        self._host = self._start()
        self._shielded = False
        try:
            self.discovery, self.rules, self.checks = self._ask(None)
        except HostEnded as ended:
            self._host.close()
            raise LoadError(self._told(ended)) from None
        except BaseException:
            self._host.close()
            raise
        self._results: dict[str, CheckResult] = {}
        self._expected = frozenset(check.name for check in self.checks)

    def expect(self, names: Sequence[str]) -> None:
        """Let checks run side by side, where more than one may run at once; those that will be asked for, in order.

        With the last of them the process ends.
        """
        self._expected = frozenset(names)
        with suppress(HostEnded):  # which the first check tells
            self._ask(names)

    def run(self, check: Check) -> CheckResult:
        """Run a check; once."""
        if check.name not in self._results:
            self._results[check.name] = self._run(check)
            if self._expected <= self._results.keys():
                self.close()
        return self._results[check.name]

    def _run(self, check: Check) -> CheckResult:
        try:
            if not self.ended:
                result: CheckResult = self._ask(check.name)
                return result
        except HostEnded as ended:
            self.ended = self._told(ended)
        except IsolatedError as error:
            return internal_error(check, self.rules, str(error).strip().splitlines()[-1], str(error))
        return CheckResult(
            check.name, tuple(blocked(name, check.name, [self.ended]) for name in check.rules if name in self.rules)
        )

    def _ask(self, asked: str | Sequence[str] | None) -> Any:
        """Ask the process; where that ends at work, what it tests may have done it, and another one is asked, with a shield.

        Another one is asked, too, where somebody else stopped the check before: pytest-timeout raises at any place.
        """
        try:
            return self._ask_another(asked) if self._host.closed else self._host.ask(asked, self._watch)
        except HostEnded as ended:
            if self._shielded or not ended.at_work:
                raise
        self._shielded = True
        self._host.close()
        return self._ask_another(asked)

    def _ask_another(self, asked: str | Sequence[str] | None) -> Any:
        """Ask a new process, which discovers the implementation first."""
        self._host = self._start(shielded=self._shielded)
        if asked is not None:
            self._host.ask(None, self._watch)
        return self._host.ask(asked, self._watch)

    def _told(self, ended: HostEnded) -> str:
        return f"{self._path}, once imported, {ended} while nothing was done with it; does its module start a thread or a timer?"

    def close(self) -> None:
        """End the process."""
        self._host.close()


def _note_processes(implementation_run: ImplementationRun, names: Iterable[str]) -> None:
    found = implementation_run.discovery
    line = (
        f"its module starts processes when it is imported, which nothing but the end of the run ends: {', '.join(sorted(names))}"
    )
    implementation_run.discovery = replace(found, notes=(*found.notes, line))


def _elsewhere(context: CheckContext) -> NoReturn:
    """Stand in for the function of a check, which is imported only in the other process."""
    raise AssertionError("a check runs in the process of its class")
