"""Checks of priority queues that look at the slots of the downloader."""

from pathlib import Path

from scrapy import Request

from queue_conformance.engine.blocks import raises, under_test
from queue_conformance.engine.check import check
from queue_conformance.engine.fixtures import offers
from queue_conformance.engine.outcomes import NotCovered
from queue_conformance.environments.fixtures import change_settings, occupy
from queue_conformance.kinds.priority_queue.fixtures import (
    NAMES,
    START,
    contains,
    pop_hosts,
    pop_urls,
    pops_before,
    through_json,
    use_queues,
)

SLOTS = {
    "https://a.example/": "a.example",
    "http://b.c.example:8080/": "b.c.example",
    "https://user:password@a.example/": "a.example",
    "https://www.a.example/": "www.a.example",
    "http://a.example./": "a.example.",
    "http://[::1]:80/": "::1",
    "file:///a": "",
    "data:,a": "",
}
"""The slots that the downloader has for some URLs."""

LONG_NAMES = ("a" * 254, "ü" * 253, "\udc80")
"""Hosts and slots whose names are as long as a name of a file may be, or longer, or cannot be encoded."""

TIMEOUT = 60
"""Pops within which a slot that waits must be served, while one more slot appears before each of them."""

HOSTS = ("a.example", "b.example", "c.example", "d.example")


@check(
    "pq.slot.key",
    depends_on="activity:8 activity:5 push:0 push:5 pop pop",
    case=(
        ("https://a.example/", {"download_slot": "x"}, "x", True),
        ("https://a.example/", {"download_slot": "x"}, "a.example", False),
        ("https://a.example/", {"download_slot": "X."}, "X.", True),
        ("https://a.example/", {"download_slot": None}, "a.example", True),
        *((url, {}, slot, True) for url, slot in SLOTS.items()),
    ),
)
def slots_are_those_of_the_downloader(crawler, queue, case):
    """The slot of a request is the downloader's: the `download_slot` in its meta if that is set and not `None`, else the host."""
    url, meta, busy, waits = case
    mine = Request(url, meta=meta)
    known = crawler.engine.downloader.get_slot_key(mine) is not None  # before 2.14 it answers what it is told
    occupy(crawler, busy, 2)
    occupy(crawler, "c.example", 1)
    with under_test():
        queue.push(mine)
        queue.push(Request("https://c.example/"))
        urls = pop_urls(queue, 2)
        if not known:
            assert sorted(urls) == [mine.url, "https://c.example/"]
        elif waits:
            assert urls == ["https://c.example/", mine.url]
        else:
            assert urls == [mine.url, "https://c.example/"]


@check("pq.slot.key", name="slot.redirected")
def the_slot_follows_the_url(crawler, queue):
    """The slot of a request is the downloader's: the `download_slot` in its meta if that is set and not `None`, else the host."""
    queue.push(Request("https://a.example/"))
    popped = queue.pop()
    occupy(crawler, "a.example", 2)
    occupy(crawler, "c.example", 1)
    queue.push(popped.replace(url="https://b.example/"))
    queue.push(Request("https://c.example/"))
    assert pop_urls(queue, 2) == ["https://b.example/", "https://c.example/"]


@check("pq.slot.least-active", name="slot.least-active.many", idle=(0, 39))
def the_idle_one_of_many_slots_comes_first(crawler, queue, request, idle):
    """A slot with the fewest active downloads is served first; among requests of equal priority, if priorities count across
    slots.
    """
    for number in range(40):
        if number != idle:
            occupy(crawler, f"{number}.example", 1)
        queue.push(request(host=f"{number}.example"))
    assert pop_hosts(queue, 1) == [f"{idle}.example"]


@check("pq.slot.ties-rotate", order=((0, 1, 2), (2, 0, 1), range(40)), active=(0, 1))
def slots_take_turns(crawler, queue, request, order, active):
    """Slots with equally many active downloads take turns."""
    for number in order if active else ():
        occupy(crawler, f"{number}.example", active)
    for _ in range(3):
        for number in order:
            queue.push(request(host=f"{number}.example"))
    for _ in range(3):
        expected = sorted(f"{number}.example" for number in order)
        assert sorted(pop_hosts(queue, len(order))) == expected, "each slot once in as many pops"


@check(
    "pq.slot.no-starvation",
    hosts=(("z.example", "b{:03}.example"), ("a.example", "b{:03}.example"), ("z.example", "y{:03}.example")),
    count=(TIMEOUT, 2),
)
def no_slot_waits_forever(queue, request, hosts, count):
    """No slot waits forever while others with as many active downloads keep receiving requests."""
    waiting, others = hosts
    for _ in range(2):
        queue.push(request(host=others.format(0)))
    queue.pop()
    queue.push(request(host=waiting))
    assert pops_before(queue, waiting, others, count, TIMEOUT) < TIMEOUT, f"{waiting} served within {TIMEOUT} pops"


@check("pq.slot.drained")
def a_drained_slot_is_forgotten(crawler, open_queue, request):
    """A slot that is drained is forgotten, its downstream queues are closed, and it works again later."""
    store = use_queues()
    with under_test():
        queue = open_queue()
        occupy(crawler, "b.example", 5)
        for priorities in ((0, 1, 2), (1, 0), (0,)):
            queue.push(request(host="b.example"))
            for priority in priorities:
                queue.push(request(host="a.example", priority=priority))
            assert pop_hosts(queue, len(priorities)) == ["a.example"] * len(priorities)
            empty = [found for found in store.built if not found.items]
            left_open = sum(not found.closed for found in empty)
            assert left_open == 0, "the queues of the drained slot closed"


