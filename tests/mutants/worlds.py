"""Wrong schedulers that use the world around them."""

from __future__ import annotations

from mutants import mutant
from mutants.controls_worlds import (
    FetchesInTheLoop,
    LooksAround,
    ReadsItsSpider,
    RemembersInItsProcess,
    SpiderKeyedFilter,
    SpiderKeyedQueue,
    StoresWhereItWorks,
)


@mutant(fails="scheduler.resume.all")
class LosesTheFirst(StoresWhereItWorks):
    """When it finds requests in the working directory, it drops the oldest one."""

    def open(self, spider):
        super().open(spider)
        self.db.execute("DELETE FROM requests WHERE id = (SELECT min(id) FROM requests)")


@mutant(fails="scheduler.enqueue.true")
class ForgetsInItsProcess(RemembersInItsProcess):
    """What it has seen is kept for all of the process, and of its requests five."""

    def enqueue_request(self, request):
        accepted = super().enqueue_request(request)
        del self.heap[5:]
        return accepted


@mutant(fails="scheduler.enqueue.true")
class LosesTheSecond(FetchesInTheLoop):
    """A task that fetches a request forgets the second one of those that it fetches."""

    fetches = 0

    async def fetch(self):
        await super().fetch()
        self.fetches += 1
        if self.fetches == 2:
            self.fetched.clear()


@mutant(fails="scheduler.enqueue.true")
class DropsForABusyEngine(LooksAround):
    """It answers that it has stored a request while the downloader has no slot for it, and has not."""

    def enqueue_request(self, request):
        engine = self.crawler.engine
        return True if engine.downloader.get_slot_key(request) == "example.org" else super().enqueue_request(request)


# --- Those that need a spider of the author's; they are no mutants, which have none -----------------------------------------


class ForgetsBeyondTwo(SpiderKeyedQueue):
    """It keeps no more than two requests."""

    def push(self, request):
        super().push(request)
        del self.requests[:-2]


class AnswersTwice(ReadsItsSpider):
    """It gives its first request twice."""

    given = 0

    def next_request(self):
        self.given += 1
        again = self.given == 1 and self.heap
        return self.heap[0][2] if again else super().next_request()


class SeesNothingAgain(SpiderKeyedFilter):
    """It takes every third request for seen."""

    asked = 0

    def request_seen(self, request):
        self.asked += 1
        return super().request_seen(request) or self.asked % 3 == 0
