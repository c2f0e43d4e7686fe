"""Checks of saves that fail, and of files that cannot be read."""

from __future__ import annotations

import contextlib
import logging
import random
from collections.abc import Iterator
from typing import Any

from queue_conformance.engine import process
from queue_conformance.engine.bench import Bench
from queue_conformance.engine.outcomes import NotApplicable, NotExercised
from queue_conformance.engine.process import Say
from queue_conformance.engine.recording import OperationRaised
from queue_conformance.engine.registry import check
from queue_conformance.environments.component import files_in
from queue_conformance.kinds.spider_state import STATES
from queue_conformance.kinds.spider_state.commands import KEEPS, TORN
from queue_conformance.kinds.spider_state.driver import Run
from queue_conformance.script_support import running
from queue_conformance.script_support.kills import die

VISIBLE = "state.pickle-only"

UNSTORABLE = ("lambda: None", "threading.Lock()", "(n for n in [1])")
"""Values that pickle cannot store."""

PLACES = 16
"""Places at which the file is cut."""


@check(VISIBLE, KEEPS, kinds=STATES)
def a_failed_save_shows_and_destroys_nothing(bench: Bench) -> None:
    stored = 0
    for source in UNSTORABLE:
        with bench.collecting():
            bench.restart()
            stored += _fail_to_save(bench, source)
    if stored == len(UNSTORABLE):
        raise NotApplicable("it stores every value that was tried")


def _fail_to_save(bench: Bench, source: str) -> bool:
    """Save, fail to save in the next run, and look at the log and at what the run after that begins with.

    Returns:
        Whether the value was stored.
    """
    first = bench.open()
    first.do("spider.state['count'] = 1")
    first.finish()
    second = bench.open()
    if getattr(second.spider, "state", None) != {"count": 1}:
        raise NotExercised("the state is not restored even where nothing fails")
    second.do("spider.state['count'] = 2")
    second.do(f"spider.state['value'] = {source}")
    with _recording(bench) as records:
        second.finish(owner=VISIBLE)
    steps = list(bench.recorder.steps)
    third = bench.open(owner=KEEPS)
    state: Any = getattr(third.spider, "state", None)
    if isinstance(state, dict) and "value" in state:
        return True
    later, bench.recorder.steps = bench.recorder.steps, steps
    with bench.collecting():
        bench.expect(VISIBLE, bool(records.texts), "an error in the log", "nothing", "records.texts", final=True)
    bench.recorder.steps = later
    bench.recorder.note('left = getattr(spider, "state", None)')
    expected = {"count": 1}
    bench.expect(KEEPS, state == expected, f"{expected}, as saved before", state, f"left == {expected}", final=True)
    return False


@contextlib.contextmanager
def _recording(bench: Bench) -> Iterator[Any]:
    root = logging.getLogger()
    level = root.level
    records = running.Records(logging.ERROR)
    bench.recorder.note("records = Records(logging.ERROR)")
    try:
        yield records
    finally:
        root.removeHandler(records)
        root.setLevel(level)


# --- Files that cannot be read ---------------------------------------------------------------------------------------


@check(TORN, kinds=STATES)
def an_unreadable_file_is_survived_and_kept(bench: Bench) -> None:
    bench.notes.append(_note_on_crashes(bench))
    _prepare(bench)
    size = max(map(len, files_in(bench.driver.job()).values()), default=0)
    if not size:
        raise NotExercised("no file was found in the job directory")
    numbers = range(1, size + 1)
    drawn = random.Random(bench.seed)
    places = numbers if size <= PLACES else sorted({1, 2, size - 1, size, *drawn.sample(numbers, PLACES - 4)})
    job = bench.driver.job_source
    damages = [f"cut_files({job()}, {number})" for number in places]
    damages += [
        f"overwrite_files({job()}, {content!r})" for content in (drawn.randbytes(100), b"", bytes(100), b"no state at all\n")
    ]
    for damage in damages:
        with bench.collecting():
            bench.restart()
            _prepare(bench)
            _survive(bench, damage)


def _prepare(bench: Bench) -> None:
    """Let a run save something."""
    run: Run = bench.open()
    run.do("spider.state.update(count=1, pages=['one', 'two'], more={'three': 3})")
    run.finish()


def _survive(bench: Bench, damage: str) -> None:
    bench.recorder.note(damage)
    directory = bench.driver.directory
    exec(damage, {**vars(running), "directory": str(directory)})
    damaged = set(files_in(bench.driver.job()).values())
    try:
        run: Run = bench.open(owner=TORN)
    except OperationRaised as raised:
        if not isinstance(raised.error, Exception):
            raise
        bench.examined[TORN] += 1  # the spider never runs without a state, and the file is untouched
        return
    bench.recorder.steps[-1].refusable = True
    bench.recorder.note('left = getattr(spider, "state", None)')
    state: Any = getattr(run.spider, "state", None)
    expected = "a dictionary after spider_opened"
    bench.expect(TORN, isinstance(state, dict), expected, state, "isinstance(left, dict)", final=True)
    if state:
        return  # it could be read in spite of the damage
    bench.recorder.note(f"damaged = {{path.read_bytes() for path in files_below({bench.driver.job_source()})}} - {{b''}}")
    # At the opening it may have been moved, but not been destroyed either.
    bench.recorder.steps.insert(-2, bench.recorder.steps.pop())
    run.do("spider.state['new'] = 1")
    run.finish()
    left = set(files_in(bench.driver.job()).values())
    bench.recorder.note(f"left = {{path.read_bytes() for path in files_below({bench.driver.job_source()})}}")
    kept = all(any(content in other for other in left) for content in damaged - {b""})
    what = "overwritten when the spider was closed"
    assertion = "all(any(content in other for other in left) for content in damaged)"
    bench.expect(TORN, kept, "what could not be read kept somewhere in the job directory", what, assertion, final=True)


def _note_on_crashes(bench: Bench) -> str:
    """Say what a crash leaves, which is no rule: it may lose what changed since the last clean close."""
    if not process.AVAILABLE:
        return "what a crash leaves is not known: this platform cannot fork"
    _prepare(bench)

    def live(_say: Say) -> None:
        run = bench.open()
        run.do("spider.state['count'] = 2")
        die()

    if not process.run(live, time_limit=bench.time_limit).hit:
        return "what a crash leaves is not known: the process was not killed"
    state = getattr(bench.open().spider, "state", None)
    count = state.get("count") if isinstance(state, dict) else None
    known: dict[Any, str] = {1: "the state of the last clean close", 2: "the state as it was"}
    return f"SIGKILL leaves {known.get(count, 'no state')}"
