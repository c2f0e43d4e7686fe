"""PostgreSQL, programs that pyproject.toml describes, and servers that other distributions offer."""

import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import textwrap
import threading
import time
import tomllib
from contextlib import closing, nullcontext
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace

import pytest
from kit import NO_POSTGRESQL, examine, failed_rules, further
from pages import DOCS

from queue_conformance.engine.scripts import source_of_backend
from queue_conformance.engine.verdicts import RunVerdict, Verdict
from queue_conformance.faults import servers
from queue_conformance.faults.backend import Backend
from queue_conformance.faults.network import FaultProxy
from queue_conformance.faults.outages import Frozen, OutOfSpace, PasswordWanted, ReadOnly, Stopped, StorageReplaced
from queue_conformance.faults.servers import ServerError, check_name
from queue_conformance.faults.servers import postgresql as postgresql_servers
from queue_conformance.faults.servers.postgresql import PostgreSQLServer
from queue_conformance.faults.servers.redis import RedisServer, ask, executable
from queue_conformance.implementation.loading import LoadError
from queue_reference.redis import FifoRedisQueue

NEEDS_REDIS = pytest.mark.skipif(bool(RedisServer.missing()), reason=RedisServer.missing() or "there is one")
NEEDS_POSTGRESQL = pytest.mark.skipif(bool(PostgreSQLServer.missing()), reason=PostgreSQLServer.missing() or "there is one")


# --- Programs --------------------------------------------------------------------------------------------------------


@pytest.fixture
def described(monkeypatch):
    monkeypatch.setattr(servers, "described", {})
    listening = ["--port", "0", "--unixsocket", "{socket}"]
    command = [executable() or "redis-server", *listening, "--dir", "{directory}", "--save", "", "--appendonly", "yes"]
    servers.describe({"mine": {"command": command, "ready": "eady to accept connections"}})


@NEEDS_REDIS
@pytest.mark.parametrize("listening", [["--port", "{port}"], ["--port", "0", "--unixsocket", "{socket}"]])
def test_a_program_is_a_server(described, listening):
    command = [executable(), *listening, "--dir", "{directory}", "--save", "", "--appendonly", "yes"]
    servers.describe({"mine": {"command": command, "ready": "eady to accept connections"}})
    assert check_name("mine") == "mine"
    with Backend("mine") as backend:
        assert isinstance(backend.server.address, str) == ("{socket}" in listening)
        address = (backend.host, backend.port)
        ask(address, "SET", "key", "value")
        with backend.server.stopped(), pytest.raises(OSError, match=r".*"):
            ask(address, "PING")
        assert ask(address, "GET", "key") == b"value"
        backend.forget()
        assert ask(address, "GET", "key") is None
        assert backend.server.offers("frozen")
        assert not backend.server.offers("read_only")


@pytest.mark.further
@pytest.mark.skipif(not shutil.which("beanstalkd"), reason="needs beanstalkd")
@pytest.mark.parametrize("seed", [0, 1])
def test_a_queue_in_a_broker_passes_all_that_can_be_asked_of_it(monkeypatch, seed):
    monkeypatch.setattr(servers, "described", {})
    page = (DOCS / "howto-server.md").read_text("utf-8")
    described = tomllib.loads(re.search(r"^\[tool.queue_conformance.servers.beanstalkd\].*?(?=^```)", page, re.M | re.S)[0])
    found = described["tool"]["queue_conformance"]
    servers.describe(found["servers"])
    jobs = found["implementations"]["jobs"]
    report = examine(jobs["queue-class"], settings=jobs["settings"], server=jobs["server"], seed=seed)
    assert not failed_rules(report)
    untested = {v.rule.id for v in report.verdicts if v.verdict in (Verdict.BLOCKED, Verdict.NOT_COVERED)}
    refused = {"queue.push.permanent-error", "queue.pop.permanent-raises", "e2e.server-refuses"}
    assert untested == refused | {"queue.persist.room"}, "beanstalkd refuses nothing for good, and does not tell what it stores"


