"""Checks of close, and of what it keeps, in the same process and in another one."""

import gc
import os
import threading
from collections import deque
from collections.abc import Iterator, Sequence

from queue_conformance.engine.another_process import expect_kept_for_another_process
from queue_conformance.engine.blocks import may_raise, under_test
from queue_conformance.engine.check import check
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.fixtures import chdir, note, offers, turns, years_ago
from queue_conformance.engine.outcomes import NotApplicable, NotCovered
from queue_conformance.engine.samples import DIRECTORIES, few_and_many
from queue_conformance.kinds.queue.fixtures import count_all, drain, grow, keys_of, push_often, shrink
from queue_conformance.kinds.queue.kind import BYTES_ONLY
from queue_conformance.script_support.support import contents, names_below, open_files

TURNS = 50
"""How often a queue is opened, used and closed, to find what close leaves behind."""


@check("queue.close.releases", depends_on="push:1 push:2 pop reopen pop")
def close_releases_everything(open_queue):
    """`close` releases files, sockets and threads, and raises nothing."""
    kept = deque()  # forgetting a queue may release what its close does not
    for turn in turns(4 + TURNS):
        if turn == 4:  # caches and pools are made once, in the first turns
            gc.collect()
            files = open_files()
            threads = threading.active_count()
        queue = open_queue(holding=(1, 2))
        queue.pop()
        queue.close()
        kept.append(queue)
        if offers("persistent"):
            queue = open_queue()
            queue.pop()
            queue.close()
            kept.append(queue)
    left_open = open_files() - files
    assert left_open < turn // 2, "no file left open by closed queues that are still referenced"
    left_running = threading.active_count() - threads
    assert left_running < turn // 2, "no thread left running by closed queues that are still referenced"


@check("queue.close.keeps")
def close_keeps_what_is_pending(run, refusals):
    """`close` never discards pending items of a persistent queue, a close right after a refused push included."""
    for cause in refusals:
        run(f"push:0 push:1 push_refused:{cause} reopen pop push_refused:{cause} push:2 reopen pop pop")


@check("queue.fault.recovers")
def close_does_not_tell_of_a_refused_push(run, refusals):
    """After a push that was refused, or any fault of its disk, its server or its process, a queue works again when that is
    over, and `close` raises nothing.
    """
    for cause in refusals:
        run(f"push:0 push_refused:{cause} pop")


@check("queue.close.empty-removes")
def an_empty_queue_removes_its_files(open_queue, directory):
    """Closing an empty file-backed queue removes its files, and the directory that it has made for them when nothing else is
    in it.
    """
    queue = open_queue(holding=range(3))
    queue.close()
    if not names_below(directory):
        raise NotCovered("no file was seen while items were stored")
    queue = open_queue()
    for _ in range(3):
        queue.pop()
    queue.close()
    assert os.listdir(directory) == []


@check("queue.close.twice", depends_on="push:0 reopen pop", stored=(2, 0))
def a_second_close_is_harmless(open_queue, item, stored):
    """A second `close()` neither raises nor alters stored data."""
    queue = open_queue(holding=range(stored))
    queue.close()
    with under_test():
        queue.close()
        if offers("persistent"):
            assert drain(open_queue()) == contents([item(number) for number in range(stored)])


@check("queue.close.use-after", depends_on="push:0 reopen pop", misuse=("push", "pop", "peek", "len"))
def use_after_close_damages_nothing(open_queue, item, misuse):
    """`push`, `pop`, `peek` and `len()` after `close` do not damage what was persisted."""
    if misuse == "peek" and not offers("peek"):
        raise NotCovered("it has no peek")
    queue = open_queue(holding=(0, 1))
    queue.close()
    allowed = [contents([item(0), item(1)])]
    with under_test():
        with may_raise() as refused:
            if misuse == "push":
                queue.push(item(2))
                allowed.append(contents([item(0), item(1), item(2)]))
            elif misuse == "pop":
                popped = queue.pop()
                allowed.append([key for key in allowed[0] if key not in contents([popped])])
            elif misuse == "peek":
                queue.peek()
            else:
                len(queue)
        note("after close", f"{misuse} raises {type(refused.raised).__name__ if refused else 'nothing'}")
        assert drain(open_queue()) in allowed


