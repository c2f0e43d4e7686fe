"""What was there before a run, and is not lent to the class, stays as it is, by whatever entrance the class comes."""

import ctypes
import errno
import hashlib
import json
import mmap
import os
import re
import sqlite3
import sys
from contextlib import closing
from types import ModuleType

import pytest
from kit import FIFO_MEMORY, NO_POSTGRESQL, downloads, further

from mutants import PSYCOPG
from queue_conformance import LoadError, examine, state_machine
from queue_conformance.engine.outcomes import Violation
from queue_conformance.faults import servers
from queue_conformance.faults.network import FaultProxy
from queue_conformance.faults.servers.redis import RedisServer
from queue_conformance.guard import Guard, calls, hook, kernel
from queue_conformance.guard.calls import Call, path_at
from queue_conformance.guard.judge import Judge
from queue_conformance.guard.limits import LENDING, Refusal, address, names, origin_of
from queue_conformance.running.replay import ReplayError, State, replay

CLIENT = """
import os
import pickle
import redis

class MyQueue:
    def __init__(self, crawler, key):
        self.client = redis.Redis.from_url({url})
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler, key, *arguments):
        return cls(crawler, key)

    def push(self, request):
        self.client.rpush("goods", pickle.dumps(request.to_dict(spider=self.crawler.spider)))

    def pop(self):
        found = self.client.lpop("goods")
        if found is not None:
            from scrapy.utils.request import request_from_dict
            return request_from_dict(pickle.loads(found), spider=self.crawler.spider)

    def __len__(self):
        return self.client.llen("goods")

    def close(self):
        self.client.close()
"""

SWALLOWS = """
class Swallows(MyQueue):
    def __init__(self, crawler, key):
        self.requests = []

    def push(self, request):
        self.requests.append(request)
        try:
            redis.Redis.from_url({url}).delete("goods")
        except BaseException:
            pass

    def pop(self):
        return self.requests.pop(0) if self.requests else None

    def __len__(self):
        return len(self.requests)

    def close(self): ...
"""


@pytest.fixture
def goods(tmp_path):
    """A Redis of the author's, with what a crawl has left in it; yield its address, and look whether all of it is still there."""
    if reason := RedisServer.missing():
        pytest.skip(reason)
    (tmp_path / "redis").mkdir()
    with closing(RedisServer(tmp_path / "redis")) as server, closing(FaultProxy(server.address)) as running:
        for number in range(50):
            server.ask("RPUSH", "goods", f"request {number}")
            server.ask("SADD", "goods:dupefilter", f"{number:040x}")
        before = dumped(server)
        yield f"127.0.0.1:{running.port}"
        assert dumped(server) == before


def dumped(server):
    return {key: server.ask("DUMP", key) for key in server.ask("KEYS", "*")}


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Make a module of the author's, below the directory of a project."""
    monkeypatch.syspath_prepend(tmp_path)

    def make(source, name="goods_queue"):
        (tmp_path / f"{name}.py").write_text(source)
        monkeypatch.delitem(sys.modules, name, raising=False)
        return name

    return make


def refusal(path, **how):
    with pytest.raises(LoadError) as raised:
        examine(path, examples=5, **how)
    (line,) = str(raised.value).splitlines()
    return line


@pytest.mark.parametrize(("port", "named"), [(6379, "=redis"), (5432, "=postgresql"), (6380, "")])
def test_the_server_that_a_port_is_for_is_named(port, named):
    said = Refusal("connect", f"localhost:{port}").told({})
    assert f"lend it a server for tests by --queue-server{named}, with {{host}} and {{port}}" in said
    assert "which is not the kit's: nothing can be lent, or allow it" in LENDING.sub("nothing can be lent", said)


def test_a_default_address_is_not_used(goods, module):
    name = module(CLIENT.format(url=repr(f"redis://{goods}/0")))
    line = refusal(f"{name}.MyQueue")
    port = goods.rpartition(":")[2]
    assert line.startswith(f"goods_queue.MyQueue cannot be tested here: it connects to localhost:{port} (its own default)")
    assert line.endswith(f"or allow it by --conformance-allow=localhost:{port}")
    assert "by --queue-server, with {host} and {port}" in line