@NEEDS_REDIS
def test_a_queue_is_tested_behind_a_program(described):
    settings = {"REDIS_URL": "redis://{host}:{port}/0", "REDIS_TIMEOUT": "0.5"}
    report = examine(
        "queue_reference.redis.FifoRedisQueue", settings=settings, server="mine", only="server-faults.push", examples=1
    )
    assert report.verdict is RunVerdict.PARTIAL
    assert "server faults not covered: mine offers no server out of space, read-only server" in report.notes


@NEEDS_REDIS
def test_a_script_describes_the_program(described):
    assert source_of_backend("redis") == ["backend = Backend('redis')"]
    (line,) = source_of_backend("mine")
    names = {"Backend": Backend}
    exec(line, names)
    with names["backend"] as backend:
        assert ask((backend.host, backend.port), "PING") == "PONG"


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ([], "write a table for each server"),
        ({"redis": {"command": ["x"]}}, "redis: choose another name"),
        ({"mine": {}}, "mine: write the command that starts it"),
        ({"mine": {"command": "x"}}, "mine: command: write a list of words"),
        ({"mine": {"command": ["x"], "port": "1"}}, "mine: port: write a number, not '1'"),
        ({"mine": {"command": ["x"], "port": 70000}}, "mine: port: write a number from 1 to 65535, not 70000"),
        ({"mine": {"command": ["x"], "reday": "x"}}, "mine: there is no key 'reday'; known are command, port, ready, empty"),
    ],
)
def test_a_wrong_description_is_explained(table, expected):
    with pytest.raises(ValueError, match="^" + expected):
        servers.describe(table)


def test_the_command_line_knows_the_programs_of_pyproject(pytester):
    pytester.makepyprojecttoml('[tool.queue_conformance.servers.mine]\ncommand = ["there-is-no-such-program"]\n')
    for name, expected in {
        "mine": "there is no program 'there-is-no-such-program', which starts mine",
        "mime": "write redis, *, or HOST:PORT of a running server, not 'mime'",
    }.items():
        result = pytester.runpytest_subprocess("--queue-class=queue_reference.memory.FifoMemoryQueue", f"--queue-server={name}")
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines([f"ERROR: --queue-server: {expected}"])


def test_a_program_that_does_not_start_says_why(tmp_path):
    command = [sys.executable, "-c", "print('the licence has expired'); raise SystemExit(1)"]
    with pytest.raises(ServerError, match="there is no server 'mime'; known are redis,"):
        servers.start("mime", tmp_path / "server")
    with pytest.raises(ServerError, match="does not start: the licence has expired"):
        servers.start({"command": command}, tmp_path / "server")


# --- Other distributions ---------------------------------------------------------------------------------------------


class Another(RedisServer):
    """What another distribution may offer."""

    name = "another server"


def offers(monkeypatch, **classes):
    """Let another distribution offer servers, by their names."""
    points = [EntryPoint(name, f"test_servers:{cls}", servers._GROUP) for name, cls in classes.items()]
    monkeypatch.setattr(servers, "entry_points", lambda group, name="": [p for p in points if name in ("", p.name)])


class Killed(RedisServer):
    """A server that can be killed by whoever reads the environment."""

    def __init__(self, directory):
        super().__init__(directory)
        self.environment = {"KILLED": str(self._process.pid)}


class Kills(FifoRedisQueue):
    """A queue whose server ends by itself in the middle of a long check."""

    pushed = 0

    def push(self, request):
        super().push(request)
        Kills.pushed += 1
        if Kills.pushed == 90:
            os.kill(int(os.environ["KILLED"]), signal.SIGKILL)


