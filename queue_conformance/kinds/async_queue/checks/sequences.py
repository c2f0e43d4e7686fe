"""The fixed command sequences of asynchronous queues, by the rules that they test."""

from queue_conformance.engine.fixed import sequences

MANY = "start_put:0 start_get start_put:0 start_get tick start_get start_put:0 start_get start_put:0 tick settle"

sequences(
    __name__,
    {
        "aqueue.put.accept": "size put:0 size put:0 size get size put:0 get get size",
        "aqueue.order.priority": "put:0 put:1 put:2 put:3 get put:1 get get put:3 get get get",
        "aqueue.get.blocks": (
            "start_get settle put:0 get",
            "start_get start_get settle put:0 settle put:0 size",
            "put:0 get start_get settle start_put:0 start_put:0 settle size",
        ),
        "aqueue.get.close-wakes": ("start_get settle close", "put:0 get start_get start_get settle close"),
        "aqueue.get.closed-drains": ("put:0 close get get", "put:0 put:0 put:0 close get get get get get"),
        "aqueue.get.concurrent": (
            "put:0 put:0 put:0 start_get start_get start_get settle size",
            "start_get start_get start_get start_get settle start_put:0 start_put:0 start_put:0 settle put:0 size",
            f"{MANY} size {MANY} size",
        ),
        "aqueue.put.closed": (
            "close put:0 put:0 get",
            "put:0 close put:0 get get",
            "put:0 close put:0 reopen size get",
            "limit:1 put:0 close put:0 get",
        ),
        "aqueue.bound.usable": (
            "limit:1 put:0 size get put:0 get put:0",
            "limit:2 put:0 put:0 get put:0 get get put:0 put:0 size",
            "limit:2 put:0 put:0 reopen get put:0 reopen get get put:0 put:0",
        ),
        "aqueue.bound.full-signal": ("limit:1 put:0 put:0 size", "limit:2 put:0 put:0 put:0 put:0 get put:0 put:0 size"),
        "aqueue.clear": (
            "clear put:0 put:0 clear size put:0 size get put:0 clear",
            "put:0 put:0 clear reopen size put:0 reopen get",
            "limit:2 put:0 put:0 clear put:0 put:0 size",
        ),
        "aqueue.size": "size put:0 size put:0 size get size put:0 size get get size put:0 size",
        "aqueue.persist.reopen": (
            "put:0 put:0 put:0 reopen size reopen put:0 reopen get get get get",
            "put:0 put:0 get reopen put:0 get reopen get reopen size put:0",
            "put:0 put:1 put:2 put:3 reopen get get reopen put:1 get get get",
        ),
    },
)