def test_an_address_in_the_environment_is_named_by_its_variable(goods, module, monkeypatch):
    monkeypatch.setenv("GOODS_URL", f"redis://{goods}/0")
    name = module(CLIENT.format(url="os.environ['GOODS_URL']"))
    assert "(GOODS_URL in the environment)" in refusal(f"{name}.MyQueue")


def test_an_address_in_a_setting_is_named_by_it(goods, module):
    name = module(CLIENT.replace("from_url({url})", "from_url(crawler.settings['GOODS_URL'])"))
    assert "(the setting GOODS_URL)" in refusal(f"{name}.MyQueue", settings={"GOODS_URL": f"redis://{goods}/0"})


@pytest.mark.parametrize("in_process", [False, *further(True)])
def test_a_class_that_swallows_the_error_is_told_all_the_same(goods, module, in_process):
    url = repr(f"redis://{goods}/0")
    name = module(CLIENT.format(url=url) + SWALLOWS.format(url=url))
    assert "it connects to localhost:" in refusal(f"{name}.Swallows", in_process=in_process)


@pytest.mark.parametrize("cls", ["MyQueue", "Swallows"])
def test_a_class_object_is_guarded_as_well_and_from_its_first_use_to_its_last(goods, module, cls):
    url = repr(f"redis://{goods}/0")
    name = module(CLIENT.format(url=url) + SWALLOWS.format(url=url))
    __import__(name)
    assert "it connects to localhost:" in refusal(getattr(sys.modules[name], cls))


def test_a_state_machine_is_guarded(goods, module):
    name = module(CLIENT.format(url=repr(f"redis://{goods}/0")))
    with pytest.raises(LoadError, match="it connects to localhost:"):
        state_machine(f"{name}.MyQueue")


SUITE = """
import pytest
from queue_conformance import DownstreamQueueSuite

class TestMine(DownstreamQueueSuite):
    queue_class = "goods_queue.MyQueue"
"""


@pytest.mark.usefixtures("wide_terminal")
@pytest.mark.parametrize("entrance", ["suite", *further("pyproject", "command line", "xdist")])
def test_pytest_is_guarded_by_every_entrance(goods, module, pytester, entrance, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(pytester.path))
    pytester.makepyfile(goods_queue=CLIENT.format(url=repr(f"redis://{goods}/0")))
    if entrance == "suite":
        pytester.makepyfile(test_goods=SUITE)
        result = pytester.runpytest_subprocess("-k", "queue.push.accept")
    elif entrance == "pyproject":
        pytester.makepyprojecttoml('[tool.queue_conformance]\nqueue-class = ["goods_queue.MyQueue"]')
        result = pytester.runpytest_subprocess("--conformance")
    else:
        result = pytester.runpytest_subprocess("--queue-class=goods_queue.MyQueue", *(["-n1"] if entrance == "xdist" else []))
    result.stdout.fnmatch_lines(["*it connects to localhost:* (its own default)*--conformance-allow=localhost:*"])
    assert result.ret == pytest.ExitCode.USAGE_ERROR


# --- Whole crawls ----------------------------------------------------------------------------------------------------

PROJECT = """
SCHEDULER = "scrapy_redis.scheduler.Scheduler"
DUPEFILTER_CLASS = "scrapy_redis.dupefilter.RFPDupeFilter"
SCHEDULER_PERSIST = True
SCHEDULER_QUEUE_CLASS = "scrapy_redis.queue.FifoQueue"
SCHEDULER_QUEUE_KEY = "goods"
SCHEDULER_DUPEFILTER_KEY = "goods:dupefilter"
REDIS_URL = "redis://{goods}/0"
"""


@pytest.fixture
def shop(goods, pytester, monkeypatch):
    """A project whose settings name the production: its address, and its keys."""
    pytest.importorskip("scrapy_redis", reason="needs scrapy-redis")
    if not downloads():
        pytest.skip("needs a Scrapy that can download")
    monkeypatch.delenv("SCRAPY_SETTINGS_MODULE", raising=False)
    pytester.makefile(".cfg", scrapy="[settings]\ndefault = shop_settings\n")
    pytester.makepyfile(shop_settings=PROJECT.format(goods=goods))
    return pytester


