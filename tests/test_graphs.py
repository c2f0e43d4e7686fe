"""Graphs of pages: what is demanded of a crawl, drawn ones, and crawls of right classes."""

import os
import random
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
import redis
from kit import downloads, examine, failed_rules, further, run_script

import queue_conformance
from mutants.controls import SharedFile
from mutants.controls_worlds import prepare
from mutants.crawls import SETTINGS
from queue_conformance.engine.verdicts import Verdict
from queue_conformance.environments import crawls
from queue_conformance.environments.addresses import BY, NOWHERE, page_at, page_of, request_for
from queue_conformance.environments.judge import demanded, out_of_order
from queue_conformance.environments.site import Crawl
from queue_conformance.environments.together import Crawls, SharedGraph
from queue_conformance.kinds.crawl.checks.pages import STAR
from queue_conformance.kinds.crawl.plans import (
    LINKED,
    Plan,
    draw_graph,
    pruned,
    smaller,
    together,
    told_apart,
    without_duplicates,
)
from queue_conformance.running.replay import State, judge
from queue_reference.disk import FifoDiskQueue
from queue_reference.scheduler import Scheduler

WITHOUT_QUERIES = "mutants.dupefilters_alike.IgnoresQueries"
CRAWLS = {"e2e.all-once", "e2e.no-early-end", "e2e.pause-resume"}
CHAIN = {"start": [{"page": 0}], 0: {"links": [{"page": 1}, {"page": 2}]}, 1: {}, 2: {"links": [{"page": 3}]}, 3: {}}


def verdicts(report):
    return {verdict.rule.id: verdict for verdict in report.verdicts}


def drawn(seed):
    return draw_graph(random.Random(seed), 12)


def test_a_page_is_demanded_once_and_again_after_an_error_and_without_a_filter():
    assert demanded(LINKED) == Counter(
        {0: 1, 1: 2, 2: 1, 3: 1, 4: 1, 5: 1, 6: 2, 7: 1, 8: 1, 9: 3} | dict.fromkeys(range(10, 15), 1) | {15: 2, 16: 2, 17: 3}
    )


@pytest.mark.parametrize("seed", range(20))
def test_every_page_of_a_drawn_graph_is_demanded(seed):
    graph = drawn(seed)
    assert set(demanded(graph)) == graph.keys() - {"start"}


@pytest.mark.parametrize("seed", range(20))
def test_what_filters_nothing_is_asked_for_each_page_once(seed):
    graph = without_duplicates(drawn(seed))
    filtered = [link for page in graph.values() for link in (page if isinstance(page, list) else page.get("links", ()))]
    assert max(Counter(link["page"] for link in filtered).values()) == 1


@pytest.mark.parametrize("by", BY)
def test_a_request_says_which_page_it_is_for(by):
    for page in (*range(70), 299):
        request = request_for("http://127.0.0.1:8000", page, by)
        assert page_of(request) == page
        assert page_at(request.method, request.url.partition(":8000")[2], request.body) == page


def test_a_request_that_was_changed_is_for_no_page():
    assert page_of(request_for("http://example.com", 7, "body").replace(body=b"")) == NOWHERE
    assert page_of(request_for("http://example.com", 7).replace(method="POST")) == NOWHERE


@pytest.mark.further
def test_a_crawl_sees_how_a_filter_tells_pages_apart():
    path, settings = "mutants.crawls_alike.TakesQueriesForOnePage", {**SETTINGS, "DUPEFILTER_CLASS": WITHOUT_QUERIES}
    verdict = verdicts(examine(path, {"kind": "crawl"}, settings=settings, only="e2e.all-once"))["e2e.all-once"]
    assert "#   page 10: by query, lost" in verdict.violation.script
    report = examine(path, {"kind": "crawl", "ignores": "query"}, settings=settings, only="e2e.all-once")
    assert verdicts(report)["e2e.all-once"].verdict is Verdict.PASSED


LOSING = """
import os

from scrapy.core.scheduler import Scheduler


USUALLY = os.urandom(1)[0] % 8  # each crawl is a process; what is found is seen again in one of three


class LosesSomePages(Scheduler):
    def enqueue_request(self, request):
        lost = request.method == "POST" if USUALLY else "list?" in request.url
        return lost or super().enqueue_request(request)
"""


@pytest.mark.further
def test_crawls_that_lose_other_pages_each_time_fail_a_rule(pytester):
    pytester.makepyfile(losing=LOSING)
    asked = ("--scheduler-class=losing.LosesSomePages", "--conformance-claim=kind=crawl", "-k", "e2e.all-once")
    result = pytester.runpytest_subprocess(*asked)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*_ e2e.all-once  MUST failed _*"])
    result.stdout.no_fnmatch_line("INTERNAL ERROR*")


