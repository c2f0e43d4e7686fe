"""The plugin as its users meet it: command lines, exit statuses, and what is printed."""

import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from fnmatch import fnmatch

import pytest
from kit import ENVIRONMENT, examine

from queue_conformance.__main__ import main
from queue_conformance.engine.verdicts import RunVerdict
from queue_conformance.faults.backend import Backend
from queue_conformance.frontends.cache import RunCache
from queue_conformance.frontends.session import INCONCLUSIVE, exit_status
from queue_conformance.reports import INTERRUPTED, Report, jsonl
from queue_conformance.reports.reading import read

FIFO = "queue_reference.memory.FifoMemoryQueue"


@pytest.fixture
def run(pytester, monkeypatch):
    """Run pytest as a stranger would, in an empty directory; the mutants can be imported."""
    monkeypatch.setenv("PYTHONPATH", os.path.dirname(__file__), prepend=os.pathsep)
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    return lambda *arguments: pytester.runpytest_subprocess("-p", "no:randomly", "--conformance-examples=10", *arguments)


def left_in(pytester):
    """Return the names of what a run left in its directory, besides what pytester itself keeps there."""
    return {path.name for path in pytester.path.iterdir() if not path.name.startswith(("runpytest-", "stdout", "stderr"))}


def records(pytester, name="report.jsonl"):
    """Return the records of a report, without the times, in which runs may differ."""
    found = [json.loads(line) for line in (pytester.path / name).read_text("utf-8").splitlines()]
    return [{key: value for key, value in record.items() if key not in ("created", "seconds")} for record in found]


# --- The main job ----------------------------------------------------------------------------------------------------


def test_a_right_queue_is_conformant(run, pytester):
    result = run(f"--queue-class={FIFO}")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "*= queue conformance =*",
            f"{FIFO}: downstream queue, *",
            "*found: FIFO, not persistent, peek*",
            "  verdict: CONFORMANT (FIFO, peek; * of * MUST rules apply)",
        ]
    )
    assert left_in(pytester) <= {".pytest_cache"}


def test_what_a_queue_prints_does_not_bury_the_result(run, pytester):
    pytester.makepyfile(
        talkative="""
        import sys
        from mutants.memory import LosesTheEighth

        sys.stdout.reconfigure(encoding="utf-8")  # as many modules do
        sys.stdout.buffer.write(b"imported")

        class Talkative(LosesTheEighth):
            def push(self, request):
                super().push(request)
                print("pushed " * 1000)
        """
    )
    result = run("--queue-class=talkative.Talkative", "--conformance-examples=10", "-v")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["... and * more characters, which -s shows", "  note: *printed when imported: 'imported'"])
    assert len(result.stdout.str()) < 60_000


def test_a_broken_must_rule_fails_the_run(run):
    result = run("--queue-class=mutants.memory.PeeksAtTheNewest")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "*_ queue.peek.equals-pop  MUST failed _*",
            "  expected *",
            "  actual *",
            "    queue = *",
            "  script    *",
            "  verdict: NON-CONFORMANT (1 MUST rule failed)",
            "FAILED mutants.memory.PeeksAtTheNewest::queue.peek.equals-pop - *",
        ]
    )


def test_a_broken_should_rule_is_reported_and_does_not_fail_the_run(run):
    result = run("--queue-class=mutants.memory.ClosesOnce")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["  FAILED        SHOULD queue.close.twice*", "*1 tolerated*"])


def test_a_broken_should_rule_fails_the_run_if_asked(run):
    result = run("--queue-class=mutants.memory.ClosesOnce", "--conformance-level=SHOULD")
    assert result.ret == 1
    title = "*_ queue.close.twice  SHOULD failed in 2 ways _*"
    result.stdout.fnmatch_lines([title, "  verdict: CONFORMANT*", "*fails this run)"])


def test_each_failed_rule_has_one_line(run):
    arguments = ["--queue-class=mutants.memory.RaisesWhenEmpty", "-k", "queue.pop.empty-none"]
    line = re.compile(r"  FAILED +MUST +queue\.pop\.empty-none|FAILED .*::queue\.pop\.empty-none - ")
    for more in ((), ("-rN",), ("-rfs",)):
        assert len(list(filter(line.match, run(*arguments, *more).outlines))) == 1


