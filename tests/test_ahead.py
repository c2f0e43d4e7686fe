"""Checks that run side by side tell what they tell one by one."""

import itertools
import os
import threading
import time
from dataclasses import replace

import pytest

from queue_conformance import examine
from queue_conformance.discovery.stages import discover
from queue_conformance.engine.outcomes import CheckResult, Observation, Outcome, Violation
from queue_conformance.engine.shown import NOTHING_SHOWN, Shown
from queue_conformance.engine.verdicts import Verdict
from queue_conformance.frontends import implementation_run
from queue_conformance.frontends.implementation_run import ImplementationRun
from queue_conformance.processes import process
from queue_conformance.processes.host import HostEnded
from queue_conformance.running.ahead import Ahead
from queue_conformance.running.contexts import RunConfig

pytestmark = pytest.mark.skipif(not process.AVAILABLE, reason="needs fork")

NAMES = "abcdef"
RULES = ("queue.ctor.*", "queue.len.*", "queue.peek.*", "queue.pop.falsy-request", "queue.push.returns-none")


def by_pid(asked) -> CheckResult:
    name, known = asked
    os.write(1, f"this is {name}\n".encode())
    return CheckResult(name, (), notes=(str(os.getpid()), known))


@pytest.fixture
def ahead():
    begun = []

    def begin(work, known=lambda name: "nothing", jobs=2, idle=(), **how):
        begun.append(Ahead(work, NAMES, known, jobs, 30.0, idle, **how))
        return begun[-1]

    yield begin
    for one in begun:
        one.stop()


def test_results_come_in_any_order_from_processes_that_run_at_once(ahead, tmp_path):
    def meets(asked):
        (tmp_path / asked[0]).touch()
        while len(list(tmp_path.iterdir())) < 2:  # the first two wait for each other
            time.sleep(0.01)
        return by_pid(asked)

    run = ahead(meets)
    results = {name: run.result(name) for name in "bafced"}
    assert [result.check for result in results.values()] == list("bafced")
    assert len({result.notes for result in results.values()}) == 2
    assert run.result("b") is None


@pytest.mark.parametrize(("idle", "most"), [("", 2), ("ac", 3)])
def test_one_more_runs_while_one_runs_that_waits_now_and_then(ahead, tmp_path, idle, most):
    def meets(asked):
        (tmp_path / asked[0]).touch()
        while asked[0] in "abc"[:most] and len(list(tmp_path.iterdir())) < most:
            time.sleep(0.01)
        return by_pid(asked)

    run = ahead(meets, idle=idle)
    for name in NAMES:
        run.result(name)
        assert sum(bool(lane.check) for lane in run._lanes) <= most
    assert len(list(tmp_path.iterdir())) == len(NAMES)


def test_what_is_outdated_runs_again_before_it_is_asked_for(ahead, tmp_path):
    known = dict.fromkeys(NAMES, "nothing")

    def noted(asked):
        with (tmp_path / asked[0]).open("a") as file:
            print(asked[1], file=file)
        return by_pid(asked)

    run = ahead(noted, known.__getitem__)
    run.result("c")  # by then, a and b have run
    known["b"] = "something"
    run.result("a")
    run.result("f")  # which runs at last, but for b
    run.rest(lambda name: known[name])
    assert (tmp_path / "b").read_text().split() == ["nothing", "something"]
    assert run.result("b").notes[1] == "something"


def test_a_processor_has_something_to_do_while_crawls_wait(tmp_path):
    config = RunConfig(tmp_path)
    run = ImplementationRun(discover("queue_reference.disk.FifoDiskQueue", {}, {}, config), config, {})
    asked = [check.name for check in run.checks]
    begun = run._in_turn(asked)
    assert sorted(begun) == sorted(asked)
    assert begun[0] == "machine"
    crawls = [number for number, name in enumerate(begun) if run._named(name).crawls]
    assert crawls[0] == 2  # behind the one that is asked for
    assert min(later - earlier for earlier, later in itertools.pairwise(crawls)) > 3
    ordinary = [name for name in begun if not (run._named(name).crawls or run._named(name).is_machine)]
    assert ordinary == [name for name in asked if name in ordinary]


def test_what_a_check_prints_is_printed_when_it_is_asked_for(ahead, capfd):
    run = ahead(by_pid)
    run.result("c")
    assert capfd.readouterr().out == "this is c\n"
    run.result("a")
    assert capfd.readouterr().out == "this is a\n"


