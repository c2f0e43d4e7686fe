"""The machine of extensions that keep the state of spiders."""

from __future__ import annotations

from queue_conformance.suites import check
from queue_conformance.suites.bench import Bench
from queue_conformance.suites.machine import explore
from queue_conformance.suites.states import STATES
from queue_conformance.suites.states.pair import player


@check(
    "state.restored",
    "state.saved",
    "state.mutation",
    "state.failed-save-keeps",
    "state.torn",
    kinds=STATES,
    name="machine",
)
def drawn_programs(bench: Bench) -> None:
    explore(player(bench), needed=("put", "reopen"))
