"""The fixed command sequences of priority queues, by the rules that they test."""

from queue_conformance.engine.fixed import sequences

sequences(
    __name__,
    {
        "pq.push.failed-no-trace": (
            "push_refused:0 length truth peek pop push:4 peek pop pop",
            "push:1 push_refused:0 peek pop pop",
            "push:3 push:1 push_refused:2 push_refused:0 pop pop pop",
            "push:0 push_refused:1 peek pop push:1 pop",
            "push_refused:9 push:0 push_refused:5 length truth pop pop",
            "push:4 push:0 push_refused:2 push_refused:3 peek pop pop reopen",
            "push_refused:2 push:0 reopen peek pop",
            "push_refused:0 push_refused:1 reopen push:0 pop",
            "push:0 push_refused:2 push_refused:4 pop length pop push:0 push:2 pop pop",
            "push:5 push_refused:7 pop truth push:5 pop",
        ),
        "pq.push.refused-no-loss": (
            "push:0 push_refused:2 length pop length",
            "push_refused:0 length pop push:0 pop length",
            "push:0 push:0 push:3 push_refused:0 push_refused:3 pop pop pop",
            "push:1 push:5 push_refused:9 push_refused:1 pop push:4 pop pop",
        ),
        "pq.pop.order": ("push:0 push:4 push:2 push:0 push:2 pop pop pop pop pop", "push:9 push:10 push:4 push:5 push:7"),
        "pq.pop.exactly-once": (
            "push:0 push:1 push:5 push:2 push:9 pop pop push:8 push:3 pop pop pop push:0 push:6 pop pop pop",
            "push:0 pop push:0 pop push:1 pop push:1 pop push:2 push:2 pop pop",
        ),
        "pq.pop.empty-none": ("pop pop push:0 pop pop pop push:1 push:2 pop pop pop", "reopen_stale pop push:0 pop pop"),
        "pq.pop.none-only-empty": (
            "push:4 push:0 push:2 pop pop push:1 pop pop pop",
            "push:1 push:0 push:3 pop pop push:3 pop pop",
            "push:0 push:5 push:9 pop push:4 pop pop push:8 pop pop",
        ),
        "pq.len.sum": (
            "length push:0 length push:1 push:5 length pop length push:2 push:9 length pop pop pop length pop pop length",
        ),
        "pq.len.truth": ("truth push:1 truth push:5 pop truth pop truth push:2 truth", "push:0 truth pop pop truth"),
        "pq.pop.transient": (
            "push:0 push:0 push:4 pop_none length pop pop pop",
            "push:0 pop_none pop_none pop_none peek pop pop",
            "push:1 push:0 push:2 pop_none pop_none pop pop_none pop pop",
            "push:3 push:1 pop_none pop push:0 pop_none pop pop",
            "push:0 push:5 push:9 pop_none pop_none pop pop pop",
            f"push:0 push:0 push:4 {'pop_none ' * 30}length pop pop pop",
        ),
        "pq.peek.equals-pop": (
            "push:0 peek pop push:4 push:2 push:0 peek pop peek pop push:0 peek pop peek pop",
            "push:1 push:0 peek pop peek pop",
            "push:3 push:0 push:1 pop peek pop peek pop",
            "push:3 push:0 push:2 peek pop peek pop peek pop",
            "push:2 push:1 pop peek peek pop",
            "push:0 push:3 push:8 pop peek pop peek pop",
            "push:0 push:5 push:10 peek pop peek pop peek pop",
            "activity:8 push:0 push:5 peek pop activity:4 peek pop",
        ),
        "pq.peek.no-effect": (
            "push:0 push:0 push:2 peek peek length pop peek truth pop peek push:4 peek pop pop",
            "push:1 push:1 peek pop peek peek length pop peek length pop",
        ),
        "pq.peek.empty-none": (
            "peek peek push:0 pop peek push:1 push:2 pop pop peek",
            "push:1 pop peek push:5 pop peek",
            "push:0 push:9 pop pop peek",
        ),
        "pq.close.state": ("push:0 reopen pop", "push:0 push:1 push:5 push:9 reopen pop push:4 reopen pop pop pop pop"),
        "pq.close.state-nonempty": (
            "push:0 push:2 reopen pop reopen push:4 pop reopen",
            "push:0 push:5 push:9 push:1 pop pop reopen pop reopen",
            "push:3 push:0 reopen pop reopen pop",
        ),
        "pq.close.empty-falsy": ("reopen pop", "push:0 push:1 push:5 pop pop pop reopen", "push:2 reopen pop reopen"),
        "pq.resume.stale": (
            "reopen_stale length truth pop push:0 pop",
            "reopen_stale:1 pop push:1 pop reopen",
            "push:0 push:1 reopen_stale length pop pop pop",
            "push:2 push:5 reopen_stale:1 pop reopen_stale:2 peek pop pop",
            "reopen_stale reopen_stale:1 push:9 reopen",
        ),
        "pq.slot.least-active": (
            "activity:8 activity:5 push:0 push:5 push:10 pop pop pop",
            "push:0 push:5 push:2 push:7 activity:4 pop pop activity:5 activity:0 pop pop",
            "push:9 push:4 activity:10 activity:4 pop activity:2 push:10 push:0 pop pop",
        ),
    },
)

sequences(
    __name__,
    {"pq.pop.late-higher": ("push:0 push:0 pop push:2 pop pop", "push:4 push:4 pop push:3 push:0 pop pop pop")},
    covered=True,
)
