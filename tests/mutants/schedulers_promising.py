"""Schedulers whose docstrings promise more than they do."""

from __future__ import annotations

import heapq

from mutants import mutant
from mutants.controls_schedulers import PlainScheduler


@mutant(fails="scheduler.next.priority")
class PromisesAnOrder(PlainScheduler):
    """Requests of higher priority come first, it says, and takes all that are below -9 or above 9 for equal."""

    def enqueue_request(self, request):
        heapq.heappush(self.heap, (-max(-9, min(request.priority, 9)), next(self.numbers), request))
        return True
