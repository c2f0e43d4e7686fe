"""Runs the pages of the documentation: writes their files, runs their commands, and compares what is printed.

What a fenced block is follows from its language and its caption:

- ``console``: each line that begins with ``$`` is run by a shell, in the order of the page and in one directory per page. The
  lines below it are what it prints, where ``...`` stands for anything. Its exit status is 0, unless ``$ echo $?`` comes next.
  ``pip install`` installs what stands in this repository; of the kit, by its name or as ``.``, which is installed, it must name
  an extra that there is.
  Below ``<!-- ends with N -->`` that is the exit status of the last one. Below ``<!-- briefly: OPTIONS -->`` a run of pytest
  gets these, too, unless everything is asked for: what is shown must be printed by a shorter run as well.
- with a caption: the file of that name. ``FILE, at the top`` replaces what stands before the first definition of the file, and
  ``FILE, in CLASS`` puts methods into a class, in the place of those of the same name.
- ``python`` without a caption: a script that must run.
- ``toml``, ``json`` and ``yaml``: must parse; the kit must understand its own table. So must files that a page includes.
  A compose file and a Deployment of Kubernetes must fit their schemas, which know the keys that guides use.

Any other block, or one below ``<!-- not run: REASON -->``, is an exemption, which the test must list. One below
``<!-- needs: PROGRAM -->`` is left out where there is no such program, and the test is skipped in the end.
"""

from __future__ import annotations

import ast
import doctest
import json
import re
import shutil
import subprocess
import textwrap
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from kit import ForkServer
from schemas import COMPOSE, DEPLOYMENT
from user import ROOT, WARNING, environment, install_beside, quick, too_wide

from queue_conformance.config.values import UsageError

DOCS = ROOT / "docs"
SCHEMAS = {"services": COMPOSE, "apiVersion": DEPLOYMENT}
"""The schemas of YAML documents, by a key that only these have."""

TIME_LIMIT = 300.0

BESIDE = ".installed"
"""The directory, in that of a page, for what it installs from this repository."""

NO_BLOCKS = ("container", "note", "tip", "warning", "seealso")
"""Directives between colons; whatever is code stands between backticks, where it is seen here."""

NOT_CODE = ("toctree", "eval-rst")
"""Directives whose content is no code."""

_COLONS = re.compile(r"^\s*:{3,}\s*\{([\w-]+)\}")
_FENCE = re.compile(r"^(\s*)(`{3,})\s*(?:\{([\w-]+)\})?\s*(.*?)\s*$")
_PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
_EXTRAS = set(_PYPROJECT["optional-dependencies"])
_INSTALLED = re.compile(rf'"?(?:\.|{_PYPROJECT["name"]})(?:\[([\w,]+)\])?"?')
_OUTPUT = doctest.OutputChecker()


