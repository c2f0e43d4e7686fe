"""What is around a component in a check is what is around it in a crawl, and nothing of it outlives a sequence."""

import os
from dataclasses import replace

import pytest
from kit import SCHEDULER, SETTINGS, examine, failed_rules, further, run_script, untested, without_crawls, without_jobs

import queue_conformance
from mutants.controls_worlds import prepare
from queue_conformance.engine.outcomes import CheckResult, Observation, Outcome, Violation
from queue_conformance.engine.samples import can_be_named
from queue_conformance.engine.verdicts import Verdict, combined
from queue_conformance.implementation.loading import LoadError
from queue_conformance.running.confirmation import confirmed, fails_again
from queue_conformance.running.contexts import RunConfig

WORLDS = "mutants.controls_worlds"


@pytest.mark.further
@pytest.mark.parametrize("seed", [0, 1])
def test_what_is_stored_in_the_working_directory_is_there_for_one_program_only(seed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    report = examine(f"{WORLDS}.StoresWhereItWorks", seed=seed, meets=without_jobs, examples=30)
    assert failed_rules(report) == {"e2e.two-crawlers"}  # two crawls in one process have one working directory
    assert not untested(report)
    assert {"persistent", "filters", "length"} <= report.offers
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("seed", [0, *further(1)])
def test_what_fails_only_after_other_programs_in_one_process_is_not_blamed(seed, pytestconfig):
    few = None if pytestconfig.getoption("--everything") else {"smoke", "machine", "scheduler.enqueue.refused-not-seen"}
    report = examine(f"{WORLDS}.RemembersInItsProcess", seed=seed, meets=without_crawls, examples=10, only=few)
    assert not failed_rules(report)
    assert report.offers == {"filters"}
    assert "scheduler.enqueue.refused-not-seen" in untested(report)
    assert any("alone in a fresh process: not judged" in note for note in report.notes)


@pytest.mark.parametrize(
    ("script", "outcome"),
    [
        ("assert 1 == 2", Outcome.FAILED),
        ("assert 1 == 1", Outcome.NOT_COVERED),
        ("import unknown\nassert 1 == 2", Outcome.NOT_COVERED),
        ("raise SystemExit(3)", Outcome.NOT_COVERED),
    ],
)
def test_a_script_confirms_a_failure_only_if_it_fails_in_the_same_way(script, outcome, tmp_path):
    shown = Violation("queue.len.exact", "2", "1", ("length = len(queue)",), script)
    found = CheckResult("queue.len.exact", (Observation(shown.rule, Outcome.FAILED, shown.rule, violation=shown),))
    told = confirmed(found, None, RunConfig(tmp_path))
    (observation,) = told.observations
    assert observation.outcome is outcome
    assert bool(told.trouble) == ("unknown" in script)  # nobody can tell, so nothing is proven


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("assert unknown == 2", "NameError: name 'unknown' is not defined"),
        ("length = 1\nassert (length == 2", "SyntaxError: '(' was never closed"),
    ],
)
def test_a_script_that_is_wrong_is_an_internal_error(script, said, tmp_path):
    shown = Violation("queue.len.exact", "2", "1", ("length = len(queue)",), script)
    found = CheckResult("queue.len.exact", (Observation(shown.rule, Outcome.FAILED, shown.rule, violation=shown),))
    told = confirmed(found, None, RunConfig(tmp_path))
    assert told.internal_error == f"queue.len.exact: {said} in its script"
    assert [one.outcome for one in told.observations] == [Outcome.ERROR]


def test_a_wrong_script_hides_no_other_failure_of_its_check(tmp_path):
    shown = Violation("queue.len.exact", "2", "1", ("length = len(queue)",), "assert 1 == 2", cause="len")
    other = Violation("queue.pop.fifo", "2", "1", ("popped = queue.pop()",), "assert unknown == 2", cause="pop")
    both = replace(other, rule=shown.rule)
    found = (
        Observation(shown.rule, Outcome.FAILED, shown.rule, violation=combined([shown, both])),
        Observation(other.rule, Outcome.FAILED, shown.rule, violation=other),
    )
    told = confirmed(CheckResult(shown.rule, found), None, RunConfig(tmp_path))
    assert told.internal_error.count("'unknown' is not defined") == 2
    assert [(one.rule, one.outcome) for one in told.observations] == [(shown.rule, Outcome.FAILED), (other.rule, Outcome.ERROR)]
    assert told.violations == [shown]


