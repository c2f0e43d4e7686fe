"""A crawl whose scheduler gives nothing is ended, once another one has waited in vain to its end."""

import time
from contextlib import closing
from functools import partial
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest
from kit import implementation
from scrapy.core.scheduler import Scheduler

from queue_conformance.discovery import slowness
from queue_conformance.engine.budget import Budget
from queue_conformance.engine.ran import Ran
from queue_conformance.engine.recording import Step
from queue_conformance.engine.registry import checks_of
from queue_conformance.engine.samples import few_and_many
from queue_conformance.engine.shown import LEAST, NOTHING_SHOWN, Shown
from queue_conformance.environments import crawls, waiting
from queue_conformance.environments.crawls import ForkedGraph, ForkedShared
from queue_conformance.environments.site import HOLD, Site
from queue_conformance.environments.waiting import AGAIN, Waiting, Waits
from queue_conformance.kinds.crawl import plans
from queue_conformance.kinds.crawl.fixtures import CrawledSite
from queue_conformance.kinds.crawl.plans import Plan
from queue_conformance.processes.isolation import Watchdog
from queue_conformance.processes.stopwatch import WITHOUT_END
from queue_conformance.running.contexts import RunConfig
from queue_conformance.running.execution import execute
from queue_conformance.specification import load
from queue_reference.memory import FifoMemoryQueue

GRAPH = {"start": [{"page": 0}], 0: {"links": [{"page": 1}]}, 1: {}}


class Stuck(Scheduler):
    """It says for ever that something is pending, and gives nothing after the first request."""

    given = False

    def next_request(self):
        if self.given:
            return None
        request = super().next_request()
        self.given = request is not None
        return request


class Hesitant(Scheduler):
    """It gives nothing for a while after each request, as schedulers do that are polite."""

    SECONDS = 1.2
    until = 0.0

    def next_request(self):
        if time.monotonic() < self.until:
            return None
        self.until = time.monotonic() + self.SECONDS
        return super().next_request()


def opened(cls, tmp_path, scheduler):
    site = cls(GRAPH, str(tmp_path), {"SCHEDULER": f"test_waiting.{scheduler.__name__}"})
    return closing(site)


def test_a_crawl_that_stands_still_is_ended_long_before_its_time_is_over(tmp_path):
    with opened(ForkedGraph, tmp_path, Stuck) as site:
        site.longest_wait = 0.6
        run = site.crawl()
    assert (run.hung, run.hits, site.missing()) == (True, [0], [1])
    assert 0.6 < site.waits.seconds < site.time_limit / 2


def test_a_crawl_goes_on_after_a_wait_that_is_shorter_and_says_how_long_it_was(tmp_path):
    with opened(ForkedGraph, tmp_path, Hesitant) as site:
        site.longest_wait = 3 * Hesitant.SECONDS
        run = site.crawl()
    assert run.ending == "finished"
    assert waiting.SAID <= site.waits.longest < site.longest_wait


def test_several_crawlers_stand_still_when_all_of_them_do(tmp_path):
    with opened(ForkedShared, tmp_path, Stuck) as site:
        site.longest_wait = 0.6
        run = site.crawl_together(number=2)
    assert run.hung
    assert set(site.hits) == {0}


def test_one_crawler_that_is_busy_keeps_the_others_waiting():
    waits = Waits()
    waits.begin(["one", "other"])
    assert waits.hear("one", "waits 7.5") == 0.0
    assert waits.hear("other", "waits 2.0") == 2.0
    assert waits.hear("one", "went on") == 0.0
    assert waits.longest == 7.5
    waits.end("one")
    assert waits.seconds == 2.0


@pytest.mark.parametrize("line", ["", "waits", "waits for a lock", "waits 1.5 s", "it waits 1.5", "waits 1.2.3.4.5.6"])
def test_what_a_class_says_is_no_wait(line):
    waits = Waits()
    waits.begin(["one"])
    assert waits.hear("one", line) == 0.0


class Clock:
    def __init__(self, monkeypatch):
        self.now, self.said, self.again = 50.0, [], []
        monkeypatch.setattr(waiting.time, "monotonic", lambda: self.now)
        self.active = set()
        scraper = SimpleNamespace(slot=SimpleNamespace(is_idle=lambda: True))
        slot = SimpleNamespace(nextcall=SimpleNamespace(schedule=self.again.append))
        engine = SimpleNamespace(downloader=SimpleNamespace(active=self.active), scraper=scraper, _slot=slot)
        signals = SimpleNamespace(connect=lambda receiver, signal: None)
        self.waiting = Waiting(SimpleNamespace(engine=engine, signals=signals), self.said.append)

    def ask(self, times, step=0.1):
        for _ in range(times):
            self.now += step
            self.waiting.ask()
        return self.said


