"""Whose fault it is that a check cannot go on: the kit's, or that of a class which leaves nothing in order."""

from __future__ import annotations

import builtins
import errno
import math
import os
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from types import FunctionType, ModuleType
from typing import Any

from queue_conformance.engine.leaks import in_use
from queue_conformance.engine.recording import describe
from queue_conformance.implementation.loading import LoadError
from queue_conformance.processes.isolation import IsolatedError
from queue_conformance.running.side_effects import NOT_ITS_OWN, Sentinel

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

_LIMITS = {name: getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")}

MANY = 512
"""Files that no class has open for a reason when the kit has done little with it."""


class AtFault(Exception):
    """What the class did; the message goes on a sentence that begins with its name."""


class _Before:
    """What was in order before the class came."""

    limits: dict[str, tuple[int, int]] = {}  # noqa: RUF012
    files: int = 0
    builtins: dict[str, Any] = {}  # noqa: RUF012
    modules: dict[str, ModuleType] = {}  # noqa: RUF012
    user: int = 0
    timer: float = 0.0
    sentinel: Sentinel | None = None


def remember_modules() -> None:
    """Remember which modules there are, before a fork, too: a child that copied them would copy every page that holds one."""
    more = len(sys.modules) - len(_Before.modules)
    *new, (name, module) = islice(reversed(sys.modules.items()), max(0, more) + 1)
    if more >= 0 and _Before.modules.get(name) is module:  # none was removed since, or there would be fewer before it
        _Before.modules.update(new)
    else:
        _Before.modules = sys.modules.copy()


@contextmanager
def blaming(path: str) -> Iterator[None]:
    """Turn an exception into what the class did, if that is its cause, and tell what would stop others.

    Args:
        path: the dotted path of the class.

    Raises:
        AtFault: instead of the exception, or where there is none.
    """
    remember_modules()
    _Before.limits = _limits()
    _Before.files = in_use()
    _Before.builtins = vars(builtins).copy()
    _Before.user, _Before.timer = _user(), _timer()
    sentinel: Sentinel | None = None
    try:
        sentinel = _Before.sentinel = Sentinel()
        try:
            yield
        finally:
            _stop_timer()
    except (AtFault, LoadError):  # which say what is wrong
        raise
    except Exception as error:
        if fault := fault_in(error, path):
            raise AtFault(fault) from error
        raise
    else:
        if replaced := _replaced():
            raise AtFault(f"{replaced}, after which nothing works")
    finally:
        if sentinel is not None:
            with suppress(Exception):  # what it calls may have been replaced, too
                sentinel.close()
        _Before.sentinel = None


def fault_in(error: BaseException, path: str) -> str:
    """Return what the class did that led to an exception outside of its operations, or ``""`` if it is the kit's.

    Args:
        error: the exception.
        path: the dotted path of the class.
    """
    _stop_timer()
    if changed := _changed():  # what follows would ask what was replaced
        return changed
    said = describe(error, 200)
    frames = list(traceback.walk_tb(error.__traceback__))
    names = [str(frame.f_globals.get("__name__", "")) for frame, _ in frames]
    modules = [name.partition(".")[0] for name in names]
    package = path.replace(":", ".").partition(".")[0]
    foreign = [frame.f_code for (frame, _), name in zip(frames, names, strict=True) if _is_its_own(name, package)]
    if replaced := _put_in_place(lambda value: getattr(value, "__code__", None) in foreign) if foreign else "":
        return f"replaced {replaced}, after which nothing works: {said}"
    told = str(error) if isinstance(error, IsolatedError) else ""  # the traceback of a process that was forked
    if told and (replaced := _put_in_place(lambda value: _is_its_own(_module_of(value), package) and _file_of(value) in told)):
        return f"replaced {replaced}, after which nothing works"
    for name, before in _Before.limits.items():
        if _lower(now := _limits()[name], before):
            return f"lowered {name} to {now[0]}, after which nothing works: {said}"
    if isinstance(error, PermissionError) and (user := _user()) != _Before.user:
        return f"became user {user}, after which nothing works: {said}"
    if _Before.sentinel is not None and (harm := _Before.sentinel.harm()):
        return f"{harm} {NOT_ITS_OWN}, after which nothing works: {said}"
    too_deep = isinstance(error, RecursionError) or getattr(error, "errno", 0) == errno.ENAMETOOLONG
    if too_deep and frames and modules[-1] in ("os", "pathlib"):
        return f"made directories that are too deep to look at: {said}"
    if isinstance(error, OSError) and error.errno == errno.EMFILE and (left := in_use() - _Before.files) >= MANY:
        return f"leaves {left} files open, after which none can be opened: {said}"
    if isinstance(error, OSError) and _Before.sentinel is not None:
        with suppress(FileNotFoundError):
            os.getcwd()
            if not isinstance(error, FileNotFoundError) or os.path.isdir(os.path.dirname(error.filename or "")):
                return ""
        return f"removed directories that are not its own, after which nothing works: {said}"
    if replaced := _replaced():
        return f"{replaced}, after which nothing works: {said}"
    if isinstance(error, RuntimeError) and "Event loop is closed" in said and _loop_is_closed():
        return f"left an event loop in place that is closed, after which nothing works: {said}"
    if frames and package not in _OURS:
        frame, line = frames[-1]
        if modules[-1] == package:
            return f"raised {said} where nothing was called ({frame.f_code.co_filename}, line {line})"
    return ""


def _changed() -> str:
    """Return which builtin function, or module, is not any more what it was, or ``""``."""
    now = builtins.__dict__
    for name, before in _Before.builtins.items():
        if name != "_" and now.get(name) is not before:
            return f"replaced builtins.{name}, after which nothing works"
    for name, module in _Before.modules.items():
        if sys.modules.get(name) is not module:
            return f"replaced or removed the module {name}, after which nothing works"
    return ""


def _replaced() -> str:
    called = ((module, name, getattr(module, name, None)) for module, name in _CALLED)
    return next(
        (f"replaced {module.__name__}.{name} by {describe(now)}" for module, name, now in called if not callable(now)), ""
    )


def _loop_is_closed() -> bool:
    """Whether the event loop of this thread, if it has one, runs nothing any more."""
    if "asyncio" in sys.modules:
        with suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # where there is none, some releases make one
            return sys.modules["asyncio"].get_event_loop_policy().get_event_loop().is_closed()  # type: ignore[no-any-return]
    return False


def _is_foreign(package: str) -> bool:
    return package not in sys.stdlib_module_names and package not in _OURS


def _is_its_own(module: str, package: str) -> bool:
    """Whether a module came with the class: what was there before, such as a plugin of pytest's, may replace something, too."""
    return _is_foreign(module.partition(".")[0]) and (module.partition(".")[0] == package or module not in _Before.modules)


def _module_of(function: Any) -> str:
    """Return the module that a function was written in, or this one for anything else."""
    return str(function.__globals__.get("__name__", "")) if isinstance(function, FunctionType) else __name__


def _file_of(function: FunctionType) -> str:
    """Return the file that a function was written in, as a traceback names it."""
    return f'"{function.__code__.co_filename}"'


def _put_in_place(is_its: Callable[[Any], bool]) -> str:
    """Return in whose place something of the class's is now that everybody calls, or ``""``.

    That is a function or a method of the standard library, or a method of a class of the packages that the kit calls, which may
    import functions from elsewhere.

    Args:
        is_its: tells whether a function is the class's.
    """
    for name, module in list(sys.modules.items()):
        if _is_foreign(name.partition(".")[0]) or not isinstance(module, ModuleType):
            continue
        owners: list[tuple[str, Any]] = [(name, module)] if name.partition(".")[0] not in _OURS else []
        owners += [(f"{name}.{at}", cls) for at, cls in vars(module).items() if isinstance(cls, type) and cls.__module__ == name]
        for owner, found in owners:
            for attribute, value in vars(found).items():
                if is_its(value):
                    return f"{owner}.{attribute}"
    return ""


_CALLED = (
    (builtins, "open"),
    (os, "_exit"),
    (signal, "signal"),
    *((time, name) for name in ("monotonic", "perf_counter", "sleep", "time")),
)
"""What everybody calls."""

_OURS = ("queue_conformance", "scrapy", "queuelib", "qcrawl")
"""Packages in which an exception may be the fault of the kit, which calls them."""


def _limits() -> dict[str, tuple[int, int]]:
    return {name: resource.getrlimit(number) for name, number in _LIMITS.items()}


def _user() -> int:
    return os.geteuid() if hasattr(os, "geteuid") else 0  # Windows has none


def _timer() -> float:
    """Return the seconds until this process gets the signal of an alarm, or 0.0."""
    return signal.getitimer(signal.ITIMER_REAL)[0] if hasattr(signal, "getitimer") else 0.0  # Windows has none


def _stop_timer() -> None:
    """Stop the timer that the class has set: a handler of its signal may raise wherever the kit is then."""
    if _timer() and not _Before.timer:
        signal.setitimer(signal.ITIMER_REAL, 0.0)


def _lower(now: tuple[int, int], before: tuple[int, int]) -> bool:
    least, most = ((limit[0] if limit[0] != resource.RLIM_INFINITY else math.inf) for limit in (now, before))
    return least < most
