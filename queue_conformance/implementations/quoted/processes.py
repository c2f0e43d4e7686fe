"""Processes that work on one store at the same time, and one that is killed while it waits for the server.

Scripts quote the definitions that they need from this file word by word; they have no annotations.
"""

import multiprocessing
import os
import signal
import time


def in_processes(functions):
    """Call functions at once, each in a process of its own and with a barrier for all; return what they return."""
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(len(functions), timeout=10)
    pipes = [context.Pipe() for _ in functions]
    for function, (_, end) in zip(functions, pipes, strict=True):
        context.Process(target=lambda function=function, end=end: end.send(function(barrier)), daemon=True).start()
        end.close()
    return [mine.recv() for mine, _ in pipes]


def consume(queue, requests=(), patience=2.0):
    """Push requests and pop until nothing is left; return the URLs that came. None only says that nothing is ready."""
    requests, urls, end = list(requests), [], time.monotonic() + patience
    while len(urls) < 1000:
        pushed = bool(requests)
        if pushed:
            queue.push(requests.pop())
        request = queue.pop()
        if request is not None:
            urls.append(request.url)
            end = time.monotonic() + patience
        elif not pushed:
            if len(queue) == 0 or time.monotonic() > end:
                break
            time.sleep(0.01)
    return urls


def kill_in_reply(backend, child, number):
    """Let a stopped process go on until the server has sent it so many replies, and then one that does not arrive: kill it there.

    Returns whether it got there; if not, it has ended.
    """
    backend.hold_reply(number)
    os.kill(child, signal.SIGCONT)
    ended, held, end = 0, 0, time.monotonic() + 2
    while not ended and not backend.proxy.held and time.monotonic() < end:
        time.sleep(0.001)
        ended = os.waitpid(child, os.WNOHANG)[0]
    while held < backend.proxy.held:  # until all of the reply is there
        held = backend.proxy.held
        time.sleep(0.005)
    if not ended:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    backend.recover()
    return held > 0
