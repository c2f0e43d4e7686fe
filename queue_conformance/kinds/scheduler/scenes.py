"""What several checks of schedulers do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from scrapy.settings import default_settings

from queue_conformance.engine.bench import Bench
from queue_conformance.kinds.scheduler.driver import OpenScheduler, traits
from queue_conformance.kinds.scheduler.kind import SCHEDULER
from queue_conformance.kinds.scheduler.script_support import Trouble

SCHEDULERS = {SCHEDULER}

QUEUES = ("SCHEDULER_DISK_QUEUE", "SCHEDULER_MEMORY_QUEUE", "SCHEDULER_START_DISK_QUEUE", "SCHEDULER_START_MEMORY_QUEUE")
"""The settings that name the classes of queues."""

FIFO: Mapping[str, str] = {
    "SCHEDULER_DISK_QUEUE": '"scrapy.squeues.PickleFifoDiskQueue"',
    "SCHEDULER_MEMORY_QUEUE": '"scrapy.squeues.FifoMemoryQueue"',
}

UNLESS_ACCEPTED = "if accepted: sys.exit()  # it was stored, which is right too"
"""The line of a script after a request that a scheduler may reject, and has."""


def defaults(bench: Bench) -> dict[str, str]:
    """Return the settings that name other queues than Scrapy's defaults, with these defaults, as Python expressions."""
    chosen = {name: getattr(default_settings, name) for name in QUEUES}
    return {name: f'"{path}"' for name, path in chosen.items() if bench.driver.setting(name) != path}


def fill(bench: Bench, scheduler: OpenScheduler, *numbers: int, owner: str = "scheduler.enqueue.answers") -> None:
    """Enqueue the requests of some numbers; that one raises is a matter of the owner, or of the rule on fallbacks."""
    for number in numbers:
        fallback = "scheduler.enqueue.fallback-serialization"
        scheduler.enqueue(bench.driver.fresh(number), fallback if traits(number).refused else owner)


def trouble(bench: Bench, source: str) -> BaseException:
    """Let the next push into the disk queue raise; return the error.

    Args:
        bench: where the check works.
        source: a Python expression for the error.
    """
    error: BaseException = eval(source, bench.driver.names)
    bench.recorder.note(f"Trouble.pushes.append({source})")
    Trouble.pushes.append(error)
    return error


def expect_left(
    bench: Bench, rule: str, scheduler: OpenScheduler, numbers: Sequence[int], *, ordered: bool = True, blamed: bool = False
) -> None:
    """Take out everything, and examine what came.

    Args:
        bench: where the check works.
        rule: the rule on what comes, or on its order.
        scheduler: the scheduler.
        numbers: the numbers of the requests that are to come.
        ordered: whether they are to come in this order.
        blamed: whether the rule is broken, too, if others come; otherwise that is a matter of ``scheduler.enqueue.true``.

    Raises:
        RuleBroken: if something else came.
    """
    left = scheduler.drain(rule if blamed else "scheduler.enqueue.true")
    compare_left(bench, rule, left, numbers, ordered=ordered, blamed=blamed)


def compare_left(
    bench: Bench, rule: str, left: Sequence[str], numbers: Sequence[int], *, ordered: bool = True, blamed: bool = False
) -> None:
    """Examine what came; see :func:`expect_left`."""
    expected = [bench.driver.url(number) for number in numbers]
    same = sorted(left) == sorted(expected)
    final = rule if blamed or not ordered else "scheduler.enqueue.true"
    if not same:
        shown = sorted(expected)
        bench.expect(final, False, short(shown), short(sorted(left)), f"sorted(left) == {shown!r}")
    bench.expect(rule, not ordered or left == expected, short(expected), short(left), f"left == {expected!r}")


def short(urls: Sequence[str]) -> str:
    """Return some URLs in short."""
    return ", ".join(url.removeprefix("https://") for url in urls) or "no request"


@contextmanager
def case(bench: Bench) -> Iterator[None]:
    """Begin afresh for one case of several, and go on after a failure."""
    with bench.collecting():
        bench.restart()
        yield


def jobs(bench: Bench) -> list[str | None]:
    """Return the job directories to try: none, and one if the scheduler can use it."""
    return [None, "job"] if bench.offers("persistent") else [None]
