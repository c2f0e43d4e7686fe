"""Checks of what a serializing queue stores, refuses and gives back."""

from __future__ import annotations

from functools import partial
from operator import itemgetter
from typing import Any

from hypothesis import given, reject, seed
from scrapy import Request, Spider
from scrapy.utils.request import request_from_dict

from queue_conformance.faults.serialization import COMMON, FOREIGN_CALLBACKS, NOT_REBUILDABLE, UNUSUAL, Cause
from queue_conformance.implementations.drivers.base import Item
from queue_conformance.implementations.equality import difference, is_ordinary
from queue_conformance.implementations.quoted.example import ExampleSpider, FalsySpider, OtherSpider
from queue_conformance.implementations.recording import OperationRaised, describe
from queue_conformance.strategies import ODD_VALUES, SHAPES, RequestSource, request_sources
from queue_conformance.suites import check
from queue_conformance.suites.bench import Bench, must_raise
from queue_conformance.suites.machine import our_settings, repeatable
from queue_conformance.suites.outcomes import NotExercised, RuleBroken
from queue_conformance.suites.programs import program
from queue_conformance.suites.queues.construction import REQUESTS_ONLY
from queue_conformance.suites.queues.fallback import consequence, serialization_errors
from queue_conformance.suites.queues.pair import run

RARE = "queue.pop.roundtrip-rare"
"""The rule on values of types that documents do not name."""


@check("queue.push.serialization-error", kinds=REQUESTS_ONLY)
def unserializable_requests_are_refused(bench: Bench) -> None:
    _all_refused(bench, "queue.push.serialization-error", COMMON)


@check("queue.push.serialization-all-causes", kinds=REQUESTS_ONLY)
def every_cause_is_refused(bench: Bench) -> None:
    _all_refused(bench, "queue.push.serialization-all-causes", UNUSUAL)


def _all_refused(bench: Bench, rule: str, causes: tuple[Cause, ...]) -> None:
    """Push each request; it must be refused with the right error, or come back equal (then it could be serialized)."""
    for cause in causes:
        with bench.collecting():
            bench.restart()
            queue = bench.open()
            item = bench.driver.evaluate(cause.source)
            try:
                with bench.recorder.blame(rule):
                    queue.push(item)
            except OperationRaised as raised:
                bench.examined[rule] += 1
                if not isinstance(raised.error, serialization_errors(bench)):
                    tail = must_raise(raised.step.source, "ValueError")
                    actual = f"{describe(raised.error, 60)} raised"
                    if rule not in bench.broken:
                        actual += consequence(bench, raised.error)
                    bench.fail(rule, f"ValueError for {cause.name}", actual, tail, replaces=True)
            else:
                pushing = bench.recorder.steps[-1].source
                if not _comes_back(queue, item.value):
                    del bench.recorder.steps[-1]
                    actual = f"push accepted {cause.name}, and pop did not give it back"
                    bench.examined[rule] += 1
                    bench.fail(rule, f"ValueError for {cause.name}", actual, must_raise(pushing, "ValueError"), replaces=True)
            queue.close()
    if not bench.examined[rule]:
        raise NotExercised("the queue could serialize everything that it was given")


def _comes_back(queue: Any, pushed: Any) -> bool:
    """Whether a request with an odd value was stored: it comes back, and the value has its type."""
    try:
        popped = queue.pop()
    except OperationRaised:
        return False
    if not isinstance(popped, Request):
        return False
    for field in ("meta", "cb_kwargs"):
        before, after = getattr(pushed, field), getattr(popped, field)
        if {key: type(value) for key, value in before.items()} != {key: type(value) for key, value in after.items()}:
            return False
    return True


