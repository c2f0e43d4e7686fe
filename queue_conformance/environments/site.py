"""A web site on the loopback address, a spider that crawls it, and crawls that are stopped in the middle.

Scripts quote the definitions that they need from this file word by word; they have no annotations.
"""

import inspect
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from scrapy import Request, Spider


class LinkSpider(Spider):
    name = "example"

    async def start(self):
        yield Request(self.settings["SITE"])

    def parse(self, response):
        for page in json.loads(response.text):
            meta = {"download_slot": f"slot{page % 2}"}
            yield Request(response.urljoin(f"/{page}"), callback=self.parse, priority=page % 3, meta=meta)
        state = getattr(self, "state", {})
        state["parsed"] = state.get("parsed", 0) + 1
        print("parsed", urlsplit(response.url).path[1:], state["parsed"], flush=True)


def make_project(directory, name="example"):
    """Write a project of Scrapy with one spider."""
    settings = ["SPIDER_MODULES = ['example_spider']", "LOG_LEVEL = 'INFO'", "COOKIES_ENABLED = False"]
    settings += ["TELNETCONSOLE_ENABLED = REMOTE_CONTROL_ENABLED = False"]
    imports = ["import json", "from urllib.parse import urlsplit", "from scrapy import Request, Spider"]
    source = inspect.getsource(LinkSpider).replace('"example"', repr(name))
    Path(directory, "scrapy.cfg").write_text("[settings]\ndefault = example_settings\n")
    Path(directory, "example_settings.py").write_text("\n".join(settings))
    Path(directory, "example_spider.py").write_text("\n".join([*imports, source]))


def scrapy_crawl(directory, settings, name="example"):
    """Start the command line of Scrapy."""
    command = [sys.executable, "-m", "scrapy", "crawl", name, *(f"-s{key}={value}" for key, value in settings.items())]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return subprocess.Popen(command, cwd=directory, env=environment, text=True, **pipes)


class Visit(BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps(self.server.visit(int(self.path[1:]))).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments): ...


class Site(ThreadingHTTPServer):
    """Pages with links, by number; ``hits`` are the pages that were asked for, in order."""

    daemon_threads = True

    def __init__(self, pages):
        super().__init__(("127.0.0.1", 0), Visit)
        self.pages, self.hits, self.lock = pages, [], threading.RLock()
        self.url = f"http://127.0.0.1:{self.server_port}/0"
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def crawl(self, start, numbers=(), after=0, held=1, limit=60):
        """Run a crawl to its end, and return what it wrote; after some pages, answer no more until it got signals."""
        with self.lock:
            self.answered, self.parsed, self.waiting, self.open = set(self.hits), set(self.hits), [], threading.Event()
            self.numbers, self.after, self.held, self.sent = list(numbers), len(self.hits) + after, held, 0
            self.process = start()
        watchdog = threading.Timer(limit, self.process.kill)
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
        self.open.set()
        self.process.wait()
        watchdog.cancel()
        return lines

    def visit(self, page):
        with self.lock:
            self.hits.append(page)
            if not self.numbers or len(self.hits) <= self.after:
                self.answered.add(page)
                return self.pages[page]
            self.waiting.append(page)
        self.interrupt()
        if page == self.waiting[0] and not self.open.wait(5):
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


def ended(lines):
    """Return what a crawl said of errors, or its last line."""
    return next((line for line in lines if "] ERROR: " in line or "] CRITICAL: " in line or "Error: " in line), lines[-1:])
