"""The reference implementations keep every rule, whatever is drawn."""

import pytest
from kit import FIFO_BYTES, FIFO_DISK, LEAN, LIFO_DISK, REFERENCES, SCHEDULER, examine, failed_rules, further
from scrapy.http import request

from queue_conformance.engine.verdicts import RunVerdict, Verdict

LOG = "mutants.controls.LogByteQueue"
OTHERS = (
    LOG,
    *(f"mutants.controls.{name}" for name in ("ChunkedByteQueue", "FilePerItem", "WithoutPeek", "Unordered")),
)
STOOD_FOR = tuple(path for path in REFERENCES if ".Lifo" in path or path == SCHEDULER)
"""All but the order of these is that of a FIFO queue beside them; a scheduler crawls whole jobs, for 40 CPU s."""
CRASH_SAFE = (FIFO_DISK, FIFO_BYTES, LOG, LIFO_DISK, "queue_reference.bytequeues.LifoByteQueue")


@pytest.mark.parametrize("path", [*(path for path in REFERENCES if path not in STOOD_FOR), *further(*STOOD_FOR, *OTHERS)])
def test_a_reference_keeps_every_rule(path, examples):
    report = LEAN.examine(path, {"crash-safe": "yes"} if path == FIFO_DISK else {}, examples=examples)
    assert not failed_rules(report)
    assert report.verdict is RunVerdict.CONFORMANT
    untested = {v.rule.id for v in report.verdicts if v.verdict in (Verdict.BLOCKED, Verdict.NOT_COVERED)}
    assert untested <= {"queue.push.large"}


@pytest.mark.further
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("path", CRASH_SAFE)
def test_a_reference_that_keeps_its_items_is_safe_against_crashes(path, seed):
    crashes = {"queue.persist.crash-push", "queue.persist.torn"}
    report = LEAN.examine(path, {"crash-safe": "yes"}, seed=seed, only=crashes)
    assert not failed_rules(report)
    passed = {v.rule.id for v in report.verdicts if v.verdict is Verdict.PASSED}
    assert crashes | {"queue.persist.crash-pop"} <= passed


@pytest.mark.parametrize("path", OTHERS)
def test_another_right_one_keeps_every_rule_on_another_seed(path):
    assert not failed_rules(LEAN.examine(path, seed=1, only="machine"))


def test_a_queue_may_wait_for_the_next_tick_of_the_clock():
    assert not failed_rules(LEAN.examine("mutants.controls_stores.WaitsForATimeOfItsOwn", only="pop.clock"))


@pytest.mark.parametrize("seed", [1, 2])
def test_every_request_survives_on_other_seeds(seed):
    assert not failed_rules(LEAN.examine("queue_reference.disk.FifoDiskQueue", seed=seed, only="queue.pop.roundtrip"))


def test_requests_that_scrapy_cannot_make_twice_are_not_drawn(monkeypatch):
    whole = request.safe_url_string  # as w3lib 2.1 has it, an IPv6 address loses its brackets, and is no URL then
    monkeypatch.setattr(request, "safe_url_string", lambda *given: whole(*given).replace("[::1]", "::1"))
    assert not failed_rules(examine("queue_reference.disk.FifoDiskQueue", only="queue.pop.roundtrip"))


@pytest.mark.further
def test_a_longer_run_also_tries_a_hundred_thousand_items():
    report = LEAN.examine("queue_reference.bytequeues.FifoByteQueue", examples=2000, only="push.large")
    (large,) = [v for v in report.verdicts if v.rule.id == "queue.push.large"]
    assert large.verdict is Verdict.PASSED


@pytest.mark.further
@pytest.mark.parametrize("seed", [0, 1])
def test_a_byte_queue_that_refuses_nothing_has_no_refused_push_to_leave_a_trace(seed):
    report = LEAN.examine("mutants.bytequeues.TakesAnything", seed=seed, examples=20)
    assert failed_rules(report) == {"queue.push.bytes-only"}
    silent = {"queue.push.failed-no-trace", "queue.close.keeps"}
    assert silent <= {verdict.rule.id for verdict in report.verdicts if verdict.verdict is Verdict.NOT_APPLICABLE}
    assert report.verdict is RunVerdict.CONFORMANT


