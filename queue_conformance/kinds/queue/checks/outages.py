"""What a queue does while its server cannot be reached, says nothing, or refuses, after that, and when its storage is gone."""

from queue_conformance.engine.blocks import may_raise, may_refuse, must_not_raise, raises, under_test
from queue_conformance.engine.check import check
from queue_conformance.engine.fixtures import offers
from queue_conformance.engine.outcomes import NotCovered
from queue_conformance.faults.outages import Frozen, OutOfSpace, ReadOnly, Refused, ReplyLost, Stopped, StorageReplaced
from queue_conformance.kinds.queue.fallback import push_may_raise
from queue_conformance.kinds.queue.faults import (
    bytes_of_a_reply,
    connection_faults,
    files_that_may_not_grow,
    full_files,
    garbage,
    lost_replies,
    offered,
    stalled,
    unusable_server,
)
from queue_conformance.kinds.queue.fixtures import drain, push_again, push_numbers
from queue_conformance.kinds.queue.kind import REQUESTS_ONLY
from queue_conformance.script_support.support import contents, key

# --- Connections -----------------------------------------------------------------------------------------------------


@check(
    "queue.push.transient-error",
    "queue.push.transient-after-success",
    "queue.push.retry",
    "queue.push.failed-no-trace-fault",
    kinds=REQUESTS_ONLY,
    fault=[connection_faults, lost_replies],
)
def push_raises_the_transient_error(open_queue, item, fault):
    """If storing fails for a temporary reason (connection dropped and reconnect failed, timeout), `push` raises the transient
    error and no other exception.
    """
    rule = "queue.push.transient-after-success" if isinstance(fault, Refused) else "queue.push.transient-error"
    queue = open_queue(holding=[1])
    with under_test(rule), push_may_raise("transient") as refused, fault:
        queue.push(item(2))
    fault.must_hit()
    if refused:
        push_again(queue, item(2))
    with under_test("queue.push.failed-no-trace-fault"):
        left = drain(queue)
        assert left.count(key(item(1))) == 1, "once what was stored before"
    times = left.count(key(item(2)))
    with under_test("queue.push.retry" if refused or (isinstance(fault, ReplyLost) and times > 1) else rule):
        assert times in ([1, 2] if refused else [1]), "what was pushed once" + (
            ", or twice, as push raised before" if refused else ""
        )


@check(
    "queue.pop.transient-none",
    "queue.pop.transient-keeps",
    "queue.pop.reply-cut",
    "queue.pop.fault-once",
    kinds=REQUESTS_ONLY,
    fault=[connection_faults],
)
def pop_returns_none_and_loses_nothing(open_queue, item, rule, fault):
    """In case of a temporary problem `pop` returns `None` and raises nothing."""
    items = [item(1), item(2), item(3)]
    queue = open_queue(holding=items)
    popped = None
    with must_not_raise(rule, expected="None", soft=True) as _, fault:
        popped = queue.pop()
    fault.must_hit()
    with under_test("queue.pop.reply-cut" if fault.may_act else "queue.pop.transient-keeps"):
        left, kept = drain(queue), [key(each) for each in items if key(each) != key(popped)]
        lost = [one for one in kept if one not in left]
        repeated = [one for one in kept if left.count(one) > (2 if fault.may_act else 1)]
        assert lost == [], "everything that pop did not return"
        assert repeated == [], "nothing " + ("more than twice" if fault.may_act else "twice")
    with under_test("queue.pop.fault-once"):
        if popped is not None:  # else it said that it failed, as it ought to
            last = open_queue()
            left = [*left, *drain(last)]
        assert key(popped) not in left, "nothing that pop returned"


@check(
    "queue.len.transient-nonzero",
    "queue.len.transient-no-raise",
    "queue.len.last-known",
    kinds=REQUESTS_ONLY,
    fault=[connection_faults],
)
def length_stays_known(context, open_queue, fault):
    """When the count cannot be determined, `len()` is not 0 while items remain (a 0 makes the caller close and drop the queue:
    requests are lost).
    """
    queue = open_queue(holding=(1, 2, 3))
    queue.pop()
    with under_test("queue.len.transient-no-raise"):
        with fault:
            length = len(queue)
        assert length >= 0
    fault.must_hit()
    assert length != 0, "above 0: 2 items remain"
    if context.applies("queue.len.last-known"):
        with under_test("queue.len.last-known"):
            assert length == 2


@check(
    "queue.len.transient-nonzero",
    "queue.len.transient-no-raise",
    "queue.len.last-known",
    "queue.push.failed-no-trace-fault",
    kinds=REQUESTS_ONLY,
    name="lost-replies",
    after=[bytes_of_a_reply],
    sequence=[
        "cut_reply:{} push:0 recover pop refuse length recover length pop",
        "cut_reply:{} push:0 recover pop push:1 refuse length recover pop",
        "cut_reply:{} push:0 recover push:1 pop refuse length recover pop",
        "cut_reply:{} push:0 recover push:1 push:2 pop refuse length recover pop",
        "push:0 cut_reply:{} push:1 recover pop pop refuse length recover pop",
        "cut_reply:{} push:0 recover push:0 pop pop pop length",
        "cut_reply:{} push:0 recover reopen pop push:1 length pop",
    ],
)
def what_was_stored_without_a_reply_is_counted(run, sequence, after):
    """When the count cannot be determined, `len()` is not 0 while items remain (a 0 makes the caller close and drop the queue:
    requests are lost).
    """
    run(sequence.format(after))