def test_what_another_plugin_runs_again_is_called_so(run, pytester):
    pytester.makeconftest(
        """
        import pytest

        @pytest.hookimpl(wrapper=True, tryfirst=True)
        def pytest_runtest_makereport(item, call):
            report = yield
            report.outcome = report.outcome.replace("failed", "rerun")
            return report

        def pytest_report_teststatus(report):
            return ("rerun", "R", "RERUN") if report.outcome == "rerun" else None
        """
    )
    result = run("--queue-class=mutants.memory.RaisesWhenEmpty", "-k", "queue.pop.empty-none and not machine")
    result.stdout.fnmatch_lines(["*1 rerun in *"])
    result.stdout.no_fnmatch_line("*1 tolerated*")


def test_a_failed_rule_is_one_line_where_pytest_is_asked_for_that(run):
    result = run("--queue-class=mutants.memory.RaisesWhenEmpty", "--tb=line", "-k", "queue.pop.empty-none")
    name = "mutants.memory.RaisesWhenEmpty::queue.pop.empty-none"
    assert [line for line in result.outlines if line.startswith(f"{name}: IndexError(")]
    result.stdout.no_fnmatch_line("  expected *")
    result.stdout.fnmatch_lines([f"FAILED {name} - IndexError(*"])


def test_a_run_of_other_tests_alone_says_nothing_of_the_class(run, pytester):
    pytester.makepyfile(test_own="def test_mine(): pass")
    result = run("--queue-class=mutants.memory.RaisesWhenEmpty", "test_own.py", "-k", "mine")
    assert result.ret == 0
    result.stdout.no_fnmatch_line("*queue conformance =*")


def test_each_broken_rule_is_shown_once_where_its_own_check_failed(run):
    arguments = ["--queue-class=mutants.memory.RaisesWhenEmpty", "-k", "queue.pop or queue.peek or machine"]
    result = run(*arguments, "-vv")
    titles = [line.strip("_ ") for line in result.outlines if line.startswith("____")]
    others = [line for line in result.outlines if line.startswith("queue.pop.empty-none fails here too, as shown ")]
    assert titles.count("queue.pop.empty-none  MUST failed") == 1
    assert "queue.pop.empty-none  MUST failed" not in result.outlines
    assert len(others) == len(titles) - 1 > 0
    for verbose in ((), ("-v",)):
        brief = run(*arguments, *verbose)
        assert sum(line.startswith("____") for line in brief.outlines) == 1
        assert sum(line.startswith("FAILED ") for line in brief.outlines) == 1
        brief.stdout.fnmatch_lines([f"* 1 failed, * {len(others)} failed as above in *"])


def test_one_exception_is_told_once_with_all_rules_that_it_fails(run, pytester):
    pytester.makepyfile(
        mine="""
        from queue_reference.disk import FifoDiskQueue


        class Forgetful(FifoDiskQueue):
            def push(self, request):
                request.to_dict()  # without the spider, which knows its callbacks
                super().push(request)
        """
    )
    result = run("--queue-class=mine.Forgetful", "-k", "queue.push.callback-method or queue.pop.spider-binding")
    titles = [line.strip("_ ") for line in result.outlines if line.startswith("____")]
    assert [title.partition(" in ")[0] for title in titles] == ["queue.push.callback-method  MUST failed"]
    result.stdout.fnmatch_lines(
        [
            "  actual    ValueError(*",
            "*not an instance method in: None*",
            "  breaks    queue.pop.spider-binding, too, at the same*",
            "  hint      Store `request.to_dict(spider=crawler.spider)`*",
            "FAILED mine.Forgetful::queue.push.callback-method - *",
            "*1 failed,* 1 failed as above in *",
        ]
    )
    result.stdout.no_fnmatch_line("  FAILED *queue.pop.spider-binding*")


def test_a_mistake_of_a_base_class_is_told_as_such(run, pytester):
    pytester.makepyfile(
        mine="""
        from scrapy.core.scheduler import Scheduler


        class Adds(Scheduler):
            def next_request(self):
                return super().next_request()


        class Loses(Scheduler):
            def next_request(self):
                super().next_request()
        """
    )
    adds = run("--scheduler-class=mine.Adds", "-k", "scheduler.next.no-spurious-none")
    adds.stdout.fnmatch_lines(["  base      scrapy.core.scheduler.Scheduler, from which it derives, fails in the"])
    loses = run("--scheduler-class=mine.Loses", "-k", "scheduler.next.no-spurious-none")
    loses.stdout.fnmatch_lines(["_* scheduler.enqueue.true  MUST failed _*"])
    loses.stdout.no_fnmatch_line("  base *")


