"""What a class may do to the process around it, to whoever ends it, and to whoever shows what it says.

``push__ignores_children`` is a queue in memory that is right, and whose third ``push`` does this besides; ``build`` (which is
``from_crawler``), ``init``, ``pop``, ``len`` and ``close`` likewise, from the first call on. Classes come into being when they
are asked for. ``ACTS`` has all acts by name, for modules that do one of them when they are imported.
"""

from __future__ import annotations

import asyncio
import atexit
import builtins
import contextlib
import ctypes
import dataclasses
import decimal
import faulthandler
import gc
import inspect
import io
import json
import linecache
import locale
import logging
import multiprocessing
import os
import pathlib
import pickle
import random
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from functools import cache, partial
from types import FunctionType
from typing import Any

import scrapy

from queue_reference.memory import FifoMemoryQueue


class Boom(Exception):
    """What acts raise."""


def raises(*arguments: Any, **keywords: Any) -> Any:
    raise Boom("hostile")


raises_elsewhere = FunctionType(raises.__code__, {"__name__": "another_package", "Boom": Boom})
"""The same of another package, which the class only uses."""


def replaces(owner: Any, name: str, by: Any = None) -> Callable[[], object]:
    return partial(setattr, owner, name, by)


def limits(which: int, soft: int) -> Callable[[], object]:
    return lambda: resource.setrlimit(which, (soft, resource.getrlimit(which)[1]))


def says(text: str, error: type[BaseException] = Boom) -> Callable[[], object]:
    def act() -> None:
        raise error(text)

    return act


def raises_hostile(**methods: Any) -> Callable[[], object]:
    def act() -> None:
        raise type("Hostile", (Exception,), methods)("hostile")

    return act


def ends_in_a_thread(target: Callable[[], object], *, daemon: bool = True, count: int = 1) -> Callable[[], object]:
    def act() -> None:
        for _ in range(count if threading.active_count() < count else 1):
            threading.Thread(target=target, daemon=daemon).start()

    return act


def forever() -> None:
    threading.Event().wait()


def spins() -> None:
    until = time.monotonic() + 0.5
    while time.monotonic() < until:
        pass


def prints_much() -> None:
    os.write(1, b"x" * 1_000_000)
    print("y" * 1_000_000)


def is_deleted(what: Callable[[], object]) -> Callable[[], object]:
    kept: list[object] = []

    def act() -> None:
        kept.append(type("Deleted", (), {"__del__": lambda self: what()})())  # at the end of the interpreter
        type("Deleted", (), {"__del__": lambda self: what()})()

    return act


def in_a_removed_directory() -> None:
    directory = tempfile.mkdtemp()
    os.chdir(directory)
    os.rmdir(directory)


def raises_in_a_circle() -> None:
    first, second = Boom("first"), Boom("second")
    first.__cause__, second.__cause__ = second, first
    raise first


def raises_a_deep_group() -> None:
    error: Exception = Boom("deep")
    for _ in range(500):
        error = ExceptionGroup("group", [error])
    raise error


def overflows() -> None:
    overflows()


def raises_after_deep_calls() -> None:
    sys.setrecursionlimit(10**6)
    overflows_in(5000)


def overflows_in(levels: int) -> None:
    if levels:
        overflows_in(levels - 1)


def logs_to_what_raises() -> None:
    handler = logging.Handler()
    handler.emit = raises  # type: ignore[method-assign]
    logging.getLogger().addHandler(handler)
    logging.getLogger().warning("hostile")


def alarms() -> None:
    signal.signal(signal.SIGALRM, raises)
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)


def blocks_signals() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())


def handles_all_signals() -> None:
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, 32, 33}:  # those of the C library's threads
        signal.signal(number, raises)


def forks() -> None:
    if (pid := os.fork()) == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def closes_its_event_loop() -> None:
    loop = asyncio.new_event_loop()
    loop.close()
    asyncio.set_event_loop(loop)


def warns_of_errors() -> None:
    warnings.simplefilter("error")
    warnings.warn("hostile", ResourceWarning, stacklevel=1)


SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(1)>"
COMMANDS = "\n::error file=a.py,line=1::hostile\n::add-mask::MUST\n##vso[task.complete result=Succeeded;]\n::stop-commands::x\n"

