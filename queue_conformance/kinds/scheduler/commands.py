"""The commands of schedulers, in lockstep with a model."""

from __future__ import annotations

from collections import Counter
from typing import Any

from queue_conformance.engine.bench import Bench
from queue_conformance.engine.driver import Item
from queue_conformance.engine.lockstep import Lockstep, Row, command, machine
from queue_conformance.engine.outcomes import NotApplicable, RuleBroken
from queue_conformance.engine.recording import OperationRaised, describe
from queue_conformance.kinds.scheduler.attribution import ABLATIONS
from queue_conformance.kinds.scheduler.driver import POOL, REDIRECTED, RETRIED, OpenScheduler, traits
from queue_conformance.kinds.scheduler.kind import SCHEDULER
from queue_conformance.kinds.scheduler.layout import layout_of, order_rule, settings_of
from queue_conformance.kinds.scheduler.model import Place, SchedulerModel
from queue_conformance.kinds.scheduler.script_support import Trouble
from queue_conformance.specification.kinds import EXTERNAL_QUEUE

ENQUEUED = ("scheduler/enqueued", "scheduler/enqueued/disk", "scheduler/enqueued/memory")
DEQUEUED = ("scheduler/dequeued", "scheduler/dequeued/disk", "scheduler/dequeued/memory")

UNLESS_ACCEPTED = "if accepted: sys.exit()  # it was stored, which is right too"
"""The line of a script after a request that a scheduler may reject, and has."""

MOST_REDIRECTED = 20 * REDIRECTED
"""The highest number of a redirected copy."""


def transient_errors(bench: Bench) -> range:
    """Return the arguments of the command that needs the transient error."""
    return range(bench.implementation.profile is EXTERNAL_QUEUE)


