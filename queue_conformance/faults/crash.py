"""A function in a forked process, which may be killed; what it said up to then over a pipe is known."""

from __future__ import annotations

import os
import pickle
import select
import signal
import struct
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from queue_conformance.isolation import fork
from queue_conformance.stopwatch import Stopwatch

AVAILABLE = hasattr(os, "fork")
"""Whether this platform can end a process and go on."""

Say = Callable[[Any], None]
"""How a process tells the one that started it something that can be pickled."""

_HEADER = struct.Struct("I")


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended.

    Attributes:
        said: what it said.
        signal: the signal that ended it, or 0.
        status: its exit status, if no signal ended it.
        hung: it was silent for too long and was killed for that.
    """

    said: tuple[Any, ...]
    signal: int
    status: int
    hung: bool

    @property
    def hit(self) -> bool:
        """Whether a kill ended it."""
        return not self.hung and self.signal in (signal.SIGKILL, signal.SIGXFSZ)


def run(function: Callable[[Say], None], *, time_limit: float) -> Ended:
    """Call a function in a forked process, which cannot outlive this one.

    Args:
        function: is told how to say something.
        time_limit: seconds of silence after which the process is killed.

    Raises:
        RuntimeError: if the function raised; the text is the traceback there.
    """
    reader, writer = os.pipe()
    pid = fork()
    if pid == 0:
        code = 1
        try:
            os.close(reader)
            _child(function, writer)
            code = 0
        finally:
            os._exit(code)
    os.close(writer)
    try:
        data, status, hung = _listen(pid, reader, time_limit)
    finally:
        os.close(reader)
    said = _messages(data)
    if said and isinstance(said[-1], RuntimeError):
        raise said[-1]
    signaled = os.WIFSIGNALED(status)
    return Ended(tuple(said), os.WTERMSIG(status) if signaled else 0, 0 if signaled else os.WEXITSTATUS(status), hung)


def _child(function: Callable[[Say], None], writer: int) -> None:
    def say(value: Any) -> None:
        message = pickle.dumps(value)
        message = _HEADER.pack(len(message)) + message
        while message:
            message = message[os.write(writer, message) :]

    try:
        function(say)
    except BaseException:
        say(RuntimeError(traceback.format_exc()))


def _listen(pid: int, reader: int, time_limit: float) -> tuple[bytes, int, bool]:
    """Collect what a process says until it ends, or kill it when it is silent for too long."""
    data = bytearray()
    clock = Stopwatch(pid)
    deadline = time_limit
    try:
        while clock.look() < deadline:
            # Another process may hold the pipe open after this one is gone, so look for its end too, and before the pipe.
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                pid = 0
            open_pipe = True
            while open_pipe and select.select([reader], [], [], 0 if ended else 0.05)[0]:
                if chunk := os.read(reader, 1 << 16):
                    deadline = clock.seconds + time_limit
                data += chunk
                open_pipe = bool(chunk)
            if ended:
                return bytes(data), status, False
            if not open_pipe:  # it is about to end
                time.sleep(0.0002)
    finally:
        if pid:
            os.kill(pid, signal.SIGKILL)
            _, status = os.waitpid(pid, 0)
    return bytes(data), status, True


def _messages(data: bytes) -> list[Any]:
    """Return the messages that arrived completely."""
    found = []
    start = 0
    while start + _HEADER.size <= len(data):
        (length,) = _HEADER.unpack_from(data, start)
        start += _HEADER.size
        if start + length <= len(data):
            found.append(pickle.loads(data[start : start + length]))
        start += length
    return found
