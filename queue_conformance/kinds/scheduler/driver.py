"""The driver of schedulers: ``from_crawler(crawler)``, then ``open(spider)``, and a crawler for each crawl."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

from queue_conformance.compat import scrapy
from queue_conformance.engine.recording import Recorder, Timed
from queue_conformance.engine.scripts import assemble, defined_in, namespace
from queue_conformance.engine.subject import Item
from queue_conformance.engine.variety import Variety
from queue_conformance.environments import engine, graph, judge, site, together
from queue_conformance.environments.crawling import CrawlerDriver
from queue_conformance.environments.items import PLACED, REQUESTS, query_of, request_source, with_meta
from queue_conformance.faults.servers.running import marked
from queue_conformance.implementation import Implementation
from queue_conformance.implementation.capabilities import Capabilities
from queue_conformance.kinds.scheduler import faulty, metadata, plain, script_support, wrappers
from queue_conformance.kinds.scheduler.pool import REDIRECTED, RETRIED, Traits, traits
from queue_conformance.kinds.scheduler.subject import RULES, Scheduler
from queue_conformance.script_support import example, kills, processes, support

_SPIDER = re.compile(r"(?<![\w.])spider\.")


def _around(wrapper: Callable[..., Any], build: Callable[[], Any], *arguments: Any) -> Any:
    return wrapper(build(), *arguments)


DRAIN = 20.0
"""Seconds that it may take to take out all requests of a check: what lets each be waited for takes minutes."""


class Drained(Timed):
    """A scheduler that is drained; its driver is told whether it hesitates."""

    def __init__(self, raw: Any, driver: SchedulerDriver) -> None:
        super().__init__(raw, driver.recorder.watchdog, DRAIN)
        self._driver = driver

    def has_pending_requests(self) -> Any:
        """Ask the scheduler, which has just returned nothing."""
        pending = super().__getattr__("has_pending_requests")()
        self._driver.hesitates |= bool(pending)
        return pending


class SchedulerDriver(CrawlerDriver):
    """Builds schedulers as Scrapy does, each with a crawler of its own.

    Attributes:
        spider_name: the name of the spider of all crawls in one directory.
        hesitates: whether one of them returned nothing although something was pending.
        silent: whether their answers do not say what they stored.
    """

    hesitates = False
    constructor_rule: ClassVar[str] = "scheduler.ctor.from-crawler"
    fault_rule: ClassVar[str] = "scheduler.fault.keeps"
    interface_rule: ClassVar[str] = "scheduler.iface"
    rules: ClassVar[Mapping[str, str]] = {"len": RULES["len"]}
    variety: ClassVar[Variety] = REQUESTS
    gives_jobs = True
    definitions: ClassVar[tuple[ModuleType, ...]] = (support, example, kills)
    imported: ClassVar[tuple[ModuleType, ...]] = (
        *(scrapy, engine, site, graph, judge, together),
        *(faulty, metadata, script_support, wrappers, processes),
    )
    """Modules from which scripts import."""

    def __init__(self, implementation: Implementation, directory: Path, recorder: Recorder) -> None:
        super().__init__(implementation, directory, recorder)
        self.names |= namespace(script_support, wrappers, faulty)
        self._jobs = count(1)
        self.silent = "scheduler.enqueue.bool" in implementation.failed
        self.renew(directory)

    def renew(self, directory: Path) -> None:
        super().renew(directory)
        # Schedulers that store outside the directory find it by the name of the spider.
        self.spider_name = marked(directory, "example", uuid.uuid4().hex[:8])
        faulty.FaultPlan.pushes, faulty.FaultPlan.empty_pops = [], 0
        faulty.FaultPlan.stored, faulty.FaultPlan.refusals, faulty.FaultPlan.errors = [], 0, []
        script_support.ShelfQueue.shelf = {}
        script_support.NotedFilter.calls, script_support.NotedFilter.answer, script_support.NotedFilter.built = [], None, 0

    # --- Settings ----------------------------------------------------------------------------------------------------

    def setting(self, name: str) -> Any:
        """Return what the author, or Scrapy, sets."""
        return self.crawler.settings[name]

    @property
    def always_in_job(self) -> bool:
        """Whether each scheduler is given a job directory: its author sets one, and it needs it, or may need it."""
        found = self.implementation.capabilities
        return self.has_job and (found.needs_job or not found.configurable)  # the queues of settings can do without

    def new_crawler(self, settings: Mapping[str, Any], job: str | None) -> tuple[str, Any]:
        """Make the crawler of one run, with further settings, and the name of its job directory if it has one.

        Returns:
            The Python expression, and the crawler.
        """
        if job is None and "JOBDIR" not in settings and self.always_in_job:
            job = f"job{next(self._jobs)}"
        values, source = self.settings_of(job, **settings)
        self.names["crawler"] = crawler = self.crawler_with(values, self.spider_name)
        name = ", name" if self.implementation.server else ""
        name += f", prepare={self.prepare_name}" if self.prepare_name else ""
        return f"make_crawler({source}{name})", crawler

    # --- Construction ------------------------------------------------------------------------------------------------

    def construction(self, name: str, *, crawler: Any = None, **options: Any) -> tuple[str, Callable[[], Any]]:
        """Tell how a scheduler is built from a crawler; the author's function is also given the name of the job directory."""
        cls = self.implementation.cls
        if self.implementation.factory is not None:
            key = self.job_source(name), str(self.job(name))
            source, build = self.author_builds(cls=(self.class_name, cls), crawler=("crawler", crawler), key=key)
        elif hasattr(cls, "from_crawler"):  # the same distinction as in scrapy.utils.misc.build_from_crawler
            source, build = f"{self.class_name}.from_crawler(crawler)", lambda: cls.from_crawler(crawler)
        else:
            source, build = f"{self.class_name}()", cls
        if self.silent and callable(getattr(cls, "__len__", None)):
            source, build = f"AnswersByLength({source})", partial(_around, wrappers.AnswersByLength, build)
        elif self.silent:
            filters = self.implementation.capabilities.filters
            source = f"AnswersAsExpected({source}, crawler, {filters})"
            build = partial(_around, wrappers.AnswersAsExpected, build, crawler, filters)
        if self.implementation.capabilities.hears_downloads:
            source, build = f"Downloads({source}, crawler)", partial(_around, wrappers.Downloads, build, crawler)
        return source, build

    def open(  # type: ignore[override]
        self, settings: Mapping[str, Any] | None = None, *, job: str | None = None, rule: str | None = None
    ) -> Scheduler:
        """Build a scheduler and open it.

        Args:
            settings: settings besides those of the author.
            job: the name of its job directory, if it has one.
            rule: the rule that fails if this raises, if not the one on construction.
        """
        source, crawler = self.new_crawler(settings or {}, job)
        self.recorder.note(f"crawler = {source}")
        source, build = self.construction(job or "job", crawler=crawler)
        rule = rule or self.constructor_rule
        scheduler = Scheduler(self.recorder.call(f"scheduler = {source}", rule, build), "scheduler", self.operations(), RULES)
        scheduler.crawler = crawler
        if scheduler.raw is not None:
            scheduler.open(rule)
        return scheduler

    def drain(self, scheduler: Scheduler) -> list[str]:
        """Take out everything as one operation; return the URLs."""
        drained = Drained(scheduler.raw, self)
        found: list[str] = self.recorder.call("left = drain(scheduler)", RULES["next_request"], script_support.drain, drained)
        return found

    def opener(self) -> Callable[[], Any]:
        """Return what another process opens the scheduler of the job with."""

        def opened() -> Any:
            crawler = self.new_crawler({}, "job")[1]
            return script_support.opened_for(crawler, self.construction("job", crawler=crawler)[1])

        return opened

    def store_one(self) -> Iterator[None]:
        scheduler = self.open(job="job")
        yield
        scheduler.enqueue_request(self.item(0))
        yield
        scheduler.next_request()
        scheduler.close()

    def waiting(self) -> Callable[[], object]:
        """Ask for a request that comes behind another one, and once more when none is left."""
        scheduler = self.open()
        for number in (0, 1):
            scheduler.enqueue_request(self.fresh(number))
        scheduler.next_request()
        return lambda: (self.drain(scheduler), scheduler.next_request())

    def probe(self, workdir: Callable[[], Path]) -> Capabilities:
        """Find out what a scheduler offers."""
        from queue_conformance.kinds.scheduler.probing import probe

        return probe(self, workdir)

    # --- Requests ----------------------------------------------------------------------------------------------------

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(name for name in super().fields if name not in PLACED)

    def evaluate(self, source: str) -> Item:
        return super().evaluate(_SPIDER.sub("crawler.spider.", source))  # each crawler of a script has a spider of its own

    def _item(self, number: int) -> Item:
        special = self._traits(number)
        fields = {} if special.further else self.fields_of(number % REDIRECTED)
        fields.pop("url", None)  # the URL has it
        meta = {"is_start_request": True} if special.start else {}
        meta |= {"refuse": True} if special.refused else {}
        given = [f"priority={special.priority}"] if special.priority else []
        given += ["dont_filter=True"] if special.dont_filter else []
        given += [special.further] if special.further else []
        source = request_source(self.url(number), with_meta(fields, meta), given)
        item = self.evaluate(source.replace("Request", special.cls, 1) if special.further else source)
        return Item(item.value, item.source, number)

    def fresh(self, number: int) -> Item:
        """Return a new object for the request of a number, as a spider would make it."""
        item = self._item(number)
        self._items.setdefault(number, item)
        return item

    def url(self, number: int) -> str:
        """Return the URL of the request of a number."""
        special = self._traits(number)
        query = "" if special.further else query_of(self.fields_of(number % REDIRECTED))
        return f"https://{special.slot}/{number % RETRIED}{query}"

    def _traits(self, number: int) -> Traits:
        """Return what is special about a request; one with further arguments is a plain one where items differ in some fields."""
        special = traits(number)
        if special.further and not special.volatile and self.varied != {*self.fields}:
            return replace(special, cls="Request", further="")
        return special

    def identify(self, value: Any) -> int | None:
        number = super().identify(value)
        if number is not None and value.dont_filter and not traits(number).dont_filter:
            return number + RETRIED
        return number

    def same(self, value: Any, item: Item) -> bool:
        """Whether what came out is the request of a number, in all its fields."""
        assert item.number is not None
        return not self.changes(value, item.number)

    def changes(self, value: Any, number: int) -> list[str]:
        """Return the names of the fields in which what came out differs from the request of a number."""
        names = script_support.changed(self._item(number).value, value)
        return [name for name in names if not (traits(number).volatile and name in ("callback", "meta", "cb_kwargs"))]

    def setup(self, body: str) -> list[str]:
        """The crawlers are made among the operations."""
        return [*self.scratch_source, *self.name_of_spider_source]

    def script(self, title: str, lines: Sequence[str], *definitions: ModuleType) -> str:
        body = "\n".join(lines)
        if not _FAULT_PLAN.search(body):
            body = _FAULTY_PATH.sub(r"\1", body)
        imports, tested = self.under_test()
        plain_ones = [plain] if self.is_plain(body) else []
        names = {name: f"from {each.__name__} import {name}" for each in self.imported for name in defined_in(each)}
        for each in plain_ones:
            names = {name: line for name, line in names.items() if name not in defined_in(each)}
        known = [*self.definitions, *plain_ones, *definitions]
        return assemble(title, imports, [*tested, *self.setup(body), *body.splitlines()], known, names)

    def is_plain(self, body: str) -> bool:
        """Whether the operations of a script need no running reactor, no spider of the kit's own, and no patience."""
        odd = self.mentions_a_loop or self.hesitates or self.implementation.prepare or self.implementation.server
        return not odd and "spider." not in body.replace("crawler.spider)", "")

    def error(self, name: str) -> tuple[str, BaseException]:
        """Return an error for a queue to raise, by the name of what it means: its source, and the object."""
        claimed = self.implementation.claims.get(name)
        default = {"transient-error": "TransientError", "serialization-error": "SerializationError"}[name]
        cls = f"resolve_name({claimed!r})" if claimed else default
        return f"{cls}('no')", eval(f"{cls}('no')", self.names)


_FAULTY_PATH = re.compile(r"faulty\(('[^']*')\)")
_FAULT_PLAN = re.compile(r"\b(FaultPlan|stored|PushRaises|EmptyPops)\b|'refuse'")
"""What a script needs faulty queues for: what makes them fail, and what looks at what they saw."""
