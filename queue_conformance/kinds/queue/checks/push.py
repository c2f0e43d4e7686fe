"""Checks of push: what it accepts, returns and leaves as it was."""

from __future__ import annotations

from collections.abc import Iterator

from scrapy import Request

from queue_conformance.engine.blocks import must_not_raise, raises, under_test
from queue_conformance.engine.check import check
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.fixtures import made, note, offers
from queue_conformance.engine.outcomes import NotApplicable, NotCovered
from queue_conformance.environments.encoded import ENCODED
from queue_conformance.environments.unserializable import COMMON
from queue_conformance.kinds.queue.edges import edges
from queue_conformance.kinds.queue.fallback import push_may_raise
from queue_conformance.kinds.queue.fixtures import count_all, push_often, sizes_lost, sizes_of_all
from queue_conformance.kinds.queue.kind import BYTES_ONLY, REQUESTS_ONLY
from queue_conformance.script_support.example import fields
from queue_conformance.script_support.support import content


@check("queue.push.returns-none")
def push_returns_none(queue, item, place):
    """`push` returns `None`; callers ignore the value."""
    assert queue.push(item(0), *place) is None


@check("queue.push.failed-no-trace")
def failed_push_leaves_no_trace(run, refusals):
    """A push that refused its item leaves the queue as it was: same len, same later items, further pushes and pops work."""
    for refused in (f"push_refused:{cause}" for cause in refusals):
        run(f"push:0 {refused} length push:1 length pop {refused} {refused} truth pop length pop {refused}")


NO_BYTES = (
    lambda: "text",
    lambda: bytearray(b"item"),
    lambda: memoryview(b"item"),
    lambda: None,
    lambda: 7,
)
"""Items that are no bytes."""


@check("queue.push.bytes-only", kinds=BYTES_ONLY, wrong=NO_BYTES)
def only_bytes_are_accepted(queue, item, wrong):
    """A raw disk queue refuses anything but `bytes` with `TypeError` and is unchanged."""
    queue.push(item(1))
    with raises(TypeError):
        queue.push(made(wrong))
    with under_test("queue.push.failed-no-trace"):
        assert len(queue) == 1


@check("queue.push.zero-length")
def empty_bytes_are_an_item(queue, place):
    """`b""` is an item: it counts, and `pop` returns `b""`, not `None`."""
    with under_test():
        queue.push(b"", *place)
        assert len(queue) == 1
        assert queue.pop() == b""
        assert len(queue) == 0


ANY_BYTES = (b"\n", b"a\n\nb\r\n", b"\0", b"\xff", b" a ", b'\\n "%s" ,;\t\'', b"\x01\x1a\x1b\x7f\x80\xfe")
"""Items that look like the end of another one, or are no text."""


@check(
    "queue.pop.exactly-once",
    "queue.persist.reopen",
    kinds=BYTES_ONLY,
    name="push.any-bytes",
    depends_on="push:0 pop push:1 reopen pop",
    content=(*ANY_BYTES, *ENCODED),
)
def any_bytes_are_an_item(open_queue, content):
    """Without faults every pushed item is popped exactly once."""
    with under_test():
        queue = open_queue(holding=[content])
        assert queue.pop() == content
    queue.push(content)
    queue.close()
    if offers("persistent"):
        with under_test("queue.persist.reopen"):
            queue = open_queue()
            assert queue.pop() == content
            queue.close()


@check("queue.push.duplicates", kinds=REQUESTS_ONLY, name="push.same-object", depends_on="push:0 push:1 length pop pop")
def the_same_object_may_be_pushed_twice(queue):
    """A queue is not a set: pushing an equal item twice stores two."""
    request = Request("https://example.com/1")
    queue.push(request)
    queue.push(request)
    if not offers("shared"):  # whose length may be a little old
        assert len(queue) == 2
    assert [queue.pop().url for _ in range(2)] == [request.url] * 2


@check("queue.push.no-mutation", kinds=REQUESTS_ONLY)
def push_does_not_modify_the_request(queue, spider):
    """`push` does not modify the request that it receives."""
    request = Request(
        "https://example.com/1",
        method="POST",
        headers={"A": ["1", "2"]},
        body=b"body",
        cookies={"c": "d"},
        meta={"depth": [1, 2]},
        callback=spider.parse_item,
        cb_kwargs={"k": "v"},
        flags=["f"],
        priority=7,
    )
    before = {name: repr(getattr(request, name)) for name in request.attributes}
    queue.push(request)
    assert {name: repr(getattr(request, name)) for name in request.attributes} == before


@check("queue.push.snapshot", kinds=REQUESTS_ONLY, name="snapshot.popped", depends_on="push:0 push:0 pop pop")
def changes_of_what_was_popped_do_not_show(open_queue):
    """A serializing queue stores a snapshot: later changes to the caller's request, its meta, cb_kwargs or headers, or to what
    `pop` returned of an equal one, do not appear in what `pop` returns.
    """
    queue = open_queue()
    request = Request("https://example.com/1", meta={"list": [1]}, cb_kwargs={"dict": {}})
    queue.push(request)
    queue.push(request)
    with under_test():
        popped = queue.pop()
        popped.meta["list"].append(2)
        popped.cb_kwargs["dict"]["new"] = 1
        assert fields(queue.pop()) == fields(request)
        queue.close()


