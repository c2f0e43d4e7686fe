"""Each broken implementation is reported broken under exactly the rules that it breaks, and its scripts show it."""

from functools import cache

import pytest
from kit import broken, examine, mounts, run_script

from gallery import Exhibit, exhibits
from queue_conformance.specification import Level, load
from queue_conformance.verdicts import RunVerdict, Verdict

EXHIBITS = list(exhibits())
FILLS_A_DISK = "gallery.faults.ForgivesFullDisks"
HANGS = ("FactoryHangs", "BlocksWhenEmpty", "PopHangs", "WaitsForAnAnswer")


@cache
def report_on(exhibit_path):
    exhibit = next(exhibit for exhibit in EXHIBITS if exhibit.path == exhibit_path)
    return examine(
        exhibit.path,
        exhibit.claims,
        examples=30 if exhibit.server else 100,
        time_limit=1.0 if exhibit.path.endswith(HANGS) else 10.0,
        settings=exhibit.settings,
        server=exhibit.server,
    )


def parameter(exhibit):
    """Return an exhibit as a parameter; a distributed run keeps its tests together, because they share a report."""
    marks = [pytest.mark.xdist_group(exhibit.path)]
    if exhibit.path == FILLS_A_DISK:
        marks.append(pytest.mark.skipif(not mounts(), reason="needs a file system of its own"))
    return pytest.param(exhibit, id=exhibit.path.removeprefix("gallery."), marks=marks)


@pytest.fixture(params=map(parameter, EXHIBITS))
def exhibit(request) -> Exhibit:
    return request.param


@pytest.fixture
def violations(exhibit):
    return [verdict.violation for verdict in report_on(exhibit.path).verdicts if verdict.verdict is Verdict.BROKEN]


class TestExhibit:
    def test_exactly_its_rules_are_reported(self, exhibit):
        assert broken(report_on(exhibit.path)) == exhibit.rules

    def test_a_broken_must_rule_makes_it_non_conformant(self, exhibit):
        must = [rule for rule in exhibit.rules if load()[rule].level is Level.MUST]
        assert (report_on(exhibit.path).verdict is RunVerdict.NON_CONFORMANT) == bool(must)

    def test_the_message_names_expected_and_actual(self, violations):
        for violation in violations:
            assert violation.expected
            assert violation.actual
            assert violation.expected != violation.actual
            assert violation.operations

    def test_the_script_fails_on_it_and_passes_on_a_right_one(self, exhibit, violations, tmp_path):
        for violation in violations:
            on_broken = run_script(violation.script, tmp_path)
            assert on_broken.returncode != 0, violation.script
            module, _, name = exhibit.path.rpartition(".")
            right_module, _, right_name = exhibit.right.rpartition(".")
            line = f"from {module} import {name}\n"
            assert line in violation.script
            right = violation.script.replace(line, f"from {right_module} import {right_name} as {name}\n")
            on_right = run_script(right, tmp_path)
            assert on_right.returncode == 0, f"{on_right.stderr}\n{right}"
