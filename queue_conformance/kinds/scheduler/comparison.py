"""What a scheduler does, compared with its model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.difference import ALTERED, DOUBLED, EARLY, FOREIGN, LOST, difference
from queue_conformance.engine.lockstep import Lockstep
from queue_conformance.engine.outcomes import RuleFailed
from queue_conformance.engine.recording import describe
from queue_conformance.kinds.scheduler.attribution import ABLATIONS
from queue_conformance.kinds.scheduler.faulty import FaultPlan
from queue_conformance.kinds.scheduler.layout import layout_of, order_rule, settings_of
from queue_conformance.kinds.scheduler.model import Place, SchedulerModel
from queue_conformance.kinds.scheduler.pool import RETRIED, traits
from queue_conformance.kinds.scheduler.subject import Scheduler
from queue_conformance.script_support.example import field, same

ENQUEUED = ("scheduler/enqueued", "scheduler/enqueued/disk", "scheduler/enqueued/memory")
DEQUEUED = ("scheduler/dequeued", "scheduler/dequeued/disk", "scheduler/dequeued/memory")


def altered(names: Sequence[str], pushed: Any, popped: Any) -> tuple[str, str]:
    """Return what the first of some fields was and is, of a dictionary what one key was there, and the names of the others."""
    name, *others = names
    written, was, came = f"popped.{name}", field(pushed, name), field(popped, name)
    if name == "class":
        written, was, came = "type(popped).__name__", type(pushed).__name__, type(popped).__name__
    elif type(was) is type(came) is dict:
        key = next((key for key in was if key not in came or not same(was[key], came[key])), None)
        if key is not None:
            written, was, came = f"{written}.get({key!r})", was[key], came.get(key)
    also = f"; {' and '.join(others)} altered, too" if others else ""
    return f"{written} == {describe(was)}", f"{describe(came)}{also}"


class Comparing(Lockstep):
    """One scheduler and its model, without commands.

    Args:
        job: whether there is a job directory; ``None`` for one if the scheduler can use it.

    Attributes:
        on_disk: whether the scheduler uses queues in memory and on disk, which the settings name.
    """

    needed = ("enqueue", "next")
    ablations = ABLATIONS
    ordinary = ("enqueue:0 enqueue:1 enqueue:2 enqueue:9 enqueue:3 next enqueue:4 enqueue:6 enqueue:8 enqueue:13",)

    def __init__(self, context: CheckContext, number: int, *, job: bool | None = None) -> None:
        super().__init__(context, number)
        persistent = context.offers("persistent")
        self.job = "job" if (persistent if job is None else job) else None
        self.configurable = context.offers("configurable")
        self.on_disk = bool(self.job) and persistent and self.configurable
        self.model = SchedulerModel(layout_of(context))
        self.settings = settings_of(context) if self.on_disk else {}
        self._rejected: set[int] = set()
        self._failed: set[int] = set()
        self._before: set[int] = set()
        self._lost_track = False
        self._last: tuple[int, Any] | None = None
        self._disorder: RuleFailed | None = None
        self.scheduler: Scheduler = context.open(self.settings, job=self.job)

    def _judge_answer(self, number: int, result: Any, error: BaseException | None) -> None:
        """Compare what ``enqueue_request`` returned with what it should."""
        accepted, either = self.model.accepts(number), number in self.model.unsure and not traits(number).dont_filter
        if either:
            return
        again = number in self.model.seen
        if accepted and not result and traits(number).volatile:
            return  # it says that it cannot store this one
        if accepted and not result:
            rule = self._rule_of_rejection(number, error)
            self.expect(rule, lambda accepted: bool(accepted), result, expected="a true result", actual=describe(result))
        if not accepted and result:
            self.expect("scheduler.enqueue.duplicate", lambda accepted: not accepted, result, expected="a false result")
        for rule, ok in {
            "scheduler.enqueue.bool": True,
            "scheduler.enqueue.duplicate": again,
            "scheduler.enqueue.no-false-positive": accepted,
            "scheduler.enqueue.dont-filter": traits(number).dont_filter,
            "scheduler.enqueue.false": not accepted,
            "scheduler.resume.seen": not accepted and number in self._before,
            "scheduler.enqueue.fallback-transient": error is not None,
        }.items():
            self.covered[rule] += ok

    @property
    def _resumed(self) -> bool:
        return any("scheduler.close(" in step.source for step in self.context.recorder.steps)

    def _rule_of_rejection(self, number: int, error: BaseException | None) -> str:
        url = self.context.driver.url(number)
        count = self.model.items.count(number)
        with self.aside():
            stored = self.context.driver.drain(self.scheduler).count(url) > count
        if stored:
            return "scheduler.enqueue.bool"
        if number >= RETRIED:  # it was stored before, when it could be filtered
            return "scheduler.enqueue.dont-filter"
        if rule := self._rule_of_fallback(number, error, None):
            return rule
        return "scheduler.enqueue.dont-filter" if traits(number).dont_filter else "scheduler.enqueue.no-false-positive"

    def _rule_of_fallback(self, number: int, error: BaseException | None, raised: BaseException | None) -> str:
        if error is not None:
            return "scheduler.enqueue.fallback-transient"
        unstorable = traits(number).refused or (traits(number).volatile and isinstance(raised, ValueError))
        return "scheduler.enqueue.fallback-serialization" if self.on_disk and unstorable else ""

    def _judge_fields(self, number: int, value: Any) -> None:
        """Compare what came with the request that went in."""
        rule = "scheduler.next.roundtrip"
        source = self.context.driver.item(number).source
        names = self.context.driver.changes(value, number)
        own = " - {'callback', 'meta', 'cb_kwargs'}" if traits(number).volatile else ""
        if names:
            tail = [f"assert not set(changed({source}, popped)){own}"]
            differs = f"{ALTERED} {', '.join(names)}"
            expected, actual = altered(names, self.context.driver.item(number).value, value)
            self.context.fail(rule, expected, actual, tail, final=True, difference=differs)
        self.covered[rule] += 1

    def _judge_none(self, *, silent: bool) -> None:
        """Decide what it means that nothing came."""
        if not self.model.items:
            self.covered["scheduler.next.none-empty"] += 1
            return
        if silent:
            self.covered["scheduler.next.outage"] += 1
            return
        steps = list(self.context.recorder.steps)
        left = self.context.driver.drain(self.scheduler)
        expected = Counter(map(self.context.driver.url, self.model.items))
        uncertain = Counter(map(self.context.driver.url, self.model.uncertain.elements()))
        lost, besides = expected - Counter(left), Counter(left) - expected - uncertain
        if not lost and not besides:
            self.context.recorder.steps[:] = steps
            self._expect_on_disk()
            if self.configurable:
                rule, wanted = "scheduler.next.no-spurious-none", f"one of {len(left)} pending requests"
                self.expect(rule, lambda popped: popped is not None, None, expected=wanted, final=True)
            self._lost_track = True  # that is permitted, and everything was taken out now
            return
        del self.context.recorder.steps[-2]  # the one that returned nothing: in a right scheduler it would return something
        url = next(iter(lost or besides))
        wanted, holds = f"{url!r} among what is left", f"left.count({url!r}) >= {expected[url]}"
        if not lost:
            most = expected[url] + uncertain[url]
            wanted, holds = f"no more than {most} of {url!r} left", f"left.count({url!r}) <= {most}"
        elif len(left) < len(self.model):  # in another order, which is right too, others may be left
            holds = f"len(left) >= {len(self.model)}"
        elif url not in left:
            holds = f"{url!r} in left"
        self.fail(
            "scheduler.enqueue.true",
            wanted,
            str(left),
            [f"assert {holds}, left"],
            difference=LOST if lost else DOUBLED,
        )

    def _wrong(self, number: int | None, value: Any, allowed: list[int]) -> int:
        """Report a request that should not have come now.

        Where Scrapy promises no order, a wrong one is reported when the sequence has ended: all else can be judged without it.
        Then the number of the request is returned.
        """
        rule, differs = "scheduler.enqueue.true", self._difference_of(number, value)
        if number in self.model.items and self.configurable and self._lost(number):
            differs = LOST  # what should have come
        elif number in self.model.items:
            self._expect_on_disk()
            rule = order_rule(self.context, self.model, number, allowed)
        elif number in self._before and self._resumed:
            rule = "scheduler.resume.no-dup"
        elif number in self._failed:
            rule = "scheduler.enqueue.other-propagates"
        elif number in self._rejected:
            rule = "scheduler.enqueue.false"
        try:
            self.fail_among(rule, allowed, value, difference=differs)
        except RuleFailed as failure:
            if self.configurable or number is None or number not in self.model.items:
                raise
            failure.survived = True
            self._disorder = failure
            self.model.ignore_priorities()
            return number

    def _difference_of(self, number: int | None, value: Any) -> str:
        """Return how a request that came differs from those that may come."""
        if value is None:
            return difference(value)
        if number in self.model.items:
            return EARLY
        return FOREIGN if number is None or number in (*self._failed, *self._rejected) else DOUBLED

    def _lost(self, received: int) -> bool:
        """Whether not everything else comes: then this one came too early only because others are gone."""
        with self.aside():
            left = Counter(self.context.driver.drain(self.scheduler))
        return bool(Counter(map(self.context.driver.url, self.model.items)) - left - Counter([self.context.driver.url(received)]))

    def _cover(self, number: int) -> None:
        """Cover the rules that this request shows to pass."""
        others = [n for n in self.model.items if n != number]
        mine = traits(number)
        equal = [n for n in others if traits(n).priority == mine.priority]
        self.covered["scheduler.enqueue.true"] += 1
        self.covered["scheduler.next.priority"] += any(traits(n).priority < mine.priority for n in others)
        self.covered["scheduler.resume.no-dup"] += self._resumed
        if not self.configurable:
            return
        self.covered["scheduler.next.no-spurious-none"] += 1
        in_memory = set(self.model.stored(Place.MEMORY))
        self.covered["scheduler.next.memory-first"] += number in in_memory and any(n not in in_memory for n in equal)

    def _count(self) -> None:
        """Compare the statistics of this run."""
        if not self.configurable:
            return
        if self.on_disk:
            rule, name = "scheduler.enqueue.unserializable-stat", "scheduler/unserializable"
            self._expect_stat(rule, name, FaultPlan.refusals)
            self._expect_on_disk()
        for rule, names in {"scheduler.enqueue.stats": ENQUEUED, "scheduler.next.stats": DEQUEUED}.items():
            for name in names:
                self._expect_stat(rule, name, self.model.stats[name])

    def _expect_on_disk(self) -> None:
        """Compare how many requests went to disk in this run."""
        if self.on_disk:
            said, number = self.sources.give(FaultPlan, "FaultPlan"), self.model.stats["scheduler/enqueued/disk"]
            self.expect(
                "scheduler.enqueue.disk-first",
                lambda: len(said.stored) == number,
                expected=f"{number} request{'s' * (number != 1)} on disk",
                actual=str(len(said.stored)),
            )

    def _expect_stat(self, rule: str, name: str, number: int) -> None:
        stats = self.sources.give(self.scheduler.crawler.stats, "crawler.stats")
        actual = describe(stats.get_value(name, 0))
        self.expect(rule, lambda: stats.get_value(name, 0) == number, expected=f"{name} {number}", actual=actual)
