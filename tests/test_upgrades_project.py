"""What crawls with a project have left, crawls with a later version of that project are asked for."""

import json
import sys

import pytest
from kit import ENVIRONMENT, downloads

from queue_conformance import UsageError
from queue_conformance import __main__ as command
from queue_conformance.config import run_config
from queue_conformance.config.targets import same_project

pytestmark = pytest.mark.skipif(not downloads(), reason="needs a Scrapy that can download")

SETTINGS = """
SCHEDULER_DISK_QUEUE = "scrapy.squeues.PickleFifoDiskQueue"
SCHEDULER_START_DISK_QUEUE = "scrapy.squeues.PickleFifoDiskQueue"
SCHEDULER_PRIORITY_QUEUE = "scrapy.pqueues.DownloaderAwarePriorityQueue"
SHOP_TOKEN = "abcdef123456"
"""

CHANGED = SETTINGS + 'SCHEDULER_PRIORITY_QUEUE = "scrapy.pqueues.ScrapyPriorityQueue"\n'


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project, with what crawls with it left."""
    directory = tmp_path_factory.mktemp("shop")
    (directory / "scrapy.cfg").write_text("[settings]\ndefault = kept_shop\n")
    (directory / "kept_shop.py").write_text(SETTINGS)
    with pytest.MonkeyPatch.context() as patch:
        enter(directory, patch)
        assert command.main(["keep", "kept", "--conformance-crawl"]) == 0
    return directory


def enter(directory, patch):
    patch.chdir(directory)
    patch.delenv("SCRAPY_SETTINGS_MODULE", raising=False)
    patch.setattr(sys, "path", [*sys.path])
    patch.setenv("PYTHONPATH", ENVIRONMENT["PYTHONPATH"])


@pytest.fixture
def kit(project, monkeypatch, capsys):
    """Run a command where the settings have this text; return its exit status, its output, and its errors."""
    enter(project, monkeypatch)

    def run(settings, *arguments):
        (project / "kept_shop.py").write_text(settings)
        status = command.main([*arguments])
        said = capsys.readouterr()
        return status, said.out, said.err

    yield run
    (project / "kept_shop.py").write_text(SETTINGS)


def test_requests_of_all_sorts_wait_and_no_setting_is_written(project):
    text = (project / "kept" / "kept.json").read_text()
    told = json.loads(text)
    assert (told["name"], told["kind"], told["settings"]) == ("kept_shop", "crawl", {})
    state, *pending = told["stores"]["closed"]["pending"]
    assert state == {"key": "spider.state", "is": {"parsed": 8}}
    assert {each["class"] for each in pending} == {"Request", "FormRequest", "JsonRequest"}
    assert {each["priority"] for each in pending} == {0, 1, 2}
    assert {each["callback"] for each in pending} == {None, "parse_other"}
    assert len(pending) == 24


def test_the_same_project_recovers_all(kit):
    status, out, err = kit(SETTINGS, "kept", "kept")
    assert (status, err) == (0, "")
    first, *parts = out.splitlines()
    assert first.startswith("kept: kept_shop, written by ")
    assert parts == ["  closed: recovers all", "  killed: recovers all"]


def test_a_project_with_another_priority_queue_is_told_what_becomes_of_its_jobs(kit):
    status, out, _ = kit(CHANGED, "kept", "kept")
    assert status == 1
    assert "  closed: " in out
    assert "recovers all" not in out


def test_crawls_are_asked_in_a_run_and_nothing_else_is(kit, pytester, project, monkeypatch):
    def kept_of(*arguments):
        monkeypatch.chdir(project)
        config = pytester.parseconfig(*arguments, f"--conformance-kept={project / 'kept'}")
        return {target.name: bool(target.kept) for target in run_config.read(config).targets}

    assert kept_of("--conformance-crawl") == {"kept_shop": True}
    with pytest.raises(UsageError, match="was written by kept_shop, which is not tested here"):
        kept_of("--scheduler-class=scrapy.core.scheduler.Scheduler")


SPIDERS = """
import scrapy

class A(scrapy.Spider):
    name = "a"

class B(scrapy.Spider):
    name = "b"
    custom_settings = {"SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.ScrapyPriorityQueue"}
"""


def test_spiders_with_different_settings_are_kept_one_by_one(kit, project):
    (project / "kept_spiders.py").write_text(SPIDERS)
    status, _, err = kit(f"{SETTINGS}SPIDER_MODULES = ['kept_spiders']", "keep", "other", "--conformance-crawl")
    assert (status, err.count("\n")) == (2, 1)
    assert "crawl with different settings: name one by --spider, of a, b" in err


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("a", "a", True),
        ("a", "b", False),
        ("a:x", "a", True),
        ("a", "a:x", True),
        ("a:x,y", "a:z,y", True),
        ("a:x", "a:y", False),
    ],
)
def test_a_project_is_the_same_whose_spiders_have_come_to_differ(one, other, same):
    assert same_project(one, other) == same
