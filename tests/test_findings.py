"""A finding is the same in each run, and another bug of the same rule is another finding."""

import tomllib
from contextlib import closing
from copy import copy
from dataclasses import replace
from pathlib import Path

import pytest
from kit import ASYNC_MEMORY, context, further
from one_bug_more import AT_ONCE, QUEUES, Loses
from scrapy import Request
from scrapy.core.scheduler import Scheduler
from scrapy.dupefilters import RFPDupeFilter

from mutants.disk import RefusesJson
from queue_conformance import __version__
from queue_conformance.baseline import FORM, PLACEHOLDER, Baseline, Entry, parse, writing
from queue_conformance.baseline.comparison import Result, Trouble, judge
from queue_conformance.config.run_config import Options
from queue_conformance.config.targets import Target
from queue_conformance.engine.difference import difference
from queue_conformance.engine.generation import Findings, replay
from queue_conformance.engine.naming import AGAIN, named
from queue_conformance.engine.outcomes import RuleFailed, Violation, operation_of, own_operation
from queue_conformance.engine.record import Refuted
from queue_conformance.engine.runner import runner_of
from queue_conformance.engine.sequences import Command, commands
from queue_conformance.engine.sources import Sources
from queue_conformance.engine.subject import Operations
from queue_conformance.engine.verdicts import RuleVerdict, Verdict, combined
from queue_conformance.engine.ways import BY_CHANCE, Named, explains, is_plainer, raise_alike, way_of, way_of_case
from queue_conformance.frontends.runs import Run
from queue_conformance.kinds.queue.kind import DOWNSTREAM_QUEUE
from queue_conformance.kinds.scheduler import script_support as scheduler_support
from queue_conformance.script_support.example import Exactly
from queue_conformance.specification import Level, load
from queue_reference.memory import FifoMemoryQueue

BASELINES = Path(__file__).parent / "baselines"
EARLIER = {
    "of_the_sixth_form": {"refuses": ("mutants.disk.RefusesJson", "queue.push.request-types")},
    "of_the_fifth_form": {
        "stores": ("mutants.async_disk.StoresWhenClosed", "aqueue.put.closed"),
        "drops": ("mutants.schedulers.DropsBodies", "machine"),
    },
    "of_the_fourth_form": {"fails": ("test_async_schedulers.FailsTheSecondTime", "machine")},
    "of_the_third_form": {"raises": ("mutants.async_disk.RaisesWhenNothingIsStored", "machine")},
    "of_an_earlier_release": {
        "two-ways": ("mutants.memory.BreaksInTwoWays", "machine"),
        "eighth": ("mutants.memory.LosesTheEighth", "machine"),
    },
    "of_the_second_form": {
        "rejects": ("mutants.schedulers.StoresAndRejects", "machine"),
        "peeks": ("one_bug_more.PeekShowsTheLast", "machine"),
    },
    "of_the_first_form": {
        "two-ways": ("mutants.memory.BreaksInTwoWays", "machine"),
        "tells-nobody": ("mutants.async_schedulers.TellsNobody", "ascheduler.close.waiters"),
        "type-error": ("mutants.disk.LetsTypeErrorThrough", "queue.push.serialization-error"),
    },
}
"""Baselines that a state of the kit before has written: the class of each name, and the check that was run. One is added, and
none is changed, where ``FORM`` becomes another."""
SLOW = ("of_the_third_form", "of_the_second_form")


def found(path, tmp_path, baseline=None, *, name="mine", seed=0, check="machine"):
    """Return what a check of a class finds, as if that were a whole run."""
    with closing(Run(Options((), seed=seed, baseline=Path("known.toml")), Path(tmp_path))) as run:
        known = baseline.sequences(name) if baseline else {}
        target = Target(name, "", path, {}, {}, "")
        run.examine(target, lambda one: [each for each in one.checks if each.name in check.split()], known=known)
        (report,) = run.report().implementations
    return Result(name, report.kind, Level.SHOULD, report.verdicts, True, seed)