def test_what_k_names_is_not_hidden_by_a_first_use_that_fails(run, pytester):
    pytester.makepyfile(
        mine="""
        class Unusable:
            def __init__(self, path): raise RuntimeError("no")
            def push(self, item): ...
            def pop(self): ...
            def __len__(self): return 0
            def close(self): ...
        """
    )
    result = run("--queue-class=mine.Unusable", "-k", "queue.pop")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*_ queuelib.ctor  MUST failed _*", "  blocked: * rules (blocked by queuelib.ctor)"])


def test_a_failure_is_called_by_the_rule_that_failed(run):
    result = run("--queue-class=mutants.memory.RaisesWhenEmpty", "-k", "machine")
    titles = [line.strip("_ ") for line in result.outlines if line.startswith("____")]
    told = [
        line.partition(" - ")[0].removeprefix("FAILED mutants.memory.RaisesWhenEmpty::")
        for line in result.outlines
        if "::" in line
    ]
    assert [title.partition(" failed")[0] for title in titles] == [f"{rule}  MUST" for rule in told] != []


def test_the_counterexample_of_a_broken_should_rule_is_shown_by_v(run):
    arguments = ["--queue-class=mutants.memory.ClosesOnce", "-k", "queue.close"]
    brief = run(*arguments)
    brief.stdout.no_fnmatch_line("queue.close.twice  SHOULD failed*")
    brief.stdout.fnmatch_lines(["*-v shows*how*"])
    run(*arguments, "-v").stdout.fnmatch_lines(["*tolerated*", "*queue.close.twice (*)*", "queue.close.twice  SHOULD failed"])
    run(*arguments, "-v", "--tb=no").stdout.no_fnmatch_line("queue.close.twice  SHOULD failed")


def test_several_classes_are_tested_in_turn(run):
    result = run(f"--queue-class={FIFO}", "--queue-class=mutants.memory.ClosesOnce", "-k", "queue.close")
    result.stdout.fnmatch_lines([f"{FIFO}: *", "  verdict: *", "mutants.memory.ClosesOnce: *", "  verdict: *"])


@pytest.mark.parametrize(
    ("verdicts", "errors", "of_pytest", "status"),
    [
        (["CONFORMANT"], (), 0, 0),
        (["PARTIAL"], (), 0, 0),
        (["INCONCLUSIVE"], (), 0, INCONCLUSIVE),
        (["CONFORMANT", "INCONCLUSIVE"], (), 0, INCONCLUSIVE),
        (["INCONCLUSIVE"], (), 1, 1),
        (["CONFORMANT"], ("no class",), 0, 4),
        (["CONFORMANT"], ("no class",), 1, 4),
        ([], ("no class",), 5, 4),
        (["CONFORMANT"], (), 5, 5),
        (["CONFORMANT"], (), 2, 2),
        (["INCONCLUSIVE"], (), 3, 3),
    ],
)
def test_the_exit_status_says_what_is_known(verdicts, errors, of_pytest, status):
    report = examine(FIFO, only="smoke")
    reports = tuple(replace(report, verdict=RunVerdict(verdict)) for verdict in verdicts)
    assert exit_status(Report(reports, errors), of_pytest) == status


def test_node_ids_and_keywords_speak_of_rules_and_classes(run):
    result = run(f"--queue-class={FIFO}", "--collect-only", "-q", "-k", "empty-none and not machine")
    assert result.ret == 0
    assert [line for line in result.outlines if "::" in line] == [
        f"{FIFO}::queue.pop.empty-none",
        f"{FIFO}::queue.peek.empty-none",
    ]


def test_a_rule_selects_every_check_that_tests_it(run):
    result = run(f"--queue-class={FIFO}", "-k", "queue.len.count", "--collect-only", "-q")
    assert [line for line in result.outlines if "::" in line] == [f"{FIFO}::queue.len.count", f"{FIFO}::machine"]


def test_what_was_deselected_is_not_covered(run):
    result = run(f"--queue-class={FIFO}", "-k", "queue.pop.fifo and not machine", "-v")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["  not covered   MUST   queue.pop.empty-none  its check was not run", "  verdict: PARTIAL *"])