@pytest.mark.parametrize("seed", range(5))
def test_smaller_plans_are_smaller_and_whole(seed):
    plan = Plan(drawn(seed), {"CONCURRENT_REQUESTS": 8})
    for one in smaller(plan):
        assert one != plan
        assert len(repr(one)) <= len(repr(plan))
        assert one.graph == pruned(one.graph)


def test_of_pages_with_which_something_is_wrong_the_first_are_tried_alone():
    graph = {"start": [{"page": 0}], 0: {"links": [{"page": 1}]}, 1: {"links": [{"page": 2}]}, 2: {}}
    first, second, *_ = [one.graph for one in smaller(Plan(graph), {1, 2})]
    assert first["start"] == [{"page": 1}]
    assert second["start"] == [{"page": 0}], "for nothing is known of page 2, to which only page 1 leads"


def test_a_page_is_tried_alone_that_is_redirected_to_one_with_which_something_was_wrong():
    graph = {"start": [{"page": 0}], 0: {"links": [{"page": 1}]}, 1: {"redirect": 2}, 2: {}}
    tried = [one.graph for one in smaller(Plan(graph), {2})]
    assert {"start": [{"page": 1}], 1: {"redirect": 2}, 2: {}} in tried[:3]


def noted(words):
    """Return what a scheduler was asked: ``+3`` is an enqueued page, ``3`` one that it gave, ``-`` that it gave none."""
    kinds = {"+": "accepted", "-": "next"}
    return [[kinds.get(word[0], "next"), word.lstrip("+") if word != "-" else "None"] for word in words.split()]


@pytest.mark.parametrize("words", ["+0 0 - +1 +2 2 +3 3 1", "+0 0 +1 1 +2 2 +3 3", "+0 0 +1 +2 2 1 +3 3"])
def test_what_is_not_enqueued_yet_is_not_due(words):
    assert out_of_order(CHAIN, noted(words)) is None


def test_a_page_that_comes_before_one_that_is_due_is_out_of_order():
    first = noted("+0 0 +1 +2 1 2 +3 3")
    assert out_of_order(CHAIN, first) == 1
    assert out_of_order(CHAIN, first, breadth=True) is None


def judged(struck, hits):
    """Return a site whose crawlers asked for these pages, one of them when it was killed."""
    site = SharedGraph.__new__(SharedGraph)
    site.pages, site.struck, site.hits = CHAIN, struck, hits
    return site


def test_only_what_a_killed_crawler_had_leads_to_what_may_be_lost():
    assert judged([0, 2], [0, 1, 2]).taken() == [1, 2, 3]
    assert judged([2], [0, 1, 2]).taken() == [3]
    assert judged([], [0, 1, 2]).taken() == []


def test_what_a_killed_crawler_had_is_recovered_if_it_is_asked_for_again():
    assert judged([0, 2], [0, 1, 2]).unrecovered() == [2]
    assert judged([0, 2], [0, 1, 2, 2, 3]).unrecovered() == []


@pytest.mark.parametrize("seed", range(20))
def test_a_crawler_is_killed_with_a_page_that_others_cannot_replace(seed):
    (plan,) = together(SimpleNamespace(seed=seed, crawls=1), "killed")
    site = judged([plan.crawlers["killed"]], [])
    site.pages = plan.graph
    assert site.taken()


needs_downloads = pytest.mark.skipif(not downloads(), reason="needs a Scrapy that can download")


@needs_downloads
@pytest.mark.parametrize("seed", [0, *further(1, 2, 3)])
@pytest.mark.parametrize(
    "path",
    [
        "scrapy.core.scheduler.Scheduler",
        "queue_reference.disk.FifoDiskQueue",
        *further(
            "queue_reference.scheduler.Scheduler",
            "queue_reference.disk.LifoDiskQueue",
            "scrapy.squeues.PickleFifoDiskQueue",
            "scrapy.squeues.MarshalLifoDiskQueue",
        ),
    ],
)
def test_a_right_class_crawls_every_page_once(path, seed):
    report = examine(path, only=CRAWLS, seed=seed, crawls=3)
    assert failed_rules(report) == set()
    assert verdicts(report)["e2e.all-once"].verdict is Verdict.PASSED


def made(base, **members):
    return type("Scheduler", (base,), members)


MadeScheduler = made(Scheduler)
LosesWhatIsFollowed = made(
    Scheduler, enqueue_request=lambda self, request: "depth" in request.meta or Scheduler.enqueue_request(self, request)
)