# --- Persistence -----------------------------------------------------------------------------------------------------

STORED = (1, 2, 3)


@check(
    "queue.persist.reopen",
    "queue.persist.partial",
    name="reopen.many",
    depends_on=("push:0 push:1 push:0 reopen pop pop pop", "push:0 push:1 pop pop push:2 reopen pop"),
    numbers=[few_and_many],
)
def many_items_survive_reopening(open_queue, item, numbers):
    """Items survive close and reopen in the same process."""
    with under_test():
        queue = open_queue()
        push_often(queue, item(1), len(numbers))
        queue.close()
        queue = open_queue()
        received = count_all(queue)
        assert received == len(numbers), f"all {len(numbers)} that were pushed"
    queue.push(item(2))
    queue.close()
    with under_test("queue.persist.partial"):
        queue = open_queue()
        received = count_all(queue)
        assert received == 1, f"the last one, as the {len(numbers)} before were popped"


@check("queue.persist.reopen", name="reopen.untouched", depends_on="push:1 push:2 push:3 reopen pop pop pop")
def a_run_that_asks_for_nothing_keeps_all(open_queue, item):
    """Items survive close and reopen in the same process."""
    queue = open_queue(holding=STORED)
    queue.close()
    with under_test():
        queue = open_queue()
        queue.close()
        assert drain(open_queue()) == contents([item(number) for number in STORED])


@check(
    "queue.persist.reopen",
    kinds=BYTES_ONLY,
    name="reopen.zero-length",
    depends_on=("queue.push.zero-length", "push:1 reopen pop"),
)
def empty_bytes_survive_reopening(open_queue):
    """Items survive close and reopen in the same process."""
    queue = open_queue(holding=[b"", b"1", b""])
    queue.close()
    with under_test():
        assert drain(open_queue()) == contents([b"", b"1", b""])


@check("queue.persist.reopen", name="reopen.large", depends_on="push:1 push:2 reopen pop pop", size=(65_537, (1 << 20) + 1))
def large_items_survive_reopening(open_queue, item, sized, size):
    """Items survive close and reopen in the same process."""
    queue = open_queue()
    large = sized(size)
    stored = [item(1)]
    with may_raise() as refused:  # it may refuse what is large
        queue.push(large)
    stored += [] if refused else [large]
    queue.push(item(1))  # it would be hidden by an item that cannot be read
    queue.close()
    with under_test():
        assert drain(open_queue()) == contents(stored)


TIME = 60.0
"""Seconds of which a slow class has its share."""

ALL = 10_000
"""Calls for all counts."""

CALLS = 5
"""Calls for one count: a push, a close, an opening, a length, and a pop in the end."""

FEWEST = 18
"""Counts in any case, from 0 on."""


