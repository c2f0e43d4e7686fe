"""Capabilities are found by probing; claims are read, applied and compared."""

import hashlib
import re

import pytest
from kit import examine, failed_rules, further, implementation, without_crawls, without_jobs
from scrapy.core.scheduler import Scheduler
from scrapy.dupefilters import RFPDupeFilter

from mutants import QCRAWL
from queue_conformance.engine.verdicts import RunVerdict, Verdict
from queue_conformance.implementation.capabilities import (
    Capabilities,
    ClaimError,
    Order,
    apply_claims,
    contradictions,
    parse_claims,
    untried,
)
from queue_conformance.implementation.expectations import documented, hold, lineage_of, order_by_docstring, promised
from queue_conformance.reports.terminal import why
from queue_conformance.specification import Level
from queue_conformance.specification.kinds import kind_named


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("scrapy.squeues.FifoMemoryQueue", {"fifo", "ordered", "peek"}),
        ("scrapy.squeues.PickleLifoDiskQueue", {"lifo", "ordered", "peek", "persistent", "filesystem", "serializes"}),
        ("queue_reference.disk.FifoDiskQueue", {"fifo", "ordered", "peek", "persistent", "filesystem", "serializes"}),
        ("queue_reference.memory.LifoMemoryQueue", {"lifo", "ordered", "peek"}),
        ("queuelib.queue.FifoDiskQueue", {"fifo", "ordered", "peek", "persistent", "filesystem", "chunked"}),
        ("mutants.controls.WithoutPeek", {"fifo", "ordered", "peek-stub"}),
        ("mutants.controls.Unordered", {"peek"}),
        ("mutants.controls.ShortestFirst", {"peek"}),
    ],
)
def test_capabilities_are_found(path, names):
    assert implementation(path).capabilities.names - {"clear"} == names


@pytest.mark.parametrize(
    ("path", "shared"),
    [
        ("mutants.controls.SharedFile", True),
        ("mutants.between.FlockedBytes", True),
        ("queue_reference.disk.FifoDiskQueue", False),
        ("mutants.controls_schedulers.SQLiteScheduler", True),
        ("queue_reference.scheduler.Scheduler", False),
        ("mutants.between_filters.SharedInAFile", True),
        ("queue_reference.dupefilter.DupeFilter", False),
        *([("mutants.async_between.SharedSQLite", True), ("queue_reference.async_queues.DiskQueue", False)] if QCRAWL else []),
    ],
)
def test_storage_that_two_processes_share_is_found(path, shared):
    found = implementation(path).capabilities
    assert found.shared_storage == shared
    assert "shared" not in found.names
    assert ("shared storage" in implementation(path).kind.describe(found)) == shared


@pytest.mark.parametrize(
    ("name", "claims", "covered"),
    [
        ("InMemory", {}, "FIFO, peek; "),
        ("LocksItsKey", {}, "FIFO, filesystem, peek; "),
        ("NotesItsProcess", {}, "FIFO, filesystem, peek; "),
        ("KeepsALog", {}, "FIFO, filesystem, peek; "),
        ("LogsItsCrawls", {}, ""),
        ("SpillsOver", {"persistent": "no"}, "FIFO, persistent=no as claimed, filesystem, serializes, peek; "),
        ("NewestLifoQueue", {}, "LIFO, peek, clear; "),
        ("CountsRequests", {}, ""),
        ("FiltersOneRun", {}, "filters; "),
        ("ForOneRun", {"persistent": "no"}, "persistent=no as claimed, filesystem, filters; "),
        ("ForQueuesInMemory", {"persistent": "no"}, "persistent=no as claimed, peek; "),
    ],
)
def test_what_rightly_keeps_nothing_is_blamed_for_nothing(name, claims, covered, pytestconfig):
    bulky = name == "SpillsOver" and not pytestconfig.getoption("--everything")  # it writes 100,000 items to files, in 10 CPU s
    meets = (lambda number, check: check.name != "push.large") if bulky else without_jobs
    report = examine(f"mutants.controls_forgetful.{name}", claims, examples=10, meets=meets)
    assert not failed_rules(report)
    assert report.verdict is (RunVerdict.PARTIAL if bulky else RunVerdict.CONFORMANT)
    covered = f"no MUST rule failed, but not all checks were run; {covered}" if bulky else covered
    assert re.fullmatch(re.escape(covered) + r"\d+ of \d+ MUST rules apply", why(report))


