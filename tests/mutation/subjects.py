"""The modules that are mutated, the classes in them that the kit tests, and the tests of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Subject:
    """A module that is mutated.

    Attributes:
        module: its name.
        classes: the names of the classes in it that the kit tests, with the settings that they are built with.
        server: the server behind them, as ``--queue-server`` names it, or ``""``.
        claims: what is claimed of them.
        distribution: where its own tests are found, or ``""``.
        tests: the files of its own tests, in the source distribution.
    """

    module: str
    classes: Mapping[str, Mapping[str, str]]
    server: str = ""
    claims: Mapping[str, str] = field(default_factory=dict)
    distribution: str = ""
    tests: tuple[str, ...] = ()

    @property
    def package(self) -> str:
        """The package that is copied."""
        return self.module.partition(".")[0]


def _plain(*names: str) -> dict[str, Mapping[str, str]]:
    return {name: {} for name in names}


_CRASH_SAFE = {"crash-safe": "yes"}
_SHARED = {"shared": "yes"}
_REDIS = {"REDIS_URL": "redis://{host}:{port}/0", "REDIS_TIMEOUT": "0.3"}
_ASYNC_REDIS = {"host": "{host}", "port": "{port}"}
_JOB = {
    "DUPEFILTER_CLASS": "queue_reference.dupefilter.DupeFilter",
    "SCHEDULER_DISK_QUEUE": "queue_reference.disk.LifoDiskQueue",
    "SCHEDULER_START_DISK_QUEUE": "queue_reference.disk.FifoDiskQueue",
}

SUBJECTS: Mapping[str, Subject] = {
    subject.module: subject
    for subject in (
        Subject(
            "scrapy.squeues",
            _plain(
                "PickleFifoDiskQueue",
                "PickleLifoDiskQueue",
                "MarshalFifoDiskQueue",
                "MarshalLifoDiskQueue",
                "PickleFifoSQLiteQueue",
                "PickleLifoSQLiteQueue",
                "MarshalFifoSQLiteQueue",
                "MarshalLifoSQLiteQueue",
                "FifoMemoryQueue",
                "LifoMemoryQueue",
            ),
            distribution="scrapy",
            tests=("tests/test_squeues.py", "tests/test_squeues_request.py"),
        ),
        Subject(
            "scrapy.pqueues",
            _plain("ScrapyPriorityQueue", "DownloaderAwarePriorityQueue"),
            distribution="scrapy",
            tests=("tests/test_pqueues.py", "tests/test_scheduler.py"),
        ),
        Subject(
            "scrapy.core.scheduler",
            _plain("Scheduler"),
            distribution="scrapy",
            tests=("tests/test_scheduler.py", "tests/test_scheduler_base.py"),
        ),
        Subject(
            "scrapy.dupefilters",
            _plain("RFPDupeFilter", "BaseDupeFilter"),
            distribution="scrapy",
            tests=("tests/test_dupefilters.py",),
        ),
        Subject(
            "scrapy.extensions.spiderstate", _plain("SpiderState"), distribution="scrapy", tests=("tests/test_spiderstate.py",)
        ),
        Subject(
            "queuelib.queue",
            _plain("FifoMemoryQueue", "LifoMemoryQueue", "FifoDiskQueue", "LifoDiskQueue", "FifoSQLiteQueue", "LifoSQLiteQueue"),
            distribution="queuelib",
            tests=("queuelib/tests/test_queue.py",),
        ),
        Subject("queuelib.pqueue", _plain("PriorityQueue"), distribution="queuelib", tests=("queuelib/tests/test_pqueue.py",)),
        Subject(
            "queuelib.rrqueue", _plain("RoundRobinQueue"), distribution="queuelib", tests=("queuelib/tests/test_rrqueue.py",)
        ),
        Subject("qcrawl.core.queues.memory", _plain("MemoryPriorityQueue"), distribution="qcrawl", tests=("tests/core/queues",)),
        Subject("qcrawl.core.queues.disk", _plain("DiskQueue"), distribution="qcrawl", tests=("tests/core/queues",)),
        Subject("qcrawl.core.scheduler", _plain("Scheduler"), distribution="qcrawl", tests=("tests/core/test_scheduler.py",)),
        Subject("queue_reference.memory", _plain("FifoMemoryQueue", "LifoMemoryQueue")),
        Subject("queue_reference.disk", _plain("FifoDiskQueue", "LifoDiskQueue"), claims=_CRASH_SAFE),
        Subject(
            "queue_reference.bytequeues",
            _plain("FifoByteQueue", "LifoByteQueue", "FifoMemoryByteQueue", "LifoMemoryByteQueue"),
        ),
        Subject("queue_reference.collections", _plain("PriorityQueue", "RoundRobinQueue")),
        Subject("queue_reference.pqueues", _plain("PriorityQueue", "SlotPriorityQueue")),
        Subject("queue_reference.scheduler", {"Scheduler": _JOB}, claims=_CRASH_SAFE),
        Subject("queue_reference.dupefilter", _plain("DupeFilter"), claims=_CRASH_SAFE),
        Subject("queue_reference.state", _plain("SpiderState")),
        Subject("queue_reference.async_queues", _plain("MemoryQueue", "DiskQueue")),
        Subject("queue_reference.async_scheduler", _plain("Scheduler")),
        Subject("queue_reference.redis", {"FifoRedisQueue": _REDIS, "LifoRedisQueue": _REDIS}, server="redis"),
        Subject(
            "queue_reference.redis_shared",
            {"SharedFifoRedisQueue": {**_REDIS, "REDIS_LEASE": "1"}},
            server="redis",
            claims=_SHARED,
        ),
        Subject("queue_reference.async_redis", {"RedisQueue": _ASYNC_REDIS}, server="redis", claims=_SHARED),
    )
}
