"""Imports once what most runs import: in the process that is forked, and not in each fork of it."""

import importlib
import pkgutil
import sys
from collections.abc import Mapping
from contextlib import suppress

# What crawlers, engines, servers and runs of pytest import when they are first used, none of which chooses a reactor.
NAMES = (
    "_hypothesis_pytestplugin",
    "aiohttp.web",
    "compression.zstd",
    "encodings.cp1252",
    "encodings.idna",
    "ftplib",
    "hypothesis.stateful",
    "platformdirs",
    "pytest",
    "qcrawl.core.crawler",
    "qcrawl.middleware.downloader",
    "qcrawl.middleware.spider",
    "queue_conformance.kinds.queue.probing",
    "queue_conformance.engine.generation",
    "queue_conformance.frontends.session",
    "queuelib",
    "redis.asyncio",
    "scrapy.core.downloader.handlers.datauri",
    "scrapy.core.downloader.handlers.file",
    "scrapy.core.downloader.handlers.ftp",
    "scrapy.core.downloader.handlers.http11",
    "scrapy.core.downloader.handlers.s3",
    "scrapy.core.engine",
    "scrapy.dupefilters",
    "scrapy.extensions.telnet",
    "scrapy.logformatter",
    "scrapy.pqueues",
    "scrapy.resolver",
    "scrapy.responsetypes",
    "scrapy.squeues",
    "scrapy.statscollectors",
    "scrapy.utils.test",
    "stringprep",
    "tldextract",
    "twisted.internet.asyncioreactor",
    "urllib.robotparser",
    "xdist.plugin",
    "zstandard",
)


def preload() -> None:
    """Import it, with the checks and the rules of every kind."""
    from queue_conformance import kinds
    from queue_conformance.environments import crawls
    from queue_conformance.environments.world import no_reactor
    from queue_conformance.specification import load

    with no_reactor():
        for name in (*NAMES, *(module.name for module in pkgutil.walk_packages(kinds.__path__, f"{kinds.__name__}."))):
            with suppress(ImportError):
                importlib.import_module(name)
    crawls.preload()
    load()
    for value in ([], filter(None, []), (each for each in "")):
        isinstance(value, Mapping)  # of each subclass, which Counter asks for: what is known then costs no process anything
    assert "twisted.internet.reactor" not in sys.modules
