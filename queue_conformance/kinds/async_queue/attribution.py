"""Which rule a failing command sequence of asynchronous queues belongs to."""

from __future__ import annotations

from queue_conformance.engine.ablation import Ablation, chain, drop, replace
from queue_conformance.engine.outcomes import RuleFailed
from queue_conformance.engine.runner import Run, Runner
from queue_conformance.engine.sequences import Command, Commands, commands

PUT_RETURNS = "put returns"
"""What is expected of a put for which there is room."""

GET_ENDS = "get ends when the queue is closed"
"""What is expected of a get that finds a closed queue empty."""

CLOSED_ENDS = "CancelledError from a closed, empty queue"
"""What is expected of a get that ends then."""

_CLOSED = ("aqueue.put.closed", "aqueue.get.close-wakes", "aqueue.get.closed-drains")

_UNMOVED = (
    "aqueue.order.priority",
    "aqueue.order.fifo",
    "aqueue.bound.full-signal",
    "aqueue.bound.limit",
    "aqueue.fault.recovers",
)
"""What fails where it shows, whatever else a sequence does."""

_UNCANCELLED = (drop("cancel_get"), drop("cancel_get", "start_get"))

AGAIN = 2
"""How often a sequence without its reopenings must pass again, since an order may be right by chance."""

_ended_at_once = chain(
    drop("tick", "begin_job", "run_job", "deliver", "settle", always=True),
    replace("start_put", name="put"),
    replace("start_get", name="get"),
)


def _one_after_another(run: Run) -> Commands:
    """Let every put and get end before the next one begins, if any comes while another one may go on."""
    names = [command.name for command in run.commands]
    began = next((place for place, name in enumerate(names) if name in _STARTED), len(names))
    overlapping = not {"put", "get", *_STARTED}.isdisjoint(names[began + 1 :])
    return _ended_at_once(run) if overlapping else tuple(run.commands)


_STARTED = ("start_put", "start_get")


def _without_reopening(run: Run) -> Commands:
    """Do not close and open again; what is closed at last stays closed."""
    last = max((number for number, o in enumerate(run.commands) if o.name == "reopen"), default=-1)
    kept = (o for number, o in enumerate(run.commands) if o.name != "close" or number > last)
    return tuple(Command("size") if o.name == "reopen" else o for o in kept)


def _without_late_puts(run: Run) -> Commands:
    """Put nothing into a closed queue."""
    kept, closed = [], False
    for operation in run.commands:
        closed = operation.name == "close" or (closed and operation.name != "reopen")
        if not closed or operation.name not in ("put", "start_put"):
            kept.append(operation)
    return tuple(kept)


def _stored_twice(runner: Runner, run: Run, _failure: RuleFailed) -> str | None:
    """Whether one put alone makes the size grow by two, and comes twice."""
    puts = dict.fromkeys(command.argument for command in run.commands if command.name in ("put", "start_put"))
    return "aqueue.size" if any(_comes_twice(runner, f"put:{kind}") for kind in puts) else None


def _comes_twice(runner: Runner, put: str) -> bool:
    failure = runner.failure_of(commands(f"{put} size"))
    counted = failure is not None and failure.rule == "aqueue.size"
    return counted and runner.failure_of(commands(f"{put} get start_get settle")) is not None


def _no_matter_of_bounds(runner: Runner, run: Run, _failure: RuleFailed) -> str | None:
    """Whether what a bounded queue has dropped, as it seems, is lost without a bound, too."""
    failure = runner.failure_of(drop("limit")(run))
    return "aqueue.put.accept" if failure is not None and "aqueue.put.accept" in {failure.rule, *runner.known} else None


def _after_clearing(runner: Runner, run: Run, _failure: RuleFailed) -> str | None:
    """Blame clear, unless the same fails without all that was cleared."""
    last = max(place for place, command in enumerate(run.commands) if command.name == "clear")
    before = (command for command in run.commands[:last] if command.name not in ("put", "start_put", "clear"))
    return "aqueue.clear" if runner.passes((*before, *run.commands[last + 1 :])) else None


def _after_limiting(runner: Runner, run: Run, failure: RuleFailed) -> str:
    """A bound matters: has this put failed, was one dropped, or did one that was refused before leave something behind?"""
    if failure.expected == PUT_RETURNS:
        return "aqueue.bound.usable"
    limit = next(command for command in reversed(run.commands) if command.name == "limit")
    dropped = runner.failure_of((limit, *[Command("put")] * (limit.argument + 1)))
    in_silence = "aqueue.bound.full-signal" in {dropped and dropped.rule, *runner.known}
    return "aqueue.bound.full-signal" if in_silence else "aqueue.put.failed-no-trace"


def _after_reopening(runner: Runner, run: Run, failure: RuleFailed) -> str | None:
    if failure.expected in (GET_ENDS, CLOSED_ENDS):
        return None
    if failure.rule == "aqueue.order.fifo":
        unmoved = runner.failure_of(commands("put:0 " * 8))
        if failure.rule in {unmoved and unmoved.rule, *runner.context.failed}:  # there is no order at all
            return None
    steady = all(runner.passes(_without_reopening(run), run.subjects) for _ in range(AGAIN))
    return "aqueue.persist.reopen" if steady else None


ABLATIONS = (
    Ablation((), _stored_twice, of=["aqueue.get.concurrent"], choices=("aqueue.size",)),
    Ablation((), _no_matter_of_bounds, of=["aqueue.bound.full-signal"], choices=("aqueue.put.accept",)),
    # Cancellations, unless the same fails without the tasks that were cancelled.
    Ablation(_UNCANCELLED, "aqueue.get.cancel-safe", unless=_UNMOVED),
    Ablation(_UNCANCELLED, "aqueue.get.cancel-safe", of=["aqueue.bound.full-signal"]),
    Ablation((drop("cancel_put"), drop("cancel_put", "start_put")), "aqueue.put.cancelled-no-trace", unless=_UNMOVED),
    Ablation(drop("clear"), _after_clearing, unless=(*_UNMOVED, *_CLOSED, "aqueue.bound.usable"), choices=("aqueue.clear",)),
    Ablation(_without_late_puts, "aqueue.put.closed", unless=_UNMOVED),
    Ablation(
        _without_reopening,
        _after_reopening,
        unless=("aqueue.bound.full-signal", "aqueue.bound.limit", *_CLOSED[:2]),
        choices=("aqueue.persist.reopen",),
    ),
    Ablation(drop("close"), "aqueue.get.closed-drains", unless=(*_UNMOVED, *_CLOSED, "aqueue.get.concurrent")),
    Ablation(_one_after_another, "aqueue.get.concurrent", unless=(*_UNMOVED, "aqueue.get.blocks", *_CLOSED)),
    Ablation(drop("size"), "aqueue.size", unless=(*_UNMOVED, *_CLOSED)),
    Ablation(
        drop("limit"),
        _after_limiting,
        unless=(*_UNMOVED, *_CLOSED, "aqueue.bound.usable"),
        choices=("aqueue.bound.usable", "aqueue.bound.full-signal", "aqueue.put.failed-no-trace"),
    ),
)
