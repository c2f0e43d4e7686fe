"""Checks of what a serializing queue stores, refuses and gives back."""

from __future__ import annotations

from copy import deepcopy
from operator import itemgetter

from hypothesis import given, reject, seed
from hypothesis.strategies import sampled_from
from scrapy import FormRequest, Request
from scrapy.http import JsonRequest, XmlRpcRequest
from scrapy.utils.request import request_from_dict

from queue_conformance.compat.hypothesis import repeatable
from queue_conformance.engine import registry
from queue_conformance.engine.blocks import may_raise, may_refuse, raises, under_test
from queue_conformance.engine.cases import combinations, ways_to_read
from queue_conformance.engine.check import check, run_case
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.fixtures import made, offers
from queue_conformance.engine.outcomes import NotCovered, RuleFailed
from queue_conformance.engine.recording import describe
from queue_conformance.engine.values import our_settings
from queue_conformance.environments.strategies import ODD_VALUES, SHAPES, request_sources
from queue_conformance.environments.unserializable import COMMON, FOREIGN_CALLBACKS, NOT_REBUILDABLE, UNUSUAL
from queue_conformance.kinds.queue.equality import TOGETHER, difference, fields_together, is_ordinary
from queue_conformance.kinds.queue.fallback import push_may_raise
from queue_conformance.kinds.queue.fixtures import use_spider
from queue_conformance.kinds.queue.kind import REQUESTS_ONLY
from queue_conformance.script_support.example import (
    CustomRequest,
    Exactly,
    ExampleSpider,
    FalsyRequest,
    FalsySpider,
    OtherSpider,
    field,
    fields,
    name_of,
    owner_of,
    types_in,
)

URL = "https://example.com/1"
BEHIND = "https://example.com/2"
ARGUMENTS = ("callback", "errback")


now_and_reopened = ways_to_read("push:0 reopen pop")


@check("queue.push.serialization-all-causes", kinds=REQUESTS_ONLY, field=["meta"], cause=UNUSUAL)
@check("queue.push.serialization-error", kinds=REQUESTS_ONLY, field=["meta", "cb_kwargs"], cause=COMMON)
def unserializable_requests_are_refused(open_queue, field, cause):
    """`push` raises the serialization error whatever the reason, want of memory excepted: nesting that is too deep, an
    exception raised by `__reduce__` or `__getstate__` of an object in the request, overflow, recursion, size.

    A request that cannot be serialized makes `push` raise the serialization error of the profile: `ValueError` in released
    Scrapy, `SerializationError` in the draft for external queues.
    """
    expected = f"ValueError for {cause.name} in {field}"
    popped, queue = None, open_queue()
    with under_test(), push_may_raise("serialization", expected=expected) as refused:
        queue.push(Request(URL, **{field: {"value": made(cause)}}))
    if refused:
        return
    with may_raise():
        if offers("persistent"):  # it may serialize no sooner than this
            queue.close()
            queue = open_queue()
        popped = queue.pop()
    with under_test():
        assert types_in(popped) == {"value": type(made(cause)).__name__}, expected
    raise NotCovered("the queue could serialize everything that it was given")


@check("queue.push.callback-foreign", kinds=REQUESTS_ONLY, cause=FOREIGN_CALLBACKS, argument=ARGUMENTS)
def foreign_callbacks_are_refused(queue, spider, cause, argument, serialization_errors):
    """A callback or errback that is not a method of the running spider counts as not serializable."""
    with under_test(), raises(*serialization_errors, because=f" for {cause.name} as {argument}"):
        queue.push(Request(URL, **{argument: made(cause, spider)}))


METHODS = ("parse_item", "parse_inherited", "_parse_private", "_ExampleSpider__parse_mangled")


@check("queue.push.callback-method", kinds=REQUESTS_ONLY, reopen=[now_and_reopened], method=METHODS, argument=ARGUMENTS)
def methods_of_the_spider_survive(open_queue, spider, method, argument, reopen):
    """A callback and an errback that are methods of the spider (public, inherited, private, name-mangled) survive."""
    with under_test():
        queue = open_queue()
        queue.push(Request(URL, **{argument: getattr(spider, method)}))
        if reopen:
            queue.close()
            queue = open_queue()
        assert name_of(queue.pop(), argument) == getattr(spider, method).__name__


