"""Whose connection it is: what listens on the loopback address is open to every user of the machine, and is meant for one."""

from __future__ import annotations

import os
import socket
import struct
import sys
from functools import cache

_REQUEST = struct.Struct("=LHHLL BBBxL")  # struct nlmsghdr, and the beginning of struct inet_diag_req_v2
_ENDS = struct.Struct("!HH4s12x4s12x4x8s")  # struct inet_diag_sockid: ports, addresses, any interface, any cookie
_ANSWER = struct.Struct("=4xH10x xBxx48x12xLL")  # of struct nlmsghdr the type; of struct inet_diag_msg state, user and inode
_SOCK_DIAG, _BY_FAMILY, _IS_REQUEST, _LISTENING = 4, 20, 1, 10


def same_user(connection: socket.socket) -> bool:
    """Return whether the other end of a connection, accepted on the loopback address, is a socket of this user's.

    The kernel is asked about that very socket, as ``ss`` does, since TCP has no ``SO_PEERCRED``. What its process has closed
    is nobody's any more. Where the kernel does not tell (on other systems than Linux), everybody's is.

    Args:
        connection: what was accepted, over IPv4.
    """
    try:
        if not _kernel_tells():
            return True
        state, user, inode = _socket_between(connection.getpeername(), connection.getsockname())
    except OSError:  # it has gone meanwhile
        return False
    return state != _LISTENING and inode != 0 and user == os.geteuid()


@cache
def _kernel_tells() -> bool:
    if not sys.platform.startswith("linux"):
        return False
    with socket.create_server(("127.0.0.1", 0)) as known:
        address = known.getsockname()
        try:
            _socket_between(address, address)
        except OSError:
            return False
    return True


def _socket_between(local: tuple[str, int], remote: tuple[str, int]) -> tuple[int, int, int]:
    """Return the state, the user and the inode of the socket at one address that is connected to the other, or listens.

    Raises:
        OSError: if there is none, or the kernel does not tell.
    """
    ends = _ENDS.pack(local[1], remote[1], socket.inet_aton(local[0]), socket.inet_aton(remote[0]), b"\xff" * 8)
    question = (_REQUEST.size + len(ends), _BY_FAMILY, _IS_REQUEST, 0, 0, socket.AF_INET, socket.IPPROTO_TCP, 0, 0xFFFFFFFF)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as kernel:
        kernel.settimeout(1)
        kernel.send(_REQUEST.pack(*question) + ends)
        answer = kernel.recv(1024)
    kind, state, user, inode = _ANSWER.unpack_from(answer.ljust(_ANSWER.size, b"\0"))
    if kind != _BY_FAMILY:
        raise OSError("there is no such socket")
    return state, user, inode
