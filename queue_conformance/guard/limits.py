"""What may be touched, and what is said of what may not."""

from __future__ import annotations

import ctypes
import ipaddress
import os
import re
import socket
import stat
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from queue_conformance.processes.descendants import LIBRARY

LOCAL = "localhost"
"""What stands for all addresses of this machine that only this machine reaches."""

_LOCAL_NAMES = {LOCAL, "ip6-localhost", "localhost.localdomain", socket.gethostname().lower()}

SYSTEM = ("/run/systemd/", "/run/dbus/", "/run/nscd/", "/var/run/dbus/", "/var/run/nscd/", "/var/lib/sss/", "/dev/log")
"""Where services of the system listen, which the C library asks for names, and logs to."""

NAME_SERVER = 53
"""The port of name servers: who knows an address has not gone there yet."""

_OF_TOOLS = re.compile(r".*/__pycache__/[^/]+\.pyc(\.\d+)?|.*/\.coverage[^/]*")
"""Files that interpreters and their tools write, whatever runs."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a process was not let do.

    Attributes:
        what: ``connect``, ``change`` or ``load``, or ``hide`` where nobody can tell.
        target: the address, the path, the module or the system call.
    """

    what: str
    target: str

    @staticmethod
    def read(text: str) -> Refusal | None:
        """Return what :meth:`written` has written, or ``None``."""
        what, _, target = text.partition(" ")
        return Refusal(what, target) if text else None

    def written(self) -> str:
        """Return it as text."""
        return f"{self.what} {self.target}"

    def told(self, settings: Mapping[str, object]) -> str:
        """Return what was done, and what to do, as the rest of a line.

        Args:
            settings: what the class is built with.
        """
        if self.what == "load":
            return f"loads {self.target}, whose connections nothing here can stop: {LEND}, or {_ALLOW}HOST:PORT"
        if self.what == "hide":
            return (
                f"calls {self.target} where the kit cannot see what it touches: let it not forbid that (prctl, PR_SET_DUMPABLE)"
            )
        origin = origin_of(self.target, settings)
        if self.what == "connect":
            usual = _USUAL.get(self.target.rpartition(":")[2], "")
            lend = LEND.replace("--queue-server", f"--queue-server={usual}") if usual else LEND
            return f"connects to {self.target} ({origin}), which is not the kit's: {lend}, or {_ALLOW}{self.target}"
        return (
            f"would change {self.target} ({origin}), which was there before: let it write in the working directory, "
            f"of which each check has its own, or {_ALLOW}{self.target}"
        )


LEND = "lend it a server for tests by --queue-server, with {host} and {port} for the address in its settings"
"""What to do about a class that connects to what is not the kit's."""

LENDING = re.compile(re.escape(LEND).replace("server,", r"server(=\w+)?,"))
"""The same, where the port says which server it is."""

_USUAL = {"6379": "redis", "5432": "postgresql"}
"""The servers that the kit starts, by the port that their clients connect to if they are told none."""

_ALLOW = "allow it by --conformance-allow="


class Limits:
    """Tells what may be touched.

    Args:
        scratch: the directory for all that a run writes; what is older than that was there before the run.
        allowed: returns what may be touched besides, one line each, in the forms that :meth:`forms_of` gives.
        began: when the run began, in nanoseconds, if not when that directory was made.
    """

    def __init__(self, scratch: Path, allowed: Callable[[], str], began: int | None = None) -> None:
        self._scratch = tuple(f"{path}/" for path in {str(scratch), os.path.realpath(scratch)})
        self._began = (began or born(str(scratch))) or 0
        self._allowed = allowed
        self.scratch = tuple(map(os.fsencode, self._scratch))

    def forms_of(self, what: str) -> Iterator[str]:
        """Yield what ``HOST:PORT``, or a path, may be called when it is touched."""
        host, _, port = what.rpartition(":")
        if not host or not port.isdigit():
            yield os.path.realpath(what)
            return
        host = host.strip("[]")
        yield address(host, int(port))
        with suppress(OSError):  # nobody knows it now, and so nothing can go there
            for *_, place in socket.getaddrinfo(host, int(port), type=socket.SOCK_STREAM):
                yield address(str(place[0]), int(port))

    def allows(self, form: str) -> bool:
        """Whether the author, or the kit, allows this."""
        allowed = self._allowed().split("\n")
        return form in allowed or any(one.startswith("/") and form.startswith(f"{one}/") for one in allowed)

    def may_connect(self, host: str, port: int) -> bool:
        """Whether a connection to another machine may be opened, or to a server of this one that no process here started."""
        return port == NAME_SERVER or self.allows(address(host, port))

    def may_look_up(self, host: str, port: int) -> bool:
        """Whether the address of a host may be asked for, to connect to it."""
        return is_address(host) or host.lower() in _LOCAL_NAMES or self.may_connect(host, port)

    def may_use_socket(self, path: str) -> bool:
        """Whether a socket in the file system may be connected to."""
        if not os.path.exists(path) or path.startswith(SYSTEM):
            return True
        found = os.path.realpath(path)
        return found.startswith(self._scratch) or self._is_new(found) or self.allows(found)

    def has_links(self) -> bool:
        """Whether there is a link anywhere below the scratch directory."""
        walked = os.walk(self._scratch[0])
        return any(os.path.islink(os.path.join(where, name)) for where, *found in walked for names in found for name in names)

    def names_scratch(self, path: str) -> bool:
        """Whether a path begins with the scratch directory, which a link on the way may leave."""
        return path.startswith(self._scratch)

    def is_scratch(self, path: str) -> bool:
        """Whether a path is below the scratch directory, wherever links on the way lead."""
        if not path.startswith(self._scratch):
            return False
        start = next(len(scratch) for scratch in self._scratch if path.startswith(scratch))
        return self._is_straight(path, start) or os.path.realpath(path).startswith(self._scratch)

    def _is_straight(self, path: str, start: int) -> bool:
        """Whether neither links nor steps up are on a path from a place on: sooner told than where it leads."""
        if ".." in path[start:]:
            return False
        while len(path) > start:
            if os.path.islink(path):
                return False
            path = path[: path.rfind("/")]
        return True

    def may_write(self, path: str) -> bool:
        """Whether a file may be opened to write to it; a link is followed."""
        if self.is_scratch(path):
            return True
        try:
            found = os.stat(path)
        except OSError:
            return True  # a new one, or none at all
        if not stat.S_ISREG(found.st_mode):
            return not stat.S_ISBLK(found.st_mode)
        return self._spares(os.path.realpath(path)) or (not found.st_size and path.endswith(".lock"))

    def may_remove(self, path: str) -> bool:
        """Whether a file, a link or a directory may be removed, renamed or replaced."""
        directory, name = os.path.split(path)
        if self.is_scratch(directory):
            return True
        found = os.path.join(os.path.realpath(directory), name)
        return not os.path.lexists(found) or self._spares(found)

    def _spares(self, path: str) -> bool:
        """Whether something that is there is of no other use: it is new, of a tool, or allowed."""
        known = path.startswith((*self._scratch, "/proc/")) or _OF_TOOLS.fullmatch(path)
        return bool(known) or self._is_new(path) or self.allows(path)

    def _is_new(self, path: str) -> bool:
        made = born(path)
        return made is None or made >= self._began


