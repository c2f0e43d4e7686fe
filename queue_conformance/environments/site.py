"""A web site on the loopback address, a spider that crawls it, and crawls that are stopped in the middle.

Scripts import what they need from this file; it has no annotations.
"""

import json
import os
import pkgutil
import re
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from scrapy import Request, Spider

from queue_conformance.engine.ran import Ran
from queue_conformance.engine.shown import LONGEST_CRAWL, LONGEST_WAIT
from queue_conformance.environments.addresses import BY, NOWHERE, page_at, page_of, request_for
from queue_conformance.environments.tracebacks import BEGINNING, unframed
from queue_conformance.environments.waiting import Waiting, Waits
from queue_conformance.faults.credentials import same_user
from queue_conformance.faults.filesystem import obey_modes
from queue_conformance.faults.redirection import command_of

OF_A_PROJECT = ("SCRAPY_SETTINGS_MODULE", "SCRAPY_PROJECT")
"""Variables of the environment that would name the settings of another project."""

START = 15.0
"""Seconds in which a process that crawls has started, and stopped again, also where the machine does something else."""

HOLD = 5.0
"""Seconds for which pages are held, until enough of them are in flight to stop a crawl, or an accident lasts."""

RAISED = "the callback of this page raises"
GIVEN_UP = "Gave up retrying"
"""What Scrapy logs as an error of a page that never answers."""
"""What the spider raises where a page says so."""


class Pages(list):  # type: ignore[type-arg]
    """The numbers of pages."""

    def __repr__(self):
        return f"page{'s' * (len(self) != 1)} {', '.join(map(str, self))}" if self else "none"


class PreparedSpider(Spider):
    """The setting PREPARE names a function that gives it what the class under test looks for in spiders.

    Its ``waiting`` says how long it waits for its scheduler, from the end of ``start`` on.
    """

    @classmethod
    def update_settings(cls, settings):
        """Let settings name a class within a class (``module:Outer.Inner``), of which Scrapy takes the object, but no path."""
        super().update_settings(settings)
        for name in ("SCHEDULER", "SCHEDULER_DISK_QUEUE"):
            if ":" in str(settings[name]):
                settings.set(name, pkgutil.resolve_name(settings[name]), settings.getpriority(name) + 1)

    @classmethod
    def from_crawler(cls, crawler, *arguments, **keywords):
        spider = super().from_crawler(crawler, *arguments, **keywords)
        if prepare := crawler.settings["PREPARE"]:
            pkgutil.resolve_name(prepare)(spider)
        spider.waiting = Waiting(crawler, say)
        return spider


class LinkSpider(PreparedSpider):
    name = "example"

    async def start(self):
        yield Request(self.settings["SITE"], meta={"page": 0}, cb_kwargs={"page": 0}, headers={"X-Page": "0"}, flags=["page 0"])
        self.waiting.started = True

    def parse(self, response, page=None):
        request = response.request
        carried = [request.meta.get("page"), page, int(request.headers.get("X-Page", NOWHERE)), *request.flags]
        if carried != [number := page_of(request)] * 3 + [f"page {number}"]:
            raise ValueError(f"the request for page {number} came with {carried} as page in meta, cb_kwargs, headers and flags")
        for link in json.loads(response.text):
            page = link["page"]
            given = {"meta": {"download_slot": f"slot{page % 2}", "page": page}, "cb_kwargs": {"page": page}}
            given |= {"headers": {"X-Page": str(page)}, "flags": [f"page {page}"], "priority": page % 3}
            yield request_for(self.settings["SITE"].removesuffix("/0"), **link, callback=self.parse, **given)
        state = getattr(self, "state", {})
        state["parsed"] = state.get("parsed", 0) + 1
        say("parsed", number, state["parsed"])


class RefusingPipeline:
    """It cannot be opened, as if its database were away; the scheduler has been opened by then, and the spider is not."""

    def open_spider(self, spider=None):
        raise RuntimeError("the pipeline cannot be opened")


def say(*words):
    """Write a line of its own, whatever the class under test has written."""
    print("\n" + " ".join(map(str, words)), flush=True)


