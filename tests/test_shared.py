"""Queues that several processes share: right ones keep every rule, and what cannot be told is said to be so."""

import pytest
from kit import downloads, examine, failed_rules, further

from mutants import QCRAWL
from queue_conformance.engine.verdicts import RunVerdict, Verdict
from queue_reference.redis_shared import SharedFifoRedisQueue

ALONE = {"REDIS_URL": "redis://{host}:{port}/0", "REDIS_TIMEOUT": "0.5"}
SETTINGS = ALONE | {"REDIS_LEASE": "1"}
REFERENCE = "queue_reference.redis_shared.SharedFifoRedisQueue"
RULES = (
    "queue.shared.once",
    "queue.shared.undisturbed",
    "queue.shared.no-loss",
    "queue.shared.visible",
    "queue.shared.at-once",
)
CHECKS = (
    "shared.between",
    "shared.overtaken",
    "shared.gone",
    "queue.shared.once",
    "queue.shared.no-loss",
    "queue.shared.visible",
)


class PushRaises(SharedFifoRedisQueue):
    """Has no room for a third request."""

    def push(self, request):
        if len(self) == 2:
            raise RuntimeError("no room")
        super().push(request)


class LengthRaises(SharedFifoRedisQueue):
    """Cannot count to two."""

    def __len__(self):
        length = super().__len__()
        if length == 2:
            raise RuntimeError("no number")
        return length


class LengthIsNegative(SharedFifoRedisQueue):
    """Says -1 for two."""

    def __len__(self):
        length = super().__len__()
        return -1 if length == 2 else length


class CountsItsOwn(SharedFifoRedisQueue):
    """Does not count what was there before it."""

    def __init__(self, crawler, key):
        super().__init__(crawler, key)
        self.before = super().__len__()

    def __len__(self):
        return max(0, super().__len__() - self.before)


def examined(path, *, claims=None, server="redis", **options):
    given = {"settings": SETTINGS, "examples": 25, **options}
    return examine(path, {"shared": "yes"} | (claims or {}), server=server, **given)


def verdicts(report):
    return {verdict.rule.id: verdict for verdict in report.verdicts}


class HoldsFive(SharedFifoRedisQueue):
    """Takes five requests at a time under its lease: what it held when it was killed comes back when that has run out."""

    def _take(self):
        if not self._holds and self._delivered is None:
            self._run(*[("LMOVE", self._key, self._taken(self._consumer), "LEFT", "RIGHT")] * 4)
        return super()._take()


@pytest.mark.further
@pytest.mark.parametrize(("lease", "verdict"), [("0.5", Verdict.PASSED), ("60", Verdict.NOT_COVERED)])
def test_what_a_killed_process_holds_under_a_lease_is_not_lost(lease, verdict):
    claims = {"profile": "scrapy", "crash-safe": "yes"}
    settings = SETTINGS | {"REDIS_LEASE": lease}
    report = examined("test_shared.HoldsFive", claims=claims, settings=settings, only="queue.persist.crash-push", examples=10)
    assert not failed_rules(report)
    assert verdicts(report)["queue.persist.crash-pop"].verdict is verdict


@pytest.mark.parametrize(
    ("path", "verdict"), [(REFERENCE, Verdict.PASSED), *further(("test_shared.CountsItsOwn", Verdict.FAILED))]
)
def test_what_a_killed_process_had_taken_may_be_counted_for_a_while(path, verdict):
    report = examined(path, claims={"profile": "scrapy"}, only="queue.persist.crash-open")
    assert verdicts(report)["queue.persist.crash-length"].verdict is verdict


@pytest.mark.further
def test_the_reference_keeps_every_rule():
    report = examined(REFERENCE, examples=15)
    assert not failed_rules(report)
    assert report.verdict is RunVerdict.CONFORMANT
    found = verdicts(report)
    assert {found[rule].verdict for rule in RULES} == {Verdict.PASSED}
    assert not [v.rule.id for v in report.verdicts if v.verdict in (Verdict.BLOCKED, Verdict.NOT_COVERED)]


@pytest.mark.further
def test_the_reference_keeps_the_rules_on_fakeredis():
    report = examined(REFERENCE, server="fakeredis", only=CHECKS)
    found = verdicts(report)
    assert not failed_rules(report)
    assert {found[rule].verdict for rule in RULES} == {Verdict.PASSED}


@pytest.mark.further
@pytest.mark.parametrize("path", ["mutants.controls.CountsNowAndThen", "mutants.controls.CountsWhatItGave"])
def test_a_length_that_is_about_right_breaks_nothing(path):
    names = {"machine", "queue.len.truth", "queue.len.transient-nonzero", "queue.pop.exactly-once", *CHECKS}
    report = examined(path, seed=1, only=names)
    assert not failed_rules(report)
    assert {"queue.len.truth", "queue.len.transient-nonzero"} <= {
        rule for rule, found in verdicts(report).items() if found.verdict is Verdict.PASSED
    }


def test_the_reference_is_right_without_the_claim_too():
    report = examine(REFERENCE, settings=SETTINGS, server="redis", only="machine", examples=25)
    assert not failed_rules(report)
    assert verdicts(report)["queue.len.count"].verdict is Verdict.PASSED


