"""Wrong classes that the next run does not understand: another interpreter, another place, or a start that was refused."""

from __future__ import annotations

from mutants import mutant
from mutants.controls_between_runs import ShardedScheduler
from queue_reference.disk import FifoDiskQueue
from queue_reference.dupefilter import DupeFilter
from queue_reference.state import SpiderState


@mutant(fails="scheduler.resume.seen", control="mutants.controls_between_runs.ShardedScheduler")
class ShardsByHash(ShardedScheduler):
    """What it has seen of a host is where hash() of its name says, which is elsewhere in another process."""

    def number_of(self, host):
        return hash(host) % 64


@mutant(fails="scheduler.close.persist", control="mutants.controls_between_runs.ShardedScheduler")
class WaitsInShardsOfAHash(ShardedScheduler):
    """It marks each request with hash() of its host, and returns those whose host still has that mark."""

    def serialize(self, request):
        return b"%d %b" % (hash(self.host_of(request)), super().serialize(request))

    def deserialize(self, data):
        mark, _, data = data.partition(b" ")
        request = super().deserialize(data)
        return request if int(mark) == hash(self.host_of(request)) else None


@mutant(fails="dupefilter.persist.resume", control="queue_reference.dupefilter.DupeFilter")
class FilterOfShards(DupeFilter):
    """It tells fingerprints apart by hash() of the host, too, of which there are eight."""

    def _fingerprint(self, request):
        return b"%d" % (hash(request.url.split("/")[2]) % 8) + super()._fingerprint(request)


@mutant(fails="queue.persist.new-process", control="queue_reference.disk.FifoDiskQueue")
class NamedByAHash(FifoDiskQueue):
    """The name of its file is hash() of its key."""

    def __init__(self, crawler, key):
        super().__init__(crawler, f"{key}-{hash(key):x}")


@mutant(fails="state.restored", control="queue_reference.state.SpiderState")
class StateNamedByAHash(SpiderState):
    """The name of its file is hash() of its directory."""

    def __init__(self, directory):
        super().__init__(directory)
        self._path = self._path.with_name(f"state-{hash(directory):x}")
