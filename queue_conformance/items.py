"""The nodes of a run: one collector per implementation, one item per check."""

from __future__ import annotations

import base64
import pickle
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from queue_conformance.reports import failure
from queue_conformance.specification import load
from queue_conformance.suites import Check
from queue_conformance.suites.examination import Examination
from queue_conformance.suites.outcomes import CheckResult, Observation, Outcome


class ImplementationNode(pytest.Collector):
    """One implementation; its name is the one that pyproject.toml gives it, or the dotted path of its class."""

    def collect(self) -> Iterable[pytest.Item]:
        """Nothing is collected from here: the session makes the items."""
        return []


class CheckItem(pytest.Item):
    """One check of one implementation.

    Attributes:
        check: the check.
        result: what came of it, once it was run.
    """

    def __init__(self, *, check: Check, examination: Examination, fails: Callable[[str], bool], **others: Any) -> None:
        super().__init__(name=check.name, **others)
        self.check = check
        self.result: CheckResult | None = None
        self._examination = examination
        self._fails = fails  # whether the run fails if a rule is broken
        self.extra_keyword_matches.update(name for name in check.rules if name in examination.rules)

    def runtest(self) -> None:
        """Run the check.

        Raises:
            RulesBroken: if it broke a rule that fails the run.
            pytest.skip.Exception: if it could not examine anything.
        """
        self.result = self._examination.run(self.check)
        broken = self.result.broken
        if any(self._fails(observation.rule) for observation in broken):
            raise RulesBroken(broken)
        silent = [o for o in self.result.observations if o.outcome in (Outcome.NOT_EXERCISED, Outcome.NOT_APPLICABLE)]
        if not broken and silent and len(silent) == len(self.result.observations):
            pytest.skip(silent[0].reason)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *args: Any, **kwargs: Any) -> Any:
        """Show broken rules on one screen each; an error of the kit with its traceback."""
        if isinstance(excinfo.value, RulesBroken):
            return excinfo.value.text()
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Name the node as it is, instead of a place in a file."""
        assert self.parent is not None
        return self.config.rootpath / self.parent.name, None, f"{self.name} ({self.parent.name})"


class RulesBroken(Exception):
    """A check broke rules.

    Attributes:
        observations: those of the broken rules.
    """

    def __init__(self, observations: list[Observation]) -> None:
        super().__init__(", ".join(observation.rule for observation in observations))
        self.observations = observations

    def text(self) -> str:
        """Return the failures, one screen each."""
        specification = load()
        return "\n\n".join(failure.render(specification[o.rule], o.violation) for o in self.observations if o.violation)


def pack(value: object) -> str:
    """Turn a value of the kit's own into text, which crosses from a worker to the controller of a distributed run."""
    return base64.b64encode(pickle.dumps(value)).decode()


def unpack(text: str) -> Any:
    """Return the value that :func:`pack` made the text of."""
    return pickle.loads(base64.b64decode(text))
