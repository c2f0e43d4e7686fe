"""What a class lacks around it makes a run INCONCLUSIVE, with one line that says what to do; what it does wrong does not."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing

import kit
import pytest
import redis
from scrapy.core.scheduler import Scheduler
from scrapy.dupefilters import RFPDupeFilter
from scrapy.exceptions import NotConfigured
from scrapy.squeues import FifoMemoryQueue
from scrapy.utils.misc import load_object

from queue_conformance import examine
from queue_conformance.engine.verdicts import RunVerdict
from queue_conformance.implementation.loading import LoadError
from queue_conformance.specification.settings import AS_WRITTEN
from queue_reference.async_queues import MemoryQueue
from queue_reference.bytequeues import FifoByteQueue


class NotSetUp(Scheduler):
    """A scheduler that is not configured."""

    @classmethod
    def from_crawler(cls, crawler):
        if not crawler.settings.get("FRONTIER_URL"):
            raise NotConfigured
        return super().from_crawler(crawler)


class SwitchedOff(Scheduler):
    """A scheduler that must be switched on."""

    @classmethod
    def from_crawler(cls, crawler):
        if not crawler.settings.getbool("FRONTIER_ENABLED"):
            raise NotConfigured
        return super().from_crawler(crawler)


class OfEnvironment(Scheduler):
    """A scheduler that is told where to connect by the environment."""

    def open(self, spider):
        self.url = os.environ["FRONTIER_URL"]
        return super().open(spider)


class OfSpider(Scheduler):
    """A scheduler that looks for something in its spider."""

    def open(self, spider):
        self.key = spider.redis_key
        return super().open(spider)


class Unset(Scheduler):
    """A scheduler with a setting that has no default."""

    @classmethod
    def from_crawler(cls, crawler):
        crawler.settings["FRONTIER_URL"].split(":")
        return super().from_crawler(crawler)


class Named(Scheduler):
    """A scheduler that says what it needs."""

    @classmethod
    def from_crawler(cls, crawler):
        if crawler.settings.get("FRONTIER_URL") is None:
            raise ValueError("frontier_url is missing")
        return super().from_crawler(crawler)


class Unpacking(Scheduler):
    """A scheduler that hands all settings on."""

    @classmethod
    def from_crawler(cls, crawler):
        dict(**crawler.settings)["FRONTIER_URL"].split(":")
        return super().from_crawler(crawler)


class Asserting(Scheduler):
    """A scheduler that does not say what it needs."""

    @classmethod
    def from_crawler(cls, crawler):
        if not crawler.settings.get("FRONTIER_URL"):
            raise AssertionError
        return super().from_crawler(crawler)


class OfDatabase(Scheduler):
    """A scheduler that may be told a class, and must be told the address of a database, which it does not say."""

    def open(self, spider):
        if named := spider.settings.get("FRONTIER_CLASS"):
            load_object(named)
        url = spider.settings.get("FRONTIER_URL")
        assert url is not None
        if not url.startswith("sqlite:"):
            raise ValueError(url)


class OfAnotherDatabase(Scheduler):
    """A scheduler whose statements are for MySQL, and whose setting may name any database."""

    def open(self, spider):
        spider.settings["FRONTIER_URL"]
        with closing(sqlite3.connect(":memory:")) as database:
            database.execute("CREATE TABLE requests (time DATETIME ON UPDATE CURRENT_TIMESTAMP)")


class WithPort(Scheduler):
    """A scheduler that takes a number as it is."""

    @classmethod
    def from_crawler(cls, crawler):
        crawler.settings["FRONTIER_PORT"] + 1
        return super().from_crawler(crawler)


class InShards(Scheduler):
    """A scheduler that must be told a number, and divides by what it was told."""

    def enqueue_request(self, request):
        hash(request.url) % self.crawler.settings.getint("FRONTIER_SHARDS")
        return super().enqueue_request(request)


class OnServers(Scheduler):
    """A scheduler that must be told a list, and connects to the first of it."""

    @classmethod
    def from_crawler(cls, crawler):
        host, _, port = crawler.settings.getlist("FRONTIER_SERVERS")[0].partition(":")
        if not port:
            raise ConnectionError(host)
        return super().from_crawler(crawler)


class OfTable(Scheduler):
    """A scheduler that must be told a table, and looks for something in it."""

    def open(self, spider):
        self.size = spider.settings.getdict("FRONTIER")["size"]
        return super().open(spider)


class OnNodes(Scheduler):
    """A scheduler that takes a list as it is."""

    @classmethod
    def from_crawler(cls, crawler):
        [node["name"] for node in crawler.settings["FRONTIER_NODES"]]
        return super().from_crawler(crawler)


class InShardsWithoutClose:
    """A queue that must be told a number, and cannot be closed, which is its own matter."""

    def __init__(self, crawler, key):
        self.shards = crawler.settings.getint("FRONTIER_SHARDS")
        self.requests = []

    from_crawler = classmethod(lambda cls, crawler, key: cls(crawler, key))

    def push(self, request):
        hash(request.url) % self.shards
        self.requests.append(request)

    def pop(self):
        return self.requests.pop() if self.requests else None

    def __len__(self):
        return len(self.requests)


class WithFilter(Scheduler):
    """A scheduler that needs a dupefilter of its own."""

    def open(self, spider):
        self.df.of_spider(spider)


class WithServedFilter(Scheduler):
    """A scheduler that gives its dupefilter a server."""

    def open(self, spider):
        try:
            self.df = load_object(spider.settings["DUPEFILTER_CLASS"])(server=None, key="seen")
        except TypeError as error:
            raise ValueError("Failed to instantiate dupefilter class '%s': %s", "RFPDupeFilter", error)  # noqa: B904


class Importing(Scheduler):
    """A scheduler whose library is not there."""

    def open(self, spider):
        try:
            import nowhere  # noqa: F401
        except ImportError as error:
            raise RuntimeError("pip install nowhere") from error


class FilterInBloom(RFPDupeFilter):
    """A dupefilter on a module of Redis."""

    @classmethod
    def from_crawler(cls, crawler):
        made = super().from_crawler(crawler)
        made.server = redis.Redis.from_url(crawler.settings["REDIS_URL"])
        return made

    def request_seen(self, request):
        return bool(self.server.execute_command("BF.ADD", "seen", request.url))


class OfItsScheduler:
    """A queue that its own scheduler builds."""

    def __init__(self, server, spider, key):
        self.requests = []

    def push(self, request):
        self.requests.append(request)

    def pop(self):
        return self.requests.pop() if self.requests else None

    def __len__(self):
        return len(self.requests)

    def close(self):
        pass


class OfItsNode(FifoByteQueue):
    """A byte queue that must be told something besides its path."""

    def __init__(self, path, *, node):
        super().__init__(path)


class AtItsAddress(MemoryQueue):
    """An asynchronous queue that must be told an address."""

    def __init__(self, *, address, maxsize=0):
        super().__init__(maxsize)


NODES = '[{"name": "one"}]'
GIVE_URL = "give it by --queue-setting=FRONTIER_URL=VALUE"


@pytest.mark.parametrize(
    ("cls", "given", "line"),
    [
        (NotSetUp, {}, f"it is not configured (NotConfigured()): {GIVE_URL}"),
        (SwitchedOff, {}, "it is not configured (NotConfigured()): give it by --queue-setting=FRONTIER_ENABLED=VALUE"),
        (OfEnvironment, {}, "it reads FRONTIER_URL from the environment, which has none: set it there"),
        (OfSpider, {}, "it reads spider.redis_key, which the kit's spider has not: set it in pytest_prepare_spider"),
        (Unset, {}, "without FRONTIER_URL, which it reads: give it by --queue-setting=FRONTIER_URL=VALUE"),
        (Named, {}, f"it raised ValueError('frontier_url is missing'): {GIVE_URL}"),
        (Unpacking, {}, f"it raised KeyError('FRONTIER_URL'): {GIVE_URL}"),
        (Asserting, {}, f"it raised AssertionError() without FRONTIER_URL, which it reads: {GIVE_URL}"),
        (OfDatabase, {}, f") without FRONTIER_URL, which it reads: {GIVE_URL}"),
        (
            OfAnotherDatabase,
            {"settings": {"FRONTIER_URL": "sqlite:///requests.db"}},
            'FRONTIER_URL names does not understand it (near "ON": syntax error): name one that it is written for by --queue-',
        ),
        (WithPort, {"settings": {"FRONTIER_PORT": "7"}}, "write --queue-setting='FRONTIER_PORT:=7'"),
        (InShards, {}, "without FRONTIER_SHARDS, which it reads: give it by --queue-setting=FRONTIER_SHARDS=VALUE"),
        (OnServers, {}, "without FRONTIER_SERVERS, which it reads: give it by --queue-setting=FRONTIER_SERVERS=VALUE"),
        (OfTable, {}, "it raised KeyError('size') without FRONTIER, which it reads: give it by --queue-setting=FRONTIER=VALUE"),
        (OnNodes, {"settings": {"FRONTIER_NODES": NODES}}, f"write --queue-setting='FRONTIER_NODES:={NODES}'"),
        (OnNodes, {"settings": {"FRONTIER_NODES": "one,two"}}, "for FRONTIER_NODES, which is text: write what it wants in JSON"),
        (InShardsWithoutClose, {}, "without FRONTIER_SHARDS, which it reads: give it by --queue-setting=FRONTIER_SHARDS=VALUE"),
        (WithFilter, {}, "scrapy.dupefilters.RFPDupeFilter, which DUPEFILTER_CLASS names, has no of_spider: name another one"),
        (
            WithServedFilter,
            {},
            "scrapy.dupefilters.RFPDupeFilter, which DUPEFILTER_CLASS names, takes no server: name another one",
        ),
        (Importing, {}, "ModuleNotFoundError(\"No module named 'nowhere'\"): install nowhere"),
        (OfItsScheduler, {}, "needs server, spider and key, and Scrapy gives it one argument: test the scheduler that builds it"),
        (OfItsNode, {}, "its constructor needs node, which nobody gives: give it by --queue-setting=node=VALUE"),
        (AtItsAddress, {}, "its constructor needs address, which nobody gives: give it by --queue-setting=address=VALUE"),
        (
            FilterInBloom,
            {"server": "redis", "settings": {"REDIS_URL": "redis://{host}:{port}/0"}},
            "its server has not the module RedisBloom, which knows BF.ADD: name one that has it by --queue-server=HOST:PORT",
        ),
    ],
)
def test_what_is_missing_around_a_class_is_one_line_and_no_failed_rule(cls, given, line):
    (report,) = examine(cls, **given).implementations
    assert report.verdict is RunVerdict.INCONCLUSIVE
    reasons = {verdict.reason for verdict in report.verdicts if verdict.verdict == "blocked"}
    assert len(reasons) == 1
    assert line in reasons.pop()
    assert not report.notes, "it is said once"


@pytest.mark.parametrize(
    ("cls", "settings"),
    [
        (NotSetUp, {"FRONTIER_URL": "x"}),
        (Unset, {"FRONTIER_URL": "x"}),
        (WithPort, {"FRONTIER_PORT": 7}),
        (InShards, {"FRONTIER_SHARDS": 7}),
        (OnServers, {"FRONTIER_SERVERS": ["localhost:7"]}),
        (OfTable, {"FRONTIER": '{"size": 1}'}),
        (OnNodes, {"FRONTIER_NODES": [{"name": "one"}]}),
        (SwitchedOff, {"FRONTIER_ENABLED": "1"}),
        (OfItsNode, {"node": 1}),
        (AtItsAddress, {"address": 1}),
    ],
)
def test_what_the_line_says_helps(cls, settings):
    assert kit.examine(f"test_lacking.{cls.__name__}", settings=settings, only="smoke").verdict is RunVerdict.PARTIAL


@pytest.mark.parametrize(
    ("url", "server", "line"),
    [
        ("redis://{host}:{port}/0", "", "the setting FRONTIER_URL: {host} stands for nothing: name a server by --queue-server"),
        (
            "redis://{host}:{prot}/0",
            "fakeredis",
            "{prot} stands for nothing; {host}, {port}, {password} do",
        ),
    ],
)
def test_no_address_reaches_a_class_with_words_in_braces(url, server, line):
    with pytest.raises(LoadError) as caught:
        examine(Unset, settings={"FRONTIER_URL": url}, server=server)
    assert line in str(caught.value)


def test_words_in_braces_that_a_class_may_know_are_told_and_a_secret_is_not():
    settings = {"FRONTIER_URL": "db://me:my{secret}@db/{spider}", "JOBDIR": "{spider}"}
    (report,) = examine(Unset, settings=settings, rules="scheduler.ctor.*").implementations
    told = [note for note in report.notes if note.startswith(AS_WRITTEN)]
    known = "the kit fills in {host}, {port}, {password} alone, where a server is named"
    assert told == [f"passed as written: {{spider}} in the setting {name}; {known}" for name in settings]


class Broken(Scheduler):
    """A scheduler with an optional setting, and a mistake that has nothing to do with it."""

    @classmethod
    def from_crawler(cls, crawler):
        crawler.settings.get("FRONTIER_URL")
        None.split(":")


class BrokenDivision(Scheduler):
    """A scheduler with an optional number, and a division that has nothing to do with it."""

    @classmethod
    def from_crawler(cls, crawler):
        crawler.settings.getint("FRONTIER_SHARDS")
        return 1 // 0


class BrokenList(Scheduler):
    """A scheduler with an optional list, and an index that has nothing to do with it."""

    @classmethod
    def from_crawler(cls, crawler):
        crawler.settings.getlist("FRONTIER_SERVERS")
        return [][0]


class BrokenTable(Scheduler):
    """A scheduler with an optional table, and a key that has nothing to do with it."""

    @classmethod
    def from_crawler(cls, crawler):
        crawler.settings.getdict("FRONTIER")
        return {}["size"]


class BrokenText(Scheduler):
    """A scheduler with a text, and an index into another one that has nothing to do with it."""

    @classmethod
    def from_crawler(cls, crawler):
        return crawler.settings["BOT_NAME"][crawler.settings["FRONTIER_NAME"]]


class BrokenAfterwards(Scheduler):
    """A scheduler that may be told a class, and fails for something else."""

    def open(self, spider):
        if named := spider.settings.get("FRONTIER_CLASS"):
            load_object(named)
        spider.settings.get("FRONTIER_NAME")
        assert self.df is None


class BrokenByItself(Scheduler):
    """A scheduler that looks for what nobody but itself could make."""

    @classmethod
    def from_crawler(cls, crawler):
        return super().from_crawler(crawler).frontier


class BrokenImport(Scheduler):
    """A scheduler that looks for a module of its own package that is not there."""

    @classmethod
    def from_crawler(cls, crawler):
        from test_lacking import nowhere  # noqa: F401


class BrokenQueue(FifoMemoryQueue):
    """A queue that Scrapy cannot build."""

    def __init__(self, server, spider, key):
        super().__init__()


class BrokenStatement(Scheduler):
    """A scheduler with a statement that its own database does not understand."""

    def open(self, spider):
        with closing(sqlite3.connect(":memory:")) as database:
            database.execute("CREATE TABLE requests (time DATETIME ON UPDATE CURRENT_TIMESTAMP)")


@pytest.mark.parametrize(
    ("cls", "settings"),
    [
        *((cls, {}) for cls in (Broken, BrokenStatement, BrokenDivision, BrokenList, BrokenTable, BrokenAfterwards)),
        *((cls, {}) for cls in (BrokenByItself, BrokenImport, BrokenQueue)),
        (BrokenText, {"FRONTIER_NAME": "one"}),
    ],
)
def test_a_broken_constructor_fails_its_rule(cls, settings):
    (report,) = examine(cls, settings=settings).implementations
    assert report.verdict is RunVerdict.NON_CONFORMANT
    assert [verdict.rule.id.partition(".")[2] for verdict in report.failed_rules("MUST")] == ["ctor.from-crawler"]
