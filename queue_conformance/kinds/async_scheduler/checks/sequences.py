"""The fixed command sequences of asynchronous schedulers, by the rules that they test."""

from queue_conformance.engine.fixed import sequences
from queue_conformance.kinds.async_scheduler.commands import JOIN
from queue_conformance.kinds.async_scheduler.common import LOST

OVER_SLOW_QUEUES = ((1, "tick"), (2, "wait"))
"""The numbers of queues that let others run or take their time, and the command after which they have gone on."""

STEPS = range(8)

sequences(
    __name__,
    {
        "ascheduler.add.dedupe": ("reopen:1 add:0 add:0 qsize", "add:0 add:0 settle get settle done get settle add:0 settle"),
        "ascheduler.add.direct": ("get settle add:0 settle", "get get settle add:0 settle add:1 settle"),
        "ascheduler.add.direct-fifo": (
            "get get get get settle add:0 settle add:1 settle add:2 settle add:3 settle",
            "get get get get settle cancel:0 settle add:1 settle add:2 settle add:3 settle",
        ),
        "ascheduler.add.direct-cancel": [
            f"reopen:{queue} {consumers} settle add:0 {'tick ' * ticks}cancel:0 settle get settle done settle join settle"
            for queue in (0, 1)
            for consumers in ("get", "get get")
            for ticks in STEPS
        ],
        "ascheduler.retry": ("add:0 settle get settle retry get settle done done", "add:0 get settle get settle retry done done"),
        "ascheduler.get.order": "add:1 add:2 add:3 add:4 add:5 settle" + " get settle" * 5,
        "ascheduler.get.waits": "get settle add:0 settle done get settle add:1 settle done",
        LOST: [
            f"reopen:{queue} {'get ' * count}{f'{step} ' * steps}{adds} settle"
            for queue, step in OVER_SLOW_QUEUES
            for count, adds in ((1, "add:0"), (2, "add:0 add:1"))
            for steps in STEPS
        ],
        "ascheduler.get.closed": ("close settle get settle", "add:0 add:1 settle close settle get settle get settle get settle"),
        "ascheduler.close.waiters": [
            f"reopen:{queue} {added}get get {f'{step} ' * steps}close settle"
            for queue, step in ((0, "tick"), *OVER_SLOW_QUEUES)
            for added in ("", "add:0 settle ")
            for steps in STEPS
        ],
        "ascheduler.close.join": (
            "add:0 add:1 settle close settle join settle",
            "add:0 add:1 settle get settle close settle join settle done settle",
        ),
        JOIN: (
            "join settle",
            "add:0 add:1 settle join settle get settle done settle get settle done settle",
            "get settle add:0 settle join settle done settle",
        ),
        "ascheduler.task-done.extra": ("done", "add:0 settle get settle done settle done"),
        "ascheduler.task-done.early": "add:0 settle done",
        "ascheduler.stats.pending": "add:0 stats add:1 stats get stats get stats done stats done stats",
        "ascheduler.qsize": "qsize add:0 qsize add:1 qsize add:0 qsize get qsize add:2 qsize get qsize done qsize get qsize",
    },
    covered=True,
)
