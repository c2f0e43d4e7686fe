"""Each broken implementation is reported broken under exactly the rules that it breaks, and its scripts show it."""

from zlib import crc32

import pytest
from kit import Zygote, broken, downloads, examine, mounts, without_jobs

from gallery import QCRAWL, Exhibit, exhibits
from queue_conformance.specification import Level, load
from queue_conformance.suites import Check
from queue_conformance.verdicts import RunVerdict, Verdict

FILLS_A_DISK = "gallery.faults.ForgivesFullDisks"
JOBS = "gallery.jobs."
RARE = ("PeekTakesATurn", "KnowsOnlyBusyOrNot", "RewritesWithoutATransaction", "RefusesTornLogs")
"""What a quarter of the usual number of programs does not show."""
OTHERS = 6
"""Of this many checks that should say nothing of an exhibit one is run; ``--whole-gallery`` runs them all."""
WAITS = ("FactoryHangs", "BlocksWhenEmpty", "PopHangs", "WaitsForWork", "WaitsForItsOwner", "WaitsForAnAnswer")


def parameter(exhibit):
    marks = []
    if exhibit.path == FILLS_A_DISK:
        marks.append(pytest.mark.skipif(not mounts(), reason="needs a file system of its own"))
    if exhibit.path.startswith(JOBS):
        marks.append(pytest.mark.skipif(not downloads(), reason="needs a Scrapy that can download"))
    return pytest.param(exhibit, id=exhibit.path.removeprefix("gallery."), marks=marks)


@pytest.mark.skipif(not QCRAWL, reason="needs qCrawl")
def test_the_asynchronous_part_of_the_gallery_is_there():
    assert any(exhibit.path.startswith("gallery.async_") for exhibit in exhibits())


@pytest.fixture(scope="module")
def zygote():
    found = Zygote()
    yield found
    found.close()


@pytest.mark.parametrize("exhibit", [parameter(exhibit) for exhibit in exhibits()])
def test_an_exhibit_is_caught_by_exactly_its_rules(exhibit, tmp_path, monkeypatch, zygote, pytestconfig):
    monkeypatch.chdir(tmp_path)  # some leave files where they are
    whole = pytestconfig.getoption("--whole-gallery")
    report = examine(
        exhibit.path,
        exhibit.claims,
        examples=100 if exhibit.path.endswith(RARE) else 15 if exhibit.server else 25,
        time_limit=1.0 if exhibit.path.endswith(WAITS) else 10.0,
        settings=exhibit.settings,
        server=exhibit.server,
        meets=lambda number, check: whole or meets(exhibit, number, check),
    )
    beyond = [v.violation for v in report.verdicts if v.violation and v.rule.id not in exhibit.rules]
    assert broken(report) == exhibit.rules, beyond
    must = [rule for rule in exhibit.rules if load()[rule].level is Level.MUST]
    assert (report.verdict is RunVerdict.NON_CONFORMANT) == bool(must)
    for verdict in report.verdicts:
        if verdict.verdict is Verdict.BROKEN:
            the_message_names_expected_and_actual(verdict.violation)
            the_script_fails_on_it_and_passes_on_a_right_one(exhibit, verdict.violation.script, tmp_path, zygote)


def meets(exhibit: Exhibit, number: int, check: Check) -> bool:
    """Whether a check is run on an exhibit: if it or its kind's machine can see the mistake, or else on one of six."""
    if not without_jobs(number, check) and not exhibit.path.startswith(JOBS):
        return False  # whole crawls are for the mistakes that only they show
    own = check.is_machine or check.name in ("preflight", "claims.true") or not exhibit.rules.isdisjoint(check.rules)
    return own or (number + crc32(exhibit.path.encode())) % OTHERS == 0


def the_message_names_expected_and_actual(violation):
    assert violation.expected
    assert violation.actual
    assert violation.expected != violation.actual
    assert violation.operations


def the_script_fails_on_it_and_passes_on_a_right_one(exhibit: Exhibit, script: str, directory, zygote):
    assert zygote.run_script(script, directory).returncode != 0, script
    module, _, name = exhibit.path.rpartition(".")
    right_module, _, right_name = exhibit.right.rpartition(".")
    line = f"from {module} import {name}\n"
    assert line in script
    right = script.replace(line, f"from {right_module} import {right_name} as {name}\n")
    on_right = zygote.run_script(right, directory)
    assert on_right.returncode == 0, f"{on_right.stderr}\n{right}"
