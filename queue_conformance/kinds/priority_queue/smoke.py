"""The first use of Scrapy's priority queues, and what their authors claim."""

from __future__ import annotations

from queue_conformance.engine.blocks import under_test
from queue_conformance.engine.check import run_case
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.fixtures import missing_methods
from queue_conformance.environments.fixtures import occupy
from queue_conformance.kinds.priority_queue import fixtures  # noqa: F401  registers the fixtures
from queue_conformance.kinds.priority_queue.fixtures import through_json, use_queues
from queue_conformance.kinds.queue.smoke import METHODS

RULES = ("pq.ctor.signature", "pq.pop.exactly-once")
SHOWN = ("persistent", "peek", "slots")


def smoke(context: CheckContext) -> None:
    """Use a priority queue once as the scheduler does for queues in memory, and once as for queues on disk.

    Raises:
        RuleFailed: for the first thing that fails.
    """
    for persistent in (False, True):
        run_case(context, "pq.ctor.signature", _it_can_be_used, {"persistent": persistent})
    with context.collecting():
        run_case(context, "pq.ctor.signature", _it_can_be_closed)


def _it_can_be_used(open_queue, request, persistent):
    use_queues(persistent=persistent)
    queue = open_queue()
    assert missing_methods(queue, METHODS[:-1]) == [], "no method missing"
    pushed = request()
    queue.push(pushed)
    with under_test("pq.pop.exactly-once"):
        assert queue.pop() == pushed
        if missing_methods(queue, ["close"]) == []:
            queue.close()


def _it_can_be_closed(open_queue):
    queue = open_queue()
    assert missing_methods(queue, METHODS) == [], "no method missing"


def it_is_there(crawler, open_queue, request, name):
    claimed = f"{name}, as claimed"
    pushed = request(host="a.example")
    with under_test():
        queue = open_queue()
        queue.push(pushed)
        if name == "peek":
            queue.peek()
        elif name == "persistent":
            state = through_json(queue.close() or ())
            queue = open_queue(state=state)
            assert queue.pop() == pushed, claimed
        elif name == "slots":
            queue.push(request(host="b.example"))
            occupy(crawler, "b.example", 2)
            assert queue.pop() == pushed, f"{claimed}: a request of a.example, as b.example is busy"
