"""What is around a class under test, and may fail it: the disk, the scratch directory, processes, memory, a server.

None of that says anything about the class, whatever it broke meanwhile.
"""

from __future__ import annotations

import errno
import re
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

from queue_conformance.faults.servers import RunningServer
from queue_conformance.processes import isolation
from queue_conformance.specification.pairs import mismatch
from queue_conformance.specification.words import shortened

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

ROOM = 256 << 20
"""Bytes of a disk, or of memory, that the kit and a right class come out with."""

FEW = 512
"""Descriptors, or processes of a user, below which a limit may be why something was refused."""


def trouble(directory: Path, said: str, server: str = "") -> str:
    """Return what is wrong around a class, as one line that says what to do, or ``""``.

    Args:
        directory: where scratch directories are made.
        said: what is known of how the class, or the kit, failed.
        server: the server behind the class, as ``--queue-server`` names it, or ``""``.
    """
    if not directory.is_dir():
        return f"the scratch directory {directory} is gone: let nothing clean up there while a run goes on"
    try:
        with tempfile.TemporaryFile(dir=directory) as file:
            file.write(bytes(1 << 20))
        isolation.run(lambda watchdog: None, time_limit=60.0)
    except OSError as error:
        return _advice(error.errno or 0, directory) or f"the system refuses what the kit needs: {error}"
    except isolation.IsolatedError:
        pass
    for number, pattern, is_short in _SIGNS:
        if re.search(pattern, said) and is_short(directory):
            return _advice(number, directory)
    if lost := re.search(r"ServerError\W+(.+)", said):
        return f"the server behind it failed ({lost[1].rstrip(')')}): look at its log, and run again"
    if lost := re.search(r"EngineError\W+(.+?)(?:['\"]\))?(?: raised by .*)?$", said, re.MULTILINE):
        if line := mismatch():
            return line
        return f"Scrapy can make no engine here ({lost[1]}): look at the settings, and at what is installed beside it"
    if ":" in server and (found := _REFUSED.search(said)):  # the kit demands no password of it, nor takes connections away
        return _refused(f"the server at {server}", found[0])
    return _trouble_of_server(server)


def refusal(error: BaseException) -> str:
    """Return why there is no server, or why it lets nobody in, as one line that says what to do, or ``""``.

    Only the class knows by which user, password and database it comes in, so what it raises says what the server made of them.

    Args:
        error: what the first use of a class raised.
    """
    known: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in known:
        with suppress(Exception):  # whatever its own text does
            said = str(cause).strip()
            if _REFUSED.search(said):
                return _refused("its server", shortened(said.rpartition("failed: ")[2], 200))
            if re.search(_ABSENT, said):
                return f"no server answers ({shortened(said, 200)}): {_START}"
        known.add(id(cause))
        cause = cause.__cause__ or cause.__context__
    return ""


def _refused(server: str, said: str) -> str:
    if re.search(_FORBIDDEN, said):
        return f"{server} does not let it do that ({said}): name one that does, by --queue-server=HOST:PORT"
    advice = (
        "let it take more connections" if re.search(_FULL, said) else "name a user, a password and a database that are good there"
    )
    return f"{server} does not let it in ({said}): {advice}"


_FORBIDDEN = r"NOPERM|no permissions? to run|must be superuser|permission denied to "

_FULL = r"(?i)too many (?:clients|connections)|connection slots|max number of clients"

_REFUSED = re.compile(
    rf"{_FULL}|{_FORBIDDEN}"
    r"|no password|password (?:authentication|is missing|required)|authentication (?:failed|required)|NOAUTH|WRONGPASS"
    r"|ACCESS_REFUSED|(?:access|permission) denied for|pg_hba|(?:role|database) .{1,80} does not exist|unknown database"
)
"""What servers, and their clients, say to whom they do not let in."""

_START = "name or start one by --queue-server, and write {host} and {port} for its address in settings"

_ABSENT = r"[Ii]s the server running|Connection refused"


