"""What pytest prints, without secrets."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from queue_conformance.baseline.helpers import explained
from queue_conformance.compat.pytest import TerminalRepr, TerminalWriter
from queue_conformance.engine.verdicts import RuleVerdict
from queue_conformance.reports import ImplementationReport, Report, failure
from queue_conformance.reports.placement import most_urgent_first
from queue_conformance.running.replay import REPLAY, last
from queue_conformance.secrets import Secrets
from queue_conformance.specification.kinds import kind_named

_COLOURS = {"expected": "green", "actual": "red", "hint": "cyan", "script": "bold"}
"""By the labels of texts."""


@dataclass(frozen=True)
class Crash:
    """What pytest looks for in a check that failed: for its summary, the message; for ``--tb=line``, all as one line."""

    nodeid: str
    message: str

    def __str__(self) -> str:
        return f"{self.nodeid}: {self.message}"


class Failure(TerminalRepr):
    """What pytest shows of a check that failed.

    Args:
        text: what stands below its head, or ``""`` where its line says all.
        reprcrash: its line.
    """

    def __init__(self, text: str, reprcrash: Crash) -> None:
        self._text = text
        self.reprcrash = reprcrash

    def toterminal(self, tw: TerminalWriter) -> None:
        """Write it in colours."""
        if self._text:
            write(tw, self._text)


def write(tw: TerminalWriter, text: str) -> None:
    """Write a failure in colours."""
    for line in text.split("\n"):
        label = line.split()[0] if line.startswith("  ") and line[2:3].strip() else ""
        markup = _COLOURS.get(label) or ("bold" if line and line[0] != " " else "")
        tw.line(line, **({markup: True} if markup else {}))


def drawn(
    found: ImplementationReport,
    verdict: RuleVerdict,
    breaks: Sequence[str],
    *,
    report: Report,
    kept: Path | None,
    width: int,
    verbosity: int,
) -> str:
    """Return a failed rule as a terminal shows it: the one to mend first with the command for its script.

    Args:
        breaks: the rules that fail at the same line, and are not shown elsewhere.
        kept: where the report is kept in pytest's cache, or ``None``.
    """
    assert verdict.violation is not None
    shown = verdict.violation
    if len(shown.operations) == 1:  # which may be a call of the kit's alone
        shown = replace(shown, operations=tuple(explained(shown, kind_named(found.kind).folders)))
    if verbosity > 0:
        return failure.render(verdict.rule, shown, width, script=verbosity > 1)
    command = f"{to_replay(report, found.name, verdict.rule.id, kept)} --print" if kept else "pytest -vv shows it"
    is_first = verdict.rule.id == most_urgent_first(found)[0].rule.id
    return failure.brief(verdict.rule, shown, width, command if is_first else "", breaks)


def to_replay(report: Report, name: str, rule: str, kept: Path) -> str:
    """Return the command that runs the script of a failed rule again.

    Args:
        kept: where the report is.
    """
    words = [REPLAY]
    if (near := last()) is None or not near.samefile(kept):
        words.append(shlex.quote(str(kept)))
    words.append(rule)
    if sum(v.rule.id == rule and v.violation is not None for found in report.implementations for v in found.verdicts) > 1:
        words.append(f"--implementation={shlex.quote(name)}")
    return " ".join(words)


class WithoutSecrets:
    """The stream to which pytest writes: summaries, warnings, errors of its own, and what other tests failed with.

    Where nobody reads it any more, as behind ``| head -1``, the run goes on all the same: its report is yet to be written.

    Args:
        secrets: returns the secrets that are known so far.
    """

    def __init__(self, stream: Any, secrets: Callable[[], Secrets]) -> None:
        self._stream = stream
        self._secrets = secrets

    def write(self, text: str) -> int:
        """Write a text without secrets."""
        with suppress(BrokenPipeError):
            self._stream.write(self._secrets().values(text))
        return len(text)

    def flush(self) -> None:
        """Write what has been kept back; what cannot be read by anybody goes nowhere."""
        try:
            self._stream.flush()
        except BrokenPipeError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def told(shown: Any, hide: Callable[[str], str]) -> Any:
    """Return what pytest shows of a failure; its text, if there are secrets in it."""
    if shown is None:
        return None
    if isinstance(shown, tuple):  # of what was skipped: file, line, reason
        return tuple(hide(one) if isinstance(one, str) else one for one in shown)
    text = str(shown)
    return shown if hide(text) == text else hide(text)