def make_project(directory, name="example", spider=LinkSpider):
    """Write a project of Scrapy with one spider."""
    os.makedirs(directory, exist_ok=True)
    settings = [
        "SPIDER_MODULES = ['example_spider']",
        "LOG_LEVEL = 'INFO'",
        "COOKIES_ENABLED = TELNETCONSOLE_ENABLED = REMOTE_CONTROL_ENABLED = False",
        "CONCURRENT_REQUESTS = 4",
        "SCHEDULER_DEBUG = True",  # so that the log tells why a request is not stored
    ]
    source = f"from {spider.__module__} import {spider.__name__}\n\n\nclass Example({spider.__name__}):\n    name = {name!r}\n"
    Path(directory, "scrapy.cfg").write_text("[settings]\ndefault = example_settings\n")
    Path(directory, "example_settings.py").write_text("\n".join(settings))
    Path(directory, "example_spider.py").write_text(source)


class Visit(BaseHTTPRequestHandler):
    def do_GET(self):
        number = page_at(self.command, self.path, self.rfile.read(int(self.headers.get("Content-Length", 0))))
        status, headers, page = 404, {}, {}
        if number in self.server.pages:
            status, headers, page = self.server.answer(number, self.headers["User-Agent"])
        if not status:
            return  # which closes the connection
        body = json.dumps(page).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")  # or Twisted would reuse it, HTTP/1.0 or not
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815

    def log_message(self, *arguments): ...


