"""The second stage: whether an implementation can be built with what the author hands in: functions, settings, a server."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from queue_conformance.discovery.record import Candidate, Discovery
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.recording import OperationRaised, Recorder, describe
from queue_conformance.engine.registry import checks_of, make_driver, part_of
from queue_conformance.faults import servers
from queue_conformance.implementation import Implementation
from queue_conformance.implementation.loading import LoadError
from queue_conformance.implementation.signatures import FACTORY_ARGUMENTS, keywords
from queue_conformance.processes import endings, isolation
from queue_conformance.processes.isolation import Watchdog
from queue_conformance.running.contexts import RunConfig, in_context, twice
from queue_conformance.running.side_effects import quietly
from queue_conformance.specification.kinds import QCRAWL
from queue_conformance.specification.suggestion import did_you_mean


def build(known: Discovery, candidate: Candidate) -> Discovery:
    """Make ready what builds an implementation, and tell whether the author's hook does.

    Raises:
        LoadError: if it cannot be built with what the author hands in, or its server does not start.
    """
    config, path = candidate.config, candidate.path
    # What checks and a driver import is imported once, here, and not in every process that is forked.
    checks_of(known.kind)
    part_of(known.kind, "smoke")
    implementation = known.implementation(candidate.cls)
    make_driver(implementation, Path(), Recorder(Watchdog()))

    if known.server:
        _prepare(known.server, config.directory)
    if config.prepare is not None and known.kind.crawled:
        _expect_preparation(config.prepare, config)
    if config.factory is not None and known.hooked:
        _expect_arguments(config.factory, candidate.settings if not known.kind.crawled else {})
        if _declines(implementation, config):
            if not config.may_decline:
                raise LoadError(f"the function that opens the queue returned None, and not a {path.rpartition('.')[2]}")
            known = replace(known, hooked=False)
    if not known.kind.crawled:
        _expect_settings(implementation, config.factory if known.hooked else None)
    return known


def _prepare(server: str, directory: Path) -> None:
    """Start a server, so that what it needs is there.

    Raises:
        LoadError: if it does not start, or answer.
    """
    try:
        servers.prepare(server, directory)
    except servers.ServerError as error:
        raise LoadError(f"{error}; start it, or name one that the kit starts") from error


def _expect_preparation(prepare: Callable[[Any], object], config: RunConfig) -> None:
    """Complain of a function that cannot prepare a spider.

    Raises:
        LoadError: if it raises, or never returns.
    """

    def tried(_watchdog: Watchdog) -> str:
        from queue_conformance.environments.crawling import make_crawler

        try:
            prepare(make_crawler({}).spider)
        except Exception as error:
            return f"raised {describe(error)}"
        return ""

    how = {"time_limit": config.time_limit, "in_process": config.in_process, "guard": config.guard}
    ended = twice(partial(isolation.run, tried, **how))  # type: ignore[arg-type]
    if why := ended.how if isinstance(ended, endings.Abort) else ended.value:
        raise LoadError(f"the function that prepares spiders {why}")


def _expect_arguments(factory: Callable[..., Any], settings: Mapping[str, str]) -> None:
    """Complain of a function that wants something else than what it can get.

    Raises:
        LoadError: if it does.
    """
    known = [*FACTORY_ARGUMENTS, *settings]
    for parameter in inspect.signature(factory).parameters.values():
        varies = parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
        if parameter.name not in known and parameter.default is parameter.empty and not varies:
            raise LoadError(
                f"the function that opens the queue takes {', '.join(FACTORY_ARGUMENTS)}, those that it needs, by name, "
                f"and not {parameter.name!r}"
            )


def _expect_settings(implementation: Implementation, factory: Callable[..., Any] | None) -> None:
    """Complain of settings that are no arguments of what builds queues.

    Raises:
        LoadError: if there are any.
    """
    by_keyword = implementation.kind.profile is QCRAWL
    names, any_name = keywords(factory or implementation.cls, positional=not by_keyword)
    what = f"the constructor of {implementation.path}" if factory is None else "the function that opens the queue"
    for name in implementation.settings:
        if name not in names and not any_name:
            raise LoadError(f"the setting {name}: {what} has no such argument{did_you_mean(name, names)}")


def _declines(implementation: Implementation, config: RunConfig) -> bool:
    """Whether the author's hook leaves this class to the kit: it returns ``None``."""

    def declined(context: CheckContext) -> bool:
        try:
            with quietly():
                return context.open().raw is None
        except OperationRaised:
            return False

    if not implementation.kind.crawled:  # the arguments are those of the class, if the function declines
        implementation = replace(implementation, settings={})
    ended = in_context(implementation, config, declined)
    return isinstance(ended, isolation.Answer) and ended.value
