"""Runs composite actions of GitHub: the scripts of their steps run, with the environment that GitHub gives them."""

from __future__ import annotations

import os
import re
import shlex
import stat
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

yaml: Any = pytest.importorskip("yaml")

_EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
_NAME = re.compile(r"'[^']*'|[a-z_]+(?:\.[\w-]+)+")


class ActionError(AssertionError):
    """An action or a workflow says what GitHub would not understand."""


def load(path: Path) -> dict[str, Any]:
    """Return what a file says."""
    found: dict[str, Any] = yaml.safe_load(path.read_text("utf-8"))
    return found


def evaluate(expression: str, context: Mapping[str, str]) -> str:
    """Return the value of an expression.

    Args:
        expression: names, texts in quotes, comparisons and ``&&``.
        context: the values by name; outputs of steps that there are not are empty.
    """

    def value(match: re.Match[str]) -> str:
        name = match[0]
        if name.startswith("'"):
            return repr(name[1:-1])
        if name not in context and not name.startswith("steps."):
            raise ActionError(f"nothing is called {name}")
        return repr(context.get(name, ""))

    source = _NAME.sub(value, expression.replace("always()", "True")).replace("&&", " and ")
    found = eval(source, {})
    return str(found).lower() if isinstance(found, bool) else found


def filled(text: Any, context: Mapping[str, str]) -> str:
    """Return a text with the values of its expressions."""
    return _EXPRESSION.sub(lambda match: evaluate(match[1], context), str(text).lower() if isinstance(text, bool) else str(text))


def executable(path: Path, text: str) -> None:
    """Write a script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


class Runner:
    """Runs the steps of an action as a job would.

    ``pip`` is not run: what it was asked for is in ``installed``. Steps that use other actions are not run: what they
    were given is in ``used``.

    Args:
        workspace: where the repository was checked out.
        action: what action.yml says.
        event: the values of ``github.*`` that are not fixed.

    Attributes:
        tools: where programs are found first.
        context: the values of expressions that do not come from inputs or steps.
        installed: what pip was asked to install.
        used: the actions that were used, with what they were given.
        printed: what the steps printed.
        outputs: the outputs of the action.
        status: of the first step that failed, or 0.
    """

    def __init__(self, workspace: Path, action: Mapping[str, Any], event: Mapping[str, str]) -> None:
        self.workspace = workspace
        self.action = action
        self.tools = workspace.parent / "tools"
        self.installed: list[str] = []
        self.used: dict[str, dict[str, str]] = {}
        self.printed = ""
        self.outputs: dict[str, str] = {}
        self.status = 0
        self._pip = workspace.parent / "pip"
        self.context = {
            "github.token": "token",
            "github.ref_name": "main",
            "github.run_id": "7",
            "github.run_attempt": "1",
            "github.event_name": "push",
            "github.event.pull_request.number": "",
            "runner.os": "Linux",
            **event,
        }
        executable(
            self.tools / "python",
            f'#!/bin/sh\nif [ "$1 $2" = "-m pip" ]; then printf "%s\\n" "$@" >> {self._pip}; exit; fi\n'
            f'exec {shlex.quote(sys.executable)} "$@"\n',
        )

    @property
    def path(self) -> str:
        """Where programs are found."""
        return os.pathsep.join([str(self.tools), str(Path(sys.executable).parent), os.environ["PATH"]])

    def run(self, **inputs: str) -> None:
        """Run the action.

        Args:
            inputs: by name, with ``_`` for ``-``.
        """
        given = {name.replace("_", "-"): value for name, value in inputs.items()}
        if unknown := given.keys() - self.action["inputs"].keys():
            raise ActionError(f"the action has no input {', '.join(unknown)}")
        known = {name: given.get(name, described["default"]) for name, described in self.action["inputs"].items()}
        context = self.context | {f"inputs.{name}": value for name, value in known.items()}
        for step in self.action["runs"]["steps"]:
            condition = step.get("if", "")
            if self.status and "always()" not in condition:
                continue
            if condition and evaluate(condition, context) != "true":
                continue
            if "uses" in step:
                self.used[step["uses"]] = {name: filled(value, context) for name, value in step["with"].items()}
                if step["uses"].startswith("actions/cache/restore@"):
                    context[f"steps.{step['id']}.outputs.cache-primary-key"] = filled(step["with"]["key"], context)
                continue
            outputs = self._run(step, context)
            context |= {f"steps.{step.get('id', '')}.outputs.{name}": value for name, value in outputs.items()}
        self.installed = self._pip.read_text().splitlines()[3:] if self._pip.exists() else []
        self.outputs = {name: filled(output["value"], context) for name, output in self.action["outputs"].items()}

    def _run(self, step: Mapping[str, Any], context: Mapping[str, str]) -> dict[str, str]:
        output = self.workspace.parent / "output"
        output.write_text("")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "PYTEST_"))}
        environment |= {
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_ACTION_PATH": "/actions/kit",
            "GITHUB_OUTPUT": str(output),
            "GITHUB_REPOSITORY": "me/my-queue",
            "GITHUB_STEP_SUMMARY": str(self.workspace.parent / "summary.md"),
            "PATH": self.path,
        }
        environment |= {name: filled(value, context) for name, value in step.get("env", {}).items()}
        ended = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.workspace / filled(step.get("working-directory", "."), context),
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )
        self.printed += ended.stdout
        self.status = self.status or ended.returncode
        return dict(line.split("=", 1) for line in output.read_text().splitlines())
