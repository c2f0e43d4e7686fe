"""The servers that queues under test store in: those that the kit starts, and those that run already.

Each is a :class:`~queue_conformance.faults.servers.server.Server`, in a module of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from queue_conformance.faults.servers import program
from queue_conformance.faults.servers.running import RunningServer
from queue_conformance.faults.servers.server import Server, ServerError

__all__ = [
    "RunningServer",
    "Server",
    "ServerError",
    "check_name",
    "classes",
    "describe",
    "described",
    "find",
    "lasting",
    "names",
    "prepare",
    "start",
]

_OWN: Mapping[str, tuple[str, ...]] = {
    "redis": ("redis.RedisServer", "redis.FakeRedisServer"),
    "redis-server": ("redis.RedisServer",),
    "fakeredis": ("redis.FakeRedisServer",),
    "postgresql": ("postgresql.PostgreSQLServer",),
}
"""The servers of the kit by name: where their classes are. The first one that can be had here is taken."""


_GROUP = "queue_conformance.servers"
"""The group of entry points by which other distributions offer servers: subclasses of ``Server``."""

described: dict[str, Mapping[str, Any]] = {}
"""What pyproject.toml says of servers, by their names."""


def describe(tables: Any) -> None:
    """Remember what ``[tool.queue_conformance.servers]`` says.

    Raises:
        ValueError: if it makes no sense; the message says what to write.
    """
    described.clear()
    if not isinstance(tables, Mapping) or not all(isinstance(table, Mapping) for table in tables.values()):
        raise ValueError("write a table for each server")
    for name, table in tables.items():
        if name in _OWN or ":" in name:
            raise ValueError(f"{name}: choose another name")
        try:
            program.described(table)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error
    described.update(tables)


def names() -> list[str]:
    """Return the names of the servers that can be started: those of the kit first."""
    return [*_OWN, *described, *(point.name for point in entry_points(group=_GROUP))]


def find(name: str) -> type[Server]:
    """Return the server of a name.

    Raises:
        ServerError: if what it needs is not installed; the message says what to install.
    """
    found = list(classes(name))
    for cls in found:
        if not cls.missing():
            return cls
    raise ServerError(found[0].missing())


def classes(name: str) -> Iterator[type[Server]]:
    """Yield the servers of a name, whether what they need is installed or not.

    Raises:
        ServerError: if there are none.
    """
    if name in described:
        yield program.described(described[name], name)
    elif name not in _OWN:
        point = next(iter(entry_points(group=_GROUP, name=name)), None)
        if point is None:
            raise ServerError(f"there is no server {name!r}; known are {', '.join(names())}")
        try:
            yield point.load()
        except Exception as error:
            raise ServerError(f"{name}: {point.value} cannot be imported: {error}") from error
    for path in _OWN.get(name, ()):
        module, _, cls = path.partition(".")
        yield getattr(import_module(f"{__name__}.{module}"), cls)


def start(text: str | Mapping[str, Any], directory: Path) -> Server:
    """Return the server that an option names.

    Args:
        text: what ``--queue-server`` says, or what pyproject.toml says of a server.
        directory: where a server of the kit's own may store.

    Raises:
        ServerError: if there is no such server.
    """
    if isinstance(text, str) and ":" in text:
        return RunningServer(text)
    directory.mkdir(exist_ok=True)
    return (find(text) if isinstance(text, str) else program.described(text))(directory)


def lasting(text: str, directory: Path) -> Server | None:
    """Return a server that is lent to one check after the other, prepared and started, or ``None`` if this one cannot be.

    Args:
        text: what ``--queue-server`` says.
        directory: that of the run.

    Raises:
        ServerError: if there is no such server.
    """
    if not text or ":" in text or find(text).lend is Server.lend:
        return None
    prepare(text, directory)
    return start(text, directory / f"server {text}")


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
        ServerError: if what it needs is not installed; the message says what to install.
        ValueError: if it makes none; the message says what to write.
    """
    if text in names():
        find(text)
        return text
    host, _, port = text.rpartition("://")[2].partition("/")[0].rpartition("@")[2].rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise ValueError(f"write {', '.join(names())}, or HOST:PORT of a running server")
    return f"{host}:{port}"
