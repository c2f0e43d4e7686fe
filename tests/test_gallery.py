"""Each broken implementation is reported broken under exactly the rules that it breaks, and its scripts show it."""

from functools import partial

import pytest
from kit import ENVIRONMENT, broken, downloads, examine, mounts, run_script, showing_all, without_jobs

from gallery import QCRAWL, Exhibit, exhibits
from queue_conformance.engine.outcomes import Violation
from queue_conformance.engine.registry import Check
from queue_conformance.replay import State, judge, replay
from queue_conformance.specification import Level
from queue_conformance.verdicts import RunVerdict, Verdict

FILLS_A_DISK = "gallery.faults.ForgivesFullDisks"
JOBS = "gallery.jobs."
RARE = ("PeekTakesATurn", "KnowsOnlyBusyOrNot", "RewritesWithoutATransaction", "RefusesTornLogs")
"""What a quarter of the usual number of programs does not show."""
WAITS = (
    "FactoryHangs",
    "ResumesOnce",
    "BlocksWhenEmpty",
    "PopHangs",
    "WaitsForWork",
    "WaitsForItsOwner",
    "WaitsForAnAnswer",
    "WaitsForItsServer",
    "WaitsForAnotherFile",
)


def rank(exhibit):
    """Put first what is quickly examined and breaks most rules."""
    return exhibit.path.endswith(RARE + WAITS), exhibit.server, -len(exhibit.rules)


EXHIBITS = list(exhibits())
FEW = frozenset(showing_all((exhibit.path, exhibit.rules) for exhibit in sorted(EXHIBITS, key=rank)))


def parameter(exhibit):
    marks = [] if exhibit.path in FEW else [pytest.mark.further]
    if exhibit.path == FILLS_A_DISK:
        marks.append(pytest.mark.skipif(not mounts(), reason="needs a file system of its own"))
    if exhibit.path.startswith(JOBS):
        marks.append(pytest.mark.skipif(not downloads(), reason="needs a Scrapy that can download"))
    return pytest.param(exhibit, id=exhibit.path.removeprefix("gallery."), marks=marks)


@pytest.mark.skipif(not QCRAWL, reason="needs qCrawl")
def test_the_asynchronous_part_of_the_gallery_is_there():
    assert any(exhibit.path.startswith("gallery.async_") for exhibit in EXHIBITS)


@pytest.mark.parametrize("exhibit", [parameter(exhibit) for exhibit in EXHIBITS])
def test_an_exhibit_is_caught_by_exactly_its_rules(exhibit, tmp_path, monkeypatch, pytestconfig):
    monkeypatch.chdir(tmp_path)  # some leave files where they are
    monkeypatch.setenv("PYTHONPATH", ENVIRONMENT["PYTHONPATH"])
    if pytestconfig.getoption("--everything"):
        reports = [examined(exhibit, partial(may_meet, exhibit))]
    else:
        reports = [examined(exhibit, partial(must_meet, exhibit))]
        if not exhibit.rules <= broken(reports[0]):
            reports.append(examined(exhibit, lambda number, check: check.is_machine))
    verdicts = [v for report in reports for v in report.verdicts if v.verdict is Verdict.BROKEN]
    found = {v.rule.id: v.violation for v in verdicts}
    beyond = [violation for rule, violation in found.items() if rule not in exhibit.rules]
    assert set(found) == exhibit.rules, beyond
    must = any(v.rule.level is Level.MUST for v in verdicts)
    assert any(report.verdict is RunVerdict.NON_CONFORMANT for report in reports) == must
    for violation in (one for first in found.values() for one in (first, *first.others)):
        the_message_names_expected_and_actual(violation)
        the_script_fails_on_it_and_passes_on_a_right_one(exhibit, violation, tmp_path)


def examined(exhibit: Exhibit, meets):
    """Return the report of the checks that ``meets`` chooses by their numbers and by what they are."""
    return examine(
        exhibit.path,
        exhibit.claims,
        examples=100 if exhibit.path.endswith(RARE) else 15 if exhibit.server else 25,
        time_limit=1.0 if exhibit.path.endswith(WAITS) else 10.0,
        settings=exhibit.settings,
        server=exhibit.server,
        meets=meets,
    )


def must_meet(exhibit: Exhibit, number: int, check: Check) -> bool:
    """Whether a check is one of those for the rules that an exhibit breaks.

    The machines, which can see most mistakes, are run if these did not show all that is broken; ``--everything`` runs all
    checks, most of which should say nothing.
    """
    own = check.name in ("preflight", "claims.true") or not (check.is_machine or exhibit.rules.isdisjoint(check.rules))
    return own and may_meet(exhibit, number, check)


def may_meet(exhibit: Exhibit, number: int, check: Check) -> bool:
    """Whether a check is for this exhibit: whole crawls are for the mistakes that only they show."""
    return without_jobs(number, check) or exhibit.path.startswith(JOBS)


def the_message_names_expected_and_actual(violation):
    assert violation.expected
    assert violation.actual
    assert violation.expected != violation.actual
    assert violation.operations


def the_script_fails_on_it_and_passes_on_a_right_one(exhibit: Exhibit, violation: Violation, directory):
    script = violation.script
    on_it = run_script(script, directory)
    state, why = judge(violation, on_it.returncode, on_it.stdout + on_it.stderr)
    if on_it.returncode and not on_it.stderr:  # it lets no file grow, and the zygote's streams are files
        again = replay(violation)
        state, why = again.state, again.why
    assert state is State.BROKEN, f"{why}\n{violation.cause}\n{script}\n{on_it.stderr}"
    module, _, name = exhibit.path.rpartition(".")
    right_module, _, right_name = exhibit.right.rpartition(".")
    line = f"from {module} import {name}\n"
    assert line in script
    right = script.replace(line, f"from {right_module} import {right_name} as {name}\n")
    on_right = run_script(right, directory)
    assert on_right.returncode == 0, f"{on_right.stderr}\n{right}"
