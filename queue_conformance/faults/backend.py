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
from uuid import uuid4

from queue_conformance.faults import servers
from queue_conformance.faults.network import FaultProxy
from queue_conformance.faults.redirection import redirected
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
        faulty: whether a fault has begun, and not ended.
        harmed: whether anything was done to the server or its connections since it was last emptied.

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
        self.proxy = FaultProxy(self.server.address, self.server.gone)
        self._stack.callback(self.proxy.close)
        self.host, self.port = self.proxy.host, self.proxy.port
        self.seen: list[tuple[str, int]] = []
        self.faulty = self.harmed = False
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
            try:
                ask(self.server.address, "FLUSHALL")
            except TimeoutError:
                raise
            except OSError as error:
                raise servers.ServerError(f"{self.server.name} answers no more: {error}") from error

    def stored(self) -> list[str]:
        """Return the names of what is stored; nothing is known of a server that is not the kit's own."""
        keys = ask(self.server.address, "KEYS", "*") if self.server.ours else []
        return sorted(key.decode("utf-8", "replace") for key in keys)

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

    def drop_hashes(self) -> int:
        """Remove every hash of a Redis server: an index beside it is left with entries for nothing.

        Returns:
            The number of hashes.
        """
        hashes = [key for key in ask(self.server.address, "KEYS", "*") if ask(self.server.address, "TYPE", key) == "hash"]
        for key in hashes:
            ask(self.server.address, "DEL", key)
        return len(hashes)

    # --- Faults of a redis-server of the kit's own -------------------------------------------------------------------

    @property
    def _redis(self) -> RedisServer:
        if not isinstance(self.server, RedisServer):
            raise TypeError(f"{self.server.name} is no redis-server of the kit's own")
        self.harmed = True
        return self.server

    def stop_server(self) -> None:
        """End the server at once; what it acknowledged is kept."""
        self._redis.stop()

    def start_server(self) -> None:
        """Start the server again."""
        self._redis.start()

    def freeze_server(self) -> None:
        """Let the server do nothing; what is sent to it is done once it is thawed."""
        self._redis.freeze()

    def thaw_server(self) -> None:
        """Let the server go on."""
        self._redis.thaw()

    def demand_password(self) -> None:
        """Let the server refuse whoever has not given a password that nobody knows; it wants none after a restart."""
        ask(self._redis.address, "CONFIG", "SET", "requirepass", uuid4().hex)

    def fill_memory(self) -> None:
        """Let the server have no memory left: it refuses to store."""
        ask(self._redis.address, "CONFIG", "SET", "maxmemory", "1")

    def free_memory(self) -> None:
        """Give the server its memory back."""
        ask(self._redis.address, "CONFIG", "SET", "maxmemory", "0")

    def forbid_writes(self) -> None:
        """Make the server a replica of one that does not exist: it refuses to write."""
        ask(self._redis.address, "REPLICAOF", "127.0.0.1", "1")

    def allow_writes(self) -> None:
        """Make the server its own master again."""
        ask(self._redis.address, "REPLICAOF", "NO", "ONE")
