"""Recorded operations become short, stand-alone scripts."""

import ast
import weakref
from contextlib import closing

import pytest
from kit import FIFO_BYTES, FIFO_DISK, FIFO_MEMORY, context, run_script

from queue_conformance.config.run_config import Options
from queue_conformance.config.targets import Target
from queue_conformance.engine.outcomes import Violation
from queue_conformance.engine.recording import OperationRaised, Recorder, Step, describe
from queue_conformance.engine.scripts import assemble, defined_in, lines_of, namespace
from queue_conformance.frontends.runs import Run
from queue_conformance.processes.isolation import Watchdog
from queue_conformance.running.replay import State, judge
from queue_conformance.script_support import example, interleaving


def test_a_script_has_just_the_imports_that_it_uses():
    text = assemble("title", [], ["print(os.getpid(), 'tempfile')"], [])
    assert "import os" in text
    assert "tempfile\n" not in text.replace("'tempfile'", "")


def test_a_script_quotes_just_the_definitions_that_it_uses():
    text = assemble("title", [], ["ExampleSpider"], [example])
    assert "class BaseSpider(Spider):" in text
    assert "class ExampleSpider(BaseSpider):" in text
    assert "class Point" not in text
    assert text.index("class BaseSpider") < text.index("class ExampleSpider")


def test_a_class_that_is_called_as_one_of_the_kit_is_the_one_of_its_author(tmp_path, monkeypatch):
    assert "Other" in defined_in(interleaving)
    tmp_path.joinpath("mine.py").write_text("from mutants.memory import RaisesWhenEmpty\n\nclass Other(RaisesWhenEmpty): ...\n")
    monkeypatch.syspath_prepend(tmp_path)
    with closing(Run(Options(()), tmp_path)) as run:
        run.examine(Target("mine", "", "mine.Other", {}, {}, ""), lambda one: [c for c in one.checks if c.name == "machine"])
        (found,) = run.report().implementations
    assert [verdict.rule.id for verdict in found.verdicts if verdict.violation] == ["queue.pop.empty-none"]


def test_imports_of_one_module_share_a_line():
    assert "from scrapy import Request, Spider\n" in assemble("title", [], ["Request", "Spider"], [])


def test_every_definition_can_be_quoted_alone(tmp_path):
    for name, value in vars(example).items():
        if getattr(value, "__module__", None) == example.__name__:
            ended = run_script(assemble("title", [], [name], [example]), tmp_path) if name == "ExampleSpider" else None
            assert ended is None or ended.returncode == 0, ended.stderr
            ast.parse(assemble("title", [], [name], [example]))


def test_a_long_title_is_wrapped():
    text = assemble("word " * 60, [], [], [])
    assert max(map(len, text.splitlines())) <= 110
    assert "word" in ast.get_docstring(ast.parse(text))


def test_a_step_that_raised_does_not_end_the_script():
    assert lines_of([Step("queue.pop()", error=ValueError())]) == ["with suppress(Exception):", "    queue.pop()"]


def test_a_step_that_comes_many_times_in_a_row_becomes_a_loop():
    push, pop = Step("queue.push(1)", result=None), Step("popped = queue.pop()", result=1)
    assert lines_of([push, push, push, pop]) == ["queue.push(1)"] * 3 + ["popped = queue.pop()"]
    assert lines_of([pop, *[push] * 50]) == ["popped = queue.pop()", "for _ in range(50):", "    queue.push(1)"]
    define = Step("def f():\n    return 1")
    assert lines_of([define] * 4) == ["for _ in range(4):", "    def f():", "        return 1"]


def test_steps_that_come_many_times_in_turn_become_a_loop():
    push, pop, peek = (
        Step("queue.push(1)", result=None),
        Step("popped = queue.pop()", result=1),
        Step("queue.peek()", error=KeyError()),
    )
    pair = ["    queue.push(1)", "    popped = queue.pop()"]
    assert lines_of([push, pop] * 4) == ["for _ in range(4):", *pair]
    assert lines_of([peek, *[push, pop] * 4, push])[2:] == ["for _ in range(4):", *pair, "queue.push(1)"]
    assert lines_of([push, peek] * 4)[1:] == ["    queue.push(1)", "    with suppress(Exception):", "        queue.peek()"]


def test_a_step_that_may_be_refused_ends_the_script_well(tmp_path):
    lines = lines_of([Step("int('x')", result=1, refusable=True), Step("raise SystemExit(3)", result=None)])
    assert run_script(assemble("title", [], lines, []), tmp_path).returncode == 0