def test_what_keeps_to_itself_what_it_holds_is_not_used(module, tmp_path):
    if reason := RedisServer.missing():
        pytest.skip(reason)
    name = module("from queue_reference.memory import FifoMemoryQueue as MyQueue")
    with closing(servers.start("redis-server", tmp_path / "other")) as server, closing(FaultProxy(server.address)) as running:  # noqa: SIM117
        with server.locked():
            line = refusal(f"{name}.MyQueue", allow=[f"127.0.0.1:{running.port}"])
    assert "(--conformance-allow) holds nobody knows what (NOAUTH" in line


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "it connects to localhost:* (the setting REDIS_URL), which is not the kit's: lend it a server*"),
        (["--queue-server=redis"], "it connects to localhost:* (the setting REDIS_URL), and not to what --queue-server names*"),
        (["--queue-server={goods}"], "{goods} (--queue-server) holds 2 keys: nothing is tested there*"),
        (["--conformance-allow={goods}"], "{goods} (--conformance-allow) holds 2 keys: nothing is tested there*"),
    ],
)
@pytest.mark.usefixtures("wide_terminal")
def test_a_project_is_not_crawled_in_its_production(shop, goods, options, said):
    result = shop.runpytest_subprocess("--conformance-crawl", "-k", "smoke", *(option.format(goods=goods) for option in options))
    result.stdout.fnmatch_lines([f"ERROR: shop_settings: *{said.format(goods=goods)}"])
    assert result.ret == pytest.ExitCode.USAGE_ERROR


def test_a_project_is_crawled_in_a_server_for_tests(shop):
    setting = "--queue-setting=REDIS_URL=redis://{host}:{port}/0"
    options = ["--conformance-crawl", "--conformance-crawls=1", "--queue-server=redis", setting, "-k", "smoke"]
    result = shop.runpytest_subprocess(*options)
    assert result.ret in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)  # what a crawl of it breaks is for other tests
    result.stdout.no_fnmatch_line("*cannot be tested*")


# --- Replays ---------------------------------------------------------------------------------------------------------


def violation(*lines):
    return Violation("queue.len.exact", "2", "1", (), "\n".join(lines))


@pytest.mark.skipif(not kernel.AVAILABLE, reason="nothing stops another interpreter here")
def test_a_replay_is_guarded(goods):
    port = goods.rpartition(":")[2]
    script = violation("import redis", f"redis.Redis(port={port}).delete('goods')")
    with pytest.raises(ReplayError, match=f"its script connects to localhost:{port} .its own default., which is not the kit's"):
        replay(script)


def test_a_replay_uses_the_servers_of_the_report(goods):
    import_ = "from queue_conformance.faults.backend import Backend"
    look = ["import redis", "assert redis.Redis(port=backend.port).llen('goods') == 50"]
    assert (
        replay(violation(import_, f"with Backend({goods!r}) as backend:", *(f"    {line}" for line in look))).state
        is State.PASSED
    )
    refuse = ["with Backend('redis-server') as backend, backend.server.read_only():", "    backend.server.ask('PING')"]
    assert replay(violation(import_, *refuse)).state is State.PASSED


# --- Clients in C ----------------------------------------------------------------------------------------------------

PSYCOPG_QUEUE = """
import psycopg
from queue_reference.memory import FifoMemoryQueue

class MyQueue(FifoMemoryQueue):
    def push(self, request):
        super().push(request)
        try:
            with psycopg.connect({dsn!r}, connect_timeout=2) as connection:
                connection.execute("DELETE FROM goods")
        except psycopg.Error:
            pass
"""


@pytest.mark.skipif(bool(NO_POSTGRESQL) or not PSYCOPG, reason=NO_POSTGRESQL or "needs psycopg")
@pytest.mark.parametrize("way", ["socket", *further("port")])
def test_a_client_in_c_is_stopped(way, module, tmp_path):
    with closing(servers.start("postgresql", tmp_path / "pg")) as server, closing(FaultProxy(server.address)) as running:
        session = server._session
        session.run("CREATE TABLE goods (request text); INSERT INTO goods SELECT 'request ' || n FROM generate_series(1, 50) n")
        before = session.run("SELECT * FROM goods")
        host, port = (os.path.dirname(server.address), 5432) if way == "socket" else (running.host, running.port)
        name = module(PSYCOPG_QUEUE.format(dsn=f"host={host} port={port} user=postgres dbname=postgres"))
        line = refusal(f"{name}.MyQueue")
        where = server.address if way == "socket" else f"localhost:{port}"
        assert f"it connects to {where} (" in line or "it loads psycopg" in line
        assert session.run("SELECT * FROM goods") == before