class Site(ThreadingHTTPServer):
    """Pages with links, by number, and a project that crawls them; the number says what tells the request for a page from others.

    ``hits`` are the pages that were asked for, and ``runs`` the crawls, both in order; ``latest`` is when a page was asked for
    (``time.monotonic()``). A crawl may take ``limit`` seconds, and wait for its scheduler for ``longest_wait``; ``waits`` is what
    the latest one said of that.
    """

    daemon_threads = True
    limit = 60.0
    spider: type[Spider] = LinkSpider

    def __init__(self, pages, directory, settings, name="example"):
        super().__init__(("127.0.0.1", 0), Visit)
        self.pages, self.directory, self.settings, self.name = pages, directory, settings, name
        self.hits, self.runs, self.lock = [], [], threading.RLock()
        self.longest_wait = float(os.environ.get(LONGEST_WAIT, "inf"))
        self.limit = min(self.limit, START + float(os.environ.get(LONGEST_CRAWL, "inf")))
        self.url = f"http://127.0.0.1:{self.server_port}/0"
        make_project(directory, name, self.spider)
        self.known = {*os.listdir(directory), "__pycache__", settings.get("JOBDIR")}
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def verify_request(self, request, client_address):
        """Whether who connects is of this user."""
        return same_user(request)

    def start(self, arguments):
        """Start the command line of Scrapy."""
        environment = {name: value for name, value in os.environ.items() if name not in OF_A_PROJECT}
        environment["PYTHONPATH"] = os.pathsep.join(sys.path)
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        command = command_of("scrapy.cmdline", arguments, ("127.0.0.1", self.server_port))
        return subprocess.Popen(command, cwd=self.directory, env=environment, text=True, **pipes)

    def crawl(self, sending=(), after=0, held=1, closing=0, **settings):
        """Run ``scrapy crawl`` to its end, with further settings.

        It is sent signals, each one when it has said that it received the one before: the first one when it has got ``after``
        pages and ``held`` more are in flight, which are not answered until then. Or it closes the spider after ``closing`` pages.
        """
        given = {"SITE": self.url, **self.settings, **settings} | ({"CLOSESPIDER_PAGECOUNT": closing} if closing else {})
        with self.lock:
            known, self.latest = len(self.hits), time.monotonic()
            self.answered, self.parsed, self.waiting, self.open = set(self.hits), set(self.hits), [], threading.Event()
            self.numbers, self.after, self.held, self.sent = list(sending), known + after, held, 0
            self.hung, self.waits = False, Waits()
            self.waits.begin([self.name])
            self.process = self.start(["crawl", self.name, *(f"-s{name}={argument(value)}" for name, value in given.items())])
        watchdog = threading.Timer(self.limit, self.end)
        watchdog.start()
        lines = []
        for line in self.process.stdout:
            lines.append(line.rstrip())
            if line.startswith("parsed "):
                self.parsed.add(int(line.split()[1]))
                self.interrupt()
            elif "Received SIG" in line and self.sent < len(self.numbers):
                self.send()
            elif "Closing spider" in line and self.sent == len(self.numbers):
                self.open.set()
            elif self.waits.hear(self.name, line.strip()) > self.longest_wait:
                self.end()
        self.open.set()
        self.process.wait()
        watchdog.cancel()
        run = Crawl(self.hits[known:], self.waiting, self.numbers[: self.sent], lines, self.process.returncode, self.hung)
        self.runs.append(run)
        return run

    def end(self):
        """End a crawl that takes too long."""
        self.hung = True
        self.process.kill()

    def answer(self, page, crawler):
        """Return the status (0 for no answer), headers and content with which a page that a crawler asks for is answered."""
        return 200, {}, [self.link(each) for each in self.visit(page)]

    def link(self, page):
        """Return the link to a page: its number, and what tells the request for it from others."""
        by = self.settings.get("PAGES_BY", BY)
        return {"page": page, "by": by[page % len(by)]}

    def visit(self, page):
        with self.lock:
            self.hits.append(page)
            self.latest = time.monotonic()
            if not self.numbers or len(self.hits) <= self.after:
                self.answered.add(page)
                return self.pages[page]
            self.waiting.append(page)
        self.interrupt()
        if page == self.waiting[0] and not self.open.wait(HOLD):
            self.interrupt(anyway=True)
        self.open.wait()
        return self.pages[page]

    def interrupt(self, anyway=False):
        """Send the first signal, if enough pages wait, and all others are done with."""
        with self.lock:
            linked = {0, *(link for page in self.answered for link in self.pages[page])} - self.answered
            enough = self.waiting and len(self.waiting) >= min(self.held, len(linked))
            if self.numbers and not self.sent and (anyway or (enough and self.answered <= self.parsed)):
                self.send()

    def send(self):
        self.sent += 1
        self.process.send_signal(self.numbers[self.sent - 1])

    def handle_error(self, *arguments): ...

    def missing(self):
        """Return the pages that no crawl asked for."""
        return Pages(sorted(set(self.pages) - set(self.hits)))

    def repeated(self):
        """Return the pages that were asked for more than once."""
        return Pages(sorted(page for page in self.pages if self.hits.count(page) > 1))

    def urls(self):
        """Return the URLs of its pages, where paths alone tell these apart."""
        return [f"{self.url.removesuffix('/0')}/{page}" for page in self.pages if page != "start"]

    def counts(self):
        """Return what callbacks left in the state of the spider each time."""
        return [count for run in self.runs for count in run.counts]

    def strays(self):
        """Return the names of what is beside the job directory and was not there before."""
        return sorted({*os.listdir(self.directory)} - self.known)

    def resumed(self):
        """Whether a crawl had something to do that another one had left."""
        return len([run for run in self.runs if run.hits]) > 1

    def toll(self):
        """Return the pages that kills cost: never asked for, if they are more than the kills, and asked for again.

        The crawls had one request in flight at most, which may get lost or come again; but of the last page whose callback had
        ended, nobody knows whether its links had been stored.
        """
        unsure, done = [], set()
        for run in self.runs:
            last = run.parsed[-1:] if run.sent else []
            unsure += {page for page in run.hits if page not in run.parsed or page in last} if run.sent else ()
            done.update(page for page in run.parsed if page not in last)
        lost = {0, *(link for page in done for link in self.pages[page])} - set(self.hits)
        again = [page for page in self.repeated() if self.hits.count(page) - 1 > unsure.count(page)]
        return sorted(lost) if len(lost) > len([run for run in self.runs if run.sent]) else [], again


_RECORD = re.compile(r"[^]]*\] ([A-Z]+: .*)")
_PLACE, _ADDRESS = re.compile(r'  File "(.+)", line (\d+)'), re.compile(" at 0x[0-9a-f]+")


