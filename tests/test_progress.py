"""A long run says what it is doing, and what pytest prints stays as it is."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import time
from types import SimpleNamespace

import pytest
from kit import FIFO_MEMORY, alone, context, further

from queue_conformance.engine.generation import explore
from queue_conformance.engine.registry import checks_of
from queue_conformance.engine.runner import runner_of
from queue_conformance.frontends import progress
from queue_conformance.frontends.progress import PlainLines, Progress, StatusLine, describe, duration, in_hand
from queue_conformance.processes import isolation
from queue_conformance.processes.isolation import Tally, Watchdog

LINE = re.compile(r"  (\S+: )?machine  \[2/2 checks\]  [\d ]+ of 600 sequences, [\d .]+/s(, about \d+ s left)?")


# --- What a check says of itself -------------------------------------------------------------------------------------


def test_the_caller_sees_how_far_the_function_is_while_it_runs():
    seen = []

    def counts(watchdog):
        watchdog.aim("sequences", 40)
        for _ in range(40):
            time.sleep(0.01)
            watchdog.count()

    isolation.run(counts, time_limit=5, watch=lambda watchdog: seen.append(watchdog.tally))
    begun = [tally for tally in seen if tally.unit]
    assert {(tally.unit, tally.goal) for tally in begun} == {("sequences", 40)}
    done = [tally.done for tally in begun]
    assert done == sorted(done)
    assert len(set(done)) > 1


def test_a_new_count_begins_at_nothing():
    watchdog = Watchdog()
    assert watchdog.tally == Tally("", 0, 0, 0.0, 0.0)
    watchdog.aim("requests", 5, ends=7.0)
    watchdog.count(3)
    assert (watchdog.tally.unit, watchdog.tally.done, watchdog.tally.goal, watchdog.tally.ends) == ("requests", 3, 5, 7.0)
    watchdog.aim("crashes")
    assert (watchdog.tally.unit, watchdog.tally.done, watchdog.tally.goal, watchdog.tally.ends) == ("crashes", 0, 0, 0.0)


def test_the_machine_counts_the_sequences_that_it_runs():
    with context(FIFO_MEMORY) as found:
        found.examples = 30
        explore(runner_of(found))
        assert (found.watchdog.tally.unit, found.watchdog.tally.goal) == ("sequences", 30)
        assert found.watchdog.tally.done == 30


def test_after_a_failure_the_machine_promises_no_end():
    with context("mutants.memory.PeeksAtTheNewest") as found:
        explore(runner_of(found))
        assert (found.watchdog.tally.unit, found.watchdog.tally.goal) == ("sequences to shorten what failed", 0)
        assert found.watchdog.tally.done > 0


@pytest.mark.parametrize(
    ("path", "name", "unit"),
    [
        ("scrapy.squeues.PickleFifoDiskQueue", "queue.pop.roundtrip", "requests"),
        ("queue_reference.disk.FifoDiskQueue", "queue.persist.crash-open", "crashes"),
        ("queue_reference.dupefilter.DupeFilter", "seen.thousands", "turns"),
    ],
)
def test_other_checks_that_draw_count_too(path, name, unit):
    def tally_of_check():
        with context(path) as found:
            found.examples = 12
            next(check for check in checks_of(found.implementation.kind) if check.name == name).function(found)
            return found.watchdog.tally, found.watchdog.now

    tally, now = alone(tally_of_check)
    assert tally.unit == unit
    assert tally.done > 0
    assert tally.done >= tally.goal or now > tally.ends > 0


# --- How it is said --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tally", "said"),
    [
        (Tally("sequences", 34_120, 100_000, 81.4, 0.0), "34 120 of 100 000 sequences, 1 834/s, about 36 s left"),
        (Tally("sequences", 0, 100, 99.0, 0.0), "0 of 100 sequences"),
        (Tally("sequences", 100, 100, 90.0, 0.0), "100 of 100 sequences, 10/s"),
        (Tally("requests", 120, 100, 90.0, 0.0), "120 requests, 12/s"),  # Hypothesis drew some that do not count
        (Tally("sequences to shorten what failed", 7, 0, 95.0, 0.0), "7 sequences to shorten what failed, 1.4/s"),
        (Tally("crashes", 1, 90, 90.0, 0.0), "1 of 90 crashes, 0.1/s, about 15 min left"),
        (
            Tally("finding the smallest crawl", 6, 60, 90.0, 112.0),
            "finding the smallest crawl, 6 of at most 60, 12 s more at most",
        ),
        (Tally("finding the smallest crawl", 6, 60, 90.0, 99.0), "finding the smallest crawl, 6 of at most 60"),
        (Tally("crashes", 1, 90, 90.0, 120.0), "1 of 90 crashes, 0.1/s, about 20 s left"),  # when the check gives up
    ],
)
def test_how_far_a_check_is_fits_one_line(tally, said):
    assert describe(tally, now=100.0) == said


def test_the_operation_in_hand_is_named_with_its_limit():
    watchdog = Watchdog()
    watchdog.tell(50.0)
    assert in_hand(watchdog, 10.0) == ""
    watchdog.enter("queue.push(1)", "queue.push.accept")
    watchdog.leave()
    watchdog.enter("popped = queue.pop()", "queue.pop.no-wait")
    watchdog.tell(50.5)
    assert in_hand(watchdog, 10.0) == ""
    watchdog.tell(56.0)
    assert in_hand(watchdog, 10.0) == "pop: 6 s of at most 10 s"
    watchdog.leave()
    assert in_hand(watchdog, 10.0) == ""
    watchdog.enter("the script", "")
    watchdog.tell(70.0)
    assert in_hand(watchdog, 10.0) == ""


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.2, "1 s"), (36.4, "36 s"), (59.6, "1 min"), (3569, "59 min"), (3571, "1 h 0 min"), (7800, "2 h 10 min")],
)
def test_a_duration_has_the_units_that_matter(seconds, said):
    assert duration(seconds) == said


class Writer:
    """Keeps what a reporter of pytest would write."""

    def __init__(self, column=0):
        self.texts = []
        self.width_of_current_line = column
        self._file = SimpleNamespace(write=self.texts.append)

    def flush(self):
        pass


def reporter(column=0):
    """Return what a display asks of pytest's reporter."""
    manager = SimpleNamespace(get_plugin=lambda name: None)
    return SimpleNamespace(config=SimpleNamespace(pluginmanager=manager), _tw=Writer(column))


