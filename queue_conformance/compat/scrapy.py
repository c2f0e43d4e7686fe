"""What Scrapy's engine and Twisted's reactor hide: an engine that looks as if it ran, and a reactor that is turned by hand.

Scripts quote the definitions that they need from this file word by word; they have no annotations.
"""

import asyncio
import functools
import os
import sys
import threading

from scrapy.core.engine import ExecutionEngine, _Slot
from scrapy.core.scraper import Slot as ScraperSlot
from scrapy.settings import default_settings
from scrapy.utils.reactor import CallLaterOnce, install_reactor
from twisted.internet import task


def install():
    """Install the reactor that Scrapy has by default."""
    install_reactor("twisted.internet.asyncioreactor.AsyncioSelectorReactor")


def start_reactor():
    """Install the reactor as Scrapy does, and let it run: what is called from now on finds a running event loop."""
    if "twisted.internet.reactor" not in sys.modules:
        install()
    from twisted.internet import reactor

    if not reactor.running:
        renew_threads(reactor)
        reactor.startRunning(False)
        if hasattr(os, "register_at_fork"):
            before, after = functools.partial(note_loop, reactor), functools.partial(go_on, reactor)
            os.register_at_fork(before=before, after_in_child=after)
    enter_loop(reactor)


def enter_loop(reactor):
    """Make the event loop of a reactor the one that runs: asyncio.run() leaves none, nor does a fork since Python 3.12."""
    asyncio.set_event_loop(reactor._asyncioEventloop)
    asyncio._set_running_loop(reactor._asyncioEventloop)


def note_loop(reactor):
    """Note before a fork whether the event loop of a reactor is the one that runs."""
    reactor.entered = asyncio._get_running_loop() is reactor._asyncioEventloop


def go_on(reactor):
    """Let a reactor go on in a process that was forked."""
    renew_threads(reactor)
    if reactor.entered:
        enter_loop(reactor)


def renew_threads(reactor):
    """Give a reactor threads of its own: those of the process that it was forked from are not there."""
    if reactor.running and reactor.threadpool:
        reactor.removeSystemEventTrigger(reactor.threadpoolShutdownID)
        reactor.threadpool = None
    daemon = functools.partial(threading.Thread, daemon=True)
    reactor.getThreadPool().threadFactory = daemon  # nothing waits for them at the end of the process


def turn(seconds=0):
    """Let the reactor do what is due."""
    from twisted.internet import reactor

    settle(task.deferLater(reactor, seconds))


def settle(result):
    """Wait for a Deferred."""
    running, loop = asyncio._get_running_loop(), asyncio.get_event_loop()
    asyncio._set_running_loop(None)
    try:
        return loop.run_until_complete(result.asFuture(loop))
    finally:
        asyncio._set_running_loop(running)


def let_run(engine, crawler):
    """Let an engine look like one that runs, although it asks no scheduler for requests."""
    engine.spider, engine.running = crawler.spider, True
    engine._slot = _Slot(True, CallLaterOnce(engine.needs_backout), None)
    engine.scraper.slot = ScraperSlot(crawler.settings.getint("SCRAPER_SLOT_MAX_ACTIVE_SIZE"))


def ask_every(seconds):
    """Let engines with nothing else to do ask a scheduler that had no request to give so often, where they have such a period."""
    if hasattr(ExecutionEngine, "_SLOT_HEARTBEAT_INTERVAL"):
        ExecutionEngine._SLOT_HEARTBEAT_INTERVAL = seconds


def leave_out_consoles() -> None:
    """Let no crawler of this process load the extensions that listen: all crawls turn them off, and they take long to import."""
    for name in ("remote_control.RemoteControl", "telnet.TelnetConsole"):
        default_settings.EXTENSIONS_BASE.pop(f"scrapy.extensions.{name}", None)


def replace_meta(request, meta):
    """Let a request hold this very dict as its meta, and not a copy of it."""
    request._meta = meta