def troubles(baseline, *results):
    return list(map(str, judge(baseline, results).findings))


def updated(text, *results):
    """Return a baseline that knows all that was found, with reasons."""
    before = parse(text, "known.toml")
    written, _ = writing.update(text, before, judge(before, results), results)
    return written.replace(PLACEHOLDER, "known")


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """What is known of a queue that loses a request once seven are stored."""
    known = parse(updated("", found("one_bug_more.Loses", tmp_path_factory.mktemp("known"))), "known.toml")
    assert known.entries
    return known


@pytest.mark.parametrize("seed", [1, *further(0, 2, 3, 4)])
def test_what_is_known_is_neither_new_nor_fixed_in_another_run(known, tmp_path, seed):
    assert troubles(known, found("one_bug_more.Loses", tmp_path, known, seed=seed)) == []


SOME = {"LosesSooner", "LosesWhatIsPosted", "DeliversTwice", "LosesInsteadLater"}


@pytest.mark.parametrize(
    "cls", [*(one for one in QUEUES if one.__name__ in SOME), *further(*(one for one in QUEUES if one.__name__ not in SOME))]
)
def test_one_bug_more_is_new_beside_what_is_known(known, tmp_path, cls):
    result = found(f"one_bug_more.{cls.__name__}", tmp_path, known)
    seen = {one.trouble for one in judge(known, [result]).findings}
    assert Trouble.NEW in seen
    assert cls.most == Loses.most or cls.most == 5 or Trouble.FIXED in seen


@pytest.mark.parametrize(("before", "after"), [AT_ONCE[0], *further(*AT_ONCE[1:])])
def test_what_the_first_command_shows_hides_nothing_that_needs_more(tmp_path, before, after):
    tmp_path.joinpath("later").mkdir()
    known = parse(updated("", found(f"one_bug_more.{before.__name__}", tmp_path)), "known.toml")

    def seen(cls, seed):
        return judge(known, [found(f"one_bug_more.{cls.__name__}", tmp_path / "later", known, seed=seed)]).findings

    assert seen(before, 1) == ()
    assert {one.trouble for seed in (0, 1) for one in seen(after, seed)} == {Trouble.NEW}


@pytest.mark.parametrize(
    "sequence", ["close put:0", "put:0 close put:0 reopen", "put:0 close put:0 reopen size", "put:0 close put:4 reopen size get"]
)
def test_what_a_closed_queue_has_stored_is_one_finding_wherever_it_shows(sequence):
    with context("mutants.async_disk.StoresWhenClosed") as one, pytest.raises(RuleFailed) as caught:
        runner_of(one).run(commands(sequence))
    assert (caught.value.rule, caught.value.cause) == ("aqueue.put.closed", "get: foreign")
    assert explains("1 close, 1 put", caught.value.way)


@pytest.mark.parametrize("sequence", ["push:0 peek push:1", "push:0 peek push_refused:0", "push:0 peek push_refused:1"])
def test_what_a_peek_spoils_is_one_rule_whatever_is_pushed_then(sequence):
    with context("mutants.disk.TakesNothingAfterAPeek") as one, pytest.raises(RuleFailed) as caught:
        runner_of(one).run(commands(sequence))
    assert caught.value.rule == "queue.peek.then-push"


@pytest.mark.parametrize("fields", [(), ("method",)])
def test_fields_are_no_part_of_what_shows_without_any_item(fields):
    with context("mutants.memory.RaisesWhenEmpty") as one, pytest.raises(RuleFailed) as caught, one.driver.varying(fields):
        runner_of(one).run(commands("peek pop"))
    assert caught.value.way == "1 peek"


FIXED = "queue.pop.exactly-once"
"""A check that is two fixed sequences, one of which has more items than generated ones."""


