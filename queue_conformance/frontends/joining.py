"""How suites in the author's own tests join a run: each class is discovered by its first test, and an error is reported once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from queue_conformance.config.targets import Target, unasked
from queue_conformance.config.values import UsageError
from queue_conformance.engine.kept_store import KeptStore
from queue_conformance.frontends.implementation_run import ImplementationRun
from queue_conformance.frontends.runs import Run
from queue_conformance.implementation.loading import LoadError
from queue_conformance.processes.isolation import IsolatedError
from queue_conformance.secrets import Secrets


@dataclass(frozen=True, eq=False)
class SuiteTarget:
    """One implementation that a suite describes.

    Attributes:
        target: the implementation; its name is the node id of the suite.
        cls: its class.
        factory: the author's function that builds it, or ``None``.
        prepare: the author's function that gives spiders what the class looks for in them, or ``None``.
    """

    target: Target
    cls: type[Any]
    factory: Callable[..., Any] | None
    prepare: Callable[[Any], object] | None = None


class Suites:
    """The suites of one process.

    Args:
        begin: discovers an implementation.
        run: gets one line per suite whose implementation cannot be tested.
    """

    def __init__(self, begin: Callable[[SuiteTarget], ImplementationRun], run: Run) -> None:
        self._begin = begin
        self._run = run
        self._begun: dict[str, tuple[SuiteTarget, ImplementationRun] | None] = {}
        self._refused: dict[str, str] = {}

    def __iter__(self) -> Iterator[str]:
        """Yield the node ids of the suites, in the order in which they were collected."""
        return iter(self._begun)

    def expect(self, name: str) -> None:
        """Register a suite that was collected."""
        self._begun.setdefault(name, None)

    @property
    def described(self) -> dict[str, SuiteTarget]:
        """What the suites describe whose classes this process has tested, by node id."""
        return {name: begun[0] for name, begun in self._begun.items() if begun}

    def unasked(self, kept: Iterable[KeptStore]) -> list[str]:
        """Return a line for each kept store that nothing in the run has asked for, if there are suites."""
        return [f"{line} in this run" for line in unasked(kept, self._run.targets.values())] if self._begun else []

    def run_of(self, name: str, describe: Callable[[], SuiteTarget]) -> ImplementationRun:
        """Return the run of a suite; the first call discovers the class.

        Args:
            name: the node id of the suite.
            describe: describes the implementation as the current test sees it.

        Raises:
            pytest.fail.Exception: if it cannot be tested.
            pytest.skip.Exception: if that was reported before.
        """
        __tracebackhide__ = True
        if name in self._refused:
            pytest.skip(f"not tested: {self._refused[name]}")
        try:
            described = describe()
            known, implementation_run = self._begun[name] = self._begun[name] or (described, self._begin(described))
            if difference := _difference(known, described):
                raise UsageError(difference)
        except IsolatedError as error:
            line = self._refused[name] = self._run.failed_before_checks(name, error)
            raise pytest.fail.Exception(line, pytrace=False) from None
        except (LoadError, UsageError) as error:
            line = self._refused[name] = str(error)
            self._run.errors.append(f"{name}: {line}")
            raise pytest.fail.Exception(line, pytrace=False) from None  # the line says it all
        except (Exception, pytest.fail.Exception):
            self._refused[name] = "its fixtures failed before, as the first of its tests shows"
            raise
        implementation_run.hand_in(described.factory, described.prepare)
        return implementation_run


def _difference(known: SuiteTarget, described: SuiteTarget) -> str:
    """Return how the description differs from that of the first test of the suite, or ``""``."""
    for name in ("path", "settings", "claims", "server", "level"):
        first, now = getattr(known.target, name), getattr(described.target, name)
        if first != now:
            if name == "settings":
                first, now = (Secrets(first, now).settings(one) for one in (first, now))
            return f"the suite describes another implementation for each test: {name} {first!r}, then {now!r}; {_FIXED}"
    if known.cls is not described.cls:
        return f"the suite makes another class {described.target.path} for each test; {_FIXED}"
    return ""


_FIXED = 'write @pytest.fixture(scope="class") and @classmethod above the fixture that makes it, or one suite for each'
