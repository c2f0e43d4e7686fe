"""What the helpers of the kit do that operations call, for a reader who knows the class and not the kit."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from queue_conformance.engine.outcomes import Violation

_ROOT = Path(__file__).parent.parent

_SHARED = ("environments", "script_support", "faults")
"""The packages with what scripts of several kinds use."""

_CALLED = re.compile(r"(?<![\w.'\"])([A-Za-z_]\w*)\(")
_IMPORTED = re.compile(r"^from (?!queue_conformance\b)\S+ import (.+)$", re.MULTILINE)

_EXAMPLE = re.compile(r"^``[^`]*``: ")
"""How fixtures are called, which some docstrings begin with."""

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def explained(violation: Violation, folders: Iterable[str]) -> Iterator[str]:
    """Yield the operations of a violation, and before the first that calls a helper of the kit a comment on what that does.

    Args:
        folders: the packages of the kind.
    """
    packages = (*(name.removeprefix("queue_conformance.") for name in folders), *_SHARED)
    told = {name.strip() for names in _IMPORTED.findall(violation.script) for name in names.split(",")}
    for line in violation.operations:
        indent = line[: len(line) - len(line.lstrip())]
        for name in _CALLED.findall(line.partition("  # ")[0]):
            if name not in told and (sentence := _sentence(name, packages)) and _is_meant(name, sentence, violation.script):
                yield f"{indent}# {name}: {sentence}"
            told.add(name)
        yield line


def _is_meant(name: str, sentence: str, script: str) -> bool:
    """Whether a script means that helper by a name, and not something of the author's, which it defines itself."""
    return sentence in script or not re.search(rf"^(def|class) {name}\b", script, re.MULTILINE)


@cache
def _sentence(name: str, packages: tuple[str, ...]) -> str:
    """Return the first sentence on a function or a class in the first of some packages that has one, or ``""``."""
    defines = re.compile(rf"^(async def|def|class) {name}\b", re.MULTILINE)
    files = (path for package in packages for path in sorted((_ROOT / package.replace(".", "/")).rglob("*.py")))
    for path in files:
        if path.parent.name == "checks" or not defines.search(text := path.read_text("utf-8")):
            continue
        definitions = (node for node in ast.parse(text).body if isinstance(node, _DEFINITIONS) and node.name == name)
        if said := next(filter(None, map(ast.get_docstring, definitions)), ""):
            paragraph = " ".join(said.partition("\n\n")[0].split())
            return _EXAMPLE.sub("", paragraph).partition(". ")[0].removesuffix(".")
    return ""
