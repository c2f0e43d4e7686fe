"""Classes that leave nothing in order: what they did is told with their names, and is no internal error."""

import os
import resource
import shutil
import signal
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from queue_reference.memory import FifoMemoryQueue


class RaisesWhenLookedAt(FifoMemoryQueue):
    def __getattribute__(self, name):
        if not name.startswith("_"):
            raise RuntimeError(name)
        return super().__getattribute__(name)


class _Raising(type):
    __hash__ = type.__hash__

    def __eq__(cls, other):
        raise RuntimeError("equal?")


class RaisesWhenCompared(FifoMemoryQueue, metaclass=_Raising):
    pass


class WaitsForNoChild(FifoMemoryQueue):
    """Each push starts many processes that end, and are never waited for."""

    def push(self, request):
        for _ in range(300):
            if os.fork() == 0:
                os._exit(0)
        time.sleep(2)
        super().push(request)


class ClosesDescriptors(FifoMemoryQueue):
    def push(self, request):
        os.closerange(0, 256)
        super().push(request)


def write_everywhere():
    for number in range(3, 256):
        with suppress(OSError):
            os.write(number, b"\xff" * 64)


def shut_down_everything():
    for number in range(3, 256):
        with suppress(OSError), socket.socket(fileno=os.dup(number)) as one:
            one.shutdown(socket.SHUT_RDWR)


def replace_everything():
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in {*range(3, 256)} - {nowhere}:
        os.dup2(nowhere, number)
    os.close(nowhere)


class WritesEverywhere(FifoMemoryQueue):
    """Right, but each push writes into whatever is open."""

    def push(self, request):
        write_everywhere()
        super().push(request)


class ShutsDownEverything(FifoMemoryQueue):
    """Right, but each pop shuts down whatever is connected."""

    def pop(self):
        shut_down_everything()
        return super().pop()


class WritesFromElsewhere(FifoMemoryQueue):
    """Right, but a process that it forks writes into whatever is open."""

    def push(self, request):
        if (child := os.fork()) == 0:
            write_everywhere()
            os._exit(0)
        os.waitpid(child, 0)
        super().push(request)


class LowersALimit(FifoMemoryQueue):
    def push(self, request):
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
        super().push(request)


class RemovesDirectories(FifoMemoryQueue):
    def push(self, request):
        shutil.rmtree(Path.cwd().parent, ignore_errors=True)
        super().push(request)


class MakesDeepDirectories(FifoMemoryQueue):
    """A path to the last one is too long."""

    def push(self, request):
        here = os.getcwd()
        for _ in range(1200):
            os.makedirs("deep", exist_ok=True)
            os.chdir("deep")
        os.chdir(here)
        super().push(request)


class _EqualToAll(type):
    __hash__ = type.__hash__

    def __eq__(cls, other):
        return True


class Liar(FifoMemoryQueue, metaclass=_EqualToAll):
    """Right, but its class is equal to any other one, and it says that it is of another one."""

    @property
    def __class__(self):
        return int


class Replaces(FifoMemoryQueue):
    """Right, but it replaces what others need, and is deaf to signals."""

    def push(self, request):
        super().push(request)
        os._exit = time.sleep = lambda number: None
        for number in (signal.SIGABRT, signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)


class ReplacesTheClock(FifoMemoryQueue):
    def push(self, request):
        super().push(request)
        time.monotonic = time.perf_counter = None


class IgnoresSignals(FifoMemoryQueue):
    """Right, but it is deaf to a signal that has no name."""

    def push(self, request):
        signal.signal(40, signal.SIG_IGN)
        super().push(request)


class EndsItsParent(FifoMemoryQueue):
    def push(self, request):
        super().push(request)
        os.kill(os.getppid(), signal.SIGKILL)


class EndsItsParentLater(FifoMemoryQueue):
    """At a pop from more requests than its first use stores."""

    def pop(self):
        if len(self) > 5:
            os.kill(os.getppid(), signal.SIGKILL)
        return super().pop()


class EndsTheGroupOfItsParent(FifoMemoryQueue):
    """Once there are three requests."""

    def push(self, request):
        super().push(request)
        if len(self) == 3:
            os.killpg(os.getpgid(os.getppid()), signal.SIGTERM)


class LeavesProcesses(FifoMemoryQueue):
    """Right, but each push starts a process that nobody waits for."""

    def push(self, request):
        subprocess.Popen(["sleep", "3600"], start_new_session=True)
        super().push(request)


class Forks(FifoMemoryQueue):
    """Both processes go on behind the push."""

    def push(self, request):
        super().push(request)
        os.fork()
