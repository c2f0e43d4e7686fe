"""Queues behind a server, tested as their authors would: options, conftest.py, scripts, and the reference queues."""

import json
import os
import subprocess
import sys
import time
from typing import ClassVar

import pytest
import redis
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test
from kit import LEAN, examine, failed_rules, further, run_script

from mutants.controls import TakesOneAhead
from mutants.dupefilters import SharedDupeFilter
from queue_conformance import TransientError
from queue_conformance.engine.verdicts import RunVerdict, Verdict
from queue_conformance.frontends.stateful import state_machine
from queue_conformance.implementation.capabilities import Order
from queue_conformance.kinds.queue.uncertain import State, UncertainQueueModel
from queue_conformance.running import execution, sharing
from queue_reference.redis import FifoRedisQueue

SETTINGS = {"REDIS_URL": "redis://{host}:{port}/0", "REDIS_TIMEOUT": "0.5"}
ARGUMENTS = ["--queue-setting=REDIS_URL=redis://{host}:{port}/0", "--queue-setting=REDIS_TIMEOUT=0.5"]
FIFO, LIFO = PATHS = ("queue_reference.redis.FifoRedisQueue", "queue_reference.redis.LifoRedisQueue")


@pytest.mark.further
@pytest.mark.parametrize(("path", "server"), [(LIFO, "redis"), (FIFO, "fakeredis")])
def test_a_reference_keeps_every_rule(path, server, examples):
    report = LEAN.examine(path, settings=SETTINGS, server=server, examples=examples)
    assert not failed_rules(report)
    assert report.verdict is RunVerdict.CONFORMANT
    assert report.profile == "external-queue"
    untested = {v.rule.id for v in report.verdicts if v.verdict in (Verdict.BLOCKED, Verdict.NOT_COVERED)}
    cannot = {"e2e.server-away", "e2e.server-refuses", "queue.persist.room"} if server == "fakeredis" else set()
    assert untested - {"queue.push.large"} == cannot
    assert any("cut_reply" in note for note in report.notes)


class CutsShort(FifoRedisQueue):
    """Keeps the beginning of a large body."""

    def push(self, request):
        super().push(request.replace(body=request.body[: 1 << 16]))


class WaitsTooShort(FifoRedisQueue):
    """Its client gives up each value once, as on a busy machine."""

    seen: ClassVar[set[str]] = set()

    def push(self, request):
        if "value" in request.meta and (value := repr(request.meta)) not in self.seen:
            self.seen.add(value)
            raise TransientError("timed out")
        super().push(request)


def test_what_times_out_once_in_discovery_is_offered_all_the_same():
    report = examine("test_served.WaitsTooShort", settings=SETTINGS, server="fakeredis", only=set(), examples=1)
    assert report.found.startswith("FIFO, persistent")
    assert report.found.endswith("serializes (every type tried is kept)")


def test_one_run_tells_both_contracts_where_one_asks_for_all_that_the_other_does(monkeypatch, tmp_path):
    log, observe = tmp_path / "log", execution.observe

    def counted(check, context, rules):
        with log.open("a") as file:  # it is another process that runs it
            file.write(f"{check.name} {context.implementation.profile}\n")
        return observe(check, context, rules)

    for module in (execution, sharing):
        monkeypatch.setattr(module, "observe", counted)
    large, error = "push.large", "queue.push.serialization-error"
    report = examine("test_served.CutsShort", settings=SETTINGS, server="fakeredis", only={large, error}, examples=1)
    assert sorted(set(log.read_text().splitlines())) == [f"{large} scrapy", f"{error} external-queue", f"{error} scrapy"]
    assert "queue.push.large" not in {verdict.rule.id for verdict in report.verdicts}
    for one in (report, report.also):
        assert "queue.pop.exactly-once" in failed_rules(one)


@pytest.mark.further
def test_a_queue_that_backs_off_for_a_moment_is_right():
    report = examine("mutants.controls.BacksOff", settings=SETTINGS, server="redis", examples=30)
    assert not failed_rules(report)
    assert report.verdict is RunVerdict.CONFORMANT


def test_a_time_out_of_the_client_on_a_busy_machine_proves_nothing():
    report = examine("mutants.controls.TimesOut", settings=SETTINGS, server="redis", examples=10, only="machine")
    assert not failed_rules(report)
    assert any("prove nothing: the server answers too slowly" in note for note in report.notes)