@pytest.mark.parametrize(
    ("keyword", "said"),
    [("queue.pop.fif", "; did you mean 'queue.pop.fifo'?"), ("nothing", "; write part of a rule's id, such as *")],
)
def test_a_keyword_that_matches_nothing_is_told(run, monkeypatch, keyword, said):
    monkeypatch.setenv("COLUMNS", "80")
    result = run(f"--queue-class={FIFO}", "-k", f"{keyword}o.")
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    told = next(place for place, line in enumerate(result.outlines) if line.startswith(f"-k '{keyword}o.' matches no check"))
    lines = result.outlines[told:-1]
    assert fnmatch(" ".join(map(str.strip, lines)), f"*no check{said} (--co -q lists all)")
    assert max(map(len, lines)) <= 80
    result.stdout.no_fnmatch_line("*verdict*")


PEEKS = ("--queue-class=mutants.memory.PeeksAtTheNewest", "-k", "queue.peek.equals-pop and not machine")


@pytest.fixture
def cached(pytester, monkeypatch):
    """Run pytest with its cache; the mutants can be imported."""
    monkeypatch.setenv("PYTHONPATH", ENVIRONMENT["PYTHONPATH"])
    return pytester.runpytest_subprocess


def command_of(result):
    """Return the command that a failure names."""
    (line,) = {line for line in result.outlines if line.startswith("  script ")}
    return line.removeprefix("  script").strip()


@pytest.mark.parametrize("cache_dir", [".pytest_cache", "else where"])
def test_the_command_of_a_failure_prints_its_script(cached, pytester, monkeypatch, capsys, cache_dir):
    result = cached(*PEEKS, "-o", f"cache_dir={cache_dir}")
    program, *arguments = shlex.split(command_of(result))
    monkeypatch.chdir(pytester.path)
    assert (program, main(arguments)) == ("queue-conformance", 0)
    assert "import PeeksAtTheNewest" in capsys.readouterr().out


def test_the_command_says_whose_failure_where_several_broke_the_rule(cached, pytester, monkeypatch, capsys):
    pytester.makepyfile(mine="from mutants.memory import PeeksAtTheNewest\nclass Mine(PeeksAtTheNewest): pass")
    result = cached(*PEEKS, "--queue-class=mine.Mine")
    commands = [line.split()[2:] for line in result.outlines if line.startswith("  script ")]
    monkeypatch.chdir(pytester.path)
    for arguments, name in zip(commands, ("PeeksAtTheNewest", "Mine"), strict=True):
        assert main(arguments) == 0
        assert f"import {name}\n" in capsys.readouterr().out


def test_a_cache_that_cannot_be_written_loses_nothing(cached, pytester):
    (pytester.path / ".pytest_cache").touch()
    result = cached(*PEEKS)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert command_of(result) == "pytest -vv shows it"


def test_with_no_other_argument_only_the_kit_runs(run, pytester):
    pytester.makepyfile("def test_mine(): assert False")
    pytester.makeini("[pytest]\ntestpaths = .\n")
    assert run(f"--queue-class={FIFO}").ret == 0


def test_own_tests_on_the_same_command_line_run_too(run, pytester):
    file = pytester.makepyfile("def test_mine(): assert False")
    result = run(f"--queue-class={FIFO}", file)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["FAILED test_own_tests*::test_mine*"])
    result.stdout.fnmatch_lines(["  verdict: CONFORMANT *"])


def test_hypothesis_in_own_tests_sees_who_holds_a_source_of_chance(run, pytester):
    pytester.makeini("[pytest]\nfilterwarnings = error")
    pytester.makeconftest("from random import Random\n\nRANDOM = Random()")
    test = pytester.makepyfile("import conftest, hypothesis\n\ndef test_own():\n    hypothesis.register_random(conftest.RANDOM)")
    assert run(f"--queue-class={FIFO}", test, "-k", "own or iface").ret == 0


def test_the_options_are_grouped_in_the_help(run):
    lines = run("--help").outlines
    start = lines.index("conformance of crawl queues and schedulers (pytest-queue-conformance):")
    text = "\n".join(lines[start:])
    for option in ("--queue-class", "--priority-queue-class", "--scheduler-class", "--dupefilter-class", "--queue-setting"):
        assert option in text
    for option in ("--queue-server", "--conformance-level", "--conformance-report", "--conformance-seed"):
        assert option in text


