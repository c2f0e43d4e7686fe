"""What pytest keeps to itself: its writer, its cache before a session, and what it makes of a fixture."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TextIO

import pytest
from _pytest._code.code import TerminalRepr as TerminalRepr
from _pytest._io import TerminalWriter as TerminalWriter
from _pytest.cacheprovider import Cache
from _pytest.terminal import TerminalReporter as TerminalReporter  # public from pytest 8.4 on

_FIXTURE = type(pytest.fixture(lambda: None))
"""A function, before pytest 8.4."""


def writer_of(reporter: TerminalReporter) -> TerminalWriter:
    """Return what a reporter writes with: it knows colours, the width, and the current column."""
    return reporter._tw


def write_past(reporter: TerminalReporter, text: str) -> None:
    """Write to where a reporter writes, but let it count no columns: it would take codes of a terminal for text."""
    reporter._tw._file.write(text)
    reporter._tw.flush()


def send_through(reporter: TerminalReporter, through: Callable[[TextIO], Any]) -> None:
    """Let what a reporter writes go through a file of ours, which gets the one behind it."""
    reporter._tw._file = through(reporter._tw._file)


def cache_of(config: pytest.Config) -> Cache | None:
    """Return the cache of a run that has not begun, or ``None`` if there is to be none."""
    return Cache.for_config(config, _ispytest=True) if config.pluginmanager.has_plugin("cacheprovider") else None


def is_fixture(found: object) -> bool:
    """Whether an attribute of a class is a fixture."""
    return hasattr(found, "_pytestfixturefunction") or (not inspect.isfunction(found) and isinstance(found, _FIXTURE))


def marker_of(fixture: object) -> Any:
    """Return what a fixture was declared with, ``params`` among it; ``None`` if it is none."""
    return getattr(fixture, "_fixture_function_marker", None) or getattr(fixture, "_pytestfixturefunction", None)
