"""A sequence that failed before is run in every run, whatever is drawn and whatever else goes wrong."""

import tempfile
from functools import partial
from pathlib import Path

import pytest
from kit import RELEASES, further, implementation, scratch_root

from mutants import QCRAWL
from queue_conformance.discovery.stages import discover
from queue_conformance.engine.outcomes import Outcome
from queue_conformance.engine.registry import checks_of
from queue_conformance.engine.sequences import commands
from queue_conformance.running.contexts import RunConfig, in_context
from queue_conformance.running.execution import execute
from queue_conformance.specification.applicability import why_not_applicable

RARE = commands(" ".join(f"push:{number % 4}" for number in range(9)))
"""What ``LosesTheEighth`` fails, and one example does not find."""


def machine(path, *sequences, name="machine", **config):
    """Run the machine of a class, which has failed these sequences before."""
    with tempfile.TemporaryDirectory(dir=scratch_root()) as directory:
        given = RunConfig(
            Path(directory), known={sequence: {} for sequence in sequences}, **({"examples": 1, "time_limit": 1.0} | config)
        )
        found = discover(path, {}, {}, given)
        rules = {rule.id: rule for rule in found.rules().values()}
        offered = found.implementation().capabilities.names
        rules = {name: rule for name, rule in rules.items() if not why_not_applicable(rule, offered, RELEASES)}
        (check,) = (check for check in checks_of(found.kind) if check.name == name)
        return execute(check, implementation(path), rules, given)


def failed_rules(result):
    return {observation.rule: observation.violation.sequence for observation in result.failed}


@pytest.mark.parametrize("seed", [1, 3, 5])  # with which chance alone does not find it
def test_a_rare_failure_is_found_with_every_seed(seed):
    assert failed_rules(machine("mutants.memory.LosesTheEighth", seed=seed)) == {}
    found = machine("mutants.memory.LosesTheEighth", RARE, seed=seed)
    (failed,) = found.failed
    assert failed.rule == "queue.pop.exactly-once"
    assert set(failed.violation.sequence) <= {*RARE, *commands("pop")}
    assert [observation.outcome for observation in found.observations if observation.rule == failed.rule] == [Outcome.FAILED]


def test_a_program_that_fails_no_more_breaks_nothing():
    assert failed_rules(machine("queue_reference.memory.FifoMemoryQueue", RARE)) == {}


def test_a_program_of_another_kind_or_release_says_nothing():
    assert failed_rules(machine("queue_reference.memory.FifoMemoryQueue", commands("enqueue:1 9.next no_such"))) == {}


MUTANTS = (
    "mutants.pqueues_slots.KnowsOnlyBusyOrNot",
    "mutants.schedulers_stored.KnowsNoFallback",
    "mutants.collections.ComparesText",
    "mutants.dupefilters.CannotLog",
    "mutants.states.SavesPausesOnly",
    *(("mutants.async_queues.DropsEveryFourth", "mutants.async_schedulers.RemembersAfterClose") if QCRAWL else ()),
)
"""One of each kind whose machine finds a program that it fails."""
SLOW = "mutants.states.SavesPausesOnly"


@pytest.mark.parametrize("path", [*(path for path in MUTANTS if path != SLOW), *further(SLOW)])
def test_the_machine_of_every_kind_replays_what_it_found(path, tmp_path):
    found = failed_rules(machine(path, examples=100))
    assert found

    def replayed(again, operations):
        again.replay = operations
        (check,) = (check for check in checks_of(again.implementation.kind) if check.name == "machine")
        check.function(again)
        return set(again.failed)

    for rule, operations in found.items():
        ended = in_context(implementation(path), RunConfig(tmp_path), partial(replayed, operations=operations))
        assert ended.value == {rule}


def test_a_hang_that_is_known_hides_no_other_known_failure(tmp_path, monkeypatch):
    (tmp_path / "hangs_rarely.py").write_text(
        "import time\n"
        "from mutants.memory import LosesTheEighth\n"
        "class Queue(LosesTheEighth):\n"
        "    looked = 0\n"
        "    def __bool__(self):\n"
        "        self.looked += 1\n"
        "        if self.looked == 12:\n"
        "            time.sleep(3600)\n"
        "        return bool(len(self))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    hang = commands(" ".join(["truth"] * 12))
    for sequences in ((hang, RARE), (RARE, hang)):
        result = machine("hangs_rarely.Queue", *sequences)
        assert result.fatal
        assert failed_rules(result).keys() == {"queue.len.truth", "queue.pop.exactly-once"}
        assert failed_rules(result)["queue.len.truth"] == hang