def test_nobody_waits_before_the_spider_has_started_or_while_a_page_is_in_flight(monkeypatch):
    clock = Clock(monkeypatch)
    assert clock.ask(20) == []
    clock.waiting.started = True
    clock.active.add("a request")
    assert clock.ask(20) == []
    clock.active.clear()
    assert clock.again == []
    assert clock.ask(11) == ["waits 0.5", "waits 1.0"]
    assert clock.again == [AGAIN] * 11  # so the engine asks again soon


def test_a_machine_that_does_something_else_adds_little_to_a_wait(monkeypatch):
    clock = Clock(monkeypatch)
    clock.waiting.started = True
    assert clock.ask(2, step=100.0) == ["waits 0.5", "waits 1.0"]


def test_a_crawl_waits_as_long_as_it_likes_until_one_waited_in_vain():
    assert NOTHING_SHOWN.longest_wait == Shown(waited=60.0).longest_wait == float("inf")
    assert (NOTHING_SHOWN | Shown(in_vain=True)).longest_wait == LEAST
    assert (Shown(waited=2.0) | Shown(waited=1.0, in_vain=True)).longest_wait == 10.0


def test_a_crawl_gets_all_of_its_time_until_one_stood_still_in_vain():
    crawling = SimpleNamespace(shown=Shown(took=2.0), stands_still=False)
    crawled = CrawledSite(crawling, SimpleNamespace(time_limit=30.0), "site", None, {})
    assert crawled._time_limit(held_up=False) == 30.0
    crawling.shown |= Shown(in_vain=True)
    assert crawled._time_limit(held_up=False) == 10.0
    assert crawled._time_limit(held_up=True) == 10.0 + HOLD
    assert Shown(in_vain=True).longest_crawl == LEAST


class Hangs(Scheduler):
    """In a crawl it never returns."""

    def next_request(self):
        while Path("scrapy.cfg").exists():
            time.sleep(1)
        return super().next_request()


def test_a_crawl_that_hangs_stands_still(monkeypatch, tmp_path):
    monkeypatch.setattr(crawls, "TIMEOUT", 3.0)
    rules = {name: rule for name, rule in load().items() if name.startswith("e2e.")}
    found = implementation("test_waiting.Hangs")
    check = next(check for check in checks_of(found.kind) if check.name == "e2e.lifecycle")
    result = execute(check, found, rules, RunConfig(tmp_path, time_limit=1.0))
    assert [observation.rule for observation in result.failed] == ["e2e.all-once"]  # it is no matter of what is asked in it
    assert result.shown.in_vain


def test_crawls_of_scripts_wait_as_long_as_the_environment_says(tmp_path, monkeypatch):
    for name, value in Shown(in_vain=True).environment.items():
        monkeypatch.setenv(name, value)
    site = Site({0: []}, str(tmp_path), {})
    site.shutdown()
    site.server_close()
    assert site.longest_wait == LEAST
    assert LEAST < site.limit < Site.limit


# --- What waits in each operation ------------------------------------------------------------------------------------


class WaitsForWork(FifoMemoryQueue):
    """A queue whose pop waits for a while where there is nothing."""

    def pop(self):
        if not len(self):
            time.sleep(0.2)
        return super().pop()


class Polite(Hesitant):
    """A scheduler that gives nothing for a shorter while."""

    SECONDS = 0.2


@pytest.mark.parametrize("name", ["WaitsForWork", "Polite"])
def test_what_waits_each_time_is_known_to_be_slow(name):
    assert implementation(f"test_waiting.{name}").cost >= slowness.WAITS


def waits(directory, seconds, time_limit=10.0):
    """Return what is found out about a class that lets wait for so many seconds."""
    driver = SimpleNamespace(waiting=lambda: partial(time.sleep, seconds))
    watchdog = SimpleNamespace(leave=lambda: None)
    asked = SimpleNamespace(driver=driver, restart=lambda: None, watchdog=watchdog, directory=directory, time_limit=time_limit)
    return slowness.waits(asked)


def test_what_waits_for_ever_is_left_to_the_checks(tmp_path):
    assert waits(tmp_path, 60.0, time_limit=0.6) == 0.0


@pytest.mark.parametrize(("held", "slow"), [(0.0, True), (0.3, False)])
def test_what_waits_for_the_processor_is_no_slow_class(monkeypatch, tmp_path, held, slow):
    monkeypatch.setattr(slowness, "held_up", count(0.0, held).__next__)
    assert (waits(tmp_path, 0.2) > 0.0) == slow


