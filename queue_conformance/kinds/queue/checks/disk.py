"""Checks under faults of the disk, at push, pop, close and open."""

from queue_conformance.engine.blocks import may_refuse, under_test
from queue_conformance.engine.check import check
from queue_conformance.engine.outcomes import NotApplicable
from queue_conformance.engine.samples import few_and_many
from queue_conformance.kinds.queue.faults import disk_faults, full_disk, full_files
from queue_conformance.kinds.queue.fixtures import count_all, drain, pop_numbers, push_until_refused
from queue_conformance.kinds.queue.rewriting import (
    LONG,
    SIZE,
    pops_before_a_rewrite,
    push_large,
    pushes_before_a_rewrite,
    some_disk_faults,
)
from queue_conformance.script_support.support import contents, key

FAULTS = (disk_faults, full_disk)


@check(
    "queue.push.no-silent-loss",
    "queue.push.failed-no-trace-fault",
    fault=FAULTS,
    large=(False, True),
    reopen=(False, True),
)
def a_push_is_stored_or_raises(open_queue, item, fault, large, reopen):
    """When `push` returns, the complete item is stored: `pop` gives it back whole."""
    first, new, last = item(1), item(2, large), item(3)
    queue = open_queue()
    queue.push(first)
    with may_refuse() as refused, fault:
        queue.push(new)
    with under_test("queue.push.failed-no-trace-fault" if refused else "queue.push.no-silent-loss"):
        assert len(queue) == (1 if refused else 2)
        queue.push(last)
        if reopen:
            queue.close()
            queue = open_queue()
        stored = [first, last] if refused else [first, new, last]
        assert drain(queue) == contents(stored)


@check(
    "queue.push.no-silent-loss",
    name="disk.lots",
    depends_on="push:0 push:1 push:2 reopen pop pop pop",
    numbers=[few_and_many],
    fault=[full_files],
    reopen=(False, True),
)
def a_push_that_is_refused_takes_no_other_with_it(open_queue, numbers, fault, reopen):
    """When `push` returns, the complete item is stored: `pop` gives it back whole."""
    queue = open_queue()
    with fault:
        accepted = push_until_refused(queue, numbers)
    if not accepted:
        raise NotApplicable("it writes each item at once, so that a push that is refused has no other with it")
    with under_test():
        if reopen:
            queue.close()
            queue = open_queue()
        popped = pop_numbers(queue, len(numbers))
        lost = sorted({*numbers[:accepted]} - {*popped})
        assert lost == [], f"each of {accepted} items, for which push had returned before one was refused"
        queue.close()


@check(
    "queue.persist.partial-fault",
    "queue.close.keeps-fault",
    "queue.pop.fault-once",
    name="disk.pop",
    masked={"queue.close.keeps-fault": "queue.persist.partial-fault"},
    fault=FAULTS,
    resumed=(False, True),
    reopen=(False, True),
)
def a_failed_pop_loses_nothing(open_queue, item, fault, resumed, reopen):
    """A pop that failed because of the disk costs no item: it comes out then or later."""
    items = [item(1, large=not resumed), item(2), item(3, large=resumed)]
    queue = open_queue(holding=items)
    if resumed:
        queue.close()
        queue = open_queue()
    popped = None
    with may_refuse() as _, fault:
        popped = queue.pop()
    with under_test("queue.close.keeps-fault" if reopen else "queue.persist.partial-fault"):
        if reopen:
            queue.close()
            queue = open_queue()
        left = drain(queue)
        others = [one for one in contents(items) if one not in contents([popped])]
        assert left in (others, contents(items))
    with under_test("queue.pop.fault-once"):
        if popped is not None:  # else it said that it failed, as it ought to
            last = open_queue()
            left = [*left, *drain(last)]
        assert key(popped) not in left, "nothing that pop returned"


@check(
    "queue.persist.partial-fault",
    name="disk.rewrite",
    depends_on="push:0 push:1 push:2 reopen pop pop pop",
    pops=[pops_before_a_rewrite],
    fault=(some_disk_faults, full_disk),
    reopen=(False, True),
)
def a_pop_that_cannot_write_a_file_anew_loses_nothing(open_queue, pops, fault, reopen):
    """A pop that failed because of the disk costs no item: it comes out then or later."""
    queue = open_queue()
    push_large(queue, LONG)
    pop_numbers(queue, pops)
    popped = None
    with may_refuse() as _, fault:
        popped = queue.pop()
    waiting = len(LONG) - pops - (popped is not None)
    with under_test():
        if reopen:
            queue.close()
            queue = open_queue()
        left = count_all(queue)
        assert left >= waiting, f"at least the {waiting} items that no pop has returned"
        queue.close()


@check(
    "queue.push.no-silent-loss",
    name="disk.rewrite.push",
    depends_on="push:0 push:1 push:2 reopen pop pop pop",
    pushes=[pushes_before_a_rewrite],
    fault=(some_disk_faults, full_disk),
    reopen=(False, True),
)
def a_push_that_cannot_write_a_file_anew_loses_nothing(open_queue, sized, pushes, fault, reopen):
    """When `push` returns, the complete item is stored: `pop` gives it back whole."""
    queue = open_queue()
    push_large(queue, range(pushes))
    with may_refuse() as _, fault:
        queue.push(sized(SIZE))
    with under_test():
        if reopen:
            queue.close()
            queue = open_queue()
        left = count_all(queue)
        assert left >= pushes, f"at least the {pushes} items for which push had returned before"
        queue.close()


@check("queue.close.keeps-fault", name="disk.close", fault=FAULTS, resumed=(True, False))
def a_failed_close_loses_nothing(open_queue, item, fault, resumed):
    """`close` discards no pending item of a persistent queue when it meets a fault of the disk, finds no server, or comes
    after a pop that failed so.
    """
    items = [item(1), item(3)]
    queue = open_queue(holding=[1])
    if resumed:
        items.append(item(2, large=True))
        queue.push(item(2, large=True))
        queue.close()
        queue = open_queue()
    queue.push(item(3))
    with may_refuse(), fault:
        queue.close()
    with under_test():
        del queue  # and what it may still hold open
        queue = open_queue()
        assert drain(queue) == contents(items)


@check("queue.persist.reopen-fault", name="disk.open", fault=FAULTS)
def a_failed_open_loses_nothing(open_queue, item, fault):
    """Items survive an opening that failed because of the disk."""
    items = [item(1), item(2, large=True), item(3)]
    queue = open_queue(holding=items)
    queue.close()
    with may_refuse() as refused, fault:
        queue = open_queue()
    if not refused:
        with may_refuse():
            queue.close()
    with under_test():
        del queue
        queue = open_queue()
        assert drain(queue) == contents(items)
