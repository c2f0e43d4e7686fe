"""The first use of dupefilters, and what their authors claim."""

from __future__ import annotations

import inspect

from twisted.internet.defer import Deferred

from queue_conformance.engine.blocks import under_test
from queue_conformance.engine.check import check, run_case
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.fixtures import missing_methods, truth
from queue_conformance.kinds.dupefilter import fixtures  # noqa: F401  registers those of dupefilters
from queue_conformance.script_support.support import names_below

RULES = ("dupefilter.iface", "dupefilter.open.result", "dupefilter.seen.bool")
SHOWN = ("filters", "persistent", "filesystem")


def smoke(context: CheckContext) -> None:
    """Build a filter, open it, ask once and close it.

    Raises:
        RuleFailed: for the first thing that fails.
    """
    run_case(context, context.driver.constructor_rule, _it_can_be_used)
    with context.collecting():
        run_case(context, context.driver.interface_rule, _it_can_be_closed)


def _it_can_be_used(build_filter, request_of, wait):
    dupefilter = build_filter()
    assert missing_methods(dupefilter, ["request_seen", "open"]) == [], "no method missing"
    result = dupefilter.open()
    with under_test("dupefilter.open.result"):
        if inspect.iscoroutine(result):
            assert result is None, "None or a Deferred"
    wait(result)
    seen = dupefilter.request_seen(request_of(1))
    with under_test("dupefilter.seen.bool"):
        if inspect.isawaitable(seen):
            assert seen in (True, False)
        assert truth(seen) in (True, False)
    if missing_methods(dupefilter, ["close"]) == []:
        result = dupefilter.close("shutdown")
        with under_test("dupefilter.open.result"):
            if inspect.iscoroutine(result):
                assert result is None, "None or a Deferred"
        wait(result)


def _it_can_be_closed(build_filter):
    dupefilter = build_filter()
    assert missing_methods(dupefilter, ["request_seen", "open", "close"]) == [], "no method missing"


def it_is_there(open_filter, request_of, job, name):
    claimed = f"{name}, as claimed"
    with under_test():
        dupefilter = open_filter()
        dupefilter.request_seen(request_of(1))
        if name == "filters":
            assert dupefilter.request_seen(request_of(1)), claimed
        dupefilter.close("shutdown")
        if name == "persistent":
            dupefilter = open_filter()
            assert dupefilter.request_seen(request_of(1)), claimed
        elif name == "filesystem":
            assert names_below(job) != [], claimed


@check("dupefilter.iface")
def what_is_filtered_can_be_logged(build_filter):
    """A dupefilter is built from a crawler, and has `request_seen(request)`, `open()`, `close(reason)` and `log(request,
    spider)`.
    """
    dupefilter = build_filter()
    assert missing_methods(dupefilter, ["log"]) == [], "no method missing"


@check("dupefilter.open.result")
def open_and_close_return_none_or_a_deferred(build_filter, wait):
    """`open` and `close` return `None` or a `Deferred`."""
    dupefilter = build_filter()
    for method in ("open", "close"):
        result = dupefilter.open() if method == "open" else dupefilter.close("shutdown")
        if not isinstance(result, Deferred):
            assert result is None, "None or a Deferred"
        wait(result)
