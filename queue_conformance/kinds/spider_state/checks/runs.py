"""Checks of what is kept from run to run."""

import datetime
import os
from collections import Counter
from collections.abc import Callable
from contextlib import chdir
from decimal import Decimal
from pathlib import Path
from typing import Any

from scrapy.exceptions import NotConfigured

from queue_conformance.engine.another_process import expect_kept_for_another_process
from queue_conformance.engine.blocks import raises, under_test
from queue_conformance.engine.check import check
from queue_conformance.engine.fixtures import made, note
from queue_conformance.engine.samples import REASONS
from queue_conformance.environments.runs import state_of
from queue_conformance.kinds.spider_state.fixtures import assign, change, count_page, finish, finish_alone, start_alone
from queue_conformance.script_support.example import same
from queue_conformance.script_support.support import names_below

RICH: tuple[Callable[[], dict[Any, Any]], ...] = (
    lambda: {"nested": {"deep": [1, 2, {"deeper": (3, 4)}]}},
    lambda: {"tuple": (1, (2, 3)), "list": [1, [2, 3]]},
    lambda: {"set": {1, 2}, "frozen": frozenset([1])},
    lambda: {1: "int", 1.5: "float", (1, 2): "tuple", None: "none", b"bytes": "bytes"},
    lambda: {"7": "7", "007": "1e3", "null": "null", "true": "true"},
    lambda: {"datetime": datetime.datetime(2026, 1, 2, 3, 4, 5, 6), "date": datetime.date(2026, 1, 2)},
    lambda: {"aware": datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC), "decomposed": "e\u0301"},
    lambda: {"Decimal": Decimal("1.10"), "bytes": bytes(range(256)), "big": 2**100, "float": 0.1},
    lambda: {"text": "caf\u00e9 \U0001f600 \0", "empty": "", "none": None, "true": True},
    lambda: {"counter": Counter("abca"), "path": Path("/tmp/a")},
    lambda: {"many": list(range(10000))},
    lambda: {"large": bytes(5_000_000)},
    lambda: {},  # noqa: PIE807  scripts write what it returns
)
"""States that are restored, the types of their values included."""


@check("state.fresh", jobs=(("one", "two"), ("three", "one")))
def a_new_job_begins_with_nothing(start, state_of, jobs):
    """In a new job, `spider.state` is an empty dictionary once the handlers of `spider_opened` have run."""
    for job in jobs:
        spider = start(job)
        state = state_of(spider)
        assert state == {}
        change(spider, {"count": 1})
        finish(spider)


@check("state.restored", name="state.restored.process")
def the_state_is_restored_in_another_process(start):
    """On resume `spider.state` equals what it was at the clean close, the types of all values included."""
    spider = start()
    change(spider, {"count": 1})
    finish(spider, "shutdown")
    expect_kept_for_another_process(lambda spider: state_of(spider), {"count": 1}, "{'count': 1} in another process")


@check("state.restored", name="state.restored.types", values=RICH)
def types_of_values_are_restored(start_fresh, resume, state_of, values):
    """On resume `spider.state` equals what it was at the clean close, the types of all values included."""
    spider = start_fresh()
    change(spider, made(values))
    finish(spider, "shutdown")
    spider = resume()
    state = state_of(spider)
    assert state == made(values)
    assert same(state, made(values)), "the same types"


@check("state.saved", reason=REASONS)
def every_clean_close_saves(start_fresh, resume, state_of, reason):
    """The state is saved at every clean close, whatever the reason."""
    spider = start_fresh()
    change(spider, {"count": 1})
    finish(spider, reason)
    spider = resume()
    state = state_of(spider)
    assert state == {"count": 1}


@check("state.saved", name="state.saved.assigned")
def a_dictionary_that_a_callback_assigns_is_saved(start_fresh, resume, state_of):
    """The state is saved at every clean close, whatever the reason."""
    spider = start_fresh()
    assign(spider, {"count": 1})
    finish(spider)
    spider = resume()
    state = state_of(spider)
    assert state == {"count": 1}


