"""Coroutines that consume a queue.

Scripts quote the definitions that they need from this file word by word; they have no annotations.
"""

from queue_conformance.loops import outcome_of


def drained(loop, queue, most):
    """Get until a get waits; errors are among what came."""
    left = []
    for _ in range(most):
        size = loop.run(queue.size())
        getting = loop.start(queue.get())
        loop.settle(getting) if size else loop.stays()
        if not getting.done():
            getting.cancel()
            loop.stays()
            break
        left.append(outcome_of(getting)[1])
    return left


async def each(queue):
    return [request async for request in queue]