class DoesNotWaitForLarge(FifoRedisQueue):
    """Its client waits too short a time for what is large, as on a busy machine, and push says so."""

    def push(self, request):
        if len(request.body) > 1 << 16:
            raise TransientError("later") from TimeoutError("no answer")
        super().push(request)


def test_a_time_out_where_another_error_is_expected_proves_nothing():
    report = examine("test_served.DoesNotWaitForLarge", settings=SETTINGS, server="fakeredis", only="push.large-refused")
    assert not any(map(failed_rules, (report, report.also)))
    (verdict,) = [verdict for verdict in report.verdicts if verdict.rule.id == "queue.push.serialization-all-causes"]
    assert "the server answers too slowly here" in verdict.reason


class HandsOutAnother(TakesOneAhead):
    """It hands out another request than the one that it has taken, where its server lets it wait."""

    def pop(self):
        began = time.monotonic()
        request = super().pop()
        return request if request is None or time.monotonic() - began < 0.4 else request.replace(url="https://example.com/99")


def test_what_was_taken_ahead_may_be_handed_out_while_the_server_is_stalled(tmp_path):
    report = examine("mutants.controls.TakesOneAhead", settings=SETTINGS, server="redis", only="stalled.pop")
    verdicts = {verdict.rule.id: verdict.verdict for verdict in report.verdicts}
    assert verdicts["queue.pop.transient-none"] is Verdict.PASSED
    report = examine("test_served.HandsOutAnother", settings=SETTINGS, server="redis", only="stalled.pop")
    (script,) = [verdict.violation.script for verdict in report.verdicts if verdict.violation]
    assert run_script(script, tmp_path).returncode
    right = script.replace(
        "from test_served import HandsOutAnother", "from mutants.controls import TakesOneAhead as HandsOutAnother"
    )
    assert run_script(right, tmp_path).returncode == 0


class NotesItsOwner(FifoRedisQueue):
    """It says for a minute, beside its requests, who has opened it: a key that may well expire."""

    def __init__(self, crawler, key):
        super().__init__(crawler, key)
        self._client.set(self._key + b":owner", os.getpid(), ex=60)


def test_what_holds_no_request_may_have_a_time_to_live():
    report = examine("test_served.NotesItsOwner", settings=SETTINGS, server="fakeredis", only="reopen.expired")
    verdicts = {verdict.rule.id: verdict.verdict for verdict in report.verdicts}
    assert verdicts["queue.persist.reopen"] is Verdict.PASSED


class ForgetsInTime(SharedDupeFilter):
    """It keeps what it has seen for a week after the last request."""

    def request_seen(self, request):
        seen = super().request_seen(request)
        self._server.expire(self._key, 7 * 24 * 3600)
        return seen


class NotesWhoSees(SharedDupeFilter):
    """It says for a minute, beside what it has seen, who has opened it."""

    def open(self):
        self._server.set(self._key + ":owner", os.getpid(), ex=60)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("test_served.ForgetsInTime", "filters, persistent, behind a server, forgets what was seen after a time"),
        ("test_served.NotesWhoSees", "filters, persistent, behind a server"),
    ],
)
def test_a_filter_that_forgets_in_time_is_said_to(name, found):
    address = {"REDIS_URL": SETTINGS["REDIS_URL"]}
    assert examine(name, {"shared": "yes"}, settings=address, server="fakeredis", only="smoke").found == found


@pytest.mark.parametrize("seed", [0, *further(1)])
def test_the_last_known_number_may_leave_out_a_push_without_a_reply(seed):
    checks = ("lost-replies", "machine")
    report = examine("mutants.controls.CountsAlong", settings=SETTINGS, server="redis", seed=seed, only=checks)
    assert not failed_rules(report)


@pytest.mark.further
def test_a_queue_that_backs_off_for_long_proves_nothing():
    report = examine("mutants.controls.BacksOffForLong", settings=SETTINGS, server="redis", examples=10)
    assert failed_rules(report) <= {"queue.push.retry"}
    verdicts = {verdict.rule.id: verdict for verdict in report.verdicts}
    assert verdicts["queue.pop.reply-cut"].verdict is Verdict.NOT_COVERED
    assert "has not come back to its server" in verdicts["queue.pop.reply-cut"].reason