@check("queue.push.callback-method", kinds=REQUESTS_ONLY, name="callback.falsy-spider")
def methods_of_a_falsy_spider_survive_or_are_refused(open_queue):
    """A callback and an errback that are methods of the spider (public, inherited, private, name-mangled) survive."""
    spider = use_spider(FalsySpider)
    queue = open_queue()
    with may_raise() as refused:  # as Scrapy itself does
        queue.push(Request(URL, callback=spider.parse_item))
    if not refused:
        with under_test():
            assert name_of(queue.pop(), "callback") == "parse_item"
            queue.close()


@check("queue.push.rebuildable", kinds=REQUESTS_ONLY, reopen=[now_and_reopened], cause=NOT_REBUILDABLE)
def what_is_accepted_can_be_rebuilt(open_queue, cause, reopen):
    """A request that `push` accepted can be rebuilt by `pop` with the same spider class; otherwise `push` must refuse it."""
    queue = open_queue()
    with may_refuse() as refused:
        queue.push(made(cause))
    if not refused:
        expected = f"an error of push, or an equal request back, for {cause.name}"
        with under_test(expected=expected):
            if reopen:
                queue.close()
                queue = open_queue()
            assert fields(queue.pop()) == fields(made(cause)), expected


REQUEST_TYPES = (
    lambda: FormRequest("https://example.com/1", formdata={"a": "1"}),
    lambda: JsonRequest("https://example.com/1", data={"a": [1, None]}, dumps_kwargs={"indent": 1}),
    lambda: XmlRpcRequest("https://example.com/1", methodname="m", params=(1, "a")),
    lambda: CustomRequest("https://example.com/1", depth=7),
)


@check("queue.push.request-types", kinds=REQUESTS_ONLY, reopen=[now_and_reopened], new=REQUEST_TYPES)
def subclasses_of_request_are_kept(open_queue, new, reopen):
    """`scrapy.Request` and every importable subclass (FormRequest, JsonRequest, XmlRpcRequest, classes of the user with
    further `attributes`) are accepted and come back as the same class.
    """
    with under_test():
        queue = open_queue()
        queue.push(made(new))
        if reopen:
            queue.close()
            queue = open_queue()
        assert fields(queue.pop()) == fields(made(new))


@check("queue.push.snapshot", kinds=REQUESTS_ONLY, reopen=[now_and_reopened])
def later_changes_do_not_show(open_queue, reopen):
    """A serializing queue stores a snapshot: later changes to the caller's request, its meta, cb_kwargs or headers, or to what
    `pop` returned of an equal one, do not appear in what `pop` returns.
    """
    queue = open_queue()
    request = Request(URL, headers={"A": "1"}, meta={"list": [1]}, cb_kwargs={"dict": {}})
    before = deepcopy(fields(request))
    queue.push(request)
    request.meta["list"].append(2)
    request.meta["new"] = 1
    request.cb_kwargs["dict"]["new"] = 1
    request.headers["A"] = "2"
    with under_test():
        if reopen:
            queue.close()
            queue = open_queue()
        assert fields(queue.pop()) == before


@check(
    "queue.push.snapshot", kinds=REQUESTS_ONLY, name="snapshot.again", depends_on="roundtrip.together", reopen=[now_and_reopened]
)
def a_request_is_stored_as_it_is_now(open_queue, reopen):
    """A serializing queue stores a snapshot: later changes to the caller's request, its meta, cb_kwargs or headers, or to what
    `pop` returned of an equal one, do not appear in what `pop` returns.
    """
    queue = open_queue()
    request = Request(URL, meta={"turn": 1})
    queue.push(request)
    request.meta["turn"] = 2
    queue.push(request)
    with under_test():
        if reopen:
            queue.close()
            queue = open_queue()
        received = [getattr(queue.pop(), "meta", None) for _ in range(2)]
        assert sorted(received, key=repr) == [{"turn": 1}, {"turn": 2}]
        queue.close()


TIME = 60.0
"""Seconds of which a slow class has its share."""

CALLS = 5
"""Calls for one request: an opening, a push, a pop, and a close and an opening between them."""

FEWEST = 10
"""Requests that are generated in any case."""


