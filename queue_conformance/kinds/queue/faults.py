"""The faults that checks of queues meet, as values of their cases."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator

from queue_conformance.engine.case import Case, fixture
from queue_conformance.engine.cases import Attempt
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.outcomes import NotApplicable, NotCovered
from queue_conformance.engine.samples import affordable
from queue_conformance.faults import disk
from queue_conformance.faults.backend import Backend
from queue_conformance.faults.disk import DiskFault, Garbage, NoDescriptors, NoPermission, NoSpace, SizeLimit, Sizes
from queue_conformance.faults.filesystem import mount_small_filesystem
from queue_conformance.faults.outages import (
    Condition,
    CutBetween,
    PasswordWanted,
    Refused,
    ReplyCut,
    RequestCut,
    ServerFault,
    Stalled,
    Traffic,
    each_reply_lost,
    usual_traffic,
)

FREE = (0, 4096, 4 * 4096, 16 * 4096)
"""Bytes that are left on a full file system."""


def disk_faults(context: CheckContext, attempt: Attempt) -> Iterator[DiskFault]:
    """Yield limits at each place where a write can be cut, and what else of the process can be limited."""
    if not context.offers("filesystem"):
        raise NotCovered("nothing is known of files that it stores in")
    if not disk.AVAILABLE:
        raise NotCovered("this platform cannot limit the size of files")
    context.owns_process()  # which a full disk moves to another file system, later
    usual, began = Sizes(_fresh(context)), context.watchdog.now
    attempt(usual)
    places = disk.places(usual.before, usual.after, context.examples // 20, context.seed)
    for limit in context.each("places", affordable(context, places, context.watchdog.now - began)):
        yield SizeLimit(_fresh(context), limit)
    yield NoDescriptors(_fresh(context))
    if disk.permissions_matter(context.driver.directory):
        yield NoPermission(_fresh(context))
    else:
        _note(context, "no permission (needs a user who is not root)")


def full_disk(context: CheckContext, attempt: Attempt) -> Iterator[DiskFault]:
    """Yield file systems on which little is left. The process is on one of its own from here on, so this comes last."""
    if not context.offers("filesystem"):
        return
    if not _is_on_a_small_filesystem(context):
        _note(context, "no space on a file system of its own (needs Linux, and root or user namespaces)")
        return
    attempt(Sizes(_fresh(context)))
    for free in FREE:
        for left in context.directory.iterdir():
            shutil.rmtree(left)  # the next one needs the space
        yield NoSpace(_fresh(context), free)


def files_that_may_not_grow(context: CheckContext, attempt: Attempt) -> Iterator[SizeLimit]:
    """Yield the fault of a disk that takes nothing more."""
    attempt(Sizes(context.driver.directory))
    context.restart()
    yield SizeLimit(context.driver.directory, 0)


def full_files(context: CheckContext, attempt: Attempt) -> Iterator[SizeLimit]:
    """Yield the same for what stores in files, if it does."""
    if not context.offers("filesystem"):
        raise NotApplicable("it stores in no files")
    if not disk.AVAILABLE:
        raise NotCovered("this platform cannot limit the size of files")
    yield from files_that_may_not_grow(context, attempt)


def _fresh(context: CheckContext) -> str:
    context.restart()
    return str(context.driver.directory)


def _note(context: CheckContext, what: str, place: str = "disk") -> None:
    line = f"{place} faults not covered: {what}"
    context.notes += [line] if line not in context.notes else []


def _is_on_a_small_filesystem(context: CheckContext) -> bool:
    """Move the context to a file system of its own, if possible; it vanishes with the process of the check."""
    place = context.directory / "small"
    if context.directory.name == "small" or place.exists() or not context.owns_process():
        return context.directory.name == "small"
    place.mkdir()
    try:
        mount_small_filesystem(str(place))
    except (OSError, AttributeError):  # forbidden; no such functions on this platform
        return False
    context.directory = place
    return True


# --- Servers ---------------------------------------------------------------------------------------------------------

BUDGET = 15.0
"""Seconds after which no further fault is tried around an operation; only clients that retry come near."""

PLACES = 24
"""About how many places of a request, or of a reply, are tried for a cut."""


SHORT_TIMEOUT = 0.05
"""Seconds that a queue gets to find out that its server is back, once it has not found out in the time of the context."""


def backend_of(context: CheckContext) -> Backend:
    """Return the backend of a context.

    Raises:
        NotCovered: if nothing that the queue sends passes it.
    """
    if context.backend is not None and context.offers("server"):
        return context.backend
    if context.offers("server"):
        raise NotCovered("what the queue sends does not pass the kit: write {host} and {port} in the setting of its address")
    raise NotCovered("there is no server behind the queue")


@fixture
def room_in_server(case: Case) -> Callable[[], int]:
    """``room_in_server()``: how many bytes what its server stores takes."""
    if case.context.backend is None:
        raise NotApplicable("it stores behind no server")
    server = backend_of(case.context).server
    if not server.offers("room"):
        raise NotCovered("its server does not tell how much it stores")
    return lambda: case.record.make("backend.server.room()", case.rule, server.room, "room")


@fixture
def backend(case: Case) -> Backend:
    """The server behind what is tested, and the proxy before it."""
    found: Backend = case.sources.give(backend_of(case.context), "backend")
    return found


def connection_faults(context: CheckContext, attempt: Attempt) -> Iterator[ServerFault]:
    """Yield refused connections, cuts between commands, and cuts of the request and of the reply, the telling ones first."""
    backend = backend_of(context)
    usual = usual_traffic(backend, attempt)
    deadline = context.watchdog.now + BUDGET
    between = [CutBetween(backend, number) for number in range(1, usual.turns)]
    for cut in between:
        cut.may_act = True
    faults = [
        Refused(backend),
        *between,
        *_cuts(ReplyCut, backend, usual.replied),
        *_cuts(RequestCut, backend, usual.requested),
    ]
    for number, fault in enumerate(sorted(faults, key=lambda fault: bool(fault.number))):
        if context.watchdog.now > deadline:
            context.notes.append(f"{len(faults) - number} of {len(faults)} faults were not tried, because each takes so long")
            return
        yield fault


def lost_replies(context: CheckContext, attempt: Attempt) -> Iterator[ServerFault]:
    """Yield one reply after the other that does not come, of a server that can be asked again at once."""
    yield from each_reply_lost(backend_of(context), attempt)


def _cuts(kind: type[RequestCut | ReplyCut], backend: Backend, size: int) -> list[ServerFault]:
    """Return cuts within so many bytes; once more than half of a request has passed, the server may act on it."""
    places = range(0, size, max(1, size // PLACES))
    cuts = [kind(backend, place) for place in dict.fromkeys([*places[:1], *places[-1:], *places])]
    for cut in cuts:
        cut.may_act |= 2 * cut.number > size
    return [*cuts]


def unusable_server(context: CheckContext, attempt: Attempt) -> Iterator[ServerFault]:
    """Yield a server that cannot be reached, and one that wants a password."""
    yield Refused(backend_of(context))
    if backend_of(context).server.offers(PasswordWanted.offered):
        backend_of(context).own()
        yield PasswordWanted(backend_of(context))


def stalled(context: CheckContext) -> Iterator[ServerFault]:
    """Yield a server that says nothing."""
    yield Stalled(backend_of(context))


def offered(*kinds: type[Condition]) -> Callable[..., Iterator[Condition]]:
    """Return what yields the faults of these kinds that the server offers; if it offers none, the case is not covered."""

    def cases(context: CheckContext) -> Iterator[Condition]:
        backend = backend_of(context)
        server = backend.server
        possible = [kind for kind in kinds if server.offers(kind.offered)]
        absent = ", ".join(kind.name for kind in kinds if kind not in possible)
        why = f"{server.name} offers no {absent}"
        if not server.ours:
            why = f"the kit does no harm to {server.name}, and can start its own"
        if not possible:
            raise NotCovered(why)
        if absent:
            _note(context, why, "server")
        backend.own()
        for kind in possible:
            yield kind(backend)

    return cases


def garbage(context: CheckContext) -> Iterator[DiskFault]:
    """Yield files that hold something else from then on."""
    if context.backend is not None or not context.offers("filesystem", "persistent"):
        raise NotCovered("it does not resume from files")
    yield Garbage(_fresh(context))


def bytes_of_a_reply(context: CheckContext) -> Iterator[int]:
    """Yield how many bytes of the reply to a push may pass: none, and all but the last one."""
    backend = backend_of(context)
    context.restart()
    with Traffic(backend) as usual:
        context.open().push(context.driver.item(1))
    yield from dict.fromkeys((0, max(0, usual.replied - 1)))