def test_the_report_file_is_complete(run, pytester):
    run("--queue-class=mutants.memory.ClosesOnce", f"--queue-class={FIFO}", "--conformance-report=report.jsonl")
    found = records(pytester)
    assert found[0]["type"] == "header"
    assert found[-1] == {"type": "footer", "implementations": 2, "errors": 0, "failed": False}
    assert [r["verdict"] for r in found if r["type"] == "implementation"] == ["CONFORMANT", "CONFORMANT"]
    assert [r["rule"] for r in found if r.get("verdict") == "failed"] == ["queue.close.twice"]


def test_a_distributed_run_gives_the_same_report(run, pytester):
    paths = ("mutants.memory.PeeksAtTheNewest", "queue_reference.bytequeues.FifoByteQueue", "no.Such")
    arguments = [*(f"--queue-class={path}" for path in paths), "-p", "no:cacheprovider", "-k", "machine or peek"]
    alone = run(*arguments, "--conformance-report=alone.jsonl")
    together = run(*arguments, "--conformance-report=together.jsonl", "-n", "2")
    assert alone.ret == together.ret == 4
    assert records(pytester, "alone.jsonl") == records(pytester, "together.jsonl")


def test_the_same_seed_gives_the_same_report(run, pytester):
    for name in ("one", "two"):
        run(
            "--queue-class=mutants.memory.LosesTheEighth",
            "--conformance-seed=5",
            "--conformance-examples=30",
            f"--conformance-report={name}.jsonl",
            "-p",
            "no:cacheprovider",
        )
    assert records(pytester, "one.jsonl") == records(pytester, "two.jsonl")


def test_what_failed_before_is_tried_first(run, pytester):
    queue = "mutants.memory.LosesTheEighth"
    run(f"--queue-class={queue}", "--conformance-examples=30", "-k", "machine")
    known = RunCache(None, str(pytester.path / ".pytest_cache/d/queue-conformance-examples")).sequences(queue)
    assert min(map(len, known)) == 8
    result = run(f"--queue-class={queue}", "--conformance-examples=1", "-k", "machine", "--conformance-report=report.jsonl")
    assert result.ret == 1


def test_what_failed_is_kept_where_an_option_says(run, pytester):
    queue = "--queue-class=mutants.memory.LosesTheEighth"
    with Backend("redis", pytester.path / "server") as backend:
        for where in ("examples", f"redis://{backend.host}:{backend.port}"):
            how = (queue, f"--conformance-database={where}", "-p", "no:cacheprovider")
            assert run(*how, "--conformance-examples=30", "-k", "machine").ret == 1
            assert run(*how, "--conformance-examples=1", "-k", "machine", "--conformance-seed=1").ret == 1
    assert any((pytester.path / "examples").iterdir())


