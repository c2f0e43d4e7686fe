"""Asynchronous queues: the model, right queues of unusual kinds, and what the released ones break."""

import asyncio
import re
import time
from contextlib import closing

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from kit import ASYNC_DISK, ASYNC_MEMORY, LEAN, context, examine, failed_rules, further, implementation, run_script

from queue_conformance.engine.lockstep import run
from queue_conformance.engine.outcomes import RuleFailed
from queue_conformance.engine.runner import runner_of
from queue_conformance.engine.sequences import commands
from queue_conformance.engine.verdicts import RunVerdict, Verdict, hints_for
from queue_conformance.engine.violations import violation_of
from queue_conformance.environments.asynchronous import BRIEF
from queue_conformance.faults import servers
from queue_conformance.faults.network import FaultProxy
from queue_conformance.frontends.stateful import state_machine
from queue_conformance.implementation.capabilities import Capabilities, ClaimError, parse_claims
from queue_conformance.implementation.loading import LoadError
from queue_conformance.kinds import ASYNC_QUEUE
from queue_conformance.kinds.async_queue.direction import higher_first
from queue_conformance.kinds.async_queue.model import AsyncQueueModel
from queue_conformance.loops import MUST_COME, RealLoop, SimulatedLoop

pytest.importorskip("qcrawl", reason="qCrawl is not installed")

from qcrawl.core.queue import RequestQueue

from mutants import async_controls, async_controls_logs, async_controls_stores
from queue_reference.async_queues import MemoryQueue

REDIS = "queue_reference.async_redis.RedisQueue"
AT_SERVER = {"host": "{host}", "port": "{port}"}
ANY_QUEUE = {
    "aqueue.put.rebuildable-rare",
    "aqueue.order.non-int",
    "aqueue.get.close-wakes",
    "aqueue.bound.full-signal",
    "aqueue.iter.cancel",
}


@pytest.mark.further
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("path", [ASYNC_MEMORY, ASYNC_DISK])
def test_a_reference_keeps_every_rule_in_longer_runs(path, seed):
    assert not failed_rules(examine(path, seed=seed, examples=300, only="machine"))


@pytest.mark.further
@pytest.mark.parametrize("server", ["redis", "fakeredis"])
def test_the_reference_behind_a_server_keeps_every_rule(server, examples):
    pytest.importorskip("redis")
    report = LEAN.examine(REDIS, {"shared": "yes"}, settings=AT_SERVER, server=server, examples=examples)
    assert not failed_rules(report)
    verdicts = {verdict.rule.id: verdict.verdict for verdict in report.verdicts}
    names = ("namespace", "shared", "dedupe", "ttl", "timeout", "outage", "orphans")
    assert [name for name in names if verdicts[f"aqueue.redis.{name}"] is not Verdict.PASSED] == []
    assert report.verdict is RunVerdict.CONFORMANT


def test_the_reference_behind_a_server_asks_nothing_while_it_releases_its_connections(tmp_path, monkeypatch):
    async_redis = pytest.importorskip("queue_reference.async_redis")
    monkeypatch.setattr(async_redis, "POLL", 60)

    async def gets_and_a_close(host, port):
        queue = async_redis.RedisQueue(host, port)
        release = queue._client.connection_pool.disconnect

        async def release_slowly():
            await asyncio.sleep(0.02)
            await release()

        queue._client.connection_pool.disconnect = release_slowly
        gets = [asyncio.create_task(queue.get()) for _ in range(3)]
        while len(queue._arrival._waiters) < len(gets) and not any(get.done() for get in gets):
            await asyncio.sleep(0)
        return await asyncio.gather(queue.close(), *gets, return_exceptions=True)

    with closing(servers.start("fakeredis", tmp_path)) as server, closing(FaultProxy(server.address)) as proxy:
        proxy.slow(0.05)
        outcomes = asyncio.run(gets_and_a_close(proxy.host, proxy.port))
    assert [type(outcome) for outcome in outcomes] == [type(None), *[asyncio.CancelledError] * 3]


