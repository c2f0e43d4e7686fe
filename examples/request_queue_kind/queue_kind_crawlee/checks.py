"""What needs no generated sequence."""

from queue_conformance.engine.check import check


@check("rq.fetch")
def each_is_fetched_once(run):
    run("add:0 add:1 add:2 fetch fetch handle handle fetch fetch")


@check("rq.unique")
def known_keys_are_not_added_again(run):
    run("add:0 add_again:0 fetch add_again:0 handle add_again:0 fetch")


@check("rq.reclaim")
def what_is_reclaimed_is_fetched_again(run):
    run("add:0 add:1 fetch reclaim fetch handle fetch handle fetch")


@check("rq.count")
def what_is_handled_is_counted(run):
    run("add:0 add:1 fetch handle fetch reclaim fetch handle")
