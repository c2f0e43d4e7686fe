"""The released dupefilters and spider-state extensions: every failed rule of this table was looked at by hand."""

import pytest
from kit import RELEASES, examine, failed_rules
from packaging.version import Version

from queue_conformance.engine.verdicts import RunVerdict, Verdict

SCRAPY = Version(RELEASES["scrapy"])
BINARY = SCRAPY.release >= (2, 19)  # the format of requests.seen
LINE_BY_LINE = (2, 14) <= SCRAPY.release < (2, 19)  # how it is written
REDIS = {"settings": {"REDIS_URL": "redis://{host}:{port}/0"}, "server": "redis"}

# What is appended behind half a line, or half a record, is read as a part of it, or not at all.
RFP = {"dupefilter.crash.then-clean"}
if BINARY:
    # The string of a subclass goes through bytes.fromhex(), and a file of lines gives no record: it is ignored in silence.
    RFP |= {"dupefilter.subclass.fingerprint", "dupefilter.format.unknown"}

# The file is emptied before the state is serialized. A file that cannot be read raises in spider_opened, where the exception
# is logged, and the spider runs without a state; the close then empties the file. So does that of a spider which was not opened.
STATE = {"state.failed-save-keeps", "state.refused-start-keeps", "state.torn"}

# It computes fingerprints by itself, its log counts nothing, and from_crawler names its set after the second.
SCRAPY_REDIS = {"dupefilter.seen.custom-fingerprinter", "dupefilter.log.stat", "dupefilter.seen.no-false-positive"}


@pytest.mark.further
def test_the_filter_of_scrapy_breaks_what_it_is_known_to_break():
    report = examine("scrapy.dupefilters.RFPDupeFilter")
    assert failed_rules(report) == RFP
    assert report.verdict is RunVerdict.CONFORMANT  # torn records, and what a subclass overrides, decide no verdict


@pytest.mark.further
@pytest.mark.parametrize("seed", [1, 2])
def test_the_filter_of_scrapy_breaks_the_same_on_other_seeds(seed):
    assert failed_rules(examine("scrapy.dupefilters.RFPDupeFilter", seed=seed)) == RFP


def test_the_filter_that_filters_nothing_keeps_every_rule_that_applies():
    report = examine("scrapy.dupefilters.BaseDupeFilter")
    assert report.verdict is RunVerdict.CONFORMANT
    passed = {verdict.rule.id for verdict in report.verdicts if verdict.verdict is Verdict.PASSED}
    assert "dupefilter.base.never" in passed


def test_the_release_notes_are_right_about_what_a_crash_loses():
    report = examine("scrapy.dupefilters.RFPDupeFilter", only="sigkill")
    lost = "0 of 1, 0 of 10, 0 of 100" if LINE_BY_LINE else "1 of 1, 10 of 10, 100 of 100"
    assert f"lost after SIGKILL: {lost} fingerprints" in report.notes


@pytest.mark.further
def test_the_filter_of_scrapy_is_crash_safe_in_some_releases_only():
    claimed = failed_rules(examine("scrapy.dupefilters.RFPDupeFilter", {"crash-safe": "yes"}))
    assert claimed == RFP | (set() if LINE_BY_LINE else {"dupefilter.crash.loss"})


@pytest.mark.further
def test_the_extension_of_scrapy_breaks_what_it_is_known_to_break():
    report = examine("scrapy.extensions.spiderstate.SpiderState")
    assert failed_rules(report) == STATE
    assert report.verdict is RunVerdict.CONFORMANT


@pytest.mark.further
def test_the_filter_of_scrapy_redis_breaks_what_it_is_known_to_break():
    pytest.importorskip("scrapy_redis")
    report = examine("scrapy_redis.dupefilter.RFPDupeFilter", **REDIS)
    assert failed_rules(report) == SCRAPY_REDIS
    # What Scrapy's documents say of Scrapy's filter binds no other.
    assert {verdict.rule.id for verdict in report.failed_rules("MUST")} == {"dupefilter.seen.no-false-positive"}


def test_a_filter_that_follows_that_of_scrapy_is_held_to_what_its_documents_say():
    pytest.importorskip("scrapy_redis")
    claims = {"follows": "scrapy.dupefilters.RFPDupeFilter"}
    report = examine("scrapy_redis.dupefilter.RFPDupeFilter", claims, only="dupefilter.log.stat", **REDIS)
    assert {verdict.rule.id for verdict in report.failed_rules("MUST")} == {"dupefilter.log.stat"}


def test_the_filter_of_scrapy_redis_is_shared_by_what_starts_in_one_second_only():
    pytest.importorskip("scrapy_redis")
    report = examine("scrapy_redis.dupefilter.RFPDupeFilter", {"shared": "yes"}, only="dupefilter.shared.atomic", **REDIS)
    assert failed_rules(report) == {"dupefilter.shared.atomic"}
