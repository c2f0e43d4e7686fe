"""What is around a component in a check is what is around it in a crawl, and nothing of it outlives a program."""

import os

import pytest
from kit import SCHEDULER, broken, examine, run_script, without_jobs

from queue_conformance.verdicts import Verdict

WORLDS = "gallery.right_worlds"


def blocked(report):
    """Return the rules that could not be examined, but for those on whole jobs, which were not."""
    silent = {v.rule.id for v in report.verdicts if v.verdict in (Verdict.BLOCKED, Verdict.NOT_EXERCISED)}
    return {rule for rule in silent if not rule.startswith("job.")}


@pytest.mark.parametrize("seed", [0, 1])
def test_what_is_stored_in_the_working_directory_is_there_for_one_program_only(seed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    report = examine(f"{WORLDS}.StoresWhereItWorks", seed=seed, meets=without_jobs, examples=30)
    assert not broken(report)
    assert not blocked(report)
    assert {"persistent", "filters", "length"} <= report.offers
    assert os.listdir(tmp_path) == []


def test_a_script_works_where_nothing_else_is_stored(tmp_path):
    path = "gallery.worlds.LosesTheFirst"
    report = examine(path, only="scheduler.resume.all")
    (violation,) = [verdict.violation for verdict in report.verdicts if verdict.verdict is Verdict.BROKEN]
    assert "\nos.chdir(directory)\n" in violation.script
    ended = run_script(violation.script, tmp_path)
    assert "AssertionError" in ended.stderr
    assert os.listdir(tmp_path) == ["script.py"]


def test_the_job_directory_of_the_author_is_left_alone(tmp_path):
    job = tmp_path / "job"
    report = examine(f"{WORLDS}.NeedsAJob", settings={"JOBDIR": str(job)}, meets=without_jobs, examples=30)
    assert not broken(report)
    assert not blocked(report)
    assert not job.exists()


def test_what_uses_the_queues_of_settings_is_tested_without_a_job_too(tmp_path):
    only = ("scheduler.open.disk-iff-jobdir", "scheduler.close.memory-unseen", "scheduler.next.memory-first")
    report = examine(SCHEDULER, settings={"JOBDIR": str(tmp_path / "job")}, only=only)
    kept = {verdict.rule.id for verdict in report.verdicts if verdict.verdict is Verdict.KEPT}
    assert not broken(report)
    assert set(only) <= kept
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["LooksAround", "FlushesInTheReactor", "FetchesInTheLoop", "StartsLate", "Pauses"])
def test_a_scheduler_may_use_what_is_there_in_a_crawl(name):
    report = examine(f"{WORLDS}.{name}", meets=without_jobs, examples=3)
    assert not broken(report)
    assert not blocked(report)
