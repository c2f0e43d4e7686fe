"""Crash sweeps of persistent asynchronous queues: what SIGKILL, and a write that it cut, leave of them."""

from queue_conformance.engine.crash import crash_sweep
from queue_conformance.engine.killpoints import When

CRASH = "aqueue.persist.crash"
TORN = "aqueue.persist.torn"


@crash_sweep(TORN, workloads=lambda context: ["put:4 put:8 put:12"], ways={When.TORN}, points=lambda context: 12)
@crash_sweep(
    CRASH,
    workloads=lambda context: ["put:4 put:8 put:12 put:16"],
    ways={When.AFTER, When.LINE},
    points=lambda context: 48 if context.driver.simulated else 8,  # the stock loop has to wait in earnest
)
def sigkill_costs_no_request_whose_put_returned(crash, open_async_queue, drained, loop, prioritized, urls_of, about, rule):
    @crash.child
    def died():
        queue = open_async_queue()
        for operation in crash:
            request = prioritized(operation.number)
            loop.run(queue.put(request, priority=request.priority))

    with about(rule):
        queue = open_async_queue()
        left = drained(loop, queue, 2 * len(died.put) + 4)
        came = [getattr(one, "url", one) for one in left]
        stored = urls_of(died.stored)
        lost = [url for url in stored if url not in came]
        assert lost == [], "no request lost whose put had returned"
        if rule == TORN:
            errors = [one for one in came if isinstance(one, Exception)]
            assert len(errors) <= 1, "at most one error"
            loop.run(queue.close())
            queue = open_async_queue()
            assert loop.run(queue.size()) == 0, "an empty queue at the next start"
