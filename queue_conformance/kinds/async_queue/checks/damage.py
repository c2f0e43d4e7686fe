"""Checks of asynchronous queues whose files are damaged, or not theirs."""

from __future__ import annotations

from queue_conformance.engine.bench import Bench, call_of
from queue_conformance.engine.outcomes import NotApplicable, NotExercised
from queue_conformance.engine.recording import OperationRaised
from queue_conformance.engine.registry import check
from queue_conformance.kinds.async_queue.common import ASYNC, Left, drained

ITEMS = (4, 8, 12)
"""Items of equal priority."""

BAD = 8
"""The one that is damaged."""

MOST = 12
"""Gets after which a queue that never comes to an end is given up."""


def _filled(bench: Bench, numbers: tuple[int, ...] = ITEMS) -> None:
    queue = bench.open()
    for number in numbers:
        queue.put(bench.driver.item(number))
    queue.close()


def _missing(left: Left, numbers: tuple[int, ...]) -> list[int]:
    return [number for number in numbers if number not in left.numbers]


@check("aqueue.get.bad-item", kinds=ASYNC)
def a_damaged_request_is_reported_once(bench: Bench) -> None:
    rule, driver = "aqueue.get.bad-item", bench.driver
    _filled(bench)
    url = driver.item(BAD).value.url.encode()
    damage = [
        f"url = {url!r}",
        "for file in [file for file in Path(directory).rglob('*') if file.is_file()]:",
        "    file.write_bytes(file.read_bytes().replace(url, b'\\xff' * len(url)))",
    ]
    changed = 0
    for file in [file for file in driver.directory.rglob("*") if file.is_file()]:
        content = file.read_bytes()
        changed += url in content
        file.write_bytes(content.replace(url, b"\xff" * len(url)))
    if not changed:
        raise NotExercised("no file holds the text of a request")
    for line in damage:
        bench.recorder.note(line)
    others = tuple(number for number in ITEMS if number != BAD)
    try:
        queue = bench.open()
        first = drained(bench, queue, MOST)
        queue.close()
        problem = _wrong_with(first, drained(bench, bench.open(), MOST), others)
    except OperationRaised as raised:
        problem = f"{type(raised.error).__name__} raised by {call_of(raised.step)}"
    bench.examined[rule] += 1
    if problem:
        opening, _ = driver.construction("0")
        _say(bench, f"queue = {opening}", damage)
        body = [
            *_puts(bench, ITEMS),
            *damage,
            f"queue = {opening}",
            f"left = drained(loop, queue, {MOST})",
            "errors = [type(item).__name__ for item in left if isinstance(item, BaseException) or item is None]",
            "assert errors == ['RuntimeError'], f'the first time: {errors}'",
            f"assert len(left) == {len(ITEMS)}, left",
            "loop.run(queue.close())",
            f"queue = {opening}",
            f"left = drained(loop, queue, {MOST})",
            "assert left == [], f'after reopening again: {left}'",
        ]
        bench.fail(rule, "one RuntimeError, and the other requests", problem, [], body=body)


def _wrong_with(first: Left, second: Left, others: tuple[int, ...]) -> str:
    """Tell what is wrong with what came the first time, and after reopening."""
    if missing := _missing(first, others):
        return f"{len(missing)} other requests did not come"
    if not first.waits:
        return "gets never came to an end"
    if len(first.errors) != 1 or not first.errors[0].startswith("RuntimeError"):
        return " and ".join(map(_name, first.errors)) or "no error"
    if second.errors or not second.waits:
        return f"after reopening again {_name(second.errors[0]) if second.errors else 'an endless queue'}"
    return ""


def _name(error: str) -> str:
    return error.partition("(")[0]


def _say(bench: Bench, opening: str, damage: list[str]) -> None:
    """Show the essence of what was done."""
    bench.recorder.steps = []
    for line in (*_puts(bench, ITEMS), f"# {damage[0]} in every file becomes bytes that are no text", opening):
        bench.recorder.note(line)


def _puts(bench: Bench, numbers: tuple[int, ...]) -> list[str]:
    driver = bench.driver
    opening, _ = driver.construction("0")
    put = "loop.run(queue.put({}, priority={}))"
    puts = [put.format(driver.item(number).source, driver.priority_of(number)) for number in numbers]
    return [f"queue = {opening}", *puts, "loop.run(queue.close())"]


# --- Files of others -------------------------------------------------------------------------------------------------

FOREIGN = ("README.txt", ".hidden", "notes.req.bak", "x_y.req", "1_2_3.req", "core")


@check("aqueue.persist.foreign-files", kinds=ASYNC)
def files_of_others_are_left_alone(bench: Bench) -> None:
    rule, driver = "aqueue.persist.foreign-files", bench.driver
    _filled(bench)
    place = driver.directory / "0"
    if not place.is_dir():
        raise NotApplicable("the queue has no directory of its own")
    bench.recorder.note(f"for name in {FOREIGN!r}: Path(directory, '0', name).write_text('foreign')")
    for name in FOREIGN:
        (place / name).write_text("foreign")
    with bench.recorder.blame(rule):
        queue = bench.open()
        size = queue.size()
        bench.expect(rule, size == len(ITEMS), f"size {len(ITEMS)}", size, f"size == {len(ITEMS)}")
        for number in ITEMS:
            got = queue.get()
            expected = driver.item(number)
            bench.expect(rule, driver.identify(got) in ITEMS, expected.source, got, "got is not None")
        queue.clear()
        queue.close()
    bench.recorder.note(f"left = [name for name in {FOREIGN!r} if Path(directory, '0', name).exists()]")
    gone = [name for name in FOREIGN if not (place / name).exists()]
    bench.expect(rule, not gone, "the files of others stay", f"{', '.join(gone)} removed", f"len(left) == {len(FOREIGN)}")