# --- Right queues of unusual kinds ------------------------------------------------------------------------------------


RIGHT = [
    pytest.param(f"{module.__name__}.{name}", id=name)
    for module in (async_controls, async_controls_logs, async_controls_stores)
    for name, cls in vars(module).items()
    if hasattr(cls, "put") and cls.__module__ == module.__name__
]
CLAIMS = {"BindsCallbacks": {"request": "mutants.async_controls.BoundRequest"}}
LOOKS_AT_ALL = (".Expiring", ".Directory")
NEEDS_THE_STOCK_LOOP = (".Spinning", ".Throttled", ".Threaded", ".BlocksThreads")


@pytest.mark.further
@pytest.mark.parametrize("path", RIGHT)
def test_a_right_queue_of_another_kind_keeps_every_rule(path):
    report = examine(path, CLAIMS.get(path.rpartition(".")[2], {}), examples=50)
    assert failed_rules(report) == ({"aqueue.scale.stored"} if path.endswith(LOOKS_AT_ALL) else set())
    untested = {verdict.rule.id for verdict in report.verdicts if verdict.verdict is Verdict.NOT_COVERED}
    allowed = {"aqueue.persist.torn"}  # SQLite rewrites its file
    if path.endswith(NEEDS_THE_STOCK_LOOP):
        allowed.add("aqueue.put.cancelled-no-trace")
    if path.endswith(".BindsCallbacks"):
        allowed.add("aqueue.scale.kept")  # its requests have no body, by which to grow
    assert untested <= allowed
    assert report.verdict is RunVerdict.CONFORMANT


@pytest.mark.parametrize("path", RIGHT)
def test_a_right_queue_of_another_kind_passes_the_machine(path):
    assert not failed_rules(examine(path, CLAIMS.get(path.rpartition(".")[2], {}), examples=20, only="machine"))


@pytest.mark.parametrize("path", RIGHT)
def test_a_queue_runs_on_the_stock_loop_if_it_works_only_there(path):
    with context(path) as found:
        assert isinstance(found.driver.loop, RealLoop if path.endswith(NEEDS_THE_STOCK_LOOP) else SimulatedLoop)


@pytest.mark.further
def test_a_note_says_what_the_stock_loop_leaves_to_chance():
    report = examine("mutants.async_controls.Spinning", only="aqueue.get.cancel-safe", examples=5)
    assert any("waits are bounded: gets were cancelled at moments" in note for note in report.notes)


def test_requests_may_be_of_another_class():
    report = examine(ASYNC_MEMORY, {"request": "mutants.async_controls.MyRequest"})
    assert not failed_rules(report)


class Elsewhere(MemoryQueue):
    """A queue that must be told where its server is."""

    def __init__(self, url: str, maxsize: int = 0) -> None:
        super().__init__(maxsize)
        assert url == "redis://host"


def test_an_argument_without_a_default_that_comes_first_is_a_setting_like_others():
    report = examine(f"{__name__}.Elsewhere", settings={"url": "redis://host"}, only="aqueue.maxsize")
    assert not failed_rules(report)
    with pytest.raises(LoadError, match="has no such argument; did you mean 'url'"):
        examine(f"{__name__}.Elsewhere", settings={"uri": "redis://host"})


def test_clear_lets_in_all_puts_that_wait_for_room():
    assert failed_rules(examine("mutants.async_queues.ClearWakesNobody", only="clear.wakes")) == {"aqueue.bound.usable"}
    assert not failed_rules(examine("mutants.async_queues.LetsPutsWait", only="clear.wakes"))


def test_puts_that_wait_for_room_keep_no_consumer_waiting():
    assert failed_rules(examine("mutants.async_queues.WakesWhoeverWaits", only="get.room")) == {"aqueue.get.concurrent"}
    assert not failed_rules(examine("mutants.async_queues.LetsPutsWait", only="get.room"))


ORDER = ["aqueue.order.priority", "aqueue.order.negative", "ascheduler.get.order"]