ACTS: dict[str, Callable[[], object]] = {
    # Signals
    "ignores_children": lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
    "ignores_terminate": lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN),
    "handles_interrupts": lambda: signal.signal(signal.SIGINT, raises),
    "alarms": alarms,
    "alarms_once": lambda: signal.alarm(1),
    "blocks_signals": blocks_signals,
    "wakes_a_descriptor": lambda: signal.set_wakeup_fd(-1),
    "signals_itself": lambda: os.kill(os.getpid(), signal.SIGUSR1),
    "terminates_itself": lambda: os.kill(os.getpid(), signal.SIGTERM),
    "interrupts_itself": lambda: os.kill(os.getpid(), signal.SIGINT),
    "kills_itself": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "stops_itself": lambda: os.kill(os.getpid(), signal.SIGSTOP),
    "handles_all_signals": handles_all_signals,
    "kills_nothing": replaces(os, "kill", raises),
    "ends_later": lambda: faulthandler.dump_traceback_later(0.2, exit=True),
    "crashes": lambda: ctypes.string_at(0),
    "aborts": os.abort,
    # Limits
    "limits_files": limits(resource.RLIMIT_NOFILE, 12),
    "limits_sizes": limits(resource.RLIMIT_FSIZE, 0),
    "limits_time": limits(resource.RLIMIT_CPU, 1),
    "limits_memory": limits(resource.RLIMIT_AS, 1 << 20),
    "limits_stacks": limits(resource.RLIMIT_STACK, 1 << 16),
    "limits_processes": limits(resource.RLIMIT_NPROC, 1),
    "limits_cores": limits(resource.RLIMIT_CORE, 0),
    "is_nice": lambda: os.nice(19),
    # The process
    "masks_modes": lambda: os.umask(0o777),
    "goes_to_the_root": lambda: os.chdir("/"),
    "goes_to_a_removed_directory": in_a_removed_directory,
    "begins_a_session": lambda: os.setsid() if os.getpgrp() != os.getpid() else None,
    "forgets_the_environment": os.environ.clear,
    "replaces_the_environment": replaces(os, "environ", {}),
    "has_no_temporary_directory": lambda: os.environ.update(TMPDIR="/nonexistent"),
    "has_another_temporary_directory": replaces(tempfile, "tempdir", "/nonexistent"),
    "has_no_home": lambda: os.environ.pop("HOME", None),
    "speaks_another_language": lambda: locale.setlocale(locale.LC_ALL, "C"),
    "says_another_language": lambda: os.environ.update(LC_ALL="xx_XX.nonsense", LANG="\udcff"),
    "exits": lambda: sys.exit(0),
    "exits_with_a_text": lambda: sys.exit("hostile"),
    "exits_at_once": lambda: os._exit(0),
    "never_exits": replaces(os, "_exit", lambda status: None),
    "forks": forks,
    "becomes_nobody": lambda: os.geteuid() or os.setuid(65534),
    "changes_its_root": lambda: os.geteuid() or os.chroot("."),
    "closes_stdout": lambda: os.closerange(1, 2),
    "closes_all_streams": lambda: os.closerange(0, 3),
    "prints_much": prints_much,
    "prints_bytes": lambda: os.write(1, bytes(range(256))),
    # The interpreter
    "forgets_paths": lambda: sys.path.clear(),
    "forgets_modules": lambda: [sys.modules.pop(name) for name in [*sys.modules] if name.startswith(("queue_", "json"))],
    "finds_no_modules": lambda: sys.meta_path.clear(),
    "imports_nothing": replaces(builtins, "__import__", raises),
    "prints_nothing": replaces(builtins, "print", raises),
    "opens_nothing": replaces(builtins, "open", raises),
    "measures_nothing": replaces(builtins, "len", lambda value: 0),
    "is_of_all_classes": replaces(builtins, "isinstance", lambda value, cls: True),
    "pairs_nothing": replaces(builtins, "zip", raises),
    "looks_into_nothing": replaces(builtins, "vars", raises),
    "has_no_builtins": lambda: vars(builtins).clear(),
    "sorts_nothing": replaces(builtins, "sorted", raises),
    "has_no_hash": replaces(builtins, "hash", raises),
    "limits_recursion": lambda: sys.setrecursionlimit(60),
    "recurses": overflows,
    "recurses_deeply": raises_after_deep_calls,
    "traces": lambda: sys.settrace(raises),
    "traces_threads": lambda: threading.settrace(raises),
    "profiles": lambda: sys.setprofile(raises),
    "audits": lambda: sys.addaudithook(raises),
    "switches_often": lambda: sys.setswitchinterval(1e-9),
    "forks_only_to_exit": lambda: os.register_at_fork(after_in_child=partial(os._exit, 0)),
    "has_no_frames": replaces(sys, "_getframe", raises),
    "has_no_modules": replaces(sys, "modules", {}),
    "asks": lambda: input("hostile"),
    "collects_nothing": gc.disable,
    "collects_always": lambda: gc.set_threshold(1, 1, 1),
    "raises_when_collected": lambda: gc.callbacks.__setitem__(slice(None), [raises]),
    "raises_when_deleted": is_deleted(raises),
    "hangs_when_deleted": is_deleted(forever),
    "hooks_exceptions": replaces(sys, "excepthook", raises),
    "hooks_what_cannot_be_raised": replaces(sys, "unraisablehook", raises),
    "has_no_stdout": replaces(sys, "stdout", None),
    "has_another_stderr": replaces(sys, "stderr", object()),
    "closes_sys_stdout": lambda: sys.stdout.close(),
    "disables_faulthandler": faulthandler.disable,
    # Libraries
    "stops_the_clock": replaces(time, "monotonic", lambda: 0.0),
    "stops_the_wall_clock": replaces(time, "time", lambda: 0.0),
    "turns_the_wall_clock_back": replaces(time, "time", lambda: -1e9),
    "never_sleeps": replaces(time, "sleep", lambda seconds: None),
    "sleeps_not_at_all": replaces(time, "sleep", raises),
    "warns_of_errors": warns_of_errors,
    "shows_no_warnings": replaces(warnings, "showwarning", raises),
    "logs_nothing": lambda: logging.disable(logging.CRITICAL),
    "logs_to_what_raises": logs_to_what_raises,
    "shuts_logging_down": logging.shutdown,
    "logs_everything": lambda: logging.getLogger().setLevel(1),
    "has_no_event_loop": lambda: asyncio.set_event_loop(None),
    "closes_its_event_loop": closes_its_event_loop,
    "runs_an_event_loop": lambda: asyncio._set_running_loop(asyncio.new_event_loop()),
    "has_another_policy": lambda: asyncio.set_event_loop_policy(None),
    "always_has_the_same_chance": lambda: random.seed(0),
    "has_no_chance": replaces(random, "random", raises),
    "forks_nothing": replaces(os, "fork", raises),
    "starts_nothing": replaces(subprocess, "Popen", raises),
    "connects_nothing": replaces(socket, "socket", raises),
    "writes_no_json": replaces(json, "dumps", raises),
    "pickles_nothing": replaces(pickle, "dumps", raises),
    "unpickles_nothing": replaces(pickle, "loads", raises),
    "compiles_no_patterns": replaces(re, "compile", raises),
    "opens_no_descriptors": replaces(os, "open", raises_elsewhere),
    "closes_no_descriptors": replaces(os, "close", raises),
    "lists_no_directories": replaces(os, "listdir", raises),
    "makes_no_directories": replaces(os, "mkdir", raises),
    "stays_where_it_is": replaces(os, "chdir", raises),
    "suppresses_nothing": replaces(contextlib, "suppress", raises),
    "has_no_fields": replaces(dataclasses, "fields", raises_elsewhere),
    "makes_no_requests": replaces(scrapy.Request, "__init__", raises_elsewhere),
    "compares_no_requests": replaces(scrapy.Request, "__eq__", raises),
    "finds_no_paths": replaces(pathlib.Path, "exists", raises),
    "looks_at_nothing": replaces(inspect, "signature", raises),
    "shows_no_tracebacks": replaces(traceback, "format_exception", raises),
    "reads_no_lines": replaces(linecache, "getline", raises),
    "has_no_text_files": replaces(io, "TextIOWrapper", None),
    "is_not_precise": lambda: decimal.getcontext().traps.update(dict.fromkeys(decimal.getcontext().traps, True)),
    "starts_in_another_way": lambda: multiprocessing.set_start_method("spawn", force=True),
    # Threads, and the end
    "leaves_a_thread": ends_in_a_thread(forever),
    "leaves_a_thread_that_is_waited_for": ends_in_a_thread(forever, daemon=False),
    "leaves_many_threads": ends_in_a_thread(forever, count=200),
    "leaves_a_thread_that_raises": ends_in_a_thread(raises),
    "leaves_a_thread_that_spins": ends_in_a_thread(spins),
    "raises_at_the_end": lambda: atexit.register(raises),
    "hangs_at_the_end": lambda: atexit.register(forever),
    "exits_at_the_end": lambda: atexit.register(os._exit, 7),
    # What is raised, and what it says
    "raises": raises,
    "raises_an_interrupt": says("", KeyboardInterrupt),
    "raises_an_exit_of_generators": says("", GeneratorExit),
    "raises_a_base_exception": says("hostile", type("Base", (BaseException,), {})),
    "raises_that_memory_is_out": says("", MemoryError),
    "raises_that_an_iterator_ends": says("", StopIteration),
    "raises_what_has_no_text": raises_hostile(__str__=raises, __repr__=raises),
    "raises_what_has_the_text_of_none": raises_hostile(__str__=lambda self: None),
    "raises_what_equals_nothing": raises_hostile(__eq__=raises, __hash__=raises, __bool__=raises),
    "raises_what_has_no_attributes": raises_hostile(__getattribute__=raises),
    "raises_what_pickles_to_an_exit": raises_hostile(__reduce__=lambda self: (os._exit, (0,))),
    "raises_in_a_circle": raises_in_a_circle,
    "raises_a_deep_group": raises_a_deep_group,
    "raises_a_name_of_markup": lambda: says("hostile", type(SCRIPT, (Exception,), {}))(),
    "says_much": says("x" * 10_000_000),
    "says_many_lines": says("line\n" * 100_000),
    "says_escapes": says("\x1b[2J\x1b]0;title\x07\x1b[31mred\r\b\b\x9b2J\x00\x7f"),
    "says_markup": says(SCRIPT),
    "says_the_end_of_scripts": says("</script></code></pre>]]></failure>-->&lt;&#x3c;{{ 7*7 }}{% raw %}"),
    "says_control_characters": says("".join(map(chr, range(32))) + "\ufffe\uffff\u2028\u202e"),
    "says_markdown": says("```\n# Title\n| a | b |\n~~~~\n[x](javascript:alert(1)) <!-- @everyone #1 **b** `c` |"),
    "says_workflow_commands": says(COMMANDS),
    "says_half_characters": says("\ud800\udfff\udc80 half"),
    "says_toml": says('"""\n[[known]]\nrule = "x"\n\'\'\' \\u0000 \\'),
    "says_percent": says("%s %d %(x)s {0} {x} {x!r:>{y}}"),
}
"""By name, what a class does."""

MOMENTS = ("build", "init", "push", "pop", "len", "close")


@cache
def __getattr__(name: str) -> Any:
    moment, _, act = name.partition("__")
    if moment not in MOMENTS or act not in ACTS:
        raise AttributeError(name)
    return type(name, (FifoMemoryQueue,), {_METHODS[moment]: _acting(moment, act), "__module__": __name__, "__qualname__": name})


_METHODS = {"build": "from_crawler", "init": "__init__", "push": "push", "pop": "pop", "len": "__len__", "close": "close"}


def _acting(moment: str, act: str) -> Any:
    method = vars(FifoMemoryQueue)[_METHODS[moment]]
    built = isinstance(method, classmethod)
    usual = method.__func__ if built else method
    calls: dict[int, int] = {}

    def acting(self: Any, *arguments: Any, **keywords: Any) -> Any:
        calls[os.getpid()] = calls.get(os.getpid(), 0) + 1
        if calls[os.getpid()] >= (3 if moment == "push" else 1):
            ACTS[act]()
        return usual(self, *arguments, **keywords)

    return classmethod(acting) if built else acting