# --- Construction and close ------------------------------------------------------------------------------------------


@check("queue.ctor.fail-early", kinds=REQUESTS_ONLY, fault=[unusable_server], stored=(False, True))
def an_unusable_server_is_found_when_building(open_queue, fault, stored):
    """Wrong arguments or settings, bad credentials and an unreachable server are reported by an exception from construction,
    not by the first push.
    """
    if stored:
        queue = open_queue(holding=[1])
        queue.close()
    with raises(Exception, because=": its server cannot be used"), fault:
        open_queue()


@check("queue.close.outage", "queue.close.keeps-fault", kinds=REQUESTS_ONLY, name="queue.close.outage")
def close_works_without_a_server(open_queue, item, backend):
    """`close` works when the connection is already gone."""
    items = [item(1), item(2)]
    queue = open_queue(holding=items)
    with under_test(), Refused(backend):
        queue.close()
    if offers("persistent"):
        with under_test("queue.close.keeps-fault"):
            queue = open_queue()
            assert drain(queue) == contents(items)


AHEAD = 40
"""Items, of which a pop may take some ahead; no more than are drained."""


@check("queue.close.keeps-fault", kinds=REQUESTS_ONLY, name="close.ahead", depends_on="push:0 push:1 pop reopen pop")
def what_a_pop_took_ahead_outlives_an_outage(context, open_queue, backend):
    """`close` discards no pending item of a persistent queue when it meets a fault of the disk, finds no server, or comes
    after a pop that failed so.
    """
    queue = open_queue()
    push_numbers(queue, range(AHEAD))
    popped = queue.pop()
    with under_test("queue.close.outage"), Refused(backend):
        queue.close()
    with under_test():
        queue = open_queue()
        received = {*drain(queue), *contents([popped])}
        lost = AHEAD - len(received)
        assert lost == 0, f"none of {AHEAD} lost, one of which was popped"


# --- A server that says nothing --------------------------------------------------------------------------------------


SERVER_FAULTS = offered(Stopped, Frozen, OutOfSpace, ReadOnly)
"""Faults of a server, beside those of the connection to it."""


@check("queue.push.bounded-time", "queue.push.transient-error", kinds=REQUESTS_ONLY, fault=[stalled])
def push_waits_for_no_server(open_queue, item, fault):
    """`push`, `pop` and `len()` return within the client's configured timeout even when the server is frozen: they run on the
    reactor thread.
    """
    queue = open_queue(holding=[1])
    with under_test(), push_may_raise("transient", "queue.push.transient-error"), fault:
        queue.push(item(2))


@check("queue.push.bounded-time", "queue.pop.transient-none", kinds=REQUESTS_ONLY, name="stalled.pop", fault=[stalled])
def pop_waits_for_no_server(open_queue, item, fault):
    """`push`, `pop` and `len()` return within the client's configured timeout even when the server is frozen: they run on the
    reactor thread.
    """
    queue = open_queue(holding=[1])
    with under_test(), must_not_raise("queue.pop.transient-none", expected="None"), fault:
        popped = queue.pop()
    fault.must_hit()
    with under_test("queue.pop.transient-none"):
        assert contents([popped]) in ([], contents([item(1)])), "None, or what was fetched before"


@check("queue.push.bounded-time", "queue.len.transient-nonzero", kinds=REQUESTS_ONLY, name="stalled.len", fault=[stalled])
def length_waits_for_no_server(open_queue, fault):
    """`push`, `pop` and `len()` return within the client's configured timeout even when the server is frozen: they run on the
    reactor thread.
    """
    queue = open_queue(holding=[1])
    with under_test(), must_not_raise("queue.len.transient-no-raise", expected="1"), fault:
        length = len(queue)
    fault.must_hit()
    with under_test("queue.len.transient-nonzero"):
        assert length != 0, "above 0: 1 item remains"


# --- A server that ends, freezes, or refuses to write -----------------------------------------------------------------