def test_an_exact_length_is_asked_of_no_shared_queue():
    found = verdicts(examined(REFERENCE, only="queue.len.truth"))
    rules = ("queue.push.accept", "queue.len.count", "queue.len.pop-none", "queue.len.last-known", "queue.ctor.stored-length")
    assert {found[rule].verdict for rule in rules} == {Verdict.NOT_APPLICABLE}


@pytest.mark.further
def test_a_lease_that_is_too_long_to_wait_for_is_no_loss():
    found = verdicts(examined(REFERENCE, settings=SETTINGS | {"REDIS_LEASE": "60"}, only=CHECKS))
    assert found["queue.shared.no-loss"].verdict is Verdict.NOT_COVERED
    assert "though len() counts it" in found["queue.shared.no-loss"].reason
    assert found["queue.shared.once"].verdict is found["queue.shared.visible"].verdict is Verdict.PASSED


@pytest.mark.further
def test_what_an_operation_raises_among_others_is_named():
    report = examined("queue_reference.redis.FifoRedisQueue", settings=ALONE, only=CHECKS)  # a queue for one process
    assert failed_rules(report) >= {"queue.shared.undisturbed", "queue.shared.visible"}
    first = verdicts(report)["queue.shared.undisturbed"].violation
    (load,) = [one for one in (first, *first.others) if "side_by_side(" in one.actual]
    assert "LookupError(" in load.actual


@pytest.mark.parametrize(
    ("name", "rule", "text"),
    [
        ("PushRaises", "queue.pop.exactly-once", "no room"),
        ("LengthRaises", "queue.len.truth", "no number"),
        ("LengthIsNegative", "queue.len.truth", "ValueError"),
    ],
)
def test_what_is_wrong_with_one_process_is_not_lost_where_its_rule_does_not_apply(name, rule, text):
    report = examined(f"{__name__}.{name}", only=rule)
    assert failed_rules(report) == {rule}
    assert text in verdicts(report)[rule].violation.actual


@pytest.mark.parametrize(
    ("path", "claims"),
    [
        ("mutants.between.FlockedBytes", {}),
        *further(("mutants.controls.SharedFile", {}), ("mutants.between.Transactions", {"profile": "external-queue"})),
    ],
)
def test_files_can_be_shared_too(path, claims):
    report = examined(path, claims=claims, server="", settings={}, only={"machine", *CHECKS})
    found = verdicts(report)
    assert not failed_rules(report)
    assert {found[rule].verdict for rule in RULES if rule != "queue.shared.no-loss"} == {Verdict.PASSED}
    assert found.get("queue.shared.no-loss") is None or found["queue.shared.no-loss"].verdict is Verdict.NOT_APPLICABLE


def test_a_filter_in_a_file_can_be_shared():
    report = examine(
        "mutants.between_filters.SharedInAFile", {"shared": "yes"}, only=("shared.between", "dupefilter.shared.atomic")
    )
    assert verdicts(report)["dupefilter.shared.atomic"].verdict is Verdict.PASSED


@pytest.mark.skipif(not QCRAWL, reason="needs qCrawl")
def test_an_asynchronous_queue_in_a_file_can_be_shared():
    report = examine("mutants.async_between.SharedSQLite", {"shared": "yes"}, only="aqueue.shared", examples=10)
    assert verdicts(report)["aqueue.shared"].verdict is Verdict.PASSED


SCHEDULER = "queue_reference.redis_scheduler.SharedRedisScheduler"
LEASE = {"settings": ALONE | {"REDIS_LEASE": "3"}, "server": "redis"}
needs_downloads = pytest.mark.skipif(not downloads(), reason="needs a Scrapy that can download")


@needs_downloads
def test_what_a_killed_crawler_had_is_downloaded_by_another_one():
    claims = {"shared": "yes", "redelivers": "yes"}
    report = examine(SCHEDULER, claims, only="e2e.shared.redelivered", **LEASE)
    (found,) = [v for v in report.verdicts if v.rule.id == "e2e.shared.redelivered"]
    assert found.verdict is Verdict.PASSED


@needs_downloads
@pytest.mark.further
def test_a_shared_scheduler_keeps_every_rule():
    report = examine(SCHEDULER, {"shared": "yes", "redelivers": "yes"}, examples=20, **LEASE)
    assert report.verdict is RunVerdict.CONFORMANT
    shared = {v.rule.id: v.verdict for v in report.verdicts if v.rule.id.startswith("e2e.shared.")}
    assert len(shared) == 6
    assert {*shared.values()} == {Verdict.PASSED}


@pytest.mark.further
def test_what_a_killed_crawler_had_may_come_later():
    settings = LEASE["settings"] | {"REDIS_LEASE": "10"}
    report = examine(SCHEDULER, {"shared": "yes"}, only="scheduler.crash.ends", settings=settings, server="redis")
    found = verdicts(report)["scheduler.crash.ends"]
    assert found.verdict is Verdict.NOT_COVERED
    assert "given out later" in found.reason