# --- Files -----------------------------------------------------------------------------------------------------------

FILES = """
import ctypes
import json
import logging
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

from queue_reference.memory import FifoMemoryQueue

HERE = Path(__file__).parent
STORE = {store}

class LINKED:
    truncate = ctypes.CDLL(None).truncate

    @staticmethod
    def linked(name):
        # A directory is used, and then a link to the author's stands in its place.
        os.makedirs(name)
        Path(name, "used").touch()
        LINKED.truncate(os.fsencode(name) + b"/used", 0)
        shutil.rmtree(name)
        os.symlink(HERE, name)

class MyQueue(FifoMemoryQueue):
    def push(self, request):
        super().push(request)
        try:
            {change}
        except Exception:
            pass
"""

BESIDE = 'HERE / "goods.json"'

CHANGES = {
    "written": 'STORE.write_text("[]")',
    "appended": 'open(STORE, "a").write("x")',
    "removed": "STORE.unlink()",
    "renamed": 'STORE.rename(HERE / "other.json")',
    "replaced": '(HERE / "new.json").write_text("[]"); (HERE / "new.json").replace(STORE)',
    "truncated": "os.truncate(STORE, 0)",
    "its directory": "shutil.rmtree(HERE)",
    "by a link": 'os.symlink(HERE, "there"); Path("there/goods.json").write_text("[]")',
    "by a link on an absolute path": 'os.symlink(HERE, "there"); (Path.cwd() / "there/goods.json").write_text("[]")',
    "by a link in C": 'LINKED.linked("there"); LINKED.truncate(b"there/goods.json", 0)',
    "by an absolute link in C": 'LINKED.linked("there"); LINKED.truncate(os.fsencode(Path.cwd()) + b"/there/goods.json", 0)',
    "as a log": 'logging.FileHandler(STORE, "w")',
    "a database": 'sqlite3.connect(STORE.with_name("goods.db")).execute("DELETE FROM goods").connection.commit()',
    "in C": "ctypes.CDLL(None).truncate(os.fsencode(STORE), 0)",
    "by a program": "subprocess.run(['rm', STORE])",
    "by another interpreter": "subprocess.run([sys.executable, '-c', f'open({str(STORE)!r}, chr(119))'])",
}


@pytest.fixture
def files(tmp_path):
    """Files of the author's beside the project; look afterwards whether they are still there."""
    (tmp_path / "goods.json").write_text(json.dumps([f"request {number}" for number in range(50)]))
    with closing(sqlite3.connect(tmp_path / "goods.db")) as database:
        database.execute("CREATE TABLE goods (request text)")
        database.execute("INSERT INTO goods VALUES ('request')")
        database.commit()
    before = {path: digest(path) for path in tmp_path.iterdir()}
    yield tmp_path
    assert {path: digest(path) for path in before} == before


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("way", [*list(CHANGES)[:-1], *further(list(CHANGES)[-1])])
def test_a_file_that_was_there_stays_as_it_is(way, files, module):
    if (" C" in way or way in ("by a program", "by another interpreter")) and not kernel.AVAILABLE:
        pytest.skip("nothing stops what does not go through this interpreter here")
    name = module(FILES.format(store=BESIDE, change=CHANGES[way]))
    line = refusal(f"{name}.MyQueue")
    assert "it would change " in line
    assert str(files) in line
    assert "(its own default), which was there before: " in line


