"""What pytest's cache keeps for later runs and commands: the sequences that failed, and the last report."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from queue_conformance.engine.sequences import Command, Commands
from queue_conformance.replay import LAST
from queue_conformance.reports import Report, files

_SEQUENCES = "queue-conformance/failing-sequences"


class RunCache:
    """What is kept from one run to the next.

    Args:
        cache: pytest's, or ``None`` where there is none; then nothing is kept.
    """

    def __init__(self, cache: pytest.Cache | None) -> None:
        self._cache = cache

    def sequences(self, name: str) -> list[Commands]:
        """Return the sequences that the implementation of that name failed in earlier runs."""
        return [tuple(Command(*operation) for operation in sequence) for sequence in self._all().get(name, [])]

    def _all(self) -> dict[str, Any]:
        return dict(self._cache.get(_SEQUENCES, {})) if self._cache else {}

    def remember(self, report: Report, run: Mapping[str, bool]) -> None:
        """Keep the sequences that fail, so that the next run runs them first, and forget those that do not any more.

        Args:
            report: what came of the run.
            run: the implementations of which checks were run, by name; whether all of them were.
        """
        known = self._all()
        remembered = dict(known)
        for found in report.implementations:
            failed_rules = [violation for v in found.verdicts if v.violation for violation in (v.violation, *v.violation.others)]
            sequences = [list(map(list, violation.sequence)) for violation in failed_rules if violation.sequence]
            if not run.get(found.name):  # what was not run may still fail
                sequences += [sequence for sequence in known.get(found.name, []) if sequence not in sequences]
            remembered.pop(found.name, None)
            if sequences:
                remembered[found.name] = sequences
        if self._cache and remembered != known:
            self._cache.set(_SEQUENCES, remembered)

    def keep(self, report: Report) -> Path | None:
        """Keep the report for commands that name none, and return where; where nothing can be kept, pytest itself says so."""
        if self._cache:
            with suppress(OSError):
                path = self._cache.mkdir(LAST.parent.name) / LAST.name
                files.write(report, path)
                return path
        return None
