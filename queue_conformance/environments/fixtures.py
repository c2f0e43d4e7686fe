"""The fixtures of checks on what belongs to a crawl of Scrapy, and may keep files in a job directory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from queue_conformance.engine.case import Case, fixture
from queue_conformance.engine.fixtures import operation
from queue_conformance.environments import engine
from queue_conformance.environments import runs as running

change_settings = operation(engine.change_settings)
occupy = operation(engine.occupy)
cut_files = operation(running.cut_files, damages=True)
extend_files = operation(running.extend_files, damages=True)
overwrite_files = operation(running.overwrite_files, damages=True)


@fixture
def crawler(case: Case) -> Any:
    """The crawler that the class is built from."""
    return case.sources.give(case.context.driver.crawler, "crawler")


@fixture
def job(case: Case) -> str:
    """The job directory."""
    return str(case.context.driver.job())


@fixture
def use_another_crawler(case: Case) -> Iterator[Callable[[], None]]:
    """``use_another_crawler()``: build for another crawl of this process from now on, with a crawler and a spider of its own."""
    driver = case.context.driver
    crawler, spider = driver.crawler, driver.names["spider"]

    def used() -> None:
        source = driver.crawler_source("ExampleSpider", engine=driver.needs_engine(""))
        made = next(number for number, line in enumerate(source) if line.startswith("crawler = "))
        for line in source[made:]:
            case.record.note(line)
        driver.crawler = driver.crawler_with({}, spider.name)
        driver.use_spider(driver.crawler.spider)

    yield used
    driver.crawler = crawler
    driver.use_spider(spider)
