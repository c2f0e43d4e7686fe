"""Checks of ``len()`` and ``bool()``."""

from __future__ import annotations

from queue_conformance.suites import check
from queue_conformance.suites.bench import Bench
from queue_conformance.suites.programs import program
from queue_conformance.suites.queues.pair import run


@check("queue.len.count")
def length_counts_what_is_stored(bench: Bench) -> None:
    run(bench, program("length push:0 length push:1 push:2 length pop length push:3 length pop pop pop length"))


@check("queue.len.truth")
def truth_is_false_when_empty(bench: Bench) -> None:
    run(bench, program("truth push:0 truth push:1 truth pop truth pop truth push:2 truth"))


@check("queue.len.pop-none")
def popping_nothing_does_not_count(bench: Bench) -> None:
    run(bench, program("pop length pop length push:0 length pop pop length pop push:1 push:2 length"))
