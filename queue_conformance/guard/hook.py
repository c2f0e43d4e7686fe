"""A hook in the interpreter (:func:`sys.addaudithook`), which hears of files and connections before anything happens.

It knows the names of hosts before anybody is asked for them, and works on every platform; what a library in C does by itself it
does not hear of.
"""

from __future__ import annotations

import _socket
import errno
import os
import socket
import sys
from collections.abc import Callable, Mapping
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from queue_conformance.guard import kernel
from queue_conformance.guard.limits import LOCAL, Refusal, address

if TYPE_CHECKING:
    from queue_conformance.guard import Guard

_current: Guard | None = None
"""What guards this process."""

_installed = False


def begin(guard: Guard) -> Guard | None:
    """Guard this process from now on; return what has guarded it so far."""
    global _current, _installed
    if not _installed:  # it cannot be taken away again
        sys.addaudithook(_heard)
        _installed = True
    before, _current = _current, guard
    if not kernel.watches():
        socket.socket.listen = _listen  # type: ignore[assignment, method-assign]
    return before


def end(before: Guard | None) -> None:
    """Let something else, or nothing, guard this process."""
    global _current
    _current = before


def current() -> Guard | None:
    """Return what guards this process."""
    return _current


def _heard(event: str, arguments: tuple[Any, ...]) -> None:
    if _current is None:  # as all that is in a module, when the interpreter ends
        return
    judge = _EVENTS.get(event)
    if judge is None:
        return
    refusal = judge(_current, *arguments)
    if refusal is None:
        return
    _current.refuse(refusal)
    raise PermissionError(errno.EACCES, f"the conformance kit lets nothing {refusal.what} this", refusal.target)


# --- Files -----------------------------------------------------------------------------------------------------------

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_TRUNC


def _opened(guard: Guard, path: Any, _mode: Any, flags: Any) -> Refusal | None:
    if not flags or not flags & _WRITES or isinstance(path, int):
        return None
    refusal = _changed(guard, path)
    if refusal is None or flags & os.O_TRUNC or not _logs():
        return refusal
    guard.allow(refusal.target)  # what is added to a log is for people to read
    return None


def _changed(guard: Guard, path: Any, *_: Any) -> Refusal | None:
    return _unless(guard, guard.limits.may_write, path)


def _removed(guard: Guard, path: Any, folder: Any = -1, *_: Any) -> Refusal | None:
    return _unless(guard, guard.limits.may_remove, path, folder)


def _renamed(guard: Guard, old: Any, new: Any, old_folder: Any = -1, new_folder: Any = -1) -> Refusal | None:
    return _removed(guard, old, old_folder) or _removed(guard, new, new_folder)


def _database(guard: Guard, path: Any) -> Refusal | None:
    """Judge the opening of a database, which its library does in C; ``:memory:``, and what is only read, changes nothing."""
    name = os.fsdecode(path)
    if name.startswith("file:"):
        name, _, how = name.removeprefix("file:").partition("?")
        name = "/" + name.lstrip("/") if name.startswith("//") else name
        if "mode=ro" in how or "mode=memory" in how or "immutable=1" in how:
            return None
    return None if name in ("", ":memory:") else _changed(guard, name)


def _unless(guard: Guard, permits: Callable[[str], bool], path: Any, folder: Any = -1) -> Refusal | None:
    if isinstance(path, int):
        return None  # it was judged when it was opened
    where = os.fsdecode(path)
    # Who watches over this process looks for links on the way, too.
    if guard.limits.names_scratch(where) if kernel.watches() else guard.limits.is_scratch(where):
        return None
    if isinstance(folder, int) and folder >= 0:
        where = os.path.join(f"/proc/self/fd/{folder}", where)
    where = os.path.abspath(where)
    return None if permits(where) else Refusal("change", os.path.realpath(where))


_LOGGERS = ("logging.", "loguru.", "twisted.logger.", "twisted.python.log.", "twisted.python.logfile.")