@pytest.mark.parametrize(
    ("name", "claims", "covered"),
    [
        ("HeapQueue", {}, "FIFO, by priority, peek; "),
        ("LowestFirst", {"priority": "lower-first"}, "FIFO, by priority, peek; "),
        ("Unstable", {}, "by priority, peek; "),
        ("RefusesWhatIsLarge", {}, "FIFO, by priority, peek; "),
        ("AsText", {"priority": "none"}, "FIFO, peek; "),
    ],
)
def test_a_queue_may_order_by_priority(name, claims, covered):
    report = examine(f"mutants.by_priority.{name}", claims, examples=25, meets=without_jobs)
    assert not failed_rules(report)
    assert report.verdict is RunVerdict.CONFORMANT
    assert why(report).startswith(covered)


def test_a_close_that_no_fault_reaches_proves_nothing():
    report = examine("mutants.controls_collections.KnowsHowToClose", only="queuelib.close.fault")
    (found,) = (verdict for verdict in report.verdicts if verdict.rule.id == "queuelib.close.fault")
    assert (found.verdict, found.reason) == (Verdict.NOT_COVERED, "it closes its inner queues by something else than their close")


def test_a_priority_that_is_claimed_is_a_must():
    report = examine("mutants.by_priority.ClaimsToBeLowestFirst", {"priority": "lower-first"}, only="queue.pop.priority")
    assert [verdict.rule.id for verdict in report.failed_rules(Level.MUST)] == ["queue.pop.priority"]


@pytest.mark.parametrize(
    ("name", "needs"),
    [
        ("FiltersByItem", "requests seem to need meta['item']: line {}, 'seen = number in self.numbers', is not reached"),
        ("FiltersOneSite", "line {}, 'seen = request.url in self.pages', is not reached"),
    ],
)
def test_a_filter_that_filters_nothing_here_is_not_called_conformant(name, needs):
    path = f"mutants.controls_forgetful.{name}"
    report = examine(path, only="dupefilter.seen.first")
    (first,) = (verdict for verdict in report.verdicts if verdict.rule.id == "dupefilter.seen.first")
    assert first.verdict is Verdict.NOT_COVERED
    claim = "; if it should not be, say --conformance-claim=filters=no"
    assert re.sub(r"line \d+", "line {}", first.reason) == needs + claim
    assert untried(implementation(path).capabilities, {"filters": "no"}) == {}


def test_a_filter_that_is_to_filter_nothing_leaves_nothing_out():
    assert untried(implementation("scrapy.dupefilters.BaseDupeFilter").capabilities, {}) == {}


@pytest.mark.parametrize(
    ("name", "checks"),
    [
        ("working_directory.SeenHere", {"dupefilter.persist.resume", "dupefilter.seen.no-false-positive"}),
        ("working_directory.TextHere", {"dupefilter.persist.resume", "dupefilter.seen.fingerprint-shape"}),
        ("working_directory.BytesHere", {"queue.persist.reopen", "queue.ctor.key-identity"}),
        *([("async_working_directory.StoresHere", {"aqueue.persist.reopen"})] if QCRAWL else []),
    ],
)
def test_what_rightly_stores_in_the_working_directory_is_persistent(name, checks):
    report = examine(f"mutants.{name}", only={"smoke", "machine", *checks}, examples=10)
    assert not failed_rules(report)
    assert "persistent" in implementation(f"mutants.{name}").capabilities.names


@pytest.mark.skipif(not QCRAWL, reason="needs qCrawl")
def test_a_log_of_an_asynchronous_queue_is_no_storage():
    assert implementation("mutants.async_working_directory.LogsHere").capabilities.held == {}


