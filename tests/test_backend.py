"""The proxy, the servers behind it, and what they do to a client: each fault really hits, and nothing outlives it."""

import os
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
import redis
from kit import FIFO_MEMORY, context
from redis.backoff import NoBackoff
from redis.retry import Retry

from queue_conformance import examine
from queue_conformance.engine.outcomes import RuleFailed, TooSlow
from queue_conformance.faults import redirection
from queue_conformance.faults.backend import VARIABLE, Backend
from queue_conformance.faults.connections import peers
from queue_conformance.faults.links import PATIENCE
from queue_conformance.faults.network import FaultProxy
from queue_conformance.faults.outages import TRIES, usual_traffic
from queue_conformance.faults.redirection import command_of, redirected
from queue_conformance.faults.servers import ServerError, check_name, running
from queue_conformance.faults.servers import redis as redis_servers
from queue_conformance.faults.servers.redis import ask
from queue_conformance.faults.servers.running import keys_of, mark_of
from queue_conformance.frontends.scratch import Scratch
from queue_conformance.processes import process

HAS_REDIS = redis_servers.executable() is not None
KINDS = [pytest.param("redis-server", marks=pytest.mark.skipif(not HAS_REDIS, reason="there is no redis-server")), "fakeredis"]
GONE = (redis.ConnectionError, redis.TimeoutError)


@pytest.fixture(params=KINDS)
def backend(request):
    with Backend(request.param) as backend:
        yield backend


@pytest.fixture
def client(backend):
    client = redis.Redis(backend.host, backend.port, socket_timeout=2.0, retry=Retry(NoBackoff(), 0))
    client.ping()
    yield client
    client.close()


def test_refuse_ends_connections_and_refuses_new_ones(backend, client):
    backend.refuse()
    with pytest.raises(GONE):
        client.ping()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((backend.host, backend.port))
    backend.recover()
    assert client.ping()


def test_a_child_that_has_inherited_everything_changes_nothing(backend, client):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(writer)
        os.read(reader, 1)  # until the parent ends it
        os._exit(0)
    try:
        for _ in range(3):
            backend.refuse()
            with pytest.raises(GONE):
                client.ping()
            backend.recover()
            assert client.ping()
    finally:
        os.close(writer)
        os.waitpid(child, 0)
        os.close(reader)


def test_a_child_that_was_forked_while_something_passed_has_nothing_to_wait_for(backend):
    passing, over = threading.Event(), threading.Event()

    def let_pass():
        with backend._lock:
            passing.set()
            over.wait()

    thread = threading.Thread(target=let_pass)
    thread.start()
    passing.wait()
    try:
        assert not process.run(lambda say: backend.recover(), time_limit=5.0).hung
    finally:
        over.set()
        thread.join()


def test_a_reset_ends_connections_and_welcomes_new_ones(backend, client):
    accepted = backend.accepted
    with socket.create_connection((backend.host, backend.port)) as connection:
        connection.sendall(b"*1\r\n$4\r\nPING\r\n")
        assert connection.recv(100)
        backend.reset()
        with pytest.raises(ConnectionResetError):
            connection.recv(100)
    assert client.ping()
    assert backend.accepted > accepted


def test_what_waits_for_a_client_that_goes_away_takes_nothing(backend, client):
    with socket.create_connection((backend.host, backend.port)) as waiting:
        waiting.sendall(b"*3\r\n$5\r\nBLPOP\r\n$3\r\nkey\r\n$1\r\n0\r\n")
        while backend.requested < 1 or ask(backend.server.address, "PING") != "PONG":
            time.sleep(0.01)
    while backend.connections > 1:  # that of the client
        time.sleep(0.01)
    time.sleep(0.05)
    client.rpush("key", "value")
    assert client.llen("key") == 1


@pytest.mark.parametrize("after", [0, 1, 3])
def test_a_cut_reply_means_that_the_server_has_done_it(backend, client, after):
    backend.cut_reply(after)
    with pytest.raises(GONE):
        client.rpush("key", "value")
    assert backend.cuts == 1
    backend.recover()
    assert client.llen("key") == 1


def test_a_look_whether_the_server_is_there_is_no_second_attempt(backend, client):
    backend.cut_reply(0, refuse=False)
    with pytest.raises(GONE):
        client.rpush("key", "value" * 100)
    assert not backend.asked_again
    assert client.ping()
    assert not backend.asked_again
    client.rpush("key", "value" * 100)
    assert backend.asked_again


