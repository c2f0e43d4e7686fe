"""What the checks of priority queues share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Any

from queue_conformance.engine.bench import Bench
from queue_conformance.engine.driver import Item
from queue_conformance.engine.outcomes import NotApplicable, NotExercised
from queue_conformance.engine.recording import NOTHING
from queue_conformance.kinds.priority_queue.driver import through_json
from queue_conformance.kinds.priority_queue.kind import PRIORITY_QUEUE

KINDS = (PRIORITY_QUEUE,)
"""The kind that these checks drive."""


NAMES = (
    "''",
    "'.'",
    "'..'",
    "'/'",
    "'a/b'",
    "'../../a'",
    "'with space'",
    "'a:80'",
    "'exämple.com'",
    "'日本語'",
    r"'a\0b'",
)
"""Slots that the downloader can produce, from hosts and from ``download_slot``, as Python expressions."""


def in_slot(bench: Bench, number: int, slot: str) -> Item:
    """Make a request whose meta names its slot, which is a Python expression."""
    item: Item = bench.driver.evaluate(f'Request("https://a.example/{number}", meta={{"download_slot": {slot}}})')
    return item


def drain(bench: Bench, queue: Any, count: int) -> list[str]:
    """Pop until as many requests have come as there are; ``None`` between them is judged elsewhere.

    Scripts call what came ``came``, as URLs.

    Args:
        bench: where the check works.
        queue: the open queue.
        count: how many requests there are.

    Returns:
        The URLs of what came.
    """
    steps = bench.recorder.steps
    begun, most = len(steps), 2 * count + 2
    came: list[str] = []
    pops = 0
    while len(came) < count and pops < most:
        popped = queue.pop()
        pops += 1
        if popped is not None:
            came.append(getattr(popped, "url", repr(popped)))
    del steps[begun:]
    bench.recorder.note(f"came = [r.url for r in ({queue.variable}.pop() for _ in range({pops})) if r is not None]")
    return came


def saved(bench: Bench, queue: Any) -> Any:
    """Close, and return the state after a trip through JSON; scripts call it ``state``.

    Raises:
        NotExercised: if JSON cannot store it, which is judged elsewhere.
    """
    state = through_json(queue.close())
    if state is NOTHING:
        raise NotExercised("JSON cannot store what its close returns")
    bench.recorder.note("state = json.loads(json.dumps(left))")
    return state


def need_start_queues(bench: Bench) -> None:
    """Make sure that start requests have queues of their own.

    Raises:
        NotApplicable: if they have none.
    """
    if not bench.driver.takes_start_queues:
        raise NotApplicable("it takes no start_queue_cls, which Scrapy requires from 2.16")


def need_resuming(bench: Bench, items: Sequence[Item]) -> None:
    """Make sure that requests are there again after resuming, which is judged elsewhere.

    Raises:
        NotExercised: if they are not.
    """
    bench.restart()
    queue = bench.open()
    for item in items:
        queue.push(item)
    state = saved(bench, queue)
    if sorted(drain(bench, bench.open(state=state), len(items))) != sorted(item.value.url for item in items):
        raise NotExercised("requests are lost when it is resumed")
    bench.restart()


def expect_all(bench: Bench, rule: str, queue: Any, items: Iterable[Item], *, in_order: bool = False) -> None:
    """Take everything out, and compare it with what was pushed.

    Args:
        bench: where the check works.
        rule: the rule that is broken if something else comes.
        queue: the open queue.
        items: what must come.
        in_order: whether it must come in this order.

    Raises:
        RuleBroken: if something is missing, comes twice, or comes in another order.
    """
    wanted = [item.value.url for item in items]
    came = drain(bench, queue, len(wanted))
    if in_order:
        at = next((index for index, pair in enumerate(zip_longest(came, wanted)) if pair[0] != pair[1]), 0)
        bench.expect(rule, came == wanted, _from(wanted, at), _from(came, at), f"came == {wanted!r}")
    else:
        came.sort()
        wanted.sort()
        bench.recorder.note("came.sort()")
        wrong = [f"{url} {count} times" for url, count in Counter(came).items() if url not in wanted or count > 1]
        wrong += [f"no {url}" for url in wanted if url not in came]
        bench.expect(
            rule, came == wanted, f"{len(wanted)} requests, each of them once", ", ".join(wrong)[:150], f"came == {wanted!r}"
        )


def _from(urls: list[str], start: int) -> str:
    """Return some of the URLs, with where they are."""
    shown = ", ".join(urls[start : start + 3]) or "nothing"
    return f"{shown} as number {start + 1}" if start else shown
