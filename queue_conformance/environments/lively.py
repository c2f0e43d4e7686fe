"""Whether a class has to do with what happens around it in a crawl: then its scripts run as the kit does."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from contextlib import suppress
from functools import cache

from queue_conformance.engine.quoting import quote
from queue_conformance.engine.syntax import parse

_LIVELY = re.compile(r"\b(async|asyncio|twisted|reactor|await|Deferred|engine_\w+)\b|\bengine\b(?!\.downloader\b| is not None)")
"""What the source of a class mentions that has to do with what happens around it in a crawl."""

_CALM = {"builtins", "abc", "scrapy.core.scheduler", "scrapy.dupefilters", "scrapy.pqueues", "scrapy.squeues"}
"""Modules of which nothing needs a reactor, but what asks for the engine."""


@cache
def is_lively(cls: type) -> bool:
    """Whether the source of a class, or what it uses of its module, mentions what happens around components in a crawl."""
    if cls.__module__ in _CALM or _is_of_a_calm_file(cls):
        return False
    quotation = quote(cls, cls.__name__)
    source = "\n".join([*quotation.imports, *quotation.lines])
    try:
        return bool(quotation.missing or (_LIVELY.search(source) and _LIVELY.search(_code(source))))
    except SyntaxError:
        return True  # nobody knows


def _is_of_a_calm_file(cls: type) -> bool:
    """Whether the file that a class is in, and takes no names from elsewhere unseen, mentions nothing of that at all."""
    with suppress(OSError, TypeError, KeyError):
        source = inspect.getsource(sys.modules[cls.__module__])
        return f"class {cls.__name__}" in source and "import *" not in source and not _LIVELY.search(source)
    return False


def _code(source: str) -> str:
    """Return source without comments, texts and annotations, and without what is for type checkers only."""
    tree = parse(source)
    tree.body = [node for node in tree.body if not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test))]
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            node.returns = None
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""
    return ast.unparse(tree)