def test_of_a_failed_rule_only_what_fails_alone_is_shown(tmp_path):
    shown = Violation("queue.len.exact", "2", "1", ("length = len(queue)",), "assert 1 == 2", cause="len")
    after_others = replace(shown, script="assert 1 == 1", cause="push, len")
    once_more = replace(shown, cause="pop, len")
    found = Observation(shown.rule, Outcome.FAILED, shown.rule, violation=combined([shown, after_others, once_more]))
    (observation,) = confirmed(CheckResult(shown.rule, (found,)), None, RunConfig(tmp_path)).observations
    assert [one.cause for one in observation.violation.findings] == ["len", "pop, len"]


def test_one_script_shows_all_cases_that_one_line_of_a_class_fails(tmp_path):
    line = "KeyError ('/x/mine.py', 6) ('/x/pickle.py', 9)"
    script = "class Mine:\n    def push(self):\n        raise KeyError\n\nMine().push()"
    shown = Violation("queue.push.accept", "ValueError", "KeyError", ("queue.push()",), script, cause="push raised KeyError")
    shown = replace(shown, raised_at=line)
    alike = replace(shown, script="assert 1 == 1", way="another case")
    elsewhere = replace(alike, way="a third case", raised_at=line.replace("6", "7"))
    sequence = replace(alike, way="2 push", sequence=("push", "push"))
    found = Observation(shown.rule, Outcome.FAILED, shown.rule, violation=combined([shown, alike, elsewhere, sequence]))
    (observation,) = confirmed(CheckResult(shown.rule, (found,)), None, RunConfig(tmp_path)).observations
    assert [one.way for one in observation.violation.findings] == ["", "another case"]


def test_what_one_check_showed_to_fail_alone_is_not_run_again_for_the_next(tmp_path):
    runs = tmp_path / "runs"
    script = f"with open({str(runs)!r}, 'a') as file:\n    file.write('.')\nassert 1 == 2"
    shown = Violation("queue.len.exact", "2", "1", ("length = len(queue)",), script, cause="len")
    config = RunConfig(tmp_path)
    for check in ("queue.len.exact", "queue.len.count"):
        found = CheckResult(check, (Observation(shown.rule, Outcome.FAILED, check, violation=shown),))
        assert confirmed(found, None, config).failed
    assert runs.read_text() == "."


def test_what_failed_beside_others_is_tried_alone_by_one_script_of_each_rule(tmp_path):
    runs = tmp_path / "runs"
    script = f"with open({str(runs)!r}, 'a') as file:\n    file.write('.')\nassert 1 == 2"
    shown = Violation("queue.len.exact", "2", "1", ("length = len(queue)",), script, cause="len")
    both = combined([shown, replace(shown, cause="pop, len")])
    found = CheckResult(shown.rule, (Observation(shown.rule, Outcome.FAILED, shown.rule, violation=both),))
    assert not fails_again(found, RunConfig(tmp_path))  # no script of it has run, and none may show it
    config = RunConfig(tmp_path)
    result = confirmed(found, None, config)
    assert fails_again(result, config)
    assert runs.read_text() == "..."
    runs.unlink()
    runs.mkdir()
    assert not fails_again(result, config)


def test_a_script_works_where_nothing_else_is_stored(tmp_path):
    path = "mutants.worlds.LosesTheFirst"
    report = examine(path, only="scheduler.resume.all")
    (violation,) = [verdict.violation for verdict in report.verdicts if verdict.verdict is Verdict.FAILED]
    assert "\nos.chdir(directory)\n" in violation.script
    ended = run_script(violation.script, tmp_path)
    assert "AssertionError" in ended.stderr
    assert os.listdir(tmp_path) == ["script.py"]


@pytest.mark.further
def test_the_job_directory_of_the_author_is_left_alone(tmp_path):
    job = tmp_path / "job"
    report = examine(f"{WORLDS}.NeedsAJob", settings={"JOBDIR": str(job)}, meets=without_jobs, examples=30)
    assert not failed_rules(report)
    assert not untested(report)
    assert not job.exists()


def test_what_uses_the_queues_of_settings_is_tested_without_a_job_too(tmp_path):
    only = ("scheduler.open.disk-iff-jobdir", "scheduler.close.memory-unseen", "scheduler.next.memory-first")
    report = examine(SCHEDULER, settings={"JOBDIR": str(tmp_path / "job")}, only=only)
    passed = {verdict.rule.id for verdict in report.verdicts if verdict.verdict is Verdict.PASSED}
    assert not failed_rules(report)
    assert set(only) <= passed
    assert os.listdir(tmp_path) == []


def test_what_needs_a_job_directory_gets_one_for_each_check(tmp_path):
    job = tmp_path / "job"
    only = ("scheduler.open.dupefilter", "scheduler.open.disk-iff-jobdir", "open.disk", "scheduler.next.start-none")
    only += ("job.empty-setting", "scheduler.enqueue.true")
    report = examine(f"{WORLDS}.WorksInAJob", settings={**SETTINGS[SCHEDULER], "JOBDIR": str(job)}, only=only)
    said = {v.rule.id: v.verdict for v in report.verdicts if v.rule.id in only}
    assert said.pop("job.empty-setting") is Verdict.NOT_APPLICABLE
    assert set(said.values()) == {Verdict.PASSED}
    assert not job.exists()


