"""The fixtures of checks on asynchronous queues."""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import Any

from queue_conformance.engine.case import Case, fixture
from queue_conformance.engine.child import expect_fork
from queue_conformance.engine.fixtures import operation
from queue_conformance.engine.growing import counted
from queue_conformance.engine.outcomes import NotApplicable, NotCovered
from queue_conformance.engine.subject import Subject, unwrapped
from queue_conformance.faults.backend import Backend
from queue_conformance.kinds.async_queue import script_support as consumers
from queue_conformance.kinds.async_queue.subject import RULES, AsyncSubject, Call, RecordedLoop
from queue_conformance.loops import Task


def coroutine(name: str, module: str) -> None:
    """Register a coroutine function that scripts quote as a fixture: ``loop.run(each(queue))``.

    Args:
        module: where it is defined; imported when a check uses it, as that may need qCrawl.
    """

    def made(case: Case) -> Callable[..., Call]:
        function = getattr(import_module(module), name)

        def called(*arguments: Any) -> Call:
            source = f"{name}({case.record.written(*arguments)})"
            return Call(source, case.rule, lambda: function(*map(unwrapped, arguments)))

        return called

    made.__name__, made.__module__ = name, module
    fixture(made)


@fixture
def loop(case: Case) -> RecordedLoop:
    """``loop.run(queue.put(request))``: run one operation to its end."""
    driver = case.context.driver
    return RecordedLoop(driver, case.record, lambda: driver.rest_rule or case.rule)


@fixture
def cancel(case: Case) -> Callable[[Task], Any]:
    """``cancel(getting)``: cancel a task."""

    def cancelled(task: Task) -> Any:
        return case.record.make(f"{case.record.written(task)}.cancel()", case.rule, task.cancel)

    return cancelled


@fixture
def open_async_queue(case: Case) -> Callable[..., Any]:
    """``open_async_queue(name, holding=(4, 8))``: build a queue, and put; ``placed=False``: nobody says where it stores."""
    made, running = prioritized(case), loop(case)

    def opened(name: str = "0", *, holding: Iterable[int] = (), **options: Any) -> Any:
        driver = case.context.driver
        source, build = driver.construction(name, **options)
        queue = case.record.construct(source, driver.constructor_rule, build, RULES, AsyncSubject)
        case.record.fill(lambda each: running.run(queue.put(each, priority=each.priority)), map(made, holding))
        return queue

    return opened


@fixture
def told_a_place(case: Case) -> None:
    """The queue is told where it stores; otherwise what the check is about is its own affair."""
    if case.context.driver.place is None:
        raise NotApplicable("nobody tells it where to store")


@fixture
def default_place(case: Case) -> Iterator[None]:
    """What is stored in a temporary directory by default is stored below the scratch directory."""
    directory = case.context.driver.directory
    case.record.note("tempfile.tempdir = directory")
    before, tempfile.tempdir = tempfile.tempdir, str(directory)
    directory.mkdir(exist_ok=True)
    try:
        yield
    finally:
        tempfile.tempdir = before


@fixture
def prioritized(case: Case) -> Callable[..., Any]:
    """``prioritized(number)``: a request, which is put with its own priority; equal numbers give equal ones."""

    def made(number: int, priority: int | None = None) -> Any:
        driver = case.context.driver
        found = driver.item(number) if priority is None else driver.prioritized(number, priority)
        return case.sources.give(found.value, found.source)

    return made


@fixture
def put(case: Case) -> Callable[..., Any]:
    """``put(queue, number)``: put a request with its own priority, or that which is given, and wait for the end."""

    def run(queue: AsyncSubject, number: int, priority: int | None = None) -> Any:
        request = prioritized(case)(number, priority)
        call = queue.put(request, priority=request.priority)
        loop = case.context.driver.loop
        return case.record.make(f"loop.run({call.source})", call.rule, lambda: loop.run(call.make()))

    return run