@pytest.mark.parametrize("path", [ASYNC_MEMORY, "queue_reference.async_scheduler.Scheduler"])
def test_the_priority_of_a_request_is_what_it_says(path):
    report = examine(path, {"request": "mutants.async_controls.Negated"}, only=ORDER, examples=10)
    assert not failed_rules(report)
    assert Verdict.PASSED in {verdict.verdict for verdict in report.verdicts if verdict.rule.id in ORDER}


def test_claims_on_asynchronous_queues_are_read():
    assert parse_claims(["priority=lower-first", "request=a.B"], ()) == {"priority": "lower-first", "request": "a.B"}
    with pytest.raises(ClaimError, match=r"priority=higher-first\|lower-first"):
        parse_claims(["priority=up"], ())
    with pytest.raises(ClaimError, match="dotted path"):
        parse_claims(["request=B"], ())


# --- Sequences ---------------------------------------------------------------------------------------------------------


def test_a_program_is_an_interleaving_that_can_be_played_again():
    cancelled = "put:0 put:0 start_get tick run_job:0 deliver:0 cancel_get:0 settle size"
    with context("mutants.async_queues.AwaitsTooLate") as found, pytest.raises(RuleFailed) as caught:
        run(found, cancelled)
    assert caught.value.rule == "aqueue.get.cancel-safe"
    with context(ASYNC_MEMORY) as found:
        run(found, cancelled)


@pytest.mark.parametrize(
    ("name", "sequence", "hint"),
    [
        ("AwaitsTooLate", "put:0 put:0 start_get tick run_job:0 deliver:0 cancel_get:0 settle size", "Between"),
        ("KeepsItsWakeUp", "start_get start_get settle start_put:0 tick cancel_get:0 settle", "A get that is cancelled"),
    ],
)
def test_the_hint_of_a_cancelled_get_tells_a_lost_request_from_a_lost_wake_up(name, sequence, hint):
    with context(f"mutants.async_queues.{name}") as found, pytest.raises(RuleFailed) as caught:
        run(found, sequence)
    violation = violation_of(found, caught.value)
    first, *_ = hints_for(found.specification["aqueue.get.cancel-safe"], violation)
    assert caught.value.rule == "aqueue.get.cancel-safe"
    assert first.startswith(hint)


def test_a_script_builds_the_queue_that_a_sequence_clears_first():
    with context("mutants.async_queues.LowerFirst") as found, pytest.raises(RuleFailed) as caught:
        runner_of(found).run(commands("clear put:0 put:1 get"))
    assert any(line.startswith("queue = ") for line in caught.value.body)


def test_a_script_takes_out_what_the_comparison_took_out_before_it_went_on():
    with context(ASYNC_MEMORY) as found:
        runner_of(found).run(commands("limit:1 start_put:0 cancel_put:0 settle put:0 put:1 put:2"))
        taken = [step.source for step in found.recorder.steps].index("got = loop.run(queue.get())")
        assert "putting_3 = " in found.recorder.steps[taken + 2].source


def test_a_script_compares_the_field_of_a_request_that_comes_back_altered():
    with context("mutants.async_disk.ForgetsHeaders") as found, pytest.raises(RuleFailed) as caught:
        runner_of(found).run(commands("put:16 get"))
    assert caught.value.body[-1].startswith("assert got.headers == Request('https://example.com/68', priority=0, headers=")
    assert caught.value.body[-1].endswith(", f'got {got.headers!r}'")
    assert caught.value.expected == "got.headers == {'Accept': 'text/html'}"
    assert caught.value.actual == "{} from loop.run(queue.get())"


def test_a_script_compares_the_class_of_a_request_that_has_the_same_fields(monkeypatch):
    with context(ASYNC_DISK) as found:
        item = found.driver.item(0)
        monkeypatch.setattr(found.driver, "differences", lambda *_: [])
        assert found.driver.altered(object(), item) == ("type({})", object, type(item.value))


def test_programs_contain_every_operation():
    with context(ASYNC_DISK) as found:
        names = {operation.name for operation in runner_of(found).table}
    assert {"start_put", "start_get", "tick", "run_job", "deliver", "cancel_get", "cancel_put", "limit", "reopen"} <= names