@check("pq.slot.directory")
def the_directory_of_a_drained_slot_is_removed(open_queue, request, directory):
    """The directory of a slot that is drained is removed."""
    use_queues(disk=True)
    queue = open_queue()
    for host in HOSTS[:3]:
        queue.push(request(host=host))
    if not any(path.is_dir() for path in Path(directory).glob("0/*")):
        raise NotCovered("it makes no directories below its key")
    with under_test("pq.pop.exactly-once"):
        assert sorted(pop_hosts(queue, 3)) == ["a.example", "b.example", "c.example"]
    assert sorted(path.name for path in Path(directory).glob("0/*") if path.is_dir()) == [], "no directory of a drained slot"


@check("pq.slot.contains")
def slots_with_requests_are_contained(crawler, queue, request):
    """`slot in queue` tells whether a slot has requests."""
    assert not contains(queue, "a.example")
    queue.push(request(host="a.example"))
    queue.push(request(host="b.example", meta=START))
    assert contains(queue, "a.example")
    assert contains(queue, "b.example")
    assert not contains(queue, "c.example")
    occupy(crawler, "b.example", 1)
    queue.pop()
    assert not contains(queue, "a.example")
    assert contains(queue, "b.example")
    queue.pop()
    assert not contains(queue, "b.example")


@check("pq.slot.long-names", slot=LONG_NAMES, disk=(False, True))
@check("pq.slot.names", slot=NAMES, disk=(False, True))
def slots_of_all_names_work(open_queue, request, slot, disk):
    """Long slot names work too, in memory and on disk: hosts of 253 characters; so do names with lone surrogates.

    Every slot name that the downloader can produce works, in memory and on disk: the empty name, `..`, names with slashes,
    with zero bytes and with letters outside ASCII.
    """
    with under_test():
        use_queues(disk=disk, persistent=False)
        queue = open_queue()
        queue.push(request(meta={"download_slot": slot}))
        queue.push(request(host="b.example"))
        if disk and offers("persistent"):
            state = through_json(queue.close())
            queue = open_queue(state=state)
        assert sorted(pop_urls(queue, 2)) == ["https://b.example/2", "https://example.com/1"]


SIMILAR = (
    *(("a/b", "a_b"), ("a b", "a_b"), ("a:80", "a/80"), ("", "_"), ("A", "a"), ("a.", "a"), ("a-b", "a.b")),
    *((f"{'a' * size}1", f"{'a' * size}2") for size in (40, 64, 128, 255)),
    ("caf\u00e9", "cafe\u0301"),
    *(("7137.example", "117135.example"), ("2814.example", "30378.example"), ("6648.example", "141026.example")),
    ("plumless", "buckeroo"),
)
"""Pairs of names that differ in case, in punctuation, by Unicode normalisation, or behind where names are cut; then pairs whose
MD5, SHA-1 and SHA-256 begin with the same eight hexadecimal digits, and one of the same CRC-32.
"""

JOINED = (
    *((("shop", 10 * sign), ("shop1", 0)) for sign in (1, -1)),
    *((("shop", sign), ("shop-", -sign)) for sign in (1, -1)),
    *((("shop", 10 * sign), ("shop-1", 0)) for sign in (1, -1)),
)
"""Names and priorities that are the same text where one, with its sign or the other, is put behind the other."""


@check("pq.slot.collision", places=(*(((one, 0), (other, 0)) for one, other in SIMILAR), *JOINED))
def slots_of_similar_names_stay_apart(open_queue, request, places):
    """Two slots stay apart however similar their names, also where they are equal once characters that are unsafe in paths are
    replaced.
    """
    store = use_queues()
    queue = open_queue()
    for slot, priority in places:
        queue.push(request(meta={"download_slot": slot}, priority=priority))
    keys = sorted(found.key for found in store.built if not found.closed)
    assert keys == sorted({*keys}), "no key with two downstream queues, for two slots"


@check("pq.slot.collision", name="slot.collision.resume", depends_on=["pq.slot.collision", "pq.resume.all"], slots=SIMILAR)
def slots_of_similar_names_stay_apart_in_the_state(resumable, open_queue, request, slots):
    """Two slots stay apart however similar their names, also where they are equal once characters that are unsafe in paths are
    replaced.
    """
    use_queues()
    queue = open_queue()
    for slot in slots:
        queue.push(request(meta={"download_slot": slot}))
    state = through_json(queue.close())
    queue = open_queue(state=state)
    assert sorted(pop_urls(queue, 2)) == ["https://example.com/1", "https://example.com/2"]


@check("pq.slot.per-ip")
def slots_of_addresses_are_refused(crawler, open_queue):
    """Construction raises `ValueError` when the setting CONCURRENT_REQUESTS_PER_IP is not 0."""
    change_settings(crawler, {"CONCURRENT_REQUESTS_PER_IP": 1})
    with raises(ValueError, because=", as CONCURRENT_REQUESTS_PER_IP is 1"):
        open_queue()


@check("pq.slot.peek-rotation")
def peek_does_not_advance_the_turn(open_queue, request):
    """`peek` does not advance the turn of the slots."""
    one = open_queue("0")
    two = open_queue("1")
    three = open_queue("2")
    for queue in (one, two, three):
        for host in HOSTS * 2:
            queue.push(request(host=host))
    usual = pop_hosts(one, 8)
    if pop_hosts(two, 8) != usual:
        raise NotCovered("which of several slots comes first is not the same each time")
    assert pop_hosts(three, 8, (2, 0, 1, 3)) == usual
