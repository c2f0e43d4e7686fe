"""Several crawlers of one site at the same time, on one scheduler: one of them, or the server, may have an accident.

Scripts import what they need from this file; it has no annotations.
"""

import signal
import threading
import time
from contextlib import ExitStack, closing, contextmanager
from itertools import pairwise

from queue_conformance.environments.graph import GraphCrawl, GraphSite, linked
from queue_conformance.environments.judge import reached
from queue_conformance.environments.site import argument
from queue_conformance.environments.waiting import Waits
from queue_conformance.faults.backend import environment
from queue_conformance.faults.network import FaultProxy
from queue_conformance.faults.outages import OutOfSpace, ReadOnly, Stopped
from queue_conformance.faults.redirection import DIRECT

OF_THE_SERVER = {"restarted": Stopped, "out_of_space": OutOfSpace, "read_only": ReadOnly}
"""Accidents of the server, and their faults."""


class SharedGraph(GraphSite):
    """A site that serves a graph, and a project that several processes crawl.

    ``by`` are the pages that each crawler asked for, with the time of each, and ``struck`` the page with which the accident
    began, with the one that its crawler had before. ``met`` is whether the accident happened, and, if it keeps crawlers from the
    server, whether one of them asked for that meanwhile.
    """

    seconds = 2.0  # that an accident lasts from when its crawler goes on
    patience = 3.0  # seconds until it is taken to do so, as it may wait for the server meanwhile

    def crawl_together(self, number=2, backend=None, **accident):
        """Run some crawlers to their end.

        When one of them asks for the page ``killed``, it is killed, and in the end one more crawls what is left; for the page
        ``frozen`` it stands still for a while; for ``cut_off`` nothing passes between it and the server of the ``backend``, then
        their connections end; for ``restarted`` that server is away, and starts again with what it acknowledged; for
        ``out_of_space`` and ``read_only`` it refuses to store.
        """
        self.accident, self.at = next(iter(accident.items()), ("", None))
        self.by, self.struck, self.victim, self.met, self.hung = {}, [], None, False, False
        self.number, self.backend = number, backend
        self.everybody = threading.Event()  # has asked for a page
        self.due, self.begun, self.went_on = threading.Event(), threading.Event(), threading.Event()
        self.latest, self.waits = time.monotonic(), Waits()
        watchdog = threading.Timer(self.limit, self.end)
        watchdog.start()
        self.processes, self.proxies = [], []
        with ExitStack() as stack:
            if self.accident == "cut_off":
                self.proxies = [stack.enter_context(self.proxy()) for _ in range(number)]
            runs = self.run([*range(number)])
            if self.accident == "killed":
                runs += self.run([number])
        watchdog.cancel()
        self.runs += runs
        return Crawls(self, runs)

    @contextmanager
    def proxy(self):
        """A proxy of its own between a crawler and the server."""
        with closing(FaultProxy(self.backend.server.address, self.backend.server.gone)) as proxy:
            DIRECT.add((proxy.host, proxy.port))
            try:
                yield proxy
            finally:
                DIRECT.discard((proxy.host, proxy.port))

    def begin(self, name):
        """Start the crawler of a name."""
        given = {"SITE": self.url, **self.settings, "CONCURRENT_REQUESTS": 1, "USER_AGENT": name}
        arguments = ["crawl", self.name, *(f"-s{name}={argument(value)}" for name, value in given.items())]
        if not self.proxies:
            return self.start(arguments)
        proxy, server = self.proxies[name], self.backend.server
        with environment(server.environment, proxy.host, proxy.port):
            return self.start([text.replace(str(self.backend.port), str(proxy.port)) for text in arguments])

    def run(self, names):
        """Run crawlers of these names to their end."""
        for name in names:
            with self.lock:
                self.processes.append(self.begin(name))
        found = [self.processes[name] for name in names]
        self.waits.begin(names)
        lines = {name: [] for name in names}

        def read(name, process):
            for line in process.stdout:
                lines[name].append(line.rstrip())
                if name == self.victim and line.startswith(f"parsed {self.at} "):
                    self.went_on.set()
                self.hear(name, line.strip())
            self.waits.end(name)
            self.everybody.set()  # nobody waits for what has ended
            self.due.set()

        readers = [threading.Thread(target=read, args=pair) for pair in zip(names, found, strict=True)]
        for reader in readers:
            reader.start()
        self.strike()
        for reader, process in zip(readers, found, strict=True):
            reader.join()
            process.wait()
        hits = {name: [page for page, _ in self.by.get(str(name), ())] for name in names}
        return [GraphCrawl(hits[n], [], [], lines[n], self.processes[n].returncode, self.hung) for n in names]

    def hear(self, name, line):
        """End the crawlers when all of them wait too long; it is no wonder if they wait for the end of an accident."""
        with self.lock:
            if self.waits.hear(name, line) > self.longest_wait + (self.patience + self.seconds) * bool(self.accident):
                self.end()

    def end(self):
        """End crawlers that take too long."""
        self.hung = True
        for process in self.processes:
            process.kill()

    def answer(self, page, crawler):
        with self.lock:
            self.hits.append(page)
            self.latest = time.monotonic()
            own = self.by.setdefault(crawler, [])
            own.append((page, self.latest))
            strikes = page == self.at and not self.struck and not self.begun.is_set()
            if strikes:
                self.struck = [page for page, _ in own[-2:]]
                self.victim = int(crawler)
        if len(self.by) >= self.number:
            self.everybody.set()
        self.everybody.wait(1)
        time.sleep(0.02)
        if strikes:
            self.due.set()
            self.begun.wait()
        found = self.pages[page]
        return 200, {}, {**found, "links": linked(self.pages, found.get("links", ()))}

    def strike(self):
        """Wait for the accident, and let it happen when its crawler is done with what it had before."""
        self.due.wait()
        if self.struck and not self.begun.is_set():
            time.sleep(0.1)
            if self.accident == "killed":
                self.processes[self.victim].kill()
                self.met = True
            else:
                with self.happening():
                    met = self.contacts()
                    self.begun.set()
                    if self.accident != "frozen":
                        self.went_on.wait(self.patience)
                    time.sleep(self.seconds)
                    self.met = met()
        self.begun.set()

    def happening(self):
        """Return a block in which the accident lasts."""
        if self.accident in OF_THE_SERVER:
            return OF_THE_SERVER[self.accident](self.backend)
        return cut_off(self.proxies[self.victim]) if self.proxies else frozen(self.processes[self.victim])

    def contacts(self):
        """Return a function that says whether the server was asked for anything since then, where the accident is about that."""
        if self.accident == "frozen":
            return lambda: True
        proxy = self.proxies[self.victim] if self.proxies else self.backend
        before = proxy.accepted, proxy.requested
        return lambda: (proxy.accepted, proxy.requested) != before or proxy.unread

    def taken(self):
        """Return the pages that may be lost with a killed crawler: those that only what it had leads to."""
        without = {page: {} if page in self.struck else found for page, found in self.pages.items() if page != "start"}
        return sorted(without.keys() - reached(without, [link["page"] for link in self.pages["start"]]))

    def unrecovered(self):
        """Return the page that the killed crawler was downloading, unless another one asked for it again."""
        return [page for page in self.struck[-1:] if self.hits.count(page) < 2]

    def pause(self):
        """Return for how many seconds one of the crawlers asked for nothing between two pages."""
        times = [[when for _, when in pages] for pages in self.by.values()]
        return max((later - earlier for one in times for earlier, later in pairwise(one)), default=0.0)