def _logs() -> bool:
    """Whether a logger is at work, whose files are for people to read."""
    frame = sys._getframe()
    while frame := frame.f_back:  # type: ignore[assignment]
        if f"{frame.f_globals.get('__name__', '')}.".startswith(_LOGGERS):
            return True
    return False


# --- Connections -----------------------------------------------------------------------------------------------------


def _connected(guard: Guard, end: socket.socket, place: Any) -> Refusal | None:
    """Judge a connection; a socket for datagrams that is connected has not sent anything yet."""
    return None if end.type & 0xF == socket.SOCK_DGRAM and end.family != _UNIX else _reached(guard, end, place)


def _sent(guard: Guard, end: socket.socket, place: Any) -> Refusal | None:
    return _reached(guard, end, place) if place else None


def _reached(guard: Guard, end: socket.socket, place: Any) -> Refusal | None:
    if end.family == _UNIX:
        path = os.fsdecode(place)
        known = path.startswith("\0") or guard.limits.may_use_socket(os.path.abspath(path))
        return None if known else Refusal("connect", os.path.abspath(path))
    if end.family not in (socket.AF_INET, socket.AF_INET6):
        return None
    found = address(str(place[0]), int(place[1]))
    if found.startswith(f"{LOCAL}:") and kernel.watches():
        return None  # it knows who listens there
    return None if guard.limits.may_connect(str(place[0]), int(place[1])) else Refusal("connect", found)


_UNIX = getattr(socket, "AF_UNIX", None)


def _listen(self: socket.socket, *backlog: int) -> None:
    """Listen, and let others of the guarded processes connect: what they start is no store of the author's."""
    _socket.socket.listen(self, *backlog)
    if _current is not None and self.family in (socket.AF_INET, socket.AF_INET6):
        _current.allow(address(*self.getsockname()[:2]))


def _looked_up(guard: Guard, host: Any, port: Any, *_: Any) -> Refusal | None:
    if not host or not port or not str(port).isdigit():
        return None
    name = os.fsdecode(host)
    return None if guard.limits.may_look_up(name, int(port)) else Refusal("connect", address(name, int(port)))


# --- What nothing can stop -------------------------------------------------------------------------------------------

_IN_C = {
    *("psycopg", "psycopg2", "MySQLdb", "_mysql_connector", "pymssql", "pyodbc", "oracledb", "cx_Oracle", "couchbase"),
    *("grpc", "confluent_kafka", "pulsar", "zmq", "pylibmc", "rocksdb", "rocksdict", "plyvel", "lmdb", "pycurl"),
}
"""Modules of libraries that open connections, or files, without a word to the interpreter."""


def _imported(guard: Guard, name: str, *_: Any) -> Refusal | None:
    return Refusal("load", name) if name in _IN_C and guard.is_blind else None


def look_at(cls: type[Any]) -> None:
    """Judge what the modules of a class and its bases had from these libraries before this process was guarded.

    What somebody else has imported, such as the author's conftest.py, is not the affair of the class.
    """
    if _current is None or not _current.is_blind:
        return
    for base in cls.__mro__:
        for value in [*vars(sys.modules.get(base.__module__, object)).values()]:
            if (name := _library_of(value)) in _IN_C:
                _current.refuse(Refusal("load", name))


def _library_of(value: object) -> str:
    """Return the top of the package that a module is, or that a class or a function comes from, or ``""``."""
    if type(value) is ModuleType:
        name: object = value.__name__
    else:
        name = getattr(value, "__module__", "") if type(value) in (type, FunctionType, BuiltinFunctionType) else ""
    return name.partition(".")[0] if isinstance(name, str) else ""


_EVENTS: Mapping[str, Callable[..., Refusal | None]] = {
    "open": _opened,
    "os.truncate": _changed,
    "os.remove": _removed,
    "os.rmdir": _removed,
    "os.rename": _renamed,
    "sqlite3.connect": _database,
    "socket.connect": _connected,
    "socket.sendto": _sent,
    "socket.sendmsg": _sent,
    "socket.getaddrinfo": _looked_up,
    "import": _imported,
}