class SchedulerLockstep(Lockstep):
    """One scheduler and its model.

    Args:
        bench: where the check works.
        number: which of the schedulers that are open side by side this is; only one is used.
        job: whether there is a job directory; if not given, where the scheduler can use one.

    Attributes:
        on_disk: the scheduler uses queues in memory and on disk, which the settings name.
        keeps_all: it stores everything in one place that outlives it, whatever the settings say.
    """

    needed = ("enqueue", "next")
    ablations = ABLATIONS

    def __init__(self, bench: Bench, number: int, *, job: bool | None = None) -> None:
        super().__init__(bench, number)
        self.job = "job" if (bench.offers("persistent") if job is None else job) else None
        self.configurable = bench.offers("configurable")
        persistent = bool(self.job) and bench.offers("persistent")
        self.on_disk = persistent and self.configurable
        self.keeps_all = persistent and not self.configurable
        self.model = SchedulerModel(traits, layout_of(bench))
        self.settings = settings_of(bench) if self.on_disk else {}
        self._rejected: set[int] = set()
        self._failed: set[int] = set()
        self._before: set[int] = set()
        self._lost_sight = False
        self._last: tuple[int, Any] | None = None
        self._disorder: RuleBroken | None = None
        self.scheduler: OpenScheduler = bench.open(self.settings, job=self.job)

    # --- Commands --------------------------------------------------------------------------------------------------

    @command(
        *("scheduler.enqueue.true", "scheduler.enqueue.false", "scheduler.enqueue.answers", "scheduler.enqueue.bool"),
        *("scheduler.enqueue.duplicate", "scheduler.enqueue.dont-filter", "scheduler.enqueue.stats"),
        arguments=range(len(POOL)),
    )
    def enqueue(self, number: int) -> bool | None:
        """Enqueue the request of a number, and judge the answer; return whether it was accepted, ``None`` if that failed."""
        return None if self._lost_sight else self._enqueue(number, self.bench.driver.fresh(number))

    @command()
    def redirect(self, _argument: int = 0) -> bool | None:
        """Enqueue a copy of what just came, with another URL."""
        if self._lost_sight or self._last is None or (found := self._last[0] + REDIRECTED) > MOST_REDIRECTED:
            return None
        url = self.bench.driver.url(found)
        return self._enqueue(found, Item(self._last[1].replace(url=url), f'popped.replace(url="{url}")', found))

    @command()
    def retry(self, _argument: int = 0) -> bool | None:
        """Enqueue a copy of what just came, which must not be filtered."""
        if self._lost_sight or self._last is None:
            return None
        number, value = self._last
        found = number if traits(number).dont_filter else number + RETRIED
        return self._enqueue(found, Item(value.replace(dont_filter=True), "popped.replace(dont_filter=True)", found))

    def _enqueue(self, number: int, item: Item) -> bool | None:
        waiting, stored = list(Trouble.pushes), len(Trouble.stored)
        try:
            result = self.scheduler.enqueue(item)
        except OperationRaised as raised:
            error = waiting[0] if len(Trouble.pushes) < len(waiting) else None
            if raised.error in Trouble.errors and not isinstance(raised.error, ValueError):
                self.model.fail(number)  # what the queue of the settings raises so is a matter of that queue
                return None
            if raised.error is not error or self._falls_back(error):
                if rule := self._rule_of_fallback(number, error, raised.error):
                    raised.owner = rule
                raise
            self.covered["scheduler.enqueue.other-propagates"] += 1
            self.model.fail(number)
            self._failed.add(number)
            return None
        error = waiting[0] if len(Trouble.pushes) < len(waiting) else None
        if error is not None and not self._falls_back(error):
            tail = _must_raise(self.bench.recorder.steps[-1].source, type(error).__name__)
            actual = f"returned {describe(result)}"
            rule = "scheduler.enqueue.other-propagates"
            self.bench.fail(rule, f"{describe(error)} raised", actual, tail, replaces=True, final=True)
        self.covered["scheduler.enqueue.answers"] += 1
        if result is None and self.bench.driver.silent:
            self.model.fail(number)
            self.model.doubtful[number] += 1
            return None
        self._judge_answer(number, result, error)
        if not result:
            self._rejected.add(number)
            if traits(number).volatile:
                self.bench.recorder.note(UNLESS_ACCEPTED)
                self.model.fail(number)
            return False
        if self.on_disk and traits(number).refused:
            self.covered["scheduler.enqueue.fallback-serialization"] += 1
        if self.on_disk and traits(number).volatile:
            on_disk = len(Trouble.stored) > stored  # there are queues that can serialize more than others
        else:
            apart = not self.configurable and not traits(number).volatile  # wherever its store is
            on_disk = apart or (self.on_disk and not traits(number).refused and error is None)
        self.model.enqueue(number, Place.DISK if on_disk else Place.MEMORY)
        return True

    @command(
        *("scheduler.next.none-empty", "scheduler.next.no-spurious-none", "scheduler.next.priority"),
        *("scheduler.next.roundtrip", "scheduler.next.stats"),
        weight=9,
    )
    def next(self, _argument: int = 0) -> int | None:
        """Take out the next request, and judge what came."""
        if self._lost_sight:
            return None
        silences = Trouble.silences
        empty = not self.model.items
        self._last = None
        value = self.scheduler.next("scheduler.next.none-empty" if empty else "scheduler.enqueue.true")
        if value is None:
            self._judge_none(silent=Trouble.silences < silences)
            return None
        number: int | None = self.bench.driver.identify(value)
        allowed = self.model.allowed()
        if number is not None and number not in allowed and self.model.doubtful[number]:
            self.model.doubtful[number] -= 1
            self._before.add(number)
            return number
        if number is not None and number not in self.model.items and number not in self._rejected:
            number = next((n for n in (number + RETRIED, number - RETRIED) if n in allowed), number)  # dont_filter changed
        if number is None or number not in allowed:
            number = self._wrong(number, value, allowed)
            allowed = self.model.allowed()
        self._judge_fields(number, value)
        self._credit(number, allowed)
        self.model.remove(number)
        self._before.add(number)
        self._last = number, value
        return number

    @command("scheduler.pending.exact", "scheduler.pending.pure")
    def pending(self, _argument: int = 0) -> None:
        """Compare ``has_pending_requests()``."""
        if not self._lost_sight:
            self.covered["scheduler.pending.pure"] += 1
            pending, expected = bool(self.scheduler.pending()), bool(self.model.items)
            if self._doubts and not expected:
                return
            self.expect_count("scheduler.pending.exact", pending, expected, f"bool(pending) is {expected}")

    @command("scheduler.len")
    def length(self, _argument: int = 0) -> None:
        """Compare ``len()``, where there is one."""
        if not self._lost_sight and self.bench.offers("length"):
            length, expected = self.scheduler.length(), len(self.model)
            if self._doubts and expected < length <= expected + self._doubts:
                return
            self.expect_count("scheduler.len", length, expected, f"length == {expected}")

    @command("scheduler.enqueue.other-propagates", needs=["persistent", "configurable"])
    def breakage(self, _argument: int = 0) -> None:
        """Let the next push into the disk queue raise what nobody knows."""
        self._trouble('RuntimeError("no")')

    @command("scheduler.enqueue.fallback-transient", arguments=transient_errors, needs=["persistent", "configurable"])
    def transient(self, _argument: int = 0) -> None:
        """Let the next push into the disk queue raise the transient error."""
        self._trouble(self.bench.driver.error("transient-error")[0])

    @command("scheduler.next.outage", needs=["persistent", "configurable"])
    def silence(self, _argument: int = 0) -> None:
        """Let the next pop of the disk queue return nothing although it holds something."""
        self.bench.recorder.note("Trouble.silences += 1")
        Trouble.silences += 1

    @command(weight=0)
    def calm(self, _argument: int = 0) -> None:
        """End all trouble."""
        self._no_trouble()

    @command(
        *("scheduler.resume.all", "scheduler.resume.seen", "scheduler.resume.no-dup", "scheduler.next.memory-first"),
        *("scheduler.enqueue.disk-first", "scheduler.enqueue.fallback-serialization", "scheduler.enqueue.unserializable-stat"),
        weight=2,
        needs=["persistent"],
    )
    def reopen(self, _argument: int = 0) -> None:
        """Stop the crawl and continue it."""
        if self._lost_sight or not self.job:
            return
        self.length()
        self._count()
        self._no_trouble()
        self.scheduler.close()
        self.scheduler = self.bench.open(self.settings, job=self.job, owner="scheduler.resume.all")
        Trouble.stored, Trouble.refusals = [], 0
        self._last = None
        in_memory = list(self.model.stored(Place.MEMORY))
        if self.on_disk and in_memory and not self._memory_is_lost(len(in_memory)):
            return
        self.model.reopen()
        if self.on_disk:
            self.model.doubtful.clear()
        self._before |= self.model.seen | set(in_memory)
        if self.bench.offers("length") and not self._doubts:
            length, expected = self.scheduler.length("scheduler.resume.all"), len(self.model)
            self.expect_count("scheduler.resume.all", length, expected, f"length == {expected}")
        self.covered["scheduler.resume.all"] += 1

    def drain(self) -> None:
        for _ in range(len(self.model) + self._doubts + 1):
            self.next()

    def finish(self) -> None:
        """Take out and compare everything that is left, and close.

        Raises:
            RuleBroken: if everything came, but in a wrong order.
        """
        if not self._lost_sight:
            self._no_trouble()
            self.drain()
            self.pending()
            self.length()
            self._count()
            self.scheduler.close()
        if self._disorder:
            raise self._disorder

    # --- Trouble -----------------------------------------------------------------------------------------------------

    def _trouble(self, source: str) -> None:
        error = eval(source, self.bench.driver.names)
        self.bench.recorder.note(f"Trouble.pushes.append({source})")
        Trouble.pushes.append(error)

    def _no_trouble(self) -> None:
        if Trouble.pushes or Trouble.silences:
            self.bench.recorder.note("Trouble.pushes, Trouble.silences = [], 0")
            Trouble.pushes, Trouble.silences = [], 0

    def _falls_back(self, error: BaseException) -> bool:
        return isinstance(error, ValueError) or type(error) is type(self.bench.driver.error("transient-error")[1])

    def _memory_is_lost(self, count: int) -> bool:
        """Whether nothing is left of what was in memory; if not, nothing more can be judged."""
        lost = False
        if self.bench.offers("length"):
            lost = len(self.scheduler.raw) <= len(self.model) - count
        self._lost_sight = not lost
        return lost

    @property
    def _doubts(self) -> int:
        """How many more requests may be pending than those that must be."""
        return self.model.doubtful.total()

    # --- Comparisons ---------------------------------------------------------------------------------------------------

    def _judge_answer(self, number: int, result: Any, error: BaseException | None) -> None:
        """Compare what ``enqueue_request`` returned with what it should."""
        accepted, either = self.model.accepts(number), number in self.model.unsure and not traits(number).dont_filter
        if either:
            return
        again = number in self.model.seen
        if accepted and not result and traits(number).volatile:
            return  # it says that it cannot store this one
        if accepted and not result:
            self.bench.fail(self._rule_of_rejection(number, error), "a true result", result, ["assert accepted, accepted"])
        if not accepted and result:
            self.bench.fail("scheduler.enqueue.duplicate", "a false result", result, ["assert not accepted, accepted"])
        for rule, ok in {
            "scheduler.enqueue.bool": True,
            "scheduler.enqueue.duplicate": again,
            "scheduler.enqueue.dont-filter": traits(number).dont_filter,
            "scheduler.enqueue.false": not accepted,
            "scheduler.resume.seen": not accepted and number in self._before,
            "scheduler.enqueue.fallback-transient": error is not None,
        }.items():
            self.covered[rule] += ok

    @property
    def _resumed(self) -> bool:
        return any(step.source.startswith("closed = ") for step in self.bench.recorder.steps)

    def _rule_of_rejection(self, number: int, error: BaseException | None) -> str:
        url = self.bench.driver.url(number)
        count = self.model.items.count(number)
        with self.aside():
            stored = self.scheduler.drain().count(url) > count
        if stored:
            return "scheduler.enqueue.bool"
        if number >= RETRIED:  # it was stored before, when it could be filtered
            return "scheduler.enqueue.dont-filter"
        if rule := self._rule_of_fallback(number, error, None):
            return rule
        return "scheduler.enqueue.dont-filter" if traits(number).dont_filter else "scheduler.enqueue.duplicate"

    def _rule_of_fallback(self, number: int, error: BaseException | None, raised: BaseException | None) -> str:
        if error is not None:
            return "scheduler.enqueue.fallback-transient"
        unstorable = traits(number).refused or (traits(number).volatile and isinstance(raised, ValueError))
        return "scheduler.enqueue.fallback-serialization" if self.on_disk and unstorable else ""

    def _judge_fields(self, number: int, value: Any) -> None:
        """Compare what came with the request that went in."""
        rule = "scheduler.next.roundtrip"
        source = self.bench.driver.item(number).source
        names = self.bench.driver.changes(value, number)
        own = ' - {"callback", "meta", "cb_kwargs"}' if traits(number).volatile else ""
        assertion = f"not set(changed({source}, popped)){own}"
        self.bench.expect(rule, not names, f"{source} as it was", f"another {', '.join(names)}", assertion, final=True)

    def _judge_none(self, *, silent: bool) -> None:
        """Decide what it means that nothing came."""
        if not self.model.items:
            self.covered["scheduler.next.none-empty"] += 1
            return
        if silent:
            self.covered["scheduler.next.outage"] += 1
            return
        self._expect_on_disk()
        steps = list(self.bench.recorder.steps)
        left = self.scheduler.drain()
        expected = Counter(map(self.bench.driver.url, self.model.items))
        doubtful = Counter(map(self.bench.driver.url, self.model.doubtful.elements()))
        if not expected - Counter(left) and not Counter(left) - expected - doubtful:
            self.bench.recorder.steps[:] = steps
            if self.configurable:
                tail = ["assert popped is not None, popped"]
                rule = "scheduler.next.no-spurious-none"
                self.bench.fail(rule, f"one of {len(left)} pending requests", "None", tail, final=True)
            self._lost_sight = True  # that is permitted, and everything was taken out now
            return
        del self.bench.recorder.steps[-2]  # the one that returned nothing: in a right scheduler it would return something
        missing = next((n for n in self.model.items if self.bench.driver.url(n) not in left), self.model.items[0])
        literal = f'"{self.bench.driver.url(missing)}"'
        tail = [f"assert {literal} in left, left"]
        if len(left) < len(self.model):  # in another order, which is right too, others may be left
            tail = [f"assert len(left) >= {len(self.model)}, left"]
        self.bench.fail("scheduler.enqueue.true", f"{literal} among what is left", str(left), tail)

    def _wrong(self, number: int | None, value: Any, allowed: list[int]) -> int:
        """Report a request that should not have come now.

        Where Scrapy promises no order, a wrong one is reported when the sequence has ended: all else can be judged without it.
        Then the number of the request is returned.
        """
        self._expect_on_disk()
        driver = self.bench.driver
        rule = "scheduler.enqueue.true"
        if number in self.model.items:
            rule = order_rule(self.bench, self.model, number, allowed)
            if self.configurable and self._lost(number):
                rule = "scheduler.enqueue.true"
        elif number in self._before and self._resumed:
            rule = "scheduler.resume.no-dup"
        elif number in self._failed:
            rule = "scheduler.enqueue.other-propagates"
        elif number in self._rejected:
            rule = "scheduler.enqueue.false"
        condition = driver.among_source("popped", [driver.item(n) for n in allowed])
        expected = " or ".join(driver.describe_item(n) for n in allowed[:3]) or "None"
        tail = [f"assert {condition}, f'got {{popped!r}}'"]
        try:
            self.bench.fail(rule, expected, value, tail)
        except RuleBroken as failure:
            if self.configurable or number is None or number not in self.model.items:
                raise
            failure.survived = True
            self._disorder = failure
            self.model.ignore_priorities()
            return number

    def _lost(self, came: int) -> bool:
        """Whether not everything else comes: then this one came too early only because others are gone."""
        with self.aside():
            left = Counter(self.scheduler.drain())
        return bool(Counter(map(self.bench.driver.url, self.model.items)) - left - Counter([self.bench.driver.url(came)]))

    def _credit(self, number: int, allowed: list[int]) -> None:
        """Credit the rules that this one showed to be kept."""
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
        stats = self.scheduler.crawler.stats
        if self.on_disk:
            rule, name = "scheduler.enqueue.unserializable-stat", "scheduler/unserializable"
            self._expect_stat(rule, name, stats.get_value(name, 0), Trouble.refusals)
            self._expect_on_disk()
        for rule, names in {"scheduler.enqueue.stats": ENQUEUED, "scheduler.next.stats": DEQUEUED}.items():
            for name in names:
                self._expect_stat(rule, name, stats.get_value(name, 0), self.model.stats[name])

    def _expect_on_disk(self) -> None:
        """Compare how many requests went to disk in this run."""
        if self.on_disk:
            rule = "scheduler.enqueue.disk-first"
            pushed, expected = len(Trouble.stored), self.model.stats["scheduler/enqueued/disk"]
            assertion = f"len(Trouble.stored) == {expected}"
            self.bench.expect(rule, pushed == expected, f"{expected} requests on disk", str(pushed), assertion)

    def _expect_stat(self, rule: str, name: str, actual: Any, expected: int) -> None:
        text = f"{name} {expected}"
        self.bench.expect(rule, actual == expected, text, actual, f'crawler.stats.get_value("{name}", 0) == {expected}')


def _must_raise(source: str, name: str) -> list[str]:
    return ["try:", f"    {source}", f"except {name}:", "    pass  # right", "else:", "    raise AssertionError('swallowed')"]


class MemoryLockstep(SchedulerLockstep):
    """A scheduler that keeps everything in memory, although it could use a job directory."""

    ablations = tuple(
        ablation
        for ablation in ABLATIONS
        if ablation.rule in ("scheduler.enqueue.false", "scheduler.pending.pure", "scheduler.len")
    )

    def __init__(self, bench: Bench, number: int) -> None:
        super().__init__(bench, number, job=False)

    @classmethod
    def rows(cls) -> dict[str, Row]:
        return {name: row for name, row in super().rows().items() if "persistent" not in row.needs}

    @classmethod
    def prepare(cls, bench: Bench) -> int:
        if not bench.offers("persistent"):
            raise NotApplicable("it is all that the machine examines")
        bench.examples = max(1, bench.examples // 2)
        return super().prepare(bench)


LOCKSTEP = SchedulerLockstep

machine(SchedulerLockstep, {SCHEDULER})
machine(MemoryLockstep, {SCHEDULER}, name="machine-in-memory")