def test_a_sequence_of_a_fixed_check_is_run_again_and_hides_nothing(tmp_path):
    for name in ("again", "fewer", "more"):
        tmp_path.joinpath(name).mkdir()
    known = parse(updated("", found("one_bug_more.LosesManyUrls", tmp_path, check=FIXED)), "known.toml")
    assert [entry.ways for entry in known.entries] == [("31 push",)]
    assert troubles(known, found("one_bug_more.LosesManyUrls", tmp_path / "again", known)) == []  # by the machine alone

    def seen(name):
        result = found(f"one_bug_more.Loses{name.title()}Urls", tmp_path / name, known, check=f"machine {FIXED}")
        return {one.trouble for one in judge(known, [result]).findings}

    assert (seen("fewer"), seen("more")) == ({Trouble.NEW}, {Trouble.NEW, Trouble.FIXED})


BOTH = "machine push.large"
"""Checks of which one shows by two pushes that what is stored is lost, and the other by sixty, which it shortens."""


@pytest.mark.further
@pytest.mark.parametrize("seed", [1, *further(2)])
def test_what_two_checks_show_is_known_in_another_run_and_hides_nothing(tmp_path, seed):
    for name in ("again", "more"):
        tmp_path.joinpath(name).mkdir()
    known = parse(updated("", found("one_bug_more.LosesWhatIsStored", tmp_path, check=BOTH)), "known.toml")
    assert {(entry.rule, *entry.ways) for entry in known.entries} == {(DUPLICATES, "2 push"), (DUPLICATES, "3 push")}
    assert troubles(known, found("one_bug_more.LosesWhatIsStored", tmp_path / "again", known, seed=seed, check=BOTH)) == []
    more = found("one_bug_more.LosesWhatWasPeekedToo", tmp_path / "more", known, seed=seed, check=BOTH)
    assert {one.trouble for one in judge(known, [more]).findings} == {Trouble.NEW}


DUPLICATES = "queue.push.duplicates"
TWO, TWELVE = (
    Violation(DUPLICATES, "an item", "None from queue.pop()", ("queue.pop()",) * count, "", pushes, cause="pop: None", way=way)
    for count, pushes, way in ((4, commands("push:0 push:0"), "2 push"), (24, commands("push:9 push:9 " * 6), "12 push"))
)


def test_a_sequence_of_another_check_that_has_more_is_no_finding_of_its_own():
    raised, case = replace(TWELVE, cause="pop raised KeyError"), replace(TWO, sequence=None, way="push.same-object")
    for pair in ((TWO, TWELVE), (TWELVE, TWO)):
        assert combined(pair).findings == (TWO,)
    assert {one.way for one in combined([TWELVE, replace(TWO, way="2 push, meta")]).findings} == {"12 push", "2 push, meta"}
    assert {*combined([raised, TWO, case, TWELVE]).findings} == {raised, TWO, case}
    by_chance = [replace(one, way=f"{one.way}, {BY_CHANCE}") for one in (TWO, TWELVE)]
    assert combined(by_chance).findings == tuple(by_chance[:1])


def test_an_entry_that_a_failure_explains_is_not_fixed_and_does_not_accept_that():
    def told(known, *shown):
        return [one.trouble for one in judge(known, [failing(*shown)]).findings]

    def failing(first, *others):
        verdict = RuleVerdict(load()[DUPLICATES], Verdict.FAILED, violation=replace(first, others=others))
        return Result("mine", DOWNSTREAM_QUEUE, Level.MUST, (verdict,))

    both = parse(updated("", failing(TWO, TWELVE)), "known.toml")
    assert [entry.ways for entry in both.entries] == [("2 push",), ("12 push",)]
    assert told(both, TWO) == told(both, TWO, TWELVE) == []
    assert told(both, TWELVE) == [Trouble.FIXED]
    later = parse(updated("", failing(TWELVE)), "known.toml")
    assert told(later, TWO) == [Trouble.NEW]
    for other in (replace(TWO, cause="pop raised KeyError"), replace(TWO, way="2 push, meta"), replace(TWO, sequence=None)):
        assert told(later, other) == [Trouble.FIXED, Trouble.NEW]