def test_a_log_of_a_filter_that_names_urls_is_no_storage():
    assert implementation("mutants.working_directory.LogsDuplicates").capabilities.held == {}


@pytest.mark.skipif(not QCRAWL, reason="needs qCrawl")
def test_an_asynchronous_queue_is_held_to_what_its_files_show():
    report = examine("mutants.async_disk.BeginsAnew", only="aqueue.persist.reopen")
    assert failed_rules(report) == {"aqueue.persist.reopen"}


def test_what_is_there_cannot_be_disclaimed():
    held = Capabilities(order=Order.LIFO, peek=True, held={"persistent": "it writes files", "order": "FIFO"})
    assert apply_claims(held, {}).names == {"fifo", "ordered", "peek", "persistent"}
    assert apply_claims(held, {"persistent": "no", "peek": "no"}).names == {"fifo", "ordered", "peek"}
    assert apply_claims(held, {"order": "none"}).order is Order.NONE
    assert contradictions(held, {"persistent": "yes"}) == ([], [])


@pytest.mark.parametrize(
    ("path", "held"),
    [
        ("mutants.forgetful.RemovesItsFile", {"persistent": "it writes files below its key"}),
        ("mutants.forgetful.NeverLoads", {"persistent": "queuelib.queue.FifoDiskQueue is documented so"}),
        ("mutants.forgetful.StoresNothing", {"persistent": "it takes a path"}),
        ("mutants.forgetful.FifoTurnedRound", {"order": "FIFO"}),
        ("mutants.forgetful.KeepsOnlyWhatWasSeen", {"persistent": "it refuses in the next run what it lost in the last one"}),
        ("scrapy.squeues.PickleLifoDiskQueue", {}),
        ("queuelib.queue.LifoSQLiteQueue", {}),
        ("scrapy.core.scheduler.Scheduler", {}),
        ("scrapy.pqueues.DownloaderAwarePriorityQueue", {}),
        ("scrapy.dupefilters.RFPDupeFilter", {}),
    ],
)
def test_what_did_not_show_is_held_to_for_a_reason(path, held):
    assert implementation(path).capabilities.held == held


def test_what_is_serialized_is_found():
    pickled = implementation("scrapy.squeues.PickleFifoDiskQueue").capabilities.stores
    assert set(pickled.values()) == {"kept"}
    marshalled = implementation("scrapy.squeues.MarshalFifoDiskQueue").capabilities.stores
    assert marshalled["datetime"] == "refused"
    assert marshalled["bytearray"] == "changed"
    assert marshalled["tuple"] == "kept"


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("persistent", {"persistent": "yes"}),
        ("peek=no", {"peek": "no"}),
        ("peek=False", {"peek": "no"}),
        ("order=lifo", {"order": "LIFO"}),
        ("order=unordered", {"order": "none"}),
        ("crash_safe", {"crash-safe": "yes"}),
        ("kind=byte-queue", {"kind": "byte-queue"}),
    ],
)
def test_claims_are_read(text, claims):
    assert parse_claims([text], ["byte-queue"]) == claims


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("persistant", "unknown claim 'persistant'; did you mean 'persistent'?"),
        ("order=random", "the claim 'order' cannot be 'random': write order=FIFO|LIFO|none"),
        ("peek=maybe", "the claim 'peek' cannot be 'maybe': write peek=yes|no"),
        ("kind=stack", "the claim 'kind' cannot be 'stack': write kind=byte-queue"),
    ],
)
def test_a_wrong_claim_is_explained(text, message):
    with pytest.raises(ClaimError) as caught:
        parse_claims([text], ["byte-queue"])
    assert str(caught.value) == message


def test_a_claimed_order_counts():
    assert apply_claims(Capabilities(order=Order.FIFO), {"order": "LIFO"}).order is Order.LIFO


def test_what_cannot_be_probed_is_taken_from_the_claims():
    assert {"crash-safe", "shared"} <= apply_claims(Capabilities(), {"crash-safe": "yes", "shared": "yes"}).names


def test_what_was_found_counts_more_than_a_claim():
    assert not apply_claims(Capabilities(), {"peek": "yes"}).peek


