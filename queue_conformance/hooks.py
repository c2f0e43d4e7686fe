"""The hooks that an author may implement in a conftest.py."""

from __future__ import annotations

from typing import Any

import pytest


def pytest_prepare_spider(spider: Any) -> None:
    """Give a spider what the class under test looks for in it, such as ``spider.redis_key``.

    It is called with every spider of the kit that is built for a downstream queue, priority queue, scheduler, dupefilter
    or spider-state extension, before anything else is built. Whole crawls, which the command line of Scrapy runs, import it:
    one that is defined within another function cannot be imported, and then nothing is crawled.

    Args:
        spider: a ``scrapy.Spider`` with ``crawler`` and ``settings``.
    """


@pytest.hookspec(firstresult=True)
def pytest_open_queue(cls: type[Any], crawler: Any, key: str) -> Any:
    """Build an implementation whose constructor is not the one that Scrapy, queuelib or qCrawl calls.

    It builds downstream queues, byte queues, asynchronous queues, schedulers and dupefilters. Priority queues,
    round-robin queues, asynchronous schedulers and extensions are driven by arguments of their constructors that only the
    kit has: for these the hook is not called, and the report says so.

    What it builds is held to all rules; only its construction is taken as given. Where there is no such hook, or it returns
    ``None``, the kit builds the class by itself. The function takes those of the arguments that it needs.

    Args:
        cls: the class under test.
        crawler: a ``scrapy.crawler.Crawler`` with settings, statistics and a spider; ``None`` for a byte queue and for an
            asynchronous queue.
        key: what identifies the queue, text; equal keys are the same queue. It is a path below a scratch directory, where
            nothing is yet. For a scheduler, it is that of the job directory; for a dupefilter it is empty.

    Returns:
        What it built; for an asynchronous queue, the function may be a coroutine function.
    """