def test_what_ran_with_less_than_is_known_by_then_runs_again(ahead, capfd):
    known = dict.fromkeys(NAMES, "nothing")
    run = ahead(by_pid, known.__getitem__)
    run.result("f")  # by then, all others have run
    known["b"] = "something"
    assert [run.result(name).notes[1] for name in "abc"] == ["nothing", "something", "nothing"]
    assert capfd.readouterr().out.count("this is b") == 1


def test_what_runs_with_less_than_is_known_by_then_is_not_waited_for(ahead, tmp_path):
    known = {**dict.fromkeys(NAMES, "nothing"), "b": "too little"}

    def waits(asked):
        while asked[1] == "too little":
            (tmp_path / "waits").touch()
            time.sleep(0.01)
        return by_pid(asked)

    run = ahead(waits, known.__getitem__)
    run.result("a")
    run.result("c")  # beside which b waits
    assert (tmp_path / "waits").exists()
    known["b"] = "enough"
    assert run.result("b").notes[1] == "enough"


@pytest.mark.parametrize("fails", [False, True])
def test_what_came_of_less_than_is_known_by_then_stands_where_that_explains_failures_alone(ahead, tmp_path, fails):
    known = dict.fromkeys(NAMES, "nothing")

    def noted(asked):
        name, with_it = asked
        with (tmp_path / name).open("a") as file:
            print(with_it, file=file)
        while name == "b" and with_it == "nothing" and not (tmp_path / "go on").exists():
            time.sleep(0.01)
        failed = (Observation("queue.len.count", Outcome.FAILED, name),) * fails
        return CheckResult(name, failed)

    def stands(result, before, now):
        return before == now or not (result and result.failed)

    run = ahead(noted, known.__getitem__, stands=stands)
    run.result("a")
    while not (tmp_path / "c").exists():
        run._fill()
        run._look("")
    known |= dict.fromkeys("bc", "something")
    (tmp_path / "go on").touch()
    for name in "bc":  # the one still runs, the other may be done
        assert bool(run.result(name).failed) == fails
        assert (tmp_path / name).read_text().split() == ["nothing", *["something"] * fails]


def test_what_a_class_raises_elsewhere_explains_failures_alone():
    before, now = (NOTHING_SHOWN, frozenset()), (Shown(raised=frozenset({"push"})), frozenset())
    passed, failed = (CheckResult("c", (Observation("r", outcome, "c"),)) for outcome in (Outcome.PASSED, Outcome.FAILED))
    second = replace(passed, second=failed.observations)
    stands = [implementation_run._stands(result, before, now) for result in (None, passed, failed, second)]
    assert stands == [True, True, False, False]
    for other in ((Shown(in_vain=True), frozenset()), (NOTHING_SHOWN, frozenset({"pop"}))):
        assert not implementation_run._stands(passed, before, other)


@pytest.mark.parametrize(("long", "known"), [(False, "nothing"), (True, "nothing"), (True, "more")])
def test_what_goes_on_is_waited_for_where_one_is_to_run_alone_if_it_has_run_for_long_and_would_not_begin_again(
    ahead, tmp_path, monkeypatch, long, known
):
    monkeypatch.setattr("queue_conformance.running.ahead.PATIENCE", 0.0)
    begun, goes_on = tmp_path / "begun", tmp_path / "goes on"

    def waits(asked):
        if asked[0] == "b":
            with begun.open("a") as file:
                file.write("b")
            while not goes_on.exists():
                time.sleep(0.01)
        return by_pid(asked)

    run = ahead(waits)
    run.result("a")
    run.result("c")  # beside which b waits
    assert begun.exists()
    for lane in run._lanes:
        lane.began += -1000 if long else 1000
    waited = long and known == "nothing"
    if waited:
        threading.Timer(0.1, goes_on.touch).start()
    run.rest(lambda name: known)
    goes_on.touch()
    assert [run.result(name).check for name in "bdef"] == list("bdef")
    assert begun.read_text() == ("b" if waited else "bb")


def test_a_check_runs_again_beside_the_others(ahead, tmp_path):
    def counted(asked):
        with (tmp_path / asked[0]).open("a") as file:
            file.write(".")
        return CheckResult(asked[0], (), notes=((tmp_path / asked[0]).read_text(),))

    run = ahead(counted)
    assert [run.result("a").notes, run.again("a").notes] == [(".",), ("..",)]
    assert [run.result(name).notes for name in "bcdef"] == [(".",)] * 5
    assert run.again("f").notes == ("..",)  # with nothing else to do


def test_a_process_that_ends_is_told(ahead):
    run = ahead(lambda asked: os._exit(3))
    with pytest.raises(HostEnded, match="ended the interpreter with status 3"):
        run.result("a")


