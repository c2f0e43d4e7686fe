"""The commands of schedulers, in lockstep with a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.lockstep import Row, command, machine
from queue_conformance.engine.outcomes import NotApplicable
from queue_conformance.engine.recording import OperationRaised, describe
from queue_conformance.engine.sequences import Command
from queue_conformance.engine.subject import Item
from queue_conformance.kinds.scheduler.attribution import ABLATIONS
from queue_conformance.kinds.scheduler.comparison import Comparing
from queue_conformance.kinds.scheduler.faulty import FaultPlan
from queue_conformance.kinds.scheduler.kind import SCHEDULER
from queue_conformance.kinds.scheduler.layout import IN_JOB
from queue_conformance.kinds.scheduler.model import Place
from queue_conformance.kinds.scheduler.pool import POOL, REDIRECTED, REFUSED, RETRIED, traits
from queue_conformance.specification.kinds import EXTERNAL_QUEUE

UNLESS_ACCEPTED = "if accepted: sys.exit()  # it was stored, which is right too"
"""The line of a script after a request that a scheduler may reject, and has."""

MOST_REDIRECTED = 19 * REDIRECTED
"""The highest number of a request that is redirected once more."""


def transient_errors(context: CheckContext) -> range:
    """Return the arguments of the command that needs the transient error."""
    return range(context.implementation.profile is EXTERNAL_QUEUE)


class SchedulerLockstep(Comparing):
    """One scheduler and its model."""

    operations: ClassVar[Mapping[str, str]] = {
        "enqueue": "enqueue_request",
        "redirect": "enqueue_request of a redirect",
        "retry": "enqueue_request of a retry",
        "next": "next_request",
        "drain": "next_request",
        "pending": "has_pending_requests",
        "length": "len",
        "breakage": "disk push that raises",
        "transient": "disk push that raises the transient error",
        "empty_pop": "disk pop that returns nothing",
    }

    @classmethod
    def special(cls, command: Command) -> Iterable[str]:
        if command.name in ("breakage", "transient"):
            return (REFUSED,)
        return traits(command.argument).special if command.name == "enqueue" else ()

    @command(
        *("scheduler.enqueue.true", "scheduler.enqueue.false", "scheduler.enqueue.answers", "scheduler.enqueue.bool"),
        *("scheduler.enqueue.duplicate", "scheduler.enqueue.no-false-positive"),
        *("scheduler.enqueue.dont-filter", "scheduler.enqueue.stats"),
        arguments=range(len(POOL)),
    )
    def enqueue(self, number: int) -> bool | None:
        """Enqueue the request of a number, and judge the answer; return whether it was accepted, or ``None`` if nobody knows."""
        return None if self._lost_track else self._enqueue(number, self.context.driver.fresh(number))

    @command()
    def redirect(self) -> bool | None:
        """Enqueue a copy of the request that came last, with another URL."""
        if self._lost_track or self._last is None or self._last[0] > MOST_REDIRECTED:
            return None
        number, value = self._last[0] + REDIRECTED, self._last[1]
        url = self.context.driver.url(number)
        return self._enqueue(number, Item(value.replace(url=url), f"popped.replace(url={url!r})"))

    @command()
    def retry(self) -> bool | None:
        """Enqueue a copy of the request that came last, which must not be filtered."""
        if self._lost_track or self._last is None:
            return None
        number, value = self._last
        number = number if traits(number).dont_filter else number + RETRIED
        return self._enqueue(number, Item(value.replace(dont_filter=True), "popped.replace(dont_filter=True)"))

    def _enqueue(self, number: int, item: Item) -> bool | None:
        waiting, stored = list(FaultPlan.pushes), len(FaultPlan.stored)
        raised: OperationRaised | None = None
        try:
            result = self.scheduler.enqueue_request(item)
        except OperationRaised as caught:
            raised = caught
        error = waiting[0] if len(FaultPlan.pushes) < len(waiting) else None
        if raised is not None:
            self._judge_exception(number, error, raised)
            self.model.fail(number)
            return None
        if error is not None and not self._falls_back(error):
            returned, name = f"returned {describe(result)}", type(error).__name__
            self.fail_unraised("scheduler.enqueue.other-propagates", name, returned, f"{describe(error)} raised")
        self.covered["scheduler.enqueue.answers"] += 1
        if result is None and self.context.driver.silent:
            self.model.fail(number)
            self.model.uncertain[number] += 1
            return None
        self._judge_answer(number, result, error)
        if not result:
            self._rejected.add(number)
            if traits(number).volatile:
                self.context.recorder.note(UNLESS_ACCEPTED)
                self.model.fail(number)
            return False
        self.covered["scheduler.enqueue.fallback-serialization"] += self.on_disk and traits(number).refused
        if self.on_disk and traits(number).volatile:
            on_disk = len(FaultPlan.stored) > stored  # some queues can serialize more than others
        elif self.configurable:
            on_disk = self.on_disk and not traits(number).refused and error is None
        else:
            on_disk = not traits(number).volatile  # wherever its store is
        self.model.enqueue(number, Place.DISK if on_disk else Place.MEMORY)
        return True

    @command(
        *("scheduler.next.none-empty", "scheduler.next.no-spurious-none", "scheduler.next.priority"),
        *("scheduler.next.roundtrip", "scheduler.next.stats"),
        weight=9,
    )
    def next(self) -> int | None:
        """Take out the next request, and judge what came."""
        if self._lost_track:
            return None
        empty_pops = FaultPlan.empty_pops
        empty = not self.model.items
        self._last = None
        with self.about("scheduler.next.none-empty" if empty else "scheduler.enqueue.true"):
            value = self.scheduler.next_request()
        if value is None:
            self._judge_none(silent=FaultPlan.empty_pops < empty_pops)
            return None
        number: int | None = self.context.driver.identify(value)
        allowed = self.model.allowed()
        if number is not None and number not in allowed and self.model.uncertain[number]:
            self.model.uncertain[number] -= 1
            self._before.add(number)
            return number
        again = self._resumed and number in self._before
        if number is not None and not (again or number in self.model.items or number in self._rejected):
            number = next((n for n in (number + RETRIED, number - RETRIED) if n in allowed), number)  # dont_filter changed
        if number is None or number not in allowed:
            number = self._wrong(number, value, allowed)
        self._judge_fields(number, value)
        self._cover(number)
        self.model.remove(number)
        self._before.add(number)
        self._last = number, value
        return number

    @command("scheduler.pending.exact", "scheduler.pending.pure")
    def pending(self) -> None:
        """Compare ``has_pending_requests()``."""
        if not self._lost_track:
            self.covered["scheduler.pending.pure"] += 1
            pending, expected = self.scheduler.has_pending_requests(), bool(self.model.items)
            if self._uncertain and not expected:
                return
            self.expect_count("scheduler.pending.exact", lambda pending: bool(pending) is expected, pending)

    @command("scheduler.len")
    def length(self) -> None:
        """Compare ``len()``, where there is one."""
        if not self._lost_track and self.context.offers("length"):
            length, expected = len(self.scheduler), len(self.model)
            if self._uncertain and expected < length <= expected + self._uncertain:
                return
            self.expect_count("scheduler.len", lambda length: length == expected, length)

    @command("scheduler.enqueue.other-propagates", needs=["persistent", "configurable"])
    def breakage(self) -> None:
        """Let the next push into the disk queue raise an error for which there is no fallback."""
        self._plan_push_error("RuntimeError('no')")

    @command("scheduler.enqueue.fallback-transient", arguments=transient_errors, needs=["persistent", "configurable"])
    def transient(self) -> None:
        """Let the next push into the disk queue raise the transient error."""
        self._plan_push_error(self.context.driver.error("transient-error")[0])

    @command("scheduler.next.outage", needs=["persistent", "configurable"])
    def empty_pop(self) -> None:
        """Let the next pop of the disk queue return nothing although it holds something."""
        self.perform(FaultPlan.says_nothing)

    @command(weight=0)
    def clear_faults(self) -> None:
        """End all faults."""
        if FaultPlan.pushes or FaultPlan.empty_pops:
            self.perform(FaultPlan.ends)

    @command(
        *("scheduler.resume.all", "scheduler.resume.seen", "scheduler.resume.no-dup", "scheduler.next.memory-first"),
        *("scheduler.enqueue.disk-first", "scheduler.enqueue.fallback-serialization", "scheduler.enqueue.unserializable-stat"),
        weight=2,
        needs=["persistent"],
    )
    def reopen(self) -> None:
        """Stop the crawl and continue it."""
        if self._lost_track or not self.job:
            return
        self.length()
        self._count()
        self.clear_faults()
        self.scheduler.close()
        self.scheduler = self.context.open(self.settings, job=self.job, rule="scheduler.resume.all")
        FaultPlan.stored, FaultPlan.refusals = [], 0
        self._last = None
        in_memory = list(self.model.stored(Place.MEMORY))
        if self.on_disk and in_memory and not self._memory_is_lost(len(in_memory)):
            return
        self.model.reopen()
        if self.on_disk:
            self.model.uncertain.clear()
        self._before |= self.model.seen | set(in_memory)
        if not self._uncertain:
            self.length()
        self.covered["scheduler.resume.all"] += 1

    def drain(self) -> None:
        for _ in range(len(self.model) + self._uncertain + 1):
            self.next()

    def finish(self) -> None:
        """Take out and compare everything that is left, and close.

        Raises:
            RuleFailed: if everything came, but in a wrong order.
        """
        if not self._lost_track:
            self.clear_faults()
            self.drain()
            self.pending()
            self.length()
            self._count()
            self.scheduler.close()
        if self._disorder:
            raise self._disorder

    # --- Faults ------------------------------------------------------------------------------------------------------

    def _plan_push_error(self, source: str) -> None:
        self.perform(FaultPlan.raises, self.sources.give(eval(source, self.context.driver.names), source))

    def _judge_exception(self, number: int, error: BaseException | None, raised: OperationRaised) -> None:
        """Decide what it means that ``enqueue_request`` raised.

        Args:
            error: what its disk queue was made to raise meanwhile, if it was.

        Raises:
            OperationRaised: if it should not have raised that.
        """
        if raised.error in FaultPlan.errors and not isinstance(raised.error, ValueError):
            return  # what the queue of the settings raises by itself is a matter of that queue
        if raised.error is not error or self._falls_back(error):
            raised.rule = self._rule_of_fallback(number, error, raised.error) or raised.rule
            raise raised
        self.covered["scheduler.enqueue.other-propagates"] += 1
        self._failed.add(number)

    def _falls_back(self, error: BaseException) -> bool:
        return isinstance(error, ValueError) or type(error) is type(self.context.driver.error("transient-error")[1])

    def _memory_is_lost(self, count: int) -> bool:
        """Whether nothing is left of what was in memory; if not, nothing more can be judged."""
        lost: bool = self.context.offers("length") and len(self.scheduler.raw) <= len(self.model) - count
        self._lost_track = not lost
        return lost

    @property
    def _uncertain(self) -> int:
        """How many more requests may be pending than those that must be."""
        return self.model.uncertain.total()


class MemoryLockstep(SchedulerLockstep):
    """A scheduler that keeps everything in memory, although it could use a job directory."""

    ablations = tuple(
        each for each in ABLATIONS if each.rule in ("scheduler.enqueue.false", "scheduler.pending.pure", "scheduler.len")
    )

    def __init__(self, context: CheckContext, number: int) -> None:
        super().__init__(context, number, job=False)

    @classmethod
    def rows(cls) -> dict[str, Row]:
        return {name: row for name, row in super().rows().items() if "persistent" not in row.needs}

    @classmethod
    def prepare(cls, context: CheckContext) -> int:
        if not context.offers("persistent"):
            raise NotApplicable("it is all that the machine tests")
        if context.implementation.capabilities.needs_job:
            raise NotApplicable(IN_JOB)
        context.examples = max(1, context.examples // 2)
        return super().prepare(context)


LOCKSTEP = SchedulerLockstep

machine(SchedulerLockstep, {SCHEDULER})
machine(MemoryLockstep, {SCHEDULER}, name="machine-in-memory")