@check("queue.push.callback-foreign", kinds=REQUESTS_ONLY)
def foreign_callbacks_are_refused(bench: Bench) -> None:
    rule = "queue.push.callback-foreign"
    for cause in FOREIGN_CALLBACKS:
        for argument in ("callback", "errback"):
            with bench.collecting():
                bench.restart()
                queue = bench.open()
                item = bench.driver.evaluate(f"Request('https://example.com/1', {argument}={cause.source})")
                bench.expect_raises(
                    rule, serialization_errors(bench), partial(queue.push, item), why=f" for {cause.name} as {argument}"
                )
                queue.close()


METHODS = ("spider.parse_item", "spider.parse_inherited", "spider._parse_private", "spider._ExampleSpider__parse_mangled")


@check("queue.push.callback-method", kinds=REQUESTS_ONLY)
def methods_of_the_spider_survive(bench: Bench) -> None:
    rule = "queue.push.callback-method"
    for method in METHODS:
        for argument in ("callback", "errback"):
            with bench.collecting(), bench.recorder.blame(rule):
                bench.restart()
                queue = bench.open()
                item = bench.driver.evaluate(f"Request('https://example.com/1', {argument}={method})")
                queue.push(item)
                popped = bench.pop_item(queue, item, rule)
                expected = getattr(bench.driver.names["spider"], method.partition(".")[2])
                found = getattr(popped, argument, None)
                name = getattr(found, "__name__", None)
                bench.expect(rule, name == expected.__name__, method, found, f"popped.{argument}.__name__ == {method}.__name__")
                queue.close()
    with bench.collecting(), bench.recorder.blame(rule):
        _methods_of_a_falsy_spider(bench, rule)


def _methods_of_a_falsy_spider(bench: Bench, rule: str) -> None:
    """Push a request of a spider whose truth value is false: it may be refused, as Scrapy itself does, but not come without."""
    bench.restart()
    _give_spider(bench, FalsySpider)
    queue = bench.open()
    item = bench.driver.evaluate("Request('https://example.com/1', callback=spider.parse_item)")
    try:
        queue.push(item)
    except OperationRaised:
        return
    bench.recorder.steps[-1].refusable = True
    popped = bench.pop_item(queue, item, rule)
    name = getattr(popped.callback, "__name__", None)
    assertion = "popped.callback.__name__ == 'parse_item'"
    bench.expect(rule, name == "parse_item", "spider.parse_item", popped.callback, assertion)
    queue.close()


@check("queue.push.rebuildable", kinds=REQUESTS_ONLY)
def what_is_accepted_can_be_rebuilt(bench: Bench) -> None:
    rule = "queue.push.rebuildable"
    for cause in NOT_REBUILDABLE:
        with bench.collecting():
            bench.restart()
            queue = bench.open()
            item = bench.driver.evaluate(cause.source)
            bench.examined[rule] += 1
            try:
                queue.push(item)
            except OperationRaised:
                continue
            bench.recorder.steps[-1].refusable = True
            expected = f"an error of push, or an equal request back, for {cause.name}"
            with bench.recorder.blame(rule):
                try:
                    popped = queue.pop()
                except OperationRaised as raised:
                    bench.fail(rule, expected, f"push accepted it, pop raised {describe(raised.error, 60)}", [])
            bench.expect(
                rule,
                not difference(item.value, popped),
                expected,
                popped,
                f"type(popped).__name__ == {type(item.value).__name__!r}",
            )
            queue.close()


REQUEST_TYPES = (
    "FormRequest('https://example.com/1', formdata={'a': '1'})",
    "JsonRequest('https://example.com/1', data={'a': [1, None]}, dumps_kwargs={'indent': 1})",
    "XmlRpcRequest('https://example.com/1', methodname='m', params=(1, 'a'))",
    "CustomRequest('https://example.com/1', depth=7)",
)