@pytest.mark.parametrize(
    ("where", "line"),
    [
        ("redis://127.0.0.1:1", "--conformance-database: Error 111 connecting to 127.0.0.1:1. Connection refused."),
        ("s3://bucket", "--conformance-database: write a directory, or redis://HOST:PORT, not 's3://bucket'"),
    ],
)
def test_a_database_that_is_none_is_one_line(run, where, line):
    result = run(f"--queue-class={FIFO}", f"--conformance-database={where}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert f"ERROR: {line}" in result.errlines


def test_a_run_without_pytests_cache_works(run):
    assert run(f"--queue-class={FIFO}", "-p", "no:cacheprovider", "-k", "queue.pop.fifo").ret == 0


def test_a_run_in_pytests_own_process_works(run):
    assert run(f"--queue-class={FIFO}", "--conformance-in-process").ret == 0


def test_the_table_of_pyproject_toml_names_what_to_examine(run, pytester):
    pytester.makepyprojecttoml(f'[tool.queue_conformance]\nqueue-class = "{FIFO}"\n')
    result = run("--conformance", "-k", "queue.pop.fifo")
    assert result.ret == 0
    result.stdout.fnmatch_lines([f"{FIFO}: *"])


def test_a_class_next_to_the_command_needs_no_installation(run, pytester):
    pytester.makepyfile(mine="from queue_reference.memory import FifoMemoryQueue\nclass Queue(FifoMemoryQueue): pass")
    assert run("--queue-class=mine.Queue", "-k", "queue.pop.fifo").ret == 0


# --- Wrong input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (
            "scrapy.squeues.PickleLifoDiskQeue",
            "scrapy.squeues has no class 'PickleLifoDiskQeue'; did you mean 'PickleLifoDiskQueue'?",
        ),
        ("scrapy.squeues", "scrapy.squeues is a module; name one of its classes: *"),
        ("mutants.mutant", "mutants.mutant is a function, not a class"),
        ("nowhere.Queue", "there is no module 'nowhere'*"),
        ("raises.Queue", "importing raises raised RuntimeError: boom (*raises.py, line 1)"),
        ("hangs.Queue", "importing hangs.Queue did not return within 1 s"),
        ("exits.Queue", "importing exits.Queue ended the interpreter with status 5"),
        ("bare.Queue", "bare.Queue is no queue: it has no push and no pop"),
        (
            "scrapy.core.scheduler.Scheduler",
            "scrapy.core.scheduler.Scheduler is a scheduler: give it by --scheduler-class",
        ),
    ],
)
@pytest.mark.usefixtures("wide_terminal")
def test_a_class_that_cannot_be_tested_is_one_line_and_the_others_are_tested(run, pytester, path, message):
    pytester.makepyfile(
        raises="raise RuntimeError('boom')",
        hangs="import time; time.sleep(3600)",
        exits="import os; os._exit(5)",
        bare="class Queue: pass",
    )
    result = run(f"--queue-class={path}", f"--queue-class={FIFO}", "-k", "queue.pop.fifo", "--conformance-time-limit=1")
    assert result.ret == 4
    errors = [line for line in result.outlines if line.startswith("ERROR")]
    assert len(errors) == 1
    result.stdout.fnmatch_lines(["  verdict: *", f"ERROR: --queue-class: {message}"])


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("FactoryWithoutKey", "TypeError("),
        ("FactoryExits", "FactoryExits.from_crawler(crawler, "),
        ("FactoryHangs", "FactoryHangs.from_crawler(crawler, "),
        ("FactoryQuits", "SystemExit(0) raised"),
    ],
)
@pytest.mark.usefixtures("wide_terminal")
def test_a_constructor_that_fails_is_one_broken_rule(run, name, cause):
    result = run(f"--queue-class=mutants.memory.{name}", "--conformance-time-limit=1")
    assert result.ret == 1
    (line,) = (line for line in result.outlines if "FAILED" in line)
    assert line.startswith(f"FAILED mutants.memory.{name}::queue.ctor.from-crawler - {cause}")
    result.stdout.fnmatch_lines(["  actual *"])
    result.stdout.re_match_lines([r"  blocked: .* \(blocked by queue\.ctor\.from-crawler\)"])


def test_what_a_class_does_to_the_process_is_noted(run, pytester):
    pytester.makepyfile(
        noisy="""
        import os, signal
        from queue_reference.memory import FifoMemoryQueue
        print("importing")
        class Queue(FifoMemoryQueue):
            @classmethod
            def from_crawler(cls, crawler, key):
                os.write(2, b"building")
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                return cls()
        """
    )
    result = run("--queue-class=noisy.Queue", "-k", "queue.pop", "-v")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "  note: noisy.Queue printed when imported: 'importing'",
            "  note: noisy.Queue printed when used once: 'buildingbuilding'",
            "  note: noisy.Queue replaced the handler of SIGTERM when used once",
        ]
    )
    assert "building" not in result.errlines


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--queue-class=reads.Queue", "--queue-setting=MY_RDIS=1"],
            "MY_RDIS: Scrapy has no such setting, and reads.Queue does not read it; did you mean 'MY_REDIS'?",
        ),
        (
            ["--queue-class=queuelib.queue.FifoDiskQueue", "--queue-setting=chunksise=1"],
            "chunksise: the constructor of queuelib.queue.FifoDiskQueue has no such argument; did you mean 'chunksize'?",
        ),
    ],
)
@pytest.mark.usefixtures("wide_terminal")
def test_a_setting_that_does_not_exist_is_explained(run, pytester, arguments, message):
    pytester.makepyfile(
        reads="""
        from queue_reference.memory import FifoMemoryQueue
        class Queue(FifoMemoryQueue):
            @classmethod
            def from_crawler(cls, crawler, key):
                crawler.settings.get("MY_REDIS")
                return cls()
        """
    )
    result = run(*arguments)
    assert result.ret == 4
    result.stdout.fnmatch_lines([f"ERROR: --queue-class: the setting {message}"])


