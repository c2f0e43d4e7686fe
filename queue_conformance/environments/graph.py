"""Graphs of pages: a site that serves one, a spider that crawls it, and what of its history a right crawl would not have.

A graph is a dictionary. ``"start"`` has the links that the spider starts with, and each number a page::

    {"start": [{"page": 0}], 0: {"links": [{"page": 1, "priority": 2}]}, 1: {"status": [503]}}

A link may have a ``priority``, ``dont_filter``, a ``slot`` of the downloader, and be ``unserializable``. A page may have
``links``, answer with some ``status`` before it answers with 200, ``redirect`` to another one, take ``seconds``, let its
callback end with an exception (``raises``), not be found (``gone``), or never be answered (``cut``), of which its errback hears.
Requests for it may be told from others ``by`` their query, case, body or method, but not where redirections begin or end, and
``carry`` something in one more field, which what a redirection leads to carries on.

Scripts import what they need from this file; it has no annotations.
"""

import itertools
import json
import pkgutil
import time
from collections import Counter

from scrapy import Request, signals
from scrapy.crawler import CrawlerRunner
from scrapy.exceptions import IgnoreRequest
from scrapy.settings import Settings
from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.misc import build_from_crawler

from queue_conformance.environments.addresses import NOWHERE, page_of, request_for
from queue_conformance.environments.judge import answered, demanded, reached
from queue_conformance.environments.site import RAISED, Crawl, Pages, PreparedSpider, Site, file_of, say
from queue_conformance.environments.waiting import AGAIN, slot_of
from queue_conformance.faults.disk import SizeLimit

CARRIED = {
    "meta": lambda page: {"meta": {"carried": page}},
    "cb_kwargs": lambda page: {"cb_kwargs": {"carried": page}},
    "headers": lambda page: {"headers": {"X-Carried": str(page)}},
    "cookies": lambda page: {"cookies": {"carried": page}},
    "flags": lambda page: {"flags": [f"page {page}"]},
}
"""By a field, what makes of the number of a page the arguments of a request that carries it there."""


class GraphSpider(PreparedSpider):
    name = "example"
    other = False

    @classmethod
    def from_crawler(cls, crawler, *arguments, **keywords):
        spider = super().from_crawler(crawler, *arguments, **keywords)
        crawler.signals.connect(spider.empty, signals.scheduler_empty)
        crawler.signals.connect(spider.dropped, signals.request_dropped)
        crawler.signals.connect(spider.idle, signals.spider_idle)
        crawler.signals.connect(spider.scheduled, signals.request_scheduled)
        if limit := crawler.settings.getint("DESCRIPTORS"):
            import resource  # which Windows has not

            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
        return spider

    async def start(self):
        for link in json.loads(self.settings["START"]):
            yield self.request(link)
        if job := self.settings["OTHER_JOB"]:  # of a second crawl in this process
            other = type("Other", (type(self),), {"name": f"{self.name}-other", "other": True})
            settings = Settings({**self.settings, "JOBDIR": job, "OTHER_JOB": None})
            await maybe_deferred_to_future(CrawlerRunner(settings).crawl(other))
        self.waiting.started = True

    def request(self, link):
        page, field = link["page"], link.get("carry")
        given = {name: link[name] for name in ("priority", "dont_filter") if name in link}
        given |= CARRIED[field](page) if field else {}
        meta = {"other": self.other, **given.pop("meta", {})} | ({"download_slot": link["slot"]} if "slot" in link else {})
        if link.get("unserializable"):
            meta["function"] = lambda: None
        if link.get("gone") or link.get("cut"):
            given["errback"] = self.miss_page
        callback = getattr(self, f"parse_{field}") if field else self.parse_page
        site = self.settings["SITE"].removesuffix("/0")
        return request_for(site, page, link.get("by", "path"), callback=callback, meta=meta, **given)

    def parse(self, response):
        """Get what has lost its callback."""

    def parse_page(self, response):
        number = page_of(response.request)
        say("parsed", number, 0)
        if response.meta.get("other") != self.other:
            say("noted foreign", number)
        page = json.loads(response.text)
        if self.settings.getint("FULL_DISK", -1) == number:
            self.fill_disk()
        for link in page.get("links", []):
            yield self.request(link)
        if page.get("raises"):
            raise ValueError(RAISED)

    def miss_page(self, failure):
        say("parsed", page_of(failure.request), 0)

    def parse_meta(self, response):
        return self.parse_carrier(response, response.meta.get("carried"))

    def parse_cb_kwargs(self, response, carried=None):
        return self.parse_carrier(response, carried)

    def parse_headers(self, response):
        return self.parse_carrier(response, int(response.request.headers.get("X-Carried", NOWHERE)))

    def parse_cookies(self, response):
        return self.parse_carrier(response, response.request.cookies.get("carried"))

    def parse_flags(self, response):
        return self.parse_carrier(response, int(" ".join(response.request.flags).removeprefix("page ") or NOWHERE))

    def parse_carrier(self, response, carried):
        """Parse a page whose request carried its number in a further field, or that of the page that redirected it there."""
        redirected_from = response.meta.get("redirect_urls")
        if carried != page_of(Request(redirected_from[0]) if redirected_from else response.request):
            say("noted changed", page_of(response.request))
        return self.parse_page(response)

    def fill_disk(self):
        """Let no file grow for a while."""
        from twisted.internet import reactor

        fault = SizeLimit(self.settings["JOBDIR"], 0)
        fault.begin()
        reactor.callLater(0.4, self.free_disk, fault)

    def free_disk(self, fault):
        fault.end()
        if fault.hit:
            say("noted fault")

    def empty(self):
        say("noted empty")
        self.slot.nextcall.schedule(AGAIN)

    @property
    def slot(self):
        return slot_of(self.crawler.engine)

    def dropped(self, request):
        say("noted dropped", page_of(request))

    def scheduled(self, request):
        if page_of(request) == self.settings.getint("IGNORED", -2):
            raise IgnoreRequest

    def idle(self):
        scheduler = getattr(self.slot.scheduler, "recorded", self.slot.scheduler)
        for request in itertools.islice(iter(scheduler.next_request, None), 100):
            say("noted left", page_of(request))


