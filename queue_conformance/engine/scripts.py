"""Stand-alone scripts: the lines of a counterexample, with just the imports and definitions that they use."""

from __future__ import annotations

import gc
import inspect
import json
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType, ModuleType
from typing import Any

from queue_conformance.engine.inlining import inline, without_unread
from queue_conformance.engine.looping import repeated
from queue_conformance.engine.recording import Step
from queue_conformance.engine.syntax import global_names
from queue_conformance.faults import disk, outages, servers
from queue_conformance.faults.fault import Fault

_IMPORTS: Mapping[str, str] = {
    "CallLaterOnce": "from scrapy.utils.reactor import CallLaterOnce",
    "ExecutionEngine": "from scrapy.core.engine import ExecutionEngine",
    "ScraperSlot": "from scrapy.core.scraper import Slot as ScraperSlot",
    "Slot": "from scrapy.core.downloader import Slot",
    "_Slot": "from scrapy.core.engine import _Slot",
    "Backend": "from queue_conformance.faults.backend import Backend",
    "BaseDupeFilter": "from scrapy.dupefilters import BaseDupeFilter",
    "BaseHTTPRequestHandler": "from http.server import BaseHTTPRequestHandler",
    "Collection": "from collections.abc import Collection",
    "Counter": "from collections import Counter",
    "Decimal": "from decimal import Decimal",
    "Deferred": "from twisted.internet.defer import Deferred",
    "FormRequest": "from scrapy.http import FormRequest",
    "JsonRequest": "from scrapy.http import JsonRequest",
    "Mapping": "from collections.abc import Mapping",
    "NotConfigured": "from scrapy.exceptions import NotConfigured",
    "Path": "from pathlib import Path",
    "FifoDiskQueue": "from queuelib import FifoDiskQueue",
    "FifoMemoryQueue": "from scrapy.squeues import FifoMemoryQueue",
    "LifoMemoryQueue": "from scrapy.squeues import LifoMemoryQueue",
    "PickleFifoDiskQueue": "from scrapy.squeues import PickleFifoDiskQueue",
    "PickleLifoDiskQueue": "from scrapy.squeues import PickleLifoDiskQueue",
    "RealLoop": "from queue_conformance.loops import RealLoop",
    "Request": "from scrapy import Request",
    "Settings": "from scrapy.settings import Settings",
    "Selector": "from scrapy.selector import Selector",
    "SerializationError": "from queue_conformance.errors import SerializationError",
    "SimulatedLoop": "from queue_conformance.loops import SimulatedLoop",
    "Spider": "from scrapy import Spider",
    "ThreadingHTTPServer": "from http.server import ThreadingHTTPServer",
    "TransientError": "from queue_conformance.errors import TransientError",
    "XmlRpcRequest": "from scrapy.http import XmlRpcRequest",
    "array": "from array import array",
    "asyncio": "import asyncio",
    "build_from_crawler": "from scrapy.utils.misc import build_from_crawler",
    "chdir": "from contextlib import chdir",
    "contextmanager": "from contextlib import contextmanager",
    "ctypes": "import ctypes",
    "datetime": "import datetime",
    "deque": "from collections import deque",
    "deepcopy": "from copy import deepcopy",
    "deferred_from_coro": "from scrapy.utils.defer import deferred_from_coro",
    "errno": "import errno",
    "faulthandler": "import faulthandler",
    "functools": "import functools",
    "gc": "import gc",
    "get_crawler": "from scrapy.utils.test import get_crawler",
    "heapq": "import heapq",
    "importlib": "import importlib",
    "inf": "from math import inf",
    "inspect": "import inspect",
    "install_reactor": "from scrapy.utils.reactor import install_reactor",
    "io": "import io",
    "itertools": "import itertools",
    "job_dir": "from scrapy.utils.job import job_dir",
    "json": "import json",
    "load_object": "from scrapy.utils.misc import load_object",
    "logging": "import logging",
    "BaseQueue": "from queuelib.queue import BaseQueue",
    "math": "import math",
    "mock": "from unittest import mock",
    "multiprocessing": "import multiprocessing",
    "nan": "from math import nan",
    "os": "import os",
    "outcome_of": "from queue_conformance.loops import outcome_of",
    "pickle": "import pickle",
    "re": "import re",
    "resource": "import resource",
    "shutil": "import shutil",
    "signal": "import signal",
    "signals": "from scrapy import signals",
    "socket": "import socket",
    "stuck": "from queue_conformance.loops import stuck",
    "subprocess": "import subprocess",
    "suppress": "from contextlib import suppress",
    "sys": "import sys",
    "task": "from twisted.internet import task",
    "tempfile": "import tempfile",
    "textwrap": "import textwrap",
    "threading": "import threading",
    "time": "import time",
    "urlsplit": "from urllib.parse import urlsplit",
    "uuid": "import uuid",
    "warnings": "import warnings",
}

