"""Whole crawls: the command line of Scrapy in a process of its own, on a site on the loopback address, stopped by signals.

A crawl runs in a fork of this process, in which all modules are there already: that takes a quarter of the time of a new
interpreter. Nothing else is left of this process in it; of a reactor that it has, another one takes the place. On a platform
that cannot fork, it runs in a new interpreter.
"""

from __future__ import annotations

import faulthandler
import gc
import io
import logging
import os
import platform
import random
import signal
import sys
import threading
import traceback
import warnings
from asyncio import _set_running_loop, set_event_loop
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import IO, Any, NoReturn

from scrapy.settings import Settings
from scrapy.utils.reactor import install_reactor

from queue_conformance.compat.python import call_exit_functions, end_threads, forget_exit_functions, two_frames_of_the_stack
from queue_conformance.environments.graph import GraphSite
from queue_conformance.environments.site import OF_A_PROJECT, Site
from queue_conformance.environments.together import SharedGraph
from queue_conformance.environments.world import REACTOR, no_reactor, replace_reactor
from queue_conformance.faults.redirection import DIRECT
from queue_conformance.processes import process
from queue_conformance.processes.process import fork
from queue_conformance.processes.stopwatch import Stopwatch

CONCURRENCY = 4
"""Requests that a crawl has in flight at most, if no setting says otherwise."""

TIMEOUT = 30.0
"""Seconds that one crawl gets at least; it takes a tenth of a second where nothing else runs."""

Pages = Mapping[Any, Any]
"""The links of each page; or a graph, see ``environments.graph``."""


class ForkedSite(Site):
    """A site that is crawled by forks of this process, where it can fork.

    Args:
        pages: the pages of the site.
        directory: where the project is made.
        settings: what the command line sets.
        name: the name of the spider.
        time_limit: seconds that one crawl may take, not by the clock of the machine, which may do something else. One in which
            a page has come for the first time gets a third of them from then on, so that it is long only where pages come slowly.
    """

    in_scripts = "Site"  # which has processes that are no forks

    def __init__(
        self, pages: Pages, directory: str, settings: Mapping[str, object], name: str = "example", time_limit: float = TIMEOUT
    ) -> None:
        super().__init__(dict(pages), directory, settings, name)
        self.time_limit = time_limit
        self.limit = threading.TIMEOUT_MAX if process.AVAILABLE else time_limit
        DIRECT.add(self._address)

    @property
    def _address(self) -> tuple[str, int]:
        return "127.0.0.1", int(self.server_port)

    def start(self, arguments: Sequence[str]) -> Any:
        if not process.AVAILABLE:
            return super().start(arguments)
        return Process(Path(self.directory), arguments, Settings(self.settings), self.time_limit, self.end, self._pages_came)

    def _pages_came(self) -> int:
        return len({*self.hits})

    def close(self) -> None:
        """Stop it."""
        DIRECT.discard(self._address)
        self.shutdown()
        self.server_close()


class ForkedGraph(ForkedSite, GraphSite):
    """A site that serves a graph, and is crawled by forks of this process."""

    in_scripts = "GraphSite"


class ForkedShared(ForkedSite, SharedGraph):
    """A site that serves a graph, and is crawled by several forks of this process at the same time."""

    in_scripts = "SharedGraph"


