"""Several crawlers of one site at the same time, on one scheduler: one of them may be killed, or stand still for a while.

Scripts import what they need from this file; it has no annotations.
"""

import signal
import threading
import time
from itertools import pairwise

from queue_conformance.environments.graph import GraphSite
from queue_conformance.environments.site import Crawl, argument


class SharedGraph(GraphSite):
    """A site that serves a graph, and a project that several processes crawl.

    ``by`` are the pages that each crawler asked for, with the time of each, and ``struck`` the page with which one was killed or
    frozen, with the one before.
    """

    seconds = 1.0  # that a frozen crawler stands still

    def crawl_together(self, number=2, killed=None, frozen=None):
        """Run some crawlers to their end.

        Who asks for the page ``killed`` is killed, and in the end one more crawls what is left; who asks for the page ``frozen``
        stands still for a second.
        """
        self.by, self.struck, self.victim, self.hung = {}, [], None, False
        self.killed, self.frozen, self.number = killed, frozen, number
        self.everybody = threading.Event()  # has asked for a page
        self.latest = time.monotonic()
        watchdog = threading.Timer(self.limit, self.end)
        watchdog.start()
        self.processes = []
        runs = self.run([*range(number)])
        if killed is not None:
            runs += self.run([number])
        watchdog.cancel()
        self.runs += runs
        return Crawls(self, runs)

    def run(self, names):
        """Run crawlers of these names to their end."""
        given = {"SITE": self.url, **self.settings, "CONCURRENT_REQUESTS": 1}
        settings = [f"-s{name}={argument(value)}" for name, value in given.items()]
        for name in names:
            with self.lock:
                self.processes.append(self.start(["crawl", self.name, *settings, f"-sUSER_AGENT={name}"]))
        found = [self.processes[name] for name in names]
        lines = {name: [] for name in names}

        def read(name, process):
            lines[name] += [line.rstrip() for line in process.stdout]
            self.everybody.set()  # nobody waits for what has ended

        readers = [threading.Thread(target=read, args=pair) for pair in zip(names, found, strict=True)]
        for reader in readers:
            reader.start()
        for reader, process in zip(readers, found, strict=True):
            reader.join()
            process.wait()
        hits = {name: [page for page, _ in self.by.get(str(name), ())] for name in names}
        return [Crawl(hits[n], [], [], lines[n], self.processes[n].returncode, self.hung) for n in names]

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
            strikes = page in (self.killed, self.frozen) and not self.struck
            if strikes:
                self.struck = [page for page, _ in own[-2:]]
                self.victim = self.processes[int(crawler)]
        if len(self.by) >= self.number:
            self.everybody.set()
        self.everybody.wait(1)
        time.sleep(0.02)
        if strikes:
            self.strike()
        return 200, {}, self.pages[page]

    def strike(self):
        """Kill a crawler, or let it stand still, when it is done with what it had before."""
        time.sleep(0.1)
        if self.killed is not None:
            self.victim.kill()
            return
        self.victim.send_signal(signal.SIGSTOP)
        time.sleep(self.seconds)
        self.victim.send_signal(signal.SIGCONT)

    def taken(self):
        """Return the pages that may be lost with a killed crawler: those that only what it had leads to."""
        without = {page: {} if page in self.struck else found for page, found in self.pages.items() if page != "start"}
        reached = [link["page"] for link in self.pages["start"]]
        for page in reached:
            reached += [link["page"] for link in without[page].get("links", ()) if link["page"] not in reached]
        return sorted(set(without) - set(reached))

    def unrecovered(self):
        """Return the page that the killed crawler was downloading, unless another one asked for it again."""
        return [page for page in self.struck[-1:] if self.hits.count(page) < 2]

    def pause(self):
        """Return for how many seconds one of the crawlers asked for nothing between two pages."""
        times = [[when for _, when in pages] for pages in self.by.values()]
        return max((later - earlier for one in times for earlier, later in pairwise(one)), default=0.0)


class Crawls:
    """What came of several crawlers; ``busy`` is how many downloaded anything, ``error`` and ``hung`` are as those of one."""

    def __init__(self, site, runs):
        self.runs, self.hung = runs, site.hung
        self.pages, self.lost, self.twice = len({*site.hits}), site.missing(), site.repeated()
        self.struck, self.killed = site.struck, site.killed is not None
        self.ended = [
            run for run, process in zip(runs, site.processes, strict=True) if not self.killed or process is not site.victim
        ]
        self.busy = sum(bool(run.hits) for run in runs)
        self.error = next((run.error for run in runs if run.error), "")

    @property
    def endings(self):
        """How those ended that were not killed."""
        return [run.ending for run in self.ended]

    def __repr__(self):
        fates = [f"{len(pages)} {fate}" for fate, pages in (("lost", self.lost), ("too often", self.twice)) if pages]
        struck = [f"one {'killed' if self.killed else 'frozen'} with page {self.struck[-1]}"] if self.struck else []
        return ", ".join([f"{len(self.runs)} crawlers", *struck, f"{self.pages} page{'s' * (self.pages != 1)} reached", *fates])
