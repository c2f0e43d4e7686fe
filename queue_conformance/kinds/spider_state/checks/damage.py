"""Checks of saves that fail, and of files that cannot be read."""

import logging
import random
import threading
from collections.abc import Iterator

from queue_conformance.engine.blocks import may_raise, under_test
from queue_conformance.engine.check import check
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.fixtures import made
from queue_conformance.engine.outcomes import NotApplicable, NotCovered
from queue_conformance.engine.samples import cuts
from queue_conformance.environments.component import files_in
from queue_conformance.environments.fixtures import cut_files, overwrite_files
from queue_conformance.environments.runs import contents_below
from queue_conformance.kinds.spider_state.fixtures import change, finish, state_of
from queue_conformance.script_support.support import logged

UNSTORABLE = (
    lambda: lambda: None,
    lambda: threading.Lock(),
    lambda: (n for n in [1]),
)
"""Values that pickle cannot store."""

PLACES = 16
"""Places at which the file is cut."""


@check("state.pickle-only", value=UNSTORABLE)
@check("state.failed-save-keeps", value=UNSTORABLE)
def a_failed_save_shows_and_destroys_nothing(start, rule, value):
    """If a value cannot be stored, the failed save is visible as an error in the log.

    A failed save keeps the state that was saved before.
    """
    spider = start()
    change(spider, {"count": 1})
    finish(spider)
    spider = start()
    if state_of(spider) != {"count": 1}:
        raise NotCovered("the state is not restored even where nothing fails")
    change(spider, {"count": 2, "value": made(value)})
    with under_test("state.pickle-only"), logged(logging.ERROR) as texts:
        finish(spider)
    with under_test("state.failed-save-keeps"):
        spider = start()
    state = state_of(spider)
    if isinstance(state, dict) and "value" in state:
        raise NotApplicable("it stores every value that was tried")
    if rule == "state.failed-save-keeps":
        assert state == {"count": 1}, "{'count': 1}, as saved before"
    else:
        assert texts != [], "an error in the log"


# --- Files that cannot be read ---------------------------------------------------------------------------------------


def damages(context: CheckContext) -> Iterator[int | bytes]:
    """Yield how many bytes are cut off the end of the files, and what they are overwritten with."""
    run = context.open()
    run.do(f"spider.state.update({SAVED!r})")
    run.finish()
    size = max(map(len, files_in(context.driver.job()).values()), default=0)
    if not size:
        raise NotCovered("no file was found in the job directory")
    yield from cuts(size, PLACES, context.seed)
    yield from (random.Random(context.seed).randbytes(100), b"", bytes(100), b"no state at all\n")


SAVED = {"count": 1, "pages": ["one", "two"], "more": {"three": 3}}


@check("state.torn", damage=[damages])
def an_unreadable_file_is_survived_and_kept(start, job, damage):
    """A state file that cannot be read does not leave the spider without `state`, and is not destroyed at the close."""
    spider = start()
    change(spider, SAVED)
    finish(spider)
    if isinstance(damage, int):
        cut_files(job, damage)
    else:
        overwrite_files(job, damage)
    damaged = contents_below(job)  # at the opening it may be moved, but not destroyed either
    with may_raise() as refused:
        spider = start()
    if refused:
        return  # the spider never runs without a state, and the file is untouched
    state = state_of(spider)
    assert isinstance(state, dict), "a dictionary after spider_opened"
    if not state:  # otherwise it could be read in spite of the damage
        change(spider, {"new": 1})
        finish(spider)
        left = contents_below(job)
        files_lost = sum(not any(content in other for other in left) for content in damaged)
        assert files_lost == 0, "what could not be read kept somewhere in the job directory"
