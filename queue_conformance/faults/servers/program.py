"""Any program as a server, as ``[tool.queue_conformance.servers.NAME]`` of pyproject.toml describes it."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from queue_conformance.faults.connections import connected
from queue_conformance.faults.servers.server import TIMEOUT, ProcessServer, Server, ServerError


class ProgramServer(ProcessServer):
    """A program that listens on a port of the loopback address, or on a socket in the directory that it is started in.

    In each part of a command, ``{port}``, ``{socket}`` and ``{directory}``, where it stores, are replaced.

    Attributes:
        program: the command that starts it.
        port: where it listens, or 0 for a port that is free.
        ready: what it prints once it can be used; without it, it can once it accepts connections.
        emptying: the command that empties it; without one, it begins again with an empty directory.
    """

    name = "a program"
    program: ClassVar[Sequence[str]]
    port: ClassVar[int] = 0
    ready: ClassVar[str] = ""
    emptying: ClassVar[Sequence[str]] = ()

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._port = self.port or _free_port()
        self._socket = directory / "s"
        by_socket = any("{socket}" in part for part in self.program)
        self.address = str(self._socket) if by_socket else ("127.0.0.1", self._port)
        self.command = self._filled(self.program)
        self.start()

    @classmethod
    def missing(cls) -> str:
        return "" if shutil.which(cls.program[0]) else f"there is no program {cls.program[0]!r}, which starts {cls.name}"

    def start(self) -> None:
        self._socket.unlink(missing_ok=True)  # not every program replaces that of one which was killed
        super().start()

    def is_ready(self) -> bool:
        if self.ready not in (self.directory / "log").read_text("utf-8", "replace"):
            return False
        connected(self.address, TIMEOUT).close()
        return True

    def empty(self) -> None:
        if self.emptying:
            command = self._filled(self.emptying)
            ended = subprocess.run(command, cwd=self.directory, capture_output=True, text=True, stdin=subprocess.DEVNULL)
            if ended.returncode:
                said = (ended.stderr.strip() or ended.stdout.strip() or f"exit status {ended.returncode}").splitlines()[-1]
                raise ServerError(f"{' '.join(command)}: {said}")
            return
        self.stop()
        shutil.rmtree(self.directory)
        self.directory.mkdir()
        self.start()

    def _filled(self, command: Sequence[str]) -> list[str]:
        places = {"{port}": self._port, "{socket}": self._socket, "{directory}": self.directory}
        for place, value in places.items():
            command = [part.replace(place, str(value)) for part in command]
        return list(command)


def described(said: Mapping[str, Any], name: str = "a program") -> type[Server]:
    """Return the server that a table describes.

    Args:
        said: the table: ``command``, and ``port``, ``ready`` and ``empty`` if they matter.
        name: what it is called.

    Raises:
        ValueError: if the table makes no sense; the message says what to write.
    """
    known = {"command": list, "port": int, "ready": str, "empty": list}
    for key, value in said.items():
        if key not in known:
            raise ValueError(f"there is no key {key!r}; known are {', '.join(known)}")
        kind = known[key]
        parts = value if isinstance(value, list) else []
        if not isinstance(value, kind) or isinstance(value, bool) or not all(isinstance(part, str) for part in parts):
            raise ValueError(f"{key}: write {_WRITTEN[kind]}, not {value!r}")
    if not said.get("command"):
        raise ValueError('write the command that starts it: command = ["my-server", "--port", "{port}"]')
    if not 0 <= said.get("port", 0) < 65536:
        raise ValueError(f"port: write a number from 1 to 65535, not {said['port']!r}")
    values = {"name": name, "program": said["command"], "emptying": said.get("empty", ())}
    return type("DescribedServer", (ProgramServer,), values | {key: said[key] for key in ("port", "ready") if key in said})


_WRITTEN = {list: 'a list of words, such as ["my-server", "{port}"]', int: "a number", str: "a text"}


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
