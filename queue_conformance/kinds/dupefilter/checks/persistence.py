"""Checks of what is remembered in later runs, and in other processes."""

import logging
import os
from collections.abc import Iterator

from scrapy import Request

from queue_conformance.engine.another_process import expect_kept_for_another_process
from queue_conformance.engine.blocks import may_raise, under_test
from queue_conformance.engine.check import check
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.fixtures import chdir, offers, years_ago
from queue_conformance.engine.interleaving import Between, Traced, cases_between, elsewhere, finished, in_between, step, undelayed
from queue_conformance.engine.outcomes import NotApplicable, NotCovered
from queue_conformance.engine.samples import PAUSES
from queue_conformance.environments.fixtures import overwrite_files
from queue_conformance.environments.runs import FingerprintFromMeta, fingerprints_in_binary, fingerprints_in_lines
from queue_conformance.kinds.dupefilter.fixtures import count_seen, times_new
from queue_conformance.script_support.interleaving import use_filter
from queue_conformance.script_support.support import logged

SEEN = 40
"""Requests, to as many hosts, that another process must remember: of whatever a hash divides, each part holds some."""


@check("dupefilter.persist.resume", name="resume.reasons", depends_on="seen:0 reopen", reason=PAUSES)
def what_was_seen_is_seen_whatever_ended_the_crawl(open_filter, reason):
    """With a job directory, everything that was seen before a clean close is seen after reopening, in another process too."""
    dupefilter = open_filter()
    count_seen(dupefilter, range(4))
    dupefilter.close(reason)
    dupefilter = open_filter()
    known = count_seen(dupefilter, range(4))
    assert known == 4, "all 4 requests seen in the next run"


HOSTS = 150
"""Hosts of many requests: more than a filter keeps files open of, and fewer than it may open."""

SLOW = 0.3
"""Seconds for few requests after which thousands are not tried."""


def few_and_thousands(context: CheckContext) -> Iterator[int]:
    """Yield 300, and more than a batch of five thousand holds, or where that takes long, more than one of a thousand."""
    started = context.watchdog.now
    yield 300
    yield 6000 if context.watchdog.now - started < SLOW else 1100


@check(
    "dupefilter.persist.resume",
    name="resume.many",
    depends_on=["seen:0 reopen", "seen.many", "seen.thousands"],
    many=[few_and_thousands],
)
def many_are_remembered_in_the_next_run(open_filter, many):
    """With a job directory, everything that was seen before a clean close is seen after reopening, in another process too."""
    dupefilter = open_filter()
    count_seen(dupefilter, range(many), hosts=HOSTS)
    dupefilter.close("shutdown")
    dupefilter = open_filter()
    known = count_seen(dupefilter, range(many), hosts=HOSTS)
    assert known == many, f"all {many} requests seen in the next run"


ANY_BYTES = (*(b"nineteen characters" + end for end in (b"\n", b"\r", b"\0", b" ", b",")), b"\n" * 20, bytes(20), b"\xff" * 20)
"""Fingerprints that are no text, or look like the end of a line or of a record."""


@check("dupefilter.persist.resume", name="resume.any-bytes", depends_on="seen:0 reopen", fingerprint=ANY_BYTES)
def any_bytes_are_remembered_in_the_next_run(open_filter, site, fingerprint):
    """With a job directory, everything that was seen before a clean close is seen after reopening, in another process too."""
    fingerprints = [b"what was seen before", fingerprint, b"what was seen behind"]
    dupefilter = open_filter(REQUEST_FINGERPRINTER_CLASS=FingerprintFromMeta)
    for number, one in enumerate(fingerprints):
        dupefilter.request_seen(Request(f"{site}/{number}", meta={"fingerprint": one}))
    dupefilter.close("shutdown")
    dupefilter = open_filter(REQUEST_FINGERPRINTER_CLASS=FingerprintFromMeta)
    for number, one in enumerate(fingerprints):
        seen = dupefilter.request_seen(Request(f"{site}/{number}", meta={"fingerprint": one}))
        assert seen, "True in the next run"


