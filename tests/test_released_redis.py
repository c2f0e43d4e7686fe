"""The released queues and the scheduler of scrapy-redis: every failed rule of these tables was looked at by hand.

``LifoQueue`` is ``FifoQueue`` with another end.
"""

import runpy

import pytest
from kit import downloads, failed_rules, without_crawls
from kit import examine as examine_path
from pages import DOCS

from queue_conformance import examine
from queue_conformance.engine.verdicts import Verdict

queues = pytest.importorskip("scrapy_redis.queue", reason="needs scrapy-redis")

pytestmark = pytest.mark.further

OPEN = runpy.run_path(str(DOCS / "matrix" / "conftest.py"))["pytest_open_queue"]
SETTINGS = {"REDIS_URL": "redis://{host}:{port}/0?socket_timeout=0.3&socket_connect_timeout=0.3"}

SCRAPY = {
    # push lets the errors of pickle through, and asks nobody whether the request can be rebuilt.
    "queue.push.serialization-error",
    "queue.push.serialization-all-causes",
    "queue.push.rebuildable",
    # RPOP and LPOP remove the request before its callback is looked for.
    "queue.pop.missing-callback",
}
EXTERNAL = SCRAPY | {
    # push lets the errors of redis-py through.
    "queue.push.transient-error",
    "queue.push.transient-after-success",
    # pop and len let the errors of redis-py through, too.
    "queue.pop.transient-none",
    "queue.len.transient-no-raise",
    # RPOP and LPOP remove the request before the reply is there: it is gone if the connection, or the process, ends then.
    "queue.pop.reply-cut",
    "queue.shared.no-loss",
}
BEYOND = {
    "FifoQueue": set(),
    # A sorted set holds equal members once.
    "PriorityQueue": {"queue.push.duplicates", "queue.pop.priority-range"},  # and its scores are floating-point numbers
}
TWICE = {
    # redis-py sends a command again whose reply was lost: LPUSH stores it once more, ZADD does not.
    "FifoQueue": {"queue.push.retry"},
    "PriorityQueue": set(),
}


@pytest.mark.parametrize("name", ["PriorityQueue", "FifoQueue"])
def test_the_queues_of_scrapy_redis_break_what_they_are_known_to_break(name):
    given = {"open_queue": OPEN, "settings": SETTINGS, "server": "redis", "examples": 30}
    (report,) = examine(getattr(queues, name), claims=["shared"], **given).implementations
    assert (report.profile, report.also.profile) == ("scrapy", "external-queue")
    assert failed_rules(report) == SCRAPY | BEYOND[name]
    assert failed_rules(report.also) == EXTERNAL | BEYOND[name] | TWICE[name]
    assert {"queue.shared.once", "queue.shared.visible"} <= {
        v.rule.id for v in report.also.verdicts if v.verdict is Verdict.PASSED
    }


def test_the_scheduler_of_scrapy_redis_breaks_what_it_is_known_to_break():
    settings = {**SETTINGS, "SCHEDULER_PERSIST": "True", "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter"}
    report = examine_path(
        "scrapy_redis.scheduler.Scheduler", settings=settings, server="redis", examples=15, meets=without_crawls
    )
    assert failed_rules(report) == {
        "scheduler.enqueue.true",  # equal requests are stored once in its sorted set, dont_filter or not
        "scheduler.enqueue.answers",  # enqueue_request lets the errors of pickle through,
        "scheduler.enqueue.refused-not-seen",  # once the filter has recorded the fingerprint,
        "scheduler.enqueue.failed-not-seen",  # and those of redis-py, where the server goes between its two commands
        "scheduler.fault.keeps",  # what was refused so is a duplicate when it is enqueued again
    }


@pytest.mark.skipif(not downloads(), reason="needs a Scrapy that can download")
def test_crawlers_share_the_scheduler_of_scrapy_redis_and_take_what_they_have_with_them():
    settings = {**SETTINGS, "SCHEDULER_PERSIST": "True", "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter"}
    rules = {f"e2e.shared.{name}" for name in ("once", "frozen", "killed", "redelivered", "restarted", "cut-off")}
    claims = {"shared": "yes", "redelivers": "yes"}  # it does not claim the second, and says nowhere that it does not
    report = examine_path("scrapy_redis.scheduler.Scheduler", claims, settings=settings, server="redis", only=rules)
    assert failed_rules(report) == {
        "e2e.shared.redelivered",  # a request is removed from the sorted set when a crawler takes it, by ZREMRANGEBYRANK
        "e2e.shared.restarted",  # enqueue_request lets the error of the connection through, and the request is gone;
        "e2e.shared.cut-off",  # that of a time-out, too
    }
    assert rules - failed_rules(report) <= {v.rule.id for v in report.verdicts if v.verdict is Verdict.PASSED}