@NEEDS_REDIS
def test_a_server_that_ends_by_itself_is_nobodys_broken_rule(monkeypatch):
    offers(monkeypatch, killed="Killed")
    report = examine("test_servers.Kills", settings=REDIS[1], server="killed", only={"queue.close.releases"})
    assert not failed_rules(report)
    assert report.verdict is RunVerdict.INCONCLUSIVE
    line = "the server behind it failed (a private redis-server has ended by itself): look at its log, and run again"
    assert line in report.notes


@NEEDS_REDIS
def test_other_distributions_offer_servers(monkeypatch):
    offers(monkeypatch, another="Another", bad="Bad")
    assert check_name("another") == "another"
    with Backend("another") as backend:
        assert backend.server.name == "another server"
    with pytest.raises(ServerError, match=r"^bad: test_servers:Bad cannot be imported: module 'test_servers' has no"):
        check_name("bad")


# --- PostgreSQL ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def postgresql(tmp_path_factory):
    if NO_POSTGRESQL:
        pytest.skip(NO_POSTGRESQL)
    import psycopg

    with Backend("postgresql", tmp_path_factory.mktemp("pg")) as backend:
        yield SimpleNamespace(backend=backend, server=backend.server, psycopg=psycopg)


@pytest.fixture
def client(postgresql):
    postgresql.backend.recover()
    with postgresql.psycopg.connect(autocommit=True, connect_timeout=2) as client:
        client.execute("CREATE TABLE IF NOT EXISTS things (name text)")
        postgresql.backend.forget()
        client.execute("INSERT INTO things VALUES ('a')")
        yield client


def count():
    import psycopg

    with psycopg.connect(autocommit=True) as client:
        return client.execute("SELECT count(*) FROM things").fetchone()[0]


def test_clients_in_c_find_the_proxy(postgresql, client):
    assert (client.info.host, client.info.port) == (postgresql.backend.host, postgresql.backend.port)
    postgresql.backend.refuse()
    with pytest.raises(postgresql.psycopg.OperationalError):
        postgresql.psycopg.connect()


def test_what_it_acknowledged_is_there_when_it_is_back(postgresql, client):
    with postgresql.server.stopped(), pytest.raises(postgresql.psycopg.OperationalError):
        client.execute("SELECT 1")
    assert count() == 1


def test_frozen_it_does_later_what_it_was_sent(postgresql, client):
    pushing = threading.Thread(target=client.execute, args=("INSERT INTO things VALUES ('b')",), daemon=True)
    with postgresql.server.frozen():
        requested = postgresql.backend.requested
        pushing.start()
        while postgresql.backend.requested == requested:
            time.sleep(0.01)
        assert pushing.is_alive()
    pushing.join(30)
    assert count() == 2


def test_read_only_it_refuses_in_sessions_that_there_were(postgresql, client):
    with postgresql.server.read_only(), pytest.raises(postgresql.psycopg.errors.ReadOnlySqlTransaction):
        client.execute("INSERT INTO things VALUES ('b')")
    client.execute("INSERT INTO things VALUES ('b')")


def test_locked_it_refuses_who_connects(postgresql, client):
    with postgresql.server.locked(), pytest.raises(postgresql.psycopg.OperationalError, match="no password"):
        postgresql.psycopg.connect()
    assert count() == 1


def test_sessions_are_dropped(postgresql, client):
    assert postgresql.server.drop_sessions() >= 1  # one that was closed a moment ago may still be there
    with pytest.raises(postgresql.psycopg.errors.AdminShutdown):
        client.execute("SELECT 1")


def test_it_tells_how_much_it_stores(postgresql, client):
    before = postgresql.server.room()
    client.execute("INSERT INTO things VALUES (repeat('x', 100000))")
    assert 100_000 <= postgresql.server.room() - before < 101_000
    client.execute("DELETE FROM things")
    assert postgresql.server.room() == 0


def test_other_tables_take_the_place_of_those_there_were(postgresql, client):
    assert postgresql.server.stored() == ["rows in the table public.things"]
    assert postgresql.server.replace_storage() == 1
    with pytest.raises(postgresql.psycopg.errors.UndefinedColumn):
        client.execute("SELECT name FROM things")
    postgresql.backend.forget()
    assert postgresql.server.stored() == []