class RecordingScheduler:
    """Passes everything on to the scheduler of the setting RECORDED, and writes down what it was asked.

    For the seconds of the setting KEPT_OPEN after that has nothing more for the first time, it says that something is pending.
    """

    kept_until = None

    def __init__(self, crawler):
        say("noted from_crawler")
        self.crawler = crawler
        self.recorded = build_from_crawler(pkgutil.resolve_name(crawler.settings["RECORDED"]), crawler)

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    def open(self, spider):
        say("noted open")
        return self.recorded.open(spider) if hasattr(self.recorded, "open") else None

    def close(self, reason):
        say("noted close", reason)
        return self.recorded.close(reason) if hasattr(self.recorded, "close") else None

    def enqueue_request(self, request):
        accepted = self.recorded.enqueue_request(request)
        say("noted", "accepted" if accepted else "refused", page_of(request))
        return accepted

    def next_request(self):
        request = self.recorded.next_request()
        say("noted next", page_of(request) if request else None)
        engine = self.crawler.engine
        if request is None and not engine.downloader.active and engine.scraper.slot.is_idle():
            say("noted", "stalled" if self.recorded.has_pending_requests() else "idle")
        return request

    def has_pending_requests(self):
        pending, seconds = self.recorded.has_pending_requests(), self.crawler.settings.getfloat("KEPT_OPEN")
        if pending or not seconds:
            return pending
        self.kept_until = self.kept_until or time.monotonic() + seconds
        if time.monotonic() < self.kept_until:
            return True
        say("noted released")
        return False

    def __len__(self):
        return len(self.recorded)

    def __getattr__(self, name):
        return getattr(self.recorded, name)


# --- The site --------------------------------------------------------------------------------------------------------


