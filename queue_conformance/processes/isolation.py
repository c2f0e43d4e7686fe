"""Run a function in a process of its own, watched: nothing that it does can hang, end or litter the caller.

Implementations under test run nowhere else. A class that calls ``os._exit``, crashes the interpreter, replaces signal
handlers or never returns costs its own verdict only. The child tells what it is doing through a :class:`Watchdog`
in shared memory, so that the parent still knows the operations when the child can no longer say anything.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from time import sleep  # now: an implementation may replace it in its module
from typing import IO, TYPE_CHECKING, Any, Generic, TypeVar

from queue_conformance.processes import endings, process, role
from queue_conformance.processes.descendants import adopted, children, end_descendants
from queue_conformance.processes.endings import OVER, Abort, abort, how_it_ended, overdue, signal_name, too_many
from queue_conformance.processes.mailbox import Mailbox
from queue_conformance.processes.messages import leave_message, taken
from queue_conformance.processes.output import Output, limited, nameless_file
from queue_conformance.processes.process import TICK, Process, exit_now, flush, fork, forked
from queue_conformance.processes.stopwatch import WITHOUT_END, RunTime, Stopwatch
from queue_conformance.processes.watchdog import Tally as Tally
from queue_conformance.processes.watchdog import Watchdog as Watchdog

if TYPE_CHECKING:
    from queue_conformance.guard import Guard

T = TypeVar("T")

_GRACE = 1.0
"""Seconds that a process gets to write the stacks of its threads before it is killed."""

_ENDS = 10.0
"""Seconds in which a parent has ended, and its children with it, also where the machine does something else."""

_STACKS = 1 << 20
"""Bytes that are read at most where the stacks of a process were written to, and maybe something else."""

FORK = "os.fork()"
"""What is in flight while a process begins: what it tests may have registered functions that run then."""

FIRST = 1.0
"""What the clock of a child shows at first; 0.0 stands for no time."""


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """What the function returned.

    Attributes:
        value: that.
        left: the names of processes that it left behind, and which were ended.
        before: how it had ended when it was tried before, if that took too long.
    """

    value: T
    left: tuple[str, ...] = ()
    before: Abort | None = None


class IsolatedError(Exception):
    """The function raised in the other process; the text is the traceback there."""


def run(
    function: Callable[[Watchdog], T],
    *,
    time_limit: float,
    in_process: bool = False,
    watch: Callable[[Watchdog], None] | None = None,
    guard: Guard | None = None,
    run_time: RunTime = WITHOUT_END,
) -> Answer[T] | Abort:
    """Call a function in a forked process, and end whatever that leaves behind.

    Args:
        function: gets the watchdog; its result must be picklable.
        time_limit: seconds that one operation (between ``enter`` and ``leave``) may take.
        in_process: call it here instead, without any protection (for debuggers and platforms without fork).
        watch: called about ten times a second in the meantime, with what the watchdog says.
        guard: guards what the function must not touch, where this process is not guarded.
        run_time: how long all may take.

    Returns:
        The answer, or how the process ended without one.

    Raises:
        IsolatedError: if the function raised, which is an error of the kit.
    """
    if in_process or not process.AVAILABLE:
        with _alone(), guard.watching() if guard else contextlib.nullcontext():
            try:
                return Answer(function(role.watched_by or Watchdog()))
            except Exception as error:
                raise IsolatedError(traceback.format_exc()) from error
    if role.supervises is not None and not role.shielded:
        role.supervises.reset()
        return _told(_tested(function, role.supervises, time_limit, run_time))
    watchdog, mailbox = role.supervises or Watchdog(), Mailbox()
    watchdog.reset()
    watchdog.tell(FIRST)
    parent = os.getpid()
    pid = forked()
    if pid == 0:
        try:
            role.supervise(guard.enter(parent) if guard else parent, watchdog)
            leave_message(mailbox, *_tested(function, watchdog, time_limit, run_time))
        finally:
            role.end_supervisor()
    ended = Process(pid)
    try:
        while (status := ended.within(TICK)) is None:
            ended.go_on()
            (watch if watch and not role.supervises else _unseen)(watchdog)
    finally:
        ended.stop()
    if message := taken(mailbox):
        return _told(message)
    number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status) - role.BY_SIGNAL
    how = f"ended its parent process{f' ({signal_name(number)})' if number > 0 else ''}"
    return replace(abort(watchdog, how, time_limit), of_parent=True)


def _told(message: tuple[str, Any]) -> Answer[Any] | Abort:
    """Return what a supervisor says.

    Raises:
        IsolatedError: if the function raised.
        OSError: if the system refused what its process needs.
    """
    kind, value = message
    if kind == "error":
        raise IsolatedError(value)
    if kind == "system":
        raise value
    assert isinstance(value, Answer | Abort)
    return value


def _tested(function: Callable[[Watchdog], Any], watchdog: Watchdog, time_limit: float, run_time: RunTime) -> tuple[str, Any]:
    """Run a function in a child of this process, and tell how it ended: an answer, an abort or an error."""
    try:
        before = children()
        with nameless_file() as stacks, limited() as output:
            mailbox = Mailbox()
            watchdog.tell(FIRST)
            watchdog.enter(FORK, "")
            pid = fork()
            if pid == 0:
                role.prints_into(output)
                _child(function, watchdog, mailbox, stacks)
            status, why = _watch(pid, watchdog, time_limit, output, run_time)
            message = taken(mailbox) if status == 0 and why is None else None
            left = end_descendants(before)
            if message is None:
                stacks.seek(0)
                how = how_it_ended(status) if why is None else why
                return "abort", abort(watchdog, how, time_limit, stacks.read(_STACKS).decode(errors="replace"))
            if message[0] == "answer":
                if copy := watchdog.read("copy"):
                    how = "came back in two processes: it forked, and the copy returned too"
                    return "abort", Abort(how, False, "", watchdog.read("copier"), tuple(copy.splitlines()), "", twice=True)
                return "answer", Answer(message[1], left)
            return message
    except OSError as error:
        return "system", error
    except Exception:
        return "error", traceback.format_exc()


_waits = False


@contextlib.contextmanager
def waiting_for_the_parent() -> Iterator[None]:
    """Let no process go on behind a signal that it sent to its parent, before that had time to end."""
    global _waits
    _waits = True
    try:
        yield
    finally:
        _waits = False


def _wait_for_the_parent() -> None:
    """Let this process not go on behind a signal that it sends to its parent, before that had time to end."""
    parent, kill = [os.getppid()], os.kill

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        if event in ("os.kill", "os.killpg") and abs(arguments[0]) in parent and arguments[1]:
            kill(parent.pop(), arguments[1])
            sleep(_ENDS)

    sys.addaudithook(hear)


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Let a function change what is around it, and put the event loop back that ran before."""
    role.alone = True
    loops = sys.modules.get("asyncio")
    before = loops._get_running_loop() if loops else None
    try:
        yield
    finally:
        role.alone = False
        if loops := sys.modules.get("asyncio"):
            loops._set_running_loop(before)


