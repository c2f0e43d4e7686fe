"""Checks of a queue that several processes use at the same time."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn

from queue_conformance.faults import crash
from queue_conformance.implementations.quoted.processes import consume, in_processes, kill_in_reply
from queue_conformance.implementations.recording import OperationRaised, Remark, shortened
from queue_conformance.isolation import fork
from queue_conformance.suites import check
from queue_conformance.suites.bench import Bench
from queue_conformance.suites.outcomes import NotExercised, TooSlow
from queue_conformance.suites.queues.construction import REQUESTS_ONLY
from queue_conformance.suites.queues.faulting import backend_of

ONCE = "queue.shared.once"
NO_LOSS = "queue.shared.no-loss"
VISIBLE = "queue.shared.visible"

# --- Each item once --------------------------------------------------------------------------------------------------

PROCESSES = 4

WAITING = 100
"""Requests that are there when the processes begin."""

EACH = 25
"""Requests that each of the processes pushes."""


@check(ONCE, kinds=REQUESTS_ONLY)
def each_item_goes_to_one_process(bench: Bench) -> None:
    size = max(1, min(4, bench.examples // 100))
    waiting, each = range(WAITING * size), EACH * size
    pushed = range(waiting.stop + PROCESSES * each)
    construction = bench.driver.construction("0")[0]
    body = [
        "def work(first, barrier):",
        f"    other = {construction}",
        "    barrier.wait()",
        f"    urls = consume(other, [Request(f'https://example.com/{{n}}') for n in range(first, first + {each})])",
        "    other.close()",
        "    return urls",
        "",
        f"queue = {construction}",
        _pushes("queue", waiting),
        f"found = in_processes([functools.partial(work, first) for first in range({waiting.stop}, {pushed.stop}, {each})])",
        f"last = {construction}",
        "left = sum(found, consume(last))",
        "twice = {url for url in left if left.count(url) > 1}",
        f"lost = {pushed.stop} - len(set(left))",
        "assert not twice and lost <= len(last), f'{len(twice)} came twice, {lost} never'",
    ]
    with _judged(bench, ONCE, body):
        _open_with(bench, waiting)
        bench.recorder.note(f"other = {construction}  # in each of {PROCESSES} processes")
        works = [partial(_work, bench, range(first, first + each)) for first in pushed[waiting.stop :: each]]
        line = f"found = {PROCESSES} * [consume(other, {each} * [Request(...)])]  # side by side"
        found = bench.recorder.call(line, ONCE, in_processes, works)
        outcomes = (f"{len(urls)} items" if isinstance(urls, list) else str(urls) for urls in found)
        bench.recorder.steps[-1].result = Remark(shortened(", ".join(outcomes)))
        if slow := [result for result in found if isinstance(result, TooSlow)]:
            raise slow[0]
        if failed := [result for result in found if isinstance(result, str)]:
            bench.fail(ONCE, "no exception", f"{failed[0]} raised in one of {PROCESSES} processes", [], body=body)
        left, known = _drain(bench, ONCE, _urls(pushed).difference(*found))
    bench.examined[ONCE] += 1
    came = Counter(sum(found, left))
    twice = sum(times > 1 for times in came.values())
    lost = len(_urls(pushed) - came.keys())
    if twice or lost > known:
        expected = f"each of {len(pushed)} items in one of {PROCESSES} processes"
        bench.fail(ONCE, expected, f"{twice} came twice, {lost} never", [], body=body)
    if lost:
        bench.notes.append(
            f"shared by {PROCESSES} processes: {lost} items are not back after {patience_of(bench):g} s, but counted"
        )


def _work(bench: Bench, numbers: range, barrier: Any) -> list[str] | str | TooSlow:
    """Push and pop in a process of its own; return the URLs that came, or what was raised."""
    try:
        other = bench.driver.construction("0")[1]()
        barrier.wait()
        urls: list[str] = consume(other, _requests(bench, numbers), patience_of(bench))
        other.close()
    except Exception as error:
        try:
            bench.excuse(error)
        except TooSlow as slow:
            return slow
        return bench.describe(error)
    return urls


# --- Nothing lost with a process -------------------------------------------------------------------------------------

AFTER = -1
"""In place of a number of replies: the process is killed after its first pop returned."""

MOST_REPLIES = 8
"""Replies of the server in one pop, at most, in place of each of which a process is killed."""


@dataclass(frozen=True)
class Aftermath:
    """What became of a queue from which processes popped that were killed.

    Attributes:
        lost: how many items neither came out of a pop that returned, nor later.
        counted: what ``len`` says when no more come.
        hits: the deaths that hit.
        body: the lines of a script.
    """

    lost: int
    counted: int
    hits: Sequence[int]
    body: Sequence[str]

    @property
    def wrong(self) -> bool:
        """Whether items are gone that the queue does not know of any more; others may come when a lease has run out."""
        return self.lost > self.counted


@check(NO_LOSS, kinds=REQUESTS_ONLY)
def a_process_that_dies_takes_nothing_with_it(bench: Bench) -> None:
    backend_of(bench)
    found = _aftermath(bench, [AFTER, *range(MOST_REPLIES)])
    if found.wrong:
        each = (_aftermath(bench, [death]) for death in found.hits)
        found = next((alone for alone in each if alone.wrong), None) or _aftermath(bench, found.hits)
        bench.examined[NO_LOSS] += 1
        places = {"after a pop had returned" if death == AFTER else "in pop" for death in found.hits}
        whom = "a process that was" if len(found.hits) == 1 else "processes that were"
        actual = f"{found.lost} other{'' if found.lost == 1 else 's'} lost with {whom} killed {' and '.join(sorted(places))}"
        bench.fail(NO_LOSS, "every item but what its pop had returned", actual, [], body=found.body)
    if found.lost:
        raise NotExercised(
            f"what killed processes had taken is not back after {patience_of(bench):g} s, though len() counts it: "
            "give a setting with which they are taken for dead sooner"
        )
    if len(found.hits) < 2:
        raise NotExercised("no process could be killed inside pop: it does not wait for a reply of the server")
    bench.examined[NO_LOSS] += 1
    bench.notes.append(f"processes killed: 1 after pop, {len(found.hits) - 1} in pop while a reply was on its way")


def _aftermath(bench: Bench, deaths: Sequence[int]) -> Aftermath:
    """Let processes pop and die, one after another, and let another one drain the queue.

    Args:
        bench: where the check works.
        deaths: where in its second pop each of them dies: after so many replies of the server, or ``AFTER`` the first pop; those
            after one that never got so many are left out.
    """
    numbers = range(4 + 2 * len(deaths))
    bench.restart()
    _open_with(bench, numbers)
    popped, hits = set[str](), list[int]()
    for death in deaths:
        urls, hit = _pop_and_die(bench, death)
        popped.update(urls)
        if not hit:
            break
        hits.append(death)
        bench.recorder.note(f"popped = other.pop()  # in another process{', which is killed then' if death == AFTER else ''}")
        if death != AFTER:
            bench.recorder.note("other.pop()  # there, killed when the server has answered, before the reply arrives")
    body = _deaths(bench, numbers, hits)
    with _judged(bench, NO_LOSS, body):
        left, counted = _drain(bench, NO_LOSS, _urls(numbers) - popped)
    return Aftermath(len(_urls(numbers) - popped - set(left)), counted, hits, body)


def _deaths(bench: Bench, numbers: range, deaths: Sequence[int]) -> list[str]:
    """Return the lines of a script in which processes die, and another one drains the queue."""
    construction = bench.driver.construction("0")[0]
    lines = [f"queue = {construction}", _pushes("queue", numbers), "reader, writer = os.pipe()"]
    for death in deaths:
        lines += [
            "child = os.fork()",
            "if child == 0:",
            f"    other = {construction}",
            "    os.write(writer, other.pop().url.encode() + b' ')",
            "    os.kill(os.getpid(), signal.SIGSTOP)",
            "    other.pop()",
            "    os._exit(0)",
            "os.waitpid(child, os.WUNTRACED)  # it has popped one item, and is stopped",
        ]
        if death == AFTER:
            lines += ["os.kill(child, signal.SIGKILL)", "os.waitpid(child, 0)"]
        else:
            lines.append(f"kill_in_reply(backend, child, {death})  # while it pops another one")
    return [
        *lines,
        "popped = os.read(reader, 10_000).decode().split()",
        f"last = {construction}",
        "left = consume(last)",
        f"lost = {{f'https://example.com/{{n}}' for n in range({len(numbers)})}} - {{*left, *popped}}",
        "assert len(lost) <= len(last), f'lost: {lost}'",
    ]


def _pop_and_die(bench: Bench, death: int) -> tuple[list[str], bool]:
    """Let another process pop, and kill it.

    Returns:
        The URLs of what its pops returned, and whether it was killed where it should be.

    Raises:
        NotExercised: if no pop returned there.
    """
    reader, writer = os.pipe()
    child = fork()
    if child == 0:
        _pop_twice(bench, writer)
    os.close(writer)
    ended, status, end = 0, 0, time.monotonic() + bench.time_limit
    while not ended and time.monotonic() < end:
        ended, status = os.waitpid(child, os.WUNTRACED | os.WNOHANG)
        time.sleep(0.0005)
    stopped = bool(ended) and os.WIFSTOPPED(status)
    hit = stopped
    if stopped and death != AFTER:
        hit = kill_in_reply(backend_of(bench), child, death)
    elif stopped or not ended:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    with os.fdopen(reader) as pipe:
        urls = pipe.read().split()
    if not stopped or not urls:
        raise NotExercised("no pop returned an item in another process")
    return urls, hit


def _pop_twice(bench: Bench, writer: int) -> NoReturn:
    """Pop, tell what came, and stop; pop once more if nothing ends this process then."""
    try:
        with suppress(Exception):  # what it raises is said by another rule
            other = bench.driver.construction("0")[1]()
            os.write(writer, other.pop().url.encode() + b" ")
            os.kill(os.getpid(), signal.SIGSTOP)
            os.write(writer, other.pop().url.encode())
    finally:
        os._exit(0)


# --- Seen by others --------------------------------------------------------------------------------------------------

PUSHED = range(1, 4)


@check(VISIBLE, kinds=REQUESTS_ONLY)
def others_see_what_is_pushed(bench: Bench) -> None:
    construction = bench.driver.construction("0")[0]
    waiting = "while len(queue) == 0 and time.monotonic() < end: time.sleep(0.02)"
    queue = _open_with(bench)
    queue.pop()
    queue.length()
    with _pushing(bench):
        body = [
            f"queue = {construction}",
            "popped, length = queue.pop(), len(queue)",
            "reader, writer = os.pipe()",
            "child = os.fork()",
            "if child == 0:",
            f"    other = {construction}",
            f"    {_pushes('other', PUSHED)}",
            "    os.write(writer, b'.')",
            "    time.sleep(10)  # it stays open",
            "os.close(writer)",
            "os.read(reader, 1)",
            f"end = time.monotonic() + {patience_of(bench):g}",
            waiting,
            "length = len(queue)",
            "left = consume(queue)",
            "os.kill(child, signal.SIGKILL)",
            f"assert length > 0 and len(left) == {len(PUSHED)}, f'len {{length}}, and {{len(left)}} came'",
        ]
        bench.recorder.note(f"other = {construction}  # in another process")
        bench.recorder.note(f"{_pushes('other', PUSHED)}  # there")
        with _judged(bench, VISIBLE, body):
            bench.recorder.call(waiting, VISIBLE, partial(_wait_for_length, queue.raw, patience_of(bench)))
            length = queue.length(VISIBLE)
            left = bench.recorder.call("left = consume(queue)", VISIBLE, consume, queue.raw, (), patience_of(bench))
            bench.recorder.steps[-1].result = Remark(f"{len(left)} items")
    bench.examined[VISIBLE] += 1
    missing = _urls(PUSHED) - set(left)
    if not length or missing:
        expected = f"len() above 0, and {len(PUSHED)} items, within {patience_of(bench):g} s"
        bench.fail(VISIBLE, expected, f"len() {length}, and {len(PUSHED) - len(missing)} of them", [], body=body)


def _wait_for_length(queue: Any, patience: float) -> None:
    end = time.monotonic() + patience
    while len(queue) == 0 and time.monotonic() < end:
        time.sleep(0.02)


@contextmanager
def _pushing(bench: Bench) -> Iterator[None]:
    """Let another process push requests, and keep its queue open meanwhile.

    Raises:
        NotExercised: if it fails.
    """
    reader, writer = os.pipe()
    child = fork()
    if child == 0:
        _push_and_stay(bench, writer)
    os.close(writer)
    try:
        with os.fdopen(reader) as pipe:
            if failed := pipe.readline().strip():
                raise NotExercised(f"another process failed: {failed}")
        yield
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _push_and_stay(bench: Bench, writer: int) -> NoReturn:
    """Push, tell what was raised or nothing, and do nothing more."""
    failed = ""
    try:
        try:
            other = bench.driver.construction("0")[1]()
            _push_all(other, _requests(bench, PUSHED))
        except BaseException as error:
            failed = bench.describe(error)
        os.write(writer, f"{failed}\n".encode())
        time.sleep(bench.time_limit + 2 * patience_of(bench))
    finally:
        os._exit(0)


# --- What the checks share -------------------------------------------------------------------------------------------


def patience_of(bench: Bench) -> float:
    """Return the seconds that are waited for what another process did, which must not look like an operation that hangs."""
    return min(bench.patience, bench.time_limit / 4)


def _url(number: int) -> str:
    return f"https://example.com/{number}"


def _urls(numbers: Iterable[int]) -> set[str]:
    return set(map(_url, numbers))


def _requests(bench: Bench, numbers: range) -> list[Any]:
    return [bench.driver.evaluate(f"Request({_url(number)!r})").value for number in numbers]


def _pushes(variable: str, numbers: range) -> str:
    """Return the line of a script that pushes requests with these numbers."""
    return f"for n in {numbers!r}: {variable}.push(Request(f'https://example.com/{{n}}'))"


def _open_with(bench: Bench, numbers: range = range(0)) -> Any:
    """Open a queue, and push requests with these numbers.

    Raises:
        NotExercised: if there can be no other process.
    """
    if not crash.AVAILABLE:
        raise NotExercised("this platform cannot fork")
    queue = bench.open()
    if numbers:
        requests = _requests(bench, numbers)
        bench.recorder.call(_pushes("queue", numbers), "queue.push.accept", _push_all, queue.raw, requests)
    return queue


def _push_all(queue: Any, requests: Sequence[Any]) -> None:
    for request in requests:
        queue.push(request)


def _drain(bench: Bench, rule: str, expected: Set[str]) -> tuple[list[str], int]:
    """Take out everything by a queue that is opened for that.

    Args:
        bench: where the check works.
        rule: the rule that is broken if something raises.
        expected: the URLs that are waited for, even though the length may say that nothing is left.

    Returns:
        The URLs that came, and what the length says then.
    """

    def drain() -> list[str]:
        urls: list[str] = consume(last.raw, (), patience_of(bench))
        end = time.monotonic() + patience_of(bench)
        while not expected <= set(urls) and len(last.raw) == 0 and time.monotonic() < end:
            time.sleep(0.02)
            urls += consume(last.raw, (), 0.0)
        return urls

    last = bench.open(variable="last", owner=rule)
    left: list[str] = bench.recorder.call("left = consume(last)", rule, drain)
    bench.recorder.steps[-1].result = Remark(f"{len(left)} items")
    return left, last.length(rule)


@contextmanager
def _judged(bench: Bench, rule: str, body: Sequence[str]) -> Iterator[None]:
    """What an operation raises here breaks a rule."""
    try:
        yield
    except OperationRaised as raised:
        bench.excuse(raised.error)
        bench.fail(rule, "no exception", f"{bench.describe(raised.error)} raised by {raised.step.source}", [], body=body)
