"""Whether a run can use what the author hands in: functions that build queues and prepare spiders, and settings."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.recording import OperationRaised, describe
from queue_conformance.implementation import Implementation
from queue_conformance.implementation.loading import LoadError
from queue_conformance.implementation.signatures import FACTORY_ARGUMENTS, keywords
from queue_conformance.processes import endings, isolation
from queue_conformance.processes.isolation import Watchdog
from queue_conformance.running.contexts import RunConfig, in_context
from queue_conformance.running.side_effects import quietly
from queue_conformance.specification.suggestion import did_you_mean


def expect_preparation(prepare: Callable[[Any], object], config: RunConfig) -> None:
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
    ended = isolation.twice(lambda: isolation.run(tried, **how))  # type: ignore[arg-type]
    if why := ended.how if isinstance(ended, endings.Abort) else ended.value:
        raise LoadError(f"the function that prepares spiders {why}")


def expect_arguments(factory: Callable[..., Any], settings: Mapping[str, str]) -> None:
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


def expect_settings(implementation: Implementation, factory: Callable[..., Any] | None) -> None:
    """Complain of settings that are no arguments of what builds queues.

    Raises:
        LoadError: if there are any.
    """
    names, any_name = keywords(factory or implementation.cls)
    what = f"the constructor of {implementation.path}" if factory is None else "the function that opens the queue"
    for name in implementation.settings:
        if name not in names and not any_name:
            raise LoadError(f"the setting {name}: {what} has no such argument{did_you_mean(name, names)}")


def declines(implementation: Implementation, config: RunConfig) -> bool:
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