def boundaries(context: CheckContext) -> Iterator[Sequence[int]]:
    """Yield every count to 130, and those around powers of two: the far ones only where the number of files grows with it."""
    if not context.offers("filesystem"):
        raise NotApplicable("it keeps no files")
    if (calls := context.budget.calls(TIME)) < ALL:
        most = max(FEWEST, calls // CALLS)
        context.notes.append(f"reopen.counts: counts below {most}, because operations are slow{context.budget.more}")
        yield range(most)
        return
    yield range(131)
    yield [255, 256, 257, 511, 512, 513, 1023, 1024, 1025]
    context.restart()
    queue, files = context.open(), set()
    for number in range(200):
        queue.push(context.driver.item(number))
        if number in (0, 199):
            files.add(len(names_below(context.driver.directory)))
    queue.close()
    if len(files) > 1:
        yield [2047, 2048, 2049, 4095, 4096, 4097]


@check("queue.persist.reopen", name="reopen.counts", depends_on="push:0 push:1 push:0 reopen pop pop pop", counts=[boundaries])
def any_count_survives_reopening(counts):
    """Items survive close and reopen in the same process."""
    count, received = grow(counts)
    assert received == count, f"all {count} that were pushed"


def many_unless_slow(context: CheckContext) -> Iterator[int]:
    """Yield how many items are popped, one between two openings each: of half a kibibyte, more than 64 KiB hold."""
    if not context.offers("filesystem"):
        raise NotApplicable("it keeps no files")
    if context.budget.short:
        raise NotCovered(f"operations are slow{context.budget.more}")
    yield 131


@check(
    "queue.persist.partial",
    name="partial.counts",
    depends_on=["push:0 push:1 pop reopen pop", "reopen.counts"],
    number=[many_unless_slow],
)
def no_count_of_what_is_left_is_special(number):
    """After pushing n items and popping k, exactly the other n-k come back."""
    count, length = shrink(number)
    assert length == count, f"a length of {count}, as the others were popped"


@check("queue.persist.reopen", name="reopen.directory", depends_on="push:1 push:2 reopen pop pop", name_of=DIRECTORIES)
def the_name_of_a_directory_means_nothing(open_queue, item, directory, name_of):
    """Items survive close and reopen in the same process."""
    if not offers("filesystem"):
        raise NotApplicable("it keeps no files")
    os.mkdir(directory + "/" + name_of)
    with may_raise() as refused:
        queue = open_queue(name_of + "/0")
        queue.push(item(1))
    if refused:
        raise NotCovered("it refuses a directory of such a name")
    queue.close()
    with under_test():
        assert drain(open_queue(name_of + "/0")) == contents([item(1)])


@check("queue.persist.reopen", name="reopen.expired", depends_on="push:1 push:2 push:3 reopen pop pop pop")
def no_item_has_a_time_to_live(open_queue, item, expire):
    """Items survive close and reopen in the same process."""
    queue = open_queue(holding=STORED)
    queue.close()
    if not expire():
        raise NotApplicable("nothing that it stores has a time to live")
    with under_test():
        assert drain(open_queue()) == contents([item(number) for number in STORED])


@check("queue.persist.reopen", name="reopen.later", depends_on="push:1 push:2 push:3 reopen pop pop pop")
def items_survive_a_pause_of_years(open_queue, item, directory):
    """Items survive close and reopen in the same process."""
    with years_ago(directory):
        queue = open_queue(holding=STORED)
        queue.close()
    with under_test():
        assert drain(open_queue()) == contents([item(number) for number in STORED])


@check("queue.persist.new-process", depends_on="push:1 push:2 push:3 reopen")
def items_survive_into_another_process(open_queue):
    """Items survive into another process with the same settings."""
    queue = open_queue(holding=STORED)
    queue.close()
    expect_kept_for_another_process(
        lambda queue: contents(queue.pop() for _ in range(len(STORED) + 1)),
        sorted(keys_of(STORED), key=repr),
        "the 3 items in another process",
    )


@check("queue.persist.elsewhere", depends_on=["push:1 push:2 push:3 reopen pop pop pop", "reopen.large", "reopen.counts"])
def a_job_directory_can_be_moved(open_queue, item, directory):
    """Items survive in a job directory that was moved, and are found from another working directory."""
    os.mkdir(directory + "/job")
    items, large = [item(1), item(2), item(3)], item(4, large=True)
    queue = open_queue("job/0", holding=items)
    with may_raise() as refused:
        queue.push(large)
    stored = items if refused else [*items, large]
    queue.close()
    if not os.listdir(directory + "/job"):
        raise NotApplicable("it stores elsewhere")
    os.rename(directory + "/job", directory + "/moved")
    with under_test():
        queue = open_queue("moved/0")
        assert drain(queue) == contents(stored)


@check("queue.persist.elsewhere", name="persist.other-directory", depends_on="push:1 push:2 push:3 reopen pop pop pop")
def the_working_directory_does_not_matter(open_queue, item, directory):
    """Items survive in a job directory that was moved, and are found from another working directory."""
    queue = open_queue(holding=STORED)
    queue.close()
    os.mkdir(directory + "/elsewhere")
    with chdir(directory + "/elsewhere"), under_test():
        queue = open_queue()
        assert drain(queue) == contents([item(number) for number in STORED])
