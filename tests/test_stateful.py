"""The machines as state machines of Hypothesis, for authors to extend."""

import asyncio
import unittest

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.database import InMemoryExampleDatabase
from hypothesis.stateful import run_state_machine_as_test
from kit import ENVIRONMENT, FIFO_MEMORY, run_script

from mutants.memory import PeeksAtTheNewest
from queue_conformance.config.values import UsageError
from queue_conformance.engine.outcomes import RuleFailed
from queue_conformance.frontends.stateful import state_machine
from queue_conformance.implementation.loading import LoadError

QUICK = settings(max_examples=20, stateful_step_count=20, database=None, deadline=None, suppress_health_check=list(HealthCheck))
FINDING = settings(QUICK, max_examples=200, phases=[Phase.generate])  # that something fails, not the least sequence


@pytest.mark.parametrize(
    "path",
    [
        "queue_reference.memory.FifoMemoryQueue",
        "queue_reference.disk.LifoDiskQueue",
        "queue_reference.collections.PriorityQueue",
        "queue_reference.pqueues.SlotPriorityQueue",
    ],
)
def test_a_right_implementation_passes(path):
    run_state_machine_as_test(state_machine(path), settings=QUICK)


def test_tests_before_and_after_may_have_run_a_loop():
    """asyncio.run() leaves a process without an event loop, and reactors that are installed stay."""
    for _ in range(2):
        run_state_machine_as_test(state_machine(FIFO_MEMORY), settings=settings(QUICK, max_examples=2))
        asyncio.run(asyncio.sleep(0))


def test_a_failure_names_its_rule():
    machine = state_machine("mutants.memory.PeeksAtTheNewest")
    with pytest.raises((RuleFailed, ExceptionGroup)) as caught:
        run_state_machine_as_test(machine, settings=FINDING)
    failures = getattr(caught.value, "exceptions", [caught.value])
    assert {failure.rule for failure in failures} == {"queue.peek.equals-pop"}


def test_a_class_may_be_given_instead_of_its_path():
    class BehindTheScenes(PeeksAtTheNewest):
        """Nothing can import this one."""

    with pytest.raises((RuleFailed, ExceptionGroup)):
        run_state_machine_as_test(state_machine(BehindTheScenes), settings=FINDING)


def test_the_machine_can_be_collected_by_pytest():
    assert issubclass(state_machine("queue_reference.memory.FifoMemoryQueue").TestCase, unittest.TestCase)


def test_a_class_that_cannot_be_loaded_is_explained():
    with pytest.raises(LoadError, match="did you mean 'FifoMemoryQueue'"):
        state_machine("queue_reference.memory.FifoMemoryQeue")


@pytest.mark.parametrize("claims", [["order=FIFO", "peek"], {"order": "FIFO", "peek": True}])
def test_claims_are_written_as_elsewhere(claims):
    assert state_machine(FIFO_MEMORY, claims=claims).implementation.claims == {"order": "FIFO", "peek": "yes"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cls": 3}, "^name a class, or its dotted path, not 3$"),
        ({"cls": FIFO_MEMORY, "claims": ["ordr=FIFO"]}, "^claims: unknown claim 'ordr'; did you mean 'order'"),
        ({"cls": FIFO_MEMORY, "queue_settings": ["A"]}, "^settings: write NAME=VALUE, not 'A'$"),
        ({"cls": FIFO_MEMORY, "server": "mysql"}, "^server: write redis, redis-server, fakeredis, postgresql, or "),
    ],
)
def test_an_argument_that_makes_no_sense_is_explained(arguments, message):
    with pytest.raises(UsageError, match=message):
        state_machine(**arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("psh",), "^there is no operation 'psh'; did you mean 'push'"),
        (("push", 9), "^queue: write a whole number from 0 to [0-9], not 9$"),
        (("push", 0, -1), "^item: write a whole number, 0 or more, not -1$"),
        (("push", 0, "1"), "^item: write a whole number, 0 or more, not '1'$"),
    ],
)
def test_an_operation_that_there_is_not_fails_no_rule(arguments, message):
    machine = state_machine(FIFO_MEMORY)()
    with pytest.raises(UsageError, match=message):
        machine.perform(*arguments)
    machine.teardown()


def test_items_of_a_failure_are_as_plain_as_it_lets_them_be(tmp_path):
    machine = state_machine("one_bug_more.LosesWhatHasMeta")()
    machine.perform("push", item=3)
    with pytest.raises(RuleFailed, match="only with meta=") as caught:
        machine.perform("length")
    machine.teardown()
    assert "expected  Request('https://example.com/3', meta={'depth': 1" in str(caught.value)
    assert run_script(caught.value.script, tmp_path).returncode


def test_the_examples_of_two_classes_do_not_mix():
    def extended(*described, **said):
        class Extended(state_machine(*described, **said)):
            """Has the same source for each class."""

        return Extended

    shared = InMemoryExampleDatabase()
    keeping = settings(QUICK, database=shared, phases=[Phase.reuse, Phase.generate])
    with pytest.raises((RuleFailed, ExceptionGroup)):
        run_state_machine_as_test(extended(PeeksAtTheNewest, claims=["order=FIFO"]), settings=settings(keeping, max_examples=200))
    before = {key: set(values) for key, values in shared.data.items()}
    assert before
    run_state_machine_as_test(extended(FIFO_MEMORY), settings=keeping)
    assert {key: values for key, values in shared.data.items() if key in before} == before


def test_a_failure_in_a_test_suite_fits_a_screen_and_shows_no_frame_of_the_kit(pytester, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", ENVIRONMENT["PYTHONPATH"])
    monkeypatch.setenv("COLUMNS", "80")
    pytester.makepyfile(
        test_it="""
        from queue_conformance import state_machine

        TestQueue = state_machine("mutants.async_queues.LowerFirst").TestCase
        """
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(failed=1)
    text = result.stdout.str()
    for said in ("RuleFailed[", "]: MUST failed", "  rule ", "  hint ", "the attribute `script`", "state.teardown()"):
        assert said in text
    assert "queue_conformance/" not in text
    assert "import " not in text, "the script"
    assert [line for line in result.outlines if len(line) > 80 and line.startswith("E ")] == []
    assert len(result.outlines) < 60


def test_a_rule_fails_once_however_it_was_seen(tmp_path):
    """The end of a sequence sees what a command in it may see, too."""
    with pytest.raises((RuleFailed, ExceptionGroup)) as caught:
        run_state_machine_as_test(
            state_machine("mutants.forgetful.RemovesItsFile"), settings=settings(FINDING, phases=[Phase.generate, Phase.shrink])
        )
    failures = getattr(caught.value, "exceptions", [caught.value])
    rules = [failure.rule for failure in failures]
    assert len(set(rules)) == len(rules)
    for failure in failures:
        assert run_script(failure.script, tmp_path).returncode != 0
        assert failure.__context__ is None
