"""Suites to subclass in one's own tests, one for each kind of implementation.

from queue_conformance import DownstreamQueueSuite

class TestMyQueue(DownstreamQueueSuite):
    @pytest.fixture
    def queue_class(self):
        return MyQueue

Each check is a test of its own, ``TestMyQueue::test_conformance[queue.pop.fifo]``; their results are reported at the end of
the run, as for ``pytest --queue-class=...``.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar

import pytest

from queue_conformance.compat.pytest import is_fixture, marker_of
from queue_conformance.config.options import CLASS_OPTIONS, OPTIONS, TABLE
from queue_conformance.config.targets import describe
from queue_conformance.config.values import UsageError
from queue_conformance.engine.registry import Check
from queue_conformance.frontends.implementation_run import all_checks_of
from queue_conformance.frontends.items import run_check
from queue_conformance.frontends.joining import SuiteTarget
from queue_conformance.frontends.session import session_of
from queue_conformance.implementation.loading import LoadError, evident_kind, load_class, path_of
from queue_conformance.kinds import BYTE_QUEUE, CRAWL, DOWNSTREAM_QUEUE, SCHEDULER
from queue_conformance.specification.kinds import Kind, all_kinds, kind_named
from queue_conformance.specification.suggestion import did_you_mean

_RESERVED = ("test_conformance", "pytest_generate_tests", "kind", "rules", "only", "skip", "exclude")
"""What no subclass may define, because checks would silently disappear."""

_DESCRIBING = ("settings", "claims", "server", "level", "profile", "prepare_spider", "open_queue")
"""The attributes that say how to test the class."""


class ConformanceSuite:
    """What the suites share; subclass one of those.

    Each attribute below may be a plain value, or a fixture that returns it; such a fixture may use others, for instance one
    that starts a server. The class is discovered once, when the first test runs, so the values must be the same for each test:
    a fixture that would make another one each time is a class method below ``@pytest.fixture(scope="class")``.

    Attributes:
        settings: crawler settings, or arguments of the constructor where there is no crawler; by name, or as ``NAME=VALUE``.
        claims: what the class promises, as for ``--conformance-claim``: ``["order=FIFO", "persistent"]``, or by name.
        server: the server behind it, as for ``--queue-server``: the name of one that the kit starts, or ``HOST:PORT``.
        level: the level whose failed rules fail a test: ``MUST`` (default) or ``SHOULD``.
        profile: the contract that it is held to, if not the usual one of its kind.
        prepare_spider: a function of ``spider`` that gives it what the class looks for in it; see the hook
            ``pytest_prepare_spider``.
        open_queue: a function of ``crawler`` and ``key``, or of those that it needs, that builds one, where the constructor
            is not the one that Scrapy calls; see the hook ``pytest_open_queue``.
        kind: what the suite tests; only the suites themselves set it.
    """

    settings: Any = None
    claims: Any = None
    server: Any = None
    level: Any = None
    profile: Any = None
    prepare_spider: Any = None
    open_queue: Any = None
    kind: ClassVar[Kind]
    _mistake: ClassVar[str] = ""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__module__ == __name__:
            return
        if mistake := _mistake_of(cls):
            cls._mistake = mistake
            for name in ("test_conformance", "pytest_generate_tests"):  # let pytest come so far as to complain
                setattr(cls, name, vars(ConformanceSuite)[name])

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Make one test of each check of the kind.

        Raises:
            pytest.Collector.CollectError: if the suite says too little or too much; the message is one line.
        """
        cls = type(self)
        node = metafunc.definition.getparent(pytest.Class)
        assert node is not None
        try:
            if mistake := cls._mistake or _incomplete(cls):
                raise UsageError(mistake)
            if not metafunc.config.pluginmanager.has_plugin("queue_conformance"):
                raise UsageError("the suite needs the plugin queue_conformance, which -p no:queue_conformance switches off")
            session = session_of(metafunc.config)
        except UsageError as error:
            raise pytest.Collector.CollectError(f"{node.nodeid}: {error}") from None
        if metafunc.function is ConformanceSuite.test_conformance:
            session.expect_suite(node.nodeid)
            checks = all_checks_of(cls.kind)
            metafunc.parametrize("check", checks, ids=[check.name for check in checks])

    def test_conformance(self, check: Check, request: pytest.FixtureRequest) -> None:
        """Run one check of the implementation that this suite describes."""
        __tracebackhide__ = True
        node = request.node.getparent(pytest.Class)
        session = session_of(request.config)
        implementation_run = session.suites.run_of(node.nodeid, lambda: self._described(node.nodeid, request))
        if reason := implementation_run.why_not(check):
            pytest.skip(reason)
        run_check(request.node, implementation_run, check, node.nodeid, session.fails(node.nodeid))

    def _described(self, name: str, request: pytest.FixtureRequest) -> SuiteTarget:
        """Return what the attributes and fixtures say.

        Raises:
            UsageError: if something makes no sense.
            LoadError: if the class is not of the kind of the suite.
        """
        names = (*_DESCRIBING, fixture_named(self.kind.option))
        *values, prepare, factory, cls = (self._value(name, request) for name in names)
        if not isinstance(cls, type | str):
            raise UsageError(f"{names[-1]}: {_instead('a class or its dotted path', cls)}")
        path, cls = _path_of(cls), load_class(cls) if isinstance(cls, str) else cls
        if factory is not None and (not callable(factory) or inspect.ismethod(factory)):
            raise UsageError(f"open_queue: {_instead('a function or a staticmethod of crawler and key', factory)}")
        if prepare is not None and (not callable(prepare) or inspect.ismethod(prepare)):
            raise UsageError(f"prepare_spider: {_instead('a function or a staticmethod of spider', prepare)}")
        said: dict[str, Any] = dict(zip(names, values, strict=False))
        common = session_of(request.config).options.common
        evident = evident_kind(cls)
        if factory is not None and self.kind is DOWNSTREAM_QUEUE and evident is BYTE_QUEUE:
            said["kind"] = self.kind  # what builds it takes a crawler, whatever its constructor looks like
        if self.kind is CRAWL and evident is SCHEDULER:
            said["kind"] = self.kind  # nothing else tells that only crawls are asked of it
        target = describe(name, self.kind.option, path, said, common)
        kind = target.claims.get("kind") or evident or self.kind
        if kind != self.kind:
            raise LoadError(f"{path} is {kind_named(kind).one}: subclass {SUITES[kind_named(kind)].__name__}")
        return SuiteTarget(target, cls, factory, prepare)

    def _value(self, name: str, request: pytest.FixtureRequest) -> Any:
        """Return the value of an attribute, or of the fixture of that name which a subclass defines."""
        found = inspect.getattr_static(self, name)
        found = getattr(found, "__func__", found)
        if is_fixture(found):
            return request.getfixturevalue(name)
        return getattr(self, name)


