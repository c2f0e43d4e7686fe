"""How long a crawl waits for its scheduler: nothing is in flight, and it is asked again and again and gives nothing.

Scripts import what they need from this file; it has no annotations.
"""

import re
import time

from scrapy import signals

LONGEST = 0.5
"""Seconds that count at most between two times that the scheduler is asked: what is asked seldom was not waited for."""

AGAIN = 0.02
"""Seconds after which a scheduler that had nothing is asked once more; the engine would wait for five."""

SAID = 0.5
"""Seconds of waiting after which a crawl says so, and says so again."""

WAITS = re.compile(r"waits ([\d.]{3,9})")
"""What it says then, and the seconds in all."""

WENT_ON = "went on"
"""What it says when the waiting was not in vain."""


def slot_of(engine):
    """Return what an engine keeps of its spider."""
    return getattr(engine, "_slot", None) or engine.slot  # its name until Scrapy 2.13


class Waiting:
    """Says how long a crawl waits, once its spider has nothing more to start with.

    ``say`` writes a line. A crawl that is over has not waited in vain.
    """

    def __init__(self, crawler, say):
        self.crawler, self.say = crawler, say
        self.started = False
        self.seconds = self.said = 0.0
        self.latest = time.monotonic()
        crawler.signals.connect(self.ask, signals.scheduler_empty)
        for signal in (signals.request_scheduled, signals.request_reached_downloader, signals.spider_closed):
            crawler.signals.connect(self.go_on, signal)

    def ask(self):
        """Note that the scheduler had nothing to give."""
        engine, now = self.crawler.engine, time.monotonic()
        if not self.started or engine.downloader.active or not engine.scraper.slot.is_idle():
            return self.go_on()
        self.seconds += min(now - self.latest, LONGEST)
        self.latest = now
        if self.seconds - self.said >= SAID:
            self.said = self.seconds
            self.say(f"waits {self.seconds:.1f}")
        slot_of(engine).nextcall.schedule(AGAIN)
        return None

    def go_on(self):
        """Note that there is something to do."""
        if self.said:
            self.say(WENT_ON)
        self.seconds, self.said, self.latest = 0.0, 0.0, time.monotonic()


class Waits:
    """What some crawls of one site say of how long they wait.

    ``longest`` is how long one of them waited that went on then.
    """

    def __init__(self):
        self.by, self.longest = {}, 0.0

    def begin(self, names):
        """Expect crawls of these names."""
        self.by |= dict.fromkeys(names, 0.0)

    def end(self, name):
        """Expect nothing more of one of them."""
        del self.by[name]

    def hear(self, name, line):
        """Note what one of them says; return for how many seconds all of them have waited."""
        if said := WAITS.fullmatch(line):
            self.by[name] = float(said[1])
        elif line == WENT_ON:
            self.longest, self.by[name] = max(self.longest, self.by[name]), 0.0
        return self.seconds

    @property
    def seconds(self):
        """For how many seconds all of them have waited."""
        return min(self.by.values(), default=0.0)
