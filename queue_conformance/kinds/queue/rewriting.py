"""Files that a queue writes anew while it is used: when it does, and what checks of that need."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from queue_conformance.engine.case import Case, fixture
from queue_conformance.engine.cases import Attempt
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.killpoints import evenly
from queue_conformance.engine.outcomes import NotApplicable, NotCovered
from queue_conformance.engine.subject import Item, Subject
from queue_conformance.faults import disk
from queue_conformance.faults.disk import DiskFault, NoDescriptors, SizeLimit, Sizes
from queue_conformance.kinds.queue.fixtures import push_made
from queue_conformance.kinds.queue.kind import BYTE_QUEUE
from queue_conformance.script_support import support

LONG = range(300)
"""Numbers of items that together exceed a MiB: what makes room by that, or for each hundred, does."""

SIZE = 4096
"""Bytes of content of each."""

USUAL = 3
"""Operations after which a file that each of them writes anew is known: faults in the first one are those of other checks."""

PLACES = 12
"""Places where a write is cut."""

Files = dict[str, tuple[int, int]]
"""The inode and the size of each file, by its path."""


@fixture
def push_large(case: Case) -> Callable[[Subject, range], None]:
    """``push_large(queue, range(300))``: push items of 4 KiB with these numbers, as one operation."""
    return push_made(case, support.push_each, _large(case.context))


def _large(context: CheckContext, number: int | str = "number") -> str:
    if context.implementation.kind is BYTE_QUEUE:
        return f"b'x' * {SIZE} + b' %d' % {number}"
    return f"Request(f'https://example.com/{{{number}}}', method='POST', body=b'x' * {SIZE})"


def pushes_before_a_rewrite(context: CheckContext) -> Iterator[int]:
    """Yield how many items are pushed before a push writes a file anew, if one does."""
    queue, items = _empty(context), _items(context)
    yield from _before_a_rewrite(context, lambda: queue.push(next(items)))


def pops_before_a_rewrite(context: CheckContext) -> Iterator[int]:
    """Yield how many items of a long queue are popped before a pop writes a file anew, if one does."""
    queue = _empty(context)
    for item in _items(context):
        queue.push(item)
    yield from _before_a_rewrite(context, queue.pop, new=True)


def some_disk_faults(context: CheckContext, attempt: Attempt) -> Iterator[DiskFault]:
    """Yield limits at some of the places where a write can be cut, as each takes hundreds of operations, and no descriptors."""
    context.owns_process()  # which a full disk moves to another file system, later
    context.restart()
    usual = Sizes(context.driver.directory)
    attempt(usual)
    for limit in evenly(disk.places(usual.before, usual.after, 0, context.seed), PLACES, context.seed):
        context.restart()
        yield SizeLimit(context.driver.directory, limit)
    context.restart()
    yield NoDescriptors(context.driver.directory)


def _empty(context: CheckContext) -> Subject:
    if not context.offers("filesystem"):
        raise NotApplicable("it stores in no files")
    if not disk.AVAILABLE:
        raise NotCovered("this platform cannot limit the size of files")
    if context.budget.short:
        raise NotCovered(f"operations are slow{context.budget.more}")
    context.restart()
    opened: Subject = context.open()
    return opened


def _items(context: CheckContext) -> Iterator[Item]:
    return (context.driver.evaluate(_large(context, number)) for number in LONG)


def _before_a_rewrite(context: CheckContext, operate: Callable[[], object], *, new: bool = False) -> Iterator[int]:
    """Yield the number of the first operation that writes a file anew which not each one does.

    Args:
        new: whether a file with several items that was not there is one: pushes may well begin another file.
    """
    usual: set[str] = set()
    files = _files(context)
    for number in LONG:
        before = files
        operate()
        files = _files(context)
        written = {path for path, found in files.items() if _is_anew(before.get(path), found, new=new)} - usual
        if number < USUAL:
            usual |= written
        elif written:
            context.restart()
            yield number
            return
    raise NotApplicable("it writes no file anew")


def _is_anew(before: tuple[int, int] | None, now: tuple[int, int], *, new: bool) -> bool:
    """Whether a file is another one, or lacks much of what was in it."""
    if before is None:
        return new and now[1] > 2 * SIZE
    return now[0] != before[0] or now[1] < before[1] - 2 * SIZE


def _files(context: CheckContext) -> Files:
    found = {}
    for path in disk.sizes(context.driver.directory):
        state = os.stat(path)
        found[path] = (state.st_ino, state.st_size)
    return found