def unsupported(traceback: str) -> str:
    """Return which installed releases do not go together, if the kit may have failed because of that, as one line, or ``""``.

    Args:
        traceback: how the kit failed.
    """
    for text in metadata.requires("pytest-queue-conformance") or ():
        wanted = Requirement(text)
        if wanted.marker and not wanted.marker.evaluate({"extra": ""}) and wanted.name not in traceback:
            continue  # what only some classes need
        with suppress(metadata.PackageNotFoundError):
            version = metadata.version(wanted.name)
            if wanted.specifier.contains(version, prereleases=True):
                continue
            return f"{wanted.name} {version} is installed, and the kit runs with {wanted.specifier}: install such a release"
    failed = re.findall(r'File ".*/site-packages/(\w+)/.*", line', traceback)
    last = traceback.strip().rpartition("\n")[2]
    if failed and failed[-1] in _TESTED and last.startswith("ImportError"):
        name = failed[-1]
        if name == "scrapy" and (line := mismatch()):
            return line
        return f"{name} {metadata.version(name)} does not go with what is installed beside it ({last}): install releases that do"
    return ""


_TESTED = ("scrapy", "queuelib", "qcrawl")


def _trouble_of_server(server: str) -> str:
    if ":" not in server:
        return ""
    try:
        refusal = RunningServer(server).refusal()
    except OSError as error:
        return f"the server at {server} answers no more ({error.strerror or error}): start it, and run again"
    return (
        f"the server at {server} refuses the kit ({refusal}): give a server for tests that wants no password" if refusal else ""
    )


def _advice(number: int, directory: Path) -> str:
    """Return what to do about an error of the system."""
    if number in (errno.ENOSPC, errno.EDQUOT):
        return f"there is no space left in {directory}: free some, or let TMPDIR name a directory with {ROOM >> 20} MiB"
    return _ADVICE.get(number, "")


_ADVICE = {
    errno.EFBIG: "files may not grow here: raise the limit on their size (ulimit -f unlimited)",
    errno.EMFILE: "this process may open no more files: raise the limit (ulimit -n 1024)",
    errno.ENFILE: "this machine can open no more files: end what holds them",
    errno.EAGAIN: "there can be no more processes or threads here: raise the limit (ulimit -u), or end some",
    errno.ENOMEM: f"there is no memory left: free {ROOM >> 20} MiB, or raise the limit (ulimit -v unlimited)",
}


def _limit(name: str) -> float:
    """Return a limit of this process."""
    if resource is None or not hasattr(resource, name):
        return float("inf")
    soft, _ = resource.getrlimit(getattr(resource, name))
    return float("inf") if soft == resource.RLIM_INFINITY else soft


def _has_no_space(directory: Path) -> bool:
    return shutil.disk_usage(directory).free < ROOM


def _has_no_memory(_directory: Path) -> bool:
    if _limit("RLIMIT_AS") != float("inf"):
        return True
    with suppress(OSError, AttributeError, ValueError):
        found = re.search(r"MemAvailable:\s+(\d+)", Path("/proc/meminfo").read_text())
        return found is not None and int(found[1]) << 10 < ROOM
    return False


def _killed_for_memory() -> int:
    """Return how many processes the kernel has killed because there was no memory."""
    with suppress(OSError):
        if found := re.search(r"oom_kill (\d+)", Path("/proc/vmstat").read_text()):
            return int(found[1])
    return 0


_KILLED_BEFORE = _killed_for_memory()

_SIGNS: list[tuple[int, str, Callable[[Path], bool]]] = [
    (errno.ENOSPC, r"No space left|Errno 28|disk is full|quota exceeded", _has_no_space),
    (
        errno.EFBIG,
        r"File too large|Errno 27|SIGXFSZ|maximum limit|limit exceeds",
        lambda directory: _limit("RLIMIT_FSIZE") < ROOM,
    ),
    (
        errno.EMFILE,
        r"^(?![^\0]*files left open)[^\0]*(?:Too many open files|Errno 24)",
        lambda directory: _limit("RLIMIT_NOFILE") < FEW,
    ),
    (errno.EAGAIN, r"Resource temporarily|start new thread|Errno 11\b", lambda directory: _limit("RLIMIT_NPROC") < FEW),
    (errno.ENOMEM, r"MemoryError|Cannot allocate|Errno 12\b", _has_no_memory),
    (errno.ENOMEM, r"SIGKILL", lambda directory: _killed_for_memory() > _KILLED_BEFORE),
]
"""An error by its number: what is said of it, and what tells that it is not one that the kit itself made."""
