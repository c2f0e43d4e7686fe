"""Checks of priority queues that look at the slots of the downloader."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from queue_conformance.engine.bench import Bench
from queue_conformance.engine.lockstep import run_each
from queue_conformance.engine.outcomes import NotExercised
from queue_conformance.engine.registry import check
from queue_conformance.kinds.priority_queue.common import KINDS, NAMES, expect_all, in_slot, saved
from queue_conformance.kinds.priority_queue.model import Place

LONG_NAMES = ("'a-long-label.' * 19 + 'example'", "'ü' * 253", r"'\udc80'")
"""Hosts and slots whose names are as long as a name of a file may be, or longer, or cannot be encoded."""

PATIENCE = 60
"""Pops within which a slot that waits must be served, while one more slot appears before each of them."""


@check("pq.slot.key", kinds=KINDS)
def slots_are_those_of_the_downloader(bench: Bench) -> None:
    rule = "pq.slot.key"
    driver = bench.driver
    scenes = (
        ('{"download_slot": "x"}', "x", True),
        ('{"download_slot": "x"}', "a.example", False),
        ('{"download_slot": None}', "a.example", True),
        ("{}", "a.example", True),
    )
    for meta, busy, last in scenes:
        with bench.collecting():
            bench.restart()
            queue = bench.open()
            driver.set_active(busy, 2)
            driver.set_active("b.example", 0 if last else 1)
            mine = driver.evaluate(f'Request("https://a.example/1", meta={meta})')
            if driver.crawler.engine.downloader.get_slot_key(mine.value) is None:
                continue  # the downloader of some releases of Scrapy answers what it is told
            other = driver.evaluate('Request("https://b.example/2")')
            queue.push(mine)
            queue.push(other)
            expect_all(bench, rule, queue, [other, mine] if last else [mine, other], in_order=True)


@check("pq.slot.least-active", kinds=KINDS)
def the_least_active_slot_comes_first(bench: Bench) -> None:
    texts = (
        "activity:8 activity:5 push:0 push:5 push:10 pop pop pop",
        "push:0 push:5 push:2 push:7 activity:4 pop pop activity:5 activity:0 pop pop",
        "push:9 push:4 activity:10 activity:4 pop activity:2 push:10 push:0 pop pop",
    )
    run_each(bench, texts)


@check("pq.slot.ties-rotate", kinds=KINDS)
def slots_take_turns(bench: Bench) -> None:
    rule = "pq.slot.ties-rotate"
    driver = bench.driver
    hosts = ("a.example", "b.example", "c.example")
    for order in ((0, 1, 2), (2, 0, 1)):
        for active in (0, 1):
            with bench.collecting():
                bench.restart()
                queue = bench.open()
                for host in hosts:
                    driver.set_active(host, active)
                for number in range(9):
                    queue.push(driver.request(number, Place(0, False, hosts[order[number % 3]])))
                _expect_turns(bench, rule, queue, hosts)


def _expect_turns(bench: Bench, rule: str, queue: Any, hosts: tuple[str, ...]) -> None:
    """Each of three slots is served once in every three pops."""
    came = _hosts(bench, queue, 9)
    ok = all(set(came[start : start + 3]) == set(hosts) for start in (0, 3, 6))
    assertion = f"all(set(came[start : start + 3]) == {set(hosts)!r} for start in (0, 3, 6))"
    bench.expect(rule, ok, "each of three slots once in three pops", ", ".join(came), assertion)


def _hosts(bench: Bench, queue: Any, count: int, *, peeks: Iterable[int] = ()) -> list[str]:
    """Pop some requests, after peeks, and return their hosts; scripts call them ``came``."""
    recorder = bench.recorder
    variable, numbers = queue.variable, tuple(peeks)
    begun = len(recorder.steps)
    came = []
    for index in range(count):
        for _ in range(numbers[index % len(numbers)] if numbers else 0):
            queue.peek()
        popped = queue.pop()
        came.append(popped.url.split("/")[2] if popped is not None else "nothing")
    del recorder.steps[begun:]
    peeked = f" for _ in [[{variable}.peek() for _ in range({numbers}[number % {len(numbers)}])]]" if numbers else ""
    target = "came" if variable == "queue" else f"came_{variable}"
    recorder.note(f'{target} = [{variable}.pop().url.split("/")[2] for number in range({count}){peeked}]')
    return came


@check("pq.slot.no-starvation", kinds=KINDS)
def no_slot_waits_forever(bench: Bench) -> None:
    rule = "pq.slot.no-starvation"
    for waiting, other in (("z.example", "b{}.example"), ("a.example", "b{}.example"), ("z.example", "y{}.example")):
        for count in (PATIENCE, 2):
            with bench.collecting():
                bench.restart()
                _wait(bench, rule, waiting, other, count)


def _wait(bench: Bench, rule: str, waiting: str, other: str, count: int) -> None:
    """Pop while the slots of others, so many different ones, get one request before each pop."""
    driver, recorder = bench.driver, bench.recorder
    queue = bench.open()
    for number in range(2):
        queue.push(driver.request(number, Place(0, False, other.format("000"))))
    queue.pop()
    queue.push(driver.request(0, Place(0, False, waiting)))
    begun = len(recorder.steps)
    came = []
    for number in range(1, PATIENCE):
        host = other.format(f"{number % count:03}")
        queue.push(driver.request(number, Place(0, False, host)))
        popped = queue.pop()
        came.append(popped is not None and popped.url.startswith(f"https://{waiting}/"))
    del recorder.steps[begun:]
    url = f"https://{other.format('{number % ' + str(count) + ':03}')}/{{number}}"
    recorder.note(f'came = [queue.push(Request(f"{url}")) or queue.pop().url for number in range(1, {PATIENCE})]')
    assertion = f'any(url.startswith("https://{waiting}/") for url in came)'
    actual = f"{waiting} was not served in {len(came)} pops, others were"
    bench.expect(
        rule, any(came), f"{waiting} served while one of {count} others gets a request before each pop", actual, assertion
    )


@check("pq.slot.drained", kinds=KINDS)
def a_drained_slot_is_forgotten(bench: Bench) -> None:
    rule = "pq.slot.drained"
    driver = bench.driver
    store = driver.furnish()
    with bench.recorder.blame(rule):
        queue = bench.open()
        driver.set_active("b.example", 5)
        for round_of in ((0, 1, 2), (3, 12), (24,)):
            queue.push(driver.item(5))
            items = [driver.item(number) for number in round_of]
            for item in items:
                queue.push(item)
            begun = len(bench.recorder.steps)
            came = [driver.identify(queue.pop()) for _ in items]
            del bench.recorder.steps[begun:]
            bench.recorder.note(f"came = [queue.pop().url for _ in range({len(items)})]")
            wanted = sorted(item.value.url for item in items)
            same = sorted(number for number in came if number is not None) == sorted(round_of)
            bench.expect(rule, same, f"the requests of a.example: {wanted}", f"{came}", f"sorted(came) == {wanted!r}")
            open_still = [found.key for found in store.built if not found.closed and not found.items]
            bench.recorder.note("left = [queue.key for queue in store.built if not queue.closed and not queue.items]")
            bench.expect(rule, not open_still, "the queues of the drained slot closed", f"{len(open_still)} open", "not left")


@check("pq.slot.directory", kinds=KINDS)
def the_directory_of_a_drained_slot_is_removed(bench: Bench) -> None:
    rule = "pq.slot.directory"
    driver = bench.driver
    driver.furnish_disk()
    queue = bench.open()
    items = [driver.item(number) for number in (0, 1, 5, 9)]
    for item in items:
        queue.push(item)
    key = driver.directory / "0"
    if not key.is_dir() or not any(path.is_dir() for path in key.iterdir()):
        raise NotExercised("it makes no directories below its key")
    expect_all(bench, "pq.pop.exactly-once", queue, items)
    left = sorted(path.name for path in key.iterdir() if path.is_dir()) if key.is_dir() else []
    place = 'Path(directory, "0")'
    bench.recorder.note(f"left = [path for path in {place}.iterdir() if path.is_dir()] if {place}.is_dir() else []")
    bench.expect(rule, not left, "no directory below the key, all slots are drained", ", ".join(left), "not left")


@check("pq.slot.contains", kinds=KINDS)
def slots_with_requests_are_contained(bench: Bench) -> None:
    rule = "pq.slot.contains"
    driver = bench.driver
    queue = bench.open()

    def expect(slot: str, expected: bool) -> None:
        found = queue.contains(slot)
        bench.expect(rule, bool(found) is expected, f"{slot!r} in queue is {expected}", found, f"bool(found) is {expected}")

    expect("a.example", False)
    queue.push(driver.item(0))
    queue.push(driver.item(6))
    for slot in ("a.example", "b.example"):
        expect(slot, True)
    expect("c.example", False)
    driver.set_active("b.example", 1)
    queue.pop()
    expect("a.example", False)
    expect("b.example", True)
    queue.pop()
    expect("b.example", False)


@check("pq.slot.names", kinds=KINDS)
def slots_of_all_names_work(bench: Bench) -> None:
    _store_in_slots(bench, "pq.slot.names", NAMES)


@check("pq.slot.long-names", kinds=KINDS)
def slots_of_long_names_work(bench: Bench) -> None:
    _store_in_slots(bench, "pq.slot.long-names", LONG_NAMES)


def _store_in_slots(bench: Bench, rule: str, names: Sequence[str]) -> None:
    """Push and pop under each slot name, in memory and on disk."""
    driver = bench.driver
    for name in names:
        for disk in (False, True):
            with bench.collecting(), bench.recorder.blame(rule):
                bench.restart()
                if disk:
                    driver.furnish_disk()
                else:
                    driver.furnish(keeps=False)
                queue = bench.open()
                items = [in_slot(bench, 1, name), in_slot(bench, 2, "'b.example'")]
                for item in items:
                    queue.push(item)
                if disk and bench.offers("persistent"):
                    state = saved(bench, queue)
                    queue = bench.open(state=state)
                expect_all(bench, rule, queue, items)


@check("pq.slot.collision", kinds=KINDS)
def slots_of_similar_names_stay_apart(bench: Bench) -> None:
    rule = "pq.slot.collision"
    driver = bench.driver
    for one, two in (("a/b", "a_b"), ("a b", "a_b"), ("a:80", "a/80"), ("", "_")):
        with bench.collecting():
            bench.restart()
            store = driver.furnish()
            queue = bench.open()
            items = [in_slot(bench, number, repr(slot)) for number, slot in enumerate((one, two))]
            for item in items:
                queue.push(item)
            apart = sorted(len(held) for held in store.items.values() if held)
            bench.recorder.note("left = sorted(len(held) for held in store.items.values() if held)")
            expected = f"the requests of {one!r} and {two!r} under keys of their own"
            bench.expect(rule, apart == [1, 1], expected, f"{apart} requests by key", "left == [1, 1]")


@check("pq.slot.per-ip", kinds=KINDS)
def slots_of_addresses_are_refused(bench: Bench) -> None:
    rule = "pq.slot.per-ip"
    bench.driver.furnish()
    settings = {"CONCURRENT_REQUESTS_PER_IP": 1}
    bench.expect_raises(rule, (ValueError,), lambda: bench.open(settings=settings), why=", as CONCURRENT_REQUESTS_PER_IP is 1")


@check("pq.slot.peek-rotation", kinds=KINDS)
def peek_does_not_advance_the_turn(bench: Bench) -> None:
    rule = "pq.slot.peek-rotation"
    driver = bench.driver
    orders = []
    for name, variable, peeks in (("0", "queue", ()), ("1", "other", ()), ("2", "third", (2, 0, 1, 3))):
        queue = bench.open(name, variable)
        for number in range(8):
            queue.push(driver.request(number, Place(0, False, f"{'abcd'[number % 4]}.example")))
        orders.append(_hosts(bench, queue, 8, peeks=peeks))
    if orders[0] != orders[1]:
        raise NotExercised("which of several slots comes first is not the same each time")
    same = orders[2] == orders[0]
    bench.expect(
        rule, same, f"the same order as without peek, {', '.join(orders[0])}", ", ".join(orders[2]), "came_third == came"
    )
