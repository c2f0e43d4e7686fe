"""What listens: of all that the kit starts and opens, nothing is of use to another user of the machine.

SECURITY.md names these tests. Those that are another user need to be root for it.
"""

import asyncio
import importlib.util
import os
import pickle
import re
import socket
import ssl
import stat
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest
from kit import NO_POSTGRESQL, TESTS

from queue_conformance.environments.site import Site
from queue_conformance.faults import credentials, servers
from queue_conformance.faults.backend import Backend
from queue_conformance.faults.credentials import same_user
from queue_conformance.faults.network import FaultProxy
from queue_conformance.faults.servers.redis import FakeRedisServer, RedisServer, ask, executable
from queue_conformance.frontends.scratch import Scratch
from queue_conformance.processes.process import forked

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells whose connection it is")
ROOT = pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can be another user")
NOBODY = 65534

REDIS = pytest.param("redis-server", marks=pytest.mark.skipif(bool(RedisServer.missing()), reason=RedisServer.missing() or "-"))
FAKE = pytest.param("fakeredis", marks=pytest.mark.skipif(bool(FakeRedisServer.missing()), reason="fakeredis is not installed"))
POSTGRESQL = pytest.param("postgresql", marks=pytest.mark.skipif(bool(NO_POSTGRESQL), reason=NO_POSTGRESQL or "-"))

HELLO = {"redis-server": b"PING\r\n", "fakeredis": b"PING\r\n", "postgresql": bytes.fromhex("0000000804d2162f")}
"""What each server answers: PostgreSQL is asked for encryption."""


def as_another(function, *arguments):
    """Call a function in a process of another user; return what it returns, or the exception."""
    reader, writer = os.pipe()
    pid = forked()
    if pid == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            try:
                said = function(*arguments)
            except Exception as error:
                said = error
            os.write(writer, pickle.dumps(said))
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        said = pickle.load(pipe)
    os.waitpid(pid, 0)
    return said


def talk(address, sent):
    """Return what comes back from a connection, ``b""`` where it is closed."""
    with socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET) as connection:
        connection.settimeout(20)
        connection.connect(address)
        with suppress(ConnectionError):
            connection.sendall(sent)
            return connection.recv(100)
        return b""


