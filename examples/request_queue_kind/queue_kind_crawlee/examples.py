"""A right request queue, and two mutants."""

from collections import deque
from dataclasses import dataclass


@dataclass
class Request:
    """A request, as it comes out of a queue."""

    url: str


class MemoryRequestQueue:
    """Keeps requests in memory: the control."""

    def __init__(self):
        self.waiting, self.progress, self.known, self.handled = deque(), {}, set(), 0

    async def add_request(self, url):
        if url not in self.known:
            self.known.add(url)
            self.waiting.append(Request(url))

    async def fetch_next_request(self):
        if not self.waiting:
            return None
        request = self.waiting.popleft()
        self.progress[request.url] = request
        return request

    async def mark_request_as_handled(self, request):
        del self.progress[request.url]
        self.handled += 1

    async def reclaim_request(self, request):
        self.waiting.append(self.progress.pop(request.url))

    async def is_empty(self):
        return not self.waiting

    async def get_handled_count(self):
        return self.handled


class AddsHandledAgain(MemoryRequestQueue):
    """Forgets the keys of handled requests."""

    async def mark_request_as_handled(self, request):
        await super().mark_request_as_handled(request)
        self.known.discard(request.url)


class DropsReclaimed(MemoryRequestQueue):
    """Takes a reclaimed request for one that is known, and drops it."""

    async def reclaim_request(self, request):
        del self.progress[request.url]
        await self.add_request(request.url)