@check(
    "queue.push.accept",
    kinds=REQUESTS_ONLY,
    name="push.objects-behind-many",
    depends_on=["pop.many", "push.same-object"],
    cause=COMMON[:1],
    waiting=[5000],
)
@check("queue.push.accept", kinds=REQUESTS_ONLY, name="push.objects", cause=COMMON, waiting=[0])
def what_keeps_objects_keeps_any(context, queue, item, cause, waiting):
    """Pushing an item that can be stored returns normally and raises `len()` by one."""
    if offers("serializes"):
        raise NotApplicable("it stores copies, and may refuse what it cannot copy")
    if waiting and context.budget.short:
        raise NotCovered(f"operations are slow{context.budget.more}")
    push_often(queue, item(1), waiting)
    queue.push(Request("https://example.com/2", meta={"value": made(cause)}))
    assert count_all(queue) == waiting + 1


# --- Size ------------------------------------------------------------------------------------------------------------

SIZES = (1, 4095, 4096, 4097, 65535, 65536, 65537, 1 << 20, 1 << 26)
"""Bytes of an item; the last one is 64 MiB."""

LARGE_BESIDE = (1 << 22, 1 << 24)
"""Bytes of items that wait side by side: a cache would drop one to make room, and who moves what is left must move all of it."""

NEAR_PAGES = tuple(range(place - 800, place + 8, 4) for page in (1 << 12, 1 << 14, 1 << 16) for place in (page, page * 3 // 4))
"""Sizes of which one ends where a page of a file does, whatever is stored beside it, also where three bytes become four."""

MANY = 100_000
"""Items in one queue."""

ITEMS_PER_EXAMPLE = 50
"""Items that go into a persistent queue for each example that is drawn: all of them only in a longer run."""

SENT_PER_EXAMPLE = 20
"""Such items where each is sent to a server, and back."""


def as_many_as_time_allows(context: CheckContext) -> Iterator[int]:
    """Yield how many items go into one queue: fewer if it stores them."""
    each = SENT_PER_EXAMPLE if context.offers("server") else ITEMS_PER_EXAMPLE
    yield min(MANY, each * context.examples) if context.offers("persistent") else MANY


@check(  # it has a name of its own, as a queue that fails the first rule may well keep the second
    "queue.push.large",
    "queue.pop.exactly-once",
    name="push.large",
    depends_on=" ".join(f"push:{number % 50}" for number in range(60)) + " length truth pop length",
    count=[as_many_as_time_allows],
)
def large_items_and_queues_work(context, open_queue, item, sized, count):
    """Items from 0 B to 64 MiB and queues of 100 000 items work."""
    with under_test():
        queue = open_queue()
        if context.offers("server"):
            note("items through a server", "up to 1 MiB; more may take longer than its client waits")
        for size in SIZES[:-1] if context.offers("server") else SIZES:
            queue.push(sized(size))
            with must_not_raise("queue.pop.exactly-once", expected="no exception"):
                popped = queue.pop()  # one that takes too long is another rule's
            with under_test("queue.pop.exactly-once"):
                assert content(popped) == b"x" * size
        waiting = [1, SIZES[-2]] if context.offers("server") else [1, *LARGE_BESIDE]
        for size in waiting:
            queue.push(sized(size))
        with under_test("queue.pop.exactly-once"):
            assert sizes_of_all(queue) == waiting, "all that waited side by side, whole"
        queue = open_queue("1")  # each pop may walk over what large items have left behind
        push_often(queue, item(1), count)
        length, popped = len(queue), count_all(queue)
        with under_test("queue.pop.exactly-once"):
            assert popped == count, f"{count} items"
        assert length == count, f"a length of {count}"
    if count < MANY:
        examples = MANY * context.examples // count
        raise NotCovered(f"works with {count} items; --conformance-examples={examples} tries {MANY}")


@check(
    "queue.push.serialization-all-causes",
    kinds=REQUESTS_ONLY,
    name="push.large-refused",
    depends_on="push:0 pop",
    size=(65_537, (1 << 20) + 1),
)
def a_large_request_is_stored_or_refused(queue, sized, size):
    """`push` raises the serialization error whatever the reason, want of memory excepted: nesting that is too deep, an
    exception raised by `__reduce__` or `__getstate__` of an object in the request, overflow, recursion, size.
    """
    with under_test(), push_may_raise("serialization"):
        queue.push(sized(size))


def near_pages(context: CheckContext) -> Iterator[range]:
    """Yield sizes for a class that writes files."""
    if not context.offers("filesystem"):
        raise NotApplicable("it stores nothing in files")
    if context.budget.short:
        raise NotCovered(f"operations are slow{context.budget.more}")
    yield from NEAR_PAGES


@check("queue.pop.exactly-once", name="push.near-pages", depends_on="push:0 pop", sizes=[near_pages])
def no_size_is_special(queue, sizes):
    """Without faults every pushed item is popped exactly once."""
    if sizes_lost(queue, range(1, 2)) == [1]:
        raise NotCovered("it keeps no content, of whatever size")
    lost = sizes_lost(queue, sizes)
    if lost is None:
        raise NotCovered("it refuses what is so large")
    assert lost == []


@check("queue.pop.exactly-once", name="push.near-edges", depends_on="push.near-pages", size=[edges])
def no_end_of_a_file_is_special(edges_lost, size):
    """Without faults every pushed item is popped exactly once."""
    lost = edges_lost(size)
    if lost is None:
        raise NotCovered("its files do not grow by as much as is pushed")
    assert lost == [], "every item, with however many bytes to the end of a file"