TEXTS = ("  my_package.queues.MyQueue: machine  12 s", "  MyQueue: machine  12 s", "  machine  12 s")


@pytest.mark.parametrize(("columns", "shown"), [(80, TEXTS[0]), (30, TEXTS[1]), (20, TEXTS[2]), (10, "  machine")])
def test_the_status_line_says_as_much_as_there_is_room_for(monkeypatch, columns, shown):
    monkeypatch.setenv("COLUMNS", str(columns))
    found = reporter()
    StatusLine(found).show(TEXTS)
    assert found._tw.texts == [f"\r\x1b[J{shown}"]


@pytest.mark.parametrize(("columns", "shown"), [(42, TEXTS[0]), (41, TEXTS[1]), (9, "  machine")])
def test_so_does_a_plain_line(columns, shown):
    found = reporter()
    found.write = lambda text, **_: found._tw.texts.append(text)
    found._tw.fullwidth = columns
    PlainLines(found).show(TEXTS)
    assert found._tw.texts == [f"{shown}\n"]


def test_a_line_that_is_too_long_is_cut_where_a_part_ends():
    found = reporter()
    found.write = lambda text, **_: found._tw.texts.append(text)
    found._tw.fullwidth = 48
    PlainLines(found).show(["  machine  finding the smallest, 3 of at most 60, 12 s more"])
    assert found._tw.texts == ["  machine  finding the smallest, 3 of at most 60\n"]


def test_a_status_line_that_a_narrower_terminal_has_broken_is_erased_as_a_whole(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    found = reporter(column=25)
    line = StatusLine(found)
    line.show(TEXTS)
    monkeypatch.setenv("COLUMNS", "20")
    line.clear()
    assert found._tw.texts == [f"\r\n\r\x1b[J{TEXTS[0]}", "\x1b[2A\r\x1b[J\x1b[A\x1b[6G"]
    line.clear()
    assert len(found._tw.texts) == 2


def test_the_status_line_waits_and_is_not_rewritten_more_often_than_four_times_a_second():
    line = StatusLine(reporter())
    now = time.monotonic()
    assert not line.due(now, since=now - 0.9)
    assert line.due(now, since=now - 1.1)
    line.show(TEXTS)
    shown = time.monotonic()
    assert not line.due(shown + 0.2, since=now - 1.1)
    assert line.due(shown + 0.3, since=now - 1.1)


def test_plain_lines_come_after_half_a_minute_and_then_each_minute():
    found = reporter()
    found.write = lambda text, **_: found._tw.texts.append(text)
    started = time.monotonic()
    found._tw.fullwidth = 80
    lines = PlainLines(found)
    assert not lines.due(started + 29, since=started)
    assert lines.due(started + 31, since=started)
    lines.show(TEXTS)
    assert not lines.due(started + 59, since=started)
    assert lines.due(time.monotonic() + 61, since=started)


def test_what_is_done_before_there_are_checks_is_shown_and_cleared():
    found = reporter()
    shown = Progress(StatusLine(found), time_limit=10.0)
    with shown.during("my_package.MyQueue::finding out what it offers"):
        shown._running["my_package.MyQueue::finding out what it offers"] -= 12
        shown.watch(Watchdog())
    assert found._tw.texts == ["\r\x1b[J  my_package.MyQueue: finding out what it offers  12 s", "\r\x1b[J"]


# --- In a terminal ---------------------------------------------------------------------------------------------------

SELECTED = (
    "-k",
    "machine or queue.pop.fifo and not claims and not clock and not many",
    "--conformance-examples=600",
    "-p",
    "no:cacheprovider",
)


def in_terminal(directory, columns, arguments, status=0, **constants):
    """Run the kit in a terminal; return what is on its screen in the end, and the lines that were there in between."""
    pyte = pytest.importorskip("pyte")
    (directory / "conftest.py").write_text(
        "".join(
            [
                "import queue_conformance.frontends.progress as progress\n",
                *(f"progress.{name} = {value}\n" for name, value in constants.items()),
            ]
        )
    )
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 12, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("CI", "COLUMNS", "PYTEST_ADDOPTS")}
    child = subprocess.Popen(
        [sys.executable, "-m", "pytest", f"--queue-class={FIFO_MEMORY}", *SELECTED, *arguments],
        cwd=directory,
        env={**environment, "TERM": "xterm-256color"},
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
    )
    os.close(terminal)
    screen = pyte.HistoryScreen(columns, 12, history=1000)
    stream, between = pyte.ByteStream(screen), set()
    try:
        while data := os.read(controller, 4096):
            stream.feed(data)
            between.update(line.rstrip() for line in screen.display)
    except OSError:
        pass  # so Linux says that the other end is closed
    finally:
        os.close(controller)
    assert child.wait(timeout=60) == status
    above = ["".join(row[column].data for column in range(columns)) for row in screen.history.top]
    text = "\n".join(line.rstrip() for line in [*above, *screen.display])
    return re.sub(r"=+ (.*) in [\d.]+s =+", r"\1", text).rstrip(), between


