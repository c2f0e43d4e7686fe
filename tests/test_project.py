"""Whole crawls with what the settings of the user's own project name."""

import sys

import pytest
from kit import downloads

from queue_conformance.config import run_config
from queue_conformance.config.targets import Target
from queue_conformance.config.values import UsageError
from queue_conformance.implementation.loading import check_components

SETTINGS = """
BOT_NAME = "shop"
DOWNLOAD_DELAY = 60
JOBDIR = "crawls"
SCHEDULER_DISK_QUEUE = "scrapy.squeues.MarshalFifoDiskQueue"
SCHEDULER_START_DISK_QUEUE = None
SHOP_URLS = {"a": 1}
SHOP_HOOK = print
"""

LOSES = """
from scrapy.squeues import PickleFifoDiskQueue


class LosesAll(PickleFifoDiskQueue):
    def push(self, request): ...
"""


@pytest.fixture
def project(pytester, monkeypatch):
    """Make a project, with this text in the file of its settings."""
    monkeypatch.delenv("SCRAPY_SETTINGS_MODULE", raising=False)
    monkeypatch.setattr(sys, "path", [*sys.path])

    def make(settings, cfg="[settings]\ndefault = shop_settings\n"):
        monkeypatch.delitem(sys.modules, "shop_settings", raising=False)
        pytester.makefile(".cfg", scrapy=cfg)
        pytester.makepyfile(shop_settings=settings)

    return make


def read(pytester, *arguments):
    return run_config.read(pytester.parseconfig("--conformance-crawl", *arguments)).targets


def test_the_settings_of_the_queue_and_of_other_packages_are_taken(project, pytester):
    project(SETTINGS)
    (target,) = read(pytester, "--queue-setting=SHOP_URLS=none")
    assert (target.name, target.path) == ("shop_settings", "scrapy.core.scheduler.Scheduler")
    assert target.claims == {"kind": "crawl"}
    assert target.settings == {
        "JOBDIR": "crawls",
        "SCHEDULER_DISK_QUEUE": "scrapy.squeues.MarshalFifoDiskQueue",
        "SCHEDULER_START_DISK_QUEUE": "",
        "SHOP_URLS": "none",
    }


def test_the_project_may_lie_above_and_its_scheduler_be_a_class(project, pytester, monkeypatch):
    project("from scrapy.core.scheduler import Scheduler as SCHEDULER")
    monkeypatch.chdir(pytester.mkdir("below"))
    assert [target.path for target in read(pytester)] == ["scrapy.core.scheduler.Scheduler"]


OBJECTS = """
from scrapy.squeues import _pickle_serialize, _scrapy_serialization_queue, _serializable_queue
import pickle
import queuelib.queue

def made():
    return _scrapy_serialization_queue(_serializable_queue(queuelib.queue.FifoDiskQueue, _pickle_serialize, pickle.loads))

class Around:
    Within = made()

    class Filter:
        pass

SCHEDULER_DISK_QUEUE = MyQueue = made()
SCHEDULER_START_DISK_QUEUE = Around.Within
DUPEFILTER_CLASS = Around.Filter
"""


def test_a_class_in_the_settings_is_named_as_another_process_finds_it(project, pytester):
    project(OBJECTS)
    target, *parts = read(pytester)
    assert target.settings == {
        "SCHEDULER_DISK_QUEUE": "shop_settings.SCHEDULER_DISK_QUEUE",
        "SCHEDULER_START_DISK_QUEUE": "shop_settings.SCHEDULER_START_DISK_QUEUE",
        "DUPEFILTER_CLASS": "shop_settings.DUPEFILTER_CLASS",
    }
    check_components(target.settings)
    assert {part.path: part.option for part in parts} == {
        path: "dupefilter-class" if "FILTER" in path else "queue-class" for path in target.settings.values()
    }


