"""The stock event loop, driven by hand: for what needs sockets or threads, and to confirm what was found on a simulated loop."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
import weakref
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from queue_conformance.loops.simulation import UNENDING, DrivenByHand, Job, Jobs, SimulatedLoop
from queue_conformance.loops.tasks import Task
from queue_conformance.processes.stopwatch import Stopwatch

T = TypeVar("T")


class Threads(ThreadPoolExecutor):
    """The threads of a loop, which do no work while the loop is driven one iteration at a time.

    Attributes:
        jobs: the jobs that were handed over in these iterations, and have not been delivered.
        idle: whether new jobs are kept for later.
    """

    def __init__(self) -> None:
        super().__init__()
        self.jobs = Jobs()
        self.idle = False

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Call a function in a thread, now or later."""
        if self.idle:
            return self.jobs.hand_over(partial(fn, *args, **kwargs))
        return super().submit(fn, *args, **kwargs)

    def go_on(self) -> None:
        """Do all the work that was kept for later."""
        while self.jobs:
            job = self.jobs.pop(0)
            if job.ran:
                job.deliver()
            elif job.begin():
                super().submit(_finish, job)


async def _turning(seconds: float) -> None:
    """Let the loop turn for so many seconds; threads run meanwhile."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        await asyncio.sleep(0)
        time.sleep(0)


def _finish(job: Job) -> None:
    job.run()
    job.deliver()


COARSE = 0.005
"""Seconds of the shortest wait that a loop keeps to: it sleeps for whole milliseconds at least."""

GLANCE = 0.1
"""Seconds between looks at the stopwatch while something is waited for."""


MUST_COME = 5.0
"""Seconds that something which must happen is waited for."""


class RealLoop(DrivenByHand):
    """The stock event loop, driven by hand. It waits, for a limited time, for what :class:`SimulatedLoop` knows at once.

    Args:
        must_come: seconds to wait for something that must happen.
        may_not_come: seconds after which something that has not happened is taken never to happen.

    Attributes:
        waited: whether something that must happen did not happen in time.
        slowest: the longest wait, in seconds, for something that happened in time.
    """

    def __init__(self, must_come: float = MUST_COME, may_not_come: float = 0.05) -> None:
        self.loop = asyncio.new_event_loop()
        self.errors = errors = list[dict[str, Any]]()
        self.must_come, self.may_not_come = must_come, may_not_come
        self.waited, self.slowest = False, 0.0
        self._tasks: set[Task] = set()
        self._threads = Threads()
        self.jobs = self._threads.jobs
        self.loop.set_default_executor(self._threads)
        self.loop.set_exception_handler(lambda _loop, context: errors.append(context))
        weakref.finalize(self, _close, self.loop, os.getpid())

    def tick(self) -> bool:
        """Run what is ready now, in one iteration of the loop; jobs of executors wait for :meth:`run_job`."""
        self._threads.idle = True
        try:
            self.loop.stop()  # which lets run_forever end after one iteration
            self.loop.run_forever()
        finally:
            self._threads.idle = False
        return True

    def advance(self, seconds: float) -> None:
        """Let real time pass; less than the system's clock of waits tells apart is passed turn by turn."""
        self._threads.go_on()
        self.loop.run_until_complete(asyncio.sleep(seconds) if seconds >= COARSE else _turning(seconds))

    def settle(self, *tasks: Task) -> None:
        """Wait until tasks are done, but not for long.

        Args:
            tasks: those that are expected to end; without any, all that were started.
        """
        tasks = tasks or tuple(self._tasks)
        started = self.loop.time()
        self._wait(tasks, self.must_come)
        if not all(task.done() for task in tasks):
            self.waited = True
        elif all(task.cancelled() or task.exception() is None for task in tasks):
            self.slowest = max(self.slowest, self.loop.time() - started)

    def stays(self, *tasks: Task) -> None:
        """Wait for a moment; a task that is not done then is taken to wait."""
        self._wait(tasks or tuple(self._tasks), self.may_not_come)

    def finish(self) -> list[str]:
        """Cancel what is left, and close; see :meth:`SimulatedLoop.finish`."""
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        self._wait(asyncio.all_tasks(self.loop), self.must_come)
        stubborn = [task.get_name() for task in self._tasks]
        UNENDING.extend(asyncio.all_tasks(self.loop))
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        self.loop.close()
        return stubborn

    def _wait(self, tasks: Iterable[Task], seconds: float) -> None:
        """Wait until tasks are done, for so many seconds; time that a busy machine keeps from this process does not count."""
        self._threads.go_on()
        watch = Stopwatch(os.getpid())
        while (waiting := [task for task in tasks if not task.done()]) and (left := seconds - watch.look()) > 0:
            self.loop.run_until_complete(asyncio.wait(waiting, timeout=min(left, GLANCE)))


def _close(loop: asyncio.AbstractEventLoop, process: int) -> None:
    """Close a loop that was not finished, without warnings about what still runs on it; only the process that made it does so."""
    if loop.is_closed() or os.getpid() != process:
        return
    with contextlib.suppress(RuntimeError):  # another loop is running
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.wait(left, timeout=1))
    if not loop.is_running():
        loop.close()


Loop = SimulatedLoop | RealLoop
"""A loop that a check drives by hand."""
