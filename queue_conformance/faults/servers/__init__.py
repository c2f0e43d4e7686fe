"""The servers that queues under test store in: those that the kit starts, and those that run already.

Each is a :class:`~queue_conformance.faults.servers.server.Server`, in a module of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path

from queue_conformance.faults.servers.running import RunningServer
from queue_conformance.faults.servers.server import Server, ServerError
from queue_conformance.suggestion import did_you_mean

__all__ = ["RunningServer", "Server", "ServerError", "check_name", "find", "names", "prepare", "start"]

_OWN: Mapping[str, tuple[str, ...]] = {
    "redis": ("redis.RedisServer", "redis.FakeRedisServer"),
    "redis-server": ("redis.RedisServer",),
    "fakeredis": ("redis.FakeRedisServer",),
    "postgresql": ("postgresql.PostgreSQLServer",),
}
"""The servers of the kit by name: where their classes are. The first one that can be had here is taken."""


def names() -> list[str]:
    """Return the names of the servers that the kit can start, in the order of the documentation."""
    return list(_OWN)


def find(name: str) -> type[Server]:
    """Return the server of a name.

    Raises:
        ServerError: if what it needs is not installed; the message says what to install.
    """
    classes = list(_classes(name))
    for cls in classes:
        if not cls.missing():
            return cls
    raise ServerError(classes[0].missing())


def _classes(name: str) -> Iterator[type[Server]]:
    for path in _OWN[name]:
        module, _, cls = path.partition(".")
        yield getattr(import_module(f"{__name__}.{module}"), cls)


def start(text: str, directory: Path) -> Server:
    """Return the server that an option names.

    Args:
        text: what ``--queue-server`` says.
        directory: where a server of the kit's own may store.

    Raises:
        ServerError: if there is no such server.
    """
    if ":" in text:
        return RunningServer(text)
    directory.mkdir(exist_ok=True)
    return find(text)(directory)


def prepare(text: str, directory: Path) -> None:
    """Do what a server needs once, and not in every process that is forked; look for one that is to be running.

    Args:
        text: what ``--queue-server`` says.
        directory: that of the run.

    Raises:
        ServerError: if it is not running.
    """
    if ":" in text:
        RunningServer(text).look()
    else:
        find(text).prepare(directory)


def check_name(text: str) -> str:
    """Return what ``--queue-server`` says, if it makes sense.

    Raises:
        ValueError: if not; the message says what to write.
    """
    if text in names():
        try:
            find(text)
        except ServerError as error:
            raise ValueError(str(error)) from None
        return text
    host, _, port = text.rpartition("://")[2].partition("/")[0].rpartition("@")[2].rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise ValueError(f"write {', '.join(names())}, or HOST:PORT of a running server{did_you_mean(text, names(), listed=0)}")
    return f"{host}:{port}"