@pytest.mark.skipif(not kernel.AVAILABLE, reason="nobody reads the memory of another process here")
def test_a_path_below_the_scratch_directory_is_of_the_run_unless_something_there_leads_out(tmp_path):
    def is_of_the_run(*names):
        pages = mmap.mmap(-1, max(1, len(names)) * mmap.PAGESIZE)  # one path each: what goes on on another page is not told soon
        start = ctypes.addressof(ctypes.c_char.from_buffer(pages))
        places = range(start, start + len(names) * mmap.PAGESIZE, mmap.PAGESIZE)
        for place, name in zip(places, names, strict=True):
            pages.seek(place - start)
            pages.write(os.fsencode(tmp_path) + name)
        return Judge(Guard(tmp_path))._is_of_the_run(os.getpid(), places)

    assert is_of_the_run(b"/store")
    assert is_of_the_run(b"/store", b"/new/store")
    assert not is_of_the_run()
    assert not is_of_the_run(b"-beside/store")
    assert not is_of_the_run(b"/store", b"/../goods.json")
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "there").symlink_to("/")
    assert not is_of_the_run(b"/store")


@pytest.mark.skipif(not kernel.AVAILABLE, reason="nobody reads the memory of another process here")
def test_a_path_that_goes_on_on_another_page_is_read_in_parts():
    pages = mmap.mmap(-1, 2 * mmap.PAGESIZE)
    place = ctypes.addressof(ctypes.c_char.from_buffer(pages)) + mmap.PAGESIZE - 4
    pages[mmap.PAGESIZE - 4 : mmap.PAGESIZE + 6] = b"/tmp/store"
    assert path_at(os.getpid(), place) == b""
    assert Call(os.getpid(), "", (place,)).path(0) == "/tmp/store"
    pages[mmap.PAGESIZE - 1] = 0
    assert path_at(os.getpid(), place) == b"/tm"


def test_a_module_that_is_called_like_a_logger_is_none(files, module):
    name = module(FILES.format(store=BESIDE, change=CHANGES["appended"]), name="logging_queue")
    assert "it would change " in refusal(f"{name}.MyQueue")


def test_a_file_in_the_working_directory_of_the_author_stays_too(files, module, monkeypatch):
    monkeypatch.chdir(files)
    name = module(FILES.format(store='Path("goods.json").absolute()', change=CHANGES["written"]))
    assert f"it would change {files}/goods.json (its own default)" in refusal(f"{name}.MyQueue")


def test_a_file_that_a_setting_names_is_named_by_it(files, module):
    source = FILES.format(store="None", change='Path(self.file).write_text("[]")')
    source += """
    @classmethod
    def from_crawler(cls, crawler, *arguments):
        made = cls()
        made.file = crawler.settings["GOODS_FILE"]
        return made
"""
    name = module(source)
    line = refusal(f"{name}.MyQueue", settings={"GOODS_FILE": str(files / "goods.json")})
    assert "goods.json (the setting GOODS_FILE), which was there before" in line


@pytest.fixture
def blind(monkeypatch):
    """A system on which the kernel does not help."""
    monkeypatch.setattr(kernel, "AVAILABLE", False)


@pytest.mark.skipif(not kernel.AVAILABLE, reason="the kernel asks nobody here")
def test_what_nobody_may_look_at_does_not_happen(files, module, monkeypatch):
    memory = Call.memory

    def closed(call, place, length):
        if call.name:
            raise PermissionError(errno.EPERM, "not permitted")
        return memory(call, place, length)

    monkeypatch.setattr(Call, "memory", closed)
    name = module(FILES.format(store=BESIDE, change=CHANGES["in C"]))
    assert re.search(r"it calls \w+ where the kit cannot see what it touches: ", refusal(f"{name}.MyQueue"))


def test_where_nobody_may_look_the_kernel_is_not_asked(files, module, monkeypatch):
    monkeypatch.setattr(calls, "is_open", lambda pid: False)
    name = module(FILES.format(store=BESIDE, change=CHANGES["written"]))
    assert "it would change " in refusal(f"{name}.MyQueue")
    assert not examine(FIFO_MEMORY, rules="queue.push.accept", examples=1).errors


def test_where_the_kernel_does_not_help_the_interpreter_stops_a_class(goods, module, blind):
    url = repr(f"redis://{goods}/0")
    name = module(CLIENT.format(url=url) + SWALLOWS.format(url=url))
    assert "it connects to localhost:" in refusal(f"{name}.Swallows")


@pytest.mark.parametrize("way", ["written", *further("removed", "replaced", "truncated", "its directory", "a database")])
def test_where_the_kernel_does_not_help_a_file_stays_as_it_is(way, files, module, blind):
    name = module(FILES.format(store=BESIDE, change=CHANGES[way]))
    assert "it would change " in refusal(f"{name}.MyQueue")


