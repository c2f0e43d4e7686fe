"""The fixed command sequences of downstream and byte queues, by the rules that they test."""

from queue_conformance.engine.fixed import sequences
from queue_conformance.kinds.queue.kind import BYTES_ONLY, REQUESTS_ONLY

SEVERAL = "push:0 push:1 push:2 push:3 pop pop push:4 push:5 pop pop pop pop"

sequences(
    __name__,
    {
        "queue.ctor.key-isolation": "push:0 1.push:0 1.length length push:1 1.push:1 1.pop pop length 1.length 1.pop 1.pop pop",
    },
    kinds=REQUESTS_ONLY,
)

sequences(
    __name__,
    {
        "queue.ctor.key-identity": (
            "push:0 1.push:0 1.push:1 close 1.close 2.push:0 1.open open 1.pop pop 2.pop 1.pop",
            "push:0 push:1 1.push:0 close 1.pop 1.close open pop pop",  # the second is done with while the first is closed
        ),
        "queue.ctor.stored-length": "push:0 push:1 push:2 push:3 reopen pop reopen pop pop reopen pop reopen",
        "queue.push.accept": "length push:0 length push:1 length push:2 push:3 length pop length push:4 length",
        "queue.push.duplicates": "push:0 push:0 length push:1 push:0 length pop pop pop pop",
        "queue.pop.exactly-once": (
            "push:0 push:1 push:2 pop push:3 pop pop push:4 push:5 pop pop pop",
            " ".join(f"push:{number}" for number in range(60)),
        ),
        "queue.pop.empty-none": ("pop pop pop push:0 pop pop pop pop", "push:0 pop reopen pop pop pop push:1 reopen pop pop"),
        "queue.pop.lifo": SEVERAL,
        "queue.pop.fifo": SEVERAL,
        "queue.pop.order-reopen": "push:0 push:1 push:2 reopen push:3 push:4 pop reopen push:5 pop reopen pop pop pop pop",
        "queue.peek.equals-pop": "push:0 peek pop push:1 push:2 push:3 peek pop peek pop push:4 peek pop peek pop peek",
        "queue.peek.no-effect": (
            "push:0 push:1 push:2 peek length peek truth peek pop peek peek length pop pop",
            "push:0 push:1 peek reopen peek pop peek reopen pop peek",
        ),
        "queue.peek.then-push": (
            "push:0 push:1 peek push:2 pop pop pop",
            "push:0 push:1 pop peek push:2 peek push:3 reopen peek push:4",
        ),
        "queue.peek.empty-none": "peek peek push:0 pop peek length push:1 reopen pop peek",
        "queue.len.count": "length push:0 length push:1 push:2 length pop length push:3 length pop pop pop length",
        "queue.len.truth": "truth push:0 truth push:1 truth pop truth pop truth push:2 truth",
        "queue.len.pop-none": "pop length pop length push:0 length pop pop length pop push:1 push:2 length",
        "queue.persist.reopen": (
            "push:0 push:1 push:2 reopen reopen push:3 reopen pop pop pop pop",
            " ".join(f"push:{number}" for number in range(40)) + " reopen",
            "push:0 push:6 reopen push:1 push:13 reopen push:2 pop pop pop push:3 reopen pop pop pop",  # 6 and 13 are large
        ),
        "queue.persist.partial": (
            "push:0 push:1 push:2 push:3 pop reopen pop reopen push:4 pop pop reopen pop",
            "push:0 push:1 push:2 pop push:3 pop reopen pop pop reopen",
        ),
    },
)

sequences(
    __name__,
    {
        "queuelib.fifo.chunks": "push:0 push:1 push:2 push:3 pop pop push:4 pop reopen pop push:5 pop pop",
        "queuelib.clear": (
            "push:0 push:1 pop push:2 clear pop length push:3 push:4 pop clear clear push:5 reopen length pop",
            "clear push:0 push:1 clear reopen pop push:2 reopen pop",
        ),
    },
    kinds=BYTES_ONLY,
)