@pytest.mark.further
@pytest.mark.parametrize(("columns", "arguments"), [(110, []), (100, ["-n", "2"]), (70, ["-v"]), (44, ["--color=no"])])
def test_the_line_appears_and_leaves_no_trace(tmp_path, columns, arguments):
    with_line, between = in_terminal(tmp_path, columns, arguments, AFTER=0.1, EVERY=0.05)
    without, silent = in_terminal(tmp_path, columns, arguments, AFTER=1e9)
    lines = [line for line in between if "checks" in line]
    assert lines
    assert not any("checks" in line for line in silent)
    if columns == 110:
        assert any(LINE.fullmatch(line) for line in lines), lines
    assert "CONFORMANT" in without or "PARTIAL" in without
    assert with_line == without


def test_a_run_that_ends_in_the_middle_leaves_no_trace_either(tmp_path):
    (tmp_path / "plugin.py").write_text(
        "import os, signal, threading\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it\n"
        "def pytest_runtest_logstart(nodeid):\n"
        "    if nodeid.endswith('machine'):\n"
        "        threading.Timer(0.7, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
    )
    arguments = ["-p", "plugin", "--conformance-examples=100000"]
    text, between = in_terminal(tmp_path, 100, arguments, pytest.ExitCode.INTERRUPTED, AFTER=0.1, EVERY=0.05)
    assert any("[2/2 checks]" in line for line in between)
    assert "[2/2 checks]" not in text
    assert "KeyboardInterrupt" in text


# --- Elsewhere -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [[], *further(["-n", "2"])])
def test_elsewhere_a_plain_line_comes_now_and_then(pytester, monkeypatch, arguments):
    monkeypatch.setenv("COLUMNS", "120")
    pytester.makeconftest("import queue_conformance.frontends.progress as progress\nprogress.FIRST = progress.PERIOD = 0.05\n")
    result = pytester.runpytest_subprocess(f"--queue-class={FIFO_MEMORY}", *SELECTED, *arguments)
    assert result.ret == 0
    lines = [line for line in result.outlines if "checks" in line and line.startswith(f"  {FIFO_MEMORY}: ")]
    assert lines
    if arguments:
        assert re.fullmatch(rf"  {FIFO_MEMORY}: \S+  \[\d of 2 checks done\]  running for \d+ s", lines[-1])
    else:
        assert LINE.fullmatch(lines[-1])
    assert "\x1b" not in result.stdout.str()


@pytest.mark.parametrize("arguments", [["-q"], ["-p", "no:terminal"]])
def test_nothing_is_said_to_those_who_want_to_hear_nothing(pytester, arguments):
    pytester.makeconftest("import queue_conformance.frontends.progress as progress\nprogress.FIRST = progress.PERIOD = 0.05\n")
    result = pytester.runpytest_subprocess(f"--queue-class={FIFO_MEMORY}", *SELECTED, *arguments)
    assert result.ret == 0
    assert "checks]" not in result.stdout.str()


def test_a_quick_run_prints_nothing_more(pytester):
    result = pytester.runpytest_subprocess(f"--queue-class={FIFO_MEMORY}", *SELECTED)
    assert "checks" not in result.stdout.str()
    assert (progress.FIRST, progress.PERIOD) == (30.0, 60.0)