@pytest.mark.parametrize("imports", ["import client_in_c", "from client_in_c import connect"])
@pytest.mark.parametrize("loaded", [False, True])
def test_what_nothing_can_stop_is_refused(module, blind, tmp_path, monkeypatch, imports, loaded):
    (tmp_path / "client_in_c.py").write_text(source := "def connect(): pass")
    monkeypatch.setattr(hook, "_IN_C", {"client_in_c"})
    if loaded:
        monkeypatch.setitem(sys.modules, "client_in_c", client := ModuleType("client_in_c"))
        exec(source, vars(client))
        assert not examine(FIFO_MEMORY, rules="queue.push.accept", examples=1).errors, "which does not import it"
    name = module(f"from queue_reference.memory import FifoMemoryQueue\n{imports}\nclass MyQueue(FifoMemoryQueue): pass")
    expected = "it loads client_in_c, whose connections nothing here can stop: lend it a server for tests by --queue-server"
    assert expected in refusal(f"{name}.MyQueue")
    assert not examine(f"{name}.MyQueue", allow=["localhost:1"], rules="queue.push.accept", examples=1).errors


RIGHT = """
import ctypes
import errno
import logging
import multiprocessing
import os
import socket
import struct
import tempfile
import threading
from pathlib import Path
from queue_reference.memory import FifoMemoryQueue

HERE = Path(__file__).parent
{body}
"""

RIGHTS = {
    "a log": """
logger = logging.getLogger("goods")
logger.addHandler(logging.FileHandler(HERE / "goods.txt"))

class MyQueue(FifoMemoryQueue):
    def push(self, request):
        super().push(request)
        logger.warning("pushed")
""",
    "new files": """
class MyQueue(FifoMemoryQueue):
    def push(self, request):
        super().push(request)
        for file in (HERE / "made.json", Path(tempfile.gettempdir(), f"made-{os.getpid()}")):
            file.write_text("[]")
            with open(file, "a") as opened:
                opened.write("x")
            os.replace(file, f"{file}.old")
            os.remove(f"{file}.old")
""",
    "calls with wrong arguments": """
LIBRARY = ctypes.CDLL(None, use_errno=True)
ADDRESS = struct.pack("=H", socket.AF_INET) + struct.pack("!H4s8x", 9, bytes([10, 0, 0, 1]))

def fails(number, returned):
    assert returned == -1 and ctypes.get_errno() == number

class MyQueue(FifoMemoryQueue):
    def push(self, request):
        super().push(request)
        fails(errno.EBADF, LIBRARY.connect(-1, ADDRESS, len(ADDRESS)))
        fails(errno.EFAULT, LIBRARY.truncate(ctypes.c_void_p(8), 0))
        fails(errno.EBADF, LIBRARY.openat(999, b"made", os.O_WRONLY | os.O_CREAT, 0o600))
        with open(os.devnull) as file:
            fails(errno.ENOTSOCK, LIBRARY.connect(file.fileno(), ADDRESS, len(ADDRESS)))
""",
    "a server of its own": """
def answer(listener):
    with listener, listener.accept()[0] as end:
        end.sendall(b"x")

class MyQueue(FifoMemoryQueue):
    def push(self, request):
        super().push(request)
        listener = socket.create_server(("127.0.0.1", 0))
        thread = threading.Thread(target=answer, args=(listener,))
        thread.start()
        with socket.create_connection(("localhost", listener.getsockname()[1])) as end:
            end.recv(1)
        thread.join()
""",
    "what only looks": """
class MyQueue(FifoMemoryQueue):
    def push(self, request):
        super().push(request)
        (HERE / "goods.json").read_text()
        os.close(os.open(os.devnull, os.O_RDWR))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
            end.connect(("192.0.2.1", 9))  # tells the address of this machine, and sends nothing
        socket.gethostbyname("localhost")
""",
    "a manager": """
class MyQueue(FifoMemoryQueue):
    def push(self, request):
        super().push(request)
        if not hasattr(self, "manager"):
            self.manager = multiprocessing.get_context("fork").Manager()
            self.manager.list([1]).append(2)

    def close(self):
        if hasattr(self, "manager"):
            self.manager.shutdown()
""",
}