@pytest.mark.parametrize("after", [0, 1, 20])
def test_a_cut_request_means_that_the_server_has_not_done_it(backend, client, after):
    backend.cut_request(after)
    with pytest.raises(GONE):
        client.rpush("key", "value")
    backend.recover()
    assert client.llen("key") == 0


@pytest.mark.parametrize("number", [0, 1])
def test_a_reply_is_held_once_the_server_has_done_it(backend, client, number):
    backend.hold_reply(number)
    for _ in range(number):
        client.rpush("key", "value")
    assert backend.held == 0
    with pytest.raises(GONE):
        client.rpush("key", "value")
    assert backend.held > 0
    backend.recover()
    assert client.llen("key") == number + 1


def test_a_held_reply_arrives_after_recovery(backend):
    with socket.create_connection((backend.host, backend.port), timeout=5) as connection:
        backend.hold_reply(0)
        connection.sendall(b"*1\r\n$4\r\nPING\r\n")
        end = time.monotonic() + 5
        while not backend.held:
            assert time.monotonic() < end
            time.sleep(0.001)
        backend.recover()
        assert connection.recv(100) == b"+PONG\r\n"


def test_a_cut_that_is_never_reached_does_not_hit(backend, client):
    backend.cut_reply(1000)
    assert client.ping()
    assert backend.cuts == 0


def test_what_stalls_arrives_after_recovery(backend, client):
    backend.stall()
    with pytest.raises(GONE):
        client.rpush("key", "value")
    backend.recover()
    deadline = time.monotonic() + 5
    while client.llen("key") != 1:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_what_a_client_sends_meanwhile_is_seen_and_not_passed_on(backend, client):
    backend.stall()
    assert not backend.unread
    before = backend.requested
    with pytest.raises(redis.TimeoutError):
        client.ping()
    assert backend.unread
    assert backend.requested == before


@pytest.mark.parametrize(
    ("waits", "answers", "harmed", "deserted"),
    [
        (PATIENCE + 0.1, True, False, True),
        (0.0, True, False, False),  # it was killed, or what it did was cancelled
        (PATIENCE + 0.1, False, False, False),  # it waited for something that is not there
        (PATIENCE + 0.1, True, True, False),
    ],
)
def test_it_is_known_whether_a_client_has_not_waited_for_an_answer(waits, answers, harmed, deserted):
    with socket.create_server(("127.0.0.1", 0)) as listener, ExitStack() as stack:
        proxy = FaultProxy(listener.getsockname())
        stack.callback(proxy.close)
        client = stack.enter_context(socket.create_connection((proxy.host, proxy.port)))
        client.send(b"?")
        server = stack.enter_context(listener.accept()[0])
        assert server.recv(1) == b"?"
        if harmed:
            proxy.slow(0.0)
        time.sleep(waits)
        with proxy._lock:  # nothing passes for so long
            client.close()
            if answers:
                server.send(b"!")
        with suppress(ConnectionResetError):
            assert server.recv(1) == b""
        server.close()
        while proxy.connections or proxy._unheard:
            time.sleep(0.01)
        assert proxy.deserted is deserted


def test_what_comes_of_an_answer_that_was_not_waited_for_is_blamed_on_nobody():
    with context(FIFO_MEMORY) as found:
        found.backend = SimpleNamespace(deserted=True, harmed=False)
        with pytest.raises(TooSlow, match="did not wait for an answer"):
            found.fail("queue.pop.fifo", "this", "that", [])
        found.backend.harmed = True
        with pytest.raises(RuleFailed):
            found.fail("queue.pop.fifo", "this", "that", [])


def test_slow_is_not_away(backend, client):
    backend.slow(0.02)
    started = time.monotonic()
    assert client.ping()
    assert time.monotonic() - started >= 0.04  # a request and a reply


def test_much_passes_in_both_directions(backend, client):
    value = os.urandom(1 << 20)
    client.connection_pool.connection_kwargs["socket_timeout"] = 10
    client.connection_pool.reset()
    client.set("key", value)
    assert client.get("key") == value


def test_a_redis_tells_how_much_it_stores(backend, client):
    if not backend.server.offers("room"):
        pytest.skip("fakeredis does not tell")
    assert backend.server.room() == 0
    client.rpush("list", b"x" * 100_000)
    assert 100_000 <= backend.server.room() < 130_000


def test_storage_is_replaced_and_emptied(backend, client):
    client.rpush("list", 1)
    client.set("text", 1)
    assert backend.server.replace_storage() == 2
    with pytest.raises(redis.ResponseError):
        client.rpush("list", 2)
    backend.forget()
    assert ask(backend.server.address, "DBSIZE") == 0


