"""Whole crawls with what the settings of the user's own project name."""

import sys

import pytest
from kit import downloads

from queue_conformance import options
from queue_conformance.discovery.loading import check_components
from queue_conformance.option_values import UsageError

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
    return options.read(pytester.parseconfig("--conformance-crawl", *arguments)).targets


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
    (target,) = read(pytester)
    assert target.settings == {
        "SCHEDULER_DISK_QUEUE": "shop_settings.SCHEDULER_DISK_QUEUE",
        "SCHEDULER_START_DISK_QUEUE": "shop_settings.SCHEDULER_START_DISK_QUEUE",
        "DUPEFILTER_CLASS": "shop_settings.DUPEFILTER_CLASS",
    }
    check_components(target.settings)


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
    result.stderr.fnmatch_lines(["ERROR: --conformance-crawl: there is no scrapy.cfg here or above; run pytest in *"])


@pytest.mark.skipif(not downloads(), reason="needs a Scrapy that can download")
def test_the_page_that_the_queue_of_a_project_loses_is_told(project, pytester):
    project("JOBDIR = 'crawls'\nSCHEDULER_START_DISK_QUEUE = 'shop_queues.LosesAll'\nDOWNLOAD_DELAY = 60")
    pytester.makepyfile(shop_queues=LOSES)
    result = pytester.runpytest_subprocess("--conformance-crawl")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["e2e.all-once  MUST failed", "*page 0: lost", "shop_settings", "*NON-CONFORMANT (1 MUST*"])
    assert not (pytester.path / "crawls").exists()