@check(
    "queue.push.failed-no-trace-fault",
    "queue.push.transient-after-success",
    "queue.push.permanent-error",
    kinds=REQUESTS_ONLY,
    name="server-faults.push",
    fault=[SERVER_FAULTS],
)
def a_failing_server_loses_no_push(open_queue, item, fault):
    """A push that failed because of the disk or the server leaves the queue as it was."""
    about_push = "queue.push.transient-after-success" if fault.is_away else "queue.push.permanent-error"
    queue = open_queue(holding=(1, 2, 3))
    with (
        under_test("queue.push.bounded-time"),
        push_may_raise("transient" if fault.is_away else "anything", about_push) as refused,
        fault,
    ):
        queue.push(item(4))
    with under_test("queue.push.failed-no-trace-fault"):
        left = drain(queue)
        for number in (1, 2, 3):
            assert left.count(key(item(number))) == 1, "once what was stored before"
    if not refused:
        with under_test(about_push):
            assert left.count(key(item(4))) == 1, "once what was pushed"


@check(
    "queue.pop.transient-keeps",
    "queue.pop.reply-cut",
    kinds=REQUESTS_ONLY,
    name="server-faults.pop",
    fault=[SERVER_FAULTS],
)
def a_failing_server_loses_no_pop(open_queue, item, fault):
    """An item is not lost by a `None` that a temporary problem caused before the server acted: after recovery every item still
    comes out.
    """
    items = [item(1), item(2), item(3)]
    queue = open_queue(holding=items)
    popped, forbidden = None, ["Exception"] if fault.is_away else []
    with (
        under_test("queue.push.bounded-time"),
        may_refuse("queue.pop.transient-none", never=forbidden, expected="None") as _,
        fault,
    ):
        popped = queue.pop()
    with under_test("queue.pop.reply-cut" if fault.may_act else "queue.pop.transient-keeps"):
        left, kept = drain(queue), [key(each) for each in items if key(each) != key(popped)]
        lost = [one for one in kept if one not in left]
        repeated = [one for one in kept if left.count(one) > 2]
        assert lost == [], "everything that pop did not return"
        assert repeated == [], "nothing more than twice"
    fault.must_hit(popped is None)


@check("queue.len.transient-nonzero", kinds=REQUESTS_ONLY, name="server-faults.len", fault=[offered(Stopped, Frozen)])
def length_survives_its_server(open_queue, fault):
    """When the count cannot be determined, `len()` is not 0 while items remain (a 0 makes the caller close and drop the queue:
    requests are lost).
    """
    queue = open_queue(holding=(1, 2, 3))
    with (
        under_test("queue.push.bounded-time"),
        must_not_raise("queue.len.transient-no-raise", expected="3"),
        fault,
    ):
        length = len(queue)
    assert length != 0, "above 0: 3 items remain"


# --- Storage that is gone for good: it raises, and nobody falls back -------------------------------------------------


@check("queue.push.permanent-error", kinds=REQUESTS_ONLY, fault=[offered(StorageReplaced)])
def push_raises_permanent_errors_as_they_are(queue, item, fault):
    """A permanent failure of the server (access revoked, target deleted and not creatable) is raised as something that is
    neither the transient nor the serialization error, and is not swallowed.
    """
    for number in (1, 2):
        queue.push(item(number))
    with under_test():
        with push_may_raise("permanent") as refused, fault:
            queue.push(item(3))
        fault.must_hit()
        if not refused:
            assert drain(queue).count(key(item(3))) == 1, "once what was pushed after the storage was replaced"


@check("queue.push.full-disk", kinds=REQUESTS_ONLY, fault=[files_that_may_not_grow])
def push_raises_what_a_full_disk_says(queue, item, fault):
    """A full disk is a permanent failure: `push` raises neither the transient nor the serialization error."""
    queue.push(item(1))
    with under_test(), push_may_raise("permanent") as refused, fault:
        queue.push(item(2, large=True))
    fault.must_hit()
    if not refused:
        raise NotCovered("push returned; queue.push.no-silent-loss says whether that is right")


@check("queue.fault.recovers", name="replaced.close", kinds=REQUESTS_ONLY, fault=[offered(StorageReplaced)])
@check("queue.fault.recovers", name="full-disk.close", fault=[full_files])
def close_does_not_tell_of_a_fault(open_queue, item, fault):
    """After a push that was refused, or any fault of its disk, its server or its process, a queue works again when that is
    over, and `close` raises nothing.
    """
    queue = open_queue(holding=[1])
    with may_raise(), fault:
        queue.push(item(2, large=True))
    fault.must_hit()
    with under_test():
        queue.close()


@check("queue.pop.permanent-raises", kinds=REQUESTS_ONLY, fault=[offered(StorageReplaced)])
def pop_raises_permanent_errors(open_queue, fault):
    """A permanent problem on `pop` is raised, not turned into `None`."""
    queue = open_queue(holding=(1, 2))
    with raises(Exception, because=": its storage was replaced"), fault:
        queue.pop()


@check("queue.pop.permanent-raises", kinds=REQUESTS_ONLY, name="permanent.files", fault=[garbage])
def garbage_is_reported(open_queue, fault):
    """A permanent problem on `pop` is raised, not turned into `None`."""
    queue = open_queue(holding=(1, 2))
    queue.close()
    with may_refuse() as refused, fault:
        queue = open_queue()
    if not refused:
        with raises(Exception, because=": its files hold garbage"):
            queue.pop()