def test_every_connection_of_the_process_leads_to_the_proxy(backend):
    client = redis.Redis("localhost", 1, socket_timeout=1)
    assert client.ping()
    client.close()
    assert backend.seen
    assert all(port == 1 for _, port in backend.seen)


def test_a_connection_of_the_process_to_itself_is_left_alone(backend):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(1)
        listener.settimeout(5)
        with socket.create_connection(listener.getsockname()) as there, listener.accept()[0] as here:
            there.sendall(b"awake")
            assert here.recv(5) == b"awake"
        assert listener.getsockname() not in backend.seen


def test_a_listener_whose_descriptor_is_gone_is_in_nobodys_way(backend):
    """A process that is forked, and looks like a new one, has closed all descriptors by their numbers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(1)
        os.close(listener.fileno())
        assert redis.Redis("localhost", 1, socket_timeout=1).ping()
        listener.detach()


@pytest.mark.parametrize("early", [0, 1, 2])
def test_who_gives_up_early_is_asked_again_for_what_is_usual(backend, client, early):
    asked = []

    def attempt(usual):
        asked.append(usual)
        with usual:
            if len(asked) > early:
                client.ping()

    usual = usual_traffic(backend, attempt)
    assert usual.replied == len("+PONG\r\n")
    assert len(asked) == early + 1


def test_who_never_gets_a_reply_is_not_asked_for_ever(backend):
    asked = []
    assert usual_traffic(backend, asked.append).replied == 0
    assert len(asked) == TRIES


def test_nothing_is_left(backend, client):
    address = backend.server.address
    backend.close()
    assert "connect" not in vars(socket.socket)
    assert not [thread for thread in threading.enumerate() if thread.name == "fault proxy"]
    with pytest.raises(OSError, match=r".*"):
        ask(address, "PING")


def test_looking_changes_nothing():
    with socket.create_server(("127.0.0.1", 0)) as server:
        seen = []
        with redirected(None, seen):
            socket.create_connection(server.getsockname()).close()
        assert seen == [server.getsockname()]


@pytest.mark.skipif(not HAS_REDIS, reason="there is no redis-server")
class TestRealServer:
    @pytest.fixture
    def backend(self):
        with Backend("redis-server") as backend:
            yield backend

    def test_it_keeps_what_it_held(self, backend, client):
        client.rpush("key", "value")
        with backend.server.stopped(), pytest.raises(GONE):
            client.ping()
        assert client.llen("key") == 1

    def test_frozen_it_says_nothing_and_does_it_later(self, backend, client):
        with backend.server.frozen(), pytest.raises(redis.TimeoutError):
            client.rpush("key", "value")
        assert client.llen("key") == 1

    def test_it_has_stopped_when_it_is_said_to_be_frozen(self, backend):
        pid = backend.server._process.pid
        for _ in range(50):
            with backend.server.frozen():
                assert Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"

    def test_it_stays_frozen_when_the_last_parent_of_its_group_is_in_another_one(self):
        """The system sends SIGHUP and SIGCONT to a group without a parent in its session in which a process has stopped."""
        code = """
import os, time
from pathlib import Path
from queue_conformance.faults.backend import Backend

os.setsid()
with Backend("redis-server") as backend, backend.server.frozen():
    if (parent := os.fork()) == 0:
        if os.fork() == 0:
            time.sleep(0.2)
            os._exit(0)
        os.setpgid(0, 0)
        os.wait()
        os._exit(0)
    os.waitpid(parent, 0)
    print(Path(f"/proc/{backend.server._process.pid}/stat").read_text().rpartition(")")[2].split()[0])
