"""Sequences are read, run and attributed; the machine draws, shrinks and counts them."""

import itertools
import pickle
from pathlib import Path
from types import SimpleNamespace

import pytest
from kit import FIFO_BYTES, FIFO_DISK, FIFO_MEMORY, LIFO_DISK, PRIORITY, TURNS, context, examine, failed_rules, run_script
from scrapy import FormRequest
from scrapy.utils.request import request_from_dict

from mutants import QCRAWL, all_mutants, memory
from queue_conformance.engine.generation import explore
from queue_conformance.engine.outcomes import NotCovered, RuleFailed
from queue_conformance.engine.record import Refuted
from queue_conformance.engine.recording import Recorder
from queue_conformance.engine.runner import runner_of
from queue_conformance.engine.sequences import Command, commands, decode, encode
from queue_conformance.engine.sources import Sources
from queue_conformance.engine.subject import Operations
from queue_conformance.implementation.loading import path_of
from queue_conformance.kinds.queue.commands import QueueLockstep
from queue_conformance.processes.isolation import Watchdog

EVERYTHING = "push:0 push:1 peek length truth pop push_refused:1 push:2 push:2 reopen pop pop pop pop push:3"


def failure_of(path, text):
    """Run a sequence and return the failure that it ends in."""
    with context(path) as found, pytest.raises(RuleFailed) as caught:
        runner_of(found).run(commands(text))
    return caught.value


def test_a_program_is_read_from_its_short_form():
    assert commands("push:3 1.pop reopen") == (Command("push", 0, 3), Command("pop", 1), Command("reopen"))


def test_a_program_survives_json():
    operations = commands("push:3 1.pop 2.push:7")
    assert decode(encode(operations)) == operations


def test_causes_of_one_rule_are_told_apart(tmp_path):
    report = examine("mutants.memory.BreaksInTwoWays", only="machine")
    (verdict,) = [verdict for verdict in report.verdicts if verdict.violation]
    shown = (verdict.violation, *verdict.violation.others)
    assert [violation.cause for violation in shown] == ["pop raised KeyError", "pop raised IndexError"]
    for violation, pushes in zip(shown, (4, 7), strict=True):
        assert violation.sequence == commands("push:0") * pushes
        assert run_script(violation.script, tmp_path).returncode == 1


class ForgetsPopsAndKeepsTheRefused:
    """A queue in a file with two defects: a pop is not stored, and a refused push leaves its item."""

    def __init__(self, path):
        self.path, self.requests = Path(path), []
        if self.path.exists():
            self.requests = pickle.loads(self.path.read_bytes())

    from_crawler = classmethod(lambda cls, crawler, key: cls(key))

    def push(self, request):
        self.requests.append(request.to_dict())
        self.path.write_bytes(pickle.dumps(self.requests))

    def pop(self):
        return request_from_dict(self.requests.pop()) if self.requests else None

    def __len__(self):
        return len(self.requests)

    def close(self):
        """Store no more than the pushes did."""


def test_what_two_known_rules_explain_together_is_blamed_on_no_third():
    with context("test_lockstep.ForgetsPopsAndKeepsTheRefused") as found:
        explore(runner_of(found))
        assert set(found.failed) == {"queue.persist.partial", "queue.push.failed-no-trace", "queue.push.serialization-error"}


def test_what_a_sequence_does_not_do_explains_nothing(monkeypatch):
    with context(FIFO_DISK) as found:
        runner = runner_of(found)
        runner.known = {"queue.push.failed-no-trace", "queue.peek.no-effect"}
        monkeypatch.setattr(runner, "cures", lambda sequence, subjects: True)
        run = runner.begin()
        run.through(commands("push:0 peek pop"))
        assert runner._together(run) is None
        run = runner.begin()
        run.through(commands("push:0 push_refused:0 peek pop"))
        assert runner._together(run) == "queue.push.failed-no-trace"


@pytest.mark.parametrize(
    ("sequence", "rule"),
    [
        ("put:0 start_get tick cancel_get:0 settle size", "aqueue.get.cancel-safe"),
        ("put:0 put:0 start_get start_get tick cancel_get:0 settle size", "aqueue.get.concurrent"),
    ],
)
def test_a_failure_is_only_explained_by_what_can_go_on_at_once_if_anything_does(sequence, rule):
    with context("mutants.async_queues.AwaitsTooLate") as found:
        runner = runner_of(found)
        runner.known = {"aqueue.get.concurrent"}
        with pytest.raises(RuleFailed) as caught:
            runner.run(commands(sequence))
    assert caught.value.rule == rule


