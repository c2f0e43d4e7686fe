"""The fixtures of checks on extensions that keep the state of spiders."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from queue_conformance.engine.case import Case, fixture
from queue_conformance.engine.fixtures import operation
from queue_conformance.engine.outcomes import NotApplicable, NotCovered
from queue_conformance.environments import fixtures, runs  # noqa: F401  registers the fixtures of components
from queue_conformance.implementation.signatures import may_lack_all, methods_of

assign = operation(runs.assign)
count_page = operation(runs.count_page)
finish = operation(runs.finish, "state.saved")
finish_alone = operation(runs.finish_alone)


@fixture
def change(case: Case) -> Callable[..., None]:
    """``change(spider, {"count": 1})``: change the state as a callback does."""

    def changed(spider: Any, values: Any) -> None:
        source = f"spider.state.update({case.record.written(values)})"
        case.record.make(source, "state.fresh", lambda: runs.change(spider, values), shown=False)

    return changed


@fixture
def state_of(case: Case) -> Callable[..., Any]:
    """``state_of(spider)``: its state, as a plain dictionary if it is a dictionary of any class."""
    return lambda spider: case.record.make("getattr(spider, 'state', None)", case.rule, lambda: runs.state_of(spider))


@fixture
def start(case: Case) -> Callable[..., Any]:
    """``spider = start("job")``: begin a run of a spider with the extension; no job for ``None``, and settings as keywords."""
    return partial(_start, case, case.context.driver.constructor_rule)


@fixture
def resume(case: Case) -> Callable[[], Any]:
    """``spider = resume()``: begin the next run of the job; if that raises, the rule of the check fails."""
    return partial(_start, case, case.rule)


@fixture
def refused_start(case: Case) -> Callable[[], Any]:
    """``spider = refused_start()``: build the extension for a run that is refused before the spider is opened."""
    return partial(_start, case, case.context.driver.constructor_rule, opened=False)


@fixture
def start_alone(case: Case) -> Callable[[], Any]:
    """``spider = start_alone()``: build the extension without a job directory, and open a spider, where its class allows that.

    Raises:
        NotApplicable: if it does not: who builds itself in ``from_crawler`` alone is called by nobody else.
    """
    cls = case.context.implementation.cls
    if len(methods_of(cls, "spider_opened", "spider_closed")) < 2 or not may_lack_all(cls):
        raise NotApplicable("its constructor has no job directory that may be None, or it has no spider_opened and spider_closed")
    source = f"alone({case.context.driver.class_name})"
    return lambda: case.sources.give(case.record.make(source, case.rule, lambda: runs.alone(cls), "spider"), "spider")


def _start(case: Case, rule: str, job: str | None = "job", **options: Any) -> Any:
    source, build = case.context.driver.construction(job, **options)
    return case.sources.give(case.record.make(source, rule, build, "spider"), "spider")


@fixture
def start_fresh(case: Case) -> Callable[[], Any]:
    """``spider = start_fresh()``: begin the first run of a job, which begins with nothing; that it does is judged elsewhere."""

    def started() -> Any:
        spider = start(case)()
        if runs.state_of(spider) != {}:
            raise NotCovered("a new job does not begin with an empty state")
        return spider

    return started