class Crawl(Ran):
    """What came of one crawl.

    ``hits`` are the pages that it asked for, ``waiting`` those in flight when it was stopped, ``sent`` the signals that did not
    come too late, ``parsed`` the pages that reached the callback, ``counts`` what that left in the state of the spider each time,
    ``log`` the other lines that it wrote, ``status`` its exit status, negative if a signal ended it, and ``hung`` whether it was
    ended because it took too long. ``files`` are those of what is tested.
    """

    files = ()

    def __init__(self, hits, waiting, sent, lines, status, hung=False):
        said = [line.split() for line in lines if line.startswith("parsed ")]
        self.hits, self.waiting, self.sent, self.status, self.hung = hits, waiting, sent, status, hung
        self.parsed = [int(page) for _, page, _ in said]
        self.counts = [int(count) for _, _, count in said]
        self.log = [line for line in lines if not line.startswith("parsed ")]
        self.unparsed = [page for page in hits if page not in self.parsed]
        self.finished = any("Spider closed (finished)" in line for line in self.log)

    def __repr__(self):
        how = [f"{' and '.join(number.name for number in self.sent)} with {len(self.waiting)} in flight"] if self.sent else []
        return "; ".join([f"downloaded {', '.join(map(str, self.hits)) or 'nothing'}", *how])

    @property
    def error(self):
        """The first error that its log tells of, or ``""``."""
        return next((said for said, _ in self.told("ERROR: ", "CRITICAL: ")), "")

    @property
    def trouble(self):
        """What its log tells of first, an error or why a request was not stored, or ``""``; and the places it went through."""
        return next(self.told("ERROR: ", "CRITICAL: ", "WARNING: Unable to serialize "), ("", []))

    def warnings(self):
        """Return the warnings and errors that its log tells of."""
        return {said for said, _ in self.told("WARNING: ", "ERROR: ", "CRITICAL: ")}

    @property
    def raised_at(self):
        """What the implementation raised first, and where, as its log tells."""
        said, places = self.trouble
        own = [place for place in places if place[0] in self.files]
        return f"{said.partition(':')[0].rpartition('.')[2]} {own[0]} {places[-1]}" if own else ""

    def told(self, *marks):
        """Yield what its log tells of, but for what pages do: what was raised, and the places that it went through."""
        found, record = [], None
        for line in (_ADDRESS.sub("", line) for line in unframed(self.log)):
            if begun := _RECORD.match(line):
                record = [begun[1], [], bool(BEGINNING.match(line))] if begun[1].startswith(marks) else None
                found += [record] if record else []
            elif record and BEGINNING.match(line):
                record[1:] = [], True  # of an exception that was raised because of another one, the last
            elif record and record[2] and (place := _PLACE.match(line)):
                record[1].append((place[1], int(place[2])))
            elif record and record[2] and not line.startswith(" "):
                record[::2] = line, False
        yield from ((said, places) for said, places, _ in found if RAISED not in said and GIVEN_UP not in said)

    @property
    def ending(self):
        """How it ended: finished, or what ended it instead."""
        if self.hung:
            return "still running when the time was over"
        return "finished" if self.finished else self.error or f"exit status {self.status}"


def file_of(path):
    """Return the file of the class that an import path names, if it is one that was imported, or ``""``."""
    module, _, name = path.rpartition(".") if isinstance(path, str) else ("", "", "")
    cls = getattr(sys.modules.get(module), name, None)
    return getattr(sys.modules.get(getattr(cls, "__module__", None)), "__file__", "")


def argument(value):
    """Return the value of a setting as the command line of Scrapy takes it."""
    if isinstance(value, dict):
        return json.dumps(value)
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else value


def spoil(job, way):
    """Make a job directory one that cannot be used: a file, read-only, or in a directory that is read-only."""
    if way == "a file":
        Path(job).write_text("")
        return
    if way == "read-only":
        Path(job).mkdir(0o555)
    else:
        Path(job).parent.chmod(0o555)
    if os.getuid() == 0:
        obey_modes()