def test_a_program_that_a_check_prescribes_is_shortened():
    with context("mutants.memory.AcceptsFour") as found, pytest.raises(RuleFailed) as caught:
        runner_of(found).show(commands("length push:0 peek push:1 push:2 truth push:3 push:4 pop length"))
    assert caught.value.sequence == commands("push:0") * 5


def test_what_fails_sooner_with_a_smaller_argument_is_shortened(monkeypatch):
    def run(sequence):
        ends = [place for place, command in enumerate(sequence) if command.argument == 0 or place == 2]
        if ends:
            failure = RuleFailed("queue.pop.exactly-once", expected="an item", actual="another", steps=())
            failure.sequence = tuple(sequence)[: ends[0] + 1]
            raise failure

    with context(FIFO_MEMORY) as found:
        runner = runner_of(found)
        monkeypatch.setattr(runner, "run", run)
        with pytest.raises(RuleFailed) as caught:
            runner.show(commands("push:1 push:1 push:1"))
    assert caught.value.sequence == commands("push:0")


@pytest.mark.parametrize("path", [FIFO_DISK, LIFO_DISK, FIFO_BYTES, PRIORITY, TURNS])
def test_a_right_implementation_plays_everything(path):
    with context(path) as found:
        runner_of(found).run(commands(EVERYTHING))


@pytest.mark.parametrize(
    ("path", "text", "rule"),
    [
        ("mutants.memory.SwapsAfterTheThird", "push:0 push:1 push:2 push:3 push:4 peek length", "queue.pop.fifo"),
        ("mutants.memory.LosesTheEighth", "peek " + " ".join(f"push:{n}" for n in range(9)), "queue.pop.exactly-once"),
        ("mutants.memory.DeliversTwice", "length push:0 push:1 push:2 pop pop pop pop", "queue.pop.exactly-once"),
        ("mutants.memory.PushAfterPeekOverwrites", "push:0 length peek push:1 pop pop", "queue.peek.then-push"),
        ("mutants.memory.PeekCounts", "push:0 push:1 peek push:2 length", "queue.peek.no-effect"),
        ("mutants.memory.PeeksAtTheNewest", "push:0 push:1 length peek", "queue.peek.equals-pop"),
        ("mutants.memory.PeekRaisesWhenEmpty", "push:0 pop peek", "queue.peek.empty-none"),
        ("mutants.memory.PopOfNothingCounts", "push:0 pop pop push:1 length", "queue.len.pop-none"),
        ("mutants.memory.IsASet", "push:1 push:0 push:0 pop", "queue.push.duplicates"),
        ("mutants.memory.RaisesWhenEmpty", "length peek", "queue.pop.empty-none"),
        ("mutants.disk.OneFilePerDirectory", "push:0 1.push:0 peek 1.length", "queue.ctor.key-isolation"),
        ("mutants.disk.NumbersItsFiles", "push:0 1.push:0 close 1.close 1.open open", "queue.ctor.key-identity"),
        ("mutants.disk.CountsFirst", "push:0 peek push_refused:0 reopen push_refused:1 length", "queue.push.failed-no-trace"),
        ("mutants.disk.DiscardsAfterRefusal", "push:0 peek push_refused:1 reopen pop", "queue.close.keeps"),
        ("mutants.disk.ReversesWhenReopened", "push:0 push:1 peek reopen pop pop", "queue.pop.order-reopen"),
        ("mutants.disk.ForgetsItsLength", "push:0 peek reopen", "queue.ctor.stored-length"),
        ("mutants.disk.DropsTheFourth", "push:0 push:1 push:2 peek push:3 reopen", "queue.persist.reopen"),
        ("mutants.disk.PopsInMemoryOnly", "push:0 push:1 pop peek reopen", "queue.persist.partial"),
        ("mutants.bytequeues.ClearLeavesOne", "push:0 clear", "queuelib.clear"),
        ("mutants.bytequeues.EncodesText", "push:0 push_refused:0", "queue.push.bytes-only"),
        ("mutants.collections.NamesEveryPriority", "push:0 push:1 pop reopen", "queuelib.pq.close"),
        ("mutants.collections.PeekTakesATurn", "push:0 peek peek peek length", "queue.peek.no-effect"),
        ("mutants.collections.ClearForgetsTheTurn", "push:0 push:1 clear pop", "queuelib.clear"),
    ],
)
def test_a_failure_is_attributed_to_the_rule_that_is_broken(path, text, rule):
    assert failure_of(path, text).rule == rule


def test_a_failure_keeps_its_program():
    text = "push:0 push:1 peek push:2"
    assert failure_of("mutants.memory.PushAfterPeekOverwrites", text).sequence == commands(text)


