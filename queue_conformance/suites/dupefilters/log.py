"""Checks of the log and the statistics."""

from __future__ import annotations

import contextlib
import logging
from typing import Any

from scrapy.dupefilters import BaseDupeFilter

from queue_conformance.engine.bench import Bench
from queue_conformance.engine.outcomes import NotApplicable, NotExercised
from queue_conformance.engine.registry import check
from queue_conformance.implementations.drivers.base import Item
from queue_conformance.implementations.drivers.dupefilter import OpenFilter
from queue_conformance.implementations.quoted.running import Records
from queue_conformance.suites.dupefilters import FILTERS

LOG = "dupefilter.log.first"
STAT = "dupefilter.log.stat"

FILTERED = (1, 1, 2)
"""The requests that are filtered."""

_LOGGED: tuple[tuple[dict[str, Any], list[int]], ...] = (
    ({}, [1, 0, 0]),
    ({"DUPEFILTER_DEBUG": False}, [1, 0, 0]),
    ({"DUPEFILTER_DEBUG": "False"}, [1, 0, 0]),  # as the command line sets it
    ({"DUPEFILTER_DEBUG": True}, [1, 1, 1]),
    ({"DUPEFILTER_DEBUG": "True"}, [1, 1, 1]),
)
"""Settings, and which of three duplicates are then logged."""


@check(LOG, kinds=FILTERS)
def one_duplicate_is_logged_or_all_are(bench: Bench) -> None:
    for debug, expected in _LOGGED:
        with bench.collecting():
            bench.restart()
            _ensure_own_log(bench)
            dupefilter = bench.open(**debug)
            bench.recorder.note("left = []")
            logged = []
            with _recording(bench) as records:
                for number in FILTERED:
                    item = _duplicate(bench, dupefilter, number)
                    # What it logs while it looks, such as each query of a database, is no log of the duplicate.
                    before = len(records.texts)
                    bench.recorder.note("before = len(records.texts)")
                    dupefilter.log(item, LOG)
                    bench.recorder.note("left.append(min(1, len(records.texts) - before))")
                    logged.append(min(1, len(records.texts) - before))
            which = "every duplicate logged" if all(expected) else "only the first duplicate logged"
            actual = f"of three, {', '.join(_ORDINALS[index] for index in range(3) if logged[index]) or 'none'} logged"
            bench.expect(LOG, logged == expected, which, actual, f"left == {expected}", final=True)


_ORDINALS = ("the first", "the second", "the third")


@check(STAT, kinds=FILTERS)
def each_duplicate_is_counted(bench: Bench) -> None:
    choices: tuple[dict[str, Any], ...] = ({}, {"DUPEFILTER_DEBUG": True})
    for debug in choices:
        with bench.collecting():
            bench.restart()
            _ensure_own_log(bench)
            dupefilter = bench.open(**debug)
            for number in FILTERED:
                dupefilter.log(_duplicate(bench, dupefilter, number), STAT)
            stats: Any = dupefilter.crawler.stats
            left = stats.get_value("dupefilter/filtered")
            bench.recorder.note('left = spider.crawler.stats.get_value("dupefilter/filtered")')
            bench.expect(STAT, left == len(FILTERED), f"{len(FILTERED)} after {len(FILTERED)} duplicates", left, "left == 3")


def _duplicate(bench: Bench, dupefilter: OpenFilter, number: int) -> Item:
    """Return a request that is filtered, as the scheduler asks for it before it has it logged."""
    item: Item = bench.driver.item(number)
    if not dupefilter.seen(item) and not dupefilter.seen(item):
        raise NotExercised("it did not filter an equal request")
    return item


def _ensure_own_log(bench: Bench) -> None:
    if getattr(bench.implementation.cls, "log", None) is BaseDupeFilter.log:
        raise NotApplicable("it inherits the log of BaseDupeFilter, which says nothing but that it is deprecated")


@contextlib.contextmanager
def _recording(bench: Bench) -> Any:
    root = logging.getLogger()
    level = root.level
    records: Any = Records()
    bench.recorder.note("records = Records()")
    try:
        yield records
    finally:
        root.removeHandler(records)
        root.setLevel(level)
