"""Checks of ``len()`` and ``bool()``."""

from queue_conformance.engine.check import check


@check("queue.len.count")
def length_counts_what_is_stored(run):
    run("length push:0 length push:1 push:2 length pop length push:3 length pop pop pop length")


@check("queue.len.truth")
def truth_is_false_when_empty(run):
    run("truth push:0 truth push:1 truth pop truth pop truth push:2 truth")


@check("queue.len.pop-none")
def popping_nothing_does_not_count(run):
    run("pop length pop length push:0 length pop pop length pop push:1 push:2 length")
