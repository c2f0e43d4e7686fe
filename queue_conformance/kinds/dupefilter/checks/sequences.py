"""The fixed command sequences of dupefilters, by the rules that they test."""

from queue_conformance.engine.fixed import sequences

sequences(
    __name__,
    {
        "dupefilter.seen.first": "seen:0 seen:0 seen:0 seen:1 seen:0 seen:1 seen:2 seen:2 seen:3 seen:0",
        "dupefilter.persist.resume": (
            "seen:0 seen:1 seen:2 seen:1 reopen seen:0 seen:3 seen:1 seen:2",
            "seen:6 seen:5 reopen seen:4 seen:6",
        ),
        "dupefilter.persist.append": (
            "seen:0 seen:1 reopen seen:2 reopen seen:3 reopen reopen seen:0 seen:1 seen:2 seen:3",
            "seen:0 reopen reopen seen:1 reopen seen:0 seen:1",
        ),
    },
)
