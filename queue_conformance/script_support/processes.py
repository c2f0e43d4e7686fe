"""Processes that work on one store at the same time, and one that is killed while it waits for the server.

Scripts quote the definitions that they need from this file word by word; they have no annotations.
"""

import functools
import multiprocessing
import os
import signal
import time

from scrapy import Request

from queue_conformance.script_support.support import forked


def in_processes(functions):
    """Call functions at once, each in a process of its own and with a barrier for all; return what they return."""
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(len(functions), timeout=10)
    pipes = [context.Pipe() for _ in functions]
    for function, (_, end) in zip(functions, pipes, strict=True):
        context.Process(target=lambda function=function, end=end: end.send(function(barrier)), daemon=True).start()
        end.close()
    return [mine.recv() for mine, _ in pipes]


def urls(numbers):
    """Return the URLs of the requests with these numbers."""
    return [f"https://example.com/{number}" for number in numbers]


def push_all(queue, numbers):
    """Push the requests with these numbers."""
    for url in urls(numbers):
        queue.push(Request(url))


def consume(queue, wanted=(), timeout=2.0):
    """Pop until nothing is left, and for a while where a wanted URL has not come; return those that came."""
    received, end = [], time.monotonic() + timeout
    while len(received) < 1000:
        request = queue.pop()
        if request is not None:
            received.append(request.url)
            end = time.monotonic() + timeout
        elif time.monotonic() > end or (len(queue) == 0 and set(wanted) <= set(received)):
            break
        else:
            time.sleep(0.01)
    return received


class Watched:
    """A queue that knows the longest time between the beginning of an operation and the end of the next one."""

    def __init__(self, queue):
        self.queue, self.stall, self.began = queue, 0.0, time.monotonic()

    def timed(self, operation, *arguments):
        before, self.began = self.began, time.monotonic()
        try:
            return operation(*arguments)
        finally:
            self.stall = max(self.stall, time.monotonic() - before)

    def push(self, request):
        return self.timed(self.queue.push, request)

    def pop(self):
        return self.timed(self.queue.pop)

    def close(self):
        return self.timed(self.queue.close)

    def __len__(self):
        return self.timed(len, self.queue)


def push_and_consume(open_queue, numbers, timeout, barrier):
    """Push requests with these numbers one by one, and pop after each until nothing is left.

    Returns the URLs that came, or what was raised, and the longest time without an operation.
    """
    received, queue = [], Watched(None)
    try:
        queue.queue = open_queue()
        barrier.wait()
        queue.began = time.monotonic()
        for url in urls(numbers):
            queue.push(Request(url))
            if (request := queue.pop()) is not None:
                received.append(request.url)
        received += consume(queue, (), timeout)
        queue.close()
        return received, queue.stall
    except Exception as error:
        barrier.abort()  # or else the others would wait for this one
        return repr(error), queue.stall


def side_by_side(open_queue, first, each, timeout=2.0, long=0.8):
    """Let four processes push so many requests each, numbered from the first one, and pop until nothing is left, all at once.

    Returns the URLs that came, and the longest time in which one of them did nothing; raises if one of them raised, a
    TimeoutError if that one had waited for long.
    """
    ranges = [range(begin, begin + each) for begin in range(first, first + 4 * each, each)]
    found = in_processes([functools.partial(push_and_consume, open_queue, numbers, timeout) for numbers in ranges])
    errors = [(received, stall) for received, stall in found if isinstance(received, str)]
    for error, stall in sorted(errors, key=lambda one: "BrokenBarrierError" in one[0]):
        raise (TimeoutError if stall >= long else RuntimeError)(f"a process raised {error}")
    return [url for received, _ in found for url in received], max(stall for _, stall in found)


def ask_later(open_filter, numbers, wait, barrier):
    """Ask a filter of a process that begins later for requests; return whether each was new, or what was raised."""
    try:
        time.sleep(wait)
        dupefilter = open_filter()
        barrier.wait()
        return [not dupefilter.request_seen(Request(url)) for url in urls(numbers)]
    except Exception as error:
        return repr(error)


def times_new(open_filter, numbers, wait=1.1):
    """Let four processes ask for the same requests at once; return to how many of them each was new, or what one raised.

    The first one starts earlier, for what is named after the time of the start is not shared.
    """
    found = in_processes([functools.partial(ask_later, open_filter, numbers, wait * bool(number)) for number in range(4)])
    return next((one for one in found if isinstance(one, str)), None) or [sum(column) for column in zip(*found, strict=True)]


def pop_and_die(open_queue, backend, replies=None, timeout=5.0):
    """Let another process pop, and kill it after that; or, while it pops again, when so many replies of the server have come.

    Returns the URLs of what its pops returned, and whether it was killed there.
    """
    reader, writer = os.pipe()
    child = forked()
    if child == 0:
        try:
            queue = open_queue()
            os.write(writer, queue.pop().url.encode() + b" ")
            os.kill(os.getpid(), signal.SIGSTOP)
            os.write(writer, queue.pop().url.encode())
        finally:
            os._exit(0)
    os.close(writer)
    ended, status, end = 0, 0, time.monotonic() + timeout
    while not ended and time.monotonic() < end:
        ended, status = os.waitpid(child, os.WUNTRACED | os.WNOHANG)
        time.sleep(0.0005)
    hit = stopped = bool(ended) and os.WIFSTOPPED(status)
    if stopped and replies is not None:
        hit = kill_in_reply(backend, child, replies)
    elif stopped or not ended:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    with os.fdopen(reader) as pipe:
        return pipe.read().split(), hit


def kill_in_reply(backend, child, number):
    """Let a stopped process go on until the server has sent it so many replies, and then one that does not arrive: kill it there.

    Returns whether it got there; if not, it has ended.
    """
    backend.hold_reply(number)
    os.kill(child, signal.SIGCONT)
    ended, held, end = 0, 0, time.monotonic() + 2
    while not ended and not backend.held and time.monotonic() < end:
        time.sleep(0.001)
        ended = os.waitpid(child, os.WNOHANG)[0]
    while held < backend.held:  # until all of the reply is there
        held = backend.held
        time.sleep(0.005)
    if not ended:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    backend.recover()
    return held > 0
