"""The errors of the documented interface for external queues, which no release of Scrapy defines.

Raise them, or derive your own from them. Errors of your own that derive from neither are named by
``--conformance-claim=transient-error=PATH`` and ``--conformance-claim=serialization-error=PATH``.
"""


class TransientError(Exception):
    """Storing failed for a temporary reason, such as a connection that was dropped.

    The documented scheduler then keeps the request in memory. Source: Request Queues, Interface, push.
    """


class SerializationError(ValueError):
    """A request cannot be serialized.

    The documented scheduler then keeps the request in memory. Released schedulers do so for a ``ValueError``, which is
    why this is one. Source: Request Queues, Interface, push; scrapy.core.scheduler.Scheduler.
    """