def test_an_open_transaction_stops_nobody_from_emptying_it(postgresql, client):
    with closing(postgresql.psycopg.connect()) as other:
        other.execute("DELETE FROM things")
        postgresql.backend.forget()
        assert count() == 0


@NEEDS_POSTGRESQL
def test_nothing_outlives_a_run_that_is_killed(tmp_path):
    code = """
        import pathlib, sys, time
        from queue_conformance.faults.backend import Backend
        backend = Backend("postgresql", pathlib.Path(sys.argv[1]))
        print(backend.server._process.pid, flush=True)
        time.sleep(60)
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as process:
        number = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 30
    while os.path.exists(f"/proc/{number}") and time.monotonic() < deadline:
        time.sleep(0.05)
    with pytest.raises(ProcessLookupError):
        os.kill(number, 0)
    if (segments := Path("/proc/sysvipc/shm")).exists():
        assert str(number) not in [line.split()[4] for line in segments.read_text().splitlines()[1:]]


# --- A server that lasts for a run ------------------------------------------------------------------------------------


def test_each_check_has_postgresql_as_if_it_had_just_started(postgresql, tmp_path):
    connect = postgresql.psycopg.connect
    with closing(servers.lasting("postgresql", tmp_path)) as server:
        with Backend("postgresql", tmp_path / "first", server):
            with connect(autocommit=True) as client:
                client.execute("CREATE TABLE things (name text); CREATE SCHEMA mine CREATE TABLE others (name text)")
                client.execute("INSERT INTO things VALUES ('a')")
            left = connect()
            left.execute("DELETE FROM things")  # nobody commits, and the table is locked
        with Backend("postgresql", tmp_path / "second", server) as backend, connect() as client:
            assert backend.server is server
            seen = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
            assert client.execute(seen).fetchone() == (1,), "its own; the kit's belongs to another role"
            assert client.execute("SELECT to_regclass('things'), to_regclass('mine.others')").fetchone() == (None, None)
        left.close()


def test_a_session_that_a_starting_server_ends_is_closed(monkeypatch):
    ours, theirs = socket.socketpair()
    theirs.close()
    monkeypatch.setattr(postgresql_servers, "connected", lambda *_: ours)
    with pytest.raises(OSError, match="Broken pipe"):
        postgresql_servers._Session("anywhere", "password")
    assert ours.fileno() == -1


@NEEDS_REDIS
def test_each_check_has_redis_as_if_it_had_just_started(tmp_path):
    with closing(servers.lasting("redis-server", tmp_path)) as server:
        with Backend("redis-server", tmp_path / "first", server) as backend:
            ask((backend.host, backend.port), "SET", "key", "value")
        with Backend("redis-server", tmp_path / "second", server) as backend:
            assert backend.server is server
            assert server.stored() == []
            server.ask("CONFIG", "SET", "notify-keyspace-events", "KEA")
        with Backend("redis-server", tmp_path / "third", server) as backend:
            assert backend.server is not server


@pytest.mark.parametrize(
    "name", [pytest.param("redis-server", marks=NEEDS_REDIS), pytest.param("postgresql", marks=NEEDS_POSTGRESQL)]
)
def test_harm_is_done_to_a_server_of_the_check_alone(name, tmp_path):
    server = servers.lasting(name, tmp_path)
    with Backend(name, tmp_path / "first", server) as backend:
        backend.own()
        backend.server.close()
        assert server.lend()
    server.close()
    with Backend(name, tmp_path / "second", server) as backend:  # it has ended
        assert backend.server is not server
        assert backend.server.stored() == []


def knocks(name, backend, **login):
    """Connect by the proxy, with a password or without."""
    if name == "redis-server":
        ask((backend.host, backend.port), "PING", login=("default", login["password"]) if login else ())
    else:
        pytest.importorskip("psycopg").connect(host=backend.host, port=backend.port, **login).close()


@pytest.mark.parametrize(
    "name", [pytest.param("redis-server", marks=NEEDS_REDIS), pytest.param("postgresql", marks=NEEDS_POSTGRESQL)]
)
def test_a_password_is_demanded_once_somebody_asks_for_it(name, tmp_path):
    refused = pytest.raises(Exception, match=r"(?i)NOAUTH|WRONGPASS|password")
    with closing(servers.lasting(name, tmp_path)) as server:
        with Backend(name, tmp_path / "first", server) as backend:
            knocks(name, backend)
            known = {"password": backend.password}
            for again in (nullcontext, backend.server.locked):
                with again():
                    pass
                knocks(name, backend, **known)
                for login in ({}, {"password": "other"}):
                    with refused:
                        knocks(name, backend, **login)
            with backend.server.locked(), refused:
                knocks(name, backend, **known)
            backend.own()
            assert backend.server is not server
            with backend.server.stopped():
                pass
            knocks(name, backend, **known)
            with refused:
                knocks(name, backend)
        with Backend(name, tmp_path / "second", server) as backend:
            knocks(name, backend)


def test_a_server_without_a_password_says_so(described):
    with Backend("mine") as backend, pytest.raises(ServerError, match=r"^mine has no password of the kit's: write its own"):
        assert backend.password


class Administers(FifoRedisQueue):
    """Asks its server to say which keys change."""

    def __init__(self, crawler, key):
        super().__init__(crawler, key)
        self._client.config_set("notify-keyspace-events", "KEA")


@NEEDS_REDIS
def test_what_a_private_server_does_not_let_a_class_do_breaks_no_rule():
    settings = {"REDIS_URL": "redis://{host}:{port}/0"}
    report = examine("test_servers.Administers", settings=settings, server="redis-server", examples=1)
    assert unusable(report, r"its server does not let it do that \(.*config.*\): name one that does, by --queue-server=HOST")


def unusable(report, line):
    """Whether nothing of a class could be tested, for this reason."""
    reasons = {verdict.reason for verdict in report.verdicts if verdict.verdict is Verdict.BLOCKED}
    return report.verdict is RunVerdict.INCONCLUSIVE and len(reasons) == 1 and bool(re.search(line, reasons.pop()))


@NEEDS_REDIS
def test_another_process_is_told_the_password(monkeypatch):
    with Backend("redis-server") as backend:
        password = backend.password
        with monkeypatch.context() as there:
            there.setenv("QUEUE_CONFORMANCE_SERVER", f"{backend.host}:{backend.port}")
            with Backend("redis-server") as other:
                assert other.password == password
    assert "QUEUE_CONFORMANCE_PASSWORD" not in os.environ


@NEEDS_REDIS
def test_a_run_starts_one_server_and_those_that_are_harmed(tmp_path, monkeypatch):
    started, begin = tmp_path / "started", RedisServer.__init__

    def counted(self, directory):
        with started.open("a") as file:
            file.write(f"{directory.name}\n")
        begin(self, directory)

    monkeypatch.setattr(RedisServer, "__init__", counted)
    path, settings = REDIS
    examine(path, settings=settings, server="redis-server", only={"queue.push.accept", "queue.pop.fifo", "server-faults.len"})
    assert started.read_text().split("\n") == ["server redis-server", "server", ""]


FIFO, SHARED = "queue_reference.postgresql.FifoPostgreSQLQueue", "queue_reference.postgresql_shared.SharedFifoPostgreSQLQueue"
SETTINGS = {FIFO: {"POSTGRESQL_TIMEOUT": "0.5"}, SHARED: {"POSTGRESQL_TIMEOUT": "0.5", "POSTGRESQL_LEASE": "1"}}
CLAIMS = {FIFO: {}, SHARED: {"shared": "yes"}}


@pytest.mark.parametrize(
    ("path", "only"),
    [(SHARED, {"queue.shared.once", "queue.shared.no-loss"}), *further((FIFO, None), (SHARED, None))],
)
def test_the_reference_queues_pass(path, only, postgresql):
    report = examine(path, CLAIMS[path], settings=SETTINGS[path], server="postgresql", only=only)
    assert not failed_rules(report)
    if only is None:
        assert report.verdict is RunVerdict.CONFORMANT
    else:
        assert {check.name for check in report.checks} >= only


@pytest.mark.parametrize(
    ("named", "goes_past"), [("{host}:{port}", True), *further(("{host}:{port}", False), ("postgresql", True))]
)
def test_a_client_in_c_that_goes_past_the_kit_is_named(named, goes_past, postgresql, tmp_path):
    with closing(servers.lasting("postgresql", tmp_path)) as server, closing(FaultProxy(server.address)) as running:
        address = f"host={running.host} port={running.port}" if goes_past else "host={host} port={port}"
        settings = SETTINGS[FIFO] | {"POSTGRESQL_DSN": f"{address} user=postgres dbname=postgres"}
        only = {"queue.push.accept", "queue.push.transient-error", "queue.ctor.fail-early"}
        named = named.format(host=running.host, port=running.port)
        report = examine(FIFO, settings=settings, server=named, only=only, allow=[f"localhost:{running.port}"])
    found = {verdict.rule.id: verdict.verdict for verdict in report.verdicts}
    assert found["queue.push.accept"] is Verdict.PASSED
    assert found["queue.push.transient-error"] is (Verdict.NOT_COVERED if goes_past else Verdict.PASSED)
    assert found["queue.ctor.fail-early"] is (Verdict.NOT_COVERED if goes_past else Verdict.PASSED)
    notes = [note for note in report.notes if "past the kit" in note]
    assert len(notes) == goes_past
    assert all(f"it is connected to {running.host}:{running.port}, past the kit" in note for note in notes)


def test_a_client_in_c_that_finds_a_server_by_itself_is_seen(postgresql, tmp_path):
    with closing(servers.start("postgresql", tmp_path / "pg")) as server, closing(FaultProxy(server.address)) as running:
        settings = {"POSTGRESQL_DSN": f"host={running.host} port={running.port} user=postgres dbname=postgres"}
        allow = [f"localhost:{running.port}"]
        report = examine(FIFO, settings=settings, allow=allow, only={"queue.push.accept", "queue.push.transient-error"})
    (note,) = [note for note in report.notes if "past the kit" in note]
    assert note.startswith(f"it is connected to {running.host}:{running.port}, past the kit, where no fault meets it: name a")
    (found,) = [verdict for verdict in report.also.verdicts if verdict.rule.id == "queue.push.transient-error"]
    assert (found.verdict, found.reason.partition(":")[0]) == (
        Verdict.NOT_COVERED,
        "what the queue sends does not pass the kit",
    )
    line = r"no server answers .*Connection refused.*: name or start one by --queue-server"
    assert unusable(examine(FIFO, settings=settings, allow=allow), line)


@pytest.mark.parametrize("path", ["queuelib.queue.FifoSQLiteQueue", "scrapy.core.scheduler.Scheduler"])
def test_a_class_that_connects_to_nothing_has_no_server(path):
    report = examine(path, only={"smoke"})
    assert "server" not in report.offers
    assert not [note for note in report.notes if "past the kit" in note]


@pytest.mark.parametrize(
    ("dsn", "said"),
    [
        ("user=postgres dbname=postgres", r"fe_sendauth: no password supplied"),
        ("user=postgres dbname=postgres password=x", r"FATAL: password authentication failed for user \"postgres\""),
        ("user=postgres dbname=nothing", r"FATAL: database \"nothing\" does not exist"),
    ],
)
def test_a_postgresql_that_does_not_let_a_class_in_is_not_the_fault_of_that(dsn, said, postgresql, tmp_path):
    with closing(servers.start("postgresql", tmp_path / "pg")) as server, closing(FaultProxy(server.address)) as running:
        settings = {"POSTGRESQL_DSN": f"host={{host}} port={{port}} {dsn}"}
        line = rf"^it cannot be used here: its server does not let it in \({said}\): name a user, a password"
        with nullcontext() if "nothing" in dsn else server.locked():
            assert unusable(examine(FIFO, settings=settings, server=f"{running.host}:{running.port}"), line)


class HandsOutItself(PostgreSQLServer):
    """A server that tells clients its own address, and not that of the proxy."""

    def __init__(self, directory):
        super().__init__(directory)
        self.environment = {**self.environment, "PGHOST": str(directory), "PGPORT": "5432"}


def test_a_server_that_hands_out_its_own_address_is_of_no_use(postgresql, monkeypatch):
    offers(monkeypatch, mine="HandsOutItself")
    said = rf"^{FIFO}: it is connected to .*/\.s\.PGSQL\.5432, past the kit, where no fault meets it: write"
    with pytest.raises(LoadError, match=said):
        examine(FIFO, settings=SETTINGS[FIFO], server="mine")


# --- What hits -------------------------------------------------------------------------------------------------------

REDIS = ("queue_reference.redis.FifoRedisQueue", {"REDIS_URL": "redis://{host}:{port}/0", "REDIS_TIMEOUT": "0.5"})
TESTED = {
    "redis-server": REDIS,
    "fakeredis": REDIS,
    "postgresql": (FIFO, SETTINGS[FIFO]),
    "a program": REDIS,
}
FAULTS = [kind.name for kind in (Stopped, Frozen, OutOfSpace, ReadOnly, PasswordWanted, StorageReplaced)]


@pytest.mark.parametrize("column", ["redis-server", "postgresql", *further("fakeredis", "a program")])
def test_the_faults_hit_that_the_page_marks(column, described):
    name, (path, settings) = column.replace("a program", "mine"), TESTED[column]
    if name == "postgresql" and NO_POSTGRESQL:
        pytest.skip(NO_POSTGRESQL)
    try:
        servers.find(name)
    except ServerError as error:
        pytest.skip(str(error))
    checks = {"server-faults.push", "queue.pop.permanent-raises", "queue.ctor.fail-early"}
    report = examine(path, settings=settings, server=name, only=checks, examples=1)
    assert not failed_rules(report)
    hits = [fault for fault in FAULTS if re.search(rf"hit .*{fault} \((\d+) of \1\)", "\n".join(report.notes))]
    assert hits == marked(column)


def marked(column):
    """Return the faults that the table of the page marks for a server."""
    page = (DOCS / "howto-server.md").read_text("utf-8")
    head, _, *rows = re.search(r"^\| \| redis-server .*\n(\|.*\n)+", page, re.MULTILINE)[0].splitlines()
    number = [cell.strip() for cell in head.split("|")].index(column)
    return [re.split("[,:|]", row)[1].strip() for row in rows if row.split("|")[number].strip()]


@pytest.mark.parametrize("server", [pytest.param("redis", marks=NEEDS_REDIS), pytest.param("postgresql", marks=NEEDS_POSTGRESQL)])
def test_the_socket_of_a_server_is_in_its_directory_however_long_that_is(server, tmp_path):
    directory = tmp_path / ("long" * 40) / "server"
    directory.mkdir(parents=True)
    before = {*tmp_path.iterdir(), *directory.parent.iterdir()}
    with Backend(server, directory) as backend:
        assert stat.S_ISSOCK(os.stat(backend.server.address).st_mode)
        assert Path(backend.server.address).parent == directory
        with socket.create_connection((backend.host, backend.port), 10):
            pass
    assert {*tmp_path.iterdir(), *directory.parent.iterdir()} == before
