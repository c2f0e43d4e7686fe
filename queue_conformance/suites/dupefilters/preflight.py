"""The first use of duplicates filters, and what their authors claim."""

from __future__ import annotations

import contextlib
import inspect
from typing import Any

from twisted.internet.defer import Deferred

from queue_conformance.engine.bench import Bench
from queue_conformance.implementations.recording import describe

RULES = ("dupefilter.iface", "dupefilter.open.result", "dupefilter.seen.bool")
SHOWN = ("filters", "persistent", "filesystem")
METHODS = ("request_seen", "open", "close", "log")


def preflight(bench: Bench) -> None:
    """Build a filter, open it, ask once and close it.

    Raises:
        RuleBroken: for the first thing that fails.
    """
    rule = "dupefilter.iface"
    driver, record = bench.driver, bench.recorder
    values, settings = driver.settings_of("job")
    crawler = driver.crawler_with(values)
    record.note(f"crawler = crawler_with({settings}{driver.name_source})")
    source, build = driver.building(crawler, driver.class_name)
    raw = record.call(f"dupefilter = {source}", rule, build)
    missing = [name for name in METHODS if not callable(getattr(raw, name, None))]
    assertion = f"all(callable(getattr(dupefilter, name, None)) for name in {METHODS!r})"
    needed = contextlib.nullcontext() if set(missing) - {"log"} else bench.collecting()
    with needed:  # what is not logged is filtered nevertheless
        bench.expect(rule, not missing, f"the methods {', '.join(METHODS)}", f"no {', '.join(missing)}", assertion)
    result = record.call("result = dupefilter.open()", rule, lambda: raw.open())
    _expect_deferred(bench, result)
    _wait(bench, result)
    _expect_truth(bench, raw)
    result = record.call('result = dupefilter.close("finished")', rule, lambda: raw.close("finished"))
    _expect_deferred(bench, result)
    _wait(bench, result)


def _wait(bench: Bench, result: Any) -> None:
    if result is not None:
        bench.recorder.call("wait(result)", "dupefilter.iface", bench.driver.waited, result)


def _expect_deferred(bench: Bench, result: Any) -> None:
    rule = "dupefilter.open.result"
    right = result is None or isinstance(result, Deferred)
    later = inspect.iscoroutine(result)
    if later:
        result.close()  # nobody will wait for it
    with contextlib.nullcontext() if later else bench.collecting():  # another result does no harm in the other checks
        bench.expect(rule, right, "None or a Deferred", result, "result is None or isinstance(result, Deferred)", final=True)


def _expect_truth(bench: Bench, raw: Any) -> None:
    rule = "dupefilter.seen.bool"
    item = bench.driver.item(1)
    seen = bench.recorder.call(f"seen = dupefilter.request_seen({item.source})", rule, lambda: raw.request_seen(item.value))
    later = inspect.isawaitable(seen) or isinstance(seen, Deferred)
    if inspect.iscoroutine(seen):
        seen.close()
    bench.expect(rule, not later, "True or False", seen, "not hasattr(seen, '__await__')", final=True)
    try:
        bool(seen)
    except Exception as error:
        bench.fail(rule, "a truth value", f"bool() of it raises {describe(error)}", ["bool(seen)"])


def show_absence(bench: Bench, rule: str, name: str) -> None:
    """Show in a few operations what probing found: that a claimed capability is not there."""
    dupefilter, item = bench.open(), bench.driver.item(1)
    dupefilter.seen(item)
    if name == "persistent":
        dupefilter.close()
        dupefilter = bench.open()
    if name in ("filters", "persistent"):
        when = "in the next run" if name == "persistent" else "the second time"
        seen = dupefilter.seen(item)
        bench.fail(rule, f"{name}, as claimed", f"{seen!r} for a request that is seen {when}", ["assert seen, repr(seen)"])
    dupefilter.close()
    bench.recorder.note(f"left = files_below({bench.driver.job_source()})")
    bench.fail(rule, f"{name}, as claimed", "no file in the job directory", ["assert left, 'no file'"])