def listeners(root):
    """Return the addresses on which a process and those below it listen by TCP."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
    family = {root}
    while more := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= more
    inodes = set()
    for link in (link for pid in family for link in Path(f"/proc/{pid}/fd").glob("*")):
        with suppress(OSError):
            inodes.update(re.findall(r"socket:\[(\d+)\]", os.readlink(link)))
    found = set()
    for name in ("tcp", "tcp6"):
        for line in Path("/proc/net", name).read_text().splitlines()[1:]:
            _, local, _, state, *rest = line.split()
            if state == "0A" and rest[5] in inodes:
                host, port = local.split(":")
                found.add((socket.inet_ntoa(bytes.fromhex(host)[::-1]) if len(host) == 8 else host, int(port, 16)))
    return found


@pytest.fixture(scope="module")
def known():
    """What this process, and others below it, listened on before."""
    return listeners(os.getpid())


# --- The page --------------------------------------------------------------------------------------------------------

PAGE = TESTS.parent / "SECURITY.md"

OPENS = re.compile(
    r"\bserve_forever\b|\b(?:listen|start_server|start_unix_server|create_server|create_unix_server|LocalCluster|Manager|Listener)\("
    r"|\bclass .*\bProcessServer\)"
)
"""What the source of a module says that lets something listen."""

OTHERWISE = {
    "processes/process.py": "it listens to a child, over a pipe",
    "faults/credentials.py": "it looks whether the kernel knows a socket of its own",
    "faults/redirection.py": "it passes on that the class listens",
    "guard/hook.py": "it does, too",
}


def test_the_page_names_what_listens_and_tests_that_there_are():
    page, here = PAGE.read_text("utf-8"), Path(__file__).read_text("utf-8")
    kit = TESTS.parent / "queue_conformance"
    opening = {str(path.relative_to(kit)) for path in kit.rglob("*.py") if OPENS.search(path.read_text("utf-8"))}
    named = set(re.findall(r"\(`(\S+\.py)`\)", page))
    assert opening - OTHERWISE.keys() == named - OTHERWISE.keys()
    tests = re.findall(r"`(test_\w+)`", page)
    assert tests
    assert all(f"def {name}(" in here for name in tests)


# --- Whose connection it is ------------------------------------------------------------------------------------------


@pytest.fixture
def pair():
    """Both ends of a connection over the loopback address: the one that was accepted, and the other."""
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()) as client,
        listener.accept()[0] as accepted,
    ):
        yield accepted, client


@LINUX
def test_a_connection_is_known_by_the_user_whose_socket_is_at_its_other_end(pair, monkeypatch):
    accepted, _ = pair
    assert same_user(accepted)
    monkeypatch.setattr(os, "geteuid", lambda: NOBODY)
    assert not same_user(accepted)


@LINUX
@pytest.mark.parametrize("begun", [socket.SHUT_WR, None])
def test_what_its_process_has_closed_is_nobodys(pair, begun):
    accepted, client = pair
    if begun is not None:
        client.shutdown(begun)
        assert same_user(accepted), "which still listens to the answer"
    client.close()
    assert not same_user(accepted)


@LINUX
def test_a_connection_by_the_other_family_of_addresses_is_known_too():
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket(socket.AF_INET6) as client:
        client.connect((f"::ffff:{listener.getsockname()[0]}", listener.getsockname()[1]))
        with listener.accept()[0] as accepted:
            assert same_user(accepted)


def test_where_the_kernel_does_not_tell_everybody_is_welcome(pair, monkeypatch):
    accepted, client = pair
    client.close()
    monkeypatch.setattr(credentials, "_kernel_tells", lambda: False)
    assert same_user(accepted)


# --- Servers ---------------------------------------------------------------------------------------------------------


@LINUX
@ROOT
@pytest.mark.parametrize("name", [REDIS, FAKE, POSTGRESQL])
def test_the_proxy_serves_its_own_user_alone(name, tmp_path):
    with Backend(name, tmp_path / "server") as backend:
        address = (backend.host, backend.port)
        assert talk(address, HELLO[name])
        accepted = backend.accepted
        assert as_another(talk, address, HELLO[name]) == b""
        assert backend.accepted == accepted


@LINUX
@ROOT
@pytest.mark.parametrize("name", [REDIS, FAKE, POSTGRESQL])
def test_a_private_server_serves_its_own_user_alone(name):
    scratch = Scratch()
    with closing(servers.start(name, scratch.path / "server")) as server:
        assert talk(server.address, HELLO[name])
        refused = as_another(talk, server.address, HELLO[name])
        assert refused == b"" or isinstance(refused, PermissionError)
    scratch.remove()


@LINUX
@pytest.mark.parametrize("name", [REDIS, FAKE, POSTGRESQL])
def test_of_a_private_server_only_the_proxy_listens_by_tcp(name, known):
    with Backend(name) as backend:
        ours = {(backend.host, backend.port), *([backend.server.address] if name == "fakeredis" else ())}
        assert listeners(os.getpid()) - known == ours
        assert {host for host, _ in ours} == {"127.0.0.1"}
        assert stat.S_IMODE(os.stat(backend.server.directory).st_mode) == 0o700


@LINUX
def test_nobody_takes_the_place_of_a_server_that_is_away():
    with socket.create_server(("127.0.0.1", 0)) as upstream, closing(FaultProxy(upstream.getsockname())) as proxy:
        with socket.create_connection((proxy.host, proxy.port)):  # so that there is a connection of this port to be cut
            upstream.accept()[0].close()
        proxy.refuse()
        with socket.socket() as other:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with pytest.raises(OSError, match="in use"):
                other.bind((proxy.host, proxy.port))
        proxy.recover()
        socket.create_connection((proxy.host, proxy.port)).close()


@LINUX
@pytest.mark.parametrize("name", [REDIS])
def test_a_described_program_can_listen_where_nobody_else_gets(name, known):
    command = [executable(), "--port", "0", "--unixsocket", "{socket}"]
    with Backend({"command": command}) as backend:
        assert listeners(os.getpid()) - known == {(backend.host, backend.port)}
        assert talk((backend.host, backend.port), HELLO[name])
        if os.getuid() == 0:
            assert isinstance(as_another(talk, backend.server.address, HELLO[name]), PermissionError)


COMMANDS = [
    "CONFIG SET dir /",
    "CONFIG REWRITE",
    "SAVE",
    "BGSAVE",
    "BGREWRITEAOF",
    "DEBUG JMAP",
    "MODULE LOAD /tmp/evil.so",
    "SHUTDOWN",
    "REPLICAOF localhost 1",
    "SLAVEOF localhost 1",
    "MIGRATE localhost 1 key 0 1",
    "MONITOR",
    "ACL SETUSER default +@all",
]


@pytest.mark.parametrize("name", [REDIS])
def test_clients_of_a_private_redis_do_not_administer_it(name):
    with Backend(name) as backend:
        address = (backend.host, backend.port)
        for again in (backend.server.stopped, backend.server.locked):
            for command in COMMANDS:
                with pytest.raises(servers.ServerError, match=r"NOPERM|not allowed"):
                    ask(address, *command.split())
            with pytest.raises(servers.ServerError, match="WRONGPASS"):
                ask(address, "PING", login=(backend.server.login[0], "password"))
            assert ask(address, "SET", "key", "value") == "OK"
            assert ask(address, "CONFIG", "GET", "port") == [b"port", b"0"]
            with again():
                pass


STATEMENTS = [
    "COPY mine FROM PROGRAM 'id'",
    "COPY mine TO '/tmp/queue-conformance'",
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT pg_ls_dir('/')",
    "SELECT lo_import('/etc/passwd')",
    "LOAD '/tmp/evil.so'",
    "CREATE FUNCTION evil() RETURNS int LANGUAGE c AS '/tmp/evil', 'evil'",
    "ALTER SYSTEM SET archive_command = 'id'",
    "ALTER ROLE postgres SUPERUSER",
    "SET ROLE queue_conformance",
    "SET SESSION AUTHORIZATION queue_conformance",
    "SELECT * FROM pg_authid",
]


@pytest.mark.parametrize("name", [POSTGRESQL])
def test_clients_of_a_private_postgresql_do_not_administer_it(name):
    psycopg = pytest.importorskip("psycopg")
    with Backend(name) as backend:
        with psycopg.connect(autocommit=True) as client:
            client.execute("CREATE TABLE mine (item text)")
            for statement in STATEMENTS:
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    client.execute(statement)
            client.execute("CREATE SCHEMA others CREATE TABLE more (item text)")
        for password in ({}, {"password": "password"}):
            with pytest.raises(psycopg.OperationalError, match="password"):
                psycopg.connect(user="queue_conformance", **password)
        backend.server.lend()
        with psycopg.connect() as client:
            client.execute("CREATE TABLE mine (item text)")


# --- Sites -----------------------------------------------------------------------------------------------------------


@contextmanager
def scrapys(directory):
    """Yield the port of a site that Scrapy crawls."""
    with Site({0: [1]}, str(directory), {}) as site:
        site.numbers, site.answered = [], set()
        yield site.server_port
        site.shutdown()


@contextmanager
def qcrawls(directory):
    """Yield the port of a site that qCrawl crawls."""
    from queue_conformance.kinds.async_scheduler.script_support import Site

    loop, site = asyncio.new_event_loop(), Site({})
    loop.run_until_complete(site.start())
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    yield int(site.root.rpartition(":")[2])
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    site.server.close()
    loop.close()


NEEDS_QCRAWL = pytest.mark.skipif(importlib.util.find_spec("qcrawl") is None, reason="qCrawl is not installed")


@LINUX
@pytest.mark.parametrize("site", [scrapys, pytest.param(qcrawls, marks=NEEDS_QCRAWL)])
def test_a_site_serves_its_own_user_alone(site, tmp_path, known):
    asked = b"GET /0 HTTP/1.0\r\nUser-Agent: test\r\n\r\n"
    with site(tmp_path) as port:
        assert listeners(os.getpid()) - known == {("127.0.0.1", port)}
        assert b"200" in talk(("127.0.0.1", port), asked)
        if os.getuid() == 0:
            assert as_another(talk, ("127.0.0.1", port), asked) == b""


# --- Campaigns -------------------------------------------------------------------------------------------------------

CLUSTER = """
import sys
from queue_conformance.campaign.running import _cluster

