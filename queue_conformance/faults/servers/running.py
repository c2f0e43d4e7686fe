"""A server that the author started: the kit connects to it, and neither stops nor empties it.

What it refuses, and what a run leaves behind in it, is known of one that speaks the protocol of Redis.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from io import BufferedRWPair
from pathlib import Path

from queue_conformance import guard
from queue_conformance.faults.connections import connected
from queue_conformance.faults.servers.redis import converse
from queue_conformance.faults.servers.server import TIMEOUT, Server, ServerError


class RunningServer(Server):
    """A server that runs already.

    Args:
        text: its host and port, with a colon between them.
    """

    ours = False

    def __init__(self, text: str) -> None:
        host, _, port = text.rpartition(":")
        self.address = (host.strip("[]"), int(port))
        self.name = f"the server at {text}"
        guard.allow(text)

    def look(self) -> None:
        """Look whether it is there, and can be used.

        Raises:
            ServerError: if not.
        """
        try:
            refusal = self.refusal()
        except OSError as error:
            raise ServerError(f"no server answers at {self.name.rpartition(' ')[2]} ({error.strerror or error})") from error
        if refusal:
            raise ServerError(f"{self.name} refuses the kit: {refusal}")

    def refusal(self) -> str:
        """Return why it refuses the kit, such as for want of a password, or ``""``.

        Only one that speaks the protocol of Redis understands the question; what another one makes of it says nothing.

        Raises:
            OSError: if nothing answers there.
        """
        with connected(self.address, TIMEOUT) as connection, connection.makefile("rwb") as stream:
            connection.settimeout(SHORT)
            try:
                with suppress(OSError, ValueError):
                    converse(stream, "PING")
            except ServerError as error:
                return str(error)
        return ""


SHORT = 1.0
"""Seconds in which a server that understands the kit says that it is there."""

MANY = 10_000
"""Keys of a server that are looked at, at most: what holds more is in use."""

DATABASES = 16
"""Databases of a server that are looked at, at most; it has as many if nobody says otherwise."""

SHOWN = 3
"""Keys that a note names."""

_TIMEOUT = 2.0
"""Seconds that the server gets for an answer."""

Keys = frozenset[tuple[int, bytes]]


def keys_of(server: str) -> Keys | None:
    """Return the keys of a running server, with the numbers of their databases.

    Args:
        server: what ``--queue-server`` says.

    Returns:
        The keys; ``None`` if the server speaks another language, is the kit's own, or has very many.
    """
    if ":" not in server:
        return None
    try:
        with connected(RunningServer(server).address, _TIMEOUT) as connection, connection.makefile("rwb") as stream:
            return frozenset(_keys(stream))
    except (OSError, ServerError, TypeError, ValueError):  # it speaks another language, or wants a password
        return None


def held(server: str) -> str:
    """Return what a running server holds, such as ``2 keys``, or ``""`` if that is nothing, or it speaks another language."""
    try:
        with connected(RunningServer(server).address, _TIMEOUT) as connection, connection.makefile("rwb") as stream:
            keys = sum(_sizes(stream).values())
            converse(stream, "DBSIZE")  # it says what is in the way, if something is
    except ServerError as error:
        return f"nobody knows what ({error})"
    except (OSError, TypeError, ValueError):
        return ""
    return f"{keys} key{'s' * (keys != 1)}" if keys else ""


def _keys(stream: BufferedRWPair) -> Iterator[tuple[int, bytes]]:
    """Yield the keys of all databases.

    Raises:
        ServerError: if there are too many.
    """
    sizes = _sizes(stream)
    if sum(sizes.values()) > MANY:
        raise ServerError("there are too many keys")
    for database in filter(sizes.get, sizes):
        converse(stream, "SELECT", str(database))
        cursor = b"0"
        while cursor:
            cursor, found = converse(stream, "SCAN", cursor, "COUNT", "1000")
            yield from ((database, key) for key in found)
            cursor = b"" if cursor == b"0" else cursor


def _sizes(stream: BufferedRWPair) -> dict[int, int]:
    """Return how many keys each database has."""
    found: dict[int, int] = {}
    for database in range(DATABASES):
        try:
            converse(stream, "SELECT", str(database))
        except ServerError:
            break  # it has no more of them
        found[database] = int(converse(stream, "DBSIZE"))
    return found


_OF_A_RUN = re.compile(r"queue-conformance-run-(\w+)")
"""The directory of a run, the name of which no other one has."""


def mark_of(directory: Path) -> str:
    """Return what the names of spiders, and so of keys, hold that only one run gives, or ``""``.

    Args:
        directory: one that is below that of the run.
    """
    found = _OF_A_RUN.search(str(directory))
    return found[1] if found else ""


def marked(directory: Path, *names: str) -> str:
    """Return a name that only the run of this directory gives."""
    return "-".join(filter(None, (mark_of(directory), *names)))


def remove_marked(server: str, before: Keys, marks: Iterable[str]) -> None:
    """Remove the keys that the kit's own runs have left in a running server: they were not there before, and bear its marks."""
    left = [
        (database, key)
        for database, key in (keys_of(server) or frozenset()) - before
        if any(mark.encode() in key for mark in marks if mark)
    ]
    with suppress(OSError, ServerError):
        for database, key in left:
            with connected(RunningServer(server).address, _TIMEOUT) as connection, connection.makefile("rwb") as stream:
                converse(stream, "SELECT", str(database))
                converse(stream, "DEL", key)


def note_on(server: str, before: Keys) -> str:
    """Return a line on the keys that were not in a running server before, or ``""``."""
    left = sorted((keys_of(server) or frozenset()) - before)
    if not left:
        return ""
    shown = ", ".join(repr(key.decode("utf-8", "backslashreplace")) for _, key in left[:SHOWN])
    more = f" and {len(left) - SHOWN} more" if len(left) > SHOWN else ""
    return f"left in the server at {server}, which the kit does not empty: {shown}{more}; remove what nothing else uses"
