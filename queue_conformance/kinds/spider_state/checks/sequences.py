"""The fixed command sequences of spider-state extensions, by the rules that they test."""

from queue_conformance.engine.fixed import sequences

sequences(
    __name__,
    {
        "state.restored": ("put:0 put:1 reopen reopen put:2 reopen reopen", "put:0 put:1 reopen forget:0 reopen clear reopen"),
        "state.mutation": "grow:0 reopen grow:1 reopen grow:2 reopen",
    },
)
