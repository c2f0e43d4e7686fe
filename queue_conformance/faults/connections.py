"""Connections: how the kit opens one to a server, and which ones this process has."""

from __future__ import annotations

import _socket
import contextlib
import os
import socket
import stat
from collections.abc import Iterator
from os import listdir  # now: an implementation may replace it in its module
from typing import Any

Address = str | tuple[str, int]
"""The path of a socket in the file system, or host and port."""


def written(address: Address) -> str:
    """Return an address as options take it."""
    return address if isinstance(address, str) else f"{address[0]}:{address[1]}"


def connected(address: Address, seconds: float) -> socket.socket:
    """Connect to a server, past :func:`~queue_conformance.faults.redirection.redirected`.

    Args:
        address: where it listens.
        seconds: how long to wait for it, and for each of its answers.

    Raises:
        OSError: if nothing answers there.
    """
    if isinstance(address, str) and not fits(address):
        return _connected_below(address, seconds)
    if isinstance(address, str):
        found: list[tuple[int, Any]] = [(socket.AF_UNIX, address)]
    else:
        found = [(family, place) for family, *_, place in socket.getaddrinfo(*address, type=socket.SOCK_STREAM)]
    error = OSError(f"there is no address for {address}")
    for family, place in found:
        connection = socket.socket(family)
        connection.settimeout(seconds)
        try:
            _socket.socket.connect(connection, place)
        except OSError as refused:
            connection.close()
            error = refused
        else:
            return connection
    raise error


LONGEST = 107
"""Bytes of the path of a Unix socket at most; Linux leaves out what comes behind, and so means another file."""


def fits(path: str) -> bool:
    """Whether a path is short enough for a Unix socket."""
    return len(os.fsencode(path)) <= LONGEST


def _connected_below(path: str, seconds: float) -> socket.socket:
    """Connect to a Unix socket whose path is too long, by a descriptor of its directory."""
    directory = os.open(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY)
    try:
        return connected(f"/proc/self/fd/{directory}/{os.path.basename(path)}", seconds)
    finally:
        os.close(directory)


def peers() -> dict[int, Address]:
    """Return what this process is connected to, by the numbers of its sockets, as far as the system tells.

    Services of the system, which the C library asks for the names of users and machines, are left out.
    """
    found: dict[int, Address] = {}
    with contextlib.suppress(OSError):
        for number in map(int, listdir("/dev/fd")):
            with contextlib.suppress(OSError):
                status = os.fstat(number)
                if stat.S_ISSOCK(status.st_mode) and (peer := _peer_of(number)) and not str(peer).startswith(_SYSTEM):
                    found[status.st_ino] = peer
    return found


def _peer_of(descriptor: int) -> Address | None:
    """Return what a socket is connected to, if it is a stream."""
    with _no_default_timeout(), socket.socket(fileno=os.dup(descriptor)) as end:
        peer = end.getpeername() if end.type == socket.SOCK_STREAM else None
    return peer[:2] if isinstance(peer, tuple) else peer


@contextlib.contextmanager
def _no_default_timeout() -> Iterator[None]:
    """Let sockets be made of descriptors: a default timeout would make the open file non-blocking, for all that share it."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(None)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)


_SYSTEM = ("/run/systemd/", "/run/dbus/", "/run/nscd/", "/var/run/dbus/", "/var/run/nscd/", "/var/lib/sss/")
