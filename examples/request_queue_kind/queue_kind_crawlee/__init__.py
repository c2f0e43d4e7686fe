"""Request queues of Crawlee, as a further kind of pytest-queue-conformance."""

from queue_conformance.specification.kinds import Kind, Profile


def _is_request_queue(cls: type) -> bool:
    return hasattr(cls, "fetch_next_request") and hasattr(cls, "reclaim_request")


REQUEST_QUEUE = Kind(
    "request-queue",
    plural="request queues",
    option="queue-class",
    profile=Profile("crawlee"),
    folders=(__name__,),
    driver=f"{__name__}.driver:RequestQueueDriver",
    shows=_is_request_queue,
    describe=lambda found: "",
    precedence=10,
    stores=False,
)

MODULES = ("checks", "commands")
"""The modules with checks, in the order in which these are run."""
