"""What stands for a crawl around components that are built from a crawler, and ways to look at them and to hurt their files.

Scripts quote the definitions that they need from this file word by word; they have no annotations.
"""

import os
from pathlib import Path

from pydispatch.robustapply import robustApply
from scrapy import Spider, signals
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.misc import build_from_crawler
from scrapy.utils.test import get_crawler
from twisted.internet.defer import Deferred

from queue_conformance.compat.scrapy import settle, start_reactor
from queue_conformance.environments.engine import give_engine


def crawler_with(settings, name="example", prepare=None):
    """Return a crawler with a spider and an engine, and without extensions."""
    start_reactor()
    crawler = get_crawler(Spider, {"EXTENSIONS_BASE": {}, **settings})
    crawler.spider = Spider.from_crawler(crawler, name)
    if prepare is not None:
        prepare(crawler.spider)
    give_engine(crawler)
    return crawler


def wait(result):
    """Wait for the end of what open, close or a handler began."""
    return settle(result) if isinstance(result, Deferred) else result


# --- Dupefilters ----------------------------------------------------------------------------------------------


def opened(cls, settings, name="example", prepare=None, build=build_from_crawler):
    """Build a dupefilter as the scheduler does, and wait until it is open; return it, and the spider."""
    crawler = crawler_with(settings, name, prepare)
    dupefilter = build(cls, crawler)
    wait(dupefilter.open())
    return dupefilter, crawler.spider


def fingerprints_in_binary(listed):
    """Return the file of Scrapy 2.19 with these fingerprints."""
    return b"".join(len(one).to_bytes(2, "big") + one for one in listed)


def fingerprints_in_lines(listed):
    """Return the file of the releases before with these fingerprints."""
    return b"".join(one.hex().encode() + b"\n" for one in listed)


class FingerprintFromMeta:
    """A request fingerprinter that takes what the request brings along."""

    def fingerprint(self, request):
        return request.meta["fingerprint"]


class ByURL:
    """Tells requests apart by their URLs as they are, and by nothing else."""

    def request_fingerprint(self, request):
        return request.url


# --- Extensions ------------------------------------------------------------------------------------------------------


def send(crawler, message, **arguments):
    """Send a signal as the engine does, and wait for its handlers."""
    if hasattr(crawler.signals, "send_catch_log_async"):
        wait(deferred_from_coro(crawler.signals.send_catch_log_async(message, **arguments)))
    else:
        wait(crawler.signals.send_catch_log_deferred(message, **arguments))


def unopened(cls, settings, name="example", prepare=None):
    """Build an extension for a spider whose run is refused before it is opened, as its scheduler raises; return the spider."""
    crawler = crawler_with(settings, name, prepare)
    crawler.extension = build_from_crawler(cls, crawler)
    return crawler.spider


def started(cls, settings, name="example", prepare=None):
    """Begin a run of a spider with an extension; return the spider."""
    spider = unopened(cls, settings, name, prepare)
    send(spider.crawler, signals.spider_opened, spider=spider)
    send(spider.crawler, signals.engine_started)
    return spider


def alone(cls):
    """Build an extension without arguments, as tests of spiders do, and tell it that a spider is opened; return the spider."""
    spider = Spider("example")
    spider.extension = cls()
    _tell(spider.extension.spider_opened, spider=spider)
    return spider


def finish_alone(spider):
    """Tell an extension that was built without arguments that its spider is closed."""
    _tell(spider.extension.spider_closed, spider=spider, reason="finished")


def _tell(receiver, **arguments):
    """Call what a signal calls, with those of the arguments that it takes."""
    wait(deferred_from_coro(robustApply(receiver, **arguments)))


def finish(spider, reason="finished"):
    """End the run of a spider cleanly."""
    send(spider.crawler, signals.spider_closed, spider=spider, reason=reason)
    send(spider.crawler, signals.engine_stopped)


def state_of(spider):
    """Return the state of a spider: a plain dictionary, if it is a dictionary of any class."""
    state = getattr(spider, "state", None)
    return dict(state) if isinstance(state, dict) else state


def change(spider, values):
    """Change the state of a spider as a callback does."""
    spider.state.update(values)


def assign(spider, values):
    """Give a spider another state, as a callback may."""
    spider.state = values


def count_page(spider):
    """Change the state of a spider in place."""
    spider.state["pages"]["count"] += 1
    spider.state["last"][0] += 1


# --- What is logged, and files ---------------------------------------------------------------------------------------


def files_below(directory):
    """Return the files below a directory, in order."""
    return sorted(path for path in Path(directory).rglob("*") if path.is_file())


def contents_below(directory):
    """Return the contents of the files below a directory that are not empty."""
    return {path.read_bytes() for path in files_below(directory)} - {b""}


def cut_files(directory, number):
    """Cut that many bytes off the end of each file."""
    for path in files_below(directory):
        os.truncate(path, max(0, path.stat().st_size - number))


def extend_files(directory, data):
    """Write bytes behind the end of each file."""
    for path in files_below(directory):
        path.write_bytes(path.read_bytes() + data)


def overwrite_files(directory, data):
    """Put other bytes in the place of the content of each file."""
    for path in files_below(directory):
        path.write_bytes(data)
