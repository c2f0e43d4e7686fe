"""Dupefilters and spider-state extensions: in real crawls, when they take their time, and as state machines."""

import json
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from kit import DUPEFILTER, LEAN, STATE, TESTS, alone, context, examine, failed_rules, further

from queue_conformance.engine.lockstep import run
from queue_conformance.engine.outcomes import RuleFailed
from queue_conformance.engine.verdicts import RunVerdict, Verdict
from queue_conformance.frontends.stateful import state_machine
from queue_conformance.kinds.dupefilter.model import DupeFilterModel
from queue_conformance.kinds.spider_state.model import StateModel

QUICK = settings(max_examples=20, stateful_step_count=20, database=None, deadline=None, suppress_health_check=list(HealthCheck))

FINDING = settings(QUICK, max_examples=200, derandomize=True, phases=[Phase.generate])  # which rule fails, not the least sequence

CRAWL = """
import sys
from scrapy import Request, Spider
from scrapy.crawler import CrawlerProcess

class Counting(Spider):
    name = "counting"
    start_urls = ["data:,start"]

    async def start(self):
        yield Request("data:,start", dont_filter=True)

    def parse(self, response):
        self.state["runs"] = self.state.get("runs", 0) + 1
        for number in (1, 2, 3, 1, 2, 3):
            yield Request(f"data:,{number}", callback=self.parse_item)

    def parse_item(self, response):
        self.state["items"] = [*self.state.get("items", []), response.text]

process = CrawlerProcess({
    "JOBDIR": sys.argv[1],
    "DUPEFILTER_CLASS": "queue_reference.dupefilter.DupeFilter",
    "EXTENSIONS": {"scrapy.extensions.spiderstate.SpiderState": None, "queue_reference.state.SpiderState": 0},
    "TELNETCONSOLE_ENABLED": False,
    "LOG_LEVEL": "ERROR",
})
crawler = process.create_crawler(Counting)
process.crawl(crawler)
process.start()
state = crawler.spider.state
print(state["runs"], sorted(state["items"]), crawler.stats.get_value("dupefilter/filtered"))
"""


def test_the_references_work_in_crawls(tmp_path):
    script = tmp_path / "crawl.py"
    script.write_text(CRAWL, "utf-8")
    said = []
    for _ in range(2):
        ended = subprocess.run(
            [sys.executable, str(script), str(tmp_path / "job")],
            capture_output=True,
            text=True,
            timeout=60,
            env={"PYTHONPATH": str(TESTS.parent / "reference"), "PATH": ""},
        )
        assert ended.returncode == 0, ended.stderr
        assert not ended.stderr
        said.append(ended.stdout.strip())
    assert said == ["1 ['1', '2', '3'] 3", "2 ['1', '2', '3'] 6"]


@pytest.mark.parametrize(
    ("name", "verdict"),
    [("NeedsNoJob", Verdict.PASSED), ("TakesAReason", Verdict.PASSED), ("IsMadeForACrawler", Verdict.NOT_APPLICABLE)],
)
def test_who_may_lack_a_job_directory_says_so_in_its_constructor(name, verdict):
    (found,) = [
        one for one in examine(f"mutants.states.{name}", only="state.no-jobdir").verdicts if one.rule.id == "state.no-jobdir"
    ]
    assert found.verdict is verdict, found.reason


def test_an_extension_may_store_what_pickle_cannot():
    with context("mutants.states.StoresLambdas") as found:
        run(found, "put:0 put_unpicklable reopen put:1 reopen")
        assert not found.covered["state.failed-save-keeps"]


@pytest.mark.further
def test_the_reference_filter_loses_nothing_in_a_crash():
    report = examine(DUPEFILTER, {"crash-safe": "yes"})
    assert report.verdict is RunVerdict.CONFORMANT
    assert not failed_rules(report)
    passed = {verdict.rule.id for verdict in report.verdicts if verdict.verdict is Verdict.PASSED}
    assert {"dupefilter.crash.loss", "dupefilter.crash.then-clean", "dupefilter.format.unknown"} <= passed