@pytest.mark.parametrize("path", [ASYNC_MEMORY, ASYNC_DISK])
def test_the_machine_can_be_extended(path):
    run_state_machine_as_test(state_machine(path), settings=settings(max_examples=10, database=None, deadline=None))


def test_the_machine_of_a_broken_queue_names_its_rule():
    machine = state_machine("mutants.async_queues.LowerFirst")
    unshrunk = settings(max_examples=100, database=None, deadline=None, derandomize=True, phases=[Phase.generate])
    with pytest.raises((RuleFailed, ExceptionGroup)) as caught:
        run_state_machine_as_test(machine, settings=unshrunk)
    failures = getattr(caught.value, "exceptions", [caught.value])
    assert {failure.rule for failure in failures} == {"aqueue.order.priority"}


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("mutants.async_queues.AwaitsTooLate", "aqueue.get.cancel-safe"),
        ("mutants.async_disk.LeavesHalfAFile", "aqueue.put.cancelled-no-trace"),
        ("mutants.async_schedulers.LosesWithTheConsumer", "ascheduler.add.direct-cancel"),
        *further(("qcrawl.core.queues.disk.DiskQueue", "aqueue.put.cancelled-no-trace")),
        ("qcrawl.core.queues.memory.MemoryPriorityQueue", "aqueue.bound.full-signal"),
        ("qcrawl.core.scheduler.Scheduler", "ascheduler.get.no-lost-wakeup"),
    ],
)
def test_what_is_found_can_be_confirmed_on_the_stock_loop(path, rule, tmp_path):
    report = examine(path, only=rule, examples=50)
    (script,) = [verdict.violation.script for verdict in report.verdicts if verdict.rule.id == rule and verdict.violation]
    assert "queue_conformance.loops.RealLoop() is the stock loop" in script
    ended = run_script(
        re.sub(r"\bSimulatedLoop\(\)", "RealLoop(must_come=1)", script).replace("SimulatedLoop", "RealLoop"), tmp_path
    )
    assert ended.returncode == 1
    assert re.match(r"AssertionError: |[\w.]+\.NeverReturns: ", ended.stderr.strip().splitlines()[-1])


class SlowlyThrottled(async_controls.Throttled):
    """A throttled queue on a machine that is so busy that what it waits for is over."""

    async def get(self):
        time.sleep(0.06)
        return await super().get()


def test_what_goes_by_the_clock_of_the_machine_is_not_tested_on_a_simulated_loop():
    found = implementation(f"{__name__}.SlowlyThrottled")
    assert "real-loop" in found.capabilities.names


def test_on_the_stock_loop_nothing_is_waited_for_longer_than_at_first_and_for_less_where_it_is_tried_again(tmp_path):
    with context("mutants.async_controls.Spinning") as found:
        driver = found.driver
        assert (driver.loop.must_come, driver.gave_up) == (MUST_COME, False)
        driver.impatient = True
        driver.renew(tmp_path)
        assert (driver.loop.must_come, driver.gave_up) == (BRIEF, False)
        driver.loop.settle(driver.loop.start(asyncio.sleep(60)))
        assert driver.gave_up
        driver.loop.slowest = 60.0
        driver.renew(tmp_path)
        assert (driver.loop.must_come, driver.gave_up) == (MUST_COME, True)


# --- The model -------------------------------------------------------------------------------------------------------


def model(**priorities):
    found = AsyncQueueModel()
    for number, priority in enumerate(priorities.values()):
        found.begin_put(number, priority)
        found.end_put(number)
    return found


def test_the_first_of_the_most_urgent_comes_next():
    assert model(a=0, b=5, c=5).first() == {1}
    assert AsyncQueueModel(higher_first=False).first() == set()


def test_what_was_put_at_the_same_time_comes_in_any_order():
    found = AsyncQueueModel()
    found.begin_put(1, 0)
    found.begin_put(2, 0)
    found.end_put(2)
    found.end_put(1)
    assert found.first() == {1, 2}


