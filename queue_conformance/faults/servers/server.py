"""What a server is to the kit, and what most servers are: a process that the kit starts."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import ClassVar

from queue_conformance import guard
from queue_conformance.faults.connections import Address, written
from queue_conformance.processes.process import die_with_parent


class ServerError(Exception):
    """A server cannot be had; the message is one line that says what to do."""


class Server:
    """A server that queues store in, for one check; the next one begins with another, unless this one can be lent.

    A subclass sets the attributes, and overrides the faults that the server offers besides those of the connection, which the
    kit's proxy makes. Rules about others are not covered.

    Args:
        directory: where it may store; it is empty, and is removed when the check, or the run, has ended.

    Attributes:
        name: what it is, for reports.
        address: where it listens.
        ours: whether the kit may empty and harm it.
        environment: variables that tell clients where it is; ``{host}`` and ``{port}`` in them become those of the proxy.

    Raises:
        ServerError: if it does not start.
    """

    name: str = "a server"
    address: Address
    ours: bool = True
    environment: Mapping[str, str] = {}

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    @classmethod
    def missing(cls) -> str:
        """Return what to install, as one line, or ``""`` if it can be had here."""
        return ""

    @classmethod
    def prepare(cls, directory: Path) -> None:
        """Do what is needed once for a run, before the processes that start servers are forked.

        Args:
            directory: that of the run, for what all its servers share.
        """

    def close(self) -> None:
        """End it."""

    gone: Callable[[Address], None] | None = None
    """Cleans up after a connection from an address has ended, where the server does not see by itself that it has."""

    def empty(self) -> None:
        """Remove all that it stores."""

    def commands(self) -> int | None:
        """Return how many commands it has run so far, or ``None`` if it does not tell."""
        return None

    def stored(self) -> list[str]:
        """Return what is stored, such as ``the key k``."""
        return []

    def room(self) -> int:
        """Return how many bytes what is stored takes, without what clients removed.

        A subclass that can tell overrides it; else rules on that are not covered.
        """
        raise NotImplementedError

    def lend(self) -> bool:
        """Go back to the state after the start, for a check that does the server no harm; return whether that worked.

        One server can then last for a run. This is called in the process of the check, which is not the one that started it.
        """
        return False

    def demand(self, password: str) -> None:
        """Refuse clients that do not give a password, until it is lent the next time.

        Raises:
            ServerError: if it can demand none.
        """
        raise ServerError(f"{self.name} has no password of the kit's: write its own instead of {{password}}, or none")

    # --- Faults ------------------------------------------------------------------------------------------------------

    @classmethod
    def offers(cls, fault: str) -> bool:
        """Whether it offers a fault, or a look at what it stores, by the name of its method."""
        return cls.ours and getattr(cls, fault) is not getattr(Server, fault)

    def stopped(self) -> AbstractContextManager[object]:
        """End it at once; afterwards start it again, with all that it acknowledged."""
        raise NotImplementedError

    def frozen(self) -> AbstractContextManager[object]:
        """Let it do nothing; afterwards it does what it was sent meanwhile."""
        raise NotImplementedError

    def out_of_space(self) -> AbstractContextManager[object]:
        """Let it refuse to store."""
        raise NotImplementedError

    def read_only(self) -> AbstractContextManager[object]:
        """Let it refuse to write."""
        raise NotImplementedError

    def locked(self) -> AbstractContextManager[object]:
        """Let it refuse whoever has not given a password that nobody knows."""
        raise NotImplementedError

    def replace_storage(self) -> int:
        """Put something else in the place of all that is stored, for good.

        Returns:
            How much that was.
        """
        raise NotImplementedError

    def expire(self) -> int:
        """Let all that has a time to live come to its end.

        Returns:
            How much that was.
        """
        raise NotImplementedError


TIMEOUT = 10.0
"""Seconds that a server gets to answer."""

START = 60.0
"""Seconds that one of the kit's own gets to start, which is long on a machine that is busy; one that has ended gets no more."""


class ProcessServer(Server):
    """A server that is a process, which ends with the one that started it.

    Attributes:
        command: what starts it.
        kill: the name of the signal that ends it at once, with the processes that it started.
    """

    command: Sequence[str]
    kill: ClassVar[str] = "SIGKILL"

    def is_ready(self) -> bool:
        """Whether it answers; an ``OSError`` or a ``ServerError`` says that it does not yet."""
        raise NotImplementedError

    def enter(self) -> None:
        """Do what the new process needs before it becomes the server."""

    def start(self) -> None:
        """Start it, with what it held when it was stopped.

        Raises:
            ServerError: if it does not start.
        """
        guard.allow(written(self.address))  # the kit asks it for signs of life before it listens
        with open(self.directory / "log", "wb") as log:
            how = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log, "preexec_fn": partial(self._enter, os.getpid())}
            # While it is frozen, its group may lose the last process with a parent in another one, and would go on by SIGCONT,
            # after a SIGHUP: no other process is to be in it.
            self._process = subprocess.Popen(self.command, cwd=self.directory, start_new_session=True, **how)  # type: ignore[call-overload]
        deadline = time.monotonic() + START
        while True:
            with suppress(OSError, ServerError):  # not there yet, or still loading
                if self.is_ready():
                    return
            if time.monotonic() > deadline or self._process.poll() is not None:
                said = (self.directory / "log").read_text("utf-8", "replace").split("\n")
                raise ServerError(f"--queue-server: {self.command[0]} does not start: {' '.join(said[-3:])}".rstrip(": "))
            time.sleep(0.001)

    def _enter(self, parent: int) -> None:
        guard.exempt()
        self.enter()
        die_with_parent(parent, self.kill)

    def stop(self) -> None:
        """End it at once."""
        self._process.send_signal(getattr(signal, self.kill))
        self._process.wait()

    def close(self) -> None:
        self.stop()

    @contextmanager
    def stopped(self) -> Iterator[None]:
        self.stop()
        try:
            yield
        finally:
            self.start()

    @contextmanager
    def frozen(self) -> Iterator[None]:
        try:
            self._process.send_signal(signal.SIGSTOP)
            if self._process.returncode is None:
                wait_until_stopped(self._process.pid)
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)


def wait_until_stopped(pid: int) -> None:
    """Wait until a process that was sent SIGSTOP has stopped: until the signal comes, one more request is answered."""
    ends = time.monotonic() + TIMEOUT
    with suppress(OSError, IndexError):  # it is gone, or the system tells of no process
        while time.monotonic() < ends and Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "TtZX":
            time.sleep(0.001)
