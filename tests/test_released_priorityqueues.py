"""The released priority queues of Scrapy: every failed rule of these tables was looked at by hand."""

import pytest
from kit import RELEASES, examine, failed_rules, further
from packaging.version import Version

SCRAPY = Version(RELEASES["scrapy"])

BOTH = {
    # The bucket of a failed push stays, empty: close names it, and where start requests wait pop returns None.
    "pq.push.failed-no-trace",
    # `m = q.pop(); if not q: q.close()`: what these raise is raised instead of returning m.
    "pq.pop.cleanup-error",
    # `for q in queues: q.close()`: the first that raises ends it.
    "pq.close.fault",
    # `queue.peek()` on whatever the downstream class is, against the docstring: AttributeError.
    "pq.peek.unsupported",
    # curprio = min(startprios) though nothing is there: peek raises KeyError. A slot without requests is served: None.
    "pq.resume.stale",
    # startprios is iterated over before min(startprios).
    "pq.resume.iterable",
    # One open queue for each priority or slot.
    "pq.scale.buckets",
}

BY_PRIORITY = BOTH | {
    # A dict is iterated over as if its keys were priorities.
    "pq.resume.foreign-state",
}

BY_SLOT = BOTH | {
    # close clears pqueues, so that the second one returns {}.
    "pq.close.twice",
    # A host of 253 characters and its MD5 make a name of 286.
    "pq.slot.long-names",
}


def expected(usual):
    rules = usual | {"pq.peek.equals-pop"}  # start requests are looked at first, and popped last
    if Version("2.13.1") > SCRAPY:  # curprio is not updated when a bucket of start requests is drained
        rules |= {"pq.peek.empty-none"} if usual is BY_PRIORITY else set()
    if Version("2.14") > SCRAPY and usual is BY_SLOT:  # a download_slot of None is no text to name a directory after
        rules |= {"pq.slot.key"}
    if Version("2.15") <= SCRAPY and usual is BY_SLOT:  # the turn follows the names, so new ones may always come before
        rules |= {"pq.slot.no-starvation"}
    return rules


@pytest.mark.parametrize(
    ("name", "usual"),
    [("ScrapyPriorityQueue", BY_PRIORITY), *further(("DownloaderAwarePriorityQueue", BY_SLOT))],
    ids=["priority", "slot"],
)
def test_the_priority_queues_of_scrapy_break_what_they_are_known_to_break(name, usual, examples):
    assert failed_rules(examine(f"scrapy.pqueues.{name}", examples=examples)) == expected(usual)


@pytest.mark.further
@pytest.mark.parametrize("seed", [5, 7, 9])
def test_what_one_mistake_brings_about_is_blamed_on_no_other_rule(seed):
    report = examine("scrapy.pqueues.DownloaderAwarePriorityQueue", seed=seed, meets=lambda _number, check: check.is_machine)
    assert failed_rules(report) <= expected(BY_SLOT)


def test_what_one_profile_does_not_ask_is_blamed_on_no_other_rule_there():
    checks = ("pq.pop.empty-none", "pq.resume.all", "machine")
    report = examine("scrapy.pqueues.ScrapyPriorityQueue", {"profile": "external-queue"}, only=checks, examples=40)
    assert failed_rules(report) == {"pq.push.failed-no-trace"}


def test_what_a_base_class_gets_wrong_does_not_hide_what_a_subclass_does():
    path = "mutants.looks_ahead.PeeksAtTwelveBuckets"
    report = examine(path, only=("pq.peek.equals-pop", "peek.many", "machine"), examples=20)
    (verdict,) = [verdict for verdict in report.verdicts if verdict.rule.id == "pq.peek.equals-pop"]
    causes = {finding.cause for finding in verdict.violation.findings}
    assert causes >= {"peek: out of turn", "peek: not empty"}