_FAULTS: Mapping[str, str] = {
    name: f"from {value.__module__} import {name}"
    for module in (disk, outages)
    for name, value in vars(module).items()
    if inspect.isclass(value) and issubclass(value, Fault)
}

_ONLY_IN_SCRIPTS = frozenset(
    {
        "Backend",
        "BaseQueue",
        "CallLaterOnce",
        "Deferred",
        "ExecutionEngine",
        "FifoDiskQueue",
        "FifoMemoryQueue",
        "LifoMemoryQueue",
        "mock",
        "PickleFifoDiskQueue",
        "PickleLifoDiskQueue",
        "build_from_crawler",
        "deferred_from_coro",
        "get_crawler",
        "install_reactor",
        "ScraperSlot",
        "Slot",
        "_Slot",
        "task",
        "resource",
        "Settings",
        "chdir",
        "signals",
    }
)
"""Names that the sources of items never use."""

_WORD = re.compile(r"[A-Za-z_]\w*")
_STRING = re.compile(r"'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"")


def namespace(*modules: ModuleType) -> dict[str, object]:
    """Return the names that the sources of items may use, to evaluate them with.

    Args:
        modules: modules whose definitions may be used too.
    """
    names: dict[str, object] = {}
    for name, line in _IMPORTS.items():
        if name not in _ONLY_IN_SCRIPTS:
            exec(line, names)
    for module in modules:
        names.update(vars(module))
    return names


def assemble(
    title: str,
    imports: Iterable[str],
    lines: Sequence[str],
    definitions: Sequence[ModuleType],
    names: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Build a script.

    Args:
        title: its docstring.
        imports: import lines that are always there; they win over others for the same name.
        lines: the body.
        definitions: modules from which the body may use classes and functions; their source is quoted.
        names: further names that it may use, or others than usual under the same name, with the lines that import them.

    Returns:
        The text of the script.
    """
    lines = without_unread("\n".join(lines), "logged")
    available = {name: module for module in definitions for name in defined_in(module) if name not in names}
    quoted: dict[str, str] = {}
    _quote("\n".join(lines), available, quoted)
    imports = list(imports)
    # What it imports anyway, it need not quote; and a running event loop is none of its matter.
    if "start_reactor" in quoted or _needs_kit("\n".join(lines), {**_IMPORTS, **_FAULTS, **names}):
        called = _words("\n".join(lines)) & available.keys()
        imports += [f"from {available[name].__name__} import {name}" for name in called]
        quoted = {}
    lines, quoted = inline(_without_scratch(lines), quoted)
    order = list(available)
    blocks = [quoted[name] for name in sorted(quoted, key=order.index)]
    used = _words("\n".join([*blocks, *lines])) - {line.split()[-1] for line in imports}
    imported = {line for name, line in {**_IMPORTS, **_FAULTS, **names}.items() if name in used}
    body = [_docstring(title), "", *_import_block({*imported, *imports})]
    for block in blocks:
        body += ["", "", block]
    return "\n".join([*body, *([""] if blocks else []), "", *lines, ""])


def _without_scratch(lines: Sequence[str]) -> Sequence[str]:
    """Return the lines of a script without the scratch directory, if nothing is in it."""
    rest = [line for line in lines if line not in _SCRATCH]
    return lines if _DIRECTORY.search("\n".join(rest)) else rest


_SCRATCH = ("scratch = tempfile.TemporaryDirectory()", "directory = scratch.name")
_DIRECTORY = re.compile(r"\b(scratch|directory)\b")


def _needs_kit(text: str, known: Mapping[str, str]) -> bool:
    """Whether a script imports something of the kit for a server, an event loop or a fault."""
    return any(known.get(name, "").startswith("from queue_conformance.") for name in _words(text))


def _docstring(title: str) -> str:
    if len(title) <= 100:
        return f'"""{title}"""'
    return '"""' + "\n".join(textwrap.wrap(title, 97)) + '"""'


def _import_block(lines: Iterable[str]) -> list[str]:
    """Return import lines in their usual order, one per module."""
    lines = list(lines)
    future = sorted(line for line in lines if line.startswith("from __future__ "))
    plain = sorted(line for line in lines if line.startswith("import "))
    names: dict[str, list[str]] = {}
    for line in lines:
        if line.startswith("from ") and line not in future:
            module, _, name = line.removeprefix("from ").partition(" import ")
            names.setdefault(module, []).append(name)
    return [*future, *plain, *(f"from {module} import {', '.join(sorted(names[module]))}" for module in sorted(names))]


def quoted(text: str) -> str:
    """Return a string literal in double quotes."""
    return json.dumps(text, ensure_ascii=False)


def source_of_settings(settings: Mapping[str, object]) -> str:
    """Return settings as a dictionary in Python, with the address of ``backend`` in the places of ``{host}`` and ``{port}``."""
    return f"{{{', '.join(f'{name!r}: {source_of_setting(value)}' for name, value in settings.items())}}}"


def source_of_setting(value: object) -> str:
    """Return the value of a setting in Python, with the address of ``backend`` in the places of ``{host}`` and ``{port}``."""
    text = repr(value)
    if not isinstance(value, str) or not any(place in value for place in ("{host}", "{port}")):
        return text
    escaped = text.replace("{", "{{").replace("}", "}}")
    return "f" + escaped.replace("{{host}}", "{backend.host}").replace("{{port}}", "{backend.port}")


def source_of_backend(server: str) -> list[str]:
    """Return the line of a script that starts a server, or reaches one, and puts a proxy before it."""
    named = repr(servers.described[server]) if server in servers.described else quoted(server)
    return [f"backend = Backend({named})"] if server else []


def lines_of(steps: Sequence[Step]) -> list[str]:
    """Turn recorded steps into lines of a script; those that raised are wrapped so that the script goes on."""
    return "\n".join(with_loops(["\n".join(_wrapped(step)) for step in steps], alike=True)).splitlines()


def or_exit(body: str) -> str:
    """Return lines such that whoever refuses what they do is right too, and nothing below says anything of it."""
    block = _block_of(body)
    asserted = [f"{block}except AssertionError:", f"{block}    raise"] if _ASSERTS.search(body) else []
    ends = [f"{block}except Exception:", f"{block}    sys.exit()  # refused, which is right too"]
    return "\n".join([f"{block}try:", textwrap.indent(body, "    "), *asserted, *ends])


_ASSERTS = re.compile(r"^ *(assert|raise) ", re.MULTILINE)
_OR_EXIT = re.compile(
    r"(?P<block> *)try:\n(?P<body>(?:(?P=block)    .*\n)+)(?P=block)except Exception:\n(?P=block)    sys\.exit\(\)  # refused, .*"
)


def _joined(statements: Sequence[str]) -> list[str]:
    """Return statements, with those in a row that may each be refused as one."""
    joined: list[str] = []
    for statement in statements:
        before, found = (_OR_EXIT.fullmatch(text) for text in (joined[-1] if joined else "", statement))
        if before and found and before["block"] == found["block"]:
            bodies = [before["body"], found["body"]]
            joined[-1] = or_exit("".join(textwrap.indent(textwrap.dedent(body), found["block"]) for body in bodies).rstrip("\n"))
        else:
            joined.append(statement)
    return joined


def with_loops(statements: Sequence[str], *, alike: bool = False) -> list[str]:
    """Return statements, with those that come many times in a row, alone or together, as loops.

    Args:
        statements: the statements.
        alike: whether literals may differ from one time to the next.
    """
    written: list[str] = []
    at = 0
    while at < len(statements):
        count, loop = repeated(statements, at, alike=alike)
        written += loop or [statements[at]]
        at += count or 1
    return _joined(written)


def _wrapped(step: Step) -> list[str]:
    """Return the lines of one step."""
    block = _block_of(step.source)
    if step.refusable:
        return [or_exit(step.source)]
    if step.error is None and not step.tolerated:
        return [step.source]
    return [f"{block}with suppress(Exception):", textwrap.indent(step.source, "    ")]


def _block_of(line: str) -> str:
    """Return the indentation of a line."""
    return line[: len(line) - len(line.lstrip())]


def defined_in(module: ModuleType) -> list[str]:
    """Return the names of the classes and functions of a module."""
    return [
        name
        for name, value in vars(module).items()
        if (inspect.isclass(value) or inspect.isfunction(value)) and value.__module__ == module.__name__
    ]


def _quote(text: str, available: Mapping[str, ModuleType], quoted: dict[str, str]) -> None:
    """Add the source of every available name that the text uses, and of those that these use."""
    for name in _words(text) & available.keys() - quoted.keys():
        quoted[name] = source_of(getattr(available[name], name))
        _quote(quoted[name], available, quoted)


def source_of(defined: Any) -> str:
    """Return the source of a class or function.

    Raises:
        OSError, TypeError: if there is none.

    Python 3.11 raises SystemError where tasks that nobody awaits any more are collected while it parses the file.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        return _FOR_LINTERS.sub("", inspect.getsource(defined).rstrip())
    finally:
        if collecting:
            gc.enable()


_FOR_LINTERS = re.compile(r"  # (type: ignore|noqa).*")


def _words(text: str) -> set[str]:
    """Return the global names that the text reads; all its words, but those of literal strings, if it is no Python."""
    try:
        return global_names(text)[0]
    except (SyntaxError, ValueError):  # it may show values of the implementation
        return set(_WORD.findall(_STRING.sub("''", text)))
