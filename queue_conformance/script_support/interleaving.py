"""Two processes at one store: one stands still in the midst of an operation while the other one does all of its own.

Scripts quote the definitions that they need from this file word by word; they have no annotations.
"""

import io
import itertools
import multiprocessing
import os
import signal
import sys
import time
from contextlib import contextmanager
from pathlib import Path

from queue_conformance.script_support.kills import trace_lines
from queue_conformance.script_support.support import forked, key


class Other:
    """Another process, which runs a generator to its next yield whenever it is told to go on.

    Attributes:
        stood: seconds for which this process stood still meanwhile.
    """

    stood = 0.0

    def __init__(self, steps):
        self.pipe, theirs = multiprocessing.Pipe()
        self.pid = forked()
        if self.pid == 0:
            try:
                run_steps(steps, theirs)
            finally:
                os._exit(0)
        theirs.close()

    def go_on(self, looks=6):
        """Let it go on, until it is there or waits for this process: then it sleeps, however often one looks."""
        begun = time.monotonic()
        self.pipe.send("go on")
        self.settled(looks)
        self.stood = time.monotonic() - begun

    def settled(self, looks):
        """Wait until it is there, and return whether it is, or sleeps at so many looks."""
        while looks > 0 and not self.pipe.poll(0.01):
            looks -= is_asleep(self.pid)
        return self.pipe.poll()

    def end(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def run_steps(steps, pipe):
    """Run a generator step by step; tell what it yields, or raises."""
    for _ in iter(pipe.recv, None):
        try:
            told = next(steps, None), None
        except Exception as error:
            told = None, error
        try:
            pipe.send(told)
        except Exception:  # it cannot be pickled
            pipe.send((None, RuntimeError(repr(told))))


def is_asleep(pid):
    """Whether a process waits for something, and not just for a processor, as far as the system tells."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "S"
    except OSError:
        return True


@contextmanager
def elsewhere(steps, *arguments):
    """Run the steps of a generator function in another process, one whenever it is told to go on."""
    other = Other(steps(*arguments))
    try:
        yield other
    finally:
        other.end()


@contextmanager
def in_between(cls, number, other):
    """Let another process go on before that step of the class, counted from now; after the last one, if there are not so many."""
    steps = itertools.count(1)
    trace_steps(cls, lambda *step: next(steps) == number and other.go_on())
    try:
        yield
    finally:
        untrace()
    if next(steps) <= number:
        other.go_on()


def step(other, timeout=2.0):
    """Let another process do its next step, and return what that came to; raise what it raised."""
    other.go_on()
    return finished(other, timeout)


def finished(other, timeout=2.0):
    """Return what the last step of another process came to, which has nothing to wait for any more; raise what it raised."""
    if not other.settled(100 * timeout):
        raise TimeoutError(f"another process still waits after {timeout:g} s, though this one does nothing")
    received, error = other.pipe.recv()
    if error is not None:
        raise error
    return received


def trace_steps(cls, reached):
    """Call a function before each line of the class (see trace_lines), and before calls of the system but the first on a line.

    It is told of the frame, and whether there was a call of the system since the last step.
    """
    called = [False]

    def line(frame):
        reached(frame, called[0])
        called[0] = False

    def profile(frame, event, function):
        of_kit = frame.f_globals.get("__name__", "").startswith("queue_conformance.")
        if event == "c_call" and not of_kit and is_of_system(function):
            if called[0]:
                reached(frame, True)
            called[0] = True

    trace_lines(cls, line)
    sys.setprofile(profile)


def untrace():
    """End what trace_steps began."""
    sys.settrace(None)
    sys.setprofile(None)


def is_of_system(function):
    """Whether a built-in function does what others may see, or looks at what they did; of a socket, whether it sends."""
    modules = {function.__module__, *(base.__module__ for base in type(function.__self__).__mro__)}
    if not modules.isdisjoint(["_socket", "socket", "_ssl", "ssl"]):
        return function.__name__.startswith(("send", "write"))
    known = ["posix", "nt", "_io", "io", "fcntl", "mmap", "sqlite3", "lmdb", "_dbm", "_gdbm"]
    idle = function.__name__ in ("fspath", "getpid") or isinstance(function.__self__, (io.BytesIO, io.StringIO))
    return not idle and not modules.isdisjoint(known)


# --- What the other one does, and what is seen of it -------------------------------------------------------------------


def use_queue(open_queue, operation, *items):
    """Open a queue, do one operation, if that is not ``open`` or ``close``, and close it, in as many steps."""
    queue = open_queue()
    yield
    if operation in ("push", "pop", "len"):
        received = len(queue) if operation == "len" else getattr(queue, operation)(*items)
        yield key(received) if operation == "pop" and received is not None else received
    queue.close()
    yield


def overtake(open_queue, item):
    """Open a queue, push and pop, pop until another item comes, and close it, in as many steps."""
    queue = open_queue()
    yield
    queue.push(item)
    received = [key(popped) for popped in [queue.pop()] if popped is not None]
    yield
    while len(received) < 2 and (popped := soon(queue.pop, lambda popped: popped is not None, 1.5)) is not None:
        received.append(key(popped))
    yield received
    queue.close()
    yield


def use_filter(open_filter, request):
    """Open a filter, and ask it whether it has seen a request, in two steps."""
    dupefilter = open_filter()
    yield
    yield bool(dupefilter.request_seen(request))


def pop_soon(queue):
    """Pop until something comes, for two seconds at most."""
    return soon(queue.pop, lambda popped: popped is not None)


def popped_late(queue):
    """Pop until nothing is counted any more, for two seconds at most; return what came."""
    received, end = [], time.monotonic() + 2
    while len(queue) and time.monotonic() < end:
        popped = queue.pop()
        received += [] if popped is None else [popped]
        time.sleep(0.02 * (popped is None))
    return received


def length_above_0(queue):
    """Return the length, once it is not 0 any more, or after two seconds."""
    return soon(queue.__len__, lambda length: length > 0)


def length_0(queue):
    """Return the length, once it is 0, or after two seconds."""
    return soon(queue.__len__, lambda length: length == 0)


def next_soon(scheduler):
    """Take a request, once there is one, for two seconds at most."""
    return soon(scheduler.next_request, lambda request: request is not None)


def pending_soon(scheduler, right):
    """Return whether requests are pending, once that is right, or after two seconds."""
    return bool(soon(scheduler.has_pending_requests, lambda pending: bool(pending) == right))


def soon(function, is_right, seconds=2.0):
    """Return what a function returns, once that is right, or after so many seconds."""
    end = time.monotonic() + seconds
    while not is_right(found := function()) and time.monotonic() < end:
        time.sleep(0.02)
    return found
