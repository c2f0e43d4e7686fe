"""What consumes an asynchronous queue, and ways to look at its class and to hurt its files.

Scripts quote the definitions that they need from this file word by word; they have no annotations.
"""

import asyncio
import inspect
import time
from pathlib import Path

from queue_conformance.loops import outcome_of
from queue_conformance.script_support.support import bytes_below


def undefined(cls, names):
    """Return which of these methods a class does not define, and which ones it leaves to a subclass."""
    missing = {name for name in names if not callable(getattr(cls, name, None))}
    return sorted(missing | set(getattr(cls, "__abstractmethods__", ())))


def class_of(cls, name):
    """Return the name of the class of an attribute, ``function`` of whatever can be called; ``NoneType`` if there is none."""
    found = getattr(cls, name, None)
    return "function" if callable(found) else type(found).__name__


def not_coroutines(cls, names):
    """Return which of these methods of a class are defined without ``async``."""
    return [name for name in names if not inspect.iscoroutinefunction(getattr(cls, name))]


def parameters_of(builder):
    """Return the names of the arguments of what builds queues."""
    return list(inspect.signature(builder).parameters)


def connections_left(backend, timeout=0.5):
    """Return how many connections to the server are open, once there are none, or after so many seconds."""
    end = time.monotonic() + timeout
    while backend.connections and time.monotonic() < end:
        time.sleep(0.01)  # the proxy may not have noticed yet
    return backend.connections


def put_all(loop, queue, requests):
    """Put each request, one after the other."""
    for request in requests:
        loop.run(queue.put(request, priority=request.priority))


async def put_and_close(queue, requests):
    """Put each request, and close the queue as soon as the last put has returned, with nothing in between."""
    for request in requests:
        await queue.put(request, priority=request.priority)
    await queue.close()


def put_and_get(loop, queue, request, times):
    """So many times put a request, and get the one before."""
    for _ in range(times):
        loop.run(queue.put(request))
        loop.run(queue.get())


def put_until_rewritten(loop, queue, requests, directory, turns):
    """Put each request while a get is under way, until a file shrinks or is another one; return what came, and whether one did.

    A put comes so many turns of the loop after its get, meanwhile what that has begun goes on. A store that has not grown after a
    few requests is no log, and not driven further.
    """
    received, before = [], files_below(directory)
    first = bytes_below(directory)
    for number, request in enumerate(requests):
        getting = loop.start(queue.get())
        for _ in range(turns):
            loop.tick()
        loop.run(queue.put(request, priority=request.priority))
        received.append(loop.run(getting))
        now = files_below(directory)
        if any(path in now and (now[path][0] != node or now[path][1] < size) for path, (node, size) in before.items()):
            return received, True
        if number == 8 and bytes_below(directory) <= first:
            break
        before = now
    return received, False


def files_below(directory):
    """Return the number and the size of each file below a directory, by their paths."""
    found = [(path, path.stat()) for path in Path(directory).rglob("*") if path.is_file()]
    return {path: (status.st_ino, status.st_size) for path, status in found}


def reopened_at_each_count(loop, open_queue, requests):
    """Put each request into a queue that is opened anew, then get each from one; return counts, and other sizes found there."""
    wrong, count = [], 0
    for request in [*requests, *[None] * len(requests)]:
        queue = open_queue(loop)
        size = loop.run(queue.size())
        if size != count:
            wrong.append((count, size))
        if request is not None:
            loop.run(queue.put(request, priority=request.priority))
        elif size:
            loop.run(queue.get())
        count += 1 if request is not None else -1
        loop.run(queue.close())
    return wrong


def ended_gets(loop, queue, most):
    """Get until a get waits, or says that the queue is empty, so many times at most; yield each task that ended."""
    for _ in range(most):
        size = loop.run(queue.size())
        getting = loop.start(queue.get())
        loop.settle(getting) if size else loop.stays()
        empty = not size and isinstance(outcome_of(getting)[1], asyncio.QueueEmpty)
        if empty or not getting.done():
            getting.cancel()
            loop.stays()
            return
        yield getting


def drained(loop, queue, most):
    """Get until a get waits; return what came, and raise what a get raised."""
    return [getting.result() for getting in ended_gets(loop, queue, most)]


def outcomes_of_gets(loop, queue, most):
    """Get until a get waits; return what became of each get."""
    return [outcome_of(getting) for getting in ended_gets(loop, queue, most)]


def urls_in(requests):
    """Return the URLs of requests, in order; a value that is none stands for itself."""
    return [getattr(one, "url", one) for one in requests]


def urls_returned(outcomes):
    """Return the URLs of what gets returned."""
    return urls_in(one for how, one in outcomes if how == "returned")


async def each(queue):
    """Return what the queue yields until it ends."""
    return [request async for request in queue]


async def first_of(queue):
    """Return the first that the queue yields, and look for no more."""
    async for request in queue:
        return request


def size_again(loop, queue, timeout=2.0):
    """Return the size, asking again for so many seconds while that raises."""
    end = time.monotonic() + timeout
    while True:
        try:
            return loop.run(queue.size())
        except Exception:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


def drop_hashes(backend):
    """Remove all hashes from the server; return whether there were any."""
    return backend.server.drop_hashes()


def use_async_queue(open_queue, loop_class, operation, *requests):
    """Open a queue on a loop of its own, do one operation, and close it, in three steps."""
    loop = loop_class()
    queue = open_queue(loop)
    yield
    if operation == "put":
        yield put_all(loop, queue, requests)
    else:
        received = loop.run(getattr(queue, operation)())
        yield getattr(received, "url", received)
    loop.run(queue.close())
    yield


def overtake_async_queue(open_queue, loop_class, request):
    """Open a queue on a loop of its own, put and get a request, get until another one comes, and close it, in as many steps."""
    loop = loop_class()
    queue = open_queue(loop)
    yield
    put_all(loop, queue, [request])
    received = [loop.run(url_soon(queue))]
    yield
    received.append(loop.run(url_soon(queue)))
    yield received
    loop.run(queue.close())
    yield


async def url_soon(queue):
    """Return the URL of the next request, or None if there is none within a moment."""
    try:
        return (await asyncio.wait_for(queue.get(), 1.5)).url
    except TimeoutError:
        return None