def test_what_an_experiment_tests_does_not_count():
    with context(FIFO_MEMORY) as found:
        assert runner_of(found).passes(commands("push:0 pop"))
        assert not found.covered


def test_a_program_tests_what_it_came_to():
    with context(FIFO_DISK) as found:
        runner_of(found).run(commands("push:0 push:1 reopen pop"))
        assert found.covered["queue.persist.reopen"] == 2
        assert found.covered["queue.pop.order-reopen"] == 1
        assert not found.covered["queue.peek.equals-pop"]
        assert not found.covered["queue.persist.partial"]


def test_the_machine_keeps_the_shortest_failure_of_each_rule():
    with context("mutants.memory.LosesTheEighth") as found:
        explore(runner_of(found))
        assert set(found.failed) == {"queue.pop.exactly-once"}
        failure = found.failed["queue.pop.exactly-once"]
        assert [operation.name for operation in failure.sequence] == ["push"] * 8


def test_the_machine_counts_what_it_played():
    with context(FIFO_MEMORY) as found:
        explore(runner_of(found))
        assert found.notes[0].startswith("machine: 100 sequences; ")
        assert " pop" in found.notes[0]


def test_a_machine_that_never_popped_proves_nothing():
    with context(FIFO_MEMORY) as found:
        runner = runner_of(found)
        runner.table = {Command("push", 0, 0): 1}
        with pytest.raises(NotCovered, match="no sequence contained pop"):
            explore(runner)


class Falsy:
    """Every other sequence on such a queue fails, because it is never true."""

    def __bool__(self):
        return False


class FalsyAndSwapping(Falsy, memory.SwapsAfterTheThird): ...


class FalsyAndDoubling(Falsy, memory.DeliversTwice): ...


class FalsyAndOverwriting(Falsy, memory.PushAfterPeekOverwrites): ...


class FalsyAndCounting(Falsy, memory.PeekCounts): ...


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    ("cls", "rule"),
    [
        (FalsyAndSwapping, "queue.pop.fifo"),
        (FalsyAndDoubling, "queue.pop.exactly-once"),
        (FalsyAndOverwriting, "queue.peek.then-push"),
        (FalsyAndCounting, "queue.peek.no-effect"),
    ],
)
def test_a_failure_that_most_programs_meet_hides_no_other_one(cls, rule, seed):
    with context(path_of(cls)) as found:
        found.seed = seed
        explore(runner_of(found))
        assert set(found.failed) == {"queue.len.truth", rule}


@pytest.mark.parametrize(
    ("path", "seed"),
    [
        ("pqueues_state.NamesWhatWasUsed", 1),
        ("pqueues_slots.NamesTheFirstSlot", 2),
        ("schedulers_resumed.PrefersTheDisk", 1),
        ("schedulers_resumed.StartsFirst", 1),
        ("schedulers_resumed.TakesNoneForTheEnd", 3),
        ("schedulers_resumed.PutsTheLastBack", 3),
        ("schedulers.ForgivesNothing", 3),
        *(
            [
                ("async_disk.DeletesTooEarly", 1),
                ("async_queues.StoresWhenClosed", 4),
                ("async_queues.DropsEveryFourth", 4),
                ("async_accounting.CountsQueuedAsPending", 1),
                ("async_schedulers.WaitsForTheDead", 2),
                ("async_schedulers.FirstComeFirstServed", 3),
            ]
            if QCRAWL
            else ()
        ),
    ],
)
def test_what_one_mistake_brings_about_is_blamed_on_no_other_rule(path, seed):
    (mutant,) = [mutant for mutant in all_mutants() if mutant.path == f"mutants.{path}"]
    claims, settings = mutant.claims, mutant.settings
    report = examine(mutant.path, claims, seed=seed, examples=25, settings=settings, only="machine")
    assert failed_rules(report) <= mutant.fails


class RaisesWhileUsed(memory.PopRaises, memory.CountsBelowNothing):
    """Its pop raises for two reasons, neither of which has to do with close."""


def test_what_raises_while_close_is_tested_is_blamed_on_its_own_rule():
    report = examine(path_of(RaisesWhileUsed), only="queue.close.releases", examples=25)
    assert failed_rules(report) == {"queue.pop.exactly-once"}


EIGHT = commands(" ".join(f"push:{n % 4}" for n in range(9)))


def test_the_machine_replays_what_failed_before():
    with context("mutants.memory.LosesTheEighth") as found:
        found.replay = EIGHT
        explore(runner_of(found))
        assert set(found.failed) == {"queue.pop.exactly-once"}