@pytest.fixture
def always(monkeypatch):
    """Runs checks side by side from the first on, however few are left."""
    monkeypatch.setattr(implementation_run, "QUICK", 0.0)
    monkeypatch.setattr(implementation_run, "FEW", 0)


def test_a_few_checks_run_one_by_one(monkeypatch, tmp_path):
    def begun(*arguments):
        (tmp_path / "begun").touch()
        return Ahead(*arguments)

    monkeypatch.setattr(implementation_run, "QUICK", 0.0)
    monkeypatch.setattr(implementation_run, "Ahead", begun)
    for rules, beside in ("queue.len.*", False), ("queue.*", True):
        assert not examine("queue_reference.memory.FifoMemoryQueue", jobs=2, examples=5, rules=rules).internal_errors
        assert (tmp_path / "begun").exists() == beside


def test_a_process_that_lasts_is_spared_by_one_that_began_before_it(always):
    # What ran the first check has left a process for the next one, and ends it where the first failure is tried alone.
    assert not examine("mutants.memory.LosesTheEighth", jobs=2, examples=5, rules=("queue.p*", "queue.len.*")).internal_errors


def told(path, jobs, **how):
    """Return what a run says of each rule."""
    (found,) = examine(path, jobs=jobs, examples=5, rules=RULES, **how).implementations
    return [(one.rule.id, one.verdict, one.reason, one.violation and one.violation.expected) for one in found.verdicts]


@pytest.mark.parametrize(
    ("path", "how"),
    [
        ("queue_reference.memory.FifoMemoryQueue", {}),
        ("mutants.memory.DropsFalsyRequests", {}),
        pytest.param("mutants.memory.PopHangs", {"time_limit": 1.0}, marks=pytest.mark.further),
        pytest.param("mutants.hostile.EndsItsParentLater", {}, marks=pytest.mark.further),
        ("mutants.controls.NeedsAllForItself", {}),
    ],
)
def test_a_verdict_does_not_depend_on_how_many_checks_run_at_once(path, how, always):
    assert told(path, 4, **how) == told(path, 1, **how)


@pytest.mark.parametrize("times", [implementation_run.DIFFERENT - 1, implementation_run.DIFFERENT])
def test_what_comes_of_the_others_is_tried_alone_and_the_rest_goes_on_beside_unless_it_is_much(
    monkeypatch, always, tmp_path, times
):
    path, asked, result = "queue_reference.memory.FifoMemoryQueue", tmp_path / "asked", Ahead.result

    def disturbed(ahead, name):
        found = result(ahead, name)
        with asked.open("a") as file:
            print(name, file=file)
        if len(asked.read_text().split()) > times:
            return found
        lost = Violation("queue.push.accept", expected="a request", actual="nothing", operations=(), script="")
        return replace(found, observations=(Observation(lost.rule, Outcome.FAILED, name, violation=lost),))

    monkeypatch.setattr(Ahead, "result", disturbed)
    assert told(path, 4) == told(path, 1)
    assert (len(asked.read_text().split()) > times) == (times < implementation_run.DIFFERENT)


def test_checks_that_share_a_server_run_beside_each_other_where_they_wait(monkeypatch, always, tmp_path):
    def begun(*arguments):
        (tmp_path / "begun").touch()
        return Ahead(*arguments)

    monkeypatch.setattr(implementation_run, "Ahead", begun)
    monkeypatch.setattr(implementation_run, "WAITED", -1.0)
    rules = {"queue.len.truth", "queue.len.pop-none", "queue.pop.permanent-raises"}
    how = {"server": "redis", "settings": {"REDIS_URL": "redis://{host}:{port}/0"}, "rules": tuple(rules)}
    (found,) = examine("queue_reference.redis.FifoRedisQueue", jobs=4, examples=5, **how).implementations
    assert rules <= {one.rule.id for one in found.verdicts if one.verdict is Verdict.PASSED}
    assert (tmp_path / "begun").exists()


def test_where_checks_wait_what_takes_longest_begins_first_and_what_fails_runs_again_beside_the_others(
    monkeypatch, always, tmp_path
):
    path, seen = "mutants.memory.DropsFalsyRequests", tmp_path / "seen"

    class Seen(Ahead):
        def __init__(self, work, names, *others):
            seen.write_text(f"{names[0]}\n")
            super().__init__(work, names, *others)

        def again(self, name):
            with seen.open("a") as file:
                file.write(f"{name}\n")
            return super().again(name)

    expected = told(path, 1)
    monkeypatch.setattr(implementation_run, "Ahead", Seen)
    monkeypatch.setattr(implementation_run, "WAITED", -1.0)
    assert told(path, 4) == expected
    first, *again = seen.read_text().splitlines()
    assert first == "machine"
    assert len(again) == 1