@check("dupefilter.persist.append", name="append.many", depends_on=["seen:0 reopen", "seen.many", "resume.many"])
def many_of_each_run_are_remembered(open_filter):
    """Fingerprints of several runs accumulate."""
    for start in (0, 300, 600):
        dupefilter = open_filter()
        count_seen(dupefilter, range(start, start + 300), hosts=HOSTS)
        dupefilter.close("shutdown")
    dupefilter = open_filter()
    known = count_seen(dupefilter, range(900), hosts=HOSTS)
    assert known == 900, "all 900 requests of three runs seen in the fourth"


@check("dupefilter.persist.resume", name="resume.new-process", depends_on=["seen:0 reopen", "seen.zone"])
def what_was_seen_is_seen_in_another_process(open_filter, site):
    """With a job directory, everything that was seen before a clean close is seen after reopening, in another process too."""
    dupefilter = open_filter()
    count_seen(dupefilter, range(SEEN), hosts=SEEN, body=b"a=1")
    known = count_seen(dupefilter, range(SEEN), hosts=SEEN, body=b"a=1")
    if known < SEEN:
        raise NotCovered("it does not know all of them again in the same run")
    dupefilter.close("shutdown")
    site = site.replace("://", "://{}.")
    expect_kept_for_another_process(
        lambda dupefilter: sum(
            bool(
                dupefilter.request_seen(
                    Request(site.format(n) + f"/{n}", method=["GET", "POST"][n % 2], body=[b"", b"a=1"][n % 2])
                )
            )
            for n in range(SEEN)
        ),
        SEEN,
        f"all {SEEN} seen in another process",
        before=["crawler_with({})"],
    )


@check("dupefilter.seen.later", name="resume.later", depends_on="seen:0 reopen")
def nothing_is_forgotten_in_a_pause_of_years(open_filter, directory):
    """What was seen long before is seen, in a crawl that runs for a week, and in one that goes on after years."""
    if not offers("persistent"):
        raise NotApplicable("it is not persistent")
    with years_ago(directory):
        dupefilter = open_filter()
        count_seen(dupefilter, range(4))
        dupefilter.close("shutdown")
    with under_test():
        dupefilter = open_filter()
        known = count_seen(dupefilter, range(4))
    assert known == 4, "all 4 requests seen after years"


@check("dupefilter.persist.elsewhere", depends_on="seen:0 reopen")
def a_job_directory_can_be_moved(open_filter, directory):
    """What was seen is seen in a job directory that was moved, and from another working directory."""
    dupefilter = open_filter("job")
    count_seen(dupefilter, range(4))
    dupefilter.close("shutdown")
    os.rename(directory + "/job", directory + "/moved")
    with under_test():
        dupefilter = open_filter("moved", spider="")
        known = count_seen(dupefilter, range(4))
    assert known == 4, "all 4 requests seen in the next run"


@check("dupefilter.persist.elsewhere", name="persist.other-directory", depends_on="seen:0 reopen")
def the_working_directory_does_not_matter(open_filter, directory):
    """What was seen is seen in a job directory that was moved, and from another working directory."""
    dupefilter = open_filter()
    count_seen(dupefilter, range(4))
    dupefilter.close("shutdown")
    os.mkdir(directory + "/elsewhere")
    with chdir(directory + "/elsewhere"), under_test():
        dupefilter = open_filter()
        known = count_seen(dupefilter, range(4))
    assert known == 4, "all 4 requests seen in the next run"


@check("dupefilter.persist.created", depends_on="seen:0 reopen", job=("one/two/job",))
def the_job_directory_is_made(open_filter, job):
    """A job directory that is missing is made, with its parents."""
    with under_test():
        dupefilter = open_filter(job)
        count_seen(dupefilter, range(4))
        dupefilter.close("shutdown")
        dupefilter = open_filter(job)
    known = count_seen(dupefilter, range(4))
    assert known == 4, "all 4 requests seen in the next run"


@check("dupefilter.persist.refused-start", depends_on="seen:0 reopen")
def a_start_that_is_refused_keeps_what_was_seen(open_filter, build_filter):
    """A filter that is built and closed, and was not opened in between, keeps what earlier runs have seen."""
    dupefilter = open_filter()
    count_seen(dupefilter, range(4))
    dupefilter.close("shutdown")
    with may_raise():
        dupefilter = build_filter()
        dupefilter.close("shutdown")
    with under_test():
        dupefilter = open_filter()
        known = count_seen(dupefilter, range(4))
    assert known == 4, "all 4 requests seen in the next run"


