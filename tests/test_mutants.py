"""Each broken implementation is reported as failed under exactly the rules that it fails, and its scripts show it."""

from collections.abc import Collection, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import mkdtemp

import pytest
from kit import ENVIRONMENT, LEAN, NO_POSTGRESQL, downloads, hints_named, kept_for, may_meet, mounts, must_meet, run_script

from mutants import QCRAWL, Mutant, all_mutants
from queue_conformance.engine.kept_store import FROM, KeptStore
from queue_conformance.engine.outcomes import Violation
from queue_conformance.engine.verdicts import RunVerdict, Verdict, hints_for
from queue_conformance.running.replay import State, judge, replay
from queue_conformance.specification import Level, load

FILLS_A_DISK = "mutants.faults.ForgivesFullDisks"
JOBS, CRAWLS = "mutants.jobs.", "mutants.crawls"
RARE = (
    "PeekTakesATurn",
    "KnowsOnlyBusyOrNot",
    "RewritesWithoutATransaction",
    "RefusesTornLogs",
    "RewritesAtClose",
    "CountsForEver",
)
"""What a quarter of the usual number of sequences does not show."""
WAITS = (
    "FactoryHangs",
    "ResumesOnce",
    "BlocksWhenEmpty",
    "PopHangs",
    "WaitsForRoom",
    "WaitsForWork",
    "WaitsForItsOwner",
    "WaitsForAnAnswer",
    "WaitsForItsServer",
    "WaitsForAnotherFile",
    "AsksUntilSomethingComes",
)


def rank(mutant):
    """Put first what is quickly tested and breaks most rules."""
    servers = ("", "fakeredis", "redis", "postgresql")  # the longer it takes to start, the later
    return mutant.path.endswith(RARE + WAITS), servers.index(mutant.server), -len(mutant.fails)


def showing_all(failed: Iterable[tuple[str, Collection[str]]]) -> list[str]:
    """Return the first of these classes that together break every rule which any of them breaks."""
    shown: set[str] = set()
    few = []
    for path, rules in failed:
        if not shown.issuperset(rules):
            shown.update(rules)
            few.append(path)
    return few


MUTANTS = sorted(all_mutants(), key=rank)
LONG = [next(mutant for mutant in MUTANTS if mutant.path.startswith(module)) for module in (JOBS, CRAWLS)]
"""Of those that only whole crawls show, which take ten times as long as others, one for each module."""
SHORT = [mutant for mutant in MUTANTS if not mutant.path.startswith((JOBS, CRAWLS))]
FEW = frozenset(showing_all((mutant.path, mutant.fails) for mutant in (*LONG, *SHORT)))


def parameter(mutant):
    together = mutant.server and mutant.path.startswith(CRAWLS)  # a second of CPU for each crawl of several processes
    marks = [] if mutant.path in FEW and not together else [pytest.mark.further]
    if mutant.path == FILLS_A_DISK:
        marks.append(pytest.mark.skipif(not mounts(), reason="needs a file system of its own"))
    if mutant.path.startswith((JOBS, CRAWLS)):
        marks.append(pytest.mark.skipif(not downloads(), reason="needs a Scrapy that can download"))
    if mutant.server == "postgresql":
        marks.append(pytest.mark.skipif(bool(NO_POSTGRESQL), reason=NO_POSTGRESQL))
    return pytest.param(mutant, id=mutant.path.removeprefix("mutants."), marks=marks)


@pytest.mark.skipif(not QCRAWL, reason="needs qCrawl")
def test_the_asynchronous_part_of_the_mutants_is_there():
    assert any(mutant.path.startswith("mutants.async_") for mutant in MUTANTS)


@pytest.mark.parametrize("mutant", [parameter(mutant) for mutant in MUTANTS])
def test_a_mutant_is_caught_by_exactly_its_rules(mutant, tmp_path, monkeypatch, pytestconfig):
    monkeypatch.chdir(tmp_path)  # some leave files where they are
    monkeypatch.setenv("PYTHONPATH", ENVIRONMENT["PYTHONPATH"])
    monkeypatch.setitem(ENVIRONMENT, FROM, str(tmp_path))  # scripts name what was kept as it was given
    named = pytestconfig.getoption("keyword")  # who writes one sees what a user's run would show
    kept = [kept_for(mutant, tmp_path / "kept")] if mutant.kept else []
    everything = bool(named or pytestconfig.getoption("--everything"))
    report = report_on(mutant, everything=everything, kept=kept)
    verdicts = [v for v in report.verdicts if v.verdict is Verdict.FAILED]
    found = {v.rule.id: v.violation for v in verdicts}
    beyond = [violation for rule, violation in found.items() if rule not in mutant.fails | mutant.may_fail]
    assert mutant.fails <= set(found) <= mutant.fails | mutant.may_fail, beyond
    for rule, words in hints_named(mutant):
        hints = hints_for(load()[rule], replace(found[rule], others=()))
        assert hints[0].startswith(words), hints
    must = any(v.rule.level is Level.MUST for v in verdicts)
    assert (report.verdict is RunVerdict.NON_CONFORMANT) == must
    named_rules = (first for rule, first in found.items() if rule in mutant.fails)
    shown = ((*reversed(first.others), first) if everything else (first,) for first in named_rules)
    by_cause = ({one.cause: one for one in causes} for causes in shown)
    for violation in (violation for causes in by_cause for violation in causes.values()):
        the_message_names_expected_and_actual(violation)
        the_script_fails_on_it_and_passes_on_a_right_one(mutant, violation, tmp_path)


def report_on(mutant: Mutant, *, everything: bool = False, kept: Collection[KeptStore] = ()):
    """Return what there is to say of a mutant."""
    return LEAN.examine(
        mutant.path,
        mutant.claims,
        examples=100 if mutant.path.endswith(RARE) else 15 if mutant.server else 25,
        time_limit=1.0 if mutant.path.endswith(WAITS) else 10.0,
        settings=mutant.settings,
        server=mutant.server,
        kept=kept,
        meets=partial(may_meet if everything else must_meet, mutant),
        shows=frozenset() if everything else mutant.fails,
    )


def the_message_names_expected_and_actual(violation):
    assert violation.expected
    assert violation.actual
    assert violation.expected != violation.actual
    assert violation.operations


def the_script_fails_on_it_and_passes_on_a_right_one(mutant: Mutant, violation: Violation, directory):
    script = violation.script
    on_it = run_script(script, Path(mkdtemp(dir=directory)))
    state, why = judge(violation, on_it.returncode, on_it.stdout + on_it.stderr)
    if on_it.returncode and not on_it.stderr:  # it lets no file grow, and the fork server's streams are files
        again = replay(violation)
        state, why = again.state, again.why
    assert state is State.FAILED, f"{why}\n{violation.cause}\n{script}\n{on_it.stderr}"
    module, _, name = mutant.path.rpartition(".")
    right_module, _, right_name = mutant.control.rpartition(".")
    line = f"from {module} import {name}\n"
    assert line in script
    right = script.replace(line, f"from {right_module} import {right_name} as {name}\n")
    for wrong in (mutant, *(other for other in MUTANTS if other.path in mutant.settings.values())):
        right = right.replace(repr(wrong.path), repr(wrong.control))  # by which a setting names it
    on_right = run_script(right, Path(mkdtemp(dir=directory)))
    assert on_right.returncode == 0, f"{on_right.stderr}\n{right}"
