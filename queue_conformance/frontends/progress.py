"""The progress of a long run: a line that is rewritten in a terminal, or elsewhere a plain line now and then.

Quick runs show nothing. The line in a terminal stands below what pytest has printed so far, and is erased before pytest
prints more.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import IO, Any

import pytest

from queue_conformance.compat.pytest import TerminalReporter, write_past, writer_of
from queue_conformance.engine.outcomes import operation_of
from queue_conformance.frontends.items import check_of
from queue_conformance.processes.isolation import Tally, Watchdog

AFTER, EVERY = 1.0, 0.25
"""Seconds that a check runs before the line in a terminal appears, and between two changes of it."""

LONG = 1.0
"""Seconds after which the operation in hand is named."""

FIRST, PERIOD = 30.0, 60.0
"""Seconds before the first plain line, and between two of them."""


class PlainLines:
    """Lines among those of pytest, for files and the logs of CI."""

    def __init__(self, reporter: TerminalReporter) -> None:
        self._reporter = reporter
        self._next = time.monotonic() + FIRST

    def due(self, now: float, since: float) -> bool:
        """Whether it is time to show something, of what has been going on since then (``time.monotonic``, seconds)."""
        return now >= self._next

    def show(self, texts: Sequence[str]) -> None:
        """Show the first of some texts that say the same, the longest first, that has room."""
        with _uncaptured(self._reporter.config):
            below = "\n" if writer_of(self._reporter).width_of_current_line else ""
            self._reporter.write(f"{below}{_fitting(texts, writer_of(self._reporter).fullwidth)}\n", flush=True)
        self._next = time.monotonic() + PERIOD

    def clear(self) -> None:
        """Erase what must not stay when pytest prints more."""


class StatusLine(PlainLines):
    """One line of a terminal, rewritten in place."""

    def __init__(self, reporter: TerminalReporter) -> None:
        super().__init__(reporter)
        self._shown = 0
        self._latest = 0.0

    def due(self, now: float, since: float) -> bool:
        """Whether it has been going on for a while, and the line is not quite new."""
        return now - since >= AFTER and now - self._latest >= EVERY

    def show(self, texts: Sequence[str]) -> None:
        """Show the first text that has room, and leave a column for the cursor."""
        with _uncaptured(self._reporter.config):
            width = shutil.get_terminal_size().columns
            text = _fitting(texts, width - 1)
            below = "\r\n" if writer_of(self._reporter).width_of_current_line and not self._shown else ""
            self._write(f"{below}{self._back(width)}{text}")
        self._shown = len(text)
        self._latest = time.monotonic()

    def clear(self) -> None:
        """Erase the line, and go back to where pytest left off."""
        if not self._shown:
            return
        with _uncaptured(self._reporter.config):
            width = shutil.get_terminal_size().columns
            column = writer_of(self._reporter).width_of_current_line % width
            self._write(self._back(width) + (f"\x1b[A\x1b[{column + 1}G" if column else ""))
        self._shown = 0

    def _back(self, width: int) -> str:
        """Return what erases the line; a terminal that became narrower has broken it into several."""
        rows = max(0, self._shown - 1) // width
        return (f"\x1b[{rows}A" if rows else "") + "\r\x1b[J"

    def _write(self, text: str) -> None:
        write_past(self._reporter, text)


class StreamLine:
    """One line of a terminal, rewritten in place, where no pytest writes.

    Args:
        stream: what reaches the terminal.
    """

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._latest = 0.0

    def due(self, now: float, since: float) -> bool:
        """Whether the line is not quite new."""
        return now - self._latest >= EVERY

    def show(self, texts: Sequence[str]) -> None:
        """Show the first text that has room, and leave a column for the cursor."""
        self._write(f"\r\x1b[K{_fitting(texts, shutil.get_terminal_size().columns - 1)}")
        self._latest = time.monotonic()

    def clear(self) -> None:
        """Erase the line."""
        if self._latest:
            self._write("\r\x1b[K")

    def _write(self, text: str) -> None:
        with suppress(OSError, ValueError):  # nobody reads it any more
            self._stream.write(text)
            self._stream.flush()


def _fitting(texts: Sequence[str], columns: int) -> str:
    fitting = next((text for text in texts if len(text) <= columns), "")
    begun = texts[-1][: columns + len(", ")]
    return fitting or begun.rpartition(", ")[0] or begun[:columns]


def _uncaptured(config: pytest.Config) -> AbstractContextManager[None]:
    """Let what is written reach the terminal, and the terminal be asked for its width, while a check runs."""
    manager = config.pluginmanager.get_plugin("capturemanager")
    return manager.global_and_fixture_disabled() if manager else nullcontext()


def display_of(config: pytest.Config) -> PlainLines | None:
    """Return where a run shows its progress, or ``None`` if nobody looks."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or config.get_verbosity() < 0:
        return None
    in_place = (
        type(reporter) is TerminalReporter  # others have lines of their own
        and reporter.isatty
        and os.environ.get("TERM") != "dumb"
        and not os.environ.get("CI")
        and config.getoption("capture") != "no"
        and not config.getini("log_cli")
    )
    return StatusLine(reporter) if in_place else PlainLines(reporter)