def _child(function: Callable[[Watchdog], Any], watchdog: Watchdog, mailbox: Mailbox, stacks: IO[bytes]) -> None:
    """Run the function, leave what came of it, and end the process without any clean-up of the parent's."""
    code = 1
    pid = os.getpid()
    try:
        watchdog.restart("")
        watchdog.leave()
        role.become_tested()
        if _waits:
            _wait_for_the_parent()
        faulthandler.enable(file=stacks, all_threads=True)
        try:
            message = "answer", function(watchdog)
        except BaseException:
            message = "error", traceback.format_exc()
        if _getpid() == pid:  # and not what an operation forked
            leave_message(mailbox, *message)
        code = 0
        flush()
    finally:
        exit_now(code)


_getpid = os.getpid


def _unseen(_watchdog: Watchdog) -> None:
    """Watch nothing."""


def _watch(pid: int, watchdog: Watchdog, time_limit: float, output: Output | None, run_time: RunTime) -> tuple[int, str | None]:
    """Wait for the end of the child, or end it; return its status, and why it was ended, as :func:`wait_for` says."""
    ended = Process(pid)
    why = wait_for(pid, watchdog, time_limit, lambda seconds: ended.within(seconds) is not None, output, run_time)
    if why is None:
        return ended.end(), None
    os.kill(pid, signal.SIGABRT)
    clock = Stopwatch(pid)
    while ended.within(0.01) is None and clock.look() < _GRACE:
        pass
    return ended.end(), why


def wait_for(
    pid: int,
    watchdog: Watchdog,
    time_limit: float,
    done: Callable[[float], bool],
    output: Output | None = None,
    run_time: RunTime = WITHOUT_END,
) -> str | None:
    """Wait until a child has done what it is asked for.

    Args:
        pid: its number.
        watchdog: where it notes what it does.
        time_limit: seconds that one operation may take.
        done: waits so many seconds for it, and returns whether it is done.
        output: what it prints into, which is cut meanwhile.
        run_time: how long all may take.

    Returns:
        ``None``, or why it must be ended before: a clause, or ``""`` if one operation takes too long.
    """
    parent = os.getppid()
    clock = Stopwatch(pid, watchdog.now)
    while not done(TICK):
        watchdog.tell(clock.look())
        if output is not None:
            output.cut()
        if os.getppid() != parent:
            role.end_supervisor(1)
        if overdue(watchdog, time_limit):
            return ""
        if clock.processes + adopted() > endings.MANY:
            return too_many()
        if run_time.long_over:
            return OVER
    return None
