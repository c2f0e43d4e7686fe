"""pytest's hooks, thin. Nothing heavy is imported until an option asks for a run."""

from __future__ import annotations

import gc
from typing import Any

import pytest

from queue_conformance.config import options
from queue_conformance.processes import descriptors


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options, before any code of the author's runs."""
    descriptors.withhold_inherited()
    options.add_options(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare the hooks for authors."""
    from queue_conformance import hooks

    pluginmanager.add_hookspecs(hooks)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Run a campaign instead of a session, if an option asks for one.

    Raises:
        pytest.UsageError: if an option is wrong, or the campaign cannot go on.
    """
    if not any(config.getoption(f"--{name}") for name in options.OF_A_CAMPAIGN):
        return None
    from queue_conformance import campaign

    return campaign.run_for_pytest(config)


def pytest_configure(config: pytest.Config) -> None:
    """Register the hooks that test implementations, if an option asks for them.

    Raises:
        pytest.UsageError: if an option is wrong.
    """
    if options.asked(config):
        collecting = gc.isenabled()
        gc.disable()  # what is imported stays to the end: to look for garbage in it again and again is a twentieth of a short run
        try:
            from queue_conformance.frontends import session

            session.start(config)
        finally:
            if collecting:
                gc.enable()
        if config.getoption(f"--{options.MEASURE_OPTION}"):
            from queue_conformance.measuring import plugin

            plugin.start(config)
    elif config.getoption("dist", "no") != "no" and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Controller(config))


class Controller:
    """Waits in the controller of a distributed run, which collects nothing itself, for a worker that runs suites."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Begin the report of the run with the first result."""
        if hasattr(report, "queue_conformance"):
            self._session().pytest_runtest_logreport(report)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Begin the report of the run with what a worker found out, if there was no result."""
        if "queue_conformance" in getattr(node, "workeroutput", {}):
            self._session().pytest_testnodedown(node)

    def _session(self) -> Any:
        from queue_conformance.frontends import session

        self._config.pluginmanager.unregister(self)
        return session.session_of(self._config)
