"""The fixed command sequences of queuelib's collections, by the rules that they test."""

from queue_conformance.engine.fixed import sequences
from queue_conformance.kinds.byte_collections.kind import BY_PRIORITY, BY_TURNS, COLLECTIONS

sequences(
    __name__,
    {
        "queue.push.accept": "push:0 push:1 push:2 push:3 push:4 push:0 pop push:1",
        "queue.push.failed-no-trace": (
            "push_refused:0 length pop push:1 push_refused:2 push_refused:1 length truth pop length pop",
            "push:0 push:1 push_refused:2 pop push_refused:0 push:2 pop length pop",
        ),
        "queue.pop.exactly-once": "push:0 push:1 push:2 push:4 pop push:3 pop pop push:5 push:0 pop pop pop pop",
        "queue.pop.empty-none": "pop pop push:0 pop pop pop push:1 push:2 pop pop pop",
        "queue.peek.no-effect": "push:0 push:1 push:2 peek peek length pop peek truth pop peek push:3 peek pop pop",
        "queue.peek.empty-none": "peek peek push:0 pop peek push:1 push:2 pop pop peek",
        "queue.len.count": "length push:0 length push:1 push:4 length pop length push:2 length pop pop pop length",
        "queue.len.truth": "truth push:0 truth push:1 pop truth pop truth push:2 truth",
        "queue.len.pop-none": "pop length pop length push:0 length pop pop length push:1 length",
    },
    kinds=COLLECTIONS,
)

sequences(
    __name__,
    {
        "queue.peek.equals-pop": (
            "push:1 peek pop push:0 push:2 push:1 peek pop peek pop push:3 peek pop peek pop",
            "push:0 push_refused:2 peek pop push_refused:2 push:1 peek pop",
        ),
        "queuelib.pq.close": (
            "push:0 push:1 push:2 pop reopen push:3 reopen pop reopen length pop pop reopen",
            "push:0 push:1 push:2 push:3 reopen pop reopen reopen length pop pop",
            "push:0 push_refused:1 push_refused:2 reopen pop push_refused:3 reopen",
        ),
        "queuelib.pq.startprios": "push:0 push:1 push:3 reopen length pop reopen push:2 reopen length pop pop pop",
    },
    kinds=BY_PRIORITY,
)

sequences(
    __name__,
    {
        "queuelib.rr.peek": "push:0 peek pop push:0 push:1 push:3 peek pop peek pop push:2 peek pop peek pop",
        "queuelib.rr.close": (
            "push:0 push:1 push:2 pop reopen push:3 reopen pop reopen length pop pop reopen",
            "push:0 push:1 push:2 push:3 reopen pop reopen reopen length pop pop",
            "push:0 push_refused:1 push_refused:2 reopen pop push_refused:0 reopen",
        ),
        "queuelib.clear": "push:0 push:1 push:2 clear length pop push:3 push:1 pop clear push:0 reopen pop clear pop",
    },
    kinds=BY_TURNS,
)
