"""Write the sentence of its rule as the docstring of each check, so that who reads the check has it there.

Run ``python tests/write_docstrings.py`` after a change to checks or rules; ``make lint`` says when that is due.
"""

from __future__ import annotations

import ast
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import queue_conformance
from queue_conformance.specification import load

HOUSE = Path(queue_conformance.__file__).parent
WIDTH = 127
"""The longest line, in characters, without quotes that close it."""


def rewritten(text: str) -> str:
    """Return a module of checks with the docstrings that they should have."""
    lines = text.splitlines()
    for function, rules in reversed([*_checks(ast.parse(text))]):
        first = function.body[0]
        begins = next(number for number, line in enumerate(lines) if number >= function.lineno - 1 and line.endswith(":")) + 1
        ends = begins if ast.get_docstring(function) is None else first.end_lineno
        lines[begins:ends] = _docstring([load()[rule].sentence for rule in rules], " " * first.col_offset)
    return "\n".join([*lines, ""])


def _checks(tree: ast.Module) -> Iterator[tuple[ast.FunctionDef, list[str]]]:
    """Yield the functions that are decorated with ids of rules, and the first id of each decorator: what assertions are about."""
    for function in (node for node in tree.body if isinstance(node, ast.FunctionDef)):
        calls = [each for each in function.decorator_list if isinstance(each, ast.Call)]
        first = [each.value for call in calls for each in call.args[:1] if isinstance(each, ast.Constant)]
        if rules := [value for value in dict.fromkeys(first) if value in load()]:
            yield function, rules


def _docstring(sentences: list[str], indent: str) -> list[str]:
    quoted = [f'{indent}"""{sentences[0]}', *(f"{indent}{each}" for each in sentences[1:])]
    wrapped = [textwrap.wrap(each, WIDTH, subsequent_indent=indent, break_on_hyphens=False) for each in quoted]
    lines = [line for paragraph in wrapped for line in ("", *paragraph)][1:]
    return [f'{lines[0]}"""'] if len(lines) == 1 else [*lines, f'{indent}"""']


def outdated() -> dict[Path, str]:
    """Return the modules whose docstrings are not as they should be, with the texts that they should have."""
    paths = sorted([*HOUSE.glob("kinds/*/checks/*.py"), *HOUSE.glob("kinds/*/smoke.py")])
    found = {path: path.read_text("utf-8") for path in paths}
    return {path: new for path, text in found.items() if (new := rewritten(text)) != text}


if __name__ == "__main__":
    due = outdated()
    if "--check" in sys.argv and due:
        sys.exit(f"run python tests/write_docstrings.py, for {', '.join(path.name for path in due)}")
    for path, text in due.items():
        path.write_text(text, "utf-8")
        print(path.relative_to(HOUSE.parent))
