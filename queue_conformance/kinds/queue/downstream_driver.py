"""The driver of Scrapy's downstream queues: ``from_crawler(crawler, key)``, and requests as items."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

from queue_conformance.engine.variety import Variety
from queue_conformance.environments import world
from queue_conformance.environments.crawling import CrawlerDriver
from queue_conformance.environments.items import ROUTED
from queue_conformance.implementation.capabilities import Capabilities
from queue_conformance.kinds.queue import at_once, plain
from queue_conformance.kinds.queue.attribution import RULES, WHERE_SHARED
from queue_conformance.kinds.queue.probing import Probe


class DownstreamQueueDriver(CrawlerDriver):
    """Builds queues as ``ScrapyPriorityQueue`` does, with a crawler of the kit's own."""

    constructor_rule: ClassVar[str] = "queue.ctor.from-crawler"
    reopen_rule: ClassVar[str] = "queue.persist.reopen"
    own_directory: ClassVar[bool] = False
    leak_rule: ClassVar[str] = "queue.close.releases"
    rules: ClassVar[Mapping[str, str]] = RULES
    instead: ClassVar[Mapping[str, str]] = WHERE_SHARED
    fault_rule: ClassVar[str] = "queue.fault.recovers"
    interface_rule: ClassVar[str] = "queue.ctor.interface"
    lives_without_close: ClassVar[bool] = True
    variety: ClassVar[Variety] = ROUTED

    @property
    def fields(self) -> tuple[str, ...]:
        found, claims = self.implementation.capabilities, self.implementation.claims
        minds = "by-priority" in found.names or "priority" in claims  # then checks of priorities say which they give
        others = (*found.refuses, *(["priority"] if minds else []))
        return tuple(name for name in super().fields if name not in others)

    def waiting(self) -> Callable[[], object]:
        """Pop from an empty queue."""
        pop: Callable[[], object] = self.open().pop
        return pop

    def probe(self, workdir: Callable[[], Path]) -> Capabilities:
        return Probe(self, workdir).requests()

    def script(self, title: str, lines: Sequence[str], *definitions: ModuleType) -> str:
        if self.implementation.server:
            return super().script(title, lines, *definitions)
        has_bodies = re.search(r"\bkey\(|\bbody=|most=", "\n".join(lines))
        return super().script(title, lines, *definitions, at_once, *(() if has_bodies else (plain,)))

    def construction(self, name: str, **options: Any) -> tuple[str, Callable[[], Any]]:
        world.enter()
        cls = self.implementation.cls
        key, source = f"{self.directory}/{name}", f"directory + {'/' + name!r}"
        if self.implementation.factory is not None:
            return self.author_builds(cls=(self.class_name, cls), crawler=("crawler", self.crawler), key=(source, key))
        if hasattr(cls, "from_crawler"):  # the same distinction as in scrapy.utils.misc.build_from_crawler
            return f"{self.class_name}.from_crawler(crawler, {source})", lambda: cls.from_crawler(self.crawler, key)
        return f"{self.class_name}({source})", lambda: cls(key)