def test_contradictions_are_found_both_ways():
    found = Capabilities(peek=True)
    assert contradictions(found, {"peek": "no", "clear": "yes", "order": "LIFO"}) == (["clear"], ["peek"])
    assert contradictions(found, {"peek": "yes", "clear": "no"}) == ([], [])


class LastFirst:
    """A scheduler that looks at no slot: what came last comes first."""

    def __init__(self):
        self._requests = []

    def has_pending_requests(self):
        return bool(self._requests)

    def enqueue_request(self, request):
        self._requests.append(request)
        return True

    def next_request(self):
        return self._requests.pop() if self._requests else None


class LowestFirst(LastFirst):
    """A scheduler that looks at no slot: the lowest priority comes first."""

    def enqueue_request(self, request):
        self._requests.append(request)
        self._requests.sort(key=lambda request: -request.priority)
        return True


@pytest.mark.parametrize("name", ["LastFirst", "LowestFirst"])
def test_another_order_is_not_taken_for_slots(name):
    report = examine(f"test_capabilities.{name}", only="smoke")
    assert "slots" not in report.offers


class Enqueues(Scheduler):
    """A scheduler of Scrapy's that looks at what is enqueued."""

    def enqueue_request(self, request):
        return super().enqueue_request(request)


class Replaces(LastFirst, Scheduler):
    """A scheduler of its own, derived from Scrapy's for the name of it."""


def test_a_subclass_is_held_to_what_documents_say_of_its_base_unless_it_replaces_all_of_it():
    path = "scrapy.core.scheduler.Scheduler"
    assert {"persistent", "filters", "length"} <= documented(Enqueues, {}).keys()
    assert path in lineage_of(Enqueues)
    assert documented(Replaces, {}) == {}
    assert path not in lineage_of(Replaces)


class ComparesUrls(RFPDupeFilter):
    """A filter of its own, derived from Scrapy's for the name of it: requests with one URL are one to it."""

    def __init__(self):
        self.urls = set()

    @classmethod
    def from_crawler(cls, crawler):
        return cls()

    def request_seen(self, request):
        known = request.url in self.urls
        self.urls.add(request.url)
        return known

    def close(self, reason): ...

    def log(self, request, spider): ...


class KeepsFragments(RFPDupeFilter):
    """Scrapy's filter with fingerprints of its own, for pages that are made of fragments."""

    def request_fingerprint(self, request):
        return hashlib.sha1(f"{request.method} {request.url} {request.body}".encode()).hexdigest()


class LooksAtFragments(RFPDupeFilter):
    """Scrapy's filter, asked about another request where there is a fragment."""

    def request_seen(self, request):
        return super().request_seen(request.replace(url=request.url.replace("#", "?")))


@pytest.mark.parametrize(
    ("name", "level"),
    [("ComparesUrls", Level.SHOULD), *further(("LooksAtFragments", Level.MUST), ("KeepsFragments", Level.SHOULD))],
)
def test_a_filter_is_bound_by_what_it_inherits(name, level):
    report = examine(f"test_capabilities.{name}", examples=10, meets=without_crawls)
    verdicts = {verdict.rule.id: verdict for verdict in report.verdicts}
    assert verdicts["dupefilter.seen.equivalence"].verdict is Verdict.FAILED
    assert verdicts["dupefilter.seen.equivalence"].rule.level is level
    assert ("persistent" in report.offers) == (name != "ComparesUrls")
    expected = RunVerdict.CONFORMANT if name == "KeepsFragments" else RunVerdict.NON_CONFORMANT
    assert report.verdict is expected, failed_rules(report)


