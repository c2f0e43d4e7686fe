"""The nodes of a run: one collector per implementation, one item per check."""

from __future__ import annotations

import base64
import pickle
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from queue_conformance.engine.outcomes import CheckResult, Observation, Outcome, Violation
from queue_conformance.engine.registry import Check
from queue_conformance.engine.verdicts import STRONGEST_FIRST
from queue_conformance.frontends.hosted import Hosted
from queue_conformance.frontends.implementation_run import ImplementationRun
from queue_conformance.reports import failure
from queue_conformance.specification import Rule, load


class ImplementationNode(pytest.Collector):
    """One implementation; its name is the one that pyproject.toml gives it, or the dotted path of its class."""

    def collect(self) -> Iterable[pytest.Item]:
        """Nothing is collected from here: the session makes the items."""
        return []


class CheckItem(pytest.Item):
    """One check of one implementation.

    Attributes:
        check: the check.
        implementation_run: what runs it.
    """

    def __init__(
        self, *, check: Check, implementation_run: ImplementationRun | Hosted, fails: Callable[[Violation], bool], **others: Any
    ) -> None:
        super().__init__(name=check.name, **others)
        self.check = check
        self.implementation_run = implementation_run
        self._fails = fails  # whether the run fails if a rule failed
        self.extra_keyword_matches.update(name for name in check.rules if name in implementation_run.rules)

    def runtest(self) -> None:
        """Run the check.

        Raises:
            pytest.fail.Exception: if it broke a rule that fails the run.
            pytest.skip.Exception: if it could not test anything.
        """
        assert self.parent is not None
        run_check(self, self.implementation_run, self.check, self.parent.name, self._fails)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Name the implementation and the check, instead of a place in a file."""
        assert self.parent is not None
        return self.config.rootpath / self.parent.name, None, f"{self.name} ({self.parent.name})"


RESULT = pytest.StashKey[tuple[str, CheckResult]]()
"""Where an item keeps the name of the implementation, and the result of its check."""


def run_check(
    item: pytest.Item, implementation_run: ImplementationRun | Hosted, check: Check, name: str, fails: Callable[[Violation], bool]
) -> None:
    """Run a check as a test of pytest, and keep its result in the item.

    Args:
        name: what reports call the implementation.
        fails: tells whether the run fails by a violation.

    Raises:
        pytest.fail.Exception: if it broke a rule that fails the run, or the kit itself failed.
        pytest.skip.Exception: if it could not test anything.
    """
    __tracebackhide__ = True
    result = implementation_run.run(check)
    item.stash[RESULT] = name, result
    failed_rules = result.failed
    if any(map(fails, result.violations)):
        pytest.fail(screens(failed_rules, {**load(), **implementation_run.rules}), pytrace=False)
    if result.fault:
        pytest.fail(result.fault, pytrace=False)
    if result.internal_error:
        pytest.fail(f"the kit itself failed here: {result.internal_error}", pytrace=False)
    if not failed_rules and (reason := result.trouble or why_silent(result)):
        pytest.skip(reason)


def why_silent(result: CheckResult) -> str:
    """Return why a check that failed no rule says nothing of its own one, or of any if it is called after none; else ``""``."""
    said = [*result.observations, *(result.second or ())]
    said = [observation for observation in said if observation.rule == result.check] or said
    if any(observation.outcome is Outcome.PASSED for observation in said):
        return ""
    first = min(said, key=lambda observation: STRONGEST_FIRST.index(observation.outcome), default=None)
    if first is None:
        return "none of its rules is asked here"
    return first.reason or f"{first.rule} {first.outcome} by another contract, which fails no run"


def check_of(item: pytest.Item) -> Check | None:
    """Return the check that an item runs, in a suite of the author's tests too; ``None`` for any other item."""
    if isinstance(item, CheckItem):
        return item.check
    check = getattr(getattr(item, "callspec", None), "params", {}).get("check")
    return check if isinstance(check, Check) else None


def screens(observations: Iterable[Observation], rules: Mapping[str, Rule]) -> str:
    """Return the failed rules among some observations, one screen each."""
    return "\n\n".join(failure.render(rules[o.rule], o.violation) for o in observations if o.violation)


def pack(value: object) -> str:
    """Turn a value of the kit's own into text, which crosses from a worker to the controller of a distributed run."""
    return base64.b64encode(pickle.dumps(value)).decode()


def unpack(text: str) -> Any:
    """Return the value that :func:`pack` made the text of."""
    return pickle.loads(base64.b64decode(text))
