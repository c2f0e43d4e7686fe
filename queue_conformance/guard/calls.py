"""System calls of other processes that wait for an answer: what their arguments say."""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import struct
import sys
from typing import NamedTuple

_C = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
_GET_DESCRIPTOR = 438
"""``pidfd_getfd`` of every machine."""

_PAGE = 4096
_SPAN = struct.Struct("QQ")
_BUFFER = ctypes.create_string_buffer(_PAGE)
_HERE = ctypes.addressof(_BUFFER)
_ONE, _NO_FLAGS = ctypes.c_ulong(1), ctypes.c_ulong(0)


def is_open(pid: int) -> bool:
    """Whether this process may look into another one, which is a fork of it."""
    try:
        Call(pid, "", ()).memory(_HERE, 1)
    except OSError:
        return False
    return True


class Call(NamedTuple):
    """A system call that waits.

    What is wrong with an argument raises the :exc:`OSError` that the call itself would end with.

    Attributes:
        pid: the number of the thread.
        name: the name of the call.
        arguments: numbers and addresses.
    """

    pid: int
    name: str
    arguments: tuple[int, ...]

    def memory(self, place: int, length: int) -> bytes:
        """Return what is at a place of the memory of the process, no more than a page.

        Raises:
            OSError: if that cannot be read.
        """
        read = _read(self.pid, place, length)
        if read != length:
            raise _error(ctypes.get_errno() if read < 0 else errno.EFAULT)
        return ctypes.string_at(_HERE, length)

    def text(self, place: int) -> str:
        """Return the text at a place, which ends with a zero: what is on the next page need not be there."""
        found = b""
        while len(found) < _PAGE:
            at = place + len(found)
            part, end, _ = self.memory(at, _PAGE - at % _PAGE).partition(b"\0")
            found += part
            if end:
                return os.fsdecode(found)
        raise _error(errno.ENAMETOOLONG)

    def path(self, argument: int, folder: int | None = None) -> str:
        """Return the path in an argument, from the root.

        Args:
            folder: the argument with the directory from which it leads, if not the working directory.
        """
        path = self.text(self.arguments[argument])
        if path.startswith("/"):
            return os.path.normpath(path)
        number = ctypes.c_int(self.arguments[folder]).value if folder is not None else -1
        return os.path.normpath(os.path.join(self.folder(number), path))

    def folder(self, number: int = -1) -> str:
        """Return the path of a directory that is open in the process, or of its working directory."""
        try:
            return os.readlink(f"/proc/{self.pid}/fd/{number}" if number >= 0 else f"/proc/{self.pid}/cwd")
        except FileNotFoundError:
            raise _error(errno.EBADF) from None

    def socket(self, argument: int = 0) -> socket.socket:
        """Return a copy of the socket that an argument is the number of."""
        assert _C is not None
        process = os.pidfd_open(process_of(self.pid))
        try:
            copy = _C.syscall(_GET_DESCRIPTOR, process, ctypes.c_int(self.arguments[argument]), 0)
        finally:
            os.close(process)
        if copy < 0:
            raise _error(ctypes.get_errno())
        try:
            return socket.socket(fileno=copy)
        except OSError:
            os.close(copy)
            raise


def path_at(pid: int, place: int) -> bytes:
    """Return the path at a place of a process, or nothing if it is not there as a whole, or goes on on another page."""
    length = _PAGE - place % _PAGE
    path, end, _ = ctypes.string_at(_HERE, max(0, _read(pid, place, length))).partition(b"\0")
    return path if end else b""


def _read(pid: int, place: int, length: int) -> int:
    assert _C is not None
    found: int = _C.process_vm_readv(pid, _SPAN.pack(_HERE, length), _ONE, _SPAN.pack(place, length), _ONE, _NO_FLAGS)
    return found


def _error(number: int) -> OSError:
    return OSError(number, os.strerror(number))


def process_of(thread: int) -> int:
    """Return the number of the process of a thread."""
    return _status(thread, "Tgid")


def parent_of(process: int) -> int:
    """Return the number of the parent of a process."""
    return _status(process, "PPid")


def _status(thread: int, name: str) -> int:
    """Return a number that the kernel tells of a thread."""
    with open(f"/proc/{thread}/status") as status:
        return int(status.read().partition(f"{name}:")[2].split(None, 1)[0])
