"""Items differ in every field: what treats some of them otherwise is caught, and the field that matters is named."""

import pickle
from itertools import combinations
from random import Random

import pytest
from kit import LEAN, alone, context, failed_rules, further, run_script

from mutants import fields
from queue_conformance.engine.generation import generate
from queue_conformance.engine.outcomes import RuleFailed
from queue_conformance.engine.runner import runner_of
from queue_conformance.engine.sequences import commands
from queue_conformance.engine.violations import violation_of
from queue_conformance.environments.items import REQUESTS, request_source
from queue_conformance.kinds.priority_queue.driver import PLACES
from queue_conformance.kinds.queue.byte_driver import ByteItems
from queue_reference.memory import FifoMemoryQueue

MUTANTS = {mutant.path.removeprefix("mutants.fields."): mutant for mutant in fields.MUTANTS}

SAMPLE = (
    "DropsDontFilterFifoMemoryQueue",
    "JumpsCallbackFifoDiskQueue",
    "DoublesZeroFifoMemoryByteQueue",
    "DropsStartFifoDiskQueue",
    "DropsErrbackPriorityQueue",
    "StoreDropsFlagsScheduler",
)


def first_violation(path, rules):
    """Return the evidence of the first failure; in a process of its own, as a sequence that fails closes nothing."""

    def found():
        with context(path) as one:
            failure = first_failure(one, rules)
            return failure and violation_of(one, failure)

    return alone(found)


def first_failure(found, rules):
    """Return the first failure of one of some rules in the sequences that a default run draws, as short as it gets."""
    runner, random = runner_of(found), Random(found.seed)
    for _ in range(found.examples):
        try:
            runner.run(generate(random, runner.table, found.drawing.longest))
        except RuleFailed as failure:
            if failure.rule in rules:
                return runner.shortened(failure)
    return None


@pytest.mark.parametrize("name", [*SAMPLE, *further(*(name for name in MUTANTS if name not in SAMPLE))])
def test_what_is_done_to_requests_with_one_field_is_found(name):
    violation = first_violation(MUTANTS[name].path, MUTANTS[name].fails)
    assert violation is not None
    if name in SAMPLE and "Scheduler" not in name:  # of others, no item has the field alone
        assert "plain ones pass" in violation.actual


@pytest.mark.parametrize("name", [SAMPLE[0], *further(*SAMPLE[1:])])
def test_the_script_fails_on_it_and_passes_on_a_right_one(name, tmp_path):
    mutant = MUTANTS[name]
    script = first_violation(mutant.path, mutant.fails).script
    assert run_script(script, tmp_path).returncode == 1
    module, _, cls = mutant.control.rpartition(".")
    right = script.replace(f"from mutants.fields import {name}\n", f"from {module} import {cls} as {name}\n")
    assert right != script
    assert run_script(right, tmp_path).returncode == 0


def test_two_fields_that_matter_together_are_both_named():
    violation = first_violation("mutants.fields.DropsUnfilteredCallbacks", {"queue.pop.exactly-once"})
    told = "; only with dont_filter=True and callback=spider.parse_item together, with one alone they pass"
    assert violation.actual.endswith(told)


def test_of_a_field_that_holds_several_things_the_part_that_matters_is_named():
    mutant = MUTANTS["DropsStartFifoDiskQueue"]
    violation = first_violation(mutant.path, mutant.fails)
    assert violation.actual.endswith("; only with meta={'is_start_request': True}, plain ones pass")
    assert "retry_times" not in violation.script


def test_a_part_of_a_field_is_one_as_far_as_findings_are_compared():
    (part, *_), whole = (fields for fields in REQUESTS.fewer if "meta" in fields[:1] and len(fields) == 1), ("meta",)
    assert part == whole
    assert REQUESTS.written(REQUESTS.fields, pickle.loads(pickle.dumps(part))) == {"meta": "meta={'depth': 1}"}
    assert REQUESTS.told(*part) == "meta={'depth': 1}"


