"""Checks of what is kept from run to run."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import Any

from scrapy.exceptions import NotConfigured
from scrapy.utils.misc import build_from_crawler

from queue_conformance.engine import process
from queue_conformance.engine.bench import Bench
from queue_conformance.engine.lockstep import run
from queue_conformance.engine.process import Say
from queue_conformance.engine.recording import OperationRaised, describe
from queue_conformance.engine.registry import check
from queue_conformance.kinds.spider_state import STATES
from queue_conformance.kinds.spider_state.commands import FRESH, MUTATION, REASONS, RESTORED, SAVED
from queue_conformance.script_support.example import same
from queue_conformance.script_support.running import files_below

DISABLED = "state.disabled"

RICH = (
    "{'nested': {'deep': [1, 2, {'deeper': (3, 4)}]}}",
    "{'tuple': (1, (2, 3)), 'list': [1, [2, 3]]}",
    "{'set': {1, 2}, 'frozen': frozenset([1])}",
    "{1: 'int', 1.5: 'float', (1, 2): 'tuple', None: 'none', b'bytes': 'bytes'}",
    "{'datetime': datetime.datetime(2026, 1, 2, 3, 4, 5, 6), 'date': datetime.date(2026, 1, 2)}",
    "{'Decimal': Decimal('1.10'), 'bytes': bytes(range(256)), 'big': 2**100, 'float': 0.1}",
    "{'text': 'caf\\u00e9 \\U0001f600 \\0', 'empty': '', 'none': None, 'true': True}",
    "{'counter': Counter('abca'), 'path': Path('/tmp/a')}",
    "{'many': list(range(10000))}",
    "{}",
)
"""States that are restored, the types of their values included."""


@check(FRESH, kinds=STATES)
def a_new_job_begins_with_nothing(bench: Bench) -> None:
    for jobs in (("one", "two"), ("three", "one")):
        bench.restart()
        for job in jobs:
            first = bench.open(job)
            state = getattr(first.spider, "state", None)
            bench.recorder.note('left = getattr(spider, "state", None)')
            expected = "an empty dictionary"
            bench.expect(FRESH, isinstance(state, dict) and not state, expected, state, "left == {}", final=True)
            first.do("spider.state['count'] = 1")
            first.finish()


@check(RESTORED, kinds=STATES)
def the_state_is_restored(bench: Bench) -> None:
    _restore_from_another_process(bench)
    run(bench, "put:0 put:1 reopen reopen put:2 reopen reopen")
    for source in RICH:
        with bench.collecting():
            bench.restart()
            _restore(bench, RESTORED, source, "shutdown")


def _restore_from_another_process(bench: Bench) -> None:
    """Let a run end in another process, and compare what the next one begins with in this one."""
    if not process.AVAILABLE:
        return
    bench.restart()

    def live(_say: Say) -> None:
        first = bench.open()
        first.do("spider.state['count'] = 1")
        first.finish("shutdown")

    if process.run(live, time_limit=bench.time_limit).status:
        return
    construction = bench.driver.construction("job")[0]
    life = [f"spider = {construction}", "spider.state['count'] = 1", "finish(spider, 'shutdown')", "os._exit(0)"]
    bench.recorder.note("\n".join(["if (child := os.fork()) == 0:", *(f"    {line}" for line in life)]))
    bench.recorder.note("os.waitpid(child, 0)")
    second = bench.open(owner=RESTORED)
    state = getattr(second.spider, "state", None)
    bench.recorder.note('left = getattr(spider, "state", None)')
    expected = "{'count': 1}"
    bench.expect(RESTORED, state == {"count": 1}, expected, describe(state, 60), f"left == {expected}", final=True)


def _restore(bench: Bench, rule: str, source: str, reason: str) -> None:
    """Let a run end with a state, and compare what the next one begins with."""
    first = bench.open()
    if getattr(first.spider, "state", None) != {}:
        return  # another rule says what a new job begins with
    first.do(f"spider.state.update({source})")
    first.finish(reason)
    second = bench.open(owner=rule)
    state: Any = getattr(second.spider, "state", None)
    expected = bench.driver.evaluate(source).value
    bench.recorder.note('left = getattr(spider, "state", None)')
    equal = state == expected  # the class of the state itself does not matter
    assertion = f"same(dict(left), {source})" if equal else f"left == {source}"
    right = equal and same(dict(state), expected)
    bench.expect(rule, right, describe(expected, 60), describe(state, 60), assertion, final=True)


@check(SAVED, kinds=STATES)
def every_clean_close_saves(bench: Bench) -> None:
    kept: list[str] = []
    for reason in REASONS:
        with bench.collecting():
            bench.restart()
            try:
                _restore(bench, SAVED, "{'count': 1}", reason)
            finally:
                kept += [reason] * (not bench.broken)
    if bench.broken and not kept:  # it is not the reason that matters
        bench.broken.clear()
        bench.examined.clear()


@check(MUTATION, kinds=STATES)
def changes_in_place_are_saved(bench: Bench) -> None:
    run(bench, "grow:0 reopen grow:1 reopen grow:2 reopen")
    bench.restart()
    for count in range(3):
        counting = bench.open()
        state = getattr(counting.spider, "state", None)
        bench.recorder.note('left = getattr(spider, "state", None)')
        if not count and state != {}:
            return  # another rule says what a new job begins with
        nested = {"pages": {"count": count}, "last": [count]} if count else {}
        bench.expect(MUTATION, state == nested, repr(nested), state, f"left == {nested!r}")
        if not count:
            counting.do("spider.state.update(pages={'count': 0}, last=[0])", MUTATION)
            counting.finish("shutdown")
            counting = bench.open()
        counting.do("spider.state['pages']['count'] += 1", MUTATION)
        counting.do("spider.state['last'][0] += 1", MUTATION)
        counting.finish("shutdown")


@check(DISABLED, kinds=STATES)
def there_is_no_state_without_a_job_directory(bench: Bench) -> None:
    for name, settings in ((None, {}), ("", {}), (None, {"JOBDIR": None})):
        with bench.collecting():
            bench.restart()
            _stay_away(bench, name, settings)


def _stay_away(bench: Bench, name: str | None, settings: dict[str, Any]) -> None:
    driver, directory = bench.driver, bench.driver.directory
    values, source = driver.settings_of(name, **settings)
    bench.recorder.note("os.chdir(directory)")
    with contextlib.chdir(directory):
        crawler = driver.crawler_with(values)
        bench.recorder.note(f"crawler = crawler_with({source}{driver.name_source()})")
        build = partial(build_from_crawler, bench.implementation.cls, crawler)
        construction = f"extension = build_from_crawler({driver.class_name}, crawler)"
        bench.recorder.note("NotConfigured = importlib.import_module('scrapy.exceptions').NotConfigured")
        try:
            bench.recorder.call(construction, DISABLED, build)
        except OperationRaised as raised:
            if not isinstance(raised.error, NotConfigured):
                raise
            left = [path.name for path in files_below(directory)]
            bench.recorder.note("left = files_below(directory)")
            bench.expect(DISABLED, not left, "no file", f"{', '.join(left)} in the working directory", "not left")
            return
        lines = [
            "try:",
            f"    {construction}",
            "except NotConfigured:",
            "    pass  # right: it is not enabled",
            "else:",
            "    raise AssertionError('NotConfigured expected, but the call returned')",
        ]
        bench.fail(DISABLED, "NotConfigured raised", "the extension is enabled", lines, replaces=True)
