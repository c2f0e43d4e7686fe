"""Checks of what is written, and of what close leaves behind."""

from __future__ import annotations

import contextlib
import textwrap
from collections.abc import Callable
from typing import Any

from queue_conformance.engine.bench import Bench
from queue_conformance.engine.outcomes import NotExercised
from queue_conformance.engine.registry import check
from queue_conformance.implementations.quoted.running import files_below
from queue_conformance.implementations.quoted.support import Held, open_files
from queue_conformance.suites.dupefilters import FILTERS

NOTHING = "dupefilter.no-jobdir"
RELEASES = "dupefilter.close.releases"
TWICE = "dupefilter.close.twice"

CYCLES = 30
"""Times that a filter is opened and closed to find what close leaves behind."""

FEWEST = 10
"""Times that it must be, at least."""

BUDGET = 20.0
"""Seconds after which it is not opened any more; only slow filters come near."""


@check(NOTHING, kinds=FILTERS)
def nothing_is_written_without_a_job_directory(bench: Bench) -> None:
    for name, settings in ((None, {}), ("", {}), (None, {"JOBDIR": None})):
        with bench.collecting():
            bench.restart()
            directory = bench.driver.directory
            bench.recorder.note("os.chdir(directory)")
            with contextlib.chdir(directory):
                dupefilter = bench.open(name, owner=NOTHING, **settings)
                for number in (1, 2, 1):
                    dupefilter.seen(bench.driver.item(number))
                left = [path.name for path in files_below(directory)]  # before it is closed: that may remove them again
                bench.recorder.note("left = files_below(directory)")
                bench.expect(NOTHING, not left, "no file", f"{', '.join(left)} in the working directory", "not left")
                dupefilter.close(NOTHING)
                left = [path.name for path in files_below(directory)]
                bench.recorder.note("left = files_below(directory)")
                bench.expect(NOTHING, not left, "no file", f"{', '.join(left)} in the working directory", "not left")


@check(RELEASES, kinds=FILTERS)
def close_releases_the_files(bench: Bench) -> None:
    if not open_files():
        raise NotExercised("this platform does not tell which files are open")
    held = Held()
    bench.recorder.note("held = Held()")
    source, cycle = _cycle(bench, held)
    bench.recorder.call(f"for _ in range(2):\n{source}", RELEASES, cycle, 2)  # a cache or a pool is made once
    held.count()
    bench.recorder.note("held.count()")
    cycles = bench.recorder.call(f"for _ in range({CYCLES}):\n{source}", RELEASES, cycle, CYCLES)
    if cycles < CYCLES:
        bench.recorder.steps[-1].source = f"for _ in range({cycles}):\n{source}"
        bench.notes.append(f"{RELEASES}: tried with {cycles} of {CYCLES} filters, because it takes more than {BUDGET:g} s")
    if cycles < FEWEST:
        raise NotExercised(f"it takes more than {BUDGET:g} s to open, use and close {FEWEST} filters")
    left = held.files()
    bench.recorder.note("left = held.files()")
    actual = f"{left} more after {cycles} filters were opened, used and closed"
    bench.expect(RELEASES, left < cycles / 2, "no more open files", actual, f"left < {cycles // 2}")


def _cycle(bench: Bench, held: Any) -> tuple[str, Callable[[int], int]]:
    """Return what opens, uses and closes filters, as lines of a loop and as a function of how often.

    The function returns how often it did. The objects are held, because only close may release what they hold.
    """
    construction, build = bench.driver.construction("job")
    item = bench.driver.item(1)

    def cycle(times: int) -> int:
        began = len(held.kept)
        for _ in bench.flight.each(range(times), BUDGET):
            raw, crawler = build()
            bench.flight.go_on()
            raw.request_seen(item.value)
            bench.flight.go_on()
            bench.driver.waited(raw.close("finished"))
            held.keep((raw, crawler))
        return len(held.kept) - began

    lines = [
        f"dupefilter, spider = {construction}",
        f"dupefilter.request_seen({item.source})",
        'dupefilter.close("finished")',
        "held.keep(dupefilter)",
    ]
    return textwrap.indent("\n".join(lines), "    "), cycle


@check(TWICE, kinds=FILTERS)
def close_twice_is_harmless(bench: Bench) -> None:
    for job in (None, "job"):
        with bench.collecting():
            once = _seen_later(bench, job, 1)
            seen = _seen_later(bench, job, 2)
            if once:
                bench.expect(TWICE, bool(seen), "True in the next run", seen, "seen")
            bench.examined[TWICE] += 1


def _seen_later(bench: Bench, job: str | None, closes: int) -> object:
    """See a request, close a number of times, and ask for the request in the next run."""
    bench.restart()
    dupefilter = bench.open(job)
    item = bench.driver.item(1)
    dupefilter.seen(item)
    for _ in range(closes):
        dupefilter.close(TWICE)
    return bench.open(job, owner=TWICE).seen(item) if job else None