# --- What there is to show -------------------------------------------------------------------------------------------


class Progress:
    """The progress of a run in one process; whoever waits for a check calls :meth:`watch`.

    Args:
        time_limit: seconds that one operation may take.
    """

    def __init__(self, display: PlainLines, time_limit: float) -> None:
        self._display = display
        self._time_limit = time_limit
        self._checks: set[str] = set()
        self._done: set[str] = set()
        self._running: dict[str, float] = {}

    def watch(self, watchdog: Watchdog) -> None:
        """Show how far the running check has come, if it is time to."""
        now = time.monotonic()
        for name, since in self._running.items():
            if self._display.due(now, since):
                number = f"[{len(self._done) + 1}/{len(self._checks)} checks]" if self._checks else ""
                tally = watchdog.tally
                said = describe(tally, watchdog.now) if tally.unit else duration(now - since)
                hand = in_hand(watchdog, self._time_limit)
                self._display.show([_line(title, number, said, more) for more in (hand, "") for title in _titles(name)])

    @contextmanager
    def during(self, name: str) -> Iterator[None]:
        """Show what goes on before there are checks, under a name of the form ``implementation::what``."""
        self._running[name] = time.monotonic()
        try:
            yield
        finally:
            del self._running[name]
            self._display.clear()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note which checks will be run."""
        self._checks.update(item.nodeid for item in session.items if check_of(item) is not None)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Note that a check begins."""
        if nodeid in self._checks:
            self._running[nodeid] = time.monotonic()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Generator[None, Any, Any]:
        """Leave the terminal to pytest as soon as a check ends, however it ends."""
        try:
            return (yield)
        finally:
            self._display.clear()

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Note that a check is done."""
        if self._running.pop(nodeid, None) is not None:
            self._done.add(nodeid)


class CalledProgress:
    """The progress of a call of ``examine()``, on standard error if that is a terminal."""

    def __init__(self, stream: IO[str]) -> None:
        self._display = StreamLine(stream)
        self._name, self._number, self._since = "", "", time.monotonic()

    def begin(self, implementation: str) -> None:
        """Note that nothing is known yet of a class."""
        self._name, self._number = f"{implementation}::finding out what the class offers", ""
        self._since = time.monotonic()

    def __call__(self, implementation: str, check: str, done: int, checks: int) -> None:
        """Note that a check begins."""
        self._name, self._number = f"{implementation}::{check}", f"[{done + 1}/{checks} checks]"
        self._since = time.monotonic()
        self._show(self._since, "")

    def watch(self, watchdog: Watchdog) -> None:
        """Show how far the running check has come, if it is time to."""
        now = time.monotonic()
        self._show(now, describe(watchdog.tally, watchdog.now) if watchdog.tally.unit else duration(now - self._since))

    def _show(self, now: float, said: str) -> None:
        if self._display.due(now, self._since):
            self._display.show([_line(title, self._number, said) for title in _titles(self._name)])

    def close(self) -> None:
        """Erase what must not stay."""
        self._display.clear()


class DistributedProgress(Progress):
    """The progress of a distributed run, shown by a thread: its controller waits for no check.

    Args:
        names: what the implementations are called.
    """

    def __init__(self, display: PlainLines, time_limit: float, names: Iterable[str]) -> None:
        super().__init__(display, time_limit)
        self._beginnings = tuple(f"{name}::" for name in names)
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, name="queue-conformance-progress", daemon=True)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Note which checks will be run; each worker collects the same."""
        with self._lock:
            self._checks.update(name for name in ids if name.startswith(self._beginnings))
        if not self._thread.is_alive() and not self._over.is_set():
            self._thread.start()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Leave the terminal to pytest."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()
        self._display.clear()

    # pytest's reporter writes in these: no other line may come between.

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str) -> Generator[None, Any, Any]:  # type: ignore[override]
        """Note that a check begins."""
        with self._lock:
            self._display.clear()
            super().pytest_runtest_logstart(nodeid)
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self) -> Generator[None, Any, Any]:
        """Leave the terminal to pytest."""
        with self._lock:
            self._display.clear()
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logfinish(self, nodeid: str) -> Generator[None, Any, Any]:  # type: ignore[override]
        """Note that a check is done."""
        with self._lock:
            self._display.clear()
            super().pytest_runtest_logfinish(nodeid)
            return (yield)

    def _look(self) -> None:
        while not self._over.wait(EVERY):
            with self._lock:
                now = time.monotonic()
                longest, since = min(self._running.items(), key=lambda one: one[1], default=("", now))
                if longest and self._display.due(now, since):
                    done = f"[{len(self._done)} of {len(self._checks)} checks done]"
                    said = f"running for {duration(now - since)}"
                    self._display.show([_line(title, done, said) for title in _titles(longest)])


