"""Stand-alone scripts: the lines of a counterexample, with the imports and definitions that they need, and no others."""

from __future__ import annotations

import inspect
import os
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

from queue_conformance.engine.inlining import inline, without_unread
from queue_conformance.engine.looping import repeated
from queue_conformance.engine.recording import Step
from queue_conformance.engine.syntax import global_names, source_of
from queue_conformance.faults import disk, outages, servers
from queue_conformance.faults.fault import Fault
from queue_conformance.script_support import clock, growth


def _imports(modules: str, names: Mapping[str, str]) -> dict[str, str]:
    """Return, by name, the lines that import modules, and names from modules."""
    of_names = {name: f"from {module} import {name}" for module, found in names.items() for name in found.split()}
    return {module: f"import {module}" for module in modules.split()} | of_names


_OF_ITEMS = _imports(
    "asyncio ctypes datetime errno faulthandler functools gc heapq importlib inspect io itertools json logging math"
    " multiprocessing os pickle re shutil signal socket subprocess sys tempfile textwrap threading time tracemalloc"
    " uuid warnings",
    {
        "array": "array",
        "collections": "Counter deque",
        "collections.abc": "Collection Mapping",
        "contextlib": "contextmanager suppress",
        "copy": "deepcopy",
        "decimal": "Decimal",
        "http.server": "BaseHTTPRequestHandler ThreadingHTTPServer",
        "math": "inf nan",
        "pathlib": "Path",
        "pkgutil": "resolve_name",
        "queue_conformance.errors": "SerializationError TransientError",
        "queue_conformance.loops": "RealLoop SimulatedLoop outcome_of stuck",
        "scrapy": "Request Spider",
        "scrapy.dupefilters": "BaseDupeFilter",
        "scrapy.exceptions": "NotConfigured",
        "scrapy.http": "FormRequest JsonRequest XmlRpcRequest",
        "scrapy.selector": "Selector",
        "scrapy.utils.job": "job_dir",
        "scrapy.utils.misc": "load_object",
        "urllib.parse": "urlsplit",
    },
)
"""What scripts, and the sources of items, may use."""

_OF_SCRIPTS = _imports(
    "copyreg resource",
    {
        "contextlib": "chdir",
        "queue_conformance.engine.kept_store": "read_kept",
        "queue_conformance.faults.backend": "Backend",
        "queuelib": "FifoDiskQueue",
        "queuelib.queue": "BaseQueue",
        "scrapy": "signals",
        "scrapy.core.downloader": "Slot",
        "scrapy.core.engine": "ExecutionEngine _Slot",
        "scrapy.settings": "Settings",
        "scrapy.squeues": "FifoMemoryQueue LifoMemoryQueue PickleFifoDiskQueue PickleLifoDiskQueue",
        "scrapy.utils.defer": "deferred_from_coro",
        "scrapy.utils.misc": "build_from_crawler",
        "scrapy.utils.reactor": "CallLaterOnce install_reactor",
        "scrapy.utils.test": "get_crawler",
        "pydispatch.robustapply": "robustApply",
        "twisted.internet": "task",
        "twisted.internet.defer": "Deferred",
        "unittest": "mock",
    },
)

_FAULTS = {
    name: f"from {value.__module__} import {name}"
    for module in (disk, outages)
    for name, value in vars(module).items()
    if inspect.isclass(value) and issubclass(value, Fault)
}

_KNOWN: Mapping[str, str] = {
    **_OF_ITEMS,
    **_OF_SCRIPTS,
    **_FAULTS,
    "ScraperSlot": "from scrapy.core.scraper import Slot as ScraperSlot",
}
"""By a name, the line of a script that imports it."""

