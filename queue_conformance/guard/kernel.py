"""The kernel's help: a filter on the system calls of a process and all below it, which asks another process (Linux).

See seccomp_unotify(2). Calls that connect, or change what is there, wait until the process that watches has looked at their
arguments, and lets them go on or fail. It is the parent of those that are filtered, because not every system lets others read
their memory. The filter is no wall against an attacker, who could change an argument after it was looked at; a class that finds
the wrong store does not.
"""

from __future__ import annotations

import os
import select
import signal
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from queue_conformance.guard import calls, judge, seccomp
from queue_conformance.processes import stopwatch
from queue_conformance.processes.descendants import DEATH_OF_PARENT, LIBRARY

if TYPE_CHECKING:
    from queue_conformance.guard import Guard

AVAILABLE = seccomp.AVAILABLE
"""Whether this system may have it."""

_fork = getattr(os, "fork", None)  # now: an implementation may replace it in its module

_watches = False


def watches() -> bool:
    """Whether this process is filtered."""
    return _watches


_YES, _NO = b"y", b"n"


def watched(parent: int, guard: Guard) -> int:
    """Go on as a fork that is filtered, over which this process, a new one, watches until that has ended.

    Args:
        parent: the number of the parent of this process.
        guard: knows what may be touched.

    Returns:
        The number of the parent of the process that goes on.
    """
    global _watches
    ours, theirs = socket.socketpair()
    for end in (ours, theirs):
        end.settimeout(None)  # the author's conftest.py may have set a default
    assert _fork is not None
    watcher, pid = os.getpid(), _fork()
    if pid:
        theirs.close()
        _watch(pid, parent, ours, guard)
    ours.close()
    listener = seccomp.install() if theirs.recv(1) == _YES else -1
    _watches = listener >= 0
    socket.send_fds(theirs, [b"!"], [listener] if _watches else [])
    theirs.close()
    if _watches:
        os.close(listener)
        stopwatch.asks(watcher)
    return watcher


def tell(what: str, target: str) -> None:
    """Tell the process that watches over this one, if any does, to ``allow`` an address or to ``exempt`` a process.

    An interpreter that was started below one that is guarded knows nothing else of that.
    """
    if AVAILABLE:
        with suppress(OSError), socket.socket(socket.AF_UNIX) as end:
            end.connect(judge.PREFIX + f"{what} {target}".encode())


def _watch(pid: int, parent: int, channel: socket.socket, guard: Guard) -> NoReturn:
    """Answer for the calls of a process and all below it, and end as it ends."""
    status = 1 << 8
    try:
        with suppress(OSError):
            os.setpgid(0, 0)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda *_: os.kill(pid, signal.SIGTERM))
        assert LIBRARY is not None
        LIBRARY.prctl(DEATH_OF_PARENT, signal.SIGTERM)
        if os.getppid() != parent:
            os.kill(pid, signal.SIGTERM)
        channel.send(_YES if calls.is_open(pid) else _NO)
        _, listeners, _, _ = socket.recv_fds(channel, 1, 1)
        channel.close()
        ended = os.pidfd_open(pid)
        poll = select.poll()
        for descriptor in (ended, *listeners):
            poll.register(descriptor, select.POLLIN)
        for listener in listeners:
            judge.begin(listener)
        answers = judge.Judge(guard)
        while (ready := {descriptor for descriptor, _ in poll.poll()}) and ended not in ready:
            for listener in listeners:
                answers.answer(listener)
    finally:
        _, status = os.waitpid(pid, 0)
        if os.WIFSIGNALED(status):
            signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
            os.kill(os.getpid(), os.WTERMSIG(status))
        os._exit(os.WEXITSTATUS(status))
