"""Asynchronous queues and schedulers that treat requests otherwise because of a field are caught by generated sequences alone."""

import pytest
from kit import examine, failed_rules, further, run_script

pytest.importorskip("qcrawl", reason="qCrawl is not installed")

from mutants import async_fields, async_fields_schedulers

WAYS = {
    async_fields: ("Drops", "Reorders", "Doubles"),
    async_fields_schedulers: ("Drops", "Reorders", "Doubles", "Strips"),
}


def violations_of(path, seed=0):
    """Return what generated sequences find, by the rules."""
    verdicts = examine(path, seed=seed, only="machine").verdicts
    return {verdict.rule.id: verdict.violation for verdict in verdicts if verdict.violation}


SEEDS = [0, *further(*range(1, 10))]


def classes():
    """Yield the paths of the classes, and the rule that fits each: in the gate, one for each way.

    A scheduler that doubles takes twice as long as any other; a queue that does stands for it.
    """
    for module, ways in WAYS.items():
        for number, way in enumerate(ways):
            for place, field in enumerate(async_fields.FIELDS):
                if (way, field) != ("Strips", "query"):
                    made = async_fields.made_for(getattr(module, way), field)
                    first = place == 2 * number + 1 and (module, way) != (async_fields_schedulers, "Doubles")
                    marks = [] if first else [pytest.mark.further]
                    yield pytest.param(f"{module.__name__}.{made.__name__}", made.fails, id=made.__name__, marks=marks)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("path", "rule"), [*classes()])
def test_a_field_that_matters_is_found_and_told(path, rule, seed, tmp_path):
    violation = violations_of(path, seed)[rule]
    assert "; only with " in violation.actual
    assert run_script(violation.script, tmp_path).returncode


def test_a_field_that_does_not_matter_is_not_shown():
    violation = violations_of("mutants.async_queues.DropsEveryFourth")["aqueue.put.accept"]
    assert "only with" not in violation.actual
    assert [line for line in violation.operations if any(f", {field}=" in line for field in async_fields.FIELDS)] == []


def test_right_queues_of_picky_classes_pass():
    for path in ("mutants.async_fields.Picky", "mutants.async_fields_schedulers.PickyScheduler"):
        assert not failed_rules(examine(path, only="machine"))
