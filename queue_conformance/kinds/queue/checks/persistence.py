"""Checks of persistence by a clean close, in the same process and in another one."""

from queue_conformance.engine.another_process import expect_kept_for_another_process
from queue_conformance.engine.check import check
from queue_conformance.script_support.support import contents


@check("queue.persist.reopen")
def items_survive_reopening(run):
    run("push:0 push:1 push:2 reopen reopen push:3 reopen pop pop pop pop")
    run(" ".join(f"push:{number}" for number in range(40)) + " reopen")


MANY = 300
"""Items, more than one byte counts."""


@check("queue.persist.reopen", name="reopen.many", presupposes="push:0 push:1 push:0 reopen pop pop pop")
def many_items_survive_reopening(open_queue, item, push_often, count_all, about, rule):
    with about(rule):
        queue = open_queue()
        push_often(queue, item(1), MANY)
        queue.close()
        queue = open_queue()
        came = count_all(queue)
        assert came == MANY, f"all {MANY} that were pushed"


@check("queue.persist.partial")
def what_was_popped_stays_popped(run):
    run("push:0 push:1 push:2 push:3 pop reopen pop reopen push:4 pop pop reopen pop")
    run("push:0 push:1 push:2 pop push:3 pop reopen pop pop reopen")


STORED = (1, 2, 3)


@check("queue.persist.new-process", presupposes="push:1 push:2 push:3 reopen")
def items_survive_into_another_process(context, open_queue, item, keys_of, rule):
    queue = open_queue()
    for number in STORED:
        queue.push(item(number))
    queue.close()
    expect_kept_for_another_process(
        context,
        rule,
        lambda queue: contents(queue.pop() for _ in range(len(STORED) + 1)),
        sorted(keys_of(STORED), key=repr),
        "the 3 items in another process",
    )