SPIDER = """
import scrapy


class {name}(scrapy.Spider):
    name = "{name}"
    custom_settings = {settings}
"""

OWN = {"SCHEDULER_DISK_QUEUE": "shop_queues.LosesAll"}


@pytest.fixture
def spiders(project, pytester):
    """Make a project with spiders in two modules, whose settings are these, and a queue that loses all."""

    def make(settings="", **own):
        pytester.makepyfile(shop_queues=LOSES)
        for number, module in enumerate(("shop_spiders", "more_spiders")):
            of_module = [SPIDER.format(name=name, settings=given) for name, given in [*own.items()][number::2]]
            pytester.makepyfile(**{module: "\n".join(of_module)})
        project(f"SPIDER_MODULES = ['shop_spiders', 'more_spiders']\n{settings}")

    return make


def test_spiders_crawl_with_settings_of_their_own(spiders, pytester):
    spiders(
        "JOBDIR = 'crawls/all'\nDEPTH_PRIORITY = 1",
        a=None,
        b=OWN,
        c={"JOBDIR": "crawls/c", "DOWNLOAD_DELAY": 3},
        d={**OWN, "DEPTH_PRIORITY": 1},
        e={"JOBDIR": None, "SCHEDULER": "scrapy.core.scheduler.Scheduler", "REDIS_URL": "redis://localhost"},
    )
    *crawls, queue = read(pytester)
    common = {"JOBDIR": "crawls/all", "DEPTH_PRIORITY": "1"}
    assert {target.name: target.settings for target in crawls} == {
        "shop_settings:a,c": common,
        "shop_settings:b,d": common | OWN,
        "shop_settings:e": common | {"JOBDIR": "", "REDIS_URL": "redis://localhost"},
    }
    path = OWN["SCHEDULER_DISK_QUEUE"]
    assert queue == Target(path, "queue-class", path, common | OWN, of_project=True)


def test_a_queue_is_not_asked_its_rules_with_a_filter_of_the_project(spiders, pytester):
    pytester.makepyfile(shop_filters="from scrapy.dupefilters import RFPDupeFilter\n\n\nclass Filter(RFPDupeFilter): ...\n")
    filters = {"DUPEFILTER_CLASS": "shop_filters.Filter"}
    spiders(a=OWN | filters)
    crawl, queue, dupefilter = read(pytester)
    assert crawl.settings == dupefilter.settings == OWN | filters
    assert queue.settings == OWN


def test_spiders_that_crawl_alike_are_one_implementation_with_the_name_of_the_project(spiders, pytester):
    spiders("DOWNLOAD_DELAY = 1", a=OWN, b=OWN)
    assert [target.name for target in read(pytester)] == ["shop_settings", "shop_queues.LosesAll"]


def test_a_spider_may_compute_its_settings(spiders, pytester):
    spiders(a=None)
    source = "\n    @classmethod\n    def update_settings(cls, settings):\n        settings.set('DEPTH_PRIORITY', 7, 'spider')"
    pytester.makepyfile(shop_spiders=SPIDER.format(name="a", settings=None) + source)
    assert [target.settings for target in read(pytester)] == [{"DEPTH_PRIORITY": "7"}]


@pytest.mark.parametrize(
    ("spider", "message"),
    [
        ("1 / 0", r"the spiders of shop_settings: ZeroDivisionError"),
        ("import os; os._exit(3)", "importing shop_settings and its spiders "),
        (SPIDER.format(name="a", settings="7"), "the spiders of shop_settings: "),
        (SPIDER.format(name="a", settings={"SCHEDULER_DISK_QUEUE": print}), "SCHEDULER_DISK_QUEUE in shop_settings, spider a: "),
        ("import socket; socket.create_connection(('127.0.0.1', 9))", "shop_settings"),
    ],
)
def test_spiders_that_cannot_be_used_get_one_line(spiders, pytester, spider, message):
    spiders()
    pytester.makepyfile(shop_spiders=spider.replace("<built-in function print>", "print"))
    with pytest.raises(UsageError, match=message) as raised:
        read(pytester)
    assert "\n" not in str(raised.value)
    assert "shop_spiders" not in sys.modules