def test_a_queue_that_names_no_address_is_found(pytester):
    arguments = ["--queue-class=queue_reference.redis.FifoRedisQueue", "--queue-server=redis", "-k", "queue.len", "-v"]
    result = pytester.runpytest_subprocess(*arguments)
    expected = [
        "*profile external-queue*",
        "*behind a server*",
        "*faults that hit queue.len.transient-nonzero: refused connections (1 of*",
    ]
    result.stdout.fnmatch_lines(expected)
    assert result.ret == 0


class TakesAnything:
    """A byte queue with an address of its own, which takes text for bytes."""

    def __init__(self, path):
        self.key, self.server = path, redis.Redis(port=1)

    def push(self, item):
        self.server.rpush(self.key, item)

    def pop(self):
        return self.server.lpop(self.key)

    def __len__(self):
        return self.server.llen(self.key)

    def close(self):
        self.server.close()


@pytest.mark.further
def test_the_script_of_a_byte_queue_that_names_no_address_starts_its_server(tmp_path):
    report = examine("test_served.TakesAnything", server="redis", only={"smoke", "queue.push.bytes-only"})
    (failed,) = [verdict for verdict in report.verdicts if verdict.rule.id == "queue.push.bytes-only"]
    assert failed.verdict is Verdict.FAILED
    (tmp_path / "script.py").write_text(failed.violation.script)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run([sys.executable, tmp_path / "script.py"], env=environment, capture_output=True, text=True)
    assert ended.returncode == 1
    assert "ConnectionError" not in ended.stderr
    assert "TypeError expected, but the call returned" in ended.stderr


@pytest.mark.usefixtures("wide_terminal")
def test_a_queue_whose_server_is_missing_is_explained(pytester):
    arguments = ["--queue-class=queue_reference.redis.FifoRedisQueue", "--queue-setting=REDIS_URL=redis://127.0.0.1:1"]
    result = pytester.runpytest_subprocess(*arguments)
    line = "queue_reference.redis.FifoRedisQueue cannot be tested here: it connects to localhost:1 (the setting REDIS_URL)*"
    result.stdout.fnmatch_lines([f"ERROR: --queue-class: {line}"])
    result = pytester.runpytest_subprocess(*arguments, "--conformance-allow=127.0.0.1:1")
    result.stdout.fnmatch_lines(["  verdict: INCONCLUSIVE (it cannot be used here: no server answers (*"])
    assert result.ret == 16


CONFTEST = """
from queue_reference.memory import FifoMemoryQueue

def pytest_open_queue(cls, crawler, key):
    return cls(size=3, name=key)
"""
ODD = """
from queue_reference.memory import FifoMemoryQueue

class OddQueue(FifoMemoryQueue):
    def __init__(self, size, name):
        super().__init__()
    from_crawler = None
"""


def test_a_conftest_builds_what_scrapy_could_not(pytester):
    pytester.makepyfile(odd=ODD)
    pytester.makeconftest(CONFTEST)
    result = pytester.runpytest_subprocess("--queue-class=odd.OddQueue", "--conformance-claim=kind=downstream-queue")
    result.stdout.fnmatch_lines(["*verdict: CONFORMANT*"])
    assert result.ret == 0


def test_the_script_of_such_a_queue_builds_it_in_the_same_way(pytester):
    pytester.makepyfile(odd=ODD + "    def pop(self):\n        return self._requests.pop()\n")
    pytester.makeconftest(CONFTEST)
    arguments = ["--conformance-claim=kind=downstream-queue", "--conformance-report=r.jsonl", "-k", "queue.pop.empty-none"]
    pytester.runpytest_subprocess("--queue-class=odd.OddQueue", *arguments)
    records = map(json.loads, (pytester.path / "r.jsonl").read_text().splitlines())
    (script,) = [record["script"] for record in records if record.get("rule") == "queue.pop.empty-none"]
    assert "def pytest_open_queue(cls, crawler, key):" in script
    assert pytester.runpython(pytester.makepyfile(script=script)).ret == 1


