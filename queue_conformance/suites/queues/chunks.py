"""Checks that only queuelib's contract knows: chunks, clear, paths."""

from __future__ import annotations

from queue_conformance.suites import check
from queue_conformance.suites.bench import Bench
from queue_conformance.suites.outcomes import NotExercised
from queue_conformance.suites.programs import program
from queue_conformance.suites.queues.construction import BYTES_ONLY, files_below
from queue_conformance.suites.queues.pair import run


@check("queuelib.fifo.chunks", kinds=BYTES_ONLY)
def borders_of_chunks_are_invisible(bench: Bench) -> None:
    rule = "queuelib.fifo.chunks"
    run(bench, program("push:0 push:1 push:2 push:3 pop pop push:4 pop reopen pop push:5 pop pop"))
    for size in range(1, 6):
        with bench.collecting(), bench.recorder.blame(rule):
            bench.restart()
            _through_chunks(bench, rule, size)


def _through_chunks(bench: Bench, rule: str, size: int) -> None:
    """Push and pop 12 items in chunks of one size, reopening with another size every now and then."""
    queue = bench.open(chunksize=size)
    stored: list[int] = []
    number = 0
    for step in range(36):
        if step % 9 == 8:
            queue.close()
            queue = bench.open(chunksize=size + 3)
        if step % 3 < 2 and number < 12:
            queue.push(bench.driver.item(number))
            stored.append(number)
            number += 1
        elif stored:
            popped = queue.pop()
            expected = bench.driver.item(stored.pop(0))
            same = bench.driver.among_source("popped", [expected])
            bench.expect(rule, bench.driver.same(popped, expected), expected.source, popped, same)
    if hasattr(queue.raw, "chunksize") and stored:
        found = queue.raw.chunksize
        bench.expect(rule, found == size, f"chunksize {size} as created", found, f"queue.chunksize == {size}")
    queue.close()


@check("queuelib.fifo.reclaim", kinds=BYTES_ONLY)
def consumed_chunks_are_deleted(bench: Bench) -> None:
    rule = "queuelib.fifo.reclaim"
    queue = bench.open(chunksize=2)
    for number in range(12):
        queue.push(bench.driver.item(number))
    directory = bench.driver.directory
    counting = "len([path for path in Path(directory).rglob('*') if path.is_file()])"
    before = len(list(files_below(directory)))
    bench.recorder.note(f"before = {counting}")
    if before < 4:
        raise NotExercised(f"12 items in chunks of 2 made {before} files: the chunks are no files")
    for _ in range(8):
        queue.pop()
    after = len(list(files_below(directory)))
    bench.recorder.note(f"left = {counting}")
    bench.expect(
        rule, after <= before - 3, f"at most {before - 3} files after 4 chunks were consumed", after, "left <= before - 3"
    )
    queue.close()


@check("queuelib.clear", kinds=BYTES_ONLY)
def clear_removes_everything(bench: Bench) -> None:
    run(bench, program("push:0 push:1 pop push:2 clear pop length push:3 push:4 pop clear clear push:5 reopen length pop"))
    run(bench, program("clear push:0 push:1 clear reopen pop push:2 reopen pop"))


@check("queuelib.clear.space", kinds=BYTES_ONLY)
def clear_frees_the_space(bench: Bench) -> None:
    rule = "queuelib.clear.space"
    queue = bench.open()
    for _ in range(50):
        queue.push(bench.driver.evaluate("b'x' * 10_000"))
    queue.close()
    queue = bench.open()
    directory = bench.driver.directory
    measuring = "sum(path.stat().st_size for path in Path(directory).rglob('*') if path.is_file())"
    bench.recorder.note(f"before = {measuring}")
    before = sum((directory / name).stat().st_size for name in files_below(directory))
    queue.clear()
    bench.recorder.note(f"left = {measuring}")
    left = sum((directory / name).stat().st_size for name in files_below(directory))
    bench.expect(rule, left < before / 2, f"less than half of {before} bytes on disk", f"{left} bytes", "left < before / 2")
    queue.close()


@check("queuelib.pathlike", kinds=BYTES_ONLY)
def paths_may_be_path_objects(bench: Bench) -> None:
    run(bench, program("push:0 reopen pop"))
    bench.restart()
    rule = "queuelib.pathlike"
    with bench.recorder.blame(rule):
        queue = bench.open(as_path=True)
        queue.push(bench.driver.item(1))
        queue.close()
        queue = bench.open(as_path=True)
        bench.pop_item(queue, bench.driver.item(1), rule)
        queue.close()