@pytest.mark.parametrize("text", ["no_such_operation", "push:1 9.pop", "context"])
def test_a_program_that_this_machine_does_not_know_says_nothing(text):
    with context(FIFO_MEMORY) as found:
        found.replay = commands(text)
        explore(runner_of(found))
        assert not found.failed


def test_an_error_of_the_kit_is_not_taken_for_a_broken_rule():
    with context(FIFO_MEMORY) as found:
        runner = runner_of(found)
        runner.table = {Command("no_such_operation"): 1}
        with pytest.raises(KeyError, match="no_such_operation"):
            explore(runner)


def test_what_is_raised_because_of_a_value_in_lockstep_is_of_the_operation_that_returned_it(monkeypatch):
    with context(FIFO_MEMORY) as found:
        monkeypatch.setattr(found.implementation.cls, "pop", lambda self: {1: 2})
        monkeypatch.setattr(QueueLockstep, "compare", lambda self, value, *arguments: hash(value))
        with pytest.raises(RuleFailed) as raised:
            runner_of(found).run(commands("push:0 pop"))
    assert raised.value.rule == "queue.pop.exactly-once"
    assert raised.value.actual.startswith("{1: 2} from queue.pop(), and TypeError(\"unhashable type: 'dict'\") raised")
    assert raised.value.body[-1] == "look_at(popped)"


@pytest.mark.parametrize(
    ("alters", "line"),
    [
        (lambda request: request.replace(body=b"x"), "assert popped.body == Request('https://example.com/0').body, "),
        (lambda request: request.replace(cls=FormRequest), "assert type(popped) is type(Request('https://example.com/0')), "),
    ],
)
def test_a_script_compares_what_is_altered_of_a_request(monkeypatch, alters, line):
    with context(FIFO_MEMORY) as found:
        usual = found.implementation.cls.pop
        monkeypatch.setattr(found.implementation.cls, "pop", lambda self: alters(usual(self)))
        with pytest.raises(RuleFailed) as raised:
            runner_of(found).run(commands("push:0 pop"))
    assert raised.value.body[-1].startswith(line)


def test_what_a_scheduler_gives_twice_after_nothing_is_told_as_too_many(monkeypatch):
    with context("mutants.controls_schedulers.PlainScheduler") as found:
        cls, turns = found.implementation.cls, itertools.count()

        def gives_the_first_twice(self, usual=cls.next_request):
            match next(turns):
                case 0:
                    return None
                case 1:
                    self.enqueue_request((request := usual(self)).replace(dont_filter=True))
                    return request
            return usual(self)

        monkeypatch.setattr(cls, "next_request", gives_the_first_twice)
        with pytest.raises(RuleFailed) as raised:
            runner_of(found).run(commands("enqueue:0 enqueue:1 next"))
    assert raised.value.expected == "no more than 1 of 'https://example.com/0' left"
    assert raised.value.body[-1] == "assert left.count('https://example.com/0') <= 1, left"


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_same_seed_draws_the_same_programs(seed):
    def notes():
        with context(FIFO_MEMORY) as found:
            found.seed = seed
            explore(runner_of(found))
            return found.notes

    assert notes() == notes()


LIMITS = ("a", "b")
TASK = SimpleNamespace(name="c", done=lambda: False)


@pytest.mark.parametrize(
    ("holds", "line", "expected"),
    [
        (lambda size: size == 0, "assert size == 0, f'got {size!r}'", "0"),
        (lambda size: size <= len(LIMITS), "assert size <= 2, f'got {size!r}'", "at most 2"),
        (lambda size: 0 <= len(size) <= len(LIMITS), "assert 0 <= len(size) <= 2, f'got {size!r}'", "a true value"),
        (
            lambda left: [one for one in left if one not in LIMITS] == 1,
            "assert [one for one in left if one not in ('a', 'b')] == 1, f'got {left!r}'",
            "1",
        ),
        (lambda: TASK.done(), "assert task.done(), 'expected a true value'", "a true value"),
        (lambda: TASK.name in LIMITS, """assert task.name in ('a', 'b'), "expected 'a' or 'b'\"""", "'a' or 'b'"),
        (lambda: len(TASK.name) == len(LIMITS), "assert len(task.name) == 2, 'expected 2'", "2"),
    ],
)
def test_what_a_lambda_says_is_said_in_scripts(holds, line, expected):
    sources = Sources("/scratch")
    sources.give(TASK, "task")
    refuted = Refuted(Operations(Recorder(Watchdog()), sources), holds, [()] * holds.__code__.co_argcount)
    assert refuted.line() == line
    assert refuted.expected == expected