@pytest.mark.parametrize("source", ["crawler", "crawler.spider"])
def test_a_setting_that_is_read_reaches_the_class(run, pytester, source):
    pytester.makepyfile(
        reads=f"""
        from queue_reference.memory import FifoMemoryQueue
        class Queue(FifoMemoryQueue):
            @classmethod
            def from_crawler(cls, crawler, key):
                assert {source}.settings.getint("MY_LIMIT") == 7
                return cls()
        """
    )
    assert run("--queue-class=reads.Queue", "--queue-setting=MY_LIMIT=7", "-k", "queue.pop.fifo").ret == 0
    assert run("--queue-class=reads.Queue", "--queue-setting=MY_LIMIT=8", "-k", "queue.pop.fifo").ret == 1


def test_a_wrong_option_is_a_usage_error_of_pytest(run):
    result = run(f"--queue-class={FIFO}", "--conformance-seed=x")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: --conformance-seed: write a whole number, 0 or more, not 'x'"])


@pytest.mark.parametrize(("names", "whole"), [("queue.peek", False), ("queue.peek.then-push and not machine and not many", True)])
def test_a_run_that_ends_with_its_first_failure_says_so_if_something_was_left(run, pytester, names, whole):
    result = run("--queue-class=scrapy.squeues.PickleLifoDiskQueue", "-x", "-k", names, "--conformance-report=r.jsonl")
    assert result.ret == 1
    assert (f"ERROR: {INTERRUPTED}" in result.outlines) != whole
    result.stdout.no_fnmatch_line("*interrupted*")  # it was asked to end
    assert read(pytester.path / "r.jsonl").interrupted != whole


@pytest.mark.further
def test_nothing_is_left_behind(run, pytester, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    pytester.makeconftest("from queue_conformance.frontends import scratch\nscratch._root = lambda: None\n")  # nor in memory
    classes = ["--queue-class=mutants.disk.DropsTheFourth", "--queue-class=mutants.memory.PopIsKilled"]
    # One check of each way to use files and processes.
    ways = ("machine", "queue.pop.exactly-once", "queue.persist.crash-open", "queue.persist.new-process", "disk.pop")
    run(*classes, "-p", "no:cacheprovider", "-k", " or ".join(ways))
    assert left_in(pytester) <= {"conftest.py", "__pycache__"}
    assert list(tmp_path.iterdir()) == []


# --- Idle ------------------------------------------------------------------------------------------------------------


@pytest.mark.interpreter
def test_the_idle_plugin_imports_nothing_heavy(run, pytester):
    pytester.makepyfile(
        """
        import sys
        def test_idle():
            heavy = {"scrapy", "queuelib", "twisted", "tomllib"} & sys.modules.keys()
            assert not heavy
            ours = {name for name in sys.modules if name.startswith("queue_conformance")}
            few = {"", "plugin", "config", "config.options", "config.values"}
            few |= {"errors", "hooks", "processes", "processes.descriptors"}
            assert {name.partition(".")[2] for name in ours} <= few
            assert "hypothesis" not in sys.modules
        """
    )
    run("-p", "no:hypothesispytest", "-p", "no:cov").assert_outcomes(passed=1)


def test_a_report_is_written_although_nobody_reads_what_is_printed(pytester):
    command = [sys.executable, "-m", "pytest", f"--queue-class={FIFO}", "-k", "queue.len.count", "--conformance-report=r.jsonl"]
    with subprocess.Popen(command, cwd=pytester.path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        run.stdout.readline()
        run.stdout.close()
        said = run.stderr.read()
    assert (run.returncode, said) == (0, "")
    assert jsonl.read(pytester.path / "r.jsonl").verdict is RunVerdict.PARTIAL


def test_a_name_that_is_no_text_is_refused_in_one_line(run):
    result = run("--queue-class=my_package.Q\udce9")
    result.stderr.fnmatch_lines(["ERROR: --queue-class: write a name of characters that can be printed, not *"])
    assert result.ret == 4