_WORD = re.compile(r"[A-Za-z_]\w*")
_STRING = re.compile(r"'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"")


def namespace(*modules: ModuleType) -> dict[str, object]:
    """Return a namespace to evaluate the sources of items in, with the names of some modules added."""
    names: dict[str, Any] = {}
    exec("\n".join(_OF_ITEMS.values()), names)
    for module in modules:
        names.update(vars(module))
    return names


OF_EACH_KIND = (growth, clock)
"""Modules of which the script of any kind may quote something."""


def assemble(
    title: str,
    imports: Iterable[str],
    lines: Sequence[str],
    definitions: Sequence[ModuleType],
    names: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Build a script.

    Args:
        imports: import lines that are always there; they win over others for the same name.
        definitions: modules whose classes and functions the lines may use, besides those that count; their source is quoted.
        names: by name, import lines that are used if the name is; they win over those that are known here.
    """
    lines = without_unread("\n".join(lines), "logged")
    imports = list(imports)
    given = {line.split()[-1] for line in imports}  # among them a class that is called as one of the kit's
    here = {name: module for module in (*definitions, *OF_EACH_KIND) for name in defined_in(module)}
    available = {name: module for name, module in here.items() if name not in (*names, *given)}
    quoted: dict[str, str] = {}
    _quote("\n".join(lines), available, quoted)
    # What it imports anyway, it need not quote; and a running event loop is none of its matter.
    if "start_reactor" in quoted or _needs_kit("\n".join(lines), {**_KNOWN, **names}):
        called = _words("\n".join(lines)) & available.keys()
        imports += [f"from {available[name].__name__} import {name}" for name in called]
        quoted = {}
    lines, quoted = inline(_without_scratch(lines), quoted)
    order = list(available)
    blocks = [quoted[name] for name in sorted(quoted, key=order.index)]
    used = _words("\n".join([*blocks, *lines])) - {line.split()[-1] for line in imports}
    imported = {line for name, line in {**_KNOWN, **names}.items() if name in used}
    body = [_docstring(title), "", *_import_block({*imported, *imports})]
    for block in blocks:
        body += ["", "", block]
    return "\n".join([*body, *([""] if blocks else []), "", *lines, ""])


def _without_scratch(lines: Sequence[str]) -> Sequence[str]:
    """Return the lines of a script, without those that make a scratch directory if nothing uses it."""
    rest = [line for line in lines if line not in SCRATCH]
    return lines if _DIRECTORY.search("\n".join(rest)) else rest


SCRATCH = ("scratch = tempfile.TemporaryDirectory()", "directory = scratch.name")
"""The lines of a script that make its scratch directory."""

_DIRECTORY = re.compile(r"\b(scratch|directory)\b")


def _needs_kit(text: str, known: Mapping[str, str]) -> bool:
    """Whether a script has to import something of the kit, such as a server, an event loop or a fault."""
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


def source_of_backend(server: str) -> list[str]:
    """Return the line of a script that starts a server, or connects to one, with a proxy in front; none without a server."""
    named = repr(servers.described[server]) if server in servers.described else repr(server)
    return [f"backend = Backend({named})"] if server else []


def lines_of(steps: Sequence[Step]) -> list[str]:
    """Turn recorded steps into lines of a script; it goes on after those that raised."""
    return "\n".join(with_loops(["\n".join(_wrapped(step)) for step in steps], alike=True)).splitlines()


def lines_with(steps: Sequence[Step], tail: Sequence[str] = (), replaces: bool = False) -> list[str]:
    """Return the lines of a script that ends with the tail, or with the last step, if what that raises is the failure."""
    if steps and (replaces or not tail):
        return [*lines_of(steps[:-1]), *(tail or last_line(steps[-1]))]
    return [*lines_of(steps), *tail]


_MENTIONED = re.compile(r"""\bdirectory\b[^\w\n]{1,6}/(\w+)""")
"""The names of files below the scratch directory that operations mention."""

_KITS_OWN = ("filler", "project", "control")
"""What the kit itself stores there."""


def where_stored(steps: Sequence[Step], directory: Path) -> list[Step]:
    """Return steps, in their scratch directory if they have stored something in the working directory, which that was."""
    mentioned = (*_MENTIONED.findall("\n".join(step.source for step in steps)), *_KITS_OWN)
    stored = any(not name.startswith(mentioned) for name in os.listdir(directory))
    return [*([Step("os.chdir(directory)")] if stored and Step("os.chdir(directory)") not in steps else []), *steps]


def must_raise(body: str, names: str, only: str = "") -> list[str]:
    """Return lines of a script which fail unless some lines raise the right exception.

    Args:
        names: the names of its classes, as ``KeyError or ValueError``.
        only: an expression for the very exception that is right, if others of its class are not.
    """
    block = _block_of(body)
    caught, right = f"({names.replace(' or ', ', ')})" if " or " in names else names, "pass  # right"
    if only:
        caught, right = "Exception as caught", f"assert caught is {only}, repr(caught)"
    message = f"{names} expected, but the call returned"
    return [
        f"{block}try:",
        textwrap.indent(body, "    "),
        f"{block}except {caught}:",
        f"{block}    {right}",
        f"{block}else:",
        f"{block}    raise AssertionError({message!r})",
    ]


def last_line(step: Step) -> list[str]:
    """Return the lines of a script for a step whose exception is the failure."""
    if step.refusable:
        return lines_of([step])
    return raising([step.source], step.error)


def raising(lines: list[str], error: BaseException | None) -> list[str]:
    """Return lines whose last one raises; an exit of the interpreter becomes a failure of the script."""
    if not isinstance(error, (SystemExit, KeyboardInterrupt)):
        return lines
    *before, last = lines
    return [
        *before,
        "try:",
        textwrap.indent(last, "    "),
        "except BaseException as error:",
        "    raise AssertionError(repr(error))",
    ]


def or_exit(body: str) -> str:
    """Return lines that end the script without a failure if what they do is refused, which is right too."""
    block = _block_of(body)
    asserted = [f"{block}except AssertionError:", f"{block}    raise"] if _ASSERTS.search(body) else []
    ends = [f"{block}except Exception:", f"{block}    sys.exit()  # refused, which is right too"]
    return "\n".join([f"{block}try:", textwrap.indent(body, "    "), *asserted, *ends])


_ASSERTS = re.compile(r"^ *(assert|raise) ", re.MULTILINE)
_OR_EXIT = re.compile(
    r"(?P<block> *)try:\n(?P<body>(?:(?P=block)    .*\n)+)(?P=block)except Exception:\n(?P=block)    sys\.exit\(\)  # refused, .*"
)


def _joined(statements: Sequence[str]) -> list[str]:
    """Return statements, with consecutive ones of :func:`or_exit` joined."""
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
    """Return statements, repeated ones as loops; ``alike``: whether literals may differ from turn to turn."""
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
    if step.error is None:
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
    for name in sorted(_words(text) & available.keys() - quoted.keys()):
        quoted[name] = source_of(getattr(available[name], name))
        _quote(quoted[name], available, quoted)


def _words(text: str) -> set[str]:
    """Return the global names that the text reads; if it is not valid Python, all words that are not in string literals."""
    try:
        return global_names(text)[0]
    except (SyntaxError, ValueError):  # the representation of a value may not be valid Python
        return set(_WORD.findall(_STRING.sub("''", text)))