@needs_downloads
@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("mutants.controls.MadeByAFunction", "e2e.all-once"),
        ("mutants.controls.Around.Within", "e2e.all-once"),
        ("mutants.controls.SaysItIsBuiltIn", "e2e.all-once"),
        ("test_graphs.MadeScheduler", "e2e.lifecycle"),
        *further(("test_graphs.MadeScheduler", "job.resume.command")),
    ],
)
def test_a_crawl_finds_a_class_by_the_path_that_was_given(path, rule):
    settings = SETTINGS if path.endswith("Scheduler") else {}
    assert verdicts(examine(path, only=rule, settings=settings))[rule].verdict is Verdict.PASSED


@pytest.mark.further
@needs_downloads
def test_what_any_crawl_loses_is_no_matter_of_a_pause_in_whichever_process_that_is_tested():
    assert not failed_rules(examine("mutants.crawls.DropsRetriesBelow", only="e2e.pause-resume"))


@pytest.mark.further
@needs_downloads
def test_the_script_of_a_crawl_finds_what_a_function_made(tmp_path):
    report = examine("test_graphs.LosesWhatIsFollowed", only="e2e.all-once", settings=SETTINGS)
    violation = verdicts(report)["e2e.all-once"].violation
    assert "'SCHEDULER': 'test_graphs.LosesWhatIsFollowed'" in violation.script
    ended = run_script(violation.script, tmp_path)
    assert judge(violation, ended.returncode, ended.stdout + ended.stderr)[0] is State.FAILED, ended.stderr


@needs_downloads
@pytest.mark.parametrize("seed", [0, *further(1, 2)])
def test_a_page_whose_request_was_refused_because_it_cannot_be_stored_is_not_lost(seed):
    report = examine("mutants.controls_schedulers.RejectsWhatItCannotStore", only=CRAWLS, seed=seed, crawls=2)
    assert failed_rules(report) == set()


def test_what_a_scheduler_may_refuse_is_demanded_until_it_did():
    graph = {"start": [{"page": 0}, {"page": 1, "unserializable": True}], 0: {}, 1: {"links": [{"page": 2}]}, 2: {}}
    assert demanded(graph, {0}) == Counter({0: 1, 1: 1, 2: 1})
    assert demanded(graph, {1}) == Counter({0: 1})


@needs_downloads
def test_the_spider_of_a_crawl_gets_what_a_function_gives_it():
    path = "mutants.controls_worlds.ReadsItsSpider"
    (found,) = queue_conformance.examine(path, rules="e2e.all-once", crawls=1, prepare_spider=prepare).implementations
    assert verdicts(found)["e2e.all-once"].verdict is Verdict.PASSED


class IsSlow(Scheduler):
    """In a crawl it takes its time for each request."""

    def next_request(self):
        time.sleep(1.6 if Path("scrapy.cfg").exists() else 0)
        return super().next_request()


@needs_downloads
def test_a_crawl_that_is_too_slow_for_this_machine_is_not_covered(monkeypatch):
    monkeypatch.setattr(crawls, "TIMEOUT", 5.0)
    found = verdicts(examine("test_graphs.IsSlow", only="e2e.all-once", time_limit=2.0))["e2e.all-once"]
    assert found.verdict is Verdict.NOT_COVERED
    assert "too slow here" in found.reason


