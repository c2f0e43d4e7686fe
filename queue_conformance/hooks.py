"""The hooks that an author may implement in a conftest.py."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.hookspec(firstresult=True)
def pytest_open_queue(cls: type[Any], crawler: Any, key: str) -> Any:
    """Build a downstream queue, or a duplicates filter, whose constructor is not the one that Scrapy calls.

    What the hook builds is held to all rules; only its construction is taken as given. Where there is no such hook, or it
    returns ``None``, the kit builds the class as Scrapy does.

    Args:
        cls: the class under test.
        crawler: a ``scrapy.crawler.Crawler`` with settings, statistics and a spider.
        key: what identifies the queue, text; equal keys are the same queue. For a duplicates filter it is empty.

    Returns:
        The queue, or the filter.
    """
