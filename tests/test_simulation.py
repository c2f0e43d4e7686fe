"""The simulated loop keeps the order that asyncio guarantees, and leaves the rest to whoever drives it."""

import asyncio
import gc
import threading
import time

import pytest

from queue_conformance.loops import (
    NeedsRealLoop,
    NeverAtRest,
    NeverReturns,
    RealLoop,
    SimulatedLoop,
    outcome_of,
    place_of,
    stuck,
    table_of,
)


@pytest.fixture
def loop():
    found = SimulatedLoop()
    yield found
    found.finish()


async def note(said, *words):
    for word in words:
        said.append(word)
        await asyncio.sleep(0)


def test_tasks_take_turns_as_on_the_stock_loop(loop):
    said, expected = [], []

    async def both():
        await asyncio.gather(note(expected, "a1", "a2", "a3"), note(expected, "b1", "b2"))

    asyncio.run(both())
    loop.start(note(said, "a1", "a2", "a3"))
    loop.start(note(said, "b1", "b2"))
    loop.tick()
    assert said == ["a1", "b1"]
    loop.settle()
    assert said == expected


def test_time_passes_at_once(loop):
    async def sleep():
        await asyncio.sleep(1000)
        return loop.time()

    started = time.monotonic()
    task = loop.start(sleep())
    loop.settle()
    assert outcome_of(task) == ("returned", 1000)
    assert time.monotonic() - started < 1


def test_time_outs_come_in_virtual_time(loop):
    async def give_up():
        await asyncio.wait_for(asyncio.Event().wait(), 30)

    task = loop.start(give_up())
    loop.advance(29)
    assert outcome_of(task) == ("waiting", None)
    loop.advance(2)
    assert isinstance(outcome_of(task)[1], TimeoutError)


def test_a_wait_that_nothing_ends_is_known_at_once_and_shows_where(loop):
    async def forever():
        await asyncio.Event().wait()

    task = loop.start(forever())
    assert table_of([("task", task)]) == "task has not begun"
    loop.settle()
    assert outcome_of(task) == ("waiting", None)
    line = forever.__code__.co_firstlineno + 1
    name = "test_a_wait_that_nothing_ends_is_known_at_once_and_shows_where.<locals>.forever"
    assert place_of(task) == f"{name}, line {line} of test_simulation.py"
    assert table_of([("task", task)]) == f"task in {name}, line {line}"
    task.cancel()
    loop.settle()
    assert table_of([("task", task)]) == "task cancelled"


def test_jobs_run_and_are_delivered_when_they_are_told_to(loop):
    done = []

    async def work(name):
        await loop.run_in_executor(None, done.append, name)
        return name

    first, second = loop.start(work("first")), loop.start(work("second"))
    loop.tick()
    assert loop.run_job(1)
    assert done == ["second"]
    assert loop.run_job()
    assert done == ["second", "first"]
    loop.tick()
    assert not first.done()
    assert not second.done()
    assert loop.deliver(1)
    loop.settle()
    assert outcome_of(second) == ("returned", "second")
    assert outcome_of(first) == ("returned", "first")
    assert not loop.jobs
    assert not loop.run_job()
    assert not loop.deliver()


def test_a_job_that_is_cancelled_before_it_runs_never_does(loop):
    done = []

    async def work():
        await asyncio.to_thread(done.append, 1)

    task = loop.start(work())
    loop.tick()
    task.cancel()
    loop.settle()
    assert outcome_of(task) == ("cancelled", None)
    assert not done
    assert not loop.jobs


def test_a_job_that_is_cancelled_after_it_ran_has_had_its_effect(loop):
    done = []

    async def work():
        await asyncio.to_thread(done.append, 1)

    task = loop.start(work())
    loop.tick()
    loop.run_job()
    task.cancel()
    loop.settle()
    assert outcome_of(task) == ("cancelled", None)
    assert done == [1]


def test_an_error_of_a_job_reaches_who_waits(loop):
    async def work():
        await asyncio.to_thread(int, "x")

    task = loop.start(work())
    loop.settle()
    kind, error = outcome_of(task)
    assert kind == "raised"
    assert isinstance(error, ValueError)