@pytest.mark.parametrize("file", [*(file for file in EARLIER if file not in SLOW), *further(*SLOW)])
def test_an_upgrade_fails_no_run_and_an_update_writes_all_anew(tmp_path, file):
    text = BASELINES.joinpath(f"{file}.toml").read_text("utf-8")
    earlier = parse(text, "known.toml")
    results = []
    for name, (path, check) in EARLIER[file].items():
        tmp_path.joinpath(name).mkdir()
        results.append(found(path, tmp_path / name, earlier, name=name, check=check))
    judgement = judge(earlier, results)
    assert judgement.findings == ()
    notes = [line for lines in judgement.notes.values() for line in lines]
    assert len(notes) == len(judgement.outdated) != 0
    assert all("earlier release of the kit" in line and "\n" not in line for line in notes)

    written = updated(text, *results)
    now = parse(written, "known.toml")
    assert (now.kit, now.form) == (__version__, FORM)
    assert {entry.reason for entry in now.entries} == {"known since the last release"}
    assert all(entry.ways for entry in now.entries)
    assert troubles(now, *results) == []
    assert updated(written, *results) == written


@pytest.mark.parametrize("seed", [1, *further(2, 3)])
def test_what_fails_by_chance_is_one_finding(tmp_path, seed):
    tmp_path.joinpath("later").mkdir()
    written = updated("", found("one_bug_more.RaisesByChance", tmp_path))
    known = parse(written, "known.toml")
    assert {entry.ways for entry in known.entries} == {(BY_CHANCE,)}
    later = found("one_bug_more.RaisesByChance", tmp_path / "later", known, seed=seed)
    assert troubles(known, later) == []
    failed, *_ = (one for one in later.verdicts if one.violation)
    assert updated(written, later) == written
    for sequence in (("push:7",), known.entries[0].sequence):
        other = replace(failed.violation, operations=("other items",), sequence=sequence, others=())
        verdicts = tuple(replace(one, violation=other) if one is failed else one for one in later.verdicts)
        assert updated(written, replace(later, verdicts=verdicts)) == written


@pytest.mark.parametrize(("name", "matters"), [("ReturnsLateByChance", True), ("DropsByChance", False)], ids=["late", "dropped"])
def test_what_fails_by_chance_is_a_matter_of_a_cancellation_if_it_never_fails_without(name, matters):
    sequence = commands("put:0 put:0 start_get tick cancel_get put:0 put:0 settle")
    failure = RuleFailed("aqueue.get.cancel-safe", "4 stored", "3 left", (), sequence=sequence)
    with context(f"one_bug_more.{name}") as found:
        assert runner_of(found).always_cures(failure, range(AGAIN)) is matters


def test_what_is_lost_by_chance_where_it_is_cancelled_is_named_so(tmp_path):
    known = parse(updated("", found("one_bug_more.ReturnsLateByChance", tmp_path, check="aqueue.get.cancel-safe")), "known.toml")
    assert {(entry.rule, entry.ways) for entry in known.entries} == {("aqueue.get.cancel-safe", (BY_CHANCE,))}


def test_what_else_a_filter_ignores_is_new(tmp_path):
    first = found("one_bug_more.IgnoresCase", tmp_path, check="seen.distinct")
    known = parse(updated("", first), "known.toml")
    assert troubles(known, first) == []
    tmp_path.joinpath("later").mkdir()
    (new,) = troubles(known, found("one_bug_more.IgnoresQueries", tmp_path / "later", known, check="seen.distinct"))
    assert new.startswith("new: ")
    assert "another query" in new


def test_what_fails_by_chance_is_never_fixed(tmp_path):
    result = found("one_bug_more.RaisesByChance", tmp_path)
    known = parse(updated("", result), "known.toml")
    passed = tuple(replace(one, verdict=Verdict.PASSED, violation=None) for one in result.verdicts if one.violation)
    judgement = judge(known, [replace(result, verdicts=passed)])
    assert judgement.findings == ()
    assert all("it fails by chance" in line for line in judgement.notes["mine"])


