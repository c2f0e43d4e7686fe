"""The kernel's help: a filter on the system calls of a process and all below it, which asks another process (Linux).

See seccomp_unotify(2). Calls that connect, or change what is there, wait until the process that watches has looked at their
arguments, and lets them go on or fail. It is the parent of those that are filtered, because not every system lets others read
their memory. The filter is no wall against an attacker, who could change an argument after it was looked at; a class that finds
the wrong store does not.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import re
import select
import signal
import socket
import struct
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from queue_conformance.descendants import DEATH_OF_PARENT, LIBRARY
from queue_conformance.guard.limits import Refusal, address

if TYPE_CHECKING:
    from queue_conformance.guard import Guard

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_TRUNC


class _Machine(NamedTuple):
    """The numbers of a kind of processors: its own, that of seccomp(2), and those of the calls that are filtered.

    A call for which an argument is named is let through if that has none of some bits.
    """

    number: int
    seccomp: int
    calls: dict[str, int]


_ARGUMENTS = {"open": (1, _WRITES), "openat": (2, _WRITES), "sendto": (4, 0xFFFFFFFF)}

_MACHINES = {
    "x86_64": _Machine(
        0xC000003E,
        317,
        {"open": 2, "connect": 42, "sendto": 44, "listen": 50, "truncate": 76, "rename": 82, "rmdir": 84, "creat": 85}
        | {"unlink": 87, "openat": 257, "unlinkat": 263, "renameat": 264, "renameat2": 316, "openat2": 437},
    ),
    "aarch64": _Machine(
        0xC00000B7,
        277,
        {"unlinkat": 35, "renameat": 38, "truncate": 45, "openat": 56, "listen": 201, "connect": 203, "sendto": 206}
        | {"renameat2": 276, "openat2": 437},
    ),
}
_IO_URING = 425
"""``io_uring_setup`` of every machine: what goes that way is not filtered, so there is none."""

_FILTER, _LISTENER, _NO_MITIGATION, _NO_NEW_PRIVILEGES = 1, 8, 4, 38
_RECEIVE, _SEND, _SET_FLAGS = map(ctypes.c_ulong, (0xC0502100, 0xC0182101, 0x40082104))
_CONTINUE = 1
_SPAN = struct.Struct("QQ")
_PAGE, _STEP = 4096, 256
_GET_DESCRIPTOR = 438
"""``pidfd_getfd`` of every machine."""


def _is_new_enough() -> bool:
    found = re.match(r"(\d+)\.(\d+)", platform.release())
    return found is not None and (int(found[1]), int(found[2])) >= (5, 6)


_machine = _MACHINES.get(platform.machine()) if sys.platform == "linux" and sys.maxsize > 2**32 else None

AVAILABLE = _machine is not None and _is_new_enough()
"""Whether this system may have it; another filter, or the rules of a container, can be in the way nevertheless."""

_watches = False


def watches() -> bool:
    """Whether this process is filtered."""
    return _watches


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
    watcher, pid = os.getpid(), os.fork()
    if pid:
        theirs.close()
        _watch(pid, parent, ours, guard)
    ours.close()
    listener = _install()
    _watches = listener >= 0
    socket.send_fds(theirs, [b"!"], [listener] if _watches else [])
    theirs.close()
    if _watches:
        os.close(listener)
    return watcher


# --- In the process that is filtered ---------------------------------------------------------------------------------

_PREFIX = b"\0queue-conformance "
"""Begins the names of sockets that are nowhere: who watches reads them."""


def tell(what: str, target: str) -> None:
    """Tell the process that watches over this one, if any does, to ``allow`` an address or to ``exempt`` a process.

    An interpreter that was started below one that is guarded knows nothing else of that.
    """
    if AVAILABLE:
        with suppress(OSError), socket.socket(socket.AF_UNIX) as end:
            end.connect(_PREFIX + f"{what} {target}".encode())


def _install() -> int:
    """Filter this process and all below it; return the descriptor of what its calls wait for, or -1."""
    assert _machine is not None
    assert LIBRARY is not None
    program = b"".join(_program(_machine))
    code = ctypes.create_string_buffer(program, len(program))
    pointer = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(code))
    LIBRARY.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    return int(LIBRARY.syscall(_machine.seccomp, _FILTER, _LISTENER | _NO_MITIGATION, pointer))


def _program(machine: _Machine) -> Iterator[bytes]:
    """Yield the instructions of the filter, in the language of BPF."""
    load, equal, any_bit, end = 0x20, 0x15, 0x45, 0x06
    go_on, ask, absent = 0x7FFF0000, 0x7FC00000, 0x00050000 | errno.ENOSYS

    def instruction(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
        return struct.pack("HBBI", code, then, otherwise, value)

    yield instruction(load, 4)
    yield instruction(equal, machine.number, 1, 0)
    yield instruction(end, go_on)
    yield instruction(load, 0)
    yield instruction(equal, _IO_URING, 0, 1)
    yield instruction(end, absent)
    for name, number in machine.calls.items():
        if name not in _ARGUMENTS:
            yield instruction(equal, number, 0, 1)
            yield instruction(end, ask)
            continue
        argument, bits = _ARGUMENTS[name]
        yield instruction(equal, number, 0, 4)
        yield instruction(load, 16 + 8 * argument)
        yield instruction(any_bit, bits, 0, 1)
        yield instruction(end, ask)
        yield instruction(end, go_on)
    yield instruction(end, go_on)


# --- In the process that watches -------------------------------------------------------------------------------------


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
        _, listeners, _, _ = socket.recv_fds(channel, 1, 1)
        channel.close()
        ended = os.pidfd_open(pid)
        poll = select.poll()
        for descriptor in (ended, *listeners):
            poll.register(descriptor, select.POLLIN)
        for listener in listeners:
            LIBRARY.ioctl(listener, _SET_FLAGS, ctypes.c_ulong(1))  # wake who waits on the same processor (Linux 6.6)
        judge = _Judge(guard)
        while (ready := {descriptor for descriptor, _ in poll.poll()}) and ended not in ready:
            for listener in listeners:
                judge.answer(listener)
    finally:
        _, status = os.waitpid(pid, 0)
        if os.WIFSIGNALED(status):
            signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
            os.kill(os.getpid(), os.WTERMSIG(status))
        os._exit(os.WEXITSTATUS(status))


class _Call(NamedTuple):
    """A system call that waits.

    Attributes:
        pid: the number of the thread.
        name: the name of the call.
        arguments: numbers and addresses.
    """

    pid: int
    name: str
    arguments: tuple[int, ...]

    def memory(self, place: int, length: int) -> bytes:
        """Return what is at a place of the memory of the process.

        Raises:
            OSError: if that cannot be read.
        """
        assert LIBRARY is not None
        data = ctypes.create_string_buffer(length)
        here, there = _SPAN.pack(ctypes.addressof(data), length), _SPAN.pack(place, length)
        read = LIBRARY.process_vm_readv(self.pid, here, ctypes.c_ulong(1), there, ctypes.c_ulong(1), ctypes.c_ulong(0))
        if read != length:
            raise OSError("there is no such memory")
        return data.raw

    def text(self, place: int) -> str:
        """Return the text at a place, which ends with a zero: what is on the next page need not be there."""
        found = b""
        while b"\0" not in found and len(found) < _PAGE:
            found += self.memory(place + len(found), _STEP - (place + len(found)) % _STEP)
        return os.fsdecode(found.partition(b"\0")[0])

    def path(self, argument: int, folder: int | None = None) -> str:
        """Return the path in an argument, from the root.

        Args:
            folder: the argument with the directory from which it leads, if not the working directory.
        """
        path = self.text(self.arguments[argument])
        if path.startswith("/"):
            return os.path.normpath(path)
        number = ctypes.c_int(self.arguments[folder]).value if folder is not None else -1
        start = f"/proc/{self.pid}/fd/{number}" if number >= 0 else f"/proc/{self.pid}/cwd"
        return os.path.normpath(os.path.join(os.readlink(start), path))

    def socket(self, argument: int = 0) -> socket.socket:
        """Return a copy of the socket that an argument is the number of."""
        assert LIBRARY is not None
        process = os.pidfd_open(_process_of(self.pid))
        try:
            copy = LIBRARY.syscall(_GET_DESCRIPTOR, process, ctypes.c_int(self.arguments[argument]), 0)
            return socket.socket(fileno=copy)
        finally:
            os.close(process)


def _process_of(thread: int) -> int:
    return _status(thread, "Tgid")


def _status(thread: int, name: str) -> int:
    """Return a number that the kernel tells of a thread."""
    with open(f"/proc/{thread}/status") as status:
        return int(status.read().partition(f"{name}:")[2].split(None, 1)[0])


class _Judge:
    """Answers for calls."""

    _REQUEST, _ANSWER = struct.Struct("QIIiIQ6Q"), struct.Struct("QqiI")

    def __init__(self, guard: Guard) -> None:
        assert LIBRARY is not None
        assert _machine is not None
        self._guard, self._limits = guard, guard.limits
        self._names = {number: name for name, number in _machine.calls.items()}
        self._own: set[str] = set()
        self._request = ctypes.create_string_buffer(self._REQUEST.size)
        self._ioctl = LIBRARY.ioctl

    def answer(self, listener: int) -> None:
        """Answer for the next call, if one waits: who made it may have ended meanwhile."""
        ctypes.memset(self._request, 0, self._REQUEST.size)
        if self._ioctl(listener, _RECEIVE, self._request) != 0:
            return
        number, pid, _, call, _, _, *arguments = self._REQUEST.unpack_from(self._request)
        refused = self._judged(_Call(pid, self._names[call], tuple(arguments)))
        answer = self._ANSWER.pack(number, 0, -errno.EACCES if refused else 0, 0 if refused else _CONTINUE)
        self._ioctl(listener, _SEND, answer)

    def _judged(self, call: _Call) -> bool:
        """Whether a call is refused; what cannot be read, as of a process with other rights, or that has ended, is not."""
        try:
            refusal = getattr(self, f"_{call.name}")(call)
        except OSError:
            return False
        if refusal is None or self._is_exempt(call.pid):
            return False
        self._guard.refuse(refusal)
        return True

    def _is_exempt(self, pid: int) -> bool:
        """Whether a thread is one of a server that the kit has started, or of what that has started."""
        while pid > 1:
            process = _process_of(pid)
            if self._limits.allows(f"process {process}"):
                return True
            pid = _status(process, "PPid")
        return False

    # --- Files -------------------------------------------------------------------------------------------------------

    def _written(self, path: str) -> Refusal | None:
        return None if self._limits.may_write(path) else Refusal("change", os.path.realpath(path))

    def _removed(self, path: str) -> Refusal | None:
        return None if self._limits.may_remove(path) else Refusal("change", path)

    def _open(self, call: _Call) -> Refusal | None:
        return self._written(call.path(0))

    _creat = _truncate = _open

    def _openat(self, call: _Call) -> Refusal | None:
        return self._written(call.path(1, 0))

    def _openat2(self, call: _Call) -> Refusal | None:
        (flags,) = struct.unpack("Q", call.memory(call.arguments[2], 8))
        return self._openat(call) if flags & _WRITES else None

    def _unlink(self, call: _Call) -> Refusal | None:
        return self._removed(call.path(0))

    _rmdir = _unlink

    def _unlinkat(self, call: _Call) -> Refusal | None:
        return self._removed(call.path(1, 0))

    def _rename(self, call: _Call) -> Refusal | None:
        return self._removed(call.path(0)) or self._removed(call.path(1))

    def _renameat(self, call: _Call) -> Refusal | None:
        return self._removed(call.path(1, 0)) or self._removed(call.path(3, 2))

    _renameat2 = _renameat

    # --- Connections -------------------------------------------------------------------------------------------------

    def _listen(self, call: _Call) -> None:
        """Remember where a process below listens: that is no store of the author's."""
        with call.socket() as end:
            self._own.add(_place_of(end.family, end.getsockname()))

    def _connect(self, call: _Call) -> Refusal | None:
        place = call.memory(call.arguments[1], min(call.arguments[2], 128))
        refusal = self._reached(call, place)
        if refusal is None or refusal.target.startswith(("/", "@")):
            return refusal
        with call.socket() as end:  # one for datagrams has not sent anything yet
            return None if end.type & 0xF == socket.SOCK_DGRAM else refusal

    def _sendto(self, call: _Call) -> Refusal | None:
        return self._reached(call, call.memory(call.arguments[4], min(call.arguments[5], 128)))

    def _reached(self, call: _Call, place: bytes) -> Refusal | None:
        family = int.from_bytes(place[:2], sys.byteorder)
        if family == socket.AF_UNIX:
            return self._reached_file(call, place[2:])
        if family not in (socket.AF_INET, socket.AF_INET6):
            return None
        number = place[4:8] if family == socket.AF_INET else place[8:24]
        host, port = socket.inet_ntop(family, number), int.from_bytes(place[2:4], "big")
        found = address(host, port)
        return None if found in self._own or self._limits.may_connect(host, port) else Refusal("connect", found)

    def _reached_file(self, call: _Call, name: bytes) -> Refusal | None:
        if name.startswith(_PREFIX):
            what, _, target = name.removeprefix(_PREFIX).decode().partition(" ")
            if what == "allow":
                self._guard.allow(target)
            else:
                self._guard.exempt(int(target))
            return None
        if name[:1] == b"\0":
            found = _place_of(socket.AF_UNIX, name)
            return None if found in self._own or name == b"\0" else Refusal("connect", found)
        path = os.path.join(os.readlink(f"/proc/{call.pid}/cwd"), os.fsdecode(name.partition(b"\0")[0]))
        return None if self._limits.may_use_socket(os.path.normpath(path)) else Refusal("connect", path)


def _place_of(family: int, name: object) -> str:
    """Return the one form of the name of a socket; ``@`` stands for one that is in no file system."""
    if family == socket.AF_UNIX:
        return f"@{os.fsdecode(name[1:])}" if isinstance(name, bytes) else str(name)
    return address(*name[:2]) if isinstance(name, tuple) else ""