def test_what_never_comes_to_rest_is_given_up(loop):
    async def busy():
        while True:
            await asyncio.sleep(0)

    loop.start(busy())
    with pytest.raises(NeverAtRest, match=r"still busy after 10000 turns of the loop, in .*busy, line \d+ of test_simulation.py"):
        loop.settle()


def test_what_looks_again_and_again_is_at_rest_after_the_horizon():
    loop = SimulatedLoop(horizon=10)

    async def poll():
        while True:
            await asyncio.sleep(0.001)

    task = loop.start(poll())
    loop.settle()
    assert outcome_of(task) == ("waiting", None)
    assert loop.time() == pytest.approx(10, abs=0.01)
    loop.finish()


def test_sockets_need_a_real_loop(loop):
    async def connect():
        await asyncio.open_connection("127.0.0.1", 1)

    task = loop.start(connect())
    loop.settle()
    assert isinstance(outcome_of(task)[1], NeedsRealLoop)


def test_a_task_that_does_not_end_when_it_is_cancelled_is_named():
    async def stubborn():
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                continue

    loop = SimulatedLoop()
    loop.start(stubborn(), "stubborn")
    loop.settle()
    assert loop.finish() == ["stubborn"]


@pytest.mark.parametrize("loop_class", [SimulatedLoop, lambda: RealLoop(must_come=0.1)])
def test_what_does_not_end_is_never_collected(loop_class):
    collected = []

    async def stubborn():
        while not collected:
            try:
                await asyncio.sleep(10)
            except GeneratorExit:
                collected.append(True)
            except asyncio.CancelledError:
                pass

    loop = loop_class()
    loop.start(stubborn())
    loop.tick()
    loop.finish()
    del loop
    gc.collect()
    assert collected == []


def test_errors_that_nobody_handles_are_kept(loop):
    loop.call_soon(int, "x")
    loop.settle()
    assert isinstance(loop.errors[0]["exception"], ValueError)


def test_a_coroutine_can_be_run_to_its_end(loop):
    async def double(number):
        await asyncio.sleep(number)
        return 2 * number

    assert loop.run(double(2)) == 4
    with pytest.raises(TypeError):
        loop.run(double("x"))
    with pytest.raises(NeverReturns, match=r"Event\.wait"):
        loop.run(asyncio.Event().wait())


def test_a_task_that_was_begun_can_be_run_to_its_end(loop):
    event = asyncio.Event()
    waiting = loop.start(event.wait())
    loop.settle()
    assert stuck(waiting) == [f"waits forever in {place_of(waiting)}"]
    loop.call(event.set)
    assert loop.run(waiting) is True
    assert stuck(waiting) == []
    with pytest.raises(NeverReturns):
        loop.run(loop.start(asyncio.Event().wait()))


# --- The stock loop ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [SimulatedLoop, RealLoop])
def test_both_loops_run_one_iteration_at_a_time(make):
    said, loop = [], make()
    loop.start(note(said, "a1", "a2", "a3"))
    loop.start(note(said, "b1", "b2"))
    for expected in (["a1", "b1"], ["a1", "b1", "a2", "b2"], ["a1", "b1", "a2", "b2", "a3"]):
        loop.tick()
        assert said == expected
    loop.finish()


@pytest.mark.parametrize("make", [SimulatedLoop, RealLoop])
def test_both_loops_run_jobs_when_they_are_told_to(make):
    done, loop = [], make()

    async def work(name):
        await asyncio.to_thread(done.append, name)
        return name

    first, second = loop.start(work("first")), loop.start(work("second"))
    loop.tick()
    assert loop.run_job(1)
    assert done == ["second"]
    loop.tick()
    assert not second.done()
    assert loop.deliver()
    for _ in range(2):
        loop.tick()
    assert outcome_of(second) == ("returned", "second")
    assert not loop.deliver()
    loop.settle()
    assert outcome_of(first) == ("returned", "first")
    assert done == ["second", "first"]
    loop.finish()


def test_the_real_loop_tells_what_did_not_come_and_how_long_the_rest_took():
    loop = RealLoop(must_come=2)
    loop.settle(loop.start(asyncio.sleep(0.05)))
    assert not loop.waited
    slowest = loop.slowest
    assert 0.05 <= slowest < 2
    loop.settle(loop.start(asyncio.Event().wait()))
    assert loop.waited
    assert loop.slowest == slowest
    loop.finish()