@check("queue.push.request-types", kinds=REQUESTS_ONLY)
def subclasses_of_request_are_kept(bench: Bench) -> None:
    rule = "queue.push.request-types"
    for source in REQUEST_TYPES:
        with bench.collecting(), bench.recorder.blame(rule):
            bench.restart()
            queue = bench.open()
            item = bench.driver.evaluate(source)
            queue.push(item)
            popped = bench.pop_item(queue, item, rule)
            name = type(item.value).__name__
            bench.expect(
                rule, type(popped) is type(item.value), f"a {name}", f"a {type(popped).__name__}", f"type(popped) is {name}"
            )
            further = [a for a in item.value.attributes if a not in ("callback", "errback")]
            for attribute in further:
                expected, actual = getattr(item.value, attribute), getattr(popped, attribute, None)
                shown = f"{attribute} {describe(expected, 40)}"
                bench.expect(rule, expected == actual, shown, actual, f"popped.{attribute} == {source}.{attribute}")
            queue.close()


@check("queue.push.snapshot", kinds=REQUESTS_ONLY)
def later_changes_do_not_show(bench: Bench) -> None:
    rule = "queue.push.snapshot"
    source = "Request('https://example.com/1', headers={'A': '1'}, meta={'list': [1]}, cb_kwargs={'dict': {}})"
    queue = bench.open()
    request = bench.driver.evaluate(source).value
    bench.recorder.note(f"request = {source}")
    queue.push(Item(request, "request"))
    for change in (
        "request.meta['list'].append(2)",
        "request.meta['new'] = 1",
        "request.cb_kwargs['dict']['new'] = 1",
        "request.headers['A'] = '2'",
    ):
        bench.recorder.note(change)
        exec(change, {"request": request})
    popped = bench.pop_item(queue, bench.driver.item(1))
    fields = "(popped.meta['list'], 'new' in popped.meta, popped.cb_kwargs['dict'], popped.headers['A'])"
    before: Any = ([1], False, {}, b"1")
    found = eval(fields, {"popped": popped})
    bench.expect(rule, found == before, f"the request as it was when pushed, {before}", found, f"{fields} == {before}")
    queue.close()


@check("queue.pop.roundtrip", RARE, kinds=REQUESTS_ONLY, name="queue.pop.roundtrip")
def every_field_survives(bench: Bench) -> None:
    """Draw requests over all attributes; what push accepts must come back equal, types of values included."""
    rule = "queue.pop.roundtrip"
    shortest: dict[str, RuleBroken] = {}
    rare: list[tuple[int, RuleBroken]] = []
    accepted = 0

    @seed(bench.seed)
    @our_settings(bench.examples)
    @given(request_sources())
    def drawn(source: RequestSource) -> None:
        nonlocal accepted
        bench.flight.count()
        bench.restart()
        try:
            accepted += _round_trip(bench, rule, str(source))
        except RuleBroken as failure:
            if failure.rule == RARE:  # go on: it must not hide what happens to ordinary values
                rare.append((len(str(source)), failure))
                return
            shortest[failure.rule] = failure
            raise

    odd = (f"Request(url='https://example.com/1', meta={{'value': {value}}})" for value in ODD_VALUES)
    for shape in (*SHAPES, *odd):
        with bench.collecting():
            bench.restart()
            accepted += _round_trip(bench, rule, shape)
    bench.flight.aim("requests", bench.examples)
    try:
        with repeatable():
            drawn()
    except (RuleBroken, BaseExceptionGroup):
        for failure in shortest.values():
            bench.keep(failure)
        if not shortest:
            raise
    if rare:
        bench.keep(min(rare, key=itemgetter(0))[1])
    if not shortest and not rare and not accepted:
        raise NotExercised("push refused every request that was drawn")
    bench.notes.append(f"round trip: {accepted} requests accepted")