@pytest.mark.parametrize(
    ("text", "promises"),
    [
        ("Requests of higher priority come first; of equal ones the oldest.", {"by-priority"}),
        ("By priority, the highest first.", {"by-priority"}),
        ("Hands out requests: each once, the highest priority first.", {"by-priority"}),
        ("It hands out requests in the order in which they came, whatever their priorities are.", set()),
        ("Higher priorities do not come first.", set()),
        ("Requests of lower priority come first, higher ones last.", set()),
        ("At equal priority start requests come last.", set()),
        ("Requests of one priority are FIFO.", {"fifo"}),
        ("Not FIFO.", set()),
        ("Lower numbers come first, equal ones first in, first out.", {"fifo"}),
        ("", set()),
    ],
)
def test_a_docstring_promises_an_order_where_it_says_so_plainly(text, promises):
    assert promised(type("Told", (), {"__doc__": text})) == promises


@pytest.mark.parametrize(
    ("name", "text", "order", "spoken"),
    [
        ("ByAge", "FIFO by the time of the push.", Order.NONE, Order.FIFO),
        ("ByAge", "FIFO by the time of the push.", Order.FIFO, Order.NONE),
        ("LifoOfMine", "", Order.NONE, Order.LIFO),
        ("LifoOfMine", "", Order.FIFO, Order.NONE),  # it is held to the order in its name
        ("Heap", "In no order.", Order.NONE, Order.NONE),
        ("Mine", "A FIFO queue in memory.", Order.LIFO, Order.NONE),  # it is held to what it says
    ],
)
def test_an_order_that_a_class_speaks_of_and_does_not_show_is_one_to_claim(name, text, order, spoken):
    found = hold(Capabilities(order=order), type(name, (), {"__doc__": text}), {})
    assert found.spoken_order is spoken
    assert (" is meant, claim order=" in kind_named("downstream-queue").describe(found)) == (spoken is not Order.NONE)
    assert apply_claims(found, {"order": "none"}).spoken_order is Order.NONE


def test_a_docstring_that_is_no_text_promises_nothing():
    told = type("Told", (), {"__doc__": property(lambda self: "FIFO")})
    assert (promised(told), order_by_docstring(told)) == (set(), Order.NONE)


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("A FIFO queue\nin memory.", Order.FIFO),
        ("Requests, last in first out.", Order.LIFO),
        ("Persistent ``LIFO`` queue.", Order.LIFO),
        ("In-memory FIFO queue.", Order.FIFO),
        ("A right queue, first in, first out: in one table.", Order.FIFO),
        ("Unlike the FIFO queue, the newest first.", Order.NONE),
        ("Turns a FIFO queue round.", Order.NONE),
        ("A stack beside FIFO queues.", Order.NONE),
        ("Requests on Redis Stack.", Order.NONE),
        ("Not a FIFO queue.", Order.NONE),
        ("Requests in memory.\n\nSee FIFO queues.", Order.NONE),
        ("Requests in memory. FIFO.", Order.NONE),
    ],
)
def test_a_class_is_held_to_the_order_that_its_docstring_begins_with(text, order):
    other = {Order.FIFO: Order.LIFO, Order.LIFO: Order.FIFO}
    for found in (Order.FIFO, Order.LIFO):
        held = hold(Capabilities(order=found), type("Mine", (), {"__doc__": text}), {}).held
        assert held == ({"order": order.value} if order is other[found] else {})


class Copied:
    """A scheduler behind a server that was copied from a released one."""

    @classmethod
    def from_settings(cls, settings):
        return cls(settings.getbool("SCHEDULER_PERSIST"))


class CopiedToKeep(Copied):
    """One that keeps what it stored unless the setting says otherwise."""

    @classmethod
    def from_settings(cls, settings):
        return cls(settings.getbool("SCHEDULER_PERSIST", True))


@pytest.mark.parametrize(
    ("cls", "settings", "held"),
    [
        (Copied, {}, False),
        (CopiedToKeep, {}, True),
        (Copied, {"SCHEDULER_PERSIST": "False"}, False),
        (Copied, {"SCHEDULER_PERSIST": "True"}, True),
        (Scheduler, {}, True),
    ],
)
def test_a_class_that_keeps_as_a_setting_says_is_held_to_it_where_that_is_on(cls, settings, held):
    found = hold(Capabilities(), cls, settings, {"persistent": ["it leaves keys in its server"]})
    assert ("persistent" in found.held) == held