@check("state.elsewhere", depends_on="put:0 reopen:1")
def a_job_directory_can_be_moved(start_fresh, start, state_of, directory):
    """The state is restored in a job directory that was moved, and from another working directory."""
    spider = start_fresh()
    change(spider, {"count": 1})
    finish(spider, "shutdown")
    os.rename(directory + "/job", directory + "/moved")
    with under_test():
        spider = start("moved")
        state = state_of(spider)
    assert state == {"count": 1}


@check("state.elsewhere", name="state.other-directory", depends_on="put:0 reopen:1")
def the_working_directory_does_not_matter(start_fresh, resume, state_of, directory):
    """The state is restored in a job directory that was moved, and from another working directory."""
    spider = start_fresh()
    change(spider, {"count": 1})
    finish(spider, "shutdown")
    os.mkdir(directory + "/elsewhere")
    with chdir(directory + "/elsewhere"):
        spider = resume()
        state = state_of(spider)
    assert state == {"count": 1}


@check("state.created", depends_on="put:0 reopen:1", job=("one/two/job",))
def the_job_directory_is_made(start, state_of, job):
    """The state is saved in a job directory that is missing, too: it is made, with its parents."""
    with under_test():
        spider = start(job)
    change(spider, {"count": 1})
    finish(spider)
    with under_test():
        spider = start(job)
    state = state_of(spider)
    assert state == {"count": 1}


@check("state.refused-start-keeps", depends_on="put:0 reopen:1")
def a_start_that_is_refused_keeps_the_state(start, refused_start, resume, state_of):
    """A run that is refused before its spider is opened, and closed, keeps the state that was saved."""
    spider = start()
    change(spider, {"count": 1})
    finish(spider)
    spider = refused_start()
    finish(spider)
    spider = resume()
    state = state_of(spider)
    assert state == {"count": 1}


@check("state.saved", name="state.saved.crash")
def what_a_crash_leaves_is_noted(child, start_fresh, start, resume, state_of):
    """The state is saved at every clean close, whatever the reason."""
    spider = start_fresh()
    change(spider, {"count": 1})
    finish(spider)
    spider = resume()
    state = state_of(spider)
    assert state == {"count": 1}
    finish(spider)

    @child
    def dies():
        spider = start()
        change(spider, {"count": 2})

    spider = start()
    known = {1: "the state of the last clean close", 2: "the state as it was"}
    state = state_of(spider)
    note("a crash leaves", known.get(state.get("count"), "no state") if isinstance(state, dict) else "no state")


@check("state.mutation", name="state.mutation.nested", depends_on="grow:0 reopen")
def nested_changes_are_saved(start_fresh, resume, state_of):
    """Changes that callbacks make in place are saved."""
    spider = start_fresh()
    change(spider, {"pages": {"count": 0}, "last": [0]})
    finish(spider, "shutdown")
    for count in range(3):
        spider = resume()
        state = state_of(spider)
        assert state == {"pages": {"count": count}, "last": [count]}
        count_page(spider)
        finish(spider, "shutdown")


@check("state.disabled", settings=({"job": None}, {"job": ""}, {"job": None, "JOBDIR": None}))
def there_is_no_state_without_a_job_directory(start, directory, settings):
    """Without a job directory the extension is not enabled, and writes nothing."""
    with chdir(directory):
        with raises(NotConfigured):
            start(**settings)
        assert names_below(directory) == [], "no file"


@check("state.no-jobdir")
def built_without_a_job_it_gives_an_empty_state_and_saves_nothing(state_of, directory):
    """Built without its arguments, where each may be None, the extension gives a spider an empty state, and writes nothing."""
    with chdir(directory), under_test():
        spider = start_alone()
        state = state_of(spider)
        assert state == {}
        change(spider, {"count": 1})
        finish_alone(spider)
        assert names_below(directory) == [], "no file"
