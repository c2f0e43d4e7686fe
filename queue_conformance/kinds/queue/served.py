"""A queue behind a server and its model, side by side, with faults of the connection among the operations."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

from queue_conformance.engine.ablation import Ablation, Change, drop, returned
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.lockstep import command
from queue_conformance.engine.outcomes import RuleFailed, TooSlow
from queue_conformance.engine.recording import NOTHING, OperationRaised
from queue_conformance.engine.runner import Run, Runner
from queue_conformance.faults.backend import Backend
from queue_conformance.kinds.queue.attribution import ABLATIONS, FAULTS, SPREAD
from queue_conformance.kinds.queue.commands import QueueLockstep
from queue_conformance.kinds.queue.fallback import TRANSIENT, consequence, names_of, transient_errors
from queue_conformance.kinds.queue.faults import SHORT_TIMEOUT
from queue_conformance.kinds.queue.uncertain import UncertainQueueModel

SLOW = 0.2
"""Seconds after which a pop that finds nothing has met a time-out of the client, although nothing was done to the server."""


LONG = 1000
"""Examples from which on a server may also stall or be slow: commands meanwhile take as long as the client waits."""


def long_runs(context: CheckContext) -> range:
    """Return the arguments of a command that is generated in long runs only."""
    return range(context.examples >= LONG)


_OF_POPS = ("queue.pop.transient-keeps", "queue.pop.reply-cut")
_OF_LENGTHS = ("queue.len.last-known", "queue.len.transient-nonzero")


def _after_faults(runner: Runner, run: Run, failure: RuleFailed) -> str:
    """Return the rule of a failure that only faults cause: on the pops that failed, or on the pushes."""
    if failure.rule.startswith("queue.len."):
        return _OF_LENGTHS[0] if runner.context.applies(_OF_LENGTHS[0]) else _OF_LENGTHS[1]

    def cures(change: Change) -> bool:
        return runner.passes(change(run), run.subjects)

    kept, cut = _OF_POPS
    of_pops = cut if cures(drop("cut_reply", "stall")) else kept
    if "queue.push.failed-no-trace-fault" in runner.known and cures(returned("push", False)):
        return "queue.push.failed-no-trace-fault"
    # Without one pop its fault would hit the next one, so all of them go; and lengths, which tell of themselves.
    if of_pops in runner.known and cures(lambda run: tuple(c for c in run.commands if c.name not in ("pop", "length"))):
        return of_pops
    pushed = any(command.name == "push" for command in run.commands)
    return of_pops if cures(returned("pop", None)) or not pushed else "queue.push.failed-no-trace-fault"


class ServedQueueLockstep(QueueLockstep):
    """One queue behind a server and its model, which knows what is uncertain after a fault."""

    ablations = (
        Ablation(drop(*FAULTS), _after_faults, choices=(*_OF_LENGTHS, "queue.push.failed-no-trace-fault", *_OF_POPS)),
        *ABLATIONS,
    )

    def __init__(self, context: CheckContext, number: int) -> None:
        assert context.backend is not None
        self.context = context
        self.backend: Backend = context.backend
        self._cuts_replies = False  # whether the server may act without its reply being heard
        self.recover()  # a queue cannot be built while its server is away
        super().__init__(context, number)
        self._failed: set[str] = set()  # the operations that failed so far
        self._tracked = 0  # what the queue said last, and what was pushed and popped since then

    def new_model(self) -> Any:
        return UncertainQueueModel(self.context.implementation.capabilities.order)

    # --- Faults ------------------------------------------------------------------------------------------------------

    @command()
    def refuse(self) -> None:
        """End every connection and refuse new ones."""
        self._tell("refuse")

    @command()
    def reset(self) -> None:
        """End every connection."""
        self._tell("reset")

    @command(arguments=(0, 3))
    def cut_reply(self, after: int) -> None:
        """Cut the next reply."""
        self._tell("cut_reply", after)
        self._cuts_replies = True

    @command(arguments=(0, 20))
    def cut_request(self, after: int) -> None:
        """Cut the next request."""
        self._tell("cut_request", after)

    @command(arguments=long_runs)
    def stall(self) -> None:
        """Pass nothing any more, until the end of the fault: then all of it is done."""
        self._tell("stall")
        self._cuts_replies = True

    @command(arguments=long_runs)
    def slow(self) -> None:
        """Delay everything a little: all must go on as before."""
        self._tell("slow", 0.002)

    @command(weight=4)
    def recover(self) -> None:
        """End the fault."""
        if self.backend.faulty:
            self._tell("recover")
        self._cuts_replies = False

    def _tell(self, method: str, *arguments: float) -> None:
        """Call a method of the backend, as a step."""
        self.context.recorder.note(f"backend.{method}({', '.join(map(repr, arguments))})")
        getattr(self.backend, method)(*arguments)

    # --- Operations --------------------------------------------------------------------------------------------------

    def push(self, item: int) -> bool:
        """Push an item of the pool; while the server is away it may fail, and if the push was cut it may be there or not."""
        if self.model.lost_track:
            return True
        if not self.backend.faulty:
            self._push_in_peace(partial(super().push, item))
            self._tracked += 1
            return True
        number, backend = item + self.number * SPREAD, self.backend
        self._ensure_open()
        self._peeked = NOTHING
        requested, cuts = backend.requested, backend.cuts
        try:
            with self.about("queue.push.transient-error"):
                self.queue.push(self.driver.item(number))
        except OperationRaised as raised:
            sent = backend.stalled or backend.requested > requested or backend.cuts > cuts
            _expect_transient(self.context, _rule_of_push(sent), raised)
            self._failed.add("push")
            if backend.stalled:
                self.model.push_late(number)
            elif sent:
                self.model.push(number, certain=False)
            return False
        self.model.push(number)
        self._tracked += 1
        if backend.requested == requested or backend.cuts > cuts:
            self._failed.add("push")
            self._drain_as(_rule_of_push(backend.cuts > cuts))
        return True

    def _push_in_peace(self, push: Callable[[], object]) -> None:
        """Push, again and again for a while: a queue may take a moment to find out that its server is back."""
        deadline = self.context.watchdog.now + self.context.timeout
        while True:
            try:
                push()
                return
            except OperationRaised as raised:
                if not isinstance(raised.error, transient_errors(self.context)):
                    raise
                if self.context.watchdog.now > deadline:
                    self.context.timeout = SHORT_TIMEOUT
                    if self._failed:
                        self._raised("queue.push.retry", raised)
                    raise
            del self.context.recorder.steps[-1]
            time.sleep(0.02)

    def _raised(self, rule: str, raised: OperationRaised) -> NoReturn:
        """Report an exception that fails a rule, whatever came before."""
        self.context.fail(rule, "no exception", str(raised), final=True)

    def _drain_as(self, rule: str) -> None:
        """Take out everything after a push that returned although it cannot have reached the server: is it there?"""
        self.context.recorder.steps[-1].refusable = True
        self.recover()
        try:
            while self.pop() is not None:
                continue
        except RuleFailed as failure:
            raise failure.as_rule(rule) from None

    def end(self) -> object:
        """Close the queue, which tells nobody again of a fault that is over."""
        try:
            return super().end()
        except OperationRaised as raised:
            if self._failed:
                self._raised(self.driver.fault_rule, raised)
            raise

    def push_refused(self, cause: int) -> None:
        """Push something that must be refused, while all is well and has been."""
        if not self._failed:
            self.recover()
            super().push_refused(cause)

    def pop(self) -> int | None:
        """Pop; ``None`` is right while the server is away, and loses nothing."""
        if self.model.lost_track:
            return None
        self._ensure_open()
        faulty, requested, replied = self.backend.faulty, self.backend.requested, self.backend.replied
        started = time.monotonic()
        try:
            with self.about(self.pop_rule if faulty or self.model.allowed() else self.empty_pop_rule):
                value = self.queue.pop()
        except OperationRaised as raised:
            if faulty:
                self._raised("queue.pop.transient-none", raised)
            raise
        if value is None and faulty:
            self.covered["queue.pop.transient-none"] += 1
            self._failed.add("pop")
            self._failed.add("queue.pop.reply-cut" if self._cuts_replies else "queue.pop.transient-keeps")
            self._peeked = NOTHING
            if self.backend.requested > requested or self.backend.stalled:
                self.model.fail_pop()
            return None
        if value is None and not self.model.may_be_empty:
            if not self.backend.harmed and time.monotonic() - started > SLOW:
                raise TooSlow("the server answers too slowly here for the queue, whose pop returns None as if it were away")
            if self._failed:
                value = self._popped_later()
            if self.model.lost_track:
                return None
        if value is None and self.model.may_be_empty:
            if self._failed and self.backend.replied == replied:
                return None  # it has not asked its server, so nothing says whether what failed is stored
            self.model.clear()
            self.covered["queue.pop.empty-none"] += 1
            self.events.add("pop of nothing")
            return None
        number = self.compare(value, self.model.allowed())
        assert number is not None
        self.take(value, number)
        self._tracked -= 1
        for rule in self._failed & set(_OF_POPS):
            self.covered[rule] += 1
        return number

    def _popped_later(self) -> Any:
        """Pop again for a while: after an outage a queue may take a moment to find out that its server is back."""
        deadline = self.context.watchdog.now + self.context.timeout
        value = None
        asked = True
        while value is None and len(self.queue):
            if self.context.watchdog.now > deadline:
                self.context.timeout = SHORT_TIMEOUT
                if not asked:
                    self.model.lose_track()
                break
            del self.context.recorder.steps[-2:]
            time.sleep(0.01)
            replied = self.backend.replied
            value = self.queue.pop()
            asked = self.backend.replied > replied
        return value

    def peek(self) -> None:
        """Peek, where the queue can, while all is well and has been."""
        if not self._failed:
            self.recover()
            super().peek()

    def length(self) -> None:
        """Compare ``len()`` with what is possible."""
        if self.model.lost_track:
            return
        self._ensure_open()
        rule, faulty = self.length_rule, self.backend.faulty
        try:
            with self.about(rule):
                length = len(self.queue)
        except OperationRaised as raised:
            if faulty:
                self._raised("queue.len.transient-no-raise", raised)
            failure = self.context.unexpected(raised)
            self.context.recorder.steps.pop()  # first look whether it had a reason
            with self.unless_contents_are_wrong():
                raise failure from None
        least, most = self.model.least, len(self.model)
        if faulty and least:
            self.expect("queue.len.transient-nonzero", lambda length: length != 0, length, expected=f"{least}", final=True)
        if "pop of nothing" in self.events:
            self.covered["queue.len.pop-none"] += 1
        if faulty:  # a push that failed may be there: the queue may know it, or go on counting without it
            rule, least, most = "queue.len.last-known", min(least, max(0, self._tracked)), max(most, self._tracked)
        self.compare_length(length, rule, least, most)
        if not faulty:
            self._tracked = length

    def truth(self) -> None:
        """Compare ``bool()``, while all is well and has been."""
        if not self._failed:
            self.recover()
            super().truth()

    def close(self) -> None:
        """Close, after the end of the fault."""
        self.recover()
        super().close()

    def clear(self) -> None:
        """Clear, after the end of the fault."""
        self.recover()
        super().clear()
        self._tracked = 0

    def finish(self) -> None:
        """Take out and judge everything that is left after the end of the fault, and close."""
        self.recover()
        self._ensure_open()
        while self.pop() is not None:
            continue
        self.end()
        self.judge_refusals()

    def drain(self) -> None:
        self.recover()
        super().drain()

    def rest_is_complete(self, number: int) -> bool:
        return not self._failed and super().rest_is_complete(number)


def _expect_transient(context: CheckContext, rule: str, raised: OperationRaised) -> None:
    """Test a rule which says that a push raises the transient error.

    Raises:
        RuleFailed: if it is another one.
    """
    context.covered[rule] += 1
    errors = transient_errors(context)
    if isinstance(raised.error, errors):
        return
    actual = f"{raised}{consequence(context, raised.error)}"
    tail = [
        "try:",
        f"    {raised.step.source}",
        "except Exception as error:",
        f"    assert any(cls.__name__ in {names_of(errors)} for cls in type(error).__mro__), repr(error)",
    ]
    context.fail(rule, TRANSIENT, actual, tail, replaces=True, final=True)


def _rule_of_push(sent: bool) -> str:
    """Return the rule on a push that failed on its way, or that found no server any more."""
    return "queue.push.transient-error" if sent else "queue.push.transient-after-success"
