"""Checks of what a stopped crawl finds when it continues."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from queue_conformance.engine.bench import Bench
from queue_conformance.engine.lockstep import run
from queue_conformance.engine.outcomes import NotApplicable, NotExercised
from queue_conformance.engine.recording import OperationRaised
from queue_conformance.engine.registry import check
from queue_conformance.engine.scripts import lines_of
from queue_conformance.faults.backend import VARIABLE
from queue_conformance.kinds.scheduler.checks.storing import opened
from queue_conformance.kinds.scheduler.scenes import SCHEDULERS, case, compare_left, defaults, expect_left, fill, short
from queue_conformance.running.processes import expect_in_another_process

STORED = (0, 3, 8, 1, 4, 9, 6, 11, 20, 23, 2)
"""Requests of several priorities and slots, start requests among them."""

PRIORITY_QUEUES = {
    "ScrapyPriorityQueue": '"scrapy.pqueues.ScrapyPriorityQueue"',
    "DownloaderAwarePriorityQueue": '"scrapy.pqueues.DownloaderAwarePriorityQueue"',
    "NestedPriorityQueue": "NestedPriorityQueue",
}
"""Priority queues whose states have different shapes: a list, a dictionary of lists, and one of lists of lists."""


@check("scheduler.resume.all", kinds=SCHEDULERS)
def everything_comes_back_in_order(bench: Bench) -> None:
    rule = "scheduler.resume.all"
    run(bench, "enqueue:0 enqueue:3 enqueue:8 reopen reopen next enqueue:9 reopen enqueue:1 next reopen next next")
    if not bench.offers("configurable"):
        return
    cases = [{"SCHEDULER_PRIORITY_QUEUE": source} for source in PRIORITY_QUEUES.values()]
    for settings in (*cases, {"SCHEDULER_START_DISK_QUEUE": "None"}):
        with bench.collecting():
            bench.restart()
            scheduler = bench.open(settings, job="job")
            fill(bench, scheduler, *STORED)
            for _ in range(2):
                scheduler.next()
            uninterrupted = scheduler.drain()
            bench.restart()
            scheduler = bench.open(settings, job="job")
            fill(bench, scheduler, *STORED)
            returned = [bench.driver.identify(scheduler.next()) for _ in range(2)]
            scheduler.close()
            scheduler = bench.open(settings, job="job", owner=rule)
            length = scheduler.length(rule) if bench.offers("length") else None
            numbers = [number for url in uninterrupted if (number := bench.driver.number(url)) is not None]
            left = scheduler.drain(rule)
            if any(bench.driver.number(url) in returned for url in left):
                return  # that is a matter of scheduler.resume.no-dup
            compare_left(bench, rule, left, numbers, blamed=True)
            if length is not None:
                bench.expect(rule, length == len(numbers), f"len {len(numbers)}", length, f"length == {len(numbers)}")


@check("scheduler.resume.seen", kinds=SCHEDULERS)
def what_was_seen_stays_seen(bench: Bench) -> None:
    rule = "scheduler.resume.seen"
    scheduler = bench.open(job="job")
    fill(bench, scheduler, 0, 3, 8)
    for number in (0, 3, 8):
        accepted = scheduler.enqueue(bench.driver.fresh(number), rule)
        bench.expect("scheduler.enqueue.duplicate", not accepted, "a false result", accepted, "not accepted")
    scheduler.next()
    scheduler.close()
    scheduler = bench.open(job="job")
    for number in (0, 3, 8):
        accepted = scheduler.enqueue(bench.driver.fresh(number), rule)
        bench.expect(rule, not accepted, "a false result", accepted, "not accepted")


@check("scheduler.resume.no-dup", kinds=SCHEDULERS)
def what_was_returned_never_comes_again(bench: Bench) -> None:
    run(bench, "enqueue:0 enqueue:3 enqueue:8 enqueue:9 next reopen next reopen next next next reopen next")
    run(bench, "enqueue:0 next reopen next enqueue:1 enqueue:2 next reopen next next")


def expect_resumable(bench: Bench) -> None:
    """Close and continue in the simplest way; what is lost then is not a matter of anything special.

    Raises:
        RuleBroken: if something is lost.
    """
    bench.restart()
    scheduler = bench.open(job="job")
    fill(bench, scheduler, 0, 3, 8, 11)
    scheduler.close()
    scheduler = bench.open(job="job", owner="scheduler.resume.all")
    expect_left(bench, "scheduler.resume.all", scheduler, [3, 11, 0, 8], ordered=False, blamed=True)
    scheduler.close()
    bench.restart()


@check("scheduler.close.twice", kinds=SCHEDULERS)
def a_second_close_loses_nothing(bench: Bench) -> None:
    rule = "scheduler.close.twice"
    expect_resumable(bench)
    scheduler = bench.open(job="job")
    fill(bench, scheduler, 0, 3, 8)
    scheduler.close()
    scheduler.close(owner=rule)
    scheduler = bench.open(job="job", owner=rule)
    expect_left(bench, rule, scheduler, [3, 0, 8], ordered=False, blamed=True)


@check("scheduler.close.memory-unseen", kinds=SCHEDULERS)
def what_was_lost_can_be_enqueued_again(bench: Bench) -> None:
    rule = "scheduler.close.memory-unseen"
    chosen = bench.offers("configurable")
    reopened = partial(opened, bench) if chosen else partial(bench.open, job="job")
    for numbers in ((15,), (0, 18)) if chosen else ((28,), (0, 29)):
        with case(bench):
            scheduler = reopened()
            if not chosen:
                fill(bench, scheduler, numbers[-1])
                if not scheduler.drain():
                    raise NotApplicable("it keeps nothing in memory that it cannot store")
                bench.restart()
                scheduler = reopened()
            fill(bench, scheduler, *numbers)
            scheduler.close()
            scheduler = reopened()
            kept = bench.driver.url(numbers[-1]) in scheduler.drain()
            accepted = scheduler.enqueue(bench.driver.fresh(numbers[-1]), rule)
            if accepted is None and bench.driver.silent:
                raise NotExercised("its answers do not say what it stored")
            bench.expect(rule, kept or bool(accepted), "a true result: it was lost at close", accepted, "accepted")


@check("scheduler.persist.evidence", kinds=SCHEDULERS)
def what_leaves_traces_gives_back_its_requests(bench: Bench) -> None:
    rule = "scheduler.persist.evidence"
    if bench.implementation.claims.get("persistent") == "no" and not bench.offers("persistent"):
        raise NotApplicable("persistent=no is claimed")
    scheduler = bench.open(job="job")
    fill(bench, scheduler, 0, 3, 8)
    scheduler.close()
    traces = _traces(bench)
    if not traces:
        raise NotApplicable("nothing is left after a clean close")
    scheduler = bench.open(job="job", owner=rule)
    left = scheduler.drain(rule)
    expected = sorted(map(bench.driver.url, (0, 3, 8)))
    # Where some come back and others do not, it is a matter of what is resumed.
    rule = "scheduler.resume.all" if left else rule
    text = f"{short(expected)} pending, as {traces[0]} is there"
    bench.expect(rule, sorted(left) == expected, text, short(sorted(left)), f"sorted(left) == {expected!r}")
    bench.examined["scheduler.persist.evidence"] += 1


def _traces(bench: Bench) -> list[str]:
    """Return the names of files and keys that are there."""
    directory = bench.driver.directory
    found = [f"the file {path.relative_to(directory)}" for path in sorted(directory.rglob("*")) if path.is_file()]
    return [*found, *([f"the key {key}" for key in bench.backend.stored()] if bench.backend else [])]


# --- Another process -------------------------------------------------------------------------------------------------


@check("scheduler.close.persist", kinds=SCHEDULERS)
def requests_survive_into_another_process(bench: Bench) -> None:
    rule = "scheduler.close.persist"
    expect_resumable(bench)
    scheduler = bench.open(job="job")
    fill(bench, scheduler, 0, 3, 8)
    scheduler.close("shutdown")
    lines = _lines_for_two_processes(bench)
    expect_in_another_process(bench, rule, lines, "the 3 requests in another process", scheduler.crawler.spider.name)


def _lines_for_two_processes(bench: Bench) -> list[str]:
    """Return the body of a script that stores in one process, and reads and compares in another one."""
    steps = bench.recorder.steps
    opening = [step for step in steps if step.source.startswith(("crawler = ", "scheduler = ", "opened = "))]
    expected = sorted(map(bench.driver.url, (0, 3, 8)))
    crawler = opening[0].source
    if not bench.implementation.server:
        crawler = crawler.removesuffix(")") + ", name)"
    return [
        "if len(sys.argv) == 1:  # the first process",
        '    name = "example-" + uuid.uuid4().hex',
        *(f"    {crawler if step is opening[0] else line}" for step in steps for line in lines_of([step])),
        *([f"    os.environ[{VARIABLE!r}] = f'{{backend.host}}:{{backend.port}}'"] if bench.backend else []),
        "    sys.exit(subprocess.run([sys.executable, __file__, directory, name]).returncode)",
        "directory, name = sys.argv[1:]",
        crawler,
        "print('ready', flush=True)",
        *lines_of(opening[1:]),
        "left = sorted(drain(scheduler))",
        f"assert left == {expected!r}, f'in another process: {{left}}'",
    ]


# --- Another configuration -------------------------------------------------------------------------------------------

CHANGES: Mapping[str, Mapping[str, str]] = {
    "no start queue": {"SCHEDULER_START_DISK_QUEUE": "None"},
    "another serializer": {"SCHEDULER_DISK_QUEUE": '"scrapy.squeues.MarshalLifoDiskQueue"'},
    "another order": {"SCHEDULER_DISK_QUEUE": '"scrapy.squeues.PickleFifoDiskQueue"'},
    "another start queue": {"SCHEDULER_START_DISK_QUEUE": '"scrapy.squeues.PickleLifoDiskQueue"'},
}


@check("scheduler.resume.settings-changed", kinds=SCHEDULERS)
def other_settings_hide_nothing(bench: Bench) -> None:
    rule = "scheduler.resume.settings-changed"
    expect_resumable(bench)
    for name, change in CHANGES.items():
        with case(bench):
            scheduler = bench.open(defaults(bench), job="job")
            fill(bench, scheduler, 0, 3, 8, 11)
            scheduler.close()
            _comes_or_raises(bench, rule, {**defaults(bench), **change}, (0, 3, 8, 11), f"{name}: ")


def _comes_or_raises(bench: Bench, rule: str, settings: Mapping[str, str], numbers: tuple[int, ...], why: str = "") -> None:
    """Continue a crawl; everything comes, or something raises."""
    first = len(bench.recorder.steps)
    try:
        scheduler = bench.open(settings, job="job")
        left = scheduler.drain()
    except OperationRaised:
        bench.examined[rule] += 1
        return
    for step in bench.recorder.steps[first:]:
        if step.source.startswith(("scheduler = ", "opened = ", "left = ")):
            step.refusable = True
    expected = sorted(map(bench.driver.url, numbers))
    text = f"{why}{short(expected)}, or an exception"
    bench.expect(rule, sorted(left) == expected, text, short(sorted(left)), f"sorted(left) == {expected!r}")


@check("scheduler.open.incompatible", kinds=SCHEDULERS)
def state_that_cannot_be_used_is_not_ignored(bench: Bench) -> None:
    rule = "scheduler.open.incompatible"
    expect_resumable(bench)
    for settings in stored_by_another(bench):
        with bench.collecting():
            name = settings["SCHEDULER_PRIORITY_QUEUE"].strip('"').rpartition(".")[2]
            _comes_or_raises(bench, rule, settings, (0, 3, 20), f"another priority queue wrote, {name} reads: ")
    for settings in with_damaged_files(bench):
        with bench.collecting():
            _comes_or_raises(bench, rule, settings, (0, 3, 20), "a file is damaged: ")


def stored_by_another(bench: Bench) -> Iterator[Mapping[str, str]]:
    """Store requests with one priority queue; yield settings with another one to continue with, where they name it."""
    if not bench.offers("configurable"):
        return
    for one in PRIORITY_QUEUES:
        for other in PRIORITY_QUEUES:
            if one != other:
                bench.restart()
                scheduler = bench.open({**defaults(bench), "SCHEDULER_PRIORITY_QUEUE": PRIORITY_QUEUES[one]}, job="job")
                fill(bench, scheduler, 0, 3, 20)
                scheduler.close()
                yield {**defaults(bench), "SCHEDULER_PRIORITY_QUEUE": PRIORITY_QUEUES[other]}


def with_damaged_files(bench: Bench) -> Iterator[Mapping[str, str]]:
    """Store requests; yield settings to continue with for each damage to one of the files."""
    settings: dict[str, str] = {}
    damages: tuple[Damage, ...] = (_halved, _overwritten)
    if bench.offers("configurable"):  # no file holds a request, so that all files are about them
        settings = {
            "SCHEDULER_DISK_QUEUE": "ShelfQueue",
            "SCHEDULER_START_DISK_QUEUE": "ShelfQueue",
            "DUPEFILTER_CLASS": "NotedFilter",
        }
        damages = (_emptied, _halved)
    number = 0
    while True:
        bench.restart()
        scheduler = bench.open(settings, job="job")
        fill(bench, scheduler, 0, 3, 20)
        scheduler.close()
        files = sorted(path for path in bench.driver.job().rglob("*") if path.is_file() and path.stat().st_size)
        if number >= len(damages) * len(files):
            return
        path = files[number // len(damages)]
        name = f'directory + "/{path.relative_to(bench.driver.directory)}"'
        if line := damages[number % len(damages)](path, name):
            bench.recorder.note(line)
            yield settings
        number += 1


Damage = Callable[[Path, str], str]
"""Damages a file; returns the line of a script that does the same, or nothing if it leaves the file as it is."""


def _emptied(path: Path, name: str) -> str:
    os.truncate(path, 0)
    return f"os.truncate({name}, 0)"


def _halved(path: Path, name: str) -> str:
    size = path.stat().st_size // 2
    os.truncate(path, size)
    return f"os.truncate({name}, {size})"


def _overwritten(path: Path, name: str) -> str:
    """Damage one stored request, where its URL can be found."""
    content = path.read_bytes()
    damaged = content.replace(b"https://example.com/3", b"https://\xff\xff\xff\xff\xff\xff\xff.com/3")
    path.write_bytes(damaged)
    source = f'Path({name}).read_bytes().replace(b"://example.com/3", b"://" + bytes([255] * 7) + b".com/3")'
    return f"Path({name}).write_bytes({source})" if damaged != content else ""