@pytest.mark.further
@pytest.mark.parametrize("name", ["FetchesInTheLoop", "Pauses", "LooksAround", "FlushesInTheReactor", "StartsLate"])
def test_a_scheduler_may_use_what_is_there_in_a_crawl(name):
    report = examine(f"{WORLDS}.{name}", meets=without_jobs, examples=3)
    assert not failed_rules(report)
    assert untested(report) <= {"scheduler.scale.kept"}  # not asked of what hands nothing out at once


@pytest.mark.parametrize("name", ["SpiderKeyedQueue", *further("ReadsItsSpider")])
def test_a_function_gives_the_spider_what_a_class_looks_for(name):
    path = f"{WORLDS}.{name}"
    without = queue_conformance.examine(path, examples=5)
    assert (without.failed, without.inconclusive) == (False, True)
    assert "pytest_prepare_spider" in str(without)
    report = queue_conformance.examine(path, examples=5, prepare_spider=prepare)
    assert not report.failed, report
    (found,) = report.implementations
    assert not untested(found)


@pytest.mark.further
def test_scripts_give_it_to_the_spider_too(tmp_path):
    queue = queue_conformance.examine("mutants.worlds.ForgetsBeyondTwo", examples=5, prepare_spider=prepare)
    scheduler = queue_conformance.examine("mutants.worlds.AnswersTwice", examples=5, prepare_spider=prepare)
    dupefilter = queue_conformance.examine("mutants.worlds.SeesNothingAgain", examples=5, prepare_spider=prepare)
    for report in (queue, scheduler, dupefilter):
        (found,) = report.implementations
        violations = [verdict.violation for verdict in found.verdicts if verdict.violation]
        assert violations
        for violation in violations:
            assert "prepare" in violation.script
            ended = run_script(violation.script, tmp_path)
            assert ended.returncode
            assert "no attribute" not in ended.stderr, ended.stderr


def test_a_function_that_cannot_prepare_a_spider_is_a_mistake_of_the_author():
    with pytest.raises(LoadError, match="the function that prepares spiders raised AttributeError"):
        queue_conformance.examine(f"{WORLDS}.SpiderKeyedQueue", prepare_spider=lambda spider: spider.nothing)
    with pytest.raises(queue_conformance.UsageError, match="prepare_spider: write a function"):
        queue_conformance.examine(f"{WORLDS}.SpiderKeyedQueue", prepare_spider=3)


IMPORTS_THE_REACTOR = """
from mutants.controls_schedulers import PlainScheduler
from twisted.internet import reactor


class Ticks(PlainScheduler):
    ready = False

    def open(self, spider):
        assert reactor.running
        reactor.callLater(0.02, setattr, self, "ready", True)

    def next_request(self):
        return super().next_request() if self.ready else None


if __name__ == "__main__":
    from queue_conformance import examine

    report = examine("script.Ticks", examples=3, rules=["scheduler.*", "e2e.all-once"])
    assert not report.failed, report
"""


def test_a_module_may_import_the_reactor_before_scrapy_installs_it(tmp_path):
    ended = run_script(IMPORTS_THE_REACTOR, tmp_path)
    assert not ended.returncode, ended.stderr


LOSES = """
from mutants.controls_schedulers import PlainScheduler
from twisted.internet import reactor


class Loses(PlainScheduler):
    clock = reactor.seconds

    def enqueue_request(self, request):
        return request.method == "POST" or super().enqueue_request(request)


if __name__ == "__main__":
    from queue_conformance import examine

    report = examine("script.Loses", examples=3, rules=["scheduler.enqueue.true"])
    print(next(v.violation.script for v in report.implementations[0].verdicts if v.rule.id == "scheduler.enqueue.true"))
"""


def test_what_fails_is_confirmed_where_a_module_imports_the_reactor(tmp_path):
    ended = run_script(LOSES, tmp_path)
    assert not ended.returncode, ended.stderr
    (tmp_path / "script.py").rename(tmp_path / "losing.py")
    again = run_script(ended.stdout.replace("from script import", "from losing import"), tmp_path)
    assert again.stderr.splitlines()[-1].startswith("AssertionError: "), again.stderr


def test_a_directory_has_a_name_that_the_locale_can_write(monkeypatch):
    monkeypatch.setattr("os.fsencode", lambda name: name.encode("ascii"))
    assert [can_be_named(name) for name in ("two words", "Zürich")] == [True, False]