def draw_pages(draw: random.Random, number: int) -> dict[int, list[int]]:
    """Return a site in which every page can be reached from page 0, many of them over several ways.

    Args:
        draw: where chance comes from.
        number: how many pages it has.
    """
    pages: dict[int, list[int]] = {page: [] for page in range(number)}
    for page in range(1, number):
        pages[draw.choice((0, draw.randrange(page), page // 2))].append(page)
    for links in pages.values():
        links += draw.sample(range(number), k=draw.randrange(3))  # there and back, and some more than once
        draw.shuffle(links)
    return pages


def tree(pages: Pages) -> dict[int, list[int]]:
    """Return a site with the same pages, in which only one link leads to each page."""
    reached, first = {0}, dict[int, list[int]]()
    todo = [0]
    for page in todo:
        first[page] = [link for link in dict.fromkeys(pages[page]) if link not in reached]
        reached.update(first[page])
        todo += first[page]
    return first


# --- The process -----------------------------------------------------------------------------------------------------


class Process:
    """The command line of Scrapy in a process of its own; has what ``Site.crawl`` needs of ``subprocess.Popen``.

    Args:
        directory: where it runs.
        arguments: of ``scrapy``.
        settings: say which reactor it has.
        time_limit: seconds after which it takes too long.
        end: called then.
        progress: a number that grows as it goes on.

    Attributes:
        stdout: what it writes, errors included.
        returncode: its exit status, negative if a signal ended it, once it has ended.
    """

    def __init__(
        self,
        directory: Path,
        arguments: Sequence[str],
        settings: Settings,
        time_limit: float,
        end: Callable[[], object],
        progress: Callable[[], int],
    ) -> None:
        self.returncode = 0
        self._ended = threading.Event()
        reader, writer = os.pipe()
        self._pid = fork()
        if self._pid == 0:
            _crawl(directory, ["scrapy", *arguments], settings, writer)
        os.close(writer)
        self.stdout: IO[str] = open(reader, encoding="utf-8", errors="replace")  # noqa: SIM115
        threading.Thread(target=self._watch, args=(Stopwatch(self._pid), time_limit, end, progress), daemon=True).start()

    def _watch(self, clock: Stopwatch, time_limit: float, end: Callable[[], object], progress: Callable[[], int]) -> None:
        limit, known = time_limit, progress()
        while (now := clock.look()) < limit:
            if self._ended.wait(0.1):
                return
            if progress() > known:
                limit, known = max(limit, now + time_limit / 3), progress()
        end()

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if pid := self._pid:
            os.kill(pid, number)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)

    def wait(self) -> None:
        """Wait until it has ended."""
        os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOWAIT)  # until it is waited for, nothing else gets its number
        self._ended.set()
        pid, self._pid = self._pid, 0
        _, status = os.waitpid(pid, 0)
        self.returncode = os.waitstatus_to_exitcode(status)
        self.stdout.close()


def _crawl(directory: Path, command: list[str], settings: Settings, writer: int) -> NoReturn:
    """Make this process look like a new one, and run the command in it."""
    status = 1
    try:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(writer, 1)
        os.dup2(writer, 2)
        os.closerange(3, writer + 1)
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            with suppress(OSError, ValueError):
                signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # as Python does when it starts
            signal.signal(number, signal.SIG_IGN)
        os.chdir(directory)
        for name in OF_A_PROJECT:
            os.environ.pop(name, None)
        if REACTOR in sys.modules:
            _inherited.append(sys.modules[REACTOR])
            _set_running_loop(None)
            set_event_loop(None)
            replace_reactor(lambda: _install(settings))
        faulthandler.disable()
        forget_exit_functions()
        logging.root.handlers.clear()
        logging.root.setLevel(logging.WARNING)
        warnings.simplefilter("ignore")
        sys.dont_write_bytecode = True
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w", buffering=1), open(2, "w", buffering=1)  # noqa: SIM115
        sys.argv[:] = command
        status = _executed(command)
    except BaseException:
        traceback.print_exc()
    finally:
        process.exit_now(status)


HEARTBEAT = 0.5
"""Seconds, instead of 5, after which an engine with nothing else to do asks a scheduler again that had no request to give."""

_inherited: list[Any] = []
"""The reactor of the parent; were it forgotten, it would close descriptors whose numbers others have now."""


def _install(settings: Settings) -> None:
    if path := settings["TWISTED_REACTOR"]:
        install_reactor(path, settings["ASYNCIO_EVENT_LOOP"])
    else:
        import_module(REACTOR)


def _executed(command: list[str]) -> int:
    """Run the command to the end of the process, and return its exit status."""
    from scrapy.cmdline import execute

    from queue_conformance.compat.scrapy import ask_every, leave_out_consoles

    ask_every(HEARTBEAT)
    leave_out_consoles()
    status = 0
    try:
        execute(command)
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
        status = 1
    # The end of an interpreter, without the ends of what belongs to the process that this one is a copy of.
    end_threads()
    call_exit_functions()
    gc.collect()  # some errors are only told by what forgets them
    for found in gc.get_objects():
        if isinstance(found, io.IOBase):
            with suppress(Exception):
                found.flush()
    return status


def preload() -> None:
    """Import what every crawl imports, except the reactor, so that no crawl has to; no crawler here has a console from now on.

    What the log of every crawl says of the platform is known from now on, too: another program is started to find it out.
    """
    from scrapy import commands
    from scrapy.settings import default_settings

    from queue_conformance.compat.scrapy import leave_out_consoles

    leave_out_consoles()
    with suppress(Exception):  # whatever the class has replaced, which each crawl meets for itself
        platform.platform()
    known = (
        default_settings.EXTENSIONS_BASE,
        default_settings.SPIDER_MIDDLEWARES_BASE,
        default_settings.DOWNLOADER_MIDDLEWARES_BASE,
        default_settings.DOWNLOAD_HANDLERS_BASE.values(),
    )
    names = ["scrapy.cmdline", "scrapy.crawler", "scrapy.contracts", "itemadapter", "encodings.cp1252"]
    names += [f"scrapy.commands.{found.name}" for found in iter_modules(commands.__path__)]
    alone = (value for value in vars(default_settings).values() if isinstance(value, str) and value.startswith("scrapy."))
    names += [path.rpartition(".")[0] for paths in (*known, alone) for path in paths]
    with two_frames_of_the_stack(), no_reactor():
        for name in dict.fromkeys(names):
            with suppress(ImportError):
                import_module(name)