@pytest.mark.further
@pytest.mark.parametrize("name", ["OpensLater", "WithRequestFingerprint", "LogsWhatItAsks", "KeepsOneFileForEachSpider"])
def test_another_right_filter_keeps_every_rule(name, examples):
    report = LEAN.examine(f"mutants.dupefilters.{name}", examples=examples)
    reads_all = name == "KeepsOneFileForEachSpider"
    assert failed_rules(report) == ({"dupefilter.scale.seen"} if reads_all else set())
    assert report.verdict is RunVerdict.CONFORMANT


@pytest.mark.parametrize("seed", [0, *further(1, 2)])
def test_a_filter_may_refuse_torn_records(seed):
    report = examine("mutants.dupefilters.RefusesTornRecords", seed=seed, only={"dupefilter.crash.then-clean", "full-disk"})
    assert not failed_rules(report)


@pytest.mark.further
@pytest.mark.parametrize("seed", [0, *further(1, 2)])
@pytest.mark.parametrize("name", ["Bloom", "ShortensFingerprints"])
def test_a_filter_that_declares_an_error_rate_keeps_every_rule(name, seed):
    report = examine(f"mutants.dupefilters.{name}", {"probabilistic": "yes"}, seed=seed)
    assert not failed_rules(report)
    assert report.verdict is RunVerdict.CONFORMANT


@pytest.mark.parametrize(
    ("name", "ignored"),
    [
        ("dupefilters_alike.IgnoresQueries", "query"),
        *further(
            ("dupefilters_alike.IgnoresTracking", "tracking"),
            ("dupefilters_alike.IgnoresCase", "case"),
            ("dupefilters_alike.IgnoresMoreThanItClaims", "query,case"),
            ("dupefilters.IgnoresMethodAndBody", "method,body"),
            ("dupefilters.DupeFilter", "fragment"),
        ),
    ],
)
def test_a_filter_that_ignores_what_it_claims_to_keeps_every_rule(name, ignored):
    report = LEAN.examine(f"mutants.{name}", {"ignores": ignored}, examples=10)
    assert not failed_rules(report)
    assert report.verdict is RunVerdict.CONFORMANT


def test_a_filter_may_follow_a_fingerprinter_of_the_settings():
    settings = {"REQUEST_FINGERPRINTER_CLASS": "mutants.dupefilters_alike.WithoutQuery"}
    report = LEAN.examine("scrapy.dupefilters.RFPDupeFilter", settings=settings, examples=10, only={"seen.distinct", "smoke"})
    assert not failed_rules(report)


@pytest.mark.further
@pytest.mark.parametrize(("name", "claims"), [("SharedDupeFilter", {"shared": "yes"}), ("ClearsWhatIsShared", {})])
def test_a_right_filter_behind_a_server_keeps_every_rule(name, claims):
    report = examine(
        f"mutants.dupefilters.{name}",
        claims,
        examples=30,
        settings={"REDIS_URL": "redis://{host}:{port}/0"},
        server="redis",
    )
    assert not failed_rules(report)
    assert report.verdict is RunVerdict.CONFORMANT


@pytest.mark.further
def test_long_campaigns_ask_for_many_requests():
    report = examine(DUPEFILTER, examples=1000, only="seen.thousands")
    assert "no false positive among 100000 requests" in report.notes


@pytest.mark.parametrize("path", [DUPEFILTER, STATE, "scrapy.dupefilters.BaseDupeFilter"])
def test_a_right_component_passes_as_a_state_machine(path):
    alone(lambda: run_state_machine_as_test(state_machine(path), settings=QUICK))


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("scrapy.dupefilters.RFPDupeFilter", "dupefilter.crash.then-clean"),
        ("mutants.states.SavesPausesOnly", "state.saved"),
        *further(
            ("mutants.dupefilters.ForgetsTheLast", "dupefilter.persist.resume"),
            ("mutants.states.SavesInPlace", "state.failed-save-keeps"),
        ),
    ],
)
def test_a_failing_state_machine_names_the_rule(path, rule):
    assert alone(lambda: rules_failed_by_the_machine_of(path)) == {rule}