QUICK = ("calls with wrong arguments", "what only looks")


@pytest.mark.parametrize(
    ("way", "sight"),
    [
        *((way, "") for way in QUICK),
        *further(*((way, "") for way in RIGHTS if way not in QUICK), *((way, "blind") for way in RIGHTS)),
    ],
)
def test_what_is_the_classs_own_is_let_go_on(way, sight, tmp_path, module, request):
    if sight:
        request.getfixturevalue(sight)
    (tmp_path / "goods.txt").write_text("before\n")
    (tmp_path / "goods.json").write_text("[]")
    name = module(RIGHT.format(body=RIGHTS[way]))
    report = examine(f"{name}.MyQueue", examples=5, rules=["queue.push.accept", "queue.pop.fifo"])
    assert not report.errors
    assert not report.failed


def test_what_is_allowed_may_be_changed(tmp_path, module):
    (tmp_path / "goods.json").write_text("[]")
    name = module(FILES.format(store=BESIDE, change='STORE.write_text("changed")'))
    report = examine(f"{name}.MyQueue", allow=[str(tmp_path / "goods.json")], rules="queue.push.accept")
    assert not report.errors
    assert (tmp_path / "goods.json").read_text() == "changed"


# --- The parts -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "form"),
    [
        ("127.0.0.1", "localhost:1"),
        ("127.8.0.1", "localhost:1"),
        ("::1", "localhost:1"),
        ("::ffff:127.0.0.1", "localhost:1"),
        ("0.0.0.0", "localhost:1"),
        ("LocalHost.", "localhost:1"),
        ("Redis.Prod.example", "redis.prod.example:1"),
        ("::ffff:192.0.2.1", "192.0.2.1:1"),
        ("2001:DB8::1", "[2001:db8::1]:1"),
    ],
)
def test_an_address_has_one_form(host, form):
    assert address(host, 1) == form


@pytest.mark.parametrize(
    ("value", "target", "is_named"),
    [
        ("redis://127.0.0.1:6379/0", "localhost:6379", True),
        ("redis://localhost:6380/0", "localhost:6379", False),
        ("redis://localhost/0", "localhost:6379", True),
        ("6379", "localhost:6379", True),
        ("redis.prod", "redis.prod:6379", True),
        ("otherredis.prod", "redis.prod:6379", False),
        ("/data", "/data/goods.db", True),
        ("sqlite:////data/goods.db", "/data/goods.db", True),
        ("/other", "/data/goods.db", False),
        ("", "/data/goods.db", False),
    ],
)
def test_a_setting_names_an_address_or_a_file(value, target, is_named):
    assert names(value, target) is is_named


def test_settings_come_before_the_environment(monkeypatch):
    monkeypatch.setenv("GOODS_URL", "redis://redis.prod:6379")
    assert origin_of("redis.prod:6379", {}) == "GOODS_URL in the environment"
    assert origin_of("redis.prod:6379", {"URL": "redis://redis.prod:6379"}) == "the setting URL"
    assert origin_of("redis.prod:6380", {}) == "its own default"


def test_the_first_refusal_is_kept(tmp_path):
    guard = Guard(tmp_path)
    guard.refuse(Refusal("connect", "redis.prod:6379"))
    guard.refuse(Refusal("change", "/data/goods.db"))
    assert guard.refusal == Refusal("connect", "redis.prod:6379")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_what_processes_allow_at_the_same_time_is_remembered_of_all(tmp_path):
    guard = Guard(tmp_path)
    begin, everybody = os.pipe()
    children = []
    for child in range(8):
        if not (pid := os.fork()):
            os.close(everybody)
            os.read(begin, 1)  # until it is closed
            for number in range(20):
                guard.exempt(1000 * child + number)
            os._exit(0)
        children.append(pid)
    os.close(everybody)
    os.close(begin)
    assert all(os.waitpid(pid, 0)[1] == 0 for pid in children)
    forgotten = [
        n for child in range(8) for n in range(1000 * child, 1000 * child + 20) if not guard.limits.allows(f"process {n}")
    ]
    assert forgotten == []
