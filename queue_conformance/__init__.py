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
    from queue_conformance.discovery.loading import LoadError as LoadError
    from queue_conformance.frontends.api import examine as examine
    from queue_conformance.frontends.stateful import state_machine as state_machine
    from queue_conformance.frontends.testcases import AsyncQueueSuite as AsyncQueueSuite
    from queue_conformance.frontends.testcases import AsyncSchedulerSuite as AsyncSchedulerSuite
    from queue_conformance.frontends.testcases import BytePriorityQueueSuite as BytePriorityQueueSuite
    from queue_conformance.frontends.testcases import ByteQueueSuite as ByteQueueSuite
    from queue_conformance.frontends.testcases import DownstreamQueueSuite as DownstreamQueueSuite
    from queue_conformance.frontends.testcases import DupeFilterSuite as DupeFilterSuite
    from queue_conformance.frontends.testcases import PriorityQueueSuite as PriorityQueueSuite
    from queue_conformance.frontends.testcases import RoundRobinQueueSuite as RoundRobinQueueSuite
    from queue_conformance.frontends.testcases import SchedulerSuite as SchedulerSuite
    from queue_conformance.frontends.testcases import SpiderStateSuite as SpiderStateSuite
    from queue_conformance.options import UsageError as UsageError
    from queue_conformance.reports import Report as Report

__all__ = [  # noqa: RUF022
    "SerializationError",
    "TransientError",
    "AsyncQueueSuite",
    "AsyncSchedulerSuite",
    "BytePriorityQueueSuite",
    "ByteQueueSuite",
    "DownstreamQueueSuite",
    "DupeFilterSuite",
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
    "LoadError": "discovery.loading",
    "Report": "reports",
    "UsageError": "options",
    "examine": "frontends.api",
    "state_machine": "frontends.stateful",
    **{name: "frontends.testcases" for name in __all__ if name.endswith("Suite")},
}
"""Where the other public names are; they are imported when they are used, because pytest imports this package in every run."""

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
