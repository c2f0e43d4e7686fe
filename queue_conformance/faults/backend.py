"""What a queue stores in besides memory and files: a server, and the proxy between the two.

Scripts use it as well::

    backend = Backend("redis")
    crawler = get_crawler(Spider, {"REDIS_URL": f"redis://{backend.host}:{backend.port}/0"})
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from types import TracebackType

from queue_conformance.faults import servers
from queue_conformance.faults.network import FaultProxy, redirected
from queue_conformance.faults.servers import RedisServer, ask

VARIABLE = "QUEUE_CONFORMANCE_SERVER"


class Backend:
    """A server, with a proxy in front of it that can do it harm.

    Args:
        server: what ``--queue-server`` says.
        directory: where a server of the kit's own stores; a temporary one if not given.

    Attributes:
        server: the server.
        proxy: the proxy.
        host, port: where the queue finds the proxy.
        seen: other addresses that were connected to, and led to the proxy.

    The environment variable ``QUEUE_CONFORMANCE_SERVER`` replaces the server, so that the second process of a script uses
    that of the first.

    Raises:
        ServerError: if the server cannot be had.
    """

    def __init__(self, server: str, directory: Path | None = None) -> None:
        server = os.environ.get(VARIABLE, server)
        self._stack = contextlib.ExitStack()
        if directory is None:
            directory = Path(self._stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        self.server = servers.start(server, directory)
        self._stack.callback(self.server.close)
        self.proxy = FaultProxy(self.server.address)
        self._stack.callback(self.proxy.close)
        self.host, self.port = self.proxy.host, self.proxy.port
        self.seen: list[tuple[str, int]] = []
        self._stack.enter_context(redirected((self.host, self.port), self.seen))

    def __enter__(self) -> Backend:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the proxy, and the server if it is the kit's own."""
        self._stack.close()

    def refuse(self) -> None:
        """End every connection and refuse new ones."""
        self.proxy.refuse()

    def reset(self) -> None:
        """End every connection; new ones are welcome."""
        self.proxy.reset()

    def cut_request(self, after: int) -> None:
        """Let some more bytes of requests pass, then end the connection and refuse new ones."""
        self.proxy.cut_request(after)

    def cut_reply(self, after: int) -> None:
        """Let some more bytes of replies pass, then end the connection and refuse new ones."""
        self.proxy.cut_reply(after)

    def stall(self) -> None:
        """Pass nothing any more, and end nothing."""
        self.proxy.stall()

    def recover(self) -> None:
        """End all faults."""
        self.proxy.recover()

    def forget(self) -> None:
        """Empty the server, if it is the kit's own."""
        if self.server.ours:
            ask(self.server.address, "FLUSHALL")

    def replace_storage(self) -> int:
        """Put something else under every key of the server: what was stored is gone for good.

        Returns:
            The number of keys.
        """
        keys = ask(self.server.address, "KEYS", "*")
        for key in keys:
            kind = ask(self.server.address, "TYPE", key)
            ask(self.server.address, "DEL", key)
            if kind == "string":
                ask(self.server.address, "RPUSH", key, "foreign")
            else:
                ask(self.server.address, "SET", key, "foreign")
        return len(keys)

    def restart(self) -> None:
        """Stop the server and start it again, with what it held.

        Raises:
            TypeError: if it is not a redis-server of the kit's own.
        """
        if not isinstance(self.server, RedisServer):
            raise TypeError(f"{self.server.name} cannot be restarted")
        self.server.stop()
        self.server.start()