class LosesOnceAndIsSlow(Scheduler):
    """In its first crawl it loses a page, and in each smaller one it takes its time for each request."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.crawled = Path(os.environ["CRAWLED"])
        self.smaller = self.crawled.exists()

    def next_request(self):
        request = super().next_request()
        if request and self.smaller:
            time.sleep(4)
        elif request and page_of(request) == 9:
            self.crawled.touch()
            return None
        return request


@pytest.mark.further
@needs_downloads
def test_a_failure_is_kept_where_the_machine_is_too_slow_for_smaller_crawls(monkeypatch, tmp_path):
    monkeypatch.setattr(crawls, "TIMEOUT", 5.0)
    monkeypatch.setenv("CRAWLED", str(tmp_path / "crawled"))
    found = verdicts(examine("test_graphs.LosesOnceAndIsSlow", only="e2e.all-once", time_limit=2.0))["e2e.all-once"]
    assert found.verdict is Verdict.FAILED, found.reason


SMALLEST = {
    "mutants.crawls.LosesCallbacksOfRedirects": ["# page 15: redirect 16", "#   page 16: not in its callback"],
    "mutants.crawls.CountsAnswersOnly": ["# page 17: cut, lost"],
}
"""The pages of the smallest crawl that shows what is wrong; that of the second one stands still."""


@pytest.mark.further
@needs_downloads
@pytest.mark.parametrize("path", ["mutants.crawls.LosesCallbacksOfRedirects", *further("mutants.crawls.CountsAnswersOnly")])
def test_a_crawl_is_told_with_the_fewest_pages(monkeypatch, path):
    monkeypatch.setattr(crawls, "TIMEOUT", 5.0)
    found = verdicts(examine(path, only="e2e.all-once", settings=SETTINGS))["e2e.all-once"]
    assert [line for line in found.violation.operations if line.startswith("#")] == SMALLEST[path]


def test_a_queue_in_memory_alone_costs_no_crawl():
    report = examine("scrapy.squeues.FifoMemoryQueue", only=CRAWLS)
    assert verdicts(report)["e2e.all-once"].verdict is Verdict.NOT_APPLICABLE


def test_crawlers_that_download_nothing_are_not_busy():
    runs = [Crawl(hits, [], [], [], 0) for hits in ([0, 1], [])]
    site = SharedGraph.__new__(SharedGraph)
    site.pages, site.hits, site.runs, site.hung, site.accident = {"start": []}, [], runs, False, ""
    site.struck, site.met, site.victim = [], False, None
    assert Crawls(site, runs).busy == 1


# --- Accidents that nothing meets -------------------------------------------------------------------------------------


URL = {"REDIS_URL": "redis://{host}:{port}/0"}


class Greets:
    """It asks its server whether it is there, once."""

    greeted = False

    def greet(self, crawler):
        if not self.greeted:
            self.greeted = True
            with redis.Redis.from_url(crawler.settings["REDIS_URL"]) as client:
                client.ping()


class TimesOut(Greets, Scheduler):
    """In a crawl it loses a page by a time-out of its client."""

    def enqueue_request(self, request):
        self.greet(self._crawler)
        if Path("scrapy.cfg").exists() and page_of(request) == 3:
            raise redis.TimeoutError("Timeout reading from socket")
        return super().enqueue_request(request)


@needs_downloads
def test_a_crawl_whose_server_answers_too_slowly_is_not_covered():
    report = examine("test_graphs.TimesOut", only="e2e.all-once", settings=URL, server="fakeredis")
    found = verdicts(report)["e2e.all-once"]
    assert found.verdict is Verdict.NOT_COVERED
    assert "answers too slowly here for the queue, which raises TimeoutError('redis.exceptions.TimeoutError: " in found.reason


class StoresInFiles(Greets, FifoDiskQueue):
    """It stores in files, and greets its server at its first push."""

    def push(self, request):
        self.greet(self._crawler)
        super().push(request)


class SharesAFile(Greets):
    """It stores in a file that all crawlers share, and greets its server with its first request."""

    def __init__(self, crawler):
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    def open(self, spider):
        self.queue = SharedFile(self.crawler, f"{spider.name}.sqlite")

    def close(self, reason):
        self.queue.close()

    def enqueue_request(self, request):
        self.greet(self.crawler)
        self.queue.push(request)
        return True

    def next_request(self):
        return self.queue.pop()

    def has_pending_requests(self):
        return len(self.queue) > 0


@needs_downloads
@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("StoresInFiles", "e2e.server-away"),
        ("StoresInFiles", "e2e.server-refuses"),
        ("SharesAFile", "e2e.shared.restarted"),
        ("SharesAFile", "e2e.shared.cut-off"),
    ],
)
def test_an_accident_of_a_server_that_is_asked_nothing_meanwhile_proves_nothing(path, rule, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    claims = {"shared": "yes"} if path == "SharesAFile" else {"profile": "external-queue"}
    found = verdicts(examine(f"test_graphs.{path}", claims, only=rule, settings=URL, server="redis"))[rule]
    assert found.verdict is Verdict.NOT_COVERED
    assert "asked" in found.reason


@needs_downloads
@pytest.mark.parametrize("rule", ["e2e.server-away", "e2e.server-refuses"])
def test_an_accident_of_a_server_that_is_asked_meanwhile_is_met(rule):
    settings = URL | {"REDIS_TIMEOUT": "0.5"}
    report = examine("queue_reference.redis.FifoRedisQueue", only=rule, settings=settings, server="redis")
    assert verdicts(report)[rule].verdict is Verdict.PASSED


def test_a_graph_of_many_pages_is_written_in_a_few_lines():
    assert len(STAR) == 301
    assert told_apart(STAR, ["path"]) is STAR
    assert len(STAR.source) < 200
