"""The fixtures of checks on queues."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial, wraps
from typing import Any

from scrapy import Request, Spider

from queue_conformance.engine.case import Case, Fixture, fixture
from queue_conformance.engine.child import expect_fork
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.fixtures import operation
from queue_conformance.engine.outcomes import NotApplicable, NotCovered
from queue_conformance.engine.recording import OperationRaised, Timed, call_of
from queue_conformance.engine.registry import make_driver
from queue_conformance.engine.subject import Item, Subject
from queue_conformance.environments.items import request_source
from queue_conformance.implementation import Implementation
from queue_conformance.implementation.loading import LoadError, load_class
from queue_conformance.kinds.queue import commands, fallback
from queue_conformance.kinds.queue.attribution import RULES
from queue_conformance.kinds.queue.faults import SHORT_TIMEOUT
from queue_conformance.kinds.queue.kind import BYTE_QUEUE, DOWNSTREAM_QUEUE
from queue_conformance.script_support import example, interleaving, processes, support
from queue_conformance.script_support.support import key


@fixture
def open_queue(case: Case) -> Callable[..., Subject]:
    """``open_queue(key, holding=(1, 2))``: build a queue, and push items; other arguments are those of its constructor."""
    made = item(case)

    def opened(key: str = "0", *, holding: Iterable[Any] = (), **options: Any) -> Subject:
        driver = case.context.driver
        source, build = driver.construction(key, **options)
        again = driver.reopen_rule and case.context.offers("persistent") and source in map(call_of, case.context.recorder.steps)
        rule = driver.reopen_rule if again else driver.constructor_rule
        queue = case.record.construct(source, rule, build, driver.rules)
        case.record.fill(queue.push, (made(each) if isinstance(each, int) else each for each in holding))
        return queue

    return opened


@fixture
def open_other(case: Case) -> Callable[[str], Subject]:
    """``open_other(path)``: build a queue of another class where ``open_queue()`` builds one."""

    def opened(path: str) -> Subject:
        tested, directory = case.context.implementation, case.context.driver.directory
        try:
            cls = load_class(path)
        except LoadError as error:
            raise NotCovered(str(error)) from error  # not in this release
        if issubclass(tested.cls, cls):
            raise NotCovered("it is a class of this kind itself")
        driver = make_driver(Implementation(path, cls, tested.kind, tested.profile), directory, case.context.recorder)
        source, build = driver.construction("0")
        source = source.replace(driver.class_name, f"load_object({path!r})", 1)
        return case.record.construct(source, driver.constructor_rule, build, driver.rules)

    return opened


@fixture
def queue(case: Case) -> Iterator[Subject]:
    """An open queue, which is closed at the end."""
    opened = open_queue(case)()
    yield opened
    opened.close()


@fixture
def item(case: Case) -> Callable[..., Any]:
    """``item(number, large=False)``: an item; equal numbers give equal ones."""

    def made(number: int, large: bool = False) -> Any:
        driver = case.context.driver
        found = driver.evaluate(_LARGE[case.context.implementation.kind].format(number)) if large else driver.item(number)
        return case.sources.give(found.value, found.source)

    return made


_LARGE = {
    DOWNSTREAM_QUEUE: "Request('https://example.com/{}', body=b'x' * 100_000)",
    BYTE_QUEUE: "b'item {}' * 20_000",
}
"""Items that are larger than usual buffers."""


@fixture
def drain(case: Case) -> Callable[[Subject], list[Any]]:
    """``drain(queue)``: take out everything, and close; the keys of what came, sorted."""
    context = case.context

    def drained(queue: Subject) -> list[Any]:
        asking = Asking(queue.raw, context)
        emptied = partial(support.drain, asking, context.timeout if context.backend else 0.0)
        left: list[Any] = case.record.operate(f"drain({queue.name})", queue.rules["pop"], emptied)
        if asking.away:
            context.timeout, waited = SHORT_TIMEOUT, context.timeout
            raise NotCovered(f"the queue has not come back to its server after {waited:g} s")
        return left

    return drained


class Asking(Timed):
    """A queue that is drained; while it does not ask its server, what it says proves nothing.

    Attributes:
        away: whether it says that something is left, gives nothing, and has not asked.
    """

    away = False

    def __init__(self, raw: Any, context: CheckContext) -> None:
        super().__init__(raw, context.watchdog)
        self._backend = context.backend

    @property
    def _replied(self) -> int | None:
        return self._backend.replied if self._backend else None

    def pop(self) -> Any:
        replied = self._replied
        item = super().__getattr__("pop")()
        self.away = item is None and replied is not None and replied == self._replied
        return item

    def __len__(self) -> int:
        length = super().__len__()
        self.away &= length != 0
        return length


@fixture
def push_again(case: Case) -> Callable[[Subject, Any], Any]:
    """``push_again(queue, item)``: push what was refused while the server was away, once the queue finds out that it is back."""
    context = case.context

    def pushed(queue: Subject, item: Any) -> Any:
        push = partial(support.push_again, Timed(queue.raw, context.watchdog), item, context.timeout)
        written = case.record.written(item)
        try:
            return case.record.operate(f"push_again({queue.name}, {written})", "queue.push.retry", push)
        except OperationRaised:
            context.timeout = SHORT_TIMEOUT
            raise

    return pushed


@fixture
def request(case: Case) -> Callable[..., Request]:
    """``request(host="a.example", priority=1)``: a new request each time, with these arguments besides its URL."""
    count = itertools.count(1)

    def made(host: str = "example.com", **arguments: Any) -> Request:
        number = next(count)
        url = f"https://{host}/{number}"
        given = [f"{name}={case.record.written(value)}" for name, value in arguments.items()]
        varied = {} if "body" in arguments else case.context.driver.fields_of(number)
        fields = {name: source for name, source in varied.items() if name not in {*arguments, "url"}}
        source = request_source(url, fields, given)
        new = case.context.driver.evaluate(source).value if fields else Request(url, **arguments)
        case.sources.give(new, source)
        return new

    return made


@fixture
def sized(case: Case) -> Callable[[int], Any]:
    """``sized(number)``: an item with so many bytes of content."""

    def made(size: int) -> Any:
        body = case.sources.give(b"x" * size, f"b'x' * {size}")
        if case.context.implementation.kind is BYTE_QUEUE:
            return body
        return request(case)(method="POST", body=body)

    return made


TIMEOUT = 60.0
"""Seconds after which many calls are given up; only queues whose cost grows with their length come near."""


@fixture
def push_numbers(case: Case) -> Callable[[Subject, range], None]:
    """``push_numbers(queue, range(5))``: push items with these numbers, each of which nothing else holds, as one operation."""
    return push_made(case, support.push_each)


@fixture
def sizes_lost(case: Case) -> Callable[[Subject, range], list[int]]:
    """``sizes_lost(queue, range(5))``: push and pop an item of each of these sizes; the sizes of those that do not come back."""
    made = {DOWNSTREAM_QUEUE: "Request('https://example.com/1', body=b'x' * number)"}
    return push_made(case, support.sizes_lost, made.get(case.context.implementation.kind, "b'x' * number"), RULES["pop"])


@fixture
def grow(case: Case) -> Callable[[Sequence[int]], tuple[int, int]]:
    """``count, received = grow(range(131))``: fill a queue, opened again at each of these counts; how many came at which."""
    driver = case.context.driver

    def grew(counts: Sequence[int]) -> Any:
        (opening, build), items = driver.construction("0"), _numbered(case, range(counts[-1]))
        numbered = driver.evaluate(items).value
        source = f"grown(lambda: {opening}, {items}, {case.record.written(counts)})"
        return case.record.make(source, case.rule, lambda: support.grown(_timed(case, build), numbered, counts), "found")

    return grew


@fixture
def pass_through_keys(case: Case) -> Callable[[int], int]:
    """``received = pass_through_keys(130)``: push two items into each of so many queues that are open at once; how many came."""
    driver = case.context.driver
    build = _timed(case, lambda number: driver.construction(str(number))[1]())

    def passed(keys: int) -> Any:
        opening = driver.construction("0")[0].replace("'/0'", "f'/{number}'")
        if "{number}" not in opening:
            raise NotCovered("nothing tells how the queue of another key is built")
        items = _numbered(case, range(2 * keys))
        source, numbered = f"received_of_keys(lambda number: {opening}, {items}, {keys})", driver.evaluate(items).value
        return case.record.make(source, case.rule, lambda: support.received_of_keys(build, numbered, keys), "received")

    return passed


@fixture
def shrink(case: Case) -> Callable[[int], tuple[int, int]]:
    """``count, length = shrink(131)``: fill a queue that is opened again after each pop; what its length ought to be, and is."""
    driver = case.context.driver
    body = "b'item %d, ' % number * 50"
    made = body if case.context.implementation.kind is BYTE_QUEUE else f"Request(f'https://example.com/{{number}}', body={body})"

    def shrank(count: int) -> Any:
        (opening, build), items = driver.construction("0"), f"({made} for number in range({count}))"
        source, numbered = f"shrunk(lambda: {opening}, {items})", driver.evaluate(items).value
        return case.record.make(source, case.rule, lambda: support.shrunk(_timed(case, build), numbered), "found")

    return shrank


def _timed(case: Case, build: Callable[..., Any]) -> Callable[..., Timed]:
    return lambda *arguments: Timed(build(*arguments), case.context.watchdog, TIMEOUT)


def _numbered(case: Case, numbers: range) -> str:
    """Return the source of very many items; bytes are as many as a small request takes: a file is rewritten by its size."""
    driver = case.context.driver
    if case.context.implementation.kind is BYTE_QUEUE:
        return f"(b'item' * 100 + b' %d' % number for number in {numbers})"
    arguments = [name for name in driver.fields if name != "url" and name.islower()]  # others are classes
    many = driver.many("Request(f'https://example.com/{number}'", arguments, numbers)
    return f"({many})"


def push_made(case: Case, function: Callable[..., Any], made: str = "", rule: str = RULES["push"]) -> Callable[..., Any]:
    """Return what calls a function with a queue and an item for each ``number``, as one operation of many calls."""

    def called(queue: Subject, numbers: range) -> Any:
        source = f"({made} for number in {numbers})" if made else _numbered(case, numbers)
        items = case.sources.give(case.context.driver.evaluate(source).value, source)
        return _in_bulk(case, function, rule, queue, items)

    return called


def _in_bulk(case: Case, function: Callable[..., Any], rule: str, queue: Subject, *arguments: Any) -> Any:
    calls = arguments[-1] if function is support.push_often else 0
    timed = Timed(queue.raw, case.context.watchdog, TIMEOUT, calls)
    source = f"{function.__name__}({case.record.written(queue, *arguments)})"
    return case.record.make(source, rule, lambda: function(timed, *arguments))


def _bulk_operation(function: Callable[..., Any], rule: str = "") -> Fixture:
    """Register a function that scripts quote as a fixture: checks call it as scripts do, as one operation of many calls.

    Without a rule it pushes, and is called with the numbers of what it is to push.
    """

    @fixture
    @wraps(function, updated=())
    def made(case: Case) -> Callable[..., Any]:
        return partial(_in_bulk, case, function, rule) if rule else push_made(case, function)

    return made


push_until_refused = _bulk_operation(support.push_until_refused)
count_while_peeking = _bulk_operation(support.count_while_peeking)
push_often = _bulk_operation(support.push_often, RULES["push"])
count_all = _bulk_operation(support.count_all, RULES["pop"])
sizes_of_all = _bulk_operation(support.sizes_of_all, RULES["pop"])
pop_numbers = _bulk_operation(support.pop_numbers, RULES["pop"])


@fixture
def keys_of(case: Case) -> Callable[[Iterable[int]], list[Any]]:
    """``keys_of(numbers)``: the keys of the items with these numbers; see ``key``."""
    made = item(case)
    return lambda numbers: [key(made(number)) for number in numbers]


@fixture
def refusals(case: Case) -> list[int]:
    """The numbers of what a push refuses, for sequences: ``push_refused:0``.

    A byte queue that takes any value has no refused push that could leave a trace.
    """
    context = case.context
    known = enumerate(commands.unstorable(context))
    lenient = context.implementation.kind is BYTE_QUEUE
    found = [number for number, (item, _, _) in known if not lenient or _refuses(context, item)]
    if not found:
        raise NotApplicable("nothing is known that this queue refuses to store")
    return found


def _refuses(context: CheckContext, item: Item) -> bool:
    context.restart()
    queue = context.open()
    with suppress(OperationRaised):
        queue.push(item)
        return False
    return True


@fixture
def spider(case: Case) -> Any:
    """The spider of the crawler."""
    return case.sources.give(case.context.driver.names["spider"], "spider")


@fixture
def use_spider(case: Case) -> Callable[[type[Spider]], Any]:
    """``spider = use_spider(ExampleSpider)``: give the crawler another spider; queues that are opened later belong to it."""

    def used(cls: type[Spider]) -> Any:
        driver = case.context.driver
        arguments, give = f"crawler, {cls.__name__}", partial(example.give_spider, driver.crawler, cls)
        source = f"give_spider({arguments})"
        if driver.prepare_name:
            source = f"give_prepared_spider({arguments}, {driver.prepare_name})"
            give = partial(example.give_prepared_spider, driver.crawler, cls, driver.implementation.prepare)
        spider = case.record.make(source, driver.constructor_rule, give, "spider")
        driver.use_spider(spider)
        return case.sources.give(spider, "spider")

    return used


@fixture
def serialization_errors(case: Case) -> tuple[type[BaseException], ...]:
    """The classes that count as the serialization error."""
    return fallback.serialization_errors(case.context)


@fixture
def place(case: Case) -> tuple[Any, ...]:
    """``queue.push(item(1), *place)``: the priority or key of a push into a queue that holds others; nothing for all others."""
    return getattr(case.context.driver, "places", ())[:1]


@fixture
def factory(case: Case) -> Callable[[], Any]:
    """What another process opens the queue with."""
    expect_fork()
    source, build = case.context.driver.construction("0")
    found: Callable[[], Any] = case.sources.give(build, f"lambda: {source}")
    return found


outcomes_of_pops = _bulk_operation(support.outcomes_of_pops, RULES["pop"])
pass_through = _bulk_operation(support.pass_through, RULES["push"])
class_lacks = operation(support.class_lacks, timed=False)
satisfies = operation(support.satisfies, timed=False)
push_all = operation(processes.push_all, RULES["push"])
consume = operation(processes.consume, RULES["pop"])
side_by_side = operation(processes.side_by_side, RULES["pop"])
pop_and_die = operation(processes.pop_and_die, RULES["pop"])
pop_soon = operation(interleaving.pop_soon, RULES["pop"])
popped_late = operation(interleaving.popped_late, RULES["pop"])
length_above_0 = operation(interleaving.length_above_0, RULES["len"])
length_0 = operation(interleaving.length_0, RULES["len"])