def test_a_dead_end_of_shortening_is_left():
    """Two of the same request need three pushes, and two others only two: arguments that became smaller hide that."""
    with context("one_bug_more.LosesOneOfTwo") as found:
        runner = runner_of(found)
        with pytest.raises(RuleFailed) as caught:
            runner.run(commands("push:0 push:0 push:0"))
        dead_end = runner.shortened(caught.value)
        assert dead_end.way == "3 push"
        assert named(runner, dead_end, 100, lambda other: None).way == "2 push"


@pytest.mark.parametrize(("way", "left"), [("1 cancel_put, 1 limit, 2 put", 1), ("1 limit, 2 put", 2)])
def test_what_a_known_finding_explains_by_other_means_is_none_of_its_own(way, left):
    known = RuleFailed("aqueue.put.cancelled-no-trace", "a", "b", (), way="1 cancel_put, 1 put", sequence=("known",))
    other = RuleFailed("aqueue.persist.reopen", "a", "b", (), difference="out of turn", way=way, sequence=("other",))
    with context(ASYNC_MEMORY) as found:
        runner = runner_of(found)

        def run(sequence):
            failure = known if sequence == known.sequence else other
            raise replace(failure, rule=known.rule) if known.rule in runner.known else failure

        runner.run = run
        findings = Findings()
        findings.shortest = {(*one.finding, one.way): one for one in (known, other)}
        findings.drop_explained(runner)
    assert len(findings.shortest) == left
    assert {one.rule for one in findings.shortest.values()} == {known.rule}


def test_commands_that_show_the_same_have_one_name():
    with context("one_bug_more.LosesAfterTwoLooks") as found:
        runner = runner_of(found)
        ways = set()
        for looks in ("peek peek", "length peek", "peek length"):
            with pytest.raises(RuleFailed) as caught:
                runner.run(commands(f"push:0 {looks} pop"))
            ways.add(named(runner, runner.shortened(caught.value), 100, lambda other: None).way)
        assert ways == {"1 len, 1 peek, 1 push"}


def test_a_command_that_is_drawn_for_no_sequence_keeps_its_name():
    with context("one_bug_more.LosesAfterTwoLooks") as found:
        runner = runner_of(found)
        runner.table = {each: weight for each, weight in runner.table.items() if each.name != "length"}
        with pytest.raises(RuleFailed) as caught:
            runner.run(commands("push:0 length length pop"))
        assert named(runner, runner.shortened(caught.value), 100, lambda other: None).way == "2 len, 1 push"


MATRIX = Path(__file__).parent.parent / "docs" / "matrix"
RUNS = (("-p", "no:cacheprovider"), (), ("--conformance-seed=7",), ("-n", "2", "--conformance-seed=8"))
"""Runs that must say the same: without and with what pytest keeps of the one before, with another seed, in two processes."""
RELEASED = tuple(tomllib.loads((MATRIX / "pyproject.toml").read_text())["tool"]["queue_conformance"]["implementations"])
QUICK = "queuelib.RoundRobinQueue"


@pytest.mark.parametrize(
    ("name", "runs"), [(QUICK, RUNS[-1:]), *further(*((name, RUNS) for name in RELEASED if "queue_reference" not in name))]
)
def test_an_update_makes_each_later_run_green(pytester, monkeypatch, name, runs):
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    for file in ("pyproject.toml", "conftest.py"):
        pytester.path.joinpath(file).write_text((MATRIX / file).read_text())
    options = ("--conformance", f"--conformance-only={name}", "--conformance-level=SHOULD", "--conformance-baseline=known.toml")

    def run(*arguments):
        result = pytester.runpytest_subprocess("-q", "--tb=no", "-p", "no:randomly", *options, *arguments)
        return result.ret, [line for line in result.outlines if line.startswith("baseline: ")]

    assert run("--conformance-update-baseline")[0] == 0
    known = pytester.path / "known.toml"
    known.write_text(known.read_text("utf-8").replace(PLACEHOLDER, "known"), "utf-8")
    for arguments in runs:
        assert run(*arguments) == (0, [])


