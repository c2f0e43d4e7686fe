"""A downstream queue in a tube of beanstalkd, a broker whose jobs are acknowledged, that gets over a server that goes away.

``pop`` reserves a job, which is deleted by the next ``pop``, or by ``close``, and by its id: that may be done twice. Until
then the server holds it for this connection, and gives it out again, in its old place, if the connection ends. So a lost reply
costs no request, and doubles none. If the process dies, or the server is away during ``close``, the next process gets the request
that was popped last once more. After a push without reply the request may be stored or not. A request that cannot be rebuilt is
buried, until the queue is opened again.

The protocol is spoken here, in thirty lines, because the clients that there are wait for ever for an answer. One queue object
at a time may use a key. Requests are pickled, so whoever can write to the server can run code in the crawler. Let beanstalkd
store (``-b``, ``-f0``), and take jobs as large as requests get (``-z``).
"""

from __future__ import annotations

import pickle
import socket
from contextlib import suppress
from hashlib import sha256
from select import select
from typing import TYPE_CHECKING, Self

from scrapy.utils.request import request_from_dict

from queue_conformance import SerializationError, TransientError

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

FOR_EVER = 2**32 - 1  # seconds that a job stays reserved
PASSING = (b"DRAINING", b"OUT_OF_MEMORY", b"INTERNAL_ERROR")


class FifoBeanstalkdQueue:
    """The request that was pushed first is popped first.

    Settings:
        BEANSTALKD: the server, such as ``localhost:11300``.
        BEANSTALKD_TIMEOUT: how many seconds to wait for an answer, by default 1.

    Raises:
        OSError: if the server does not answer.
    """

    def __init__(self, crawler: Crawler, key: str) -> None:
        host, _, port = crawler.settings.get("BEANSTALKD", "localhost:11300").rpartition(":")
        self._address, self._spider = (host, int(port)), crawler.spider
        self._timeout = crawler.settings.getfloat("BEANSTALKD_TIMEOUT", 1.0)
        self._tube = sha256(key.encode(errors="surrogatepass")).hexdigest().encode()  # few characters may be in a name
        self._delivered = b""
        self._socket = self._connect()  # that nothing answers is temporary only if something did before
        self._ask(b"kick %d" % FOR_EVER)  # what was buried, because it could not be rebuilt
        self._recount()

    @classmethod
    def from_crawler(cls, crawler: Crawler, key: str) -> Self:
        """Build the queue of a key."""
        return cls(crawler, key)

    def push(self, request: Request) -> None:
        """Store a request.

        Raises:
            SerializationError: if it cannot be serialized, or rebuilt, or is too large: the scheduler then keeps it in memory.
            TransientError: if the server does not answer, likewise. The request may have been stored nevertheless.
        """
        try:
            value = pickle.dumps(request.to_dict(spider=self._spider))
            request_from_dict(pickle.loads(value), spider=self._spider)  # or else pop would fail, and keep the others
        except Exception as error:  # whatever the objects in a request raise
            raise SerializationError(f"cannot serialize {request}: {error!r}") from error
        try:
            reply, _ = self._ask(b"put 0 0 %d %d\r\n%s" % (FOR_EVER, len(value), value))
        except TransientError:
            self._is_known = False
            raise
        if reply != b"INSERTED":
            raise SerializationError(f"the server refuses {request}: {reply.decode()}")
        self._length += 1

    def pop(self) -> Request | None:
        """Take out the next request; ``None`` if there is none, or the server does not answer.

        Raises:
            Exception: if it cannot be rebuilt; it is set aside, and the next run tries it again.
        """
        try:
            self._confirm()
            reply, (job, value) = self._ask(b"reserve-with-timeout 0")
            if not self._is_known or (reply != b"RESERVED" and self._length):
                self._recount()
        except TransientError:
            return None
        if reply != b"RESERVED":
            return None
        try:
            request = request_from_dict(pickle.loads(value), spider=self._spider)
        except Exception:
            with suppress(TransientError):  # then the connection has ended, and the server gives it out again
                self._length -= self._ask(b"bury %s 0" % job)[0] == b"BURIED"
            raise
        self._delivered = job
        self._length -= 1
        return request

    def close(self) -> None:
        """Release the connection; an empty queue leaves no job behind. Never raises because of the server."""
        with suppress(TransientError):
            self._confirm()
        self._socket.close()

    def __len__(self) -> int:
        """Return the last known number. The server is asked only if a push had no reply."""
        if not self._is_known:
            with suppress(TransientError):
                self._recount()
        return self._length

    def _confirm(self) -> None:
        if self._delivered:
            self._ask(b"delete " + self._delivered)
            self._delivered = b""

    def _recount(self) -> None:
        _, (_, stats) = self._ask(b"stats-tube " + self._tube)
        found = dict(line.split(b": ") for line in stats.splitlines()[1:])
        held = int(found[b"current-jobs-reserved"])
        self._length = int(found[b"current-jobs-ready"]) + held - bool(self._delivered)
        self._is_known = True

    def _connect(self) -> socket.socket:
        self._socket = socket.create_connection(self._address, self._timeout)
        for command in (b"use ", b"watch "):
            self._tell(command + self._tube)
        self._tell(b"ignore default")
        return self._socket

    def _ask(self, command: bytes) -> tuple[bytes, tuple[bytes, bytes]]:
        """Send a command, by a new connection if the old one has ended; return the reply's word, the job's id and the data."""
        try:
            if self._socket.fileno() < 0 or select([self._socket], [], [], 0)[0]:  # what comes unasked is the end
                self._socket.close()
                self._connect()
            word, *rest = self._tell(command)
            size = int(rest[-1]) if word in (b"RESERVED", b"OK") else -2
            data = self._read(size + 2)[:size]
        except OSError as error:
            self._socket.close()
            raise TransientError(f"{type(error).__name__}: {error}") from error
        if word in PASSING:
            raise TransientError(f"beanstalkd: {word.decode()}")
        return word, (rest[0] if rest else b"", data)

    def _tell(self, command: bytes) -> list[bytes]:
        self._socket.sendall(command + b"\r\n")
        line = b""
        while not line.endswith(b"\r\n"):
            line += self._read(1)
        return line.split()

    def _read(self, size: int) -> bytes:
        parts = []
        while size and (part := self._socket.recv(min(size, 1 << 20))):
            parts.append(part)
            size -= len(part)
        if size:
            raise ConnectionError("the connection ended within a reply")
        return b"".join(parts)
