"""Checks under faults of the disk, at push, pop, close and open.

Each one does the same first without a fault, then once with each fault: at every place at which a write can be cut, and so
on. A fault counts only where it is known to have hit: the system refused or cut a write, or the operation raised.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from queue_conformance.faults import disk
from queue_conformance.faults.disk import Fault, NoDescriptors, NoFault, NoPermission, NoSpace, SizeLimit
from queue_conformance.faults.filesystem import mount_small_filesystem
from queue_conformance.implementations.recording import OperationRaised
from queue_conformance.suites import check
from queue_conformance.suites.bench import Bench
from queue_conformance.suites.outcomes import NotExercised, RuleBroken
from queue_conformance.suites.queues.scenes import close_under_fault, open_under_fault, pop_under_fault, push_under_fault

Scene = Callable[[Fault], bool]
"""Does something with a fault around one operation, compares afterwards, and tells whether the fault hit."""

ROOMS = (0, 4096, 4 * 4096, 16 * 4096)
"""Bytes that are left on a full file system."""


@check("queue.push.no-silent-loss", "queue.push.failed-no-trace-fault", name="queue.push.no-silent-loss")
def a_push_is_stored_or_raises(bench: Bench) -> None:
    scenes = [
        partial(push_under_fault, bench, size=size, reopen=reopen) for size in ("small", "large") for reopen in (False, True)
    ]
    _under_each_fault(bench, "push", scenes)


@check("queue.persist.partial-fault", "queue.close.keeps-fault", name="disk.pop")
def a_failed_pop_loses_nothing(bench: Bench) -> None:
    large_first, large_last = (2, 1, 3), (1, 3, 2)
    scenes = [
        partial(pop_under_fault, bench, order=large_first, resumed=False, reopen=False),
        partial(pop_under_fault, bench, order=large_first, resumed=False, reopen=True),
        partial(pop_under_fault, bench, order=large_last, resumed=True, reopen=True),
    ]
    _under_each_fault(bench, "pop", scenes)


@check("queue.close.keeps-fault", name="disk.close")
def a_failed_close_loses_nothing(bench: Bench) -> None:
    _under_each_fault(bench, "close", [partial(close_under_fault, bench, resumed=resumed) for resumed in (True, False)])


@check("queue.persist.reopen-fault", name="disk.open")
def a_failed_open_loses_nothing(bench: Bench) -> None:
    _under_each_fault(bench, "open", [partial(open_under_fault, bench)])


# --- Faults ----------------------------------------------------------------------------------------------------------


def _under_each_fault(bench: Bench, operation: str, scenes: Sequence[Scene]) -> None:
    """Play scenes without a fault, and then with each one that this platform and this user permit."""
    if not bench.offers("filesystem"):
        raise NotExercised("nothing is known of files that it stores in")
    if not disk.AVAILABLE:
        raise NotExercised("this platform cannot limit the size of files")
    hits, tried = Counter[str](), Counter[str]()
    for fault, scene in _faults(bench, scenes):
        tried[fault.name] += 1
        try:
            hits[fault.name] += scene(fault)
        except RuleBroken as failure:
            bench.keep(failure)
            hits[fault.name] += 1
        except OperationRaised:  # before the fault began, so it says nothing of it
            continue
    if not hits.total():
        raise NotExercised(f"no fault of the disk reached {operation}")
    said = [f"{name} ({count} of {tried[name]} places)" if tried[name] > 1 else name for name, count in hits.items() if count]
    bench.notes.append(f"disk faults that hit {operation}: {', '.join(said)}")


def _faults(bench: Bench, scenes: Sequence[Scene]) -> Iterator[tuple[Fault, Scene]]:
    """Yield each fault with each scene; the one that changes the process comes last."""
    for scene, usual in [(scene, _without_fault(scene)) for scene in scenes]:
        for limit in bench.each("places", disk.places(usual.before, usual.after, bench.examples // 20, bench.seed)):
            yield SizeLimit(limit), scene
        yield NoDescriptors(), scene
    if disk.permissions_matter(bench.driver.directory):
        for scene in scenes:
            yield NoPermission(), scene
    else:
        bench.notes.append("disk faults not exercised: no permission (needs a user who is not root)")
    if _on_a_small_filesystem(bench):
        try:
            for scene in scenes:
                _without_fault(scene)
        except NotExercised:
            bench.notes.append("disk faults not exercised: no space (what is stored needs more than 4 MiB)")
            return
        for scene in scenes:
            for room in ROOMS:
                for left in bench.directory.iterdir():
                    shutil.rmtree(left)  # the next one needs the space
                yield NoSpace(room), scene
    else:
        needs = "Linux, and root or user namespaces"
        bench.notes.append(f"disk faults not exercised: no space on a file system of its own (needs {needs})")


def _without_fault(scene: Scene) -> NoFault:
    """Play a scene without a fault.

    Raises:
        NotExercised: if it fails, which says nothing of faults.
    """
    usual = NoFault()
    try:
        scene(usual)
    except (RuleBroken, OperationRaised) as failure:
        raise NotExercised(f"it fails without a fault of the disk too: {failure}") from failure
    return usual


def _on_a_small_filesystem(bench: Bench) -> bool:
    """Move the bench to a file system of its own, if possible; it vanishes with the process of the check."""
    place = bench.directory / "small"
    place.mkdir()
    try:
        if not bench.isolated:
            return False
        mount_small_filesystem(str(place))
    except (OSError, AttributeError):  # forbidden; no such functions on this platform
        return False
    bench.directory = place
    return True