def _round_trip(bench: Bench, rule: str, source: str) -> bool:
    """Push and pop one request; return whether push accepted it."""
    try:
        item = bench.driver.evaluate(source)
    except (ValueError, LookupError):
        reject()  # not every text can be encoded, so there is no such request
    spider = bench.driver.names["spider"]
    if difference(item.value, request_from_dict(item.value.to_dict(spider=spider), spider=spider)):
        reject()  # Scrapy itself cannot make this request from its own attributes again
    queue = bench.open()
    try:
        queue.push(item)
    except OperationRaised as raised:
        if isinstance(raised.error, Exception):
            return False
        raise
    bench.recorder.steps[-1].refusable = True
    ordinary = is_ordinary(item.value.meta) and is_ordinary(item.value.cb_kwargs)
    with bench.recorder.blame(rule if ordinary else RARE):
        try:
            popped = queue.pop()
        except OperationRaised as raised:
            raise bench.unexpected(raised) from raised
    bench.examined[rule] += 1
    bench.examined[RARE] += not ordinary
    if found := difference(item.value, popped):
        bench.fail(RARE if found.rare else rule, f"{found.name} {found.expected}", found.actual, found.assertion(source))
    queue.close()
    return True


@check("queue.pop.spider-binding", kinds=REQUESTS_ONLY)
def callbacks_belong_to_the_current_spider(bench: Bench) -> None:
    run(bench, program("push:0 reopen pop"))
    bench.restart()
    rule = "queue.pop.spider-binding"
    with bench.recorder.blame(rule):
        queue = bench.open()
        queue.push(
            bench.driver.evaluate("Request('https://example.com/1', callback=spider.parse_item, errback=spider.handle_error)")
        )
        if bench.offers("persistent"):
            queue = _resumed_with(bench, queue, ExampleSpider)
        popped = bench.pop_item(queue, bench.driver.item(1), rule)
    spider = bench.driver.names["spider"]
    for argument in ("callback", "errback"):
        owner = getattr(getattr(popped, argument, None), "__self__", None)
        bench.expect(rule, owner is spider, "a method of the current spider", owner, f"popped.{argument}.__self__ is spider")
    queue.close()


@check("queue.pop.missing-callback", kinds=REQUESTS_ONLY)
def missing_callbacks_are_reported(bench: Bench) -> None:
    run(bench, program("push:0 reopen pop"))
    bench.restart()
    rule = "queue.pop.missing-callback"
    queue = bench.open()
    item = bench.driver.evaluate("Request('https://example.com/1', callback=spider.parse_item)")
    queue.push(item)
    queue = _resumed_with(bench, queue, OtherSpider)
    bench.expect_raises(rule, (Exception,), queue.pop, why=": the spider has no method parse_item any more")
    queue = _resumed_with(bench, queue, ExampleSpider)
    popped = queue.pop(owner=rule)
    bench.expect(rule, popped is not None, "the request, since pop raised", popped, "popped is not None")
    queue.close()


def _resumed_with(bench: Bench, queue: Any, spider: type[Spider]) -> Any:
    """Close a queue, and open it for a spider of another class."""
    queue.close()
    _give_spider(bench, spider)
    return bench.open()


def _give_spider(bench: Bench, spider: type[Spider]) -> None:
    bench.recorder.note(f"spider = crawler.spider = {spider.__name__}.from_crawler(crawler)")
    bench.driver.use_spider(bench.driver.prepared(spider.from_crawler(bench.driver.crawler)))
    if bench.driver.prepare_name:
        bench.recorder.note(f"{bench.driver.prepare_name}(spider)")


@check("queue.pop.falsy-request", kinds=REQUESTS_ONLY)
def falsy_requests_are_delivered(bench: Bench) -> None:
    rule = "queue.pop.falsy-request"
    queue = bench.open()
    try:
        queue.push(bench.driver.evaluate("FalsyRequest('https://example.com/1')"))
    except OperationRaised as raised:
        raise NotExercised(f"push refused a subclass of Request: {describe(raised.error)}") from raised
    with bench.recorder.blame(rule):
        bench.pop_item(queue, bench.driver.item(1), rule)
        queue.close()
