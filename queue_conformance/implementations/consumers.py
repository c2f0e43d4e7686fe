"""Coroutines that consume a queue.

Scripts quote the definitions that they need from this file word by word; they have no annotations.
"""


async def each(queue):
    return [request async for request in queue]