# --- What identifies a finding ---------------------------------------------------------------------------------------


class Hostile:
    def __eq__(self, other):
        raise ValueError

    __hash__ = object.__hash__


@pytest.mark.parametrize(
    ("actual", "expected", "told"),
    [
        (None, 1, "None"),
        (False, True, "False"),
        (1, 2, "too low"),
        (3, 2, "too high"),
        ([1], [1, 2], "lost"),
        ([1, 1], [1], "doubled"),
        ([1, 3], [1, 2], "lost, foreign"),
        ([2, 1], [1, 2], "out of turn"),
        ({1}, {1, 2}, "lost"),
        (("returned", 1), ("waiting", None), "returned"),
        ({"a": 1}, {"a": 2}, "altered a"),
        ({"a": 1, "c": 1}, {"a": 2, "b": 1}, "altered a; lost b; added c"),
        ("1", 1, "of type str"),
        ([1], [], "not empty"),
        ({"a": 1}, {}, "not empty"),
        ({"a": b"1"}, {"a": bytearray(b"1")}, "of another type a"),
        ("1", "2", "another one"),
        (1, None, "not None"),
        (Exactly(1), "1", "of type int"),
        (Hostile(), Hostile(), "another one"),
        ([[]], [{}], "altered"),
        ([{}], [{}, {}], "lost"),
    ],
)
def test_a_difference_is_told_without_the_values(actual, expected, told):
    assert difference(actual, expected) == told


@pytest.mark.parametrize(
    ("source", "cls", "operation"),
    [
        (f"left = {scheduler_support.drain.__name__}(scheduler)", Scheduler, "next_request"),
        ("drain(queue)", FifoMemoryQueue, "pop"),
        ("length = len(queue)", FifoMemoryQueue, "len"),
        ("truth = bool(dupefilter.request_seen(request))", RFPDupeFilter, "request_seen"),
        ("state_of(spider)", Scheduler, ""),
    ],
)
def test_an_operation_is_one_of_the_class(source, cls, operation):
    assert own_operation(source, cls) == operation


def test_an_attribute_that_is_asked_for_is_an_operation():
    assert operation_of("left = getattr(spider, 'state', None)") == "state"
    assert operation_of("loop.call(other.task_done)") == "task_done"


@pytest.mark.parametrize(
    ("holds", "value", "told"),
    [
        (lambda left: not left, [0], "not empty"),
        (lambda left: left, "", "empty"),
        (lambda left: isinstance(left, dict), [], "of type list"),
        (lambda left: left > 0, 0, "too low"),
        (lambda left: left <= 3, 4, "too high"),
        (lambda left: left is not None, None, "the same"),
        (lambda left: left != [], [], "the same"),
        (lambda left: left in ([1], [1, 2]), [], "lost"),
        (lambda left: left or left is None, 0, ""),
    ],
)
def test_an_assertion_tells_how_what_came_differs(holds, value, told):
    with context("queue_reference.memory.FifoMemoryQueue") as found:
        refuted = Refuted(Operations(found.recorder, Sources("")), holds, [value])
        assert refuted.difference == told


def test_a_sequence_may_be_known_to_fail_several_rules(tmp_path):
    entry = Entry("mine", "queue.pop.exactly-once", "known", "pop: None", sequence=((Command("push"),)))
    known = Baseline("known.toml", (entry, replace(entry, rule="queue.push.accept"))).sequences("mine")
    assert known == {entry.sequence: {"pop: None": ["queue.pop.exactly-once", "queue.push.accept"]}}
    with context("one_bug_more.LosesSooner") as found:
        found.blamed = {"pop: None": ["queue.pop.exactly-once", "queue.push.accept"]}
        replay(runner_of(found), commands("push:0 push:0 push:0 push:0 push:0"))
        assert found.failed.keys() == {"queue.pop.exactly-once", "queue.push.accept"}


