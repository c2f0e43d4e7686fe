"""Answers for the system calls of the processes below this one."""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import struct
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from queue_conformance.guard import seccomp
from queue_conformance.guard.calls import Call, parent_of, path_at, process_of
from queue_conformance.guard.limits import Refusal, address
from queue_conformance.processes.descendants import LIBRARY

if TYPE_CHECKING:
    from queue_conformance.guard import Guard

_RECEIVE, _SEND, _IS_THERE, _SET_FLAGS = map(ctypes.c_ulong, (0xC0502100, 0xC0182101, 0x40082102, 0x40082104))
_CONTINUE = 1

PREFIX = b"\0queue-conformance "
"""Begins the names of sockets that are nowhere: who watches reads them."""

_WRONG = {errno.EFAULT, errno.EBADF, errno.ENOTSOCK, errno.ENAMETOOLONG}
"""Errors of a call whose arguments are wrong: it ends with one of them whoever answers."""


def begin(listener: int) -> None:
    """Let who answers wake on the processor of who waits (Linux 6.6)."""
    assert LIBRARY is not None
    LIBRARY.ioctl(listener, _SET_FLAGS, ctypes.c_ulong(1))


class Judge:
    """Answers for calls.

    Args:
        guard: knows what may be touched, and notes what was refused.
    """

    _REQUEST, _ANSWER, _NUMBER = struct.Struct("QIIiIQ6Q"), struct.Struct("QqiI"), struct.Struct("Q")

    def __init__(self, guard: Guard) -> None:
        assert LIBRARY is not None
        self._guard, self._limits = guard, guard.limits
        self._linked = self._limits.has_links()
        self._own: set[str] = set()
        self._request = ctypes.create_string_buffer(self._REQUEST.size)
        self._ioctl = LIBRARY.ioctl

    def answer(self, listener: int) -> None:
        """Answer for the next call, if one waits: who made it may have ended meanwhile."""
        ctypes.memset(self._request, 0, self._REQUEST.size)
        if self._ioctl(listener, _RECEIVE, self._request) != 0:
            return
        number, pid, _, call, _, _, *arguments = self._REQUEST.unpack_from(self._request)
        error, refusal = 0, None
        if not self._is_of_the_run(pid, [arguments[place] for place in seccomp.PATHS.get(call, ())]):
            error, refusal = self._judged(Call(pid, seccomp.NAMES[call], tuple(arguments)))
        if refusal is not None:
            if self._ioctl(listener, _IS_THERE, self._NUMBER.pack(number)) != 0:
                return  # nothing can be read of a process that has ended
            self._guard.refuse(refusal)
        self._ioctl(listener, _SEND, self._ANSWER.pack(number, 0, -error, 0 if error else _CONTINUE))

    def _is_of_the_run(self, pid: int, places: Sequence[int]) -> bool:
        """Whether the paths at some places of a process are of files of the run: nearly all are, and this is told soonest."""
        if self._linked or not places:
            return False
        paths = [path_at(pid, place) for place in places]
        return all(path.startswith(self._limits.scratch) and b".." not in path for path in paths)

    def _judged(self, call: Call) -> tuple[int, Refusal | None]:
        """Return the error that a call ends with, or 0 if it goes on, and what is to be noted of it.

        What cannot be judged does not go on, and leaves the process waiting no more than anything else.
        """
        try:
            refusal: Refusal | None = getattr(self, f"_{call.name}")(call)
        except Exception as error:
            if isinstance(error, OSError) and error.errno in _WRONG:
                return error.errno, None
            refusal = Refusal("hide", call.name)
        if refusal is None or self._is_exempt(call.pid):
            return 0, None
        return errno.EACCES, refusal

    def _is_exempt(self, pid: int) -> bool:
        """Whether a thread is one of a server that the kit has started, or of what that has started."""
        try:
            while pid > 1:
                process = process_of(pid)
                if self._limits.allows(f"process {process}"):
                    return True
                pid = parent_of(process)
        except OSError:
            pass  # it has ended
        return False

    # --- Files -------------------------------------------------------------------------------------------------------

    def _written(self, path: str) -> Refusal | None:
        return None if self._limits.may_write(path) else Refusal("change", os.path.realpath(path))

    def _removed(self, path: str) -> Refusal | None:
        return None if self._limits.may_remove(path) else Refusal("change", path)

    def _open(self, call: Call) -> Refusal | None:
        return self._written(call.path(0))

    _creat = _truncate = _open

    def _openat(self, call: Call) -> Refusal | None:
        return self._written(call.path(1, 0))

    def _openat2(self, call: Call) -> Refusal | None:
        (flags,) = struct.unpack("Q", call.memory(call.arguments[2], 8))
        return self._openat(call) if flags & seccomp.WRITES else None

    def _unlink(self, call: Call) -> Refusal | None:
        return self._removed(call.path(0))

    _rmdir = _unlink

    def _unlinkat(self, call: Call) -> Refusal | None:
        return self._removed(call.path(1, 0))

    def _rename(self, call: Call) -> Refusal | None:
        return self._removed(call.path(0)) or self._removed(call.path(1))

    def _renameat(self, call: Call) -> Refusal | None:
        return self._removed(call.path(1, 0)) or self._removed(call.path(3, 2))

    _renameat2 = _renameat

    def _symlink(self, call: Call) -> None:
        """Let a link be made; what is written through it is judged by where it leads."""
        self._linked = True

    _symlinkat = _symlink

    # --- Connections -------------------------------------------------------------------------------------------------

    def _listen(self, call: Call) -> None:
        """Remember where a process below listens: that is no store of the author's."""
        with call.socket() as end:
            self._own.add(_place_of(end.family, end.getsockname()))

    def _connect(self, call: Call) -> Refusal | None:
        place = call.memory(call.arguments[1], min(call.arguments[2], 128))
        refusal = self._reached(call, place)
        if refusal is None or refusal.target.startswith(("/", "@")):
            return refusal
        with call.socket() as end:  # one for datagrams has not sent anything yet
            return None if end.type & 0xF == socket.SOCK_DGRAM else refusal

    def _sendto(self, call: Call) -> Refusal | None:
        return self._reached(call, call.memory(call.arguments[4], min(call.arguments[5], 128)))

    def _reached(self, call: Call, place: bytes) -> Refusal | None:
        family = int.from_bytes(place[:2], sys.byteorder)
        if family == socket.AF_UNIX:
            return self._reached_file(call, place[2:])
        if family not in (socket.AF_INET, socket.AF_INET6):
            return None
        number = place[4:8] if family == socket.AF_INET else place[8:24]
        host, port = socket.inet_ntop(family, number), int.from_bytes(place[2:4], "big")
        found = address(host, port)
        return None if found in self._own or self._limits.may_connect(host, port) else Refusal("connect", found)

    def _reached_file(self, call: Call, name: bytes) -> Refusal | None:
        if name.startswith(PREFIX):
            what, _, target = name.removeprefix(PREFIX).decode().partition(" ")
            if what == "allow":
                self._guard.allow(target)
            else:
                self._guard.exempt(int(target))
            return None
        if name[:1] == b"\0":
            found = _place_of(socket.AF_UNIX, name)
            return None if found in self._own or name == b"\0" else Refusal("connect", found)
        path = os.path.join(call.folder(), os.fsdecode(name.partition(b"\0")[0]))
        return None if self._limits.may_use_socket(os.path.normpath(path)) else Refusal("connect", path)


def _place_of(family: int, name: object) -> str:
    """Return the one form of the name of a socket; ``@`` stands for one that is in no file system."""
    if family == socket.AF_UNIX:
        return f"@{os.fsdecode(name[1:])}" if isinstance(name, bytes) else str(name)
    return address(*name[:2]) if isinstance(name, tuple) else ""
