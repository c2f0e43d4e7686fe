"""What a queue stores in besides memory and files: a server, and the proxy between the two.

Scripts use it as well::

    backend = Backend("redis")
    crawler = get_crawler(Spider, {"REDIS_URL": f"redis://{backend.host}:{backend.port}/0"})
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

from queue_conformance.faults import servers
from queue_conformance.faults.connections import connected
from queue_conformance.faults.network import FaultProxy
from queue_conformance.faults.redirection import redirected

TIMEOUT = 10.0
"""Seconds that a server gets to say that it is there."""

VARIABLE = "QUEUE_CONFORMANCE_SERVER"


@contextlib.contextmanager
def environment(wanted: Mapping[str, str], host: str, port: int) -> Iterator[None]:
    """Set variables of this process, and of those that it starts, until the block ends."""
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update({name: value.format(host=host, port=port) for name, value in wanted.items()})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


class Backend:
    """A server, with a proxy in front of it that can do it harm.

    Args:
        server: what ``--queue-server`` says, or what pyproject.toml says of a server.
        directory: where a server of the kit's own stores; a temporary one if not given.
        lasting: a server that lasts for the run, which is used until harm is to be done to it, if it can be lent.

    Attributes:
        server: the server.
        proxy: the proxy.
        host, port: where the queue finds the proxy.
        seen: other addresses that were connected to, and led to the proxy.
        faulty: whether a fault has begun, and not ended.
        harmed: whether anything was done to the server or its connections since it was last emptied.

    The environment variable ``QUEUE_CONFORMANCE_SERVER`` replaces the server, so that the second process of a script uses
    that of the first.

    Raises:
        ServerError: if the server cannot be had.
    """

    def __init__(
        self, server: str | Mapping[str, Any], directory: Path | None = None, lasting: servers.Server | None = None
    ) -> None:
        server = os.environ.get(VARIABLE, server)
        self._stack = contextlib.ExitStack()
        if directory is None:
            directory = Path(self._stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        self._start = partial(servers.start, server, directory)
        self._is_lent = lasting is not None and _lent(lasting)
        self.server = lasting if lasting is not None and self._is_lent else self._started()
        self.proxy = FaultProxy(self.server.address, self.server.gone)
        self._stack.callback(self.proxy.close)
        self.host, self.port = self.proxy.host, self.proxy.port
        self.seen: list[tuple[str, int]] = []
        self.faulty = self.harmed = False
        self._stack.enter_context(redirected((self.host, self.port), self.seen))
        self._stack.enter_context(environment(self.server.environment, self.host, self.port))

    def __enter__(self) -> Backend:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _started(self) -> servers.Server:
        server = self._start()
        self._stack.callback(server.close)
        return server

    def own(self) -> None:
        """Have a server that may be harmed: one of this check's own."""
        if self._is_lent:
            self._is_lent, self.server = False, self._started()
            self.proxy.upstream = self.server.address

    def look(self) -> None:
        """Look whether the server is there still, if it is the kit's own.

        Raises:
            ServerError: if not.
        """
        try:
            if self.server.ours:
                connected(self.server.address, TIMEOUT).close()
        except OSError as error:
            raise servers.ServerError(f"{self.server.name} has ended by itself") from error

    def close(self) -> None:
        """End the proxy, and the server if it is the kit's own."""
        self._stack.close()

    def refuse(self) -> None:
        """End every connection and refuse new ones."""
        self.faulty = self.harmed = True
        self.proxy.refuse()

    def reset(self) -> None:
        """End every connection; new ones are welcome."""
        self.faulty = self.harmed = True
        self.proxy.reset()

    def cut_request(self, after: int) -> None:
        """Let some more bytes of requests pass, then end the connection and refuse new ones."""
        self.faulty = self.harmed = True
        self.proxy.cut_request(after)

    def cut_reply(self, after: int) -> None:
        """Let some more bytes of replies pass, then end the connection and refuse new ones."""
        self.faulty = self.harmed = True
        self.proxy.cut_reply(after)

    def hold_reply(self, number: int) -> None:
        """Let some more replies pass, then hold back what the server says, and end nothing."""
        self.faulty = self.harmed = True
        self.proxy.hold_reply(number)

    def cut_after(self, number: int) -> None:
        """Let the server answer some more times, then end the connection at the next request, and refuse new ones."""
        self.faulty = self.harmed = True
        self.proxy.cut_after(number)

    def stall(self) -> None:
        """Pass nothing any more, and end nothing."""
        self.faulty = self.harmed = True
        self.proxy.stall()

    def slow(self, seconds: float) -> None:
        """Delay everything that passes, until all faults end; that is no fault, unless the client cannot wait."""
        self.harmed = True
        self.proxy.slow(seconds)

    def recover(self) -> None:
        """End all faults."""
        self.faulty = False
        self.proxy.recover()

    def forget(self) -> None:
        """Empty the server, if it is the kit's own."""
        self.harmed = False
        if self.server.ours:
            self.server.empty()


def _lent(server: servers.Server) -> bool:
    """Whether a server that lasts for the run can be used for another check."""
    try:
        return server.lend()
    except (OSError, servers.ServerError):  # it has ended
        return False
