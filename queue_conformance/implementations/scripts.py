"""Stand-alone scripts: the lines of a counterexample, with just the imports and definitions that they use."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from types import ModuleType

from queue_conformance.implementations.recording import Step

_IMPORTS: Mapping[str, str] = {
    "Any": "from typing import Any",
    "Counter": "from collections import Counter",
    "Crawler": "from scrapy.crawler import Crawler",
    "Decimal": "from decimal import Decimal",
    "FormRequest": "from scrapy.http import FormRequest",
    "JsonRequest": "from scrapy.http import JsonRequest",
    "Mapping": "from collections.abc import Mapping",
    "Path": "from pathlib import Path",
    "Request": "from scrapy import Request",
    "Selector": "from scrapy.selector import Selector",
    "Spider": "from scrapy import Spider",
    "XmlRpcRequest": "from scrapy.http import XmlRpcRequest",
    "array": "from array import array",
    "build_from_crawler": "from scrapy.utils.misc import build_from_crawler",
    "datetime": "import datetime",
    "errno": "import errno",
    "faulthandler": "import faulthandler",
    "functools": "import functools",
    "importlib": "import importlib",
    "inf": "from math import inf",
    "io": "import io",
    "math": "import math",
    "load_object": "from scrapy.utils.misc import load_object",
    "nan": "from math import nan",
    "os": "import os",
    "re": "import re",
    "resource": "import resource",
    "shutil": "import shutil",
    "socket": "import socket",
    "subprocess": "import subprocess",
    "suppress": "from contextlib import suppress",
    "sys": "import sys",
    "tempfile": "import tempfile",
    "textwrap": "import textwrap",
    "threading": "import threading",
    "time": "import time",
    "uuid": "import uuid",
}

_WORD = re.compile(r"[A-Za-z_]\w*")
_STRING = re.compile(r"'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"")


def namespace(*modules: ModuleType) -> dict[str, object]:
    """Return the names that the sources of items may use, to evaluate them with.

    Args:
        modules: modules whose definitions may be used too.
    """
    names: dict[str, object] = {}
    for line in _IMPORTS.values():
        if "resource" not in line:
            exec(line, names)
    for module in modules:
        names.update(vars(module))
    return names


def assemble(title: str, imports: Iterable[str], lines: Sequence[str], definitions: Sequence[ModuleType]) -> str:
    """Build a script.

    Args:
        title: its docstring.
        imports: import lines that are always there.
        lines: the body.
        definitions: modules from which the body may use classes and functions; their source is quoted.

    Returns:
        The text of the script.
    """
    available = {name: module for module in definitions for name in _defined_in(module)}
    quoted: dict[str, str] = {}
    _quote("\n".join(lines), available, quoted)
    order = list(available)
    blocks = [quoted[name] for name in sorted(quoted, key=order.index)]
    used = _words("\n".join([*blocks, *lines]))
    needed = {line for name, line in _IMPORTS.items() if name in used}
    head = sorted({*needed, *imports}, key=lambda line: (not line.startswith("import "), line))
    body = [f'"""{title}"""', "", *head, ""]
    for block in blocks:
        body += ["", block, ""]
    return "\n".join([*body, *lines, ""])


def lines_of(steps: Sequence[Step]) -> list[str]:
    """Turn recorded steps into lines of a script; steps that raised are wrapped so that the script goes on."""
    lines: list[str] = []
    for step in steps:
        if step.refusable:
            lines += ["try:", f"    {step.source}", "except Exception:", "    sys.exit()  # refused, which is right too"]
        elif step.error is None:
            lines.append(step.source)
        else:
            lines += ["with suppress(Exception):", textwrap.indent(step.source, "    ")]
    return lines


def _defined_in(module: ModuleType) -> list[str]:
    return [
        name
        for name, value in vars(module).items()
        if (inspect.isclass(value) or inspect.isfunction(value)) and value.__module__ == module.__name__
    ]


def _quote(text: str, available: Mapping[str, ModuleType], quoted: dict[str, str]) -> None:
    """Add the source of every available name that the text uses, and of those that these use."""
    for name in _words(text) & available.keys() - quoted.keys():
        quoted[name] = inspect.getsource(getattr(available[name], name)).rstrip()
        _quote(quoted[name], available, quoted)


def _words(text: str) -> set[str]:
    """Return the names in the text, without those in literal strings."""
    return set(_WORD.findall(_STRING.sub("''", text)))
