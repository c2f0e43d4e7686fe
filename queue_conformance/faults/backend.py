"""The server that a queue stores in, behind a proxy.

Scripts use it as well::

    backend = Backend("redis")
    crawler = get_crawler(Spider, {"REDIS_URL": f"redis://{backend.host}:{backend.port}/0"})
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from functools import cached_property, partial
from pathlib import Path
from secrets import token_hex
from typing import Any
from unittest import mock

from queue_conformance import guard
from queue_conformance.faults import servers
from queue_conformance.faults.connections import connected, written
from queue_conformance.faults.network import FaultProxy
from queue_conformance.faults.redirection import redirected
from queue_conformance.processes.trees import temporary_directory

TIMEOUT = 10.0
"""Seconds that a server gets to say that it is there."""

VARIABLE = "QUEUE_CONFORMANCE_SERVER"
PASSWORD = "QUEUE_CONFORMANCE_PASSWORD"


def environment(wanted: Mapping[str, str], host: str, port: int) -> contextlib.AbstractContextManager[object]:
    """Set variables of this process, and of those that it starts, until the block ends."""
    return mock.patch.dict(os.environ, {name: value.format(host=host, port=port) for name, value in wanted.items()})


class Backend(FaultProxy):
    """A server, behind a proxy that can do it harm.

    Args:
        server: what ``--queue-server`` says, or what pyproject.toml says of a server.
        directory: where a server of the kit's own stores; a temporary one if not given.
        lasting: a server that lasts for the run; if it can be lent, it is used until a fault is to harm the server itself.

    Attributes:
        server: the server.
        host, port: where the queue finds the proxy.
        seen: other addresses that were connected to, and led to the proxy.

    The environment variable ``QUEUE_CONFORMANCE_SERVER`` replaces the server, so that the second process of a script uses
    that of the first; ``QUEUE_CONFORMANCE_PASSWORD`` tells it the password.

    Raises:
        ServerError: if the server cannot be had.
    """

    def __init__(
        self, server: str | Mapping[str, Any], directory: Path | None = None, lasting: servers.Server | None = None
    ) -> None:
        server = os.environ.get(VARIABLE, server)
        self._stack = contextlib.ExitStack()
        if directory is None:
            directory = self._stack.enter_context(temporary_directory())
        self._start = partial(servers.start, server, directory)
        self._is_lent = False
        with contextlib.suppress(OSError, servers.ServerError):  # if the lasting server has ended, this check has its own
            self._is_lent = lasting is not None and lasting.lend()
        self.server = lasting if lasting is not None and self._is_lent else self._started()
        guard.allow(written(self.server.address))
        super().__init__(self.server.address, self.server.gone)
        self._stack.callback(super().close)
        self.seen: list[tuple[str, int]] = []
        self._stack.enter_context(redirected((self.host, self.port), self.seen))
        self._stack.enter_context(environment(self.server.environment, self.host, self.port))

    def __enter__(self) -> Backend:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _started(self) -> servers.Server:
        server = self._start()
        self._stack.callback(server.close)
        return server

    @cached_property
    def password(self) -> str:
        """A password, which the server demands from the first time on that somebody asks for it here.

        Raises:
            ServerError: if the server can demand none.
        """
        if VARIABLE in os.environ and PASSWORD in os.environ:
            return os.environ[PASSWORD]
        password = token_hex()
        self.server.demand(password)
        self._stack.enter_context(mock.patch.dict(os.environ, {PASSWORD: password}))
        return password

    def own(self) -> None:
        """Switch to a server of this check's own, which may be harmed."""
        if self._is_lent:
            self._is_lent, self.server = False, self._started()
            self.upstream = self.server.address
            if "password" in vars(self):
                self.server.demand(self.password)

    def look(self) -> None:
        """Check that the server is still there, if it is the kit's own.

        Raises:
            ServerError: if it is not.
        """
        try:
            if self.server.ours:
                connected(self.server.address, TIMEOUT).close()
        except OSError as error:
            raise servers.ServerError(f"{self.server.name} has ended by itself") from error

    def close(self) -> None:
        """End the proxy, and the server if it is the kit's own."""
        self._stack.close()

    def forget(self) -> None:
        """Empty the server, if it is the kit's own."""
        self.calm()
        if self.server.ours:
            self.server.empty()