@registry.check("queue.pop.roundtrip", "queue.pop.roundtrip-rare", kinds=REQUESTS_ONLY, name="queue.pop.roundtrip")
def every_field_survives(context: CheckContext) -> None:
    """`pop` returns a request equal to the pushed one in every field of `Request.attributes`, callback and errback, class
    included, and the types of ordinary values are kept: None, bool, int, float, str, bytes, list, tuple, set, dict, datetime.
    """
    rule = "queue.pop.roundtrip"
    shortest: dict[str, RuleFailed] = {}
    rare: list[tuple[int, RuleFailed]] = []
    accepted = 0
    ways = list(now_and_reopened(context))
    examples = min(context.examples, max(FEWEST, context.budget.calls(TIME) // CALLS))
    if examples < context.examples:
        context.notes.append(f"round trip: {examples} requests are generated, because operations are slow{context.budget.more}")

    @seed(context.seed)
    @our_settings(examples)
    @given(request_sources(), sampled_from(ways))
    def generated(source: str, reopen: bool) -> None:
        nonlocal accepted
        context.watchdog.count()
        try:
            accepted += _round_trip(context, rule, source, reopen)
        except RuleFailed as failure:
            if failure.rule == "queue.pop.roundtrip-rare":  # go on: it must not hide what happens to ordinary values
                rare.append((len(source), failure))
                return
            shortest[failure.rule] = failure
            raise

    odd = (f"Request(url='https://example.com/1', meta={{'value': {value}}})" for value in ODD_VALUES)
    for shape, reopen in combinations(context, rule, {"shape": (*SHAPES, *odd), "reopen": ways}):
        with context.collecting():
            accepted += _round_trip(context, rule, shape, reopen)
    context.watchdog.aim("requests", examples)
    try:
        with repeatable():
            generated()
    except (RuleFailed, BaseExceptionGroup):
        for failure in shortest.values():
            context.keep(failure)
        if not shortest:
            raise
    if rare:
        context.keep(min(rare, key=itemgetter(0))[1])
    if not shortest and not rare and not accepted:
        raise NotCovered("push refused every request that was generated")
    context.notes.append(f"round trip: {accepted} requests accepted")


def _round_trip(context: CheckContext, rule: str, source: str, reopen: bool) -> bool:
    """Push and pop one request, with the queue opened again between them or not; return whether push accepted it."""
    spider = context.driver.names["spider"]
    try:
        item = context.driver.evaluate(source)
        again = request_from_dict(item.value.to_dict(spider=spider), spider=spider)
    except (ValueError, LookupError):
        reject()  # not every text can be encoded, and w3lib 2.1 rejects its own IPv6 URLs, so there is no such request
    if difference(item.value, again):
        reject()  # Scrapy itself cannot make this request from its own attributes again
    ordinary = is_ordinary(item.value.meta) and is_ordinary(item.value.cb_kwargs)
    try:
        run_case(
            context,
            rule,
            comes_back_as_it_was,
            {"new": item, "reopen": reopen, "pop_rule": rule if ordinary else "queue.pop.roundtrip-rare"},
        )
    except NotCovered:
        return False
    context.covered["queue.pop.roundtrip-rare"] += not ordinary
    return True


def comes_back_as_it_was(open_queue, made, new, reopen, pop_rule, rule):
    pushed, queue = made(new), open_queue()
    with may_raise() as refused:
        queue.push(pushed)
    if refused:
        raise NotCovered("push refused it")
    with under_test(pop_rule):
        if reopen:
            queue.close()
            queue = open_queue()
        popped = queue.pop()
    if found := difference(pushed, popped):
        with under_test("queue.pop.roundtrip-rare" if found.rare else rule):
            name = found.name
            if found.plain:
                assert getattr(popped, name) == getattr(pushed, name), f"{name} {describe(getattr(pushed, name))}"
            assert Exactly(field(popped, name)) == field(pushed, name), f"{name} {describe(field(pushed, name))}"


@check(
    "queue.pop.roundtrip",
    "queue.pop.exactly-once",
    kinds=REQUESTS_ONLY,
    name="roundtrip.together",
    depends_on=["push:0 push:1 push:0 pop pop pop", "reopen.counts"],
    name_of_field=[fields_together],
    reopen=[now_and_reopened],
)
def requests_have_nothing_of_each_other(open_queue, name_of_field, reopen):
    """`pop` returns a request equal to the pushed one in every field of `Request.attributes`, callback and errback, class
    included, and the types of ordinary values are kept: None, bool, int, float, str, bytes, list, tuple, set, dict, datetime.
    """
    queue = open_queue()
    stored = []
    for value in TOGETHER[name_of_field]:
        with may_raise() as refused:
            queue.push(Request(URL, **{name_of_field: value}))
        stored += [] if refused else [value]
    with under_test("queue.pop.roundtrip" if offers("serializes") else "queue.pop.exactly-once"):
        if reopen:
            queue.close()
            queue = open_queue()
        received = [getattr(queue.pop(), name_of_field, None) for _ in range(len(stored))]
        assert sorted(received, key=repr) == sorted(stored, key=repr)
        queue.close()


ALIKE = (1, True, 1.0)
"""Values that are equal, and of different types: who stores equal ones once gives one for another."""


@check(
    "queue.pop.roundtrip", "queue.pop.exactly-once", kinds=REQUESTS_ONLY, name="roundtrip.alike", depends_on="push:0 push:1 pop"
)
def equal_values_keep_their_types(open_queue):
    """`pop` returns a request equal to the pushed one in every field of `Request.attributes`, callback and errback, class
    included, and the types of ordinary values are kept: None, bool, int, float, str, bytes, list, tuple, set, dict, datetime.
    """
    queue = open_queue()
    for value in ALIKE:
        queue.push(Request(URL, meta={"value": value}))
    with under_test("queue.pop.roundtrip" if offers("serializes") else "queue.pop.exactly-once"):
        received = [types_in(queue.pop()).get("value") for _ in ALIKE]
        assert sorted(received, key=repr) == ["bool", "float", "int"]


@check("queue.pop.spider-binding", kinds=REQUESTS_ONLY, depends_on="push:0 reopen pop")
def callbacks_belong_to_the_current_spider(open_queue, spider):
    """The callbacks of the popped request are bound to the current spider instance of the crawler."""
    with under_test():
        queue = open_queue()
        queue.push(Request(URL, callback=spider.parse_item, errback=spider.handle_error))
        if offers("persistent"):
            queue.close()
            spider = use_spider(ExampleSpider)
            queue = open_queue()
        popped = queue.pop()
    assert owner_of(popped, "callback") is spider, "a method of the current spider"
    assert owner_of(popped, "errback") is spider, "a method of the current spider"
    queue.close()


@check("queue.pop.missing-callback", kinds=REQUESTS_ONLY, depends_on="push:0 reopen pop", argument=ARGUMENTS)
def missing_callbacks_are_reported(open_queue, spider, argument):
    """If the stored callback or errback no longer exists on the spider, the error is raised and the item is not silently
    counted as delivered.
    """
    queue = open_queue()
    queue.push(Request(URL, **{argument: spider.parse_item}))
    queue.close()
    use_spider(OtherSpider)
    with may_raise() as refused:  # who rebuilds all requests when it opens says there what is missing
        queue = open_queue()
    pushed = offers("fifo") and not refused
    if pushed:
        queue.push(Request(BEHIND))
    if not refused:
        with raises(Exception, because=": the spider has no method parse_item any more"):
            queue.pop()
        queue.close()
    use_spider(ExampleSpider)
    queue = open_queue()
    with under_test():
        received = [getattr(queue.pop(), "url", None) for _ in range(2)]
        lost = sorted({URL} - {*received})
        assert lost == [], "the request, since pop raised"
        if pushed:
            lost = sorted({BEHIND} - {*received})
            assert lost == [], "what was pushed before pop raised"
    queue.close()


@check("queue.pop.falsy-request", kinds=REQUESTS_ONLY)
def falsy_requests_are_delivered(open_queue):
    """A request object whose truth value is false is still delivered."""
    queue = open_queue()
    with may_raise() as refused:
        queue.push(FalsyRequest(URL))
    if refused:
        raise NotCovered("push refused a subclass of Request")
    with under_test():
        assert queue.pop() == FalsyRequest(URL)
        queue.close()
