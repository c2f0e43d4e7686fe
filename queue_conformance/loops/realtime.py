"""The stock event loop, driven by hand: for what needs sockets or threads of its own, and to confirm what was found without."""

from __future__ import annotations

import asyncio
import contextlib
import os
import weakref
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from queue_conformance.loops.simulation import DrivenLoop, Job, Jobs, SimulatedLoop
from queue_conformance.loops.tasks import Task
from queue_conformance.stopwatch import Stopwatch

T = TypeVar("T")


class Threads(ThreadPoolExecutor):
    """The threads of a loop, which start no work while a loop is driven one iteration at a time.

    Args:
        jobs: what they were given meanwhile, and have not delivered.

    Attributes:
        idle: whether they keep what they are given for later.
    """

    def __init__(self, jobs: Jobs) -> None:
        super().__init__()
        self.jobs = jobs
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
            elif job.future.set_running_or_notify_cancel():
                super().submit(_finish, job)


def _finish(job: Job) -> None:
    job.run()
    job.deliver()


GLANCE = 0.1
"""Seconds after which whoever waits looks at the time that has counted so far."""


class RealLoop(DrivenLoop):
    """The stock event loop, driven by hand. What :class:`SimulatedLoop` knows at once is waited for here, for a bounded time.

    Args:
        must_come: seconds that something which must happen is waited for.
        may_not_come: seconds after which something that did not happen is taken not to.

    Attributes:
        waited: whether something that must come did not come in time.
        slowest: seconds until the latest of what came in time was there.
    """

    def __init__(self, must_come: float = 5.0, may_not_come: float = 0.05) -> None:
        self._loop = asyncio.new_event_loop()
        super().__init__()
        self.must_come, self.may_not_come = must_come, may_not_come
        self.waited, self.slowest = False, 0.0
        self._threads = Threads(self.jobs)
        self.loop.set_default_executor(self._threads)
        weakref.finalize(self, _close, self.loop, os.getpid())

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        return self._loop

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
        """Let real time pass."""
        self._threads.go_on()
        self.loop.run_until_complete(asyncio.sleep(seconds))

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
        """Wait for a moment: a task that is not done then is taken to be waiting."""
        self._wait(tasks or tuple(self._tasks), self.may_not_come)

    def finish(self) -> list[str]:
        """Cancel what is left, tasks that the implementation started included, and close.

        Returns:
            The names of the tasks of :meth:`start` that did not end when they were cancelled.
        """
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        self._wait(asyncio.all_tasks(self.loop), self.must_come)
        stubborn = [task.get_name() for task in self._tasks]
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        self.loop.close()
        return stubborn

    def _wait(self, tasks: Iterable[Task], seconds: float) -> None:
        """Wait until tasks are done, for seconds that this process could use: on a busy machine it takes longer."""
        self._threads.go_on()
        watch = Stopwatch(os.getpid())
        while (waiting := [task for task in tasks if not task.done()]) and (left := seconds - watch.look()) > 0:
            self.loop.run_until_complete(asyncio.wait(waiting, timeout=min(left, GLANCE)))


def _close(loop: asyncio.AbstractEventLoop, process: int) -> None:
    """Close a loop that was not finished, without a word of what still ran on it; another process leaves it alone."""
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