@fixture
def requests_of(case: Case) -> Callable[[range], list[Any]]:
    """``requests_of(range(40))``: requests of priority 0 with these numbers, and with all kinds of fields."""

    def made(numbers: range) -> list[Any]:
        driver = case.context.driver
        fields = [name for name in driver.fields if name != "url"]
        many = driver.many("Request(f'https://example.com/{number}', priority=0", fields, numbers)
        requests = driver.evaluate(f"[{many}]")
        found: list[Any] = case.sources.give(requests.value, requests.source)
        return found

    return made


@fixture
def requests_near(case: Case) -> Callable[[tuple[int, ...]], list[Any]]:
    """``requests_near((4096, 3072))``: requests with bodies of many sizes, a little below these numbers."""

    def made(numbers: tuple[int, ...]) -> list[Any]:
        request = "Request(f'https://example.com/{size}', method='POST', body=b'x' * size)"
        found = case.context.driver.evaluate(f"[{request} for n in {numbers} for size in range(n - 320, n + 8, 4)]")
        requests: list[Any] = case.sources.give(found.value, found.source)
        return requests

    return made


@fixture
def growing_costs_of_calls(case: Case) -> Callable[[Subject], list[str]]:
    """``growing_costs_of_calls(queue)``: the costs of its operations that grow in proportion to what is put."""
    driver = case.context.driver

    def found(queue: Subject) -> Any:
        calls = {
            "put": f"lambda request: loop.run({queue.name}.put(request, priority=0))",
            "get": f"lambda: loop.run({queue.name}.get())",
            "size": f"lambda: loop.run({queue.name}.size())",
        }
        requests = "(Request(f'https://example.com/{number}', priority=0) for number in itertools.count())"
        source = f"growing_costs({requests}, {', '.join(f'{name}={call}' for name, call in calls.items())})"
        return counted(case, queue, queue.rules["get"], source, Request=driver.request_class, loop=driver.loop)

    return found


@fixture
def bytes_kept_of_got(case: Case) -> Callable[[Subject, int], tuple[int, int]]:
    """``kept, passed = bytes_kept_of_got(queue, 10_000)``: the bytes of memory that it keeps of so many such requests."""
    driver = case.context.driver

    def found(queue: Subject, size: int) -> Any:
        put, get = f"lambda request: loop.run({queue.name}.put(request, priority=0))", f"lambda: loop.run({queue.name}.get())"
        request = f"Request(f'https://example.com/{{number}}', method='POST', body=b'%{size}d' % number, priority=0)"
        source = f"bytes_kept_of_few_or_many(through({put}, {get}), lambda number: {request}, {size})"
        return counted(case, queue, queue.rules["get"], source, Request=driver.request_class, loop=driver.loop)

    return found


@fixture
def request_of_size(case: Case) -> Callable[[int], Any]:
    """``request = request_of_size(number)``: a request whose body has so many bytes."""
    return lambda size: requested(case)(method="POST", body=case.sources.give(b"x" * size, f"b'x' * {size}"))


@fixture
def requested(case: Case) -> Callable[..., Any]:
    """``request = requested(meta={1: 2})``: a request with these fields."""

    def made(**fields: Any) -> Any:
        url = "https://example.com/9"
        try:
            request = case.context.driver.request_class(url, **fields)
        except Exception as error:
            raise NotCovered("requests themselves refuse it") from error
        case.record.make(f"Request({case.record.written(url, **fields)})", "", lambda: request, "request", shown=False)
        return request

    return made


@fixture
def iterates(case: Case) -> None:
    """The queue can be iterated; otherwise what the check is about does not exist."""
    if not case.context.offers("iterates"):
        raise NotApplicable("it cannot be iterated")


@fixture
def urls_of(case: Case) -> Callable[[Iterable[int]], list[str]]:
    """``urls_of(numbers)``: the URLs of the requests with these numbers."""
    return lambda numbers: [case.context.driver.item(number).value.url for number in numbers]


@fixture
def async_backend(case: Case) -> Backend:
    """The server behind the queue, and the proxy before it."""
    if case.context.backend is None:
        raise NotCovered("there is no connection that could be cut: give --queue-server")
    found: Backend = case.sources.give(case.context.backend, "backend")
    return found


