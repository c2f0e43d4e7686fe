"""What the checks of priority queues share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from queue_conformance.implementations.driver import Item
from queue_conformance.specification import Kind
from queue_conformance.suites.bench import Bench

KINDS = (Kind.PRIORITY_QUEUE,)
"""The kind that these checks drive."""


def drain(bench: Bench, queue: Any, most: int) -> list[Any]:
    """Pop once more often than there can be requests.

    Scripts call what came ``came``, as URLs.

    Args:
        bench: where the check works.
        queue: the open queue.
        most: how many requests there can be.

    Returns:
        What came.
    """
    recorder = bench.recorder
    begun = len(recorder.steps)
    came = [popped for popped in (queue.pop() for _ in range(most + 1)) if popped is not None]
    del recorder.steps[begun:]
    recorder.note(f"came = [r.url for r in ({queue.variable}.pop() for _ in range({most + 1})) if r is not None]")
    return came


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
    came = [getattr(popped, "url", popped) for popped in drain(bench, queue, len(wanted))]
    if in_order:
        bench.expect(rule, came == wanted, _numbers(wanted), _numbers(came), f"came == {wanted!r}")
    else:
        same = sorted(came) == sorted(wanted)
        bench.expect(rule, same, f"{_numbers(wanted)} in any order", _numbers(came), f"sorted(came) == {sorted(wanted)!r}")


def _numbers(urls: list[str]) -> str:
    """Return URLs without what they have in common, short."""
    short = [str(url).removeprefix("https://") for url in urls]
    text = ", ".join(short) or "nothing"
    return text if len(text) <= 150 else f"{text[:147]}..."
