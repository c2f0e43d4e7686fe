"""The crash sweep of persistent asynchronous queues."""

from queue_conformance.engine.crash import crash_sweep
from queue_conformance.engine.killpoints import When
from queue_conformance.suites.aqueues.common import ASYNC


@crash_sweep(
    "aqueue.persist.crash",
    kinds=ASYNC,
    workloads=lambda bench: ["put:4 put:8 put:12 put:16"],  # of equal priority
    ways={When.AFTER, When.LINE},
    points=lambda bench: 48 if bench.driver.simulated else 8,  # the stock loop has to wait in earnest
)
def acknowledged_requests_survive_sigkill(crash, open_async_queue, drained, loop, bench, about, rule):
    @crash.child
    def died():
        queue = bench.driver.open()
        for operation in crash:
            queue.put(bench.driver.item(operation.number))

    with about(rule):
        queue = open_async_queue()
        left = drained(loop, queue, len(died.put) + 3)
    came = [getattr(one, "url", one) for one in left]
    stored = [bench.driver.item(number).value.url for number in died.stored]
    lost = [url for url in stored if url not in came]
    assert lost == [], "every request whose put had returned"