def test_a_way_is_part_of_another_one():
    seven, five = way_of(["push"] * 7, ()), way_of(["push"] * 5, ())
    assert (seven, five) == ("7 push", "5 push")
    assert explains(five, seven)
    assert not explains(seven, five)
    assert explains(five, way_of(["push"] * 5 + ["peek"], ["meta"]))
    assert not explains(way_of(["push"], ["meta"]), seven)
    assert way_of([], ()) == "0 operations before"
    assert way_of([], ["meta"]) == "0 operations before, meta"
    assert explains(way_of([], ()), way_of([], ["meta"]))
    assert explains(f"9 push, {BY_CHANCE}", five)
    assert explains(five, f"7 push, {BY_CHANCE}")
    assert not explains(seven, f"5 push, {BY_CHANCE}")
    assert not explains(way_of([], ()), five), "what an empty queue does says nothing of one that holds five"


def test_what_is_raised_is_not_told_apart_by_what_the_items_are():
    plain, one = way_of(["push", "push"], ()), way_of(["push", "push"], ["meta"])
    assert is_plainer(plain, one)
    assert is_plainer(one, one)
    assert not is_plainer(one, plain)
    assert not is_plainer(plain, way_of(["push"] * 7, ["meta"]))
    assert not is_plainer(plain, way_of(["push", "push", "peek"], ()))
    assert not is_plainer("check (reopen)", "check (reopen)"), "what a case raises depends on the case alone"
    assert raise_alike("pop raised ValueError", "pop raised OSError")
    assert not raise_alike("pop raised ValueError", "peek raised ValueError")
    assert not raise_alike("pop: lost", "pop: lost")


def test_a_case_is_told_without_what_differs_between_runs():
    case = {"field": "meta", "cause": object(), "cut": 17, "f": len, "last": True, "at_once": False}
    told = way_of_case("check", case, generated={"cut"})
    assert told == "check (field='meta', cause=object, some cut, f=len, last, not at once)"
    assert not explains(told, way_of_case("check", {"field": "cb_kwargs"}))


def test_a_case_that_makes_a_value_is_told_as_it_is_written():
    one = {"new": lambda: 7 + 1}
    other = {"new": lambda: 7 + 2}
    assert [way_of_case("check", case) for case in (one, other)] == ["check (new=7 + 1)", "check (new=7 + 2)"]
    several = {"first": lambda: 7, "second": lambda: 8}
    assert way_of_case("check", several) == "check (first=<lambda>, second=<lambda>)"


class RefusesAll(RefusesJson):
    """It refuses each subclass of a request, in the same way."""

    def push(self, request):
        if type(request) is not Request:
            raise ValueError("no JSON")
        super().push(request)


def test_a_request_of_another_class_that_is_refused_is_new(tmp_path):
    check = "queue.push.request-types"
    known = parse(updated("", found("mutants.disk.RefusesJson", tmp_path, check=check)), "known.toml")
    tmp_path.joinpath("later").mkdir()
    later = found("test_findings.RefusesAll", tmp_path / "later", known, check=check)
    assert Trouble.NEW in {one.trouble for one in judge(known, [later]).findings}


def test_a_case_is_told_in_words():
    slow = Named("SlowQueue", "over a slow queue")
    assert (slow, copy(slow).name) == ("SlowQueue", "over a slow queue")
    assert way_of_case("check", {"kind": slow}) == "check (over a slow queue)"
    one, other = (way_of_case("check", {"slot": "a" * 100 + end}) for end in "bc")
    assert one != other
    assert max(map(len, (one, other))) < 100
    assert way_of_case("check", {"several": {str(n) for n in range(99)}}) == "check (several=set)"
