"""Campaigns, on a cluster of processes and on one that only seems to be."""

import errno
import importlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import Future
from contextlib import ExitStack, closing, nullcontext, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

import pytest
from kit import TESTS
from msgspec import structs
from pages import DOCS

from queue_conformance import __main__ as commands
from queue_conformance import baseline
from queue_conformance.campaign import CampaignError, progress, running, state, task
from queue_conformance.campaign.state import State
from queue_conformance.campaign.task import Part, Task, environment, perform, read_project
from queue_conformance.engine.outcomes import SUCCESS, Violation
from queue_conformance.engine.sequences import Command, Drawing
from queue_conformance.engine.verdicts import RuleVerdict, RunVerdict, Verdict
from queue_conformance.faults.backend import Backend
from queue_conformance.frontends.cache import RunCache
from queue_conformance.reports import jsonl
from queue_conformance.specification import Level

RULE = "queue.peek.equals-pop"
WRONG, RIGHT = "mutants.collections.PeeksAtTheHighest", "queue_reference.collections.PriorityQueue"
WHOLE = Task("wrong", 0, Part.ALL)
PEEKED = (Command("push", 0), Command("peek"))


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Make a project with two implementations."""
    classes = {"wrong": WRONG, "right": RIGHT}
    tables = (f'[tool.queue_conformance.implementations.{n}]\npriority-queue-class = "{path}"\n' for n, path in classes.items())
    table = '[tool.queue_conformance]\nconformance-examples = 10\nconformance-baseline = "known.toml"\n'
    (tmp_path / "known.toml").touch()
    (tmp_path / "pyproject.toml").write_text("\n".join([table, *tables]))
    monkeypatch.chdir(tmp_path)
    read_project.cache_clear()
    return tmp_path


@pytest.fixture(scope="module")
def outcome(once, tmp_path_factory):
    """What comes of the whole run of the wrong class."""

    def make():
        with pytest.MonkeyPatch.context() as patch:
            project.__wrapped__(tmp_path_factory.mktemp("project"), patch)
            return perform(WHOLE, environment())

    return once("campaign-outcome", make)


class Cluster:
    """Runs each task at once, and says what it is told to; it interrupts the campaign when it has got so many."""

    status = "running"

    def __init__(self, *outcomes, most=8):
        self.outcomes = list(outcomes)
        self.tasks = []
        self.priorities = []
        self.most = most

    def nthreads(self):
        return {"here": 1}

    def submit(self, function, task, expected, **how):
        if len(self.tasks) == self.most:
            raise KeyboardInterrupt
        self.tasks.append(task)
        self.priorities.append(how["priority"])
        return ended(self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0])

    def cancel(self, futures):
        self.cancelled = len(futures)


def ended(outcome):
    """Return a future that has ended."""
    future = Future()
    if outcome is None:
        future.cancel()
    elif isinstance(outcome, Exception):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)
    return future


@pytest.fixture
def campaign(project):
    """Run a campaign for a moment on a cluster; return it."""
    known = State(project / "campaign")

    def run(cluster, seconds=3600):
        found = running.Campaign(read_project(("wrong",)), known, cluster, seconds)
        with suppress(KeyboardInterrupt):
            found.run()
        return found

    with closing(known):
        run.state = known
        yield run


PATHS = os.pathsep.join(map(str, (TESTS.parent, TESTS.parent / "reference", TESTS)))


def started(*arguments, variables=MappingProxyType({}), **others):
    """Begin a campaign in a process of its own, and in a group of its own."""
    variables = {**os.environ, **variables, "PYTHONPATH": PATHS}
    command = [sys.executable, "-m", "queue_conformance", "campaign", "--workers=1", *arguments]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen(command, env=variables, start_new_session=True, **pipes, **others)


def until(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


def lines_of(project):
    path = project / "queue-conformance-campaign" / state.LINES
    return path.read_text().count('"type": "task"') if path.exists() else 0


def records(project):
    lines = (project / "queue-conformance-campaign" / state.LINES).read_text().splitlines()
    return [record for record in map(json.loads, lines) if record["type"] == "task"]


# --- What is known ---------------------------------------------------------------------------------------------------


def failing(outcome, cause, *operations):
    """Return an outcome in which the rule failed in another way."""
    (found,) = outcome.report.implementations
    seen = Violation(RULE, "1", "2", operations, "", None, cause=cause)
    verdicts = tuple(replace(v, violation=seen) if v.rule.id == RULE else v for v in found.verdicts)
    return replace(outcome, report=replace(outcome.report, implementations=(replace(found, verdicts=verdicts),)))


def test_a_finding_is_a_rule_and_a_cause_whatever_the_program(tmp_path, outcome):
    with closing(State(tmp_path)) as known:
        later = range(2, 9, 2)
        known.add(WHOLE, failing(outcome, "peek: False", "queue.peek()"))
        for seed in later:
            known.add(replace(WHOLE, seed=seed), failing(outcome, "peek: False", *["queue.push(1)"] * seed))
        known.add(replace(WHOLE, seed=10), failing(outcome, "peek: None", "queue.peek()"))
        causes = [finding.violation.cause for finding in known.findings.values() if finding.violation.rule == RULE]
        assert causes == ["peek: False", "peek: None"]


class Doubting(Cluster):
    """It has one outcome for what is run first, in which a check saw the rule fail, and one for what is run again."""

    def __init__(self, first, again, most):
        super().__init__(first, most=most)
        self.first, self.again = replace(first, once={RULE: "a check"}), again

    def submit(self, function, task, expected, **how):
        self.outcomes = [self.again if task.again else self.first]
        return super().submit(function, task, expected, **how)


def without_rule(outcome):
    (found,) = outcome.report.implementations
    verdicts = tuple(replace(v, verdict=Verdict.PASSED, violation=None) if v.rule.id == RULE else v for v in found.verdicts)
    return replace(outcome, once={}, report=replace(outcome.report, implementations=(replace(found, verdicts=verdicts),)))


@pytest.mark.parametrize("again", [True, False])
def test_what_was_seen_once_counts_if_it_is_seen_again(campaign, outcome, capsys, again):
    cluster = Doubting(outcome, outcome if again else without_rule(outcome), most=6)
    found = campaign(cluster)
    assert {task.again for task in cluster.tasks} == {frozenset(), frozenset({"a check"})}
    assert cluster.priorities == [bool(task.again) for task in cluster.tasks]  # what is repeated waits for nothing else
    assert (RULE in {finding.violation.rule for finding in found.state.findings.values()}) is again
    assert (f"FOUND MUST {RULE}" in capsys.readouterr().out) is again
    (verdict,) = (v for v in found.state.report.implementations[0].verdicts if v.rule.id == RULE)
    assert (verdict.verdict, verdict.reason) == ((Verdict.FAILED, "") if again else (Verdict.NOT_COVERED, state.GONE))


def test_what_nothing_could_see_again_counts_in_the_end(campaign, outcome):
    cluster = Doubting(outcome, replace(outcome, error="no"), most=10**6)
    found = campaign(cluster, seconds=1)
    assert RULE in {finding.violation.rule for finding in found.state.findings.values()}


def test_a_finding_is_new_once_and_counted_then(tmp_path, outcome):
    with closing(State(tmp_path)) as known:
        (new,) = [finding for finding in known.add(WHOLE, outcome) if finding.violation.rule == RULE]
        assert (new.implementation, new.seed) == ("wrong", 0)
        assert "PeeksAtTheHighest" in new.violation.script
        assert not known.add(replace(WHOLE, seed=1), outcome)
        assert known.times[new.id] == 2


def test_what_is_known_is_taken_up(tmp_path, outcome):
    with closing(State(tmp_path)) as before:
        before.add(WHOLE, outcome)
    lines = tmp_path / state.LINES
    whole = lines.read_bytes()
    lines.write_bytes(whole + b'{"type": "ta')  # it was killed here
    with closing(State(tmp_path)) as known:
        assert known.findings.keys() == before.findings.keys()
        assert known.times == before.times
        assert known.seeds == {"wrong": {0}}
        assert known.sequences == before.sequences > 0
        assert lines.read_bytes() == whole
        assert not known.add(replace(WHOLE, seed=2), outcome)
    assert RULE in [v.rule.id for v in jsonl.read(tmp_path / state.REPORT).implementations[0].verdicts if v.violation]


def test_a_part_may_end_before_the_whole(tmp_path, outcome):
    part = replace(outcome.report, implementations=tuple(map(task._broken, outcome.report.implementations)))
    with closing(State(tmp_path)) as known:
        known.add(replace(WHOLE, seed=1, part=Part.SEQUENCES), replace(outcome, report=part))
        known.add(WHOLE, outcome)
        (found,) = known.report.implementations
    assert {verdict.verdict for verdict in found.verdicts} >= {Verdict.PASSED, Verdict.FAILED}


def test_what_a_later_task_covers_is_covered(tmp_path, outcome):
    (found,) = outcome.report.implementations
    first = next(verdict for verdict in found.verdicts if verdict.verdict is Verdict.PASSED)
    less = tuple(replace(v, verdict=Verdict.NOT_COVERED) if v is first else v for v in found.verdicts)
    with closing(State(tmp_path)) as known:
        without = replace(outcome.report, implementations=(replace(found, verdicts=less),))
        known.add(WHOLE, replace(outcome, report=without, passed=frozenset(), operations={"pop": True, "peek": False}))
        covered, rules = known.covered()
        assert known.ran() == (1, 2)
        known.add(replace(WHOLE, seed=2), replace(outcome, report=without, operations={"pop": False, "peek": True}))
        assert known.covered() == (covered + 1, rules)
    with closing(State(tmp_path)) as again:
        assert again.covered() == (covered + 1, rules)
        assert again.ran() == (2, 2)


@pytest.mark.parametrize("said", [RunVerdict.PARTIAL, RunVerdict.INCONCLUSIVE])
def test_what_the_first_run_could_not_tell_stays_untold(tmp_path, outcome, said):
    (found,) = without_rule(outcome).report.implementations
    right = tuple(replace(v, verdict=Verdict.PASSED, violation=None) if v.violation else v for v in found.verdicts)
    first = replace(found, verdicts=right, verdict=said)
    first = replace(outcome, report=replace(outcome.report, implementations=(first,)))
    with closing(State(tmp_path)) as known:
        for seed in range(2):
            known.add(replace(WHOLE, seed=seed), first)
        assert [one.verdict for one in known.report.implementations] == [said]
        known.add(replace(WHOLE, seed=2), outcome)
        assert [one.verdict for one in known.report.implementations] == [RunVerdict.NON_CONFORMANT]


def test_two_campaigns_do_not_share_a_directory(tmp_path):
    with closing(State(tmp_path)), pytest.raises(CampaignError, match="another campaign works in"):
        State(tmp_path)
    State(tmp_path).close()


def test_a_directory_of_something_else_is_refused(tmp_path):
    (tmp_path / state.LINES).write_text('{"type": "header"}\n')
    with pytest.raises(CampaignError, match="give another --directory"):
        State(tmp_path)


def test_a_file_of_something_else_is_left_as_it_is(tmp_path):
    (tmp_path / state.LINES).write_text("a secret")
    with pytest.raises(CampaignError, match="give another --directory"):
        State(tmp_path)
    assert (tmp_path / state.LINES).read_text() == "a secret"


@pytest.mark.parametrize("name", [state.LOCK, state.LINES, state.REPORT, state.PAGE])
def test_nothing_is_written_through_the_links_of_a_directory(tmp_path, name):
    (tmp_path / "own").write_text("")
    (tmp_path / "campaign").mkdir()
    (tmp_path / "campaign" / name).symlink_to("../own")
    with pytest.raises(CampaignError, match=f"{name} is no file"):
        State(tmp_path / "campaign")


# --- What the client does --------------------------------------------------------------------------------------------


def test_tasks_go_on_with_the_next_seed(campaign, outcome):
    cluster = Cluster(outcome)
    campaign(cluster)
    first, second, third, *_ = cluster.tasks
    assert (first.seed, first.part) == (0, Part.ALL)
    assert (second.seed, second.part, second.drawing.seconds) == (1, Part.SEQUENCES, running.SECONDS)
    assert (third.seed, third.part) == (2, Part.OTHERS)
    assert {task.drawing.longest for task in cluster.tasks if task.part is Part.SEQUENCES} == set(running.LENGTHS)
    again = Cluster(outcome)
    campaign(again)
    assert again.tasks[0].seed > cluster.tasks[-3].seed


def test_tasks_get_shorter_towards_the_end(campaign, outcome):
    cluster = Cluster(outcome)
    campaign(cluster, seconds=running.LEAST + 1)
    later = [task for task in cluster.tasks if task.part is not Part.ALL]
    assert later
    assert all(task.part is Part.OTHERS or task.drawing.seconds <= running.LEAST + 1 for task in later)


def test_a_bug_that_needs_many_operations_is_found_by_long_sequences(project, monkeypatch):
    monkeypatch.syspath_prepend(TESTS / "benchmarks")
    monkeypatch.setattr(importlib.import_module("campaign").Tires, "peeks", 12)  # of 60, shrinking takes ten times as long
    (project / "pyproject.toml").write_text(
        "[tool.queue_conformance]\nconformance-examples = 10\n"
        '[tool.queue_conformance.implementations.tires]\nqueue-class = "campaign.Tires"\n'
    )

    def found(longest):
        outcome = perform(Task("tires", 1, Part.SEQUENCES, Drawing(longest)), environment())
        assert not outcome.error
        return [verdict.rule.id for verdict in outcome.report.implementations[0].verdicts]

    assert found(50) == []
    assert found(150) == ["queue.peek.no-effect"]


def test_a_finding_is_printed_once_and_replayed(campaign, outcome, project, capsys):
    campaign(Cluster(outcome))
    assert capsys.readouterr().out.count(f"FOUND MUST {RULE} of wrong") == 1
    assert commands.main(["replay", RULE, "--print"]) == 0
    assert read_project(("wrong",)).cache.sequences("wrong")


def test_findings_are_shared_by_a_server_that_may_go_away(project, campaign, outcome, capsys):
    with Backend("redis", project / "server") as backend:
        url = f"redis://{backend.host}:{backend.port}"
        table, first = (project / "pyproject.toml").read_text(), "[tool.queue_conformance]\n"
        (project / "pyproject.toml").write_text(table.replace(first, f'{first}conformance-database = "{url}"\n'))
        read_project.cache_clear()
        campaign(Cluster(outcome))
        assert RunCache(None, url).sequences("wrong")
    campaign.state.findings.clear()
    campaign(Cluster(outcome))
    assert "ERROR --conformance-database: Error 111 connecting to" in capsys.readouterr().out
    assert commands.main(["campaign", "--minutes=1"]) == 2
    assert "queue-conformance: campaign: --conformance-database: Error 111" in capsys.readouterr().err


def test_a_class_that_cannot_be_tested_is_told_and_is_no_success(project, outcome, monkeypatch, capsys):
    (found,) = outcome.report.implementations
    verdicts = tuple(RuleVerdict(one.rule, Verdict.BLOCKED, "it cannot be used here") for one in found.verdicts)
    report = replace(outcome.report, implementations=(replace(found, verdicts=verdicts, verdict=RunVerdict.INCONCLUSIVE),))
    blocked = replace(outcome, report=report, passed=frozenset())
    monkeypatch.setattr(running, "_client", lambda workers, cluster: nullcontext(Cluster(blocked, most=10**9)))
    how = {"names": ("wrong",), "workers": None, "cluster": "", "update_baseline": False}
    assert running.run(seconds=1, directory=project / "kept", **how) == 2
    assert "INCONCLUSIVE wrong: it cannot be used here" in capsys.readouterr().out


@pytest.mark.parametrize(("address", "warned"), [("tcp://there:1", True), ("there:1", True), ("tls://there:1", False)])
def test_a_cluster_that_anybody_can_use_is_warned_of(project, outcome, monkeypatch, capsys, address, warned):
    monkeypatch.setattr(running, "_client", lambda workers, cluster: nullcontext(Cluster(outcome, most=1)))
    kept, only = project / "kept", ("wrong",)
    with pytest.raises(KeyboardInterrupt):
        running.run(seconds=60, directory=kept, names=only, workers=None, cluster=address, update_baseline=False)
    lines = [line for line in capsys.readouterr().out.splitlines() if "TLS" in line]
    assert len(lines) == warned
    assert all(line.startswith(f"WARNING --cluster={address}: ") for line in lines)


def test_a_task_of_a_cluster_that_went_away_is_given_again(campaign, outcome):
    cluster = Cluster(None, outcome)
    campaign(cluster)
    assert [task.seed for task in cluster.tasks].count(0) == 2


def test_a_cluster_that_stays_away_ends_the_campaign(campaign, outcome):
    cluster = Cluster(outcome)
    cluster.status = "closed"
    with pytest.raises(CampaignError, match="the cluster is away"):
        campaign(cluster, seconds=60)


def test_a_worker_with_other_releases_is_refused(campaign):
    outcome = perform(WHOLE, {**environment(), "scrapy": "0.1"})
    assert outcome.report is None
    with pytest.raises(CampaignError, match=r"differs: scrapy 0\.1 there and"):
        campaign(Cluster(replace(outcome, environment={**environment(), "scrapy": "0.1"})))


def test_what_no_worker_can_import_is_said_once_and_given_up(campaign, outcome, capsys):
    cluster = Cluster(replace(outcome, report=None, error="there is no module 'gone'"))
    found = campaign(cluster, seconds=60)
    assert len(cluster.tasks) <= running.ATTEMPTS + running.AHEAD
    assert capsys.readouterr().out.count("ERROR wrong: there is no module 'gone'") == 1
    assert found.report().errors


@pytest.mark.parametrize("error", [RuntimeError("4 workers died\nhere"), OSError(errno.ENOSPC, "no space there")])
def test_a_task_that_fails_on_every_worker_is_a_failure(campaign, capsys, error):
    campaign(Cluster(error), seconds=60)
    line = f"{type(error).__name__}: {error}".splitlines()[0]
    assert f"ERROR wrong: {line}\n" in capsys.readouterr().out


def test_a_full_disk_ends_the_campaign(campaign, outcome, monkeypatch):
    def full(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(state.files, "save", full)
    with pytest.raises(CampaignError, match="No space left on device"):
        campaign(Cluster(outcome))


def test_without_dask_one_line_says_what_to_install(project, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert commands.main(["campaign", "--minutes=1"]) == 2
    assert "pip install 'pytest-queue-conformance[campaign]'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--conformance-campaign=30"], "--conformance-campaign: write a length of time such as 90s, 30m or 8h, not '30'"),
        (["--conformance-campaign=0h"], "--conformance-campaign: write a length of time such as 90s, 30m or 8h, not '0h'"),
        (["--conformance-campaign-workers=2"], "--conformance-campaign: say for how long, such as 30m"),
        (
            ["--conformance-campaign=1m", "--conformance-campaign-workers=0"],
            "--conformance-campaign-workers: write a whole number, 1 or more, not '0'",
        ),
        (
            ["--conformance-campaign=1m", f"--queue-class={RIGHT}"],
            "--queue-class: a campaign reads pyproject.toml alone: "
            f'write queue-class = ["{RIGHT}"] below [tool.queue_conformance] there',
        ),
        (["--conformance-campaign=1m", "--conformance-crawl"], "--conformance-crawl: no campaign does that: leave it out"),
        (["--conformance-campaign=1m", "known.toml"], "--conformance-campaign runs no tests: leave out known.toml"),
    ],
)
def test_what_pytest_cannot_make_a_campaign_of_is_one_line(project, arguments, line, capfd):
    assert pytest.main(arguments) == pytest.ExitCode.USAGE_ERROR
    assert capfd.readouterr().err.strip() == f"ERROR: {line}"


def test_pytest_runs_the_same_campaign(project, monkeypatch):
    asked = {}
    monkeypatch.setattr(running, "run", lambda **how: asked.update(how) or 2)
    options = ["--conformance-campaign=30m", "--conformance-only=wrong", "--conformance-campaign-workers=3"]
    assert pytest.main([*options, "--conformance-update-baseline"]) == pytest.ExitCode.USAGE_ERROR
    assert (asked["seconds"], asked["names"], asked["workers"]) == (1800, ("wrong",), 3)
    assert asked["update_baseline"]
    assert asked["directory"] == Path("queue-conformance-campaign")


def test_where_no_class_is_named_only_the_file_that_a_campaign_reads_is_spoken_of(project, capsys):
    (project / "pyproject.toml").write_text("[tool.queue_conformance]\n")
    assert commands.main(["campaign", "--minutes=1"]) == 2
    line = "queue-conformance: campaign: nothing to test: name queue-class in [tool.queue_conformance] of pyproject.toml\n"
    assert capsys.readouterr().err == line


def test_the_progress_counts_tasks_where_nothing_draws_sequences(campaign, outcome):
    none = replace(outcome, sequences=0, drawing=0.0, operations={})
    found = campaign(Cluster(none, most=3))
    found.progress.show(last=True)
    page = (campaign.state.directory / state.PAGE).read_text()
    assert re.search(r": \d tasks?, 1 finding, the last .* ago; \d+/\d+ rules; it has ended", page)
    assert "Sequences/s" not in page


def test_the_page_shows_the_pace_of_all_tasks(project, outcome):
    with closing(State(project / "campaign")) as known:
        for seed, seconds in enumerate((1.0, 9.0)):
            known.add(replace(WHOLE, seed=seed), replace(outcome, sequences=50, drawing=seconds))
        assert progress.Progress(known, 60.0)._row("wrong")[2] == 10


def test_a_finding_is_shown_with_the_level_that_its_rule_had_for_the_class(campaign, outcome):
    campaign(Cluster(outcome, most=3))
    (finding,) = campaign.state.findings.values()
    assert {progress.verdict_of(structs.replace(finding, level=level)).rule.level for level in Level} == {*Level}


@pytest.mark.parametrize(("actual", "waits"), [("queue.pop() did not return", True), ("None from queue.pop()", False)])
def test_a_finding_is_shown_with_the_hints_that_fit_it(campaign, outcome, actual, waits):
    campaign(Cluster(outcome, most=3))
    (finding,) = campaign.state.findings.values()
    violation = replace(finding.violation, rule="queue.pop.exactly-once", actual=actual)
    hints = progress.verdict_of(structs.replace(finding, violation=violation)).rule.hints
    assert hints
    assert any("a call that does not wait" in hint for hint in hints) == waits


@pytest.mark.parametrize(("seconds", "shown"), [(0.6, "0:00:05 past 0:00:01"), (5.0, "0:00:05 of 0:00:05")])
def test_a_campaign_says_that_it_is_past_its_time(project, monkeypatch, capsys, seconds, shown):
    times = iter([0.0, 5.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(times))
    with closing(State(project / "campaign")) as known:
        progress.Progress(known, seconds).show(last=True)
    assert capsys.readouterr().out == f"{shown}: 0 tasks, 0 findings\n"


def test_each_way_of_a_cause_is_added_to_the_baseline_with_the_seed_that_showed_it(campaign, outcome):
    def shown(cause, *ways, sequence=None):
        first, *others = (Violation(RULE, "1", "2", ("queue.peek()",), "", sequence, cause=cause, way=way) for way in ways)
        (found,) = outcome.report.implementations
        verdicts = tuple(
            replace(v, violation=replace(first, others=tuple(others)) if v.rule.id == RULE else None) for v in found.verdicts
        )
        return replace(outcome, report=replace(outcome.report, implementations=(replace(found, verdicts=verdicts),)))

    campaign.state.add(WHOLE, shown("peek: None", "a check (over=1)", "a check (over=2)"))
    campaign.state.add(replace(WHOLE, seed=7), shown("peek: altered", "another check"))
    campaign.state.add(replace(WHOLE, seed=8, part=Part.OTHERS), shown("peek: None", "what was not run again"))
    campaign.state.add(replace(WHOLE, seed=9, part=Part.SEQUENCES), shown("peek: None", "7 push", sequence=PEEKED))
    said = []
    running._update(read_project(("wrong",)), campaign.state, said.append)
    entries = baseline.read(Path("known.toml"), "known.toml").entries
    assert [(one.cause, one.ways, one.seed) for one in entries] == [
        ("peek: None", ("a check (over=1)", "a check (over=2)"), 0),
        ("peek: None", ("7 push",), 0),
        ("peek: altered", ("another check",), 7),
    ]
    added, left = [line for line in said if "added: what" not in line][:-1], said[-1]
    assert {line.partition(" of ")[0] for line in added} == {f"baseline: added: {RULE}"}
    assert left.startswith("baseline: 3 entries have no reason yet")


def test_of_what_a_task_finds_what_must_be_mended_is_printed_first(tmp_path, capsys):
    seen = Violation(RULE, "1", "2", ("queue.peek()",), "", cause="peek: None")
    ranked = (("SHOULD", replace(seen, rule="queue.close.twice")), ("MUST", seen))
    found = [state.Finding(level, "wrong", level, violation, 0, datetime.now(UTC)) for level, violation in ranked]
    with closing(State(tmp_path)) as known:
        progress.Progress(known, 60.0).found(found, lambda finding: False)
    assert [line.split()[1] for line in capsys.readouterr().out.splitlines()] == ["MUST", "SHOULD"]


def test_what_one_line_raises_is_printed_once(tmp_path, capsys):
    def finding(name, error, line):
        what = f"{error}('no') raised by queue.push(request)"
        place = f"{error} my_package.py:{line} (push)"
        found = Violation(RULE, SUCCESS, what, ("queue.push(request)",), "", cause=error, raised_at=place)
        return state.Finding(name, "wrong", "MUST", found, 0, datetime.now(UTC))

    found = [finding("1", "KeyError", 7), finding("2", "OSError", 7), finding("3", "KeyError", 9)]
    elsewhere = finding("4", "KeyError", 7)
    found.append(structs.replace(elsewhere, violation=replace(elsewhere.violation, rule="queue.peek.no-effect")))
    with closing(State(tmp_path)) as known:
        progress.Progress(known, 60.0).found(found, lambda finding: False)
    first, second = capsys.readouterr().out.splitlines()
    assert first.endswith("(1 operation, seed 0, 2 more at the same line)")
    assert second.startswith("FOUND MUST")
    assert second.endswith("(1 operation, seed 0)")


def test_what_one_rule_meets_in_a_task_is_printed_once(tmp_path, capsys):
    seen = Violation(RULE, "1", "2", ("queue.peek()",), "", cause="peek: too low")
    found = [
        state.Finding(cause, name, "MUST", replace(seen, cause=cause), 0, datetime.now(UTC))
        for name, cause in (("one", "peek: too low"), ("one", "peek: too high"), ("other", "peek: too low"))
    ]
    with closing(State(tmp_path)) as known:
        progress.Progress(known, 60.0).found(found, lambda finding: False)
    one, other = capsys.readouterr().out.splitlines()
    assert one.endswith("(1 operation, seed 0, 1 more of its kind)")
    assert "of other: " in other


def test_a_first_run_is_spoken_of_until_it_has_ended(tmp_path, capsys):
    with closing(State(tmp_path)) as known:
        shown = progress.Progress(known, 60.0, ["one", "two"])
        shown.show(last=True)
        known.seeds["one"].add(0)
        shown.show(last=True)
        known.seeds["two"].add(0)
        shown.show(last=True)
    both, second, none = capsys.readouterr().out.splitlines()
    assert both.endswith("0 findings; first, every check once on one and 1 more")
    assert second.endswith("; first, every check once on two")
    assert "first" not in none


def test_what_is_begun_is_told_before_workers_have_started(project, monkeypatch, capsys):
    def start(*_):
        raise CampaignError("; ".join(capsys.readouterr().out.splitlines()))

    monkeypatch.setattr(running, "_client", start)
    assert commands.main(["campaign", "--minutes=1", "--only=wrong"]) == 2
    assert "campaign: 0:01:00 on wrong, once its workers have started; see " in capsys.readouterr().err


def test_a_campaign_that_is_too_short_for_a_first_run_has_not_passed(project, monkeypatch, capsys):
    """No task of the cluster ends, and no time is left for that."""
    cluster = Cluster()
    cluster.submit = lambda *_, **__: Future()
    monkeypatch.setattr(running, "_client", lambda *_: nullcontext(cluster))
    monkeypatch.setattr(running, "GRACE_OF_FIRST", 0.0)
    assert commands.main(["campaign", "--minutes=0.001", "--only=wrong"]) == 2
    assert (
        "ERROR wrong: its first run did not end in this time, so most of its rules were not tested\n" in capsys.readouterr().out
    )


def test_an_interrupted_campaign_is_not_a_passed_one(project, outcome, monkeypatch, capsys):
    """It ends as a command that is interrupted does, or as pytest."""
    monkeypatch.setattr(running, "_client", lambda *_: nullcontext(Cluster(outcome, most=1)))
    assert commands.main(["campaign", "--minutes=1", "--only=wrong"]) == commands.INTERRUPTED
    assert "interrupted; the same command goes on from here\n0:00:00 of 0:01:00: " in capsys.readouterr().out
    assert pytest.main(["--conformance-campaign=1m", "--conformance-only=wrong"]) == pytest.ExitCode.INTERRUPTED


def test_a_name_that_is_not_there_is_refused(project, capsys):
    assert commands.main(["campaign", "--minutes=1", "--only=rong"]) == 2
    assert "campaign: nothing is called 'rong' in [tool.queue_conformance]" in capsys.readouterr().err


def test_a_terminal_is_shown_whole_words(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr(progress.sys.stdout, "isatty", lambda: True, raising=False)
    with closing(State(tmp_path)) as known:
        known.sequences, known.report = 7, None
        monkeypatch.setattr(known, "covered", lambda: (31, 46))
        monkeypatch.setattr(known, "ran", lambda: (7, 12))
        shown = progress.Progress(known, 60.0)
        shown.show(last=True)
        shown.say("FOUND MUST " + "queue.pop.exactly-once of my_package.MyQueue " * 3)
    status, *found = capsys.readouterr().out.replace("\r\x1b[K", "").splitlines()
    assert status == "0:00:00 of 0:01:00: 7 sequences (0/s), 0 findings"
    assert {word for line in found for word in line.split()} == {
        "FOUND",
        "MUST",
        "queue.pop.exactly-once",
        "of",
        "my_package.MyQueue",
    }
    assert max(map(len, found)) <= 60


# --- On processes ----------------------------------------------------------------------------------------------------


def test_a_campaign_finds_what_is_wrong_and_adds_it_to_the_baseline(project):
    (project / "known.toml").unlink()
    run = started("--minutes=0.01", "--only=wrong", "--update-baseline", cwd=project)
    out, _ = run.communicate(timeout=300)
    assert out.count(f"FOUND MUST {RULE} of wrong") == 1, out
    assert RULE in (project / "known.toml").read_text()
    assert RULE in (project / "queue-conformance-campaign" / state.PAGE).read_text()
    assert run.returncode == 1
    (command,) = re.findall(r"^queue-conformance (replay .*) runs the script of the finding to mend first$", out, re.M)
    assert commands.main([*shlex.split(command), "--print"]) == 0


@pytest.mark.further
@pytest.mark.skipif(not shutil.which("openssl"), reason="needs openssl")
def test_a_cluster_is_closed_by_the_keys_that_the_page_makes(project):
    page = (DOCS / "howto-campaign.md").read_text("utf-8")
    for command in re.findall(r"^\$ ((?:mkdir|openssl) .*)", page, re.M):
        subprocess.run(command, shell=True, check=True, capture_output=True)
    configuration = re.search(r"keys/dask.yaml\n\n(.*?)```", page, re.S)[1]
    (project / "keys" / "dask.yaml").write_text(configuration.replace("/keys/", f"{project}/keys/"))
    closed = {"DASK_CONFIG": str(project / "keys")}
    listening = "distributed.cli.dask_scheduler --protocol=tls --no-dashboard --host=127.0.0.1 --port=0 --scheduler-file=here"
    with ExitStack() as stack:
        for command in (listening, "distributed.cli.dask_worker --scheduler-file=here --nthreads=1 --no-dashboard"):
            variables = os.environ | closed | {"PYTHONPATH": PATHS}
            null = subprocess.DEVNULL
            process = subprocess.Popen([sys.executable, "-m", *command.split()], env=variables, stdout=null, stderr=null)
            stack.callback(process.wait)
            stack.callback(process.terminate)
            until((project / "here").exists)
        address = json.loads((project / "here").read_text())["address"]
        assert address.startswith("tls://127.0.0.1:")
        run = started("--minutes=0.01", "--only=wrong", f"--cluster={address}", cwd=project, variables=closed)
        out, _ = run.communicate(timeout=300)
        assert out.count(f"FOUND MUST {RULE} of wrong") == 1, out
        assert "WARNING" not in out
        run = started("--minutes=0.01", f"--cluster={address}", cwd=project)
        out, _ = run.communicate(timeout=300)
        begun, why = out.splitlines()
        assert begun.startswith("campaign: ")
        assert why.startswith(f"queue-conformance: campaign: --cluster={address}: TLS expects")
        assert run.returncode == 2


@pytest.mark.further
@pytest.mark.parametrize("whom", ["worker", "client"])
def test_who_is_killed_loses_no_more_than_a_task(project, whom):
    run = started("--minutes=5", cwd=project)
    until(lambda: lines_of(project) >= 2)
    if whom == "worker":
        pid = int(records(project)[-1]["worker"].split()[-1])
        os.kill(pid, signal.SIGKILL)
    else:
        run.kill()
        run.communicate(timeout=120)  # which its workers, too, must have ended for
        run = started("--minutes=5", cwd=project)
    before = lines_of(project)
    until(lambda: lines_of(project) >= before + 3)
    os.killpg(run.pid, signal.SIGINT)
    out, _ = run.communicate(timeout=120)
    assert "interrupted" in out
    assert "Traceback" not in out
    assert run.returncode == commands.INTERRUPTED
    seeds = [(one["implementation"], one["seed"]) for one in records(project)]
    assert len(seeds) == len(set(seeds))
    assert {seed for name, seed in seeds if name == "wrong"} >= {0, 1}
