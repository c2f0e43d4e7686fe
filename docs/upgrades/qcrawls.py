"""Write or read a queue of qCrawl: ``python qcrawls.py write|read DIR``, or the URL of a Redis; prints what came out as JSON."""

import asyncio
import inspect
import json
import sys

from qcrawl.core.queues.disk import DiskQueue
from qcrawl.core.queues.redis import RedisQueue
from qcrawl.core.request import Request

what, where = sys.argv[1:]
FIELDS = ("url", "method", "priority", "headers", "body", "meta", "callback", "cb_kwargs")


def request(number):
    """Return a request; one of three has a callback, where requests have one."""
    others = {"method": "POST", "body": bytes(range(256))} if number % 2 else {}
    if number % 3 == 0 and "callback" in inspect.signature(Request).parameters:
        others.update(callback="parse_item", cb_kwargs={"n": number})
    return Request(f"https://example.com/{number}", meta={"n": number}, priority=number % 3, **others)


def data(request):
    """Return a request as JSON can hold it."""
    return {name: repr(getattr(request, name, None) or None) for name in FIELDS}


async def main():
    """Put twenty and take five, or take all."""
    queue, items = RedisQueue(where) if "://" in where else DiskQueue(where), []
    if what == "write":
        items = [request(number) for number in range(20)]
        for item in items:
            await queue.put(item)
        for _ in range(5):
            taken = await queue.get()
            items = [item for item in items if item.url != taken.url]
    else:
        items = [await queue.get() for _ in range(await queue.size())]
    await queue.close()
    return sorted(map(data, items), key=str)


print(json.dumps(asyncio.run(main())))