class PageError(AssertionError):
    """What a page says is not so; the message begins with the page and the line."""


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block.

    Attributes:
        place: the page and the line.
        language: its language, such as ``console``.
        caption: its caption, or ``""``.
        text: what is in it.
        exempt: why it is not run, or ``""``.
        needs: a program without which it cannot be run, or ``""``.
        status: the exit status of the last command.
        briefly: options that make a run of pytest shorter, or ``""``.
    """

    place: str
    language: str
    caption: str
    text: str
    exempt: str = ""
    needs: str = ""
    status: int = 0
    briefly: str = ""


def blocks(name: str, text: str) -> Iterator[Block]:
    """Yield the blocks of a page that somebody wrote; what the page is given by ``make parts`` has its own tests.

    Args:
        name: what the page is called.
        text: the page.
    """
    lines = text.splitlines()
    said = ""
    number = 0
    while number < len(lines):
        line, number = lines[number], number + 1
        place = f"{name}:{number}"
        if line.startswith("<!-- generated: "):
            number = lines.index("<!-- until here -->", number)
        colons = _COLONS.match(line)
        if colons and colons[1] not in NO_BLOCKS:
            raise PageError(f"{place}: write {{{colons[1]}}} between backticks, where it is seen")
        fence = _FENCE.match(line)
        if not fence:
            said = line
            continue
        content = []
        while lines[number].strip() != fence[2]:
            content.append(lines[number])
            number += 1
        number += 1
        directive, language = fence[3], fence[4]
        if directive in NOT_CODE:
            continue
        found = dict(re.findall(r"^\s*:([\w-]+):\s*(.*)$", "\n".join(content), re.MULTILINE)) if directive else {}
        body = textwrap.dedent("\n".join(content[len(found) :])).strip("\n")
        if directive == "literalinclude":
            language, body = found.get("language", ""), (DOCS / name).parent.joinpath(language).read_text("utf-8").strip("\n")
        elif directive not in (None, "code-block"):
            language = f"{{{directive}}}"
        mark = re.fullmatch("<!-- (?:not run: (.+)|needs: (.+)|ends with ([0-9]+)|briefly: (.+)) -->", said)
        exempt, needs, status, briefly = mark.groups("") if mark else ("", "", "", "")
        yield Block(place, language, found.get("caption", ""), f"{body}\n", exempt, needs, int(status or 0), briefly)
        said = ""


@dataclass
class Page:
    """Runs blocks in one directory.

    Attributes:
        directory: where files are written and commands run.
        programs: where those of the kit are.
        server: runs them.
        read: reads the options of a directory; raises ``UsageError``.
        brief: whether tests draw less than by default, where a page does not say how much.
        exempt: the place and the reason of each block that was not run.
        missing: what could not be run for want of a program.
    """

    directory: Path
    programs: Path
    server: ForkServer
    read: Callable[[Path, str], object]
    brief: bool = False
    exempt: list[tuple[str, str]] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def run(self, name: str, text: str) -> None:
        """Run all blocks of a page.

        Raises:
            PageError: if something is not as the page says.
        """
        for block in blocks(name, text):
            try:
                self._block(block)
            except (PageError, SyntaxError, ValueError, subprocess.TimeoutExpired) as error:
                raise PageError(f"{block.place}: {error}") from None

    def _block(self, block: Block) -> None:
        if block.exempt:
            self.exempt.append((block.place, block.exempt))
        elif block.needs and not shutil.which(block.needs):
            self.missing.append(f"{block.place} needs {block.needs}")
        elif block.language == "console":
            self._console(block)
        elif block.caption:
            self._file(block)
        elif block.language == "python":
            self._run("page.py", block.text)
        elif block.language in ("toml", "json", "yaml"):
            self._parse(block.language, block.text)
        else:
            raise PageError(
                f"nothing is known of a block of {block.language or 'no language'}; say `<!-- not run: REASON -->` above it"
            )

    # --- Files -------------------------------------------------------------------------------------------------------

    def _file(self, block: Block) -> None:
        name, _, where = block.caption.partition(", ")
        file = self.directory / name
        file.parent.mkdir(parents=True, exist_ok=True)
        text = block.text
        if where == "at the top":
            text = _with_top(file.read_text("utf-8"), text)
        elif where.startswith("in "):
            text = _with_methods(file.read_text("utf-8"), where.removeprefix("in "), text)
        elif where:
            raise PageError(f"nothing is known of a part called {where!r}")
        if block.language == "python":
            compile(text, name, "exec")
        file.write_text(text, "utf-8")
        if block.language in ("toml", "json", "yaml"):
            self._parse(block.language, text)

    def _parse(self, language: str, text: str) -> None:
        if language == "json":
            json.loads(text)
        elif language == "yaml":
            import yaml

            try:
                found = yaml.safe_load(text)
            except yaml.YAMLError as error:
                raise PageError(str(error)) from error
            for key, schema in SCHEMAS.items():
                if isinstance(found, dict) and key in found:
                    _fits(schema, found)
        elif "queue_conformance" in tomllib.loads(text).get("tool", {}):
            directory = self.directory / ".table"
            directory.mkdir(exist_ok=True)
            (directory / "pyproject.toml").write_text(text, "utf-8")
            try:
                self.read(directory, text)
            except UsageError as error:
                raise PageError(str(error)) from error

    # --- Commands ----------------------------------------------------------------------------------------------------

    def _console(self, block: Block) -> None:
        status = 0
        for command, shown in _commands(block.text):
            if command == "echo $?":
                if shown != f"{status}\n":
                    raise PageError(f"the exit status is {status}, and the page says {shown.strip()}")
                status = 0
                continue
            if status:
                raise PageError(f"the command before `{command}` ended with {status}, which the page does not say")
            if command.startswith("pip install "):
                self._install(command.removeprefix("pip install ").split())
                continue
            status, printed = self._shell(command, block.briefly)
            if shown and not _OUTPUT.check_output(shown, printed, doctest.ELLIPSIS):
                raise PageError(f"`{command}` prints\n\n{printed}\nand the page shows\n\n{shown}")
            if WARNING.search(printed):
                raise PageError(f"`{command}` warns:\n\n{printed}")
            if command.startswith("pytest ") and (wide := too_wide(printed)):
                raise PageError(f"`{command}` prints a line that is too wide:\n\n{wide[0]}")
        if status != block.status:
            raise PageError(f"the last command ended with {status}, which the page does not say:\n\n{printed}")

    def _install(self, names: list[str]) -> None:
        for name in names:
            if name.startswith("./"):
                install_beside(ROOT / name, self.directory / BESIDE)
            else:
                _installable(name)

    def _shell(self, command: str, briefly: str = "") -> tuple[int, str]:
        server, beside = self.server.socket.fileno(), self.directory / BESIDE
        # What the kit finds when it is imported, it does not find in a process that has imported it.
        user = environment(self.programs) if beside.exists() else quick(self.programs, server)
        try:
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=self.directory,
                env=user | {"PYTHONPATH": str(beside)} | self._amount(command, briefly),
                pass_fds=[server],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=TIME_LIMIT,
            )
        except subprocess.TimeoutExpired:
            self.server.close()  # it would wait for what it runs
            raise
        return done.returncode, "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())

    def _amount(self, command: str, briefly: str) -> dict[str, str]:
        """Return what lets a run be shorter: by what the page says, and where it does not say how much is drawn."""
        table = self.directory / "pyproject.toml"
        said = command + (table.read_text("utf-8") if table.exists() else "")
        if not self.brief or ("--conformance" not in command and "-class=" not in command):
            return {}
        fewer = {"conformance-examples": 20, "conformance-crawls": 1, "conformance-jobs": 1}
        return {"PYTEST_ADDOPTS": " ".join([*(f"--{name}={n}" for name, n in fewer.items() if name not in said), briefly])}

    def _run(self, name: str, text: str) -> None:
        (self.directory / name).write_text(text, "utf-8")
        status, printed = self._shell(f"python {name}")
        if status:
            raise PageError(f"the script ended with {status}:\n\n{printed}")


def _commands(text: str) -> Iterator[tuple[str, str]]:
    """Yield the commands of a block, and what the page shows below each of them."""
    lines = text.splitlines()
    while lines:
        line = lines.pop(0)
        if not line.startswith("$ "):
            raise PageError(f"a command begins with `$ `, not {line!r}")
        command = line.removeprefix("$ ")
        while command.endswith("\\"):
            command = f"{command[:-1]}{lines.pop(0).strip()}"
        shown = []
        while lines and not lines[0].startswith("$ "):
            shown.append(lines.pop(0))
        yield command, "".join(f"{line}\n" for line in shown)


def _installable(name: str) -> None:
    found = _INSTALLED.fullmatch(name)
    if not found:
        raise PageError(f"`pip install` of something else: {name}")
    if unknown := set((found[1] or "").split(",")) - _EXTRAS - {""}:
        raise PageError(f"no such extra: {', '.join(unknown)}")


def _fits(schema: Mapping[str, Any], document: object) -> None:
    """Compare a document with a schema."""
    if error := best_match(Draft202012Validator(schema).iter_errors(document)):
        raise PageError(f"{error.json_path}: {error.message}")


def _with_top(source: str, top: str) -> str:
    lines = source.splitlines(keepends=True)
    first = next(node for node in ast.parse(source).body if isinstance(node, (ast.ClassDef, ast.FunctionDef)))
    return f"{top.rstrip()}\n\n\n{''.join(lines[_start(first) :])}"


def _with_methods(source: str, name: str, methods: str) -> str:
    for method in ast.parse(methods).body:
        if not isinstance(method, ast.FunctionDef):
            raise PageError(f"line {method.lineno} of what is put into {name} is no method")
        lines = source.splitlines(keepends=True)
        owners = [node for node in ast.parse(source).body if isinstance(node, ast.ClassDef) and node.name == name]
        if len(owners) != 1:
            raise PageError(f"the file has no class {name!r}")
        (owner,) = owners
        old = [node for node in owner.body if isinstance(node, ast.FunctionDef) and node.name == method.name]
        new = textwrap.indent("".join(methods.splitlines(keepends=True)[_start(method) : method.end_lineno]), "    ")
        begin, end = (_start(old[0]), old[0].end_lineno) if old else (owner.end_lineno, owner.end_lineno)
        lines[begin:end] = [new if old else f"\n{new}"]
        source = "".join(lines)
    return source


def _start(node: ast.ClassDef | ast.FunctionDef) -> int:
    """Return the index of the first line of a definition, decorators included."""
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) - 1