LISTED = 4
"""Requests whose fingerprints are in the file of another implementation."""


@check("dupefilter.format.unknown", binary=(False, True))
def foreign_files_are_not_misread(begin_crawl, open_filter, site, job, binary):
    """A file that was written in another format is refused, by an exception or a warning in the log, or understood, but not
    misread in silence.
    """
    dupefilter, spider = begin_crawl()
    fingerprint = spider.crawler.request_fingerprinter.fingerprint
    listed = [fingerprint(Request(site + f"/{n}")) for n in range(LISTED)]
    count_seen(dupefilter, range(LISTED))
    dupefilter.close("shutdown")
    foreign = fingerprints_in_lines(listed)
    if binary:
        foreign = fingerprints_in_binary(listed)
    overwrite_files(job, foreign)
    with under_test(), logged(logging.WARNING) as texts:
        with may_raise() as refused:
            dupefilter = open_filter()
            known = count_seen(dupefilter, range(LISTED))
            mistaken = count_seen(dupefilter, range(LISTED, 2 * LISTED))
        if not refused and not texts:
            assert known == LISTED, "an exception, a warning, or the 4 fingerprints of the file known"
            assert mistaken == 0, "an exception, a warning, or nothing seen that is not in the file"


# --- A store that several processes share ----------------------------------------------------------------------------


@check("dupefilter.shared.atomic")
def one_of_several_processes_is_first(context, filter_factory):
    """With a shared store, exactly one of several processes that see a new request at the same time is told that it is new."""
    new = times_new(filter_factory, range(max(200, 2 * context.examples)))
    if isinstance(new, str):
        raise NotCovered(f"a process failed: {new}")
    new_to_several = sum(times > 1 for times in new)
    assert new_to_several == 0, f"each of {len(new)} requests new to exactly one of four processes"
    new_to_none = sum(times < 1 for times in new)
    assert new_to_none == 0, f"each of {len(new)} requests new to exactly one of four processes"


def interleavings(context: CheckContext) -> Iterator[Between]:
    """Yield the places of ``request_seen``."""
    yield from cases_between(context, [Between("request_seen", "request_seen")], ask)


def ask(context: CheckContext, _pair: Between, traced: Traced) -> None:
    """Ask a filter that nobody else uses."""
    source, build = context.driver.construction("job")
    opened, _ = context.recorder.call(source, context.driver.constructor_rule, build)
    request = context.driver.item(1)
    traced(lambda: context.recorder.call("request_seen()", "dupefilter.shared.atomic", opened.request_seen, request.value))


@check("dupefilter.shared.atomic", name="shared.between", between=[interleavings])
def one_of_two_is_first_whatever_is_in_between(tested_class, open_filter, filter_factory, request_of, between):
    """With a shared store, exactly one of several processes that see a new request at the same time is told that it is new."""
    with (
        under_test(expected=f"no exception, though {between.where}"),
        elsewhere(use_filter, filter_factory, request_of(1)) as other,
    ):
        dupefilter = open_filter()
        step(other)
        with in_between(tested_class, between.number, other):
            seen = dupefilter.request_seen(request_of(1))
        with undelayed(other):
            seen_there = finished(other)
    new = [bool(seen), seen_there].count(False)
    assert new == 1, f"new to exactly one of two processes, though {between.where}"


@check("dupefilter.shared.atomic", name="shared.overtaken", depends_on="shared.between", between=[interleavings])
def what_was_overtaken_is_known(tested_class, open_filter, filter_factory, request_of, between):
    """With a shared store, exactly one of several processes that see a new request at the same time is told that it is new."""
    with (
        under_test(expected=f"no exception, though {between.where}"),
        elsewhere(use_filter, filter_factory, request_of(2)) as other,
    ):
        dupefilter = open_filter()
        step(other)
        with in_between(tested_class, between.number, other):
            dupefilter.request_seen(request_of(1))
        with undelayed(other):
            finished(other)
        seen = dupefilter.request_seen(request_of(2))
    assert seen, f"True for what the other process was told is new, though {between.where}"
