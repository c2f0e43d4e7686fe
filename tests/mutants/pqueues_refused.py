"""Priority queues that a refused push costs other requests."""

from __future__ import annotations

from mutants import mutant
from queue_reference.pqueues import PriorityQueue

RIGHT = "queue_reference.pqueues.PriorityQueue"


class _Refused(PriorityQueue):
    def push(self, request):
        try:
            super().push(request)
        except ValueError:
            self.refused(self._place_of(request))
            raise


@mutant(fails="pq.push.refused-no-loss", control=RIGHT)
class ServesTheRefused(_Refused):
    """It notes where a request belongs before the downstream queue takes it, and looks there next: KeyError."""

    noted = None

    def refused(self, place):
        self.noted = place

    def pop(self):
        place, self.noted = self.noted, None
        if place is not None and place not in (*self._open, *self._parked):
            raise KeyError(place.rank)
        return super().pop()


@mutant(fails="pq.push.refused-no-loss", control=RIGHT)
class DropsTheBucketOfTheRefused(_Refused):
    """It throws away the bucket that refused a request, with all that was in it."""

    def refused(self, place):
        queue = self._open.pop(place, None)
        if queue is not None:
            while queue.pop() is not None:
                pass
            queue.close()


@mutant(fails="pq.push.refused-no-loss", control=RIGHT)
class RepeatsTheLast(_Refused):
    """After a refusal it stores the request before once more."""

    last = None

    def push(self, request):
        super().push(request)
        self.last = request

    def refused(self, place):
        if self.last is not None:
            super().push(self.last)