def _titles(name: str) -> Iterator[str]:
    """Yield what a check may be called, the longest first; in ASCII, of which each character has one column."""
    implementation, _, check = name.encode("ascii", "replace").decode().rpartition("::")
    yield f"{implementation}: {check}"
    yield f"{implementation.rpartition('::')[2].rpartition('.')[2]}: {check}"
    yield check


def _line(*parts: str) -> str:
    return "".join(f"  {part}" for part in parts if part)


def describe(tally: Tally, now: float) -> str:
    """Say how far a check has come.

    Args:
        tally: what it counted.
        now: the time of its own (:attr:`Watchdog.now`, seconds).
    """
    if tally.unit.startswith("finding "):
        longest = f", {duration(tally.ends - now)} more at most" if tally.ends > now else ""
        return f"{tally.unit}, {_grouped(tally.done)} of at most {_grouped(tally.goal)}{longest}"
    known = tally.done <= tally.goal
    parts = [f"{_grouped(tally.done)}{f' of {_grouped(tally.goal)}' if known else ''} {tally.unit}"]
    seconds = now - tally.began
    if tally.done and seconds > 0:
        rate = tally.done / seconds
        parts.append(f"{_grouped(round(rate)) if rate >= 10 else f'{rate:.2g}'}/s")
        if tally.done < tally.goal:
            left = (tally.goal - tally.done) / rate
            if tally.ends:
                left = min(left, max(0.0, tally.ends - now))
            parts.append(f"about {duration(left)} left")
    return ", ".join(parts)


def in_hand(watchdog: Watchdog, time_limit: float) -> str:
    """Return which operation has taken some time by now, and how long it may take, or ``""``."""
    began = watchdog.in_flight_since
    if not began or watchdog.now - began < LONG:
        return ""
    operation = operation_of(watchdog.read("steps").rpartition("\n")[0].rpartition("\n")[2])
    if not operation:  # a whole script is in hand, which has another limit
        return ""
    return f"{operation}: {duration(watchdog.now - began)} of at most {duration(time_limit)}"


def duration(seconds: float) -> str:
    """Return a length of time in the largest units that matter: ``36 s``, ``12 min``, ``2 h 10 min``."""
    if seconds < 59.5:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"


def _grouped(number: int) -> str:
    return f"{number:,}".replace(",", " ")
