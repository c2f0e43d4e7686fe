"""What this process is for: it watches others, and ends with all below it, or it runs what is tested."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from typing import Any, NoReturn

from queue_conformance.processes import descriptors, process
from queue_conformance.processes.descendants import DEATH_OF_PARENT, LIBRARY, adopt, end_descendants, kill
from queue_conformance.processes.output import Output
from queue_conformance.processes.process import exit_now
from queue_conformance.processes.watchdog import Watchdog

alone = False
"""Whether this process runs a function that may change what is around it, such as the event loop."""

watched_by: Watchdog | None = None
"""In a process that was spawned: where it notes what it is doing."""

printed: Output | None = None
"""In a process that is tested: what takes all that is printed there, if anything does."""

supervises: Watchdog | None = None
"""In a process that does nothing but watch others: where these note what they are doing."""


shielded = False
"""Whether each function gets a supervisor of its own below this one: a class that ends its parent does not end this process."""


ENDING = (signal.SIGTERM, signal.SIGHUP) if process.AVAILABLE else ()
"""The signals by which a run, and each process that watches another one, is asked to end."""


waits_for_work: set[int] = set()
"""The numbers of children that do nothing unless this process asks them, and need no time to end."""


def supervise(parent: int, watchdog: Watchdog) -> None:
    """Make this process one that watches others, gets their orphans, and ends with them when its parent ends.

    Args:
        parent: the number of its parent.
        watchdog: where those others note what they are doing.
    """
    global supervises
    supervises = watchdog
    waits_for_work.clear()
    descriptors.withdraw()
    with contextlib.suppress(OSError):
        os.setpgid(0, 0)  # who kills a whole group kills no more than its own
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup lets hang-ups be ignored
            signal.signal(number, _stop)
    adopt()
    if LIBRARY is not None:
        LIBRARY.prctl(DEATH_OF_PARENT, signal.SIGTERM)
    if os.getppid() != parent:
        exit_now(1)


BY_SIGNAL = 128
"""The exit status of a supervisor that a signal ends, less the number of the signal."""


def _stop(number: int, _frame: object) -> None:
    end_supervisor(BY_SIGNAL + number)


def end_supervisor(status: int = 0) -> NoReturn:
    """End this process, and all below it, which the threads of a module may want to replace.

    It ends in any case: a module may have replaced what this needs, and nothing that called for this process may go on in it.
    """
    try:
        sys.addaudithook(_start_nothing)
        for pid in waits_for_work:
            with contextlib.suppress(ProcessLookupError):
                kill(pid, signal.SIGKILL)
        end_descendants()
    finally:
        exit_now(status)


def _start_nothing(event: str, _arguments: tuple[Any, ...]) -> None:
    if event in ("os.fork", "os.forkpty", "os.posix_spawn", "subprocess.Popen"):
        raise PermissionError("this process is ending")


def prints_into(output: Output | None) -> None:
    """Let this process, which is to be tested, print into that."""
    global printed
    printed = output
    if output is not None:
        output.take()


def become_tested() -> None:
    """Make this process, a child of a supervisor, one that runs what is tested."""
    import resource

    global alone, shielded, supervises
    alone, shielded, supervises = True, False, None
    descriptors.withdraw()
    with contextlib.suppress(OSError):
        os.setpgid(0, 0)
    for number in (signal.SIGINT, *ENDING):
        if signal.getsignal(number) is not signal.SIG_IGN or number not in ENDING:
            signal.signal(number, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
