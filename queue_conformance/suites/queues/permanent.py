"""What a queue does when its storage is gone for good: it raises, and nobody falls back."""

from __future__ import annotations

from typing import Any

from queue_conformance.engine import check as engine
from queue_conformance.implementations.recording import OperationRaised, describe
from queue_conformance.suites import check
from queue_conformance.suites.bench import Bench
from queue_conformance.suites.outcomes import NotApplicable, NotExercised
from queue_conformance.suites.queues.construction import REQUESTS_ONLY
from queue_conformance.suites.queues.fallback import is_fallback, transient_names
from queue_conformance.suites.queues.faulting import backend_of, contains, drained
from queue_conformance.suites.queues.faults import files_that_may_not_grow


def _expect_storage(bench: Bench) -> None:
    if not bench.offers("persistent") and not bench.offers("server"):
        raise NotApplicable("needs persistent or server")


@check("queue.push.permanent-error", kinds=REQUESTS_ONLY)
def push_raises_permanent_errors_as_they_are(bench: Bench) -> None:
    rule = "queue.push.permanent-error"
    queue = _with_replaced_storage(bench)
    try:
        queue.push(bench.driver.item(3), owner=rule)
    except OperationRaised as raised:
        _expect_no_fallback(bench, rule, raised)
        return
    bench.recorder.steps[-1].refusable = True
    left = drained(bench, queue, rule)
    contains(bench, rule, left, 3, range(1, 2), "push returned, although what it stores in was replaced")


@engine.check("queue.push.full-disk", kinds=REQUESTS_ONLY, fault=[files_that_may_not_grow])
def push_raises_what_a_full_disk_says(queue, item, uncertain, fallbacks, about, rule, fault):
    queue.push(item(1))
    with about(rule), uncertain(never=fallbacks, expected="an error for which nobody falls back") as refused, fault:
        queue.push(item(2, large=True))
    fault.must_hit()
    if not refused:
        raise NotExercised("push returned; queue.push.no-silent-loss says whether that is right")


def _expect_no_fallback(bench: Bench, rule: str, raised: OperationRaised) -> None:
    """Examine a rule which says that an error is one for which the scheduler does not fall back.

    Raises:
        RuleBroken: if it is.
    """
    bench.examined[rule] += 1
    if not is_fallback(bench, raised.error):
        return
    names = {"ValueError", *transient_names(bench)}
    tail = [
        "try:",
        f"    {raised.step.source}",
        "except Exception as error:",
        f"    assert not {{cls.__name__ for cls in type(error).__mro__}} & {names!r}, repr(error)",
    ]
    expected = "an error for which nobody falls back"
    bench.fail(rule, expected, f"{describe(raised.error)} raised", tail, replaces=True, final=True)


def _with_replaced_storage(bench: Bench) -> Any:
    """Return an open queue whose storage on a server was replaced by something else.

    Raises:
        NotExercised: if the kit cannot do that to the server.
    """
    backend = backend_of(bench)
    if not backend.server.ours:
        raise NotExercised(f"the kit changes nothing in {backend.server.name}: --queue-server=redis starts a private one")
    bench.restart()
    queue = bench.open()
    for number in (1, 2):
        queue.push(bench.driver.item(number))
    bench.recorder.note("replaced = backend.replace_storage()")
    if not backend.replace_storage():
        raise NotExercised("the server holds nothing after two pushes")
    return queue


@check("queue.pop.permanent-raises", kinds=REQUESTS_ONLY)
def pop_raises_permanent_errors(bench: Bench) -> None:
    rule = "queue.pop.permanent-raises"
    _expect_storage(bench)
    if bench.backend is not None or not bench.offers("filesystem", "persistent"):
        queue = _with_replaced_storage(bench)
        bench.expect_raises(rule, (Exception,), queue.pop, why=": its storage was replaced")
        return
    queue = bench.open()
    for number in (1, 2):
        queue.push(bench.driver.item(number))
    queue.close()
    bench.recorder.note("files = [path for path in Path(directory).rglob('*') if path.is_file()]")
    bench.recorder.note("for path in files: path.write_bytes(b'garbage ' * 1000)")
    for path in bench.driver.directory.rglob("*"):
        if path.is_file():
            path.write_bytes(b"garbage " * 1000)
    try:
        queue = bench.open(owner=rule)
    except OperationRaised:
        bench.examined[rule] += 1  # reported even earlier
        return
    bench.recorder.steps[-1].refusable = True
    bench.expect_raises(rule, (Exception,), queue.pop, why=": its files hold garbage")
