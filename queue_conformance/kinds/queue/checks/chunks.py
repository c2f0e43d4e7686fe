"""Checks that only queuelib's contract knows: chunks, clear, paths."""

from queue_conformance.engine.blocks import under_test
from queue_conformance.engine.check import check
from queue_conformance.engine.fixtures import offers
from queue_conformance.engine.outcomes import NotCovered
from queue_conformance.kinds.queue.kind import BYTES_ONLY
from queue_conformance.script_support.support import bytes_below, names_below


@check("queuelib.fifo.chunks", kinds=BYTES_ONLY, name="chunks.sizes", depends_on="push:0 reopen pop", size=range(1, 6))
def chunks_of_every_size_keep_the_order(open_queue, item, size):
    """Borders of chunks are invisible, and a reopened queue keeps the chunk size that it was created with."""
    with under_test():
        queue = open_queue(chunksize=size)
        first = last = 0
        for step in range(36):
            if step % 9 == 8:
                queue.close()
                queue = open_queue(chunksize=size + 3)  # an existing queue keeps its own
            if step % 3 < 2 and last < 12:
                queue.push(item(last))
                last += 1
            elif first < last:
                assert queue.pop() == item(first)
                first += 1
        if "chunksize" in getattr(queue.raw, "__dict__", ()) and first < last:
            assert queue.chunksize == size
        queue.close()


@check("queuelib.fifo.reclaim", kinds=BYTES_ONLY)
def consumed_chunks_are_deleted(open_queue, directory):
    """The file of a fully consumed chunk is deleted."""
    queue = open_queue(chunksize=2, holding=range(12))
    before = len(names_below(directory))
    if before < 4:
        raise NotCovered(f"12 items in chunks of 2 made {before} files: the chunks are no files")
    for _ in range(8):
        queue.pop()
    assert len(names_below(directory)) <= before - 3
    queue.close()


@check("queuelib.clear", kinds=BYTES_ONLY, name="chunks.clear", size=(1, 3), before=range(5))
def several_chunks_can_be_filled_after_a_clear(open_queue, item, size, before):
    """`clear()` removes every item, leaves the queue usable, and the emptiness survives close and reopen."""
    if not offers("chunked"):
        raise NotCovered("it has no chunks")
    with under_test():
        queue = open_queue(chunksize=size, holding=range(before))
        queue.clear()
        for number in range(5, 5 + 2 * size + 2):
            queue.push(item(number))
        for number in range(5, 5 + 2 * size + 2):
            assert queue.pop() == item(number)
        queue.close()


@check("queuelib.clear.space", kinds=BYTES_ONLY, depends_on="push:0 reopen pop")
def clear_frees_the_space(open_queue, directory):
    """`clear()` frees the space that the items used on disk."""
    queue = open_queue()
    for _ in range(50):
        queue.push(b"x" * 10_000)
    queue.close()
    queue = open_queue()
    before = bytes_below(directory)
    if before < 50 * 5_000:
        raise NotCovered("it compresses what it stores, and what is left may be its empty file")
    queue.clear()
    size = bytes_below(directory)
    assert size < before // 2, f"less than {before // 2} bytes on disk, half of what it was"
    queue.close()


@check("queuelib.pathlike", kinds=BYTES_ONLY, depends_on="push:0 reopen pop")
def paths_may_be_path_objects(open_queue, item):
    """A path may be `str` or `os.PathLike`."""
    with under_test():
        queue = open_queue(as_path=True, holding=[1])
        queue.close()
        queue = open_queue(as_path=True)
        assert queue.pop() == item(1)
        queue.close()
