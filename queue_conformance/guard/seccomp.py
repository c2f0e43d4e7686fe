"""The filter on the system calls of a process and all below it, in the language of BPF; see seccomp_unotify(2)."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import re
import struct
import sys
from collections.abc import Iterator
from typing import NamedTuple

from queue_conformance.processes.descendants import LIBRARY

WRITES = os.O_WRONLY | os.O_RDWR | os.O_TRUNC


class _Machine(NamedTuple):
    """The numbers of a kind of processors: its own, that of seccomp(2), and those of the calls that are filtered.

    A call for which an argument is named is let through if that has none of some bits.
    """

    number: int
    seccomp: int
    calls: dict[str, int]


_ARGUMENTS = {"open": (1, WRITES), "openat": (2, WRITES), "sendto": (4, 0xFFFFFFFF)}

_MACHINES = {
    "x86_64": _Machine(
        0xC000003E,
        317,
        {"open": 2, "connect": 42, "sendto": 44, "listen": 50, "truncate": 76, "rename": 82, "rmdir": 84, "creat": 85}
        | {"unlink": 87, "symlink": 88, "openat": 257, "unlinkat": 263, "renameat": 264, "symlinkat": 266, "renameat2": 316}
        | {"openat2": 437},
    ),
    "aarch64": _Machine(
        0xC00000B7,
        277,
        {"unlinkat": 35, "symlinkat": 36, "renameat": 38, "truncate": 45, "openat": 56, "listen": 201, "connect": 203}
        | {"sendto": 206, "renameat2": 276, "openat2": 437},
    ),
}
_IO_URING = 425
"""``io_uring_setup`` of every machine: what goes that way is not filtered, so there is none."""

_FILTER, _LISTENER, _NO_MITIGATION, _NO_NEW_PRIVILEGES = 1, 8, 4, 38


def _is_new_enough() -> bool:
    found = re.match(r"(\d+)\.(\d+)", platform.release())
    return found is not None and (int(found[1]), int(found[2])) >= (5, 6)


_machine = _MACHINES.get(platform.machine()) if sys.platform == "linux" and sys.maxsize > 2**32 else None

AVAILABLE = _machine is not None and _is_new_enough()
"""Whether this system may have it; another filter, or the rules of a container, can be in the way nevertheless."""

NAMES = {number: name for name, number in _machine.calls.items()} if _machine else {}
"""The calls that are asked about, by their numbers."""

_PLACES = {"open": (0,), "creat": (0,), "truncate": (0,), "unlink": (0,), "rmdir": (0,), "rename": (0, 1)}
_PLACES |= {"openat": (1,), "unlinkat": (1,), "renameat": (1, 3), "renameat2": (1, 3)}

PATHS = {number: _PLACES[name] for number, name in NAMES.items() if name in _PLACES}
"""The arguments with the paths of what is opened, changed or removed, by the numbers of the calls."""


def install() -> int:
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
