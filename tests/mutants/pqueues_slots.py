"""Wrong priority queues that look at the slots of the downloader."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from mutants import mutant
from mutants.controls_pqueues import HostsInTurn
from mutants.pqueues import ClosesLater
from queue_reference.pqueues import PriorityQueue, SlotPriorityQueue

RIGHT = "queue_reference.pqueues.SlotPriorityQueue"


@mutant(fails="pq.slot.key")
class TakesNoneForASlot(SlotPriorityQueue):
    """It takes a download_slot of None for the name of a slot."""

    def _slot_of(self, request):
        return str(request.meta.get("download_slot", urlsplit(request.url).hostname))


@mutant(fails="pq.slot.key")
class TakesPortsForSlots(SlotPriorityQueue):
    """It takes the host with its port, and with user and password, for the slot."""

    def _slot_of(self, request):
        slot = request.meta.get("download_slot")
        return urlsplit(request.url).netloc if slot is None else slot


@mutant(fails="pq.slot.key")
class NeedsAHost(SlotPriorityQueue):
    """It raises for a URL without a host."""

    def _slot_of(self, request):
        slot = request.meta.get("download_slot")
        return str(urlsplit(request.url).hostname.lower() if slot is None else slot)


@mutant(fails="pq.slot.key")
class MergesSubdomains(SlotPriorityQueue):
    """It takes a host and its subdomains for one slot."""

    def _slot_of(self, request):
        slot = request.meta.get("download_slot")
        return ".".join(super()._slot_of(request).split(".")[-2:]) if slot is None else slot


@mutant(fails="pq.slot.key")
class StripsWww(SlotPriorityQueue):
    """It takes a host for one slot with the one of the same name that begins with www."""

    def _slot_of(self, request):
        return super()._slot_of(request).removeprefix("www.")


@mutant(fails="pq.slot.key")
class LowersSlots(SlotPriorityQueue):
    """It takes slots whose names differ in case for one."""

    def _slot_of(self, request):
        return super()._slot_of(request).lower()


@mutant(fails="pq.slot.key")
class StripsDots(SlotPriorityQueue):
    """It takes slots whose names differ in a dot at the end for one."""

    def _slot_of(self, request):
        return re.sub(r"(?<=\w)\.$", "", super()._slot_of(request))


@mutant(fails="pq.slot.key")
class RemembersTheSlot(SlotPriorityQueue):
    """It keeps the slot in the meta of a request, where it stays when the request is redirected to another host."""

    def _slot_of(self, request):
        return request.meta.setdefault("slot", super()._slot_of(request))


@mutant(fails="pq.slot.least-active")
class LooksAtSixteen(SlotPriorityQueue):
    """It looks for the slot with the fewest active downloads among the sixteen that wait for the longest time."""

    def _next(self):
        slot = min(list(self._turn)[:16], key=self._active, default=None)
        return None if slot is None else min(self._turn[slot])


@mutant(fails="pq.slot.least-active")
class KnowsOnlyBusyOrNot(SlotPriorityQueue):
    """It does not tell slots with one active download from those with more."""

    def _active(self, slot):
        return min(1, super()._active(slot))


@mutant(fails="pq.slot.ties-rotate")
class ServesOneSlotUntilItIsEmpty(SlotPriorityQueue):
    """It serves one of several equal slots until that is empty."""

    def _served(self, slot):
        pass


@mutant(fails="pq.slot.ties-rotate")
class RotatesAFew(SlotPriorityQueue):
    """It puts the slot that was served behind fifteen others, though more may wait."""

    def _served(self, slot):
        if slot in self._turn:
            others = [(other, places) for other, places in self._turn.items() if other != slot]
            self._turn = dict([*others[:15], (slot, self._turn[slot]), *others[15:]])


@mutant(fails="pq.slot.no-starvation")
class PrefersNewSlots(SlotPriorityQueue):
    """It puts a new slot before those that wait."""

    def _queue(self, place):
        new = place.slot not in self._turn
        queue = super()._queue(place)
        if new:
            self._turn = {place.slot: self._turn.pop(place.slot)} | self._turn
        return queue


@mutant(fails=("pq.slot.drained", "pq.slot.directory", "pq.pop.drained-closed"), control=RIGHT)
class KeepsDrainedSlotsOpen(ClosesLater, SlotPriorityQueue):
    """It closes the queues of a drained slot only when it opens another one, or is closed itself."""

    def _let_go(self, place):
        self._open[place] = Closed()
        SlotPriorityQueue._close_if_empty(self, place)


class Closed:
    """A queue of nothing."""

    def close(self):
        pass

    def __len__(self):
        return 0


@mutant(fails="pq.slot.directory")
class LeavesDirectories(SlotPriorityQueue):
    """It leaves the directories of drained slots."""

    def _forget(self, slot):
        del self._turn[slot]


@mutant(fails="pq.slot.contains")
class ContainsEverySlotEver(SlotPriorityQueue):
    """It says that it contains every slot that it ever saw."""

    seen = frozenset()

    def push(self, request):
        self.seen |= {self._slot_of(request)}
        super().push(request)

    def __contains__(self, slot):
        return slot in self.seen


@mutant(fails="pq.slot.names")
class FearsToLeaveItsDirectory(SlotPriorityQueue):
    """It refuses a slot of the name ``..``."""

    def push(self, request):
        if self._slot_of(request) == "..":
            raise PermissionError("..")
        super().push(request)


@mutant(fails="pq.slot.names")
class KeepsZeroBytes(SlotPriorityQueue):
    """It replaces what means something in a path, but not what cannot be in one."""

    def _path_of(self, slot):
        readable = re.sub(r"[/.]", "_", slot)
        return f"{self._key}/{readable[:50]}-{super()._path_of(slot)[-32:]}"


@mutant(
    fails="pq.slot.names",
    may_fail=("pq.slot.collision", "pq.slot.long-names"),
    hint="What is replaced in the name of a directory",
)
class NamesSlotsByDirectories(SlotPriorityQueue):
    """Its state has the names of directories, which are not those of all slots."""

    def close(self):
        state = super().close()
        unsafe = {slot: self._path_of(slot).rpartition("/")[2] for slot in state if not re.fullmatch(r"[\w.]*\w", slot, re.ASCII)}
        return {unsafe.get(slot, slot): places for slot, places in state.items()}


@mutant(fails="pq.slot.long-names")
class NamesDirectoriesInFull(SlotPriorityQueue):
    """It names the directory of a slot by the whole name, as long as that may be."""

    def _path_of(self, slot):
        head, _, tail = super()._path_of(slot).rpartition("/")
        return f"{head}/{''.join(c if c.isalnum() else '_' for c in slot)}{tail}"


@mutant(fails="pq.slot.long-names")
class EncodesNames(SlotPriorityQueue):
    """It names the directory of a slot by a hash of the name in UTF-8, which some names cannot be written in."""

    def _path_of(self, slot):
        slot.encode()
        return super()._path_of(slot)


@mutant(fails="pq.ctor.keys-below")
class LeavesItsDirectory(SlotPriorityQueue):
    """It puts the name of a slot into a path as it is."""

    def _path_of(self, slot):
        readable = slot.replace("\0", "_")
        return f"{self._key}/{readable[:50]}-{super()._path_of(slot)[-32:]}"


@mutant(fails="pq.scale.buckets")
class CountsParkedQueues(SlotPriorityQueue):
    """It counts one request for each downstream queue that is not open."""

    def __len__(self):
        return sum(map(len, self._open.values())) + len(self._parked)


@mutant(fails="pq.slot.collision")
class NamesDirectoriesWithoutHash(SlotPriorityQueue):
    """It names the directory of a slot by what is left of the name, without a hash."""

    def _path_of(self, slot):
        return f"{super()._path_of(slot).rpartition('-')[0]}-"


@mutant(fails="pq.slot.per-ip")
class TakesAddressesForHosts(SlotPriorityQueue):
    """It does not notice that slots are addresses."""

    def __init__(self, crawler, *arguments, **keywords):
        self._turn = {}
        PriorityQueue.__init__(self, crawler, *arguments, **keywords)


@mutant(fails="pq.slot.peek-rotation")
class PeekTurnsTheOthers(SlotPriorityQueue):
    """Its peek shows what pop returns next, but advances the turn of all other slots."""

    def peek(self):
        place = self._next()
        if place is not None:
            others = [slot for slot in self._turn if slot != place.slot]
            self._turn = {slot: self._turn[slot] for slot in [place.slot, *others[1:], *others[:1]]}
        return super().peek()


@mutant(fails="pq.close.state-nonempty")
class NamesTheFirstSlot(SlotPriorityQueue):
    """Its close also names the first slot that it ever saw, unless nothing is left."""

    first = None

    def push(self, request):
        super().push(request)
        self.first = self.first or self._slot_of(request)

    def close(self):
        left = super().close()
        return {self.first: [], **left} if left and self.first else left


@mutant(fails="pq.resume.foreign-state")
class TakesLists(SlotPriorityQueue):
    """It ignores a list as state."""

    def _ranks_by_slot(self, startprios):
        return {} if isinstance(startprios, list) else super()._ranks_by_slot(startprios)


@mutant(fails="pq.resume.foreign-state")
class TripsOverLists(SlotPriorityQueue):
    """It takes any state for a dict, so that a list ends in an exception that explains nothing."""

    def _ranks_by_slot(self, startprios):
        return {slot: list(named) for slot, named in startprios.items()} if startprios else {}


@mutant(fails="pq.pop.start-priority")
class HostsInTurnStartsLast(HostsInTurn):
    """It serves one host after the other, and of each the start requests last, whatever their priorities are."""

    def _next(self):
        slot = next(iter(self._turn), None)
        return None if slot is None else min(self._turn[slot], key=lambda place: (place.start, place.rank))


@mutant(fails="pq.slot.collision")
class HostsInTurnByShortNames(HostsInTurn):
    """It serves one host after the other, and names the directory of each by its first 24 letters."""

    def _slot_of(self, request):
        return request.meta.get("download_slot") or super()._slot_of(request)

    def _path_of(self, slot):
        return f"{self._key}/host-{re.sub('[^a-z0-9]', '_', slot.lower())[:24]}"