def test_a_cancelled_put_may_have_stored_its_request():
    found = model(a=0)
    found.begin_put(7, 0)
    assert (found.least, found.most) == (1, 2)
    assert found.first() == {0}


def test_a_put_on_a_closed_queue_stores_nothing():
    found = model(a=0)
    found.closed = True
    found.begin_put(7, 0)
    found.end_put(7)
    assert (found.most, found.late) == (1, {7})


# --- Released queues --------------------------------------------------------------------------------------------------

MEMORY = "qcrawl.core.queues.memory.MemoryPriorityQueue"
DISK = "qcrawl.core.queues.disk.DiskQueue"
RELEASED = {
    MEMORY: ANY_QUEUE,
    DISK: ANY_QUEUE
    | {
        "aqueue.put.cancelled-no-trace",  # a put that is cancelled after its file was opened leaves an empty one
        "aqueue.get.cancel-safe",  # the entry is taken from memory, and then the file is read
        "aqueue.get.bad-item",  # the file stays, and is found again at each start
        "aqueue.bound.limit",  # the size is compared before the file is written
        "aqueue.persist.torn",  # like bad-item
        "aqueue.persist.isolated",  # the default path is /tmp/qcrawl_queue for all
    },
}


MUST = {
    MEMORY: {"aqueue.get.close-wakes"},
    DISK: {"aqueue.get.close-wakes", "aqueue.get.cancel-safe", "aqueue.bound.limit"},
}


def musts(report):
    """Return the MUST rules that fail."""
    return {verdict.rule.id for verdict in report.failed_rules("MUST")}


@pytest.mark.parametrize("path", [MEMORY, *further(DISK)])
def test_released_queues_break_what_they_break(path):
    report = examine(path)
    assert failed_rules(report) == RELEASED[path]
    assert musts(report) == MUST[path]


def test_what_a_full_queue_drops_is_its_bound_whether_that_is_known_or_not():
    with context("mutants.async_queues.DropsWhenFull") as found, pytest.raises(RuleFailed) as caught:
        runner_of(found).run(commands("limit:2 put:0 put:0 start_put:0 tick start_put:0"))
    assert (caught.value.rule, caught.value.cause) == ("aqueue.bound.full-signal", "size: lost")


@pytest.mark.further
@pytest.mark.parametrize("seed", [1, 4, 8])
def test_an_order_that_is_always_wrong_is_not_blamed_on_a_reopening(seed):
    report = examine(DISK, {"priority": "higher-first"}, seed=seed, only="machine")
    assert failed_rules(report) <= RELEASED[DISK] | {"aqueue.order.priority"}


@pytest.mark.parametrize("path", RELEASED)
def test_released_queues_serve_lower_numbers_first_as_they_say(path):
    report = examine(path, {"priority": "higher-first"}, only="aqueue.order.priority")
    assert failed_rules(report) == {"aqueue.order.priority"}
    assert not failed_rules(examine(path, {"priority": "lower-first"}, only="aqueue.order.priority"))


class Bare(RequestQueue):
    """It has no order that it speaks of."""


class Says(Bare):
    """Serves what has the lowest number first."""


class Inherits(Says):
    pass


class Turns(Says):
    """Requests with higher priority values are processed first."""


class Documents(Bare):
    async def put(self, request, priority=0):
        """Lower numeric values indicate higher priority."""


class Uncertain(Bare):
    """The highest priority comes first; lower numbers are of higher priority."""


class AfterAll(Bare):
    """A lower priority comes later. The highest value is served first."""


class Small(Bare):
    """Requests with a smaller priority value are processed first."""


class Ascends(Bare):
    """Requests in ascending order of priority."""


class Heap(Bare):
    """A min-heap: priority 0 comes out before priority 5."""


class Waits(Bare):
    """Requests of lower priority wait for more urgent ones, and equal ones come first in, first out."""


class WaitsElsewhere(Bare):
    """A deque for each priority (lower numbers are processed first), futures for those who wait."""


class Remarks(Bare):
    """A deque for each priority (lower first), and one lock."""


