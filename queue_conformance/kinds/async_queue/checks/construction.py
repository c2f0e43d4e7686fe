"""Checks of how asynchronous queues are built."""

from queue_conformance.engine.blocks import raises, under_test
from queue_conformance.engine.check import check
from queue_conformance.engine.fixtures import offers
from queue_conformance.engine.outcomes import NotCovered
from queue_conformance.kinds.async_queue.fixtures import put


@check("aqueue.iface")
def the_factory_accepts_the_class(builds_itself, from_factory):
    """A queue class defines `put`, `get`, `size`, `clear` and `close` as coroutines and `maxsize` as a plain method; qCrawl's
    factory builds it if it is a subclass of `qcrawl.core.queue.RequestQueue`.
    """
    queue = from_factory()
    assert queue is not None


@check("aqueue.ctor.errors")
def unknown_keywords_are_refused(builds_itself, open_async_queue):
    """An unknown keyword raises `TypeError`, and a negative `maxsize` `ValueError`."""
    with raises(TypeError, because=": the keyword is unknown"):  # at once, or at the first use
        queue = open_async_queue(no_such_option=1)
        put(queue, 1)


@check("aqueue.ctor.errors", name="ctor.negative-bound")
def negative_bounds_are_refused(builds_itself, open_async_queue):
    """An unknown keyword raises `TypeError`, and a negative `maxsize` `ValueError`."""
    if not offers("bounded"):
        raise NotCovered("it has no bound")
    with raises(ValueError, because=": maxsize is negative"):
        open_async_queue(maxsize=-1)


@check("aqueue.ctor.shipped-config")
def the_shipped_configuration_works(builds_itself, shipped_config, default_place, open_async_queue, loop, prioritized):
    """A queue class, and what is derived from it, works with the configuration that qCrawl ships for it as default."""
    with under_test():
        queue = open_async_queue(placed=False, holding=[1], **shipped_config)
        assert loop.run(queue.get()) == prioritized(1)