"""
        assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60).stdout == "T\n"

    def test_without_memory_it_refuses(self, backend, client):
        with backend.server.out_of_space(), pytest.raises(redis.OutOfMemoryError):
            client.rpush("key", "value")
        assert client.rpush("key", "value") == 1

    def test_read_only_it_refuses(self, backend, client):
        with backend.server.read_only(), pytest.raises(redis.ReadOnlyError):
            client.rpush("key", "value")
        assert client.rpush("key", "value") == 1

    def test_locked_it_refuses_who_connects(self, backend, client):
        client.connection_pool.disconnect()
        with backend.server.locked(), pytest.raises(redis.AuthenticationError):
            client.ping()
        assert client.ping()


def test_a_fake_server_cannot_be_stopped():
    with Backend("fakeredis") as backend:
        assert not backend.server.offers("stopped")
        assert backend.server.offers("replace_storage")


def test_a_running_server_is_left_alone(monkeypatch):
    with Backend("fakeredis") as first:
        ask(first.server.address, "SET", "key", "value")
        monkeypatch.setenv(VARIABLE, f"{first.host}:{first.port}")
        with Backend("redis-server") as second:
            second.forget()
            assert not second.server.ours
        assert ask(first.server.address, "GET", "key") in ("value", b"value")


@pytest.mark.parametrize("text", ["127.0.0.1:6379", "redis://127.0.0.1:6379/3", "[::1]:6379"])
def test_the_address_of_a_server_is_understood(text):
    assert check_name(text).endswith(":6379")


@pytest.mark.parametrize("text", ["mysql", "localhost", ":1", "host:0", "host:port", "host:70000"])
def test_a_wrong_server_is_explained(text):
    with pytest.raises(ValueError, match="write redis, redis-server, fakeredis, postgresql, or HOST:PORT"):
        check_name(text)


def test_an_error_of_the_server_is_an_error():
    with Backend("fakeredis") as backend, pytest.raises(ServerError):
        ask(backend.server.address, "NONSENSE")


@pytest.mark.parametrize(("key", "left"), [("key", []), ("'odd'", [b"odd"])])
def test_keys_of_the_run_are_removed_from_a_running_server_and_others_named(key, left, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    source = "from queue_reference.redis import FifoRedisQueue\n\nclass Named(FifoRedisQueue):\n    @classmethod\n"
    source += f"    def from_crawler(cls, crawler, key):\n        return super().from_crawler(crawler, {key})\n"
    (tmp_path / f"named_{len(left)}.py").write_text(source)
    with Backend("fakeredis") as backend:
        ask(backend.server.address, "SET", "mine", "1")
        report = examine(
            f"named_{len(left)}.Named",
            settings={"REDIS_URL": "redis://{host}:{port}/0"},
            server=f"{backend.host}:{backend.port}",
            rules="queue.close.twice",
            examples=1,
        )
        assert sorted(ask(backend.server.address, "KEYS", "*")) == sorted([b"mine", *left])
    notes = [note for note in report.implementations[0].notes if note.startswith("left in the server at 127.0.0.1:")]
    assert ["'odd'" in note and "'mine'" not in note for note in notes] == [True for _ in left]


def test_a_run_marks_what_it_names():
    scratch = Scratch()
    assert scratch.path.name.endswith(mark_of(scratch.path / "tmp" / "1"))
    assert mark_of(scratch.path) != ""
    scratch.remove()


def test_what_is_no_redis_server_holds_no_keys(monkeypatch):
    with monkeypatch.context() as impatient, socket.create_server(("127.0.0.1", 0)) as mute:
        impatient.setattr(running, "_TIMEOUT", 0.1)
        assert keys_of(f"127.0.0.1:{mute.getsockname()[1]}") is None
    assert keys_of("redis") is None
    with Backend("fakeredis") as backend:
        assert keys_of(f"{backend.host}:{backend.port}") == frozenset()
        monkeypatch.setattr(running, "MANY", 0)
        ask(backend.server.address, "SET", "mine", "1")
        assert keys_of(f"{backend.host}:{backend.port}") is None


def test_who_looks_for_connections_leaves_no_descriptor_open(backend, client):
    client.ping()
    before = len(os.listdir("/dev/fd"))
    assert ("127.0.0.1", backend.port) in peers().values()
    assert len(os.listdir("/dev/fd")) == before


CONNECTING = """
import socket, sys

def execute():
    for address in sys.argv[1:]:
        host, port = address.split(":")
        with socket.create_connection((host, int(port))) as end:
            print(end.getpeername()[1])
"""


def test_processes_of_a_script_are_led_to_the_proxy_as_the_script_is(tmp_path, monkeypatch):
    (tmp_path / "connecting.py").write_text(CONNECTING)
    with ExitStack() as stack:
        ends = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(3)]
        to, site, of_the_kit = (end.getsockname() for end in ends)
        monkeypatch.setattr(redirection, "DIRECT", {of_the_kit})
        with redirected(to, []):
            asked = ["localhost:1", f"127.0.0.1:{site[1]}", f"127.0.0.1:{of_the_kit[1]}"]
            command = command_of("connecting", asked, site)
            assert command_of("connecting", [f"--url=redis://{to[0]}:{to[1]}"])[1] == "-m", "it knows where the proxy is"
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert ended.stdout.split() == [str(to[1]), str(site[1]), str(of_the_kit[1])]
    assert command_of("connecting", [])[1] == "-m"