class RemarksTheOther(Bare):
    """A heap of priorities, the highest ones first."""


class Negates(Bare):
    """Scores are negated priorities, so the lowest score is popped first."""


@pytest.mark.parametrize(
    ("cls", "claims", "higher"),
    [
        (Bare, {}, True),
        (Says, {}, False),
        (Inherits, {}, False),
        (Turns, {}, True),
        (Documents, {}, False),
        (Uncertain, {}, False),
        (AfterAll, {}, True),
        (Small, {}, False),
        (Ascends, {}, False),
        (Heap, {}, False),
        (Waits, {}, True),
        (WaitsElsewhere, {}, False),
        (Remarks, {}, False),
        (RemarksTheOther, {}, True),
        (Negates, {}, True),
        (Says, {"priority": "higher-first"}, True),
        (Bare, {"priority": "lower-first"}, False),
    ],
)
def test_the_claim_or_else_the_docstring_says_which_priorities_come_first(cls, claims, higher):
    assert higher_first(cls, claims) is higher


FAILED_REDIS = {
    "aqueue.ctor.shipped-config",  # ZADD has no EX: with the shipped item_ttl every put raises TypeError
    "aqueue.put.rebuildable-rare",  # a tuple comes back as a list
    "aqueue.put.closed",  # it does not know that it is closed
    "aqueue.order.fifo",  # the members of equal scores are random
    "aqueue.order.non-int",
    "aqueue.get.close-wakes",
    "aqueue.get.closed-drains",
    "aqueue.get.cancel-safe",  # between BZPOPMIN and HGET the request is nowhere
    "aqueue.bound.usable",  # without dedupe the script of bounded queues gets no KEYS
    "aqueue.iter.cancel",
    "aqueue.redis.ttl",
    "aqueue.redis.timeout",  # BZPOPMIN waits forever for 0
}


@pytest.mark.further
def test_the_released_queue_behind_a_server_breaks_what_it_breaks():
    pytest.importorskip("redis")
    quick = {"url": "redis://{host}:{port}/0?socket_timeout=1"}  # by default redis-py waits for 5 seconds
    report = examine("qcrawl.core.queues.redis.RedisQueue", {"shared": "yes"}, settings=quick, server="redis", examples=30)
    assert failed_rules(report) == FAILED_REDIS
    assert musts(report) == {
        "aqueue.ctor.shipped-config",
        "aqueue.get.close-wakes",
        "aqueue.get.cancel-safe",
        "aqueue.bound.usable",
        "aqueue.redis.ttl",
    }


def test_what_a_queue_offers_is_said_in_words():
    assert ASYNC_QUEUE.describe(Capabilities()) == "nothing beyond the interface"
    assert ASYNC_QUEUE.describe(Capabilities(bounded=True, persistent=True, filesystem=True, serializes=True, clear=True)) == (
        "persistent, in files, bounded, serializes"
    )
    served = Capabilities(persistent=True, server=True, dedupe=True, real_loop=True)
    assert ASYNC_QUEUE.describe(served) == (
        "persistent, behind a server, stores no request twice if told so, needs the stock event loop"
    )


@pytest.mark.further
@pytest.mark.parametrize("seed", [0, 4])
def test_what_was_put_into_a_closed_queue_is_not_blamed_on_a_reopening(seed):
    pytest.importorskip("redis")
    report = examine("qcrawl.core.queues.redis.RedisQueue", settings=AT_SERVER, server="redis", seed=seed, only="machine")
    assert failed_rules(report) <= FAILED_REDIS


@pytest.mark.parametrize(
    ("path", "verdict"),
    [
        ("mutants.async_promising.PromisesFifo", RunVerdict.NON_CONFORMANT),
        ("mutants.async_queues.LastInFirstOut", RunVerdict.PARTIAL),
    ],
)
def test_equal_priorities_bind_a_queue_whose_docstring_says_that_it_is_fifo(path, verdict):
    report = examine(path, only=("smoke", "aqueue.order.fifo"))
    assert failed_rules(report) == {"aqueue.order.fifo"}
    assert report.verdict is verdict