class GraphSite(Site):
    """A site that serves a graph, and a project that crawls it."""

    spider = GraphSpider
    limit = 30.0

    def __init__(self, pages, directory, settings, name="example"):
        given = {"START": json.dumps(linked(pages, pages["start"])), **settings}
        super().__init__(pages, directory, given, name)

    def answer(self, page, crawler):
        """Return the status, the headers and the content that a page is answered with this time."""
        with self.lock:
            found = self.visit(page)
            earlier = self.hits.count(page) - 1
        time.sleep(found.get("seconds", 0))
        if earlier < len(found.get("status", ())):
            return found["status"][earlier], {}, {}
        if "redirect" in found:
            return 302, {"Location": f"/{found['redirect']}"}, {}
        status = 0 if found.get("cut") else 404 if found.get("gone") else 200
        return status, {}, {**found, "links": linked(self.pages, found.get("links", ()))}

    def crawl(self, recorded=False, **how):
        """Run ``scrapy crawl``, with what the scheduler is asked written down if it is ``recorded``."""
        if recorded:
            how |= {"SCHEDULER": f"{__name__}.RecordingScheduler", "RECORDED": self.settings["SCHEDULER"]}
        run = super().crawl(**how)
        run.__class__ = GraphCrawl
        run.files = {*map(file_of, self.settings.values())}
        run.pages, run.lost, run.twice = len({*run.hits}), self.missing(), self.repeated()
        run.astray = {*run.lost, *run.twice, *self.strangers(), *self.changed()}
        return run

    def picture(self):
        """Return the graph as lines: below each page those that it leads to, and what became of them."""
        found = {
            "not in its callback": self.strangers(),
            "not as it went in": self.changed(),
            "too often": self.repeated(),
            "lost": self.missing(),
        }
        fates = {page: fate for fate, pages in found.items() for page in pages}
        return drawn(self.pages, fates)

    def missing(self):
        """Return the pages that were asked for less often than the graph demands of what was not refused."""
        dropped = {int(line.split()[2]) for run in self.runs for line in run.log if line.startswith("noted dropped ")}
        return Pages(sorted(demanded(self.pages, dropped) - Counter(self.hits)))

    def repeated(self):
        """Return the pages that were asked for more often than the graph demands."""
        return Pages(sorted(Counter(self.hits) - demanded(self.pages)))

    def below(self, pages):
        """Return these pages, and those that they lead to."""
        return sorted(reached(self.pages, pages))

    def changed(self):
        """Return the pages whose requests have lost what they carried."""
        return Pages(sorted({page for run in self.runs for page in run.noted("changed")}))

    def strangers(self):
        """Return the pages that were downloaded, but did not reach the callback of their request."""
        parsed = Counter(page for run in self.runs for page in run.parsed)
        return sorted(answered(self.pages, Counter(self.hits)) - parsed)


class GraphCrawl(Crawl):
    """What came of one crawl of a graph.

    ``pages`` is how many pages were reached, ``lost`` and ``twice`` are those asked for too seldom and too often, and ``astray``
    all with which something is wrong.
    """

    def __repr__(self):
        fates = [f"{len(pages)} {fate}" for fate, pages in (("lost", self.lost), ("too often", self.twice)) if pages]
        told = self.trouble[0] if fates else ""
        after = f" after {told}" if told and self.ending != self.error else ""
        return ", ".join([f"{self.pages} page{'s' * (self.pages != 1)} reached", *fates, self.ending + after])

    astray = frozenset()

    @property
    def notes(self):
        """What was written down: a list of words each time."""
        return [line.split()[1:] for line in self.log if line.startswith("noted ")]

    def noted(self, *words):
        """Return the pages that were noted with one of some words, in order; 0 where it was about none."""
        return [int(what[1]) if what[1:] else 0 for what in self.notes if what[0] in words]

    @property
    def asked(self):
        """What the scheduler was asked, in order; ``nothing`` where it had no next request."""
        names = {"accepted": "enqueue_request", "refused": "enqueue_request", "next": "next_request"}
        asked = [what for what in self.notes if what[0] not in ("empty", "dropped", "left", "idle", "stalled")]
        return ["nothing" if what == ["next", "None"] else names.get(what[0], what[0]) for what in asked]

    @property
    def left(self):
        """The pages whose requests were still in the scheduler when that said that none is pending."""
        return sorted(self.noted("left"))


def linked(graph, links):
    """Return links with what the request for each page must have."""
    return [
        {**{name: graph[link["page"]][name] for name in ("by", "carry", "gone", "cut") if name in graph[link["page"]]}, **link}
        for link in links
    ]


def drawn(graph, fates):
    """Return a graph as lines of text, each page with what is special about it, and what became of it."""
    lines, shown = [], set()
    todo = [(0, link) for link in reversed(graph["start"])]
    while todo:
        depth, link = todo.pop()
        number, page = link["page"], graph[link["page"]]
        special = {name: value for name, value in {**link, **page}.items() if name not in ("page", "links")}
        words = [name.replace("_", " ") + (f" {value}" if value is not True else "") for name, value in special.items()]
        words += [fates[number]] if number in fates else []
        if number not in shown:
            following = [{"page": page["redirect"]}] if "redirect" in page else page.get("links", [])
            todo += [(depth + 1, each) for each in reversed(following)]
        lines.append(f"{'  ' * depth}page {number}" + (": " + ", ".join(words) if words else ""))
        shown.add(number)
    return lines
