"""An event loop that a check drives by hand, one iteration at a time.

:class:`SimulatedLoop` has a clock of its own and threads of its own: nothing sleeps, a job of an executor runs and is
delivered when it is told to, and a wait that nothing can end is known at once. What asyncio guarantees, the order of what is
ready, is kept, so whatever happens here can happen on the stock loop: :class:`~queue_conformance.loops.RealLoop`, which has the
same methods.

Scripts use both::

    loop = SimulatedLoop()
    getting = loop.start(queue.get())
    loop.tick()
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import contextvars
import threading
from abc import ABC, abstractmethod
from asyncio import events
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic  # now: clocks are slowed where a loop is chosen
from typing import Any, NoReturn, TypeVar

from queue_conformance.compat.asyncio import TurnedLoop
from queue_conformance.loops.tasks import Task, place_of

T = TypeVar("T")

BUSY = 10_000
"""Iterations after which a loop is taken never to come to rest."""

JUMPS = 60
"""How often time must have jumped before tasks that poll, sleeping in between, are taken to be at rest."""

TIMEOUT = 10.0
"""Seconds of virtual time that must have passed before that."""

ENOUGH = 2000
"""How often time may jump at most, so that whatever sleeps when all else is at rest can poll once more."""

HORIZON = 3600.0
"""Seconds of virtual time that a loop lets pass to come to rest; what waits for longer is taken to wait forever."""


WORK = 0.5
"""Seconds of real time that jobs may take while a wary loop comes to rest; after that, a thread is taken to be waiting."""


UNENDING: list[Task] = []
"""Tasks that did not end when they were cancelled. Nobody collects them: that runs their code, which may not end then, either."""


class NeedsRealLoop(RuntimeError):
    """Something was used that only a real event loop has, such as a socket."""


class Endless(RuntimeError):
    """Something does not end; the text says what."""


class NeverAtRest(Endless):
    """A loop is busy forever."""


class NeverReturns(Endless):
    """A coroutine waits for something that never happens; the text says where."""


@dataclass(eq=False)
class Job:
    """A function that was handed to an executor.

    Attributes:
        function: what to call.
        future: what waits for it.
        begun: whether a thread has begun with it, so that nobody can take it back.
        ran: whether it was called, so that only its result has not been delivered.
    """

    function: Callable[[], Any]
    future: concurrent.futures.Future[Any]
    begun: bool = False
    ran: bool = False
    _outcome: tuple[Any, BaseException | None] = field(default=(None, None))

    def begin(self) -> bool:
        """Let a thread take it; return whether it was not cancelled before."""
        self.begun = self.begun or self.future.set_running_or_notify_cancel()
        return self.begun

    def run(self) -> None:
        """Call the function, as a thread would."""
        self.ran = True
        try:
            self._outcome = self.function(), None
        except BaseException as error:
            self._outcome = None, error

    def deliver(self) -> None:
        """Hand the result to what waits for it."""
        result, error = self._outcome
        if error is not None:
            self.future.set_exception(error)
        else:
            self.future.set_result(result)


class Jobs(list[Job]):
    """The jobs that are not delivered yet, in the order in which they were handed over."""

    def hand_over(self, function: Callable[[], Any]) -> concurrent.futures.Future[Any]:
        """Take a function, which :meth:`run` runs later; return the future of its result."""
        self.append(Job(function, concurrent.futures.Future()))
        return self[-1].future

    def run(self, number: int, run: Callable[[Job], None] = Job.run) -> bool:
        """Run one of those that have not run, counted from 0 and around; return whether there was one."""
        waiting = [job for job in self if not job.ran]
        if not waiting:
            return False
        job = waiting[number % len(waiting)]
        if job.begin():
            run(job)
        else:
            self.remove(job)
        return True

    def begin(self) -> bool:
        """Let a thread begin with the first of those that have not begun; return whether there was one."""
        job = next((job for job in self if not job.begun), None)
        if job is not None and not job.begin():
            self.remove(job)
        return job is not None

    def pop_done(self, number: int) -> Job | None:
        """Take out one of those that have run, counted from 0 and around, if there is one."""
        done = [job for job in self if job.ran]
        if not done:
            return None
        job = done[number % len(done)]
        self.remove(job)
        return job


@contextmanager
def running(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """Make a loop the running one of this thread for a while."""
    before = events._get_running_loop()
    events._set_running_loop(loop)
    try:
        yield
    finally:
        events._set_running_loop(before)


class DrivenByHand(ABC):
    """What both loops do in the same way.

    Attributes:
        jobs: the jobs of executors that are not delivered yet, in the order in which they were handed over.
        errors: what nobody handled: the contexts that an exception handler gets.
    """

    loop: asyncio.AbstractEventLoop
    jobs: Jobs
    errors: list[dict[str, Any]]
    _tasks: set[Task]

    def start(self, coroutine: Coroutine[Any, Any, Any], name: str | None = None) -> Task:
        """Make a task of a coroutine; nothing of it runs before the next :meth:`tick`."""
        with running(self.loop):
            task = self.loop.create_task(coroutine, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def run(self, coroutine: Coroutine[Any, Any, T] | asyncio.Task[T]) -> T:
        """Run a coroutine, or a task, to its end, with everything else that can happen meanwhile; return what it returns.

        Raises:
            NeverReturns: if nothing ends it, or it takes too long.
            BaseException: what it raises.
        """
        task: asyncio.Task[T] = coroutine if isinstance(coroutine, asyncio.Task) else self.start(coroutine)
        self.settle(task)
        if not task.done():
            place = place_of(task)
            task.cancel()
            raise NeverReturns(f"waits forever in {place}")
        return task.result()

    def call(self, function: Callable[..., T], *arguments: Any, **options: Any) -> T:
        """Call a function as a coroutine would: while the loop is the running one."""
        with running(self.loop):
            return function(*arguments, **options)

    def begin_job(self) -> bool:
        """Let a thread begin with the next job, and be slow: to cancel whoever waits for it does not stop the work any more.

        Returns:
            Whether there was one.
        """
        return self.jobs.begin()

    def run_job(self, number: int = 0) -> bool:
        """Let the thread of a job do its work; whoever waits for it does not know yet.

        Args:
            number: which of those that have not run, counted from 0 and around.

        Returns:
            Whether there was one.
        """
        return self.jobs.run(number)

    def deliver(self, number: int = 0) -> bool:
        """Let the result of a job that has run reach the loop.

        Args:
            number: which of those that have run, counted from 0 and around.

        Returns:
            Whether there was one.
        """
        job = self.jobs.pop_done(number)
        if job is not None:
            with running(self.loop):
                job.deliver()
        return job is not None

    @abstractmethod
    def settle(self, *tasks: Task) -> None:
        """Run until these tasks are done, or until nothing can happen any more."""


class SimulatedLoop(DrivenByHand, TurnedLoop):
    """An event loop with virtual time.

    Args:
        horizon: seconds of virtual time after which what still waits is taken to wait forever; polling costs less with fewer.
        wary: run jobs in threads, and raise :class:`NeedsRealLoop` if one of them waits there.

    Attributes:
        foreign: whether a thread that is not under control has called the loop, so that runs cannot be repeated.
    """

    def __init__(self, horizon: float = HORIZON, *, wary: bool = False) -> None:
        super().__init__()
        self.foreign = False
        self.horizon = horizon
        self._wary = wary
        self._work = WORK
        self._thread = threading.get_ident()
        self.jobs = Jobs()
        self.errors: list[dict[str, Any]] = []
        self._now = 0.0
        self._tasks: set[Task] = set()
        self.loop = self
        self.set_exception_handler(lambda _loop, context: self.errors.append(context))

    # --- By hand -----------------------------------------------------------------------------------------------------

    def tick(self) -> bool:
        """Run what is ready now, and nothing that becomes ready meanwhile: one iteration of the stock loop.

        Returns:
            Whether anything was ready.
        """
        self.wake_timers()
        with running(self):
            return self.run_ready() > 0

    def run_job(self, number: int = 0) -> bool:
        return self.jobs.run(number, self._run_warily if self._wary else Job.run)

    def advance(self, seconds: float) -> None:
        """Let time pass, with everything that becomes due on the way.

        Args:
            seconds: virtual ones.

        Raises:
            NeverAtRest: if it never comes to rest.
        """
        until = self._now + seconds
        self._rest(until)
        self._now = until

    def settle(self, *_tasks: Task) -> None:
        """Run until nothing can happen any more, but for what waits for longer than the horizon, or looks again and again.

        Raises:
            NeverAtRest: if that never comes.
        """
        self._rest(self._now + self.horizon, polling=True)

    def stays(self, *_tasks: Task) -> None:
        """Run until nothing can happen any more: what is not done now stays so."""
        self.settle()

    def finish(self) -> list[str]:
        """Cancel what is left, tasks that the implementation started included, and close.

        Returns:
            The names of the tasks of :meth:`start` that did not end when they were cancelled.
        """
        for task in asyncio.all_tasks(self):
            task.cancel()
        with contextlib.suppress(NeverAtRest, NeedsRealLoop):
            self.settle()
        stubborn = [task.get_name() for task in self._tasks]
        UNENDING.extend(asyncio.all_tasks(self))
        self.drop_ready()
        self.close()
        return stubborn

    def _rest(self, until: float, *, polling: bool = False) -> None:
        started = self._now
        self._work = WORK
        busy = 0  # iterations since time passed
        jumps = 0  # how often time went on
        sleepers: list[Any] | None = None  # what slept when the others were at rest
        while busy < BUSY:
            busy += 1
            if self.tick() or self.run_job() or self.deliver():
                continue
            busy = 0
            timers = self.timers()
            if not timers or min(timer.when() for timer in timers) > until:
                self._now = started if not timers else max(started, self._now)
                return
            jumps += 1
            if polling and jumps > JUMPS and self._now >= started + TIMEOUT:
                if sleepers is None:
                    sleepers = [timer for timer in timers if timer.when() <= until]
                if jumps > ENOUGH or not any(sleeper is timer for sleeper in sleepers for timer in timers):
                    return
            self._now = max(self._now, min(timer.when() for timer in timers))
        places = "; ".join(sorted({place_of(task) for task in self._tasks}))
        raise NeverAtRest(f"it is still busy after {BUSY} turns of the loop{f', in {places}' if places else ''}")

    def _run_warily(self, job: Job) -> None:
        started = monotonic()
        thread = threading.Thread(target=job.run, daemon=True)
        thread.start()
        thread.join(self._work)
        self._work -= monotonic() - started
        if thread.is_alive() or self._work <= 0:
            raise NeedsRealLoop("threads wait for something")

    # --- What asyncio asks of a loop ---------------------------------------------------------------------------------

    def time(self) -> float:
        return self._now

    def run_in_executor(self, executor: Any, func: Callable[..., T], *args: Any) -> asyncio.Future[T]:  # type: ignore[override]
        return asyncio.wrap_future(self.jobs.hand_over(lambda: func(*args)), loop=self)

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        self.foreign |= threading.get_ident() != self._thread
        return self.call_soon(callback, *args, context=context)

    def __del__(self) -> None:
        """Warn nobody: a simulated loop holds nothing that must be given back."""

    def is_running(self) -> bool:
        return events._get_running_loop() is self

    def run_forever(self) -> NoReturn:
        raise NeedsRealLoop("a simulated loop is driven by hand")

    def _refuse(self, *_arguments: Any, **_options: Any) -> NoReturn:
        raise NeedsRealLoop("sockets, pipes, signals and processes need a real event loop")

    add_reader = add_writer = remove_reader = remove_writer = _refuse  # type: ignore[assignment]
    sock_connect = sock_accept = sock_recv = sock_recv_into = sock_sendall = _refuse
    create_connection = create_server = create_datagram_endpoint = _refuse
    create_unix_connection = create_unix_server = subprocess_exec = subprocess_shell = _refuse
    connect_read_pipe = connect_write_pipe = add_signal_handler = remove_signal_handler = _refuse  # type: ignore[assignment]