if __name__ == "__main__":
    with _cluster(1) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


def keys_of_another(directory):
    """Return what a client knows who has made keys of its own, and trusts whoever answers."""
    distributed = pytest.importorskip("distributed")
    made = distributed.Security.temporary()
    (directory / "keys.pem").write_text(made.tls_client_key + made.tls_client_cert)
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.load_cert_chain(directory / "keys.pem")
    return context


def answer(address, context):
    """Return what comes from a process of a cluster, which says first who it is, ``b""`` where it closes the connection."""
    with socket.create_connection(address, timeout=20) as connection, suppress(OSError):
        if context is not None:
            connection = context.wrap_socket(connection)
        connection.sendall(bytes(8))
        return connection.recv(100)
    return b""


@LINUX
def test_who_has_not_the_keys_of_a_campaign_gets_nothing_from_its_cluster(tmp_path):
    (tmp_path / "cluster.py").write_text(CLUSTER)
    (temporary := tmp_path / "temporary").mkdir()
    context = keys_of_another(tmp_path)
    anybody = as_another if os.getuid() == 0 else lambda function, *arguments: function(*arguments)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    command = [sys.executable, tmp_path / "cluster.py"]
    environment = {"PYTHONPATH": str(TESTS.parent), "TMPDIR": str(temporary)}
    with subprocess.Popen(command, env=os.environ | environment, **pipes) as cluster:
        assert cluster.stdout.readline().startswith("tls://127.0.0.1:")
        found = listeners(cluster.pid)
        assert {host for host, _ in found} == {"127.0.0.1"}
        served = [address for address in sorted(found) if b"HTTP" in talk(address, b"GET / HTTP/1.0\r\n\r\n")]
        assert len(served) == 2, "of the scheduler and of the worker"
        for host, port in served:
            for path in ("status", "health", "metrics", "json/counts.json", "info/main/workers.html", "api/v1/get_workers"):
                with pytest.raises(urllib.error.HTTPError, match="404"):
                    urllib.request.urlopen(f"http://{host}:{port}/{path}", timeout=20)
        encrypted = sorted(found - set(served))
        assert len(encrypted) == 3, "scheduler, nanny and worker"
        for address in encrypted:
            assert anybody(answer, address, None) == b""
            assert anybody(answer, address, context) == b""
        cluster.communicate()
    # It imports from a directory that it makes, which must be in that of the run: others may make one of a known name before it.
    assert list(temporary.iterdir()) == []
