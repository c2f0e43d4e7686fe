"""What a run leaves behind in a running server, which the kit must not empty."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from io import BufferedRWPair
from pathlib import Path

from queue_conformance.faults.network import connected
from queue_conformance.faults.servers import ServerError, converse, start

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
        The keys; ``None`` if the server is none of Redis, is the kit's own, or has very many.
    """
    if ":" not in server:
        return None
    try:
        with ExitStack() as stack:
            connection = stack.enter_context(connected(start(server, Path()).address, _TIMEOUT))
            stream = stack.enter_context(connection.makefile("rwb"))
            return frozenset(_keys(stream))
    except (OSError, ServerError, TypeError, ValueError):  # it speaks another language, or wants a password
        return None


def _keys(stream: BufferedRWPair) -> Iterator[tuple[int, bytes]]:
    """Yield the keys of all databases.

    Raises:
        ServerError: if there are too many.
    """
    keys = 0
    for database in range(DATABASES):
        try:
            converse(stream, "SELECT", str(database))
        except ServerError:
            return  # it has no more of them
        keys += converse(stream, "DBSIZE")
        if keys > MANY:
            raise ServerError("there are too many keys")
        cursor = b"0" if keys else b""
        while cursor:
            cursor, found = converse(stream, "SCAN", cursor, "COUNT", "1000")
            yield from ((database, key) for key in found)
            cursor = b"" if cursor == b"0" else cursor


def note_on(server: str, before: Keys) -> str:
    """Return a line on the keys that were not in a running server before, or ``""``."""
    left = sorted((keys_of(server) or frozenset()) - before)
    if not left:
        return ""
    shown = ", ".join(repr(key.decode("utf-8", "backslashreplace")) for _, key in left[:SHOWN])
    more = f" and {len(left) - SHOWN} more" if len(left) > SHOWN else ""
    return f"left in the server at {server}, which the kit does not empty: {shown}{more}; remove what nothing else uses"