@pytest.mark.parametrize("path", [FIFO_MEMORY, FIFO_DISK, FIFO_BYTES, "queue_reference.collections.PriorityQueue"])
def test_the_operations_of_a_context_run_as_a_script(path, tmp_path):
    with context(path) as found:
        queue = found.open()
        where = [5] if "collections" in path else []
        queue.push(found.driver.item(1), *where)
        queue.push(found.driver.item(6), *where)
        len(queue)
        queue.pop()
        queue.close()
        text = found.driver.script("title", lines_of(found.recorder.steps))
    ended = run_script(text, tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert "queue_conformance" not in text


def test_every_name_that_items_may_use_can_be_imported():
    names = namespace(example)
    assert names["Request"] is example.Request
    assert {"array", "Decimal", "Point", "Selector", "nested"} <= names.keys()


def test_a_recorder_keeps_results_and_errors():
    recorder = Recorder(Watchdog())
    assert recorder.call("len([])", "rule", len, []) == 0
    with pytest.raises(OperationRaised, match="int") as caught:
        recorder.call("int('x')", "rule", int, "x")
    assert caught.value.rule == "rule"
    assert recorder.steps[0].result == 0
    assert isinstance(recorder.steps[1].error, ValueError)


def test_while_a_rule_is_blamed_it_owns_what_raises():
    recorder = Recorder(Watchdog())
    with recorder.attribute("other"), pytest.raises(OperationRaised) as caught:
        recorder.call("int('x')", "rule", int, "x")
    assert caught.value.rule == "other"


class Hostile:
    def __repr__(self):
        raise RuntimeError


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a\nb", r"'a\nb'"),
        ("x" * 200, "'x' * 200"),
        ("xy" * 60 + "z", "'" + ("xy" * 60)[:96] + "..."),
        (Hostile(), "<Hostile whose repr() raises RuntimeError>"),
    ],
)
def test_a_value_is_described_in_one_short_line(value, text):
    assert describe(value) == text


def test_what_was_raised_keeps_nothing_alive_as_in_a_script():
    recorder, seen = Recorder(Watchdog()), []

    def fail():
        opened = Watchdog()
        seen.append(weakref.ref(opened))
        raise RuntimeError("no")

    with pytest.raises(OperationRaised):
        recorder.call("queue.push(1)", "queue.push.accept", fail)
    recorder.call("queue.pop()", "queue.pop.fifo", lambda: None)
    assert seen[0]() is None


@pytest.mark.parametrize(
    ("value", "described"),
    [
        (object(), "<object object>"),
        (ConnectionError("connecting to 127.0.0.1:41279."), "ConnectionError('connecting to 127.0.0.1:....')"),
        (ConnectionError("connecting to localhost:41279."), "ConnectionError('connecting to localhost:....')"),
        ("0x10", "'0x10'"),
        ("192.168.0.1:6379", "'192.168.0.1:6379'"),
    ],
)
def test_what_is_another_one_in_each_run_is_not_shown(value, described):
    assert describe(value) == described


@pytest.mark.parametrize(
    ("line", "state"),
    [
        ("assert sorted(urls_of((1, 2))) == []", State.WRONG),
        ("assert (sorted([1]) == []", State.WRONG),
        ("assert sorted([1]) == []", State.FAILED),
        ("exec(compile('urls_of', 'its own file', 'exec'))", State.OTHER),  # the class, not its script, names what is not there
    ],
)
def test_a_name_that_a_script_does_not_define_is_no_sign_that_nothing_failed(tmp_path, line, state):
    violation = Violation("queue.pop.fifo", "nothing", "[1]", ("queue.pop()",), f"{line}\n")
    ended = run_script(violation.script, tmp_path)
    assert judge(violation, ended.returncode, ended.stderr)[0] is state


@pytest.mark.parametrize(
    ("lines", "actual"),
    [
        ("assert sorted([1]) == []", "[1]"),
        ("raise ValueError", "ValueError() raised by queue.pop()"),
        ("raise ExceptionGroup('', [ValueError()])", "ExceptionGroup() raised by queue.pop()"),
        ("import faulthandler, time\nfaulthandler.dump_traceback_later(0.1, exit=True)\ntime.sleep(9)", "nothing"),
    ],
)
def test_a_line_that_a_class_has_not_ended_hides_no_failure(tmp_path, lines, actual):
    printing = "import sys\nprint('popping ...', end='', file=sys.stderr, flush=True)\n"
    violation = Violation("queue.pop.fifo", "no exception", actual, ("queue.pop()",), f"{printing}{lines}\n")
    ended = run_script(violation.script, tmp_path)
    assert ended.stderr.startswith("popping ...")
    assert judge(violation, ended.returncode, ended.stderr)[0] is State.FAILED
