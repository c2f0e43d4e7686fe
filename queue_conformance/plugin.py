"""pytest's hooks, thin. Nothing heavy is imported until an option asks for a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queue_conformance import options

if TYPE_CHECKING:
    import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    options.add_options(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare the hooks for authors."""
    from queue_conformance import hooks

    pluginmanager.add_hookspecs(hooks)


def pytest_configure(config: pytest.Config) -> None:
    """Register the hooks that examine implementations, if an option asks for them.

    Raises:
        pytest.UsageError: if an option is wrong.
    """
    if options.asked(config):
        from queue_conformance import session

        session.start(config)