def test_what_waits_for_the_processor_while_it_is_looked_at_is_slow_all_the_same(monkeypatch, tmp_path):
    began = time.perf_counter()

    def held_up():
        """Wait for the processor once the class has waited."""
        held = 0.0 if time.perf_counter() - began < 0.2 else 0.3
        time.sleep(held)
        return held

    monkeypatch.setattr(slowness, "held_up", held_up)
    monkeypatch.setattr(slowness, "TIMES", 1)
    assert waits(tmp_path, 0.2) >= slowness.WAITS


def test_few_requests_are_fewer_where_each_is_waited_for():
    slow = SimpleNamespace(cost=2.0)
    notes = []
    found = SimpleNamespace(implementation=slow, notes=notes, check="enqueue.many", budget=Budget(2.0), watchdog=Watchdog())
    assert next(few_and_many(found)) == range(100, 104)
    assert notes[0].startswith("enqueue.many: 4 of 40 requests, because operations are slow; --conformance-time=")


# --- The search for the smallest crawl -------------------------------------------------------------------------------


class Failure(str):
    """How a crawl failed."""

    __slots__ = ()
    steps = (Step("site.crawl()", Ran()),)


class Raises(Failure):
    """One in which the class raised something."""

    __slots__ = ()
    steps = (Step("site.crawl()", raised_at="TypeError in pop"),)


class Search:
    """What the search needs of a context; each crawl fails, and takes some seconds."""

    def __init__(self, shown=NOTHING_SHOWN, stands_still=False, costs=0.0, failure=Failure):
        self.failed, self.stands_still, self.costs = {"e2e.all-once": failure("how")}, stands_still, costs
        self.shown = self.shown_before = shown
        self.run_time = WITHOUT_END
        self.first = None
        self.watchdog = SimpleNamespace(now=1.0, aim=self.aim, count=lambda number: None)
        self.aims = []

    def aim(self, unit, goal, ends):
        self.aims.append((unit, goal, ends))

    def learn(self, failed, loses):
        self.shown |= Shown(loses=loses)

    def crawls(self, **crawlers):
        found = 0
        for _ in plans._shrunk(self, Plan(plans.LINKED, crawlers=crawlers)):
            found += 1
            self.watchdog.now += self.costs
            self.failed = {"e2e.all-once": Failure(f"crawl {found}")}
        return found


def test_the_smallest_crawl_so_far_is_taken_when_the_time_for_it_is_over():
    search = Search(costs=plans.SEARCH)
    assert search.crawls() == 1
    assert search.failed == {"e2e.all-once": "crawl 1"}
    assert search.aims == [("finding the smallest crawl", plans.ATTEMPTS, 1.0 + plans.SEARCH)]


@pytest.mark.parametrize("stands_still", [False, True])
def test_nobody_looks_for_a_smaller_crawl_of_several_crawlers_where_the_smallest_of_one_is_known(stands_still):
    search = Search(Shown(loses=True), stands_still)
    assert search.crawls(number=2) == 0
    assert search.failed == {"e2e.all-once": "how"}


def test_a_smaller_crawl_is_looked_for_where_the_same_pages_are_crawled_with_nothing_special():
    assert Search(Shown(loses=True)).crawls() > 0


def test_nobody_looks_for_a_smaller_crawl_where_the_class_raised_the_same_in_an_earlier_check():
    shown = Shown(raised=frozenset({"TypeError in pop"}))
    assert Search(shown, failure=Raises).crawls() == 0
    assert Search(shown).crawls() > 0
    assert Search(failure=Raises).crawls() > 0


def test_what_one_check_has_shown_does_not_keep_it_from_looking_for_a_smaller_crawl():
    search = Search(stands_still=True)
    search.shown = Shown(in_vain=True)
    assert search.crawls() > 0


@pytest.mark.parametrize("stands_still", [False, True])
def test_a_crawl_that_was_not_made_smaller_explains_none(stands_still):
    """Those of signals stand still before, and have all their pages."""
    assert Search(Shown(in_vain=True), stands_still).crawls() > 0


def test_no_crawl_is_tried_twice():
    tried = []

    class Passes(Search):
        def crawls(self):
            for plan in plans._shrunk(self, Plan(plans.LINKED)):
                tried.append(plan)
                self.failed = {}

    Passes().crawls()
    assert len(tried) > 10
    assert not [plan for number, plan in enumerate(tried) if plan in tried[:number]]