@fixture
def async_factory(case: Case) -> Callable[[Any], Any]:
    """What another process opens the queue with, on a loop of its own."""
    expect_fork()
    if case.context.recorder.unclosed:  # the other process closes it, too
        case.context.recorder.unclosed.stop()
    driver = case.context.driver
    source, _ = driver.construction("0")
    found: Callable[[Any], Any] = case.sources.give(driver.opener(), f"lambda loop: {source}")
    return found


@fixture
def loop_class(case: Case) -> Any:
    """The class of the loop."""
    cls = type(case.context.driver.loop)
    return case.sources.give(cls, cls.__name__)


@fixture
def builder(case: Case) -> Any:
    """What builds queues: the class, or a function of the author's."""
    return case.sources.give(case.context.implementation.builder, case.context.driver.builder_name)


# --- Construction ----------------------------------------------------------------------------------------------------


@fixture
def builds_itself(case: Case) -> None:
    """The constructor of the class alone builds queues."""
    if case.context.implementation.factory is not None:
        raise NotCovered("the author's function builds the queue, and not its constructor alone")


@fixture
def from_factory(case: Case) -> Callable[[], Any]:
    """``queue = from_factory()``: let qCrawl's factory build a queue."""
    driver, tested = case.context.driver, case.context.implementation
    if importlib.util.find_spec("qcrawl") is None:
        raise NotCovered("qCrawl is not installed")
    from qcrawl.core.queue import RequestQueue
    from qcrawl.core.queues.factory import create_queue

    if not issubclass(tested.cls, RequestQueue):
        case.context.notes.append("qCrawl's factory refuses it: it is no subclass of qcrawl.core.queue.RequestQueue")
        raise NotCovered("qCrawl's factory builds subclasses of RequestQueue alone")
    if not tested.importable:
        raise NotCovered("qCrawl's factory cannot import the class: give it by its dotted path")
    if "." in driver.class_name:
        raise NotCovered("qCrawl's factory finds no nested classes")
    arguments = driver.construction("0")[0].removeprefix(f"loop.call({driver.class_name}").removesuffix(")")
    source = f"loop.run(create_queue({tested.path!r}{arguments}))"

    def build() -> Any:
        return driver.loop.run(create_queue(tested.path, **driver.keywords("0")))

    return lambda: case.record.construct(source, case.rule, build, RULES, AsyncSubject)


@fixture
def shipped_config(case: Case) -> dict[str, Any]:
    """The arguments that qCrawl ships for the class or one of its bases."""
    context = case.context
    shipped = None
    if importlib.util.find_spec("qcrawl") is not None:
        from qcrawl.settings import Settings

        names = {f"{base.__module__}.{base.__qualname__}" for base in context.implementation.cls.__mro__}
        shipped = next((backend for backend in Settings().QUEUE_BACKENDS.values() if backend.get("class") in names), None)
    if shipped is None:
        raise NotApplicable("qCrawl ships no configuration for this class")
    config = {name: value for name, value in shipped.items() if name != "class"}
    foreign = context.backend is not None and not context.backend.server.ours
    if foreign and context.driver.place in config:  # what the author has stored there must not be touched
        config[context.driver.place] = f"{context.driver.directory.name}{config[context.driver.place]}"
    return config


undefined = operation(consumers.undefined)
class_of = operation(consumers.class_of)
not_coroutines = operation(consumers.not_coroutines)
parameters_of = operation(consumers.parameters_of)
put_all = operation(consumers.put_all, RULES["put"])
put_and_get = operation(consumers.put_and_get, RULES["put"])
reopened_at_each_count = operation(consumers.reopened_at_each_count, RULES["size"])
put_until_rewritten = operation(consumers.put_until_rewritten, RULES["put"])
drained = operation(consumers.drained, RULES["get"])
outcomes_of_gets = operation(consumers.outcomes_of_gets, RULES["get"])
size_again = operation(consumers.size_again, RULES["size"])
connections_left = operation(consumers.connections_left)
drop_hashes = operation(consumers.drop_hashes)
coroutine("each", consumers.__name__)
coroutine("first_of", consumers.__name__)
coroutine("put_and_close", consumers.__name__)
