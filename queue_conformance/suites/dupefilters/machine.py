"""The machine of duplicates filters."""

from __future__ import annotations

from queue_conformance.suites import check
from queue_conformance.suites.bench import Bench
from queue_conformance.suites.dupefilters import FILTERS
from queue_conformance.suites.dupefilters.pair import player
from queue_conformance.suites.machine import explore


@check(
    "dupefilter.seen.first",
    "dupefilter.seen.no-false-positive",
    "dupefilter.base.never",
    "dupefilter.log.stat",
    "dupefilter.persist.resume",
    "dupefilter.persist.append",
    "dupefilter.crash.no-false-positive",
    "dupefilter.crash.then-clean",
    kinds=FILTERS,
    name="machine",
)
def drawn_programs(bench: Bench) -> None:
    explore(player(bench), needed=("seen",))