@pytest.mark.further
def test_another_exception_than_a_type_error_hides_nothing_of_refused_pushes():
    report = LEAN.examine("mutants.bytequeues.RaisesItsOwnError", examples=20)
    assert failed_rules(report) == {"queue.push.bytes-only"}
    assert report.verdict is RunVerdict.CONFORMANT


@pytest.mark.parametrize("path", ["queue_reference.disk.LifoDiskQueue", "queue_reference.memory.FifoMemoryQueue"])
def test_claims_that_are_true_break_nothing(path):
    persistent = "disk" in path
    claims = {"persistent": "yes" if persistent else "no", "order": "LIFO" if persistent else "FIFO", "peek": "yes"}
    report = LEAN.examine(path, claims, only="queue.peek.equals-pop")
    (rule,) = [v for v in report.verdicts if v.rule.id == "claims.true"]
    assert rule.verdict is Verdict.PASSED


def test_what_is_there_and_disclaimed_is_noted():
    report = LEAN.examine("queue_reference.memory.FifoMemoryQueue", {"peek": "no"}, only="queue.peek.equals-pop")
    assert "peek is disclaimed, but there" in report.notes
    assert not failed_rules(report)


def test_a_queue_may_say_once_it_is_closed_that_there_is_nothing():
    report = LEAN.examine("mutants.controls.EmptyOnceClosed", only="queue.close.use-after")
    (rule,) = [v for v in report.verdicts if v.rule.id == "queue.close.use-after"]
    assert rule.verdict is Verdict.PASSED


def test_a_queue_in_memory_may_find_its_requests_by_its_crawler():
    assert not failed_rules(LEAN.examine("mutants.controls.KeptByCrawl", only="keys.crawls"))


def test_a_queue_may_compress_what_it_stores():
    assert not failed_rules(LEAN.examine("mutants.controls.Compresses", only=("queuelib.clear.space", "push.any-bytes")))


@pytest.mark.parametrize("name", ["Compresses", "RefusesLargeRequests"])
def test_the_end_of_a_file_that_is_never_reached_is_not_covered(name):
    report = LEAN.examine(f"mutants.controls.{name}", only="push.near-edges")
    (once,) = [v for v in report.verdicts if v.rule.id == "queue.pop.exactly-once"]
    assert (once.verdict, once.reason) == (Verdict.NOT_COVERED, "its files do not grow by as much as is pushed")


def test_sizes_that_are_refused_are_not_covered():
    report = LEAN.examine("mutants.controls.RefusesLargeRequests", only="push.near-pages")
    assert "push.near-pages: not covered in some cases: it refuses what is so large" in report.notes


REFUSING = (
    *("push.large", "push.large-refused", "push.near-pages", "push.near-edges"),
    *("reopen.large", "queue.pop.exactly-once", "queue.persist.elsewhere"),
)


def test_a_queue_may_refuse_what_is_large():
    report = LEAN.examine("mutants.controls.RefusesLargeRequests", only=REFUSING)
    assert failed_rules(report) == {"queue.push.large"}
    (once,) = [v for v in report.verdicts if v.rule.id == "queue.pop.exactly-once"]
    assert once.verdict is Verdict.PASSED


def test_the_objects_of_a_byte_queue_need_no_dictionary():
    assert not failed_rules(LEAN.examine("mutants.controls.SlottedByteQueue", only=("chunks.sizes", "chunks.clear")))


def test_a_queue_may_store_callbacks_of_a_spider_that_is_false():
    report = LEAN.examine("mutants.controls.FindsMethodsItself", only="queue.push.callback-method")
    (rule,) = [v for v in report.verdicts if v.rule.id == "queue.push.callback-method"]
    assert rule.verdict is Verdict.PASSED


def test_a_queue_may_be_keyed_by_the_name_of_its_spider():
    report = LEAN.examine(
        "mutants.controls.KeyedByName", only=("queue.pop.missing-callback", "queue.pop.spider-binding", "machine")
    )
    assert not failed_rules(report)
    (rule,) = [v for v in report.verdicts if v.rule.id == "queue.pop.missing-callback"]
    assert rule.verdict is Verdict.PASSED
