"""A process that works for this one: what it imports, and what that starts, stays there and ends with it."""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import socket
import struct
import sys
import traceback
from collections.abc import Callable
from time import monotonic
from typing import Any, NoReturn

from queue_conformance import isolation
from queue_conformance.engine.process import TICK, Process, flush, forked
from queue_conformance.isolation import IsolatedError
from queue_conformance.watchdog import Watchdog

_LENGTH = struct.Struct("Q")


class HostEnded(Exception):
    """The process has ended, or does nothing any more; the message says how."""


class Host:
    """Calls a function in another process, again and again.

    Args:
        work: the function; what it gets and returns must be picklable.
        expected: an exception whose message is for the author; others are internal errors.
        timeout: seconds without any sign of life after which the process is given up.
    """

    def __init__(self, work: Callable[[Any], Any], expected: type[Exception], timeout: float) -> None:
        self._watchdog = Watchdog()
        self._watchdog.tell(isolation.FIRST)
        self._expected = expected
        self._timeout = timeout
        self._socket, theirs = socket.socketpair()
        for end in (self._socket, theirs):
            end.settimeout(None)  # the author's conftest.py may have set a default
        parent = os.getpid()
        pid = forked()
        if pid == 0:
            self._socket.close()
            isolation.supervise(parent, self._watchdog)
            _serve(theirs, work, expected)
        theirs.close()
        self._process = Process(pid)

    def ask(self, request: object, watch: Callable[[Watchdog], None] | None = None) -> Any:
        """Let the function work, and return what it returns.

        Args:
            request: what it gets.
            watch: called about ten times a second in the meantime, with what the watchdog says.

        Raises:
            HostEnded: if the process does not live to answer.
            IsolatedError: if the function raised something that is not expected.
        """
        try:
            kind, value = self._answer(request, watch or (lambda watchdog: None))
        except (OSError, EOFError):
            status = self._process.within(1.0)
            raise HostEnded(isolation.how_it_ended(self._process.end() if status is None else status)) from None
        except BaseException:
            self.close()  # what it says later is no answer to anything else
            raise
        if kind == "expected":
            raise self._expected(value)
        if kind == "error":
            raise IsolatedError(value)
        return value

    def _answer(self, request: object, watch: Callable[[Watchdog], None]) -> Any:
        data = pickle.dumps(request)
        with contextlib.ExitStack() as stack:
            socket.send_fds(self._socket, [_LENGTH.pack(len(data)) + data], _streams(stack))
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        seen, alive = 0.0, monotonic()
        while not poll.poll(TICK * 1000):
            watch(self._watchdog)
            if (now := self._watchdog.now) != seen:
                seen, alive = now, monotonic()
            if monotonic() - alive > self._timeout:
                self.close()
                raise HostEnded(f"did nothing for {self._timeout:g} s")
        return _received(self._socket)

    def close(self) -> None:
        """End the process, and all below it."""
        self._process.stop()
        self._socket.close()


def _streams(stack: contextlib.ExitStack) -> list[int]:
    """Return where the process is to print: where this one does now, or nowhere if that is no file."""
    try:
        sys.stdout.fileno()
        return [1, 2]
    except (AttributeError, OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        stack.callback(os.close, nowhere)
        return [nowhere] * 2


def _serve(channel: socket.socket, work: Callable[[Any], Any], expected: type[Exception]) -> NoReturn:
    """Work until nobody asks any more."""
    try:
        while True:
            request = _received(channel)
            message: tuple[str, Any]
            try:
                message = "answer", work(request)
                data = pickle.dumps(message)
            except expected as error:
                data = pickle.dumps(("expected", str(error)))
            except BaseException:
                data = pickle.dumps(("error", traceback.format_exc()))
            flush()
            channel.sendall(_LENGTH.pack(len(data)) + data)
    except (OSError, EOFError):
        pass
    finally:
        isolation.end_supervisor()


def _received(channel: socket.socket) -> Any:
    """Return the next message; streams that come with it become those of this process.

    Raises:
        EOFError: if there is none.
    """
    data, streams, _, _ = socket.recv_fds(channel, 1 << 16, 2)
    for number, stream in enumerate(streams, 1):
        os.dup2(stream, number)
        os.close(stream)
    while len(data) < _LENGTH.size or len(data) < _LENGTH.size + _LENGTH.unpack_from(data)[0]:
        more = channel.recv(1 << 16)
        if not more:
            raise EOFError
        data += more
    return pickle.loads(data[_LENGTH.size :])