@contextmanager
def frozen(process):
    process.send_signal(signal.SIGSTOP)
    yield
    process.send_signal(signal.SIGCONT)


@contextmanager
def cut_off(proxy):
    proxy.stall()
    yield
    proxy.reset()  # what was sent meanwhile does not arrive
    proxy.recover()


class Crawls:
    """What came of several crawlers; ``busy`` is how many downloaded anything, ``error`` and ``hung`` are as those of one."""

    def __init__(self, site, runs):
        self.runs, self.hung = runs, site.hung
        self.pages, self.lost, self.twice = len({*site.hits}), site.missing(), site.repeated()
        self.struck, self.met, self.accident = site.struck, site.met, site.accident
        self.ended = [run for name, run in enumerate(runs) if self.accident != "killed" or name != site.victim]
        self.busy = sum(bool(run.hits) for run in runs)
        self.error = next((run.error for run in runs if run.error), "")

    @property
    def unstored(self):
        """The pages whose requests a queue did not store, and said so."""
        return [page for run in self.runs for page in run.noted("unstored")]

    @property
    def ending(self):
        """How those ended that were not killed: one that did not finish, if there is one."""
        return next((run.ending for run in self.ended if run.ending != "finished"), "finished")

    def __repr__(self):
        fates = [f"{len(pages)} {fate}" for fate, pages in (("lost", self.lost), ("too often", self.twice)) if pages]
        who = "the server" if self.accident in OF_THE_SERVER else "one"
        struck = [f"{who} {self.accident.replace('_', ' ')} with page {self.struck[-1]}"] if self.struck else []
        crawlers = f"{len(self.runs)} crawler{'s' * (len(self.runs) != 1)}"
        return ", ".join([crawlers, *struck, f"{self.pages} page{'s' * (self.pages != 1)} reached", *fates])
