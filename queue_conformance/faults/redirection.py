"""Let the connections that Python code of this process opens go to a proxy."""

from __future__ import annotations

import _socket
import atexit
import contextlib
import socket
import sys
import weakref
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from unittest import mock

from queue_conformance.faults.connections import Address

DIRECT: set[Address] = set()
"""Addresses of the kit's own, which :func:`redirected` leaves alone."""


@contextlib.contextmanager
def redirected(to: tuple[str, int] | None, seen: list[tuple[str, int]]) -> Iterator[None]:
    """Let every connection that Python code of this process opens by TCP go to another address.

    Works for blocking clients, asyncio and Twisted; clients in C do not see it. A connection to this process itself, such as
    the pair of sockets that wakes a loop, is left alone.

    Args:
        to: where they go, or ``None`` to leave them alone and only look.
        seen: gets the addresses that were asked for, each once.
    """

    listeners: weakref.WeakSet[socket.socket] = weakref.WeakSet()
    listen_before = socket.socket.listen

    def listen(self: socket.socket, *backlog: int) -> None:
        listen_before(self, *backlog)
        if self.family in (socket.AF_INET, socket.AF_INET6):
            listeners.add(self)

    def own_ports() -> set[int]:
        ports = set()
        for known in tuple(listeners):
            with contextlib.suppress(OSError):  # closed, or closed by its number in a process that was forked
                ports.add(known.getsockname()[1])
        return ports

    def target(end: socket.socket, address: Any) -> Any:
        if end.family not in (socket.AF_INET, socket.AF_INET6) or end.type != socket.SOCK_STREAM:
            return address
        asked = (str(address[0]), int(address[1]))
        if asked in DIRECT or asked[1] in own_ports():
            return address
        if asked not in seen and asked != to:
            seen.append(asked)
        if to is None:
            return address
        return to if end.family == socket.AF_INET else (f"::ffff:{to[0]}", to[1], 0, 0)

    def connect(self: socket.socket, address: Any) -> None:
        _socket.socket.connect(self, target(self, address))

    def connect_ex(self: socket.socket, address: Any) -> int:
        return _socket.socket.connect_ex(self, target(self, address))

    with mock.patch.multiple(socket.socket, connect=connect, connect_ex=connect_ex, listen=listen):
        if to is not None:
            _led.append(to)
        try:
            yield
        finally:
            if to is not None:
                _led.remove(to)


_led: list[tuple[str, int]] = []
"""Where connections of this process are led."""


def command_of(module: str, arguments: Sequence[str], *direct: Address) -> list[str]:
    """Return how Python runs the command line of a module so that its connections are led where those of this process are.

    It need not be told that if an argument names the place.

    Args:
        module: that with a function ``execute``, as ``scrapy.cmdline`` has.
        arguments: what it is called with.
        direct: addresses that are left alone, besides those of the kit's own.
    """
    if not _led or any(str(_led[-1][1]) in argument for argument in arguments):
        return [sys.executable, "-m", module.partition(".")[0], *arguments]
    led = f"from {__name__} import lead; lead({_led[-1]!r}, {(*DIRECT, *direct)!r})"
    return [sys.executable, "-c", f"{led}; from {module} import execute; execute()", *arguments]


def lead(to: tuple[str, int], direct: Iterable[Address]) -> None:
    """Lead the connections of this process to another address until it ends, but for some.

    Args:
        to: where they go.
        direct: what is left alone.
    """
    DIRECT.update(direct)
    redirection = redirected(to, [])
    redirection.__enter__()
    atexit.register(redirection.__exit__, None, None, None)
