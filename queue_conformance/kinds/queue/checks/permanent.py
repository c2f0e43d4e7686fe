"""What a queue does when its storage is gone for good: it raises, and nobody falls back."""

from queue_conformance.engine.check import check
from queue_conformance.engine.outcomes import NotCovered
from queue_conformance.kinds.queue.checks.construction import REQUESTS_ONLY
from queue_conformance.kinds.queue.faults import files_that_may_not_grow, garbage, replaced_storage
from queue_conformance.script_support.support import key

NO_FALLBACK = "an error for which nobody falls back"


@check("queue.push.permanent-error", kinds=REQUESTS_ONLY, fault=[replaced_storage])
def push_raises_permanent_errors_as_they_are(queue, item, uncertain, fallbacks, fate, about, rule, drain, fault):
    for number in (1, 2):
        queue.push(item(number))
    with about(rule):
        with uncertain(never=fallbacks, expected=NO_FALLBACK, consequence=fate) as refused, fault:
            queue.push(item(3))
        fault.must_hit()
        if not refused:
            assert drain(queue).count(key(item(3))) == 1, "once what was pushed after the storage was replaced"


@check("queue.push.full-disk", kinds=REQUESTS_ONLY, fault=[files_that_may_not_grow])
def push_raises_what_a_full_disk_says(queue, item, uncertain, fallbacks, fate, about, rule, fault):
    queue.push(item(1))
    with about(rule), uncertain(never=fallbacks, expected=NO_FALLBACK, consequence=fate) as refused, fault:
        queue.push(item(2, large=True))
    fault.must_hit()
    if not refused:
        raise NotCovered("push returned; queue.push.no-silent-loss says whether that is right")


@check("queue.pop.permanent-raises", kinds=REQUESTS_ONLY, fault=[replaced_storage])
def pop_raises_permanent_errors(open_queue, item, raises, fault):
    queue = open_queue()
    for number in (1, 2):
        queue.push(item(number))
    with raises(Exception, because=": its storage was replaced"), fault:
        queue.pop()


@check("queue.pop.permanent-raises", kinds=REQUESTS_ONLY, name="permanent.files", fault=[garbage])
def garbage_is_reported(open_queue, item, uncertain, raises, fault):
    queue = open_queue()
    for number in (1, 2):
        queue.push(item(number))
    queue.close()
    with uncertain() as refused, fault:
        queue = open_queue()
    if not refused:
        with raises(Exception, because=": its files hold garbage"):
            queue.pop()