def rules_failed_by_the_machine_of(path):
    with pytest.raises((RuleFailed, ExceptionGroup)) as caught:
        run_state_machine_as_test(state_machine(path), settings=FINDING)
    return {failure.rule for failure in getattr(caught.value, "exceptions", [caught.value])}


def test_what_a_class_keeps_in_memory_is_not_persistent():
    with context("mutants.dupefilters.SharesAcrossCrawls") as found:
        assert not found.offers("persistent")


ODD = """
from queue_reference.dupefilter import DupeFilter

class OddFilter(DupeFilter):
    def __init__(self, crawler, secret):
        super().__init__(crawler)
    from_crawler = None

class Forgetful(OddFilter):
    def request_seen(self, request):
        if len(self._seen) >= 200:
            self._seen.clear()
        return super().request_seen(request)
"""
CONFTEST = """
def pytest_open_queue(cls, crawler):
    return cls(crawler, "secret") if cls.__module__ == "odd" else None
"""


def test_a_conftest_builds_filters_that_scrapy_could_not(pytester):
    pytester.makepyfile(odd=ODD)
    pytester.makeconftest(CONFTEST)
    result = pytester.runpytest_subprocess("--dupefilter-class=odd.OddFilter", "--conformance-examples=10")
    result.stdout.fnmatch_lines(["*verdict: CONFORMANT*"])
    assert result.ret == 0


@pytest.mark.further
def test_the_script_of_such_a_filter_builds_it_in_the_same_way(pytester):
    pytester.makepyfile(odd=ODD)
    pytester.makeconftest(CONFTEST)
    pytester.runpytest_subprocess("--dupefilter-class=odd.Forgetful", "--conformance-report=r.jsonl", "-k", "seen.first")
    records = map(json.loads, (pytester.path / "r.jsonl").read_text().splitlines())
    (script,) = [record["script"] for record in records if record.get("rule") == "dupefilter.seen.first"]
    assert "def pytest_open_queue(cls, crawler):" in script
    result = pytester.runpython(pytester.makepyfile(script=script))
    result.stderr.fnmatch_lines(["AssertionError: got 0"])


def test_a_conftest_for_queues_leaves_other_components_to_the_kit(pytester):
    pytester.makeconftest(CONFTEST)
    result = pytester.runpytest_subprocess(
        f"--dupefilter-class={DUPEFILTER}", f"--spider-state-class={STATE}", "-k", "iface or fresh"
    )
    assert result.ret == 0, result.stdout.str()


# --- Oracles ---------------------------------------------------------------------------------------------------------


def test_a_filter_remembers_what_it_has_seen():
    model = DupeFilterModel()
    assert model.allowed("a") == {False}
    model.see("a", False)
    model.reopen()
    assert model.allowed("a") == {True}
    assert model.runs_since("a") == 1


def test_a_filter_may_forget_what_was_torn_but_not_what_came_later():
    model = DupeFilterModel()
    model.see("a", False)
    model.see("b", False)
    model.forget()
    assert model.allowed("a") == model.allowed("b") == {True, False}
    assert model.allowed("c") == {False}
    model.see("a", False)
    assert model.allowed("a") == {True}
    model.see("b", True)
    assert model.allowed("b") == {True, False}


def test_a_filter_that_does_not_filter_always_says_no():
    model = DupeFilterModel(filters=False)
    model.see("a", False)
    assert model.allowed("a") == {False}


def test_a_state_that_cannot_be_saved_leaves_the_one_before():
    model = StateModel()
    model.state["a"] = 1
    model.close()
    model.open()
    model.state["list"] = [1]
    model.unpicklable = True
    model.close()
    model.open()
    assert model.state == {"a": 1}


def test_what_is_in_an_unreadable_file_is_gone():
    model = StateModel()
    model.state["a"] = 1
    model.close()
    model.damaged()
    model.open()
    assert model.state == {}
    model.adopt({"b": [1]})
    model.state["b"].append(2)
    assert model.saved == {"b": [1]}