def test_the_real_loop_has_the_same_methods():
    async def echo():
        def greet(_reader, writer):
            writer.write(b"hello")
            writer.close()

        server = await asyncio.start_server(greet, "127.0.0.1", 0)
        async with server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname()[:2])
            said = await reader.read(5)
            writer.close()
            await writer.wait_closed()
        return said

    loop = RealLoop(must_come=5, may_not_come=0.01)
    task = loop.start(echo())
    loop.settle(task)
    assert outcome_of(task) == ("returned", b"hello")
    waiting = loop.start(asyncio.Event().wait())
    loop.stays(waiting)
    assert outcome_of(waiting) == ("waiting", None)
    assert loop.finish() == []


def test_what_looks_again_and_again_is_at_rest(loop):
    async def poll():
        while True:
            await asyncio.sleep(0.01)

    task = loop.start(poll())
    loop.settle()
    assert outcome_of(task) == ("waiting", None)
    before = loop.time()
    loop.advance(10)
    assert loop.time() == pytest.approx(before + 10)


def test_who_sleeps_for_long_looks_again_although_others_look_often(loop):
    seen = []

    async def poll(seconds):
        while True:
            await asyncio.sleep(seconds)
            seen.append(seconds)

    for seconds in (0.1, 60):
        loop.start(poll(seconds))
    loop.settle()
    assert 60 in seen


def test_what_looks_at_ever_longer_intervals_looks_once_more(loop):
    looked = []

    async def back_off():
        pause = 0.01
        while True:
            await asyncio.sleep(pause)
            looked.append(pause)
            pause = min(2 * pause, 30)

    loop.start(back_off())
    loop.settle()
    before = len(looked)
    loop.settle()
    assert looked[-1] == 30
    assert len(looked) > before


def test_a_wary_loop_notices_threads_that_wait():
    loop = SimulatedLoop(wary=True)
    never = threading.Event()
    assert loop.run(asyncio.to_thread(int, "7")) == 7
    with pytest.raises(NeedsRealLoop, match="threads wait"):
        loop.run(asyncio.to_thread(never.wait))
    never.set()

    async def look_again_and_again():
        while True:
            await asyncio.to_thread(time.sleep, 0.05)

    loop.start(look_again_and_again())
    with pytest.raises(NeedsRealLoop, match="threads wait"):
        loop.settle()
    loop.finish()


def test_tasks_that_an_implementation_started_are_ended_too(loop):
    ended, tasks = [], []

    async def work():
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    async def begin():
        tasks.append(asyncio.create_task(work()))

    loop.run(begin())
    loop.finish()
    assert ended


def test_a_thread_that_is_not_under_control_is_noticed(loop):
    assert not loop.foreign
    loop.call_soon_threadsafe(int)
    assert not loop.foreign
    thread = threading.Thread(target=loop.call_soon_threadsafe, args=[int])
    thread.start()
    thread.join()
    assert loop.foreign


@pytest.mark.parametrize("make", [SimulatedLoop, RealLoop])
def test_a_function_is_called_while_the_loop_is_running(make):
    found = make()
    running = found.call(asyncio.get_running_loop)
    assert running is found.loop
    assert found.call(max, 1, 2, key=lambda number: -number) == 1
    found.finish()


def test_a_real_loop_that_nobody_finished_is_closed():
    found = RealLoop()
    stock = found.loop
    stock.call_soon(lambda: stock.call_exception_handler({"message": "it is out of order"}))
    found.tick()
    assert found.errors
    del found
    gc.collect()
    assert stock.is_closed()


@pytest.mark.parametrize("begun", [True, False])
@pytest.mark.parametrize("make", [SimulatedLoop, RealLoop])
def test_a_thread_that_has_begun_goes_on_when_nobody_waits_for_it(make, begun):
    loop, done = make(), []
    waiting = loop.start(asyncio.to_thread(done.append, 1))
    loop.tick()
    if begun:
        loop.begin_job()
    waiting.cancel()
    loop.tick()
    loop.run_job()
    assert bool(done) is begun
    loop.finish()
