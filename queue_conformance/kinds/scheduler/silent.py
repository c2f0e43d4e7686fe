"""Schedulers whose answers never say that they stored anything: they are examined like others, by what they store."""

from __future__ import annotations

import pickle
from typing import Any

from scrapy.utils.request import fingerprint

from queue_conformance.engine.driver import Item
from queue_conformance.kinds.scheduler.driver import OpenScheduler, SchedulerDriver


class SilentScheduler(OpenScheduler):
    """A scheduler that answers nothing, and is taken at its length, or else at what it should have answered.

    Args:
        raw, variable, driver, crawler: see :class:`OpenScheduler`.
        seen: the fingerprints that were enqueued in its job; ``None`` if it filters nothing.
    """

    def __init__(self, raw: Any, variable: str, driver: SchedulerDriver, crawler: Any, seen: set[bytes] | None) -> None:
        super().__init__(raw, variable, driver, crawler)
        self._seen = seen

    def enqueue(self, item: Item, owner: str = "scheduler.enqueue.answers") -> Any:
        """Enqueue a request; return whether it was stored, or ``None`` if nothing tells."""
        if callable(getattr(self.raw, "__len__", None)):
            before = self.call(f"before = len({self.variable})", owner, len, self.raw)
            answer = super().enqueue(item, owner)
            return answer or self.call(f"accepted = len({self.variable}) > before", owner, lambda: len(self.raw) > before)
        if answer := super().enqueue(item, owner):
            return answer
        if self._may_refuse(item):
            return None
        again = self._noted(item)
        self._recorder.note(f"accepted = {not again}  # what it should have answered")
        return not again

    def _may_refuse(self, item: Item) -> bool:
        """Whether a request cannot be serialized as most schedulers do, so that it may be stored or not."""
        try:
            pickle.dumps(item.value.to_dict(spider=self.crawler.spider))
        except Exception:
            return True
        return False

    def _noted(self, item: Item) -> bool:
        """Note a request that may come only once; return whether it came before."""
        if self._seen is None or item.value.dont_filter:
            return False
        print_ = fingerprint(item.value)
        again = print_ in self._seen
        self._seen.add(print_)
        return again
