"""A clock that shows what a check wants; scripts quote it. It has no annotations, because scripts have none."""

import copyreg
import datetime
import itertools
import os
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from unittest import mock


def seconds(function):
    """Return how long a function takes."""
    started = time.monotonic()
    function()
    return time.monotonic() - started


@contextmanager
def clock_at(moment):
    """Meanwhile the clock shows one moment, in seconds since the epoch; it goes on for who has asked a hundred times."""
    with showing(itertools.chain(itertools.repeat(moment, 100), itertools.count(moment + 1))):
        yield


@contextmanager
def showing(seconds):
    """Meanwhile the clock shows each of some seconds since the epoch in turn, to whoever asks."""
    shown, plain = clock_of(seconds), datetime.datetime
    exchange(shown)
    copyreg.pickle(plain, lambda value: (datetime.datetime, value.__reduce_ex__(4)[1]))  # which its name stands for now
    try:
        yield
    finally:
        exchange([(new, old) for old, new in shown])
        del copyreg.dispatch_table[plain]


def exchange(pairs):
    """Replace values by others in all modules that have them by their own names."""
    instead = {old.__name__: (old, new) for old, new in pairs}
    for module in list(sys.modules.values()):
        names = getattr(module, "__dict__", {})
        for name, (old, new) in instead.items():
            if names.get(name) is old:
                names[name] = new


@contextmanager
def years_ago(directory):
    """Meanwhile the clock shows a time years ago, of which the files below a directory are then."""
    moment = 1_600_000_000
    with showing(itertools.count(moment, 0.001)):
        yield
    for path in Path(directory).rglob("*"):
        if not path.is_symlink():  # what that leads to may be somebody else's
            os.utime(path, (moment, moment))


@contextmanager
def time_zone(zone):
    """Meanwhile local time is that of a zone as POSIX writes it: XXX-14 is fourteen hours ahead of UTC."""
    try:
        with mock.patch.dict("os.environ", TZ=zone):
            time.tzset()
            yield
    finally:
        time.tzset()


def clock_of(seconds):
    """Return what shows the time, each with what shows each of some seconds instead, by the same name."""
    local, universal, text, plain = time.localtime, time.gmtime, time.strftime, datetime.datetime

    class AnyDatetime(type):
        def __instancecheck__(cls, value):
            return isinstance(value, plain)

        def __call__(cls, *arguments, **keywords):
            return plain(*arguments, **keywords)

    class Datetime(plain, metaclass=AnyDatetime):
        __module__, __qualname__ = plain.__module__, plain.__qualname__  # as which it is pickled

        @staticmethod
        def now(tz=None):
            return plain.fromtimestamp(next(seconds), tz)

        @staticmethod
        def utcnow():
            return plain.fromtimestamp(next(seconds), datetime.UTC).replace(tzinfo=None)

    def at(function):
        return lambda moment=None: function(next(seconds) if moment is None else moment)

    instead = {
        time.time: lambda: float(next(seconds)),
        time.time_ns: lambda: int(next(seconds) * 10**9),
        local: at(local),
        universal: at(universal),
        text: lambda style, moment=None: text(style, local(next(seconds)) if moment is None else moment),
        plain: Datetime,
    }
    for old, new in instead.items():
        new.__name__ = old.__name__
    return instead.items()