def address(host: str, port: int) -> str:
    """Return the one form of an address: ``HOST:PORT``, with the name of this machine for all of its own."""
    host = host.lower().rstrip(".")
    if host in _LOCAL_NAMES:
        return f"{LOCAL}:{port}"
    with suppress(ValueError):
        found = ipaddress.ip_address(host.partition("%")[0])
        found = getattr(found, "ipv4_mapped", None) or found
        if found.is_loopback or found.is_unspecified:
            return f"{LOCAL}:{port}"
        host = f"[{found}]" if found.version == 6 else str(found)
    return f"{host}:{port}"


def is_address(host: str) -> bool:
    """Whether a host is given by its number, so that nobody need be asked for it."""
    with suppress(ValueError):
        ipaddress.ip_address(host.partition("%")[0])
        return True
    return not host


# --- Where it comes from ---------------------------------------------------------------------------------------------


def origin_of(target: str, settings: Mapping[str, object]) -> str:
    """Tell which setting or variable of the environment names an address or a path.

    Args:
        settings: what the class is built with.
    """
    for name, value in settings.items():
        if names(str(value), target):
            return f"the setting {name}"
    for name, value in os.environ.items():
        if name not in _NOT_OF_A_STORE and names(value, target):
            return f"{name} in the environment"
    return "its own default"


_NOT_OF_A_STORE = {"HOME", "PWD", "OLDPWD", "TMPDIR", "HOSTNAME", "PYTEST_CURRENT_TEST"}


def names(value: str, target: str) -> bool:
    """Whether the value of a setting names an address or a path."""
    if target.startswith("/"):
        return target in value or (value != "" and os.path.abspath(value) in (target, os.path.dirname(target)))
    host, _, port = target.rpartition(":")
    hosts = ("localhost", "127.0.0.1", "::1") if host == LOCAL else (host.strip("[]"),)
    if value in (*hosts, port):
        return True
    named = any(re.search(rf"(?<![\w.-]){re.escape(one)}(?![\w.-])", value) for one in hosts)
    return named and bool(re.search(rf"\b{port}\b", value) or not re.search(r":\d", value.replace("::1", "")))


# --- The age of files ------------------------------------------------------------------------------------------------

_STATX = getattr(LIBRARY, "statx", None)
_HERE, _NO_FOLLOW, _BIRTH = -100, 0x100, 0x800
_BORN_AT = 80
_TIME = struct.Struct("qI")


def born(path: str) -> int | None:
    """Return when a file was made, in nanoseconds, or ``None`` if it is not there; a link is not followed.

    A file system that does not keep this tells when it was last changed: by nobody since the run began, if it is guarded.
    """
    try:
        found = os.lstat(path)
    except OSError:
        return None
    if _STATX is not None:
        data = ctypes.create_string_buffer(256)
        if _STATX(_HERE, os.fsencode(path), _NO_FOLLOW, _BIRTH, data) == 0 and struct.unpack_from("I", data)[0] & _BIRTH:
            seconds, rest = _TIME.unpack_from(data, _BORN_AT)
            return int(seconds) * 10**9 + int(rest)
    made = getattr(found, "st_birthtime", None)  # macOS, and Windows from Python 3.12
    return int(made * 10**9) if made else found.st_ctime_ns
