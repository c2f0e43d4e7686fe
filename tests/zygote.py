"""Runs scripts in children of a process that has imported Scrapy already, which takes longer than most scripts.

Each line of standard input names a script; the answer is its exit status. The children are as fresh as an interpreter that
has imported Scrapy, and end as an interpreter ends, but for taking its modules apart, which takes longer than most scripts.
"""

import atexit
import importlib
import os
import runpy
import sys
from contextlib import suppress
from pathlib import Path

import queuelib  # noqa: F401
import scrapy.squeues
import scrapy.utils.test  # noqa: F401

# What crawlers, engines and servers import when they are first used, none of which chooses a reactor.
for name in (
    "aiohttp.web",
    "ftplib",
    "platformdirs",
    "qcrawl.core.crawler",
    "redis.asyncio",
    "scrapy.core.downloader.handlers.http11",
    "scrapy.core.engine",
    "scrapy.dupefilters",
    "scrapy.extensions.telnet",
    "scrapy.logformatter",
    "scrapy.pqueues",
    "scrapy.resolver",
    "scrapy.responsetypes",
    "scrapy.statscollectors",
    "stringprep",
    "tldextract",
    "encodings.idna",
    "twisted.internet.asyncioreactor",
):
    with suppress(ImportError):
        importlib.import_module(name)
assert "twisted.internet.reactor" not in sys.modules


def main():
    while line := sys.stdin.readline():
        child = os.fork()
        if child == 0:
            return line.rstrip("\n")
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    return None


def end_at_once():
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if script := main():
    status = 1
    atexit.register(end_at_once)  # runs after those that the script registers
    os.chdir(Path(script).parent)
    for name, number in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        flags = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        os.dup2(os.open(os.devnull if number == 0 else f"{script}.{name}", flags), number)
    sys.argv = [script]
    sys.path[0] = str(Path(script).parent)
    try:
        runpy.run_path(script, run_name="__main__")
        status = 0
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        raise
