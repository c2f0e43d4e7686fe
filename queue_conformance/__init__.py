"""A conformance test kit for crawl queues and schedulers, as a pytest plugin.

There are three entrances to the same rules, verdicts and reports: the command line, ``pytest --queue-class=my_package.MyQueue``;
classes to subclass in one's own tests, such as :class:`DownstreamQueueSuite`; and the function :func:`examine`. Beside them
:func:`state_machine` makes a state machine of Hypothesis.

Queues behind a server raise the errors that the documented interface names, which no release of Scrapy defines:
:class:`TransientError` and :class:`SerializationError`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from queue_conformance.errors import SerializationError, TransientError

if TYPE_CHECKING:
    from queue_conformance.config.values import UsageError as UsageError
    from queue_conformance.frontends.api import examine as examine
    from queue_conformance.frontends.stateful import state_machine as state_machine
    from queue_conformance.frontends.testcases import ConformanceSuite as AsyncQueueSuite
    from queue_conformance.frontends.testcases import ConformanceSuite as AsyncSchedulerSuite
    from queue_conformance.frontends.testcases import ConformanceSuite as BytePriorityQueueSuite
    from queue_conformance.frontends.testcases import ConformanceSuite as ByteQueueSuite
    from queue_conformance.frontends.testcases import ConformanceSuite as CrawlSuite
    from queue_conformance.frontends.testcases import ConformanceSuite as DownstreamQueueSuite
    from queue_conformance.frontends.testcases import ConformanceSuite as DupefilterSuite
    from queue_conformance.frontends.testcases import ConformanceSuite as PriorityQueueSuite
    from queue_conformance.frontends.testcases import ConformanceSuite as RoundRobinQueueSuite
    from queue_conformance.frontends.testcases import ConformanceSuite as SchedulerSuite
    from queue_conformance.frontends.testcases import ConformanceSuite as SpiderStateSuite
    from queue_conformance.implementation.loading import LoadError as LoadError
    from queue_conformance.reports import Report as Report

__all__ = [  # noqa: RUF022
    "SerializationError",
    "TransientError",
    "AsyncQueueSuite",
    "AsyncSchedulerSuite",
    "BytePriorityQueueSuite",
    "ByteQueueSuite",
    "CrawlSuite",
    "DownstreamQueueSuite",
    "DupefilterSuite",
    "LoadError",
    "PriorityQueueSuite",
    "Report",
    "RoundRobinQueueSuite",
    "SchedulerSuite",
    "SpiderStateSuite",
    "UsageError",
    "examine",
    "state_machine",
]

_MODULES = {
    "LoadError": "implementation.loading",
    "Report": "reports",
    "UsageError": "config.values",
    "examine": "frontends.api",
    "state_machine": "frontends.stateful",
}
"""Where the other public names are; they are imported when they are used, because pytest imports this package in every run.

There is a suite for each kind, also for those of other distributions.
"""

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    module = "frontends.testcases" if name.endswith("Suite") else _MODULES.get(name)
    if module:
        return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