def test_a_failure_that_any_item_shows_is_shown_with_plain_ones():
    violation = first_violation("mutants.memory.DeliversTwice", {"queue.pop.exactly-once"})
    assert "plain ones" not in violation.actual


class LosesNowAndThen(FifoMemoryQueue):
    """It loses what is pushed into every other object, as chance will have it."""

    chance = Random(0)

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        self.loses = LosesNowAndThen.chance.random() < 0.5

    def push(self, request):
        if not self.loses:
            super().push(request)


def told_of_chance(seed):
    LosesNowAndThen.chance = Random(seed)
    with context(f"{__name__}.LosesNowAndThen") as found:
        found.driver.vary(found.driver.fields)
        while True:
            try:
                runner_of(found).show(commands("push:1 push:2 pop pop"))
            except RuleFailed as failure:
                return violation_of(found, failure).actual


def test_no_field_is_named_where_chance_decides():
    assert [told for told in map(told_of_chance, range(20)) if "only with" in told] == []


CONTROLS = ("JsonFifo", *further("JsonFileFifo", "DictScheduler"))

ACCIDENTS = {"queue.ctor.wrong-storage", "queue.pop.missing-callback", "queue.pop.unreadable"}
"""SHOULD rules that a store of its own form need not keep to keep all fields."""


@pytest.mark.parametrize("name", CONTROLS)
def test_a_right_one_that_keeps_all_fields_in_its_own_form_passes(name):
    assert failed_rules(LEAN.examine(f"mutants.controls_fields.{name}", examples=10)) <= ACCIDENTS


def test_the_first_items_have_every_field_of_requests_but_the_first_has_none():
    groups = [REQUESTS.of(number, REQUESTS.fields) for number in range(7)]
    assert groups[0] == {}
    assert {name for group in groups for name in group} == {*REQUESTS.fields}


def test_the_items_that_follow_have_one_field_each():
    assert [len(REQUESTS.of(number, REQUESTS.fields)) for number in range(7, REQUESTS.period)] == [1] * len(REQUESTS.fields)


MIXED = [name for name in REQUESTS.fields if name != "url" and name.islower()]


@pytest.mark.parametrize("varied", [MIXED, MIXED[:4], MIXED[4:5]])
def test_any_three_fields_of_many_items_are_and_are_not_there_in_all_ways(varied):
    rows = REQUESTS.mixed(MIXED, varied)
    for some in combinations(varied, min(3, len(varied))):
        assert len({tuple(name in row for name in some) for row in rows}) == 2 ** len(some)


def test_any_field_of_many_items_is_and_is_not_there_with_each_value_of_another():
    for value in ("method='PUT'", "method='POST'"):
        rows = [row for row in REQUESTS.mixed(MIXED, MIXED) if row.get("method") == value]
        assert all({name in row for row in rows} == {True, False} for name in MIXED if name != "method")


def test_plain_items_are_mixed_of_nothing():
    assert REQUESTS.mixed(MIXED, ()) == [{}]


def test_every_place_of_a_priority_queue_meets_every_field():
    met = {(number % len(PLACES), number % REQUESTS.period) for number in range(len(PLACES) * REQUESTS.period)}
    assert len(met) == len(PLACES) * REQUESTS.period


def test_bytes_differ_in_how_they_end():
    assert len({*ByteItems.variety.sources.values()}) == ByteItems.variety.period - 1


@pytest.mark.parametrize(
    ("fields", "source"),
    [
        ({}, "Request('https://a.example/1', priority=2)"),
        ({"url": "'?page=1'"}, "Request('https://a.example/1?page=1', priority=2)"),
        (
            {"FormRequest": "FormRequest(formdata={})", "flags": "flags=[]"},
            "FormRequest('https://a.example/1', priority=2, formdata={}, flags=[])",
        ),
    ],
)
def test_a_request_is_written_with_its_fields(fields, source):
    assert request_source("https://a.example/1", fields, ["priority=2"]) == source