def test_the_environment_names_the_settings_and_is_read_by_them(project, pytester, monkeypatch):
    project("raise SystemExit")
    pytester.makepyfile(**{"shop/__init__": "", "shop/base": "DEPTH_PRIORITY = 1"})
    pytester.makepyfile(**{"shop/live": "import os\nfrom shop.base import *\nJOBDIR = os.environ['SHOP_JOB']"})
    monkeypatch.setenv("SCRAPY_SETTINGS_MODULE", "shop.live")
    with pytest.raises(UsageError, match=r"SCRAPY_SETTINGS_MODULE names: importing shop.live raised KeyError: 'SHOP_JOB'"):
        read(pytester)
    monkeypatch.setenv("SHOP_JOB", "crawls")
    for file in ("scrapy.cfg", None):  # which is not needed, either
        assert [(one.name, one.settings) for one in read(pytester)] == [
            ("shop.live", {"JOBDIR": "crawls", "DEPTH_PRIORITY": "1"})
        ]
        if file:
            (pytester.path / file).unlink()


def test_scrapy_cfg_may_name_several_projects(project, pytester, monkeypatch):
    project("DEPTH_PRIORITY = 2", "[settings]\ndefault = nowhere\nshop = shop_settings\n")
    monkeypatch.setenv("SCRAPY_PROJECT", "shop")
    assert [target.name for target in read(pytester)] == ["shop_settings"]


@pytest.mark.parametrize(
    ("settings", "cfg", "message"),
    [
        ("", "[settings]\n", "scrapy.cfg names no settings; write default = my_project.settings below"),
        ("", "default = shop", "scrapy.cfg: File contains no section headers"),
        ("", "[settings]\ndefault = nowhere.settings", "scrapy.cfg names: there is no module 'nowhere'"),
        ("", "[settings]\ndefault = shop_settings.base", "shop_settings has no module 'base'"),
        ("1 / 0", None, "importing shop_settings raised ZeroDivisionError: division by zero"),
        ("SCHEDULER_DISK_QUEUE = print", None, "SCHEDULER_DISK_QUEUE in shop_settings: write text"),
    ],
)
def test_a_project_that_cannot_be_used_gets_one_line(project, pytester, settings, cfg, message):
    project(settings, *([cfg] if cfg else []))
    with pytest.raises(UsageError, match=message) as raised:
        read(pytester)
    assert "\n" not in str(raised.value)


def test_without_a_project_nothing_is_tested(pytester):
    result = pytester.runpytest_subprocess("--conformance-crawl")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --conformance-crawl: there is no scrapy.cfg here or above; run this in *"])


@pytest.mark.further
@pytest.mark.skipif(not downloads(), reason="needs a Scrapy that can download")
def test_the_page_that_the_queue_of_a_spider_loses_is_told(spiders, pytester):
    own = {"SCHEDULER_START_DISK_QUEUE": "shop_queues.LosesAll", "SHOP_URLS": 7}
    spiders("JOBDIR = 'crawls'\nDOWNLOAD_DELAY = 60", a=None, b=own)
    rules = "e2e.all-once or queue.pop.fifo"
    result = pytester.runpytest_subprocess("--conformance-crawl", "--conformance-claim=ignores=query", "-k", rules)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*_ e2e.all-once  MUST failed (shop_settings:b) _*", "*page 0: lost"])
    result.stdout.fnmatch_lines(["shop_settings:a", "*verdict: *PARTIAL*", "shop_settings:b", "*NON-CONFORMANT*"])
    result.stdout.fnmatch_lines(["shop_queues.LosesAll: *", "*NON-CONFORMANT*"])
    assert not (pytester.path / "crawls").exists()