@pytest.mark.further
def test_the_authors_own_errors_count_when_claimed(pytester):
    pytester.makepyfile(
        mine="""
        import queue_conformance
        from queue_reference.redis import FifoRedisQueue

        class Gone(Exception):
            pass

        class MyQueue(FifoRedisQueue):
            def push(self, request):
                try:
                    super().push(request)
                except queue_conformance.TransientError as error:
                    raise Gone from error
        """
    )
    arguments = ["--queue-class=mine.MyQueue", "--queue-server=redis", *ARGUMENTS, "-k", "queue.push.transient", "-v"]
    without = pytester.runpytest_subprocess(*arguments)
    received = ["  expected  TransientError, such as queue_conformance.errors.TransientError", "  actual    Gone() raised by *"]
    without.stdout.fnmatch_lines(received)
    claimed = pytester.runpytest_subprocess(*arguments, "--conformance-claim=transient-error=mine.Gone")
    assert (without.ret, claimed.ret) == (1, 0)


def test_the_state_machine_knows_faults():
    machine = state_machine(PATHS[0], queue_settings=SETTINGS, server="redis")
    quick = settings(
        max_examples=10, stateful_step_count=20, database=None, deadline=None, suppress_health_check=list(HealthCheck)
    )
    assert hasattr(machine, "cut_reply")
    run_state_machine_as_test(machine, settings=quick)


# --- The model ------------------------------------------------------------------------------------------------------


def test_an_uncertain_push_may_be_there_or_not():
    model = UncertainQueueModel(Order.FIFO)
    model.push(1)
    model.push(2, certain=False)
    model.push(3)
    assert (model.least, len(model)) == (2, 3)
    assert model.allowed() == [1]
    model.remove(1)
    assert model.allowed() == [2, 3]
    model.remove(3)
    assert model.allowed() == []
    assert model.may_be_empty


def test_the_item_of_a_failed_pop_comes_once_or_twice_and_at_any_time():
    model = UncertainQueueModel(Order.LIFO)
    model.push(1)
    model.push(2)
    model.fail_pop()
    assert not model.may_be_empty
    model.push(3)
    model.remove(2)
    assert model.allowed() == [2, 3]
    model.remove(3)
    model.remove(1)
    assert model.may_be_empty
    assert model.allowed() == [2]


def test_a_push_that_may_still_be_done_comes_at_any_time_or_never():
    model = UncertainQueueModel(Order.FIFO)
    model.push_late(1)
    assert model.may_be_empty
    model.push(2)
    assert model.allowed() == [1, 2]
    model.remove(2)
    assert model.allowed() == [1]


def test_it_is_one_state_which_of_several_pushes_of_an_item_has_left_where_there_is_no_order():
    """Ten items that were pushed twice would be 1,024 states, and seconds for each sequence that is tried."""
    model = UncertainQueueModel(Order.NONE)
    for number in range(60):
        model.push(number % 50)
    for number in range(50):
        assert number in model.allowed()
        model.remove(number)
    assert model.states == {State(tuple(range(10)))}
    model = UncertainQueueModel(Order.FIFO)
    for number in (2, 1, 2):
        model.push(number)
    assert model.states == {State((2, 1, 2))}


def test_what_cannot_be_followed_is_not_judged():
    model = UncertainQueueModel(Order.NONE)
    for number in range(12):
        model.push(number, certain=False)
    assert model.lost_track
    model.clear()
    assert model.states == {State()}


def test_a_conftest_may_leave_a_class_to_the_kit(pytester):
    pytester.makeconftest("def pytest_open_queue(cls):\n    return None\n")
    result = pytester.runpytest_subprocess("--queue-class=queue_reference.memory.FifoMemoryQueue", "-k", "queue.pop")
    assert result.ret == 0


@pytest.mark.usefixtures("wide_terminal")
def test_a_running_server_that_does_not_run_is_explained(pytester):
    result = pytester.runpytest_subprocess(f"--queue-class={PATHS[0]}", "--queue-server=127.0.0.1:1")
    expected = "no server answers at 127.0.0.1:1 (Connection refused); start it, or name one that the kit starts"
    result.stdout.fnmatch_lines([f"ERROR: --queue-class: {expected}"])
    assert result.ret == pytest.ExitCode.USAGE_ERROR


def test_a_server_that_is_not_used_is_noted(pytester):
    arguments = ["--queue-class=queue_reference.memory.FifoMemoryQueue", "--queue-server=redis", "-k", "queue.pop", "-v"]
    pytester.runpytest_subprocess(*arguments).stdout.fnmatch_lines(["*it does not use the server that --queue-server names*"])