_path_of = lru_cache(path_of)  # each test asks, and what a factory made is looked for in all modules


def fixture_named(option: str) -> str:
    """Return the name of the attribute or fixture that says what an option says on the command line."""
    return option.replace("-", "_")


def _instead(wanted: str, found: object) -> str:
    if inspect.ismethod(found):
        return f"write {wanted}, or put @pytest.fixture above the method that returns it"
    return f"write {wanted}, or a fixture that returns it, not {found!r}"


def _mistake_of(cls: type[ConformanceSuite]) -> str:
    """Return what is wrong with the bases and names of a subclass, or ``""``."""
    suites = [base for base in cls.__mro__ if base in SUITES.values()]
    if len(suites) != 1:
        known = ", ".join(suite.__name__ for suite in suites or SUITES.values())
        return f"subclass one suite, not {len(suites)}: {known}"
    for name in _RESERVED:
        if getattr(cls, name, None) is not getattr(suites[0], name, None):
            return (
                f"{name} must not be defined in a suite, which runs every check of its kind: choose checks with -k, "
                "give tests of your own other names, and list known failures in the file of --conformance-baseline"
            )
    return next(filter(None, (_mistake_in(name, value, suites[0]) for name, value in vars(cls).items())), "")


def _mistake_in(name: str, value: object, suite: type[ConformanceSuite]) -> str:
    """Return what is wrong with one attribute of a subclass that would silently be ignored, or ``""``."""
    known = [*_DESCRIBING, fixture_named(suite.kind.option)]
    marker = marker_of(value)
    if name in known:
        several = getattr(marker, "params", None)
        return f"{name}: a fixture with params describes several classes; write a suite for each" if several else ""
    if near := did_you_mean(name, known, cutoff=0.88, listed=0):
        return f"a suite has no attribute {name!r}{near}"
    option = f"conformance-{name.replace('_', '-')}"
    if marker or callable(value) or option not in (one.name for one in OPTIONS):
        return ""
    return f"{name} holds for a whole run, not for one suite: say --{option}, or {option} in [{TABLE}] of pyproject.toml"


def _incomplete(cls: type[ConformanceSuite]) -> str:
    name = fixture_named(cls.kind.option)
    if getattr(cls, name, None) is not None:
        return ""
    others = [other for option in CLASS_OPTIONS if hasattr(cls, other := fixture_named(option)) and other != name]
    meant = f", not {others[0]}" if others else ""
    return f"write a fixture {name} that returns the class to test{meant} (a base of other suites must not be called Test...)"


def _suite_for(kind: Kind) -> type[ConformanceSuite]:
    """Make the suite of a kind."""
    name = fixture_named(kind.option)
    text = f"""Tests {kind.plural}.

    Attributes:
        {name}: the class, or its dotted path; or a fixture that returns it.
    """
    described = {"__module__": __name__, "__doc__": text, "kind": kind, name: None}
    return type(kind.suite, (ConformanceSuite,), described)


SUITES: Mapping[Kind, type[ConformanceSuite]] = {kind: _suite_for(kind) for kind in all_kinds()}
"""The suite of each kind."""


def __getattr__(name: str) -> type[ConformanceSuite]:
    for suite in SUITES.values():
        if suite.__name__ == name:
            return suite
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
