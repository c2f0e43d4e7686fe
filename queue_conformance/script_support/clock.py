"""A clock that shows what a check wants; scripts quote it. It has no annotations, because scripts have none."""

import datetime
import itertools
import os
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest import mock


@contextmanager
def clock_at(moment):
    """Meanwhile the clock shows one moment, in seconds since the epoch; it goes on for who has asked a hundred times."""
    seconds = itertools.chain(itertools.repeat(moment, 100), itertools.count(moment + 1))
    shown = clock_of(seconds)
    with ExitStack() as stack:
        for module in list(sys.modules.values()):
            names = getattr(module, "__dict__", {})
            instead = {name: new for name, (old, new) in shown.items() if names.get(name) is old}
            if instead:  # whoever has imported the function itself asks it, too
                stack.enter_context(mock.patch.dict(names, instead))
        yield


@contextmanager
def years_ago(directory):
    """Meanwhile the clock shows a moment years ago, of which the files below a directory are then."""
    moment = 1_600_000_000
    with clock_at(moment):
        yield
    for path in Path(directory).rglob("*"):
        if not path.is_symlink():  # what that leads to may be somebody else's
            os.utime(path, (moment, moment))


def clock_of(seconds):
    """Return what shows the time, by its name: what it is, and what shows each of some seconds instead."""
    local, universal, text, plain = time.localtime, time.gmtime, time.strftime, datetime.datetime

    class AnyDatetime(type):
        def __instancecheck__(cls, value):
            return isinstance(value, plain)

        def __call__(cls, *arguments, **keywords):
            return plain(*arguments, **keywords)

    class Datetime(plain, metaclass=AnyDatetime):
        @staticmethod
        def now(tz=None):
            return plain.fromtimestamp(next(seconds), tz)

        @staticmethod
        def utcnow():
            return plain.fromtimestamp(next(seconds), datetime.UTC).replace(tzinfo=None)

    def at(function):
        return lambda moment=None: function(next(seconds) if moment is None else moment)

    return {
        "time": (time.time, lambda: float(next(seconds))),
        "time_ns": (time.time_ns, lambda: next(seconds) * 10**9),
        "localtime": (local, at(local)),
        "gmtime": (universal, at(universal)),
        "strftime": (text, lambda style, moment=None: text(style, local(next(seconds)) if moment is None else moment)),
        "datetime": (plain, Datetime),
    }
