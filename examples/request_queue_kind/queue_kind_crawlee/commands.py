"""The commands of request queues, in lockstep with a model."""

from queue_conformance.engine.ablation import Ablation, drop
from queue_conformance.engine.lockstep import Lockstep, command, machine


class Model:
    """What a right queue holds: the numbers of the requests that wait, are in progress, and are handled."""

    def __init__(self):
        self.waiting, self.progress, self.handled = set(), {}, set()

    @property
    def known(self):
        return self.waiting | self.handled | set(self.progress)


class RequestQueueLockstep(Lockstep):
    """One queue and its model; any order is right."""

    needed = ("add", "fetch")
    covers = ("rq.unique", "rq.reclaim")
    ablations = (Ablation(drop("add_again"), "rq.unique"), Ablation(drop("reclaim"), "rq.reclaim"))

    def __init__(self, context, number):
        super().__init__(context, number)
        self.model, self.queue = Model(), context.open()
        self.fetched = 0

    @command("rq.fetch", arguments=range(4))
    def add(self, number):
        """Add a request, unless its key is known."""
        if number not in self.model.known:
            self.queue.call(f"add_request({self.context.driver.item(number).source})")
            self.model.waiting.add(number)

    @command(arguments=range(4))
    def add_again(self, number):
        """Add a request whose key is known."""
        if number in self.model.known:
            self.queue.call(f"add_request({self.context.driver.item(number).source})")
            self.events.add("add_again")

    @command(weight=2)
    def fetch(self):
        """Fetch a request, and compare it with what may come."""
        self.fetched += 1
        variable = f"fetched{self.fetched}"
        fetched = self.queue.call("fetch_next_request()", target=f"{variable} = ")
        number = None if fetched is None else self.context.driver.identify(fetched)
        urls = [self.context.driver.item(n).value for n in sorted(self.model.waiting)] or [None]
        self.sources.give(fetched, variable)
        self.expect(
            "rq.fetch",
            lambda: getattr(fetched, "url", None) in urls,
            expected=" or ".join(map(str, urls)),
            actual=str(getattr(fetched, "url", fetched)),
        )
        if fetched is not None:
            self.model.waiting.discard(number)
            self.model.progress[number] = (variable, fetched)
            self.covered["rq.unique"] += "add_again" in self.events
            self.covered["rq.reclaim"] += "reclaim" in self.events

    @command("rq.count")
    def handle(self):
        """Mark the request that was fetched first as handled, and compare the count."""
        if self.model.progress:
            number = self._done("mark_request_as_handled")
            self.model.handled.add(number)
        result = self.queue.call("get_handled_count()", "rq.count", "result = ")
        self.expect("rq.count", lambda result: result == len(self.model.handled), result)

    @command()
    def reclaim(self):
        """Give back the request that was fetched first."""
        if self.model.progress:
            self.model.waiting.add(self._done("reclaim_request"))
            self.events.add("reclaim")

    def _done(self, method):
        number = next(iter(self.model.progress))
        variable, fetched = self.model.progress.pop(number)
        self.queue.call(f"{method}({variable})", **{variable: fetched})
        return number

    def finish(self):
        """Fetch all that is left."""
        for _ in range(len(self.model.waiting) + 1):
            self.fetch()


LOCKSTEP = RequestQueueLockstep

machine(RequestQueueLockstep)
