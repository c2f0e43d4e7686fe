"""Crawls of qCrawl with the scheduler, over a server on the loopback address; the event loop is the stock one.

A crawl that fails because of a rule which has a check of its own is that rule's failure.
"""

from queue_conformance.engine.check import check
from queue_conformance.kinds.async_scheduler.common import WORKS
from queue_conformance.kinds.async_scheduler.fixtures import new

USUAL = ("ascheduler.add.forms", "ascheduler.join", "join.direct", "ascheduler.add.dedupe", "ascheduler.add.direct")
"""The checks of what every crawl needs."""


@check("e2e.q.all", depends_on=USUAL, concurrency=(1, 3))
def everything_is_downloaded(crawl, concurrency):
    """A crawl of qCrawl downloads every accepted request once, and then ends."""
    links = {"/1": ["/3", "/4", "/2"], "/3": ["/5", "/1"]}
    spider = crawl({"/1": 0, "/2": 0}, links=links, concurrency=concurrency)
    assert sorted(spider.requested) == ["/1", "/2", "/3", "/4", "/5"], "each page requested once"


@check("e2e.q.bounded", depends_on=["ascheduler.add.full", "ascheduler.add.full-no-hang", "e2e.q.all"])
def a_crawl_over_a_bounded_queue_ends(crawl):
    """A crawl with more start requests than its queue has room for ends, and logs those that were dropped."""
    logs = new("Logs")
    spider = crawl({"/1": 0, "/2": 0, "/3": 0, "/4": 0}, maxsize=2)
    assert sorted(spider.requested) == ["/1", "/2"]
    assert len(logs.after("Queue full, dropping request: ")) == 2


@check(
    "e2e.q.resume",
    depends_on="e2e.q.all",
    first="ascheduler.join.recovered",  # without it a crawl may end as if nothing was stored, or never
    start=({}, {"/3": 0}),
)
def a_crawl_goes_on_with_what_is_stored(crawl, directory, start):
    """A crawl on a persistent queue with requests of an earlier run downloads them, and ends."""
    queue = new("DiskQueue", f"{directory}/queue")
    spider = crawl(start, queue, concurrency=1, stored=["/1", "/2"])
    assert sorted(spider.requested) == ["/1", "/2", *start]


@check("e2e.q.resume", name="resume.closed", depends_on=WORKS)
def what_was_not_handed_out_is_stored_after_close(new_scheduler, page, loop, directory):
    """A crawl on a persistent queue with requests of an earlier run downloads them, and ends."""
    queue = new("DiskQueue", f"{directory}/queue")
    scheduler = new_scheduler(queue)
    for number in range(6):
        loop.run(scheduler.add(page(number)))
    loop.run(scheduler.get())
    loop.call(scheduler.task_done)
    loop.settle()
    loop.run(scheduler.close())
    loop.settle()
    queue = new("DiskQueue", f"{directory}/queue")
    scheduler = new_scheduler(queue)
    left = loop.run(scheduler.qsize())
    assert left == 5, "the 5 that nobody has got, in a queue that is opened again"


@check("e2e.q.bad-item", depends_on="e2e.q.all", concurrency=(1, 3))
def a_request_that_cannot_be_read_is_passed_over(crawl, directory, concurrency):
    """A stored request that cannot be read does not stop the crawl."""
    queue = new("DiskQueue", f"{directory}/queue")
    spider = crawl({"/1": 2, "/2": 1, "/3": 0}, queue, spoiled=f"{directory}/queue", concurrency=concurrency)
    assert len(spider.requested) == 2
    assert len(set(spider.requested)) == 2, "no page requested twice"


@check("e2e.q.retry", depends_on=["ascheduler.retry", "e2e.q.all"])
def a_failure_is_retried(crawl):
    """A request that failed for a moment is downloaded again."""
    spider = crawl({"/1": 0, "/2": 0}, failures={"/1": [503, 503]})
    assert sorted(spider.requested) == ["/1", "/1", "/1", "/2"], "/1 requested again after each 503"


@check("e2e.q.priority", depends_on=["ascheduler.get.order", "e2e.q.all"])
def the_most_urgent_is_downloaded_first(context, crawl):
    """A crawl with one worker downloads requests by priority, in the direction of its queue."""
    spider = crawl({"/0": 0, "/3": 3, "/1": 1, "/2": 2}, concurrency=1)
    assert spider.requested == [f"/{number}" for number in sorted(range(4), reverse=context.driver.higher_first)]


@check("e2e.q.stats-access", depends_on=["e2e.q.all", "ascheduler.stats.keys"])
def the_scheduler_can_be_asked_during_a_crawl(crawl):
    """During a crawl the scheduler is at `crawler.engine.scheduler`, and its `stats()` can be read."""
    spider = crawl({"/1": 0, "/2": 0}, asking=True, concurrency=1)
    assert spider.stats is not None, "the stats of crawler.engine.scheduler in the callback of a page"
    assert spider.stats.get("queued") == 1
