"""What is private in other libraries does what it is used for: whoever changes it fails a test of one line here.

``make compat`` runs this file, and nothing else of the tests, with the releases of these libraries.
"""

import os
import subprocess
import sys
import warnings
from textwrap import dedent

import pytest
from hypothesis import find, given, seed, settings
from hypothesis import strategies as st
from hypothesis.database import InMemoryExampleDatabase
from hypothesis.errors import HypothesisWarning
from hypothesis.internal.conjecture import engine

from queue_conformance.compat.asyncio import TurnedLoop
from queue_conformance.compat.hypothesis import DIGEST, repeatable
from queue_conformance.compat.pytest import (
    TerminalRepr,
    cache_of,
    is_fixture,
    marker_of,
    send_through,
    write_past,
    writer_of,
)


class Loop(TurnedLoop):
    """A loop whose clock stands at five."""

    def time(self):
        return 5.0

    def __del__(self):
        """It holds nothing."""


def test_a_loop_runs_what_is_ready_and_not_what_becomes_ready_meanwhile():
    loop, ran = Loop(), []
    loop.call_soon(lambda: (ran.append(1), loop.call_soon(ran.append, 2)))
    loop.call_soon(ran.append, 3).cancel()
    assert loop.run_ready() == 2  # a handle that was cancelled has its turn, and does nothing
    assert ran == [1]
    loop.drop_ready()
    assert loop.run_ready() == 0


def test_timers_wake_in_the_order_of_their_times():
    loop, ran = Loop(), []
    for due in (4, 6, 3):
        loop.call_at(due, ran.append, due)
    loop.call_at(2, ran.append, 2).cancel()
    assert sorted(timer.when() for timer in loop.timers()) == [3, 4, 6]
    loop.wake_timers()
    loop.run_ready()
    assert ran == [3, 4]
    assert [timer.when() for timer in loop.timers()] == [6]


def test_the_clock_of_hypothesis_stands_still_and_answers_all_that_it_is_asked():
    asked = set()

    class Clock:
        def __getattr__(self, name):
            asked.add(name)
            return __import__("time").__dict__[name]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(engine, "time", Clock())
        find(st.lists(st.integers()), lambda drawn: len(drawn) > 2, settings=settings(database=None))
    with repeatable():
        assert asked
        assert {getattr(engine.time, name)() for name in asked} == {0.0}


def test_an_own_source_of_chance_that_hypothesis_takes_for_lost_is_no_error():
    with repeatable():  # as Python 3.14 lets it warn, after gc.freeze()
        warnings.warn("It looks like `register_random` was passed what may go", HypothesisWarning, stacklevel=1)


def test_constants_of_modules_are_not_drawn(monkeypatch, tmp_path):
    number = 8_301_775_521
    (tmp_path / "with_a_constant.py").write_text(f"NUMBER = {number}\n")
    monkeypatch.syspath_prepend(tmp_path)
    __import__("with_a_constant")
    drawn = []

    @seed(1)
    @settings(max_examples=500, database=None)
    @given(st.integers())
    def draw(value):
        drawn.append(value)

    with repeatable():
        draw()
    assert number not in drawn


def test_examples_of_two_tests_of_one_source_are_kept_apart():
    kept = InMemoryExampleDatabase()

    def run(digest):
        @settings(database=kept)
        @given(st.integers())
        def fails(value):
            assert value < 100

        setattr(fails.hypothesis.inner_test, DIGEST, digest)
        with pytest.raises(AssertionError):
            fails()
        return len(kept.data)

    first = run(b"one")
    assert run(b"one") == first
    assert run(b"another") > first


class Probe:
    """A plugin that looks at what a run of pytest has."""

    def pytest_sessionstart(self, session):
        """Write in three ways."""
        reporter = session.config.pluginmanager.get_plugin("terminalreporter")
        self.cache = cache_of(session.config)
        writer = writer_of(reporter)
        send_through(reporter, Shouting)
        reporter.write("abc")
        before = writer.width_of_current_line
        write_past(reporter, "\x1b[1mdef\x1b[0m")
        self.columns = before, writer.width_of_current_line
        self.width = writer.fullwidth
        Shown().toterminal(writer)


class Shown(TerminalRepr):
    """A failure of our own."""

    def toterminal(self, tw):
        tw.line("shown")


class Shouting:
    """A file that writes in capitals."""

    def __init__(self, file):
        self._file = file

    def __getattr__(self, name):
        return getattr(self._file, name)

    def write(self, text):
        return self._file.write(text.upper())


@pytest.mark.parametrize("options", [(), ("-p", "no:cacheprovider")])
def test_what_a_reporter_of_pytest_writes_is_seen_and_counted(tmp_path, capsys, options, monkeypatch):
    monkeypatch.chdir(tmp_path)
    probe = Probe()
    pytest.main(
        [str(tmp_path), "-c", "/dev/null", f"--rootdir={tmp_path}", "-p", "no:queue_conformance", *options], plugins=[probe]
    )
    written = capsys.readouterr().out
    assert "ABC\x1b[1MDEF\x1b[0MSHOWN\n" in written
    assert probe.columns == (3, 3)
    assert probe.width > 20
    assert (probe.cache is None) == bool(options)


def test_fixtures_are_told_from_functions():
    @pytest.fixture(params=[1, 2])
    def fixture(request):
        return request.param

    def function():
        return 1

    assert is_fixture(fixture)
    assert marker_of(fixture).params in ([1, 2], (1, 2))
    assert not is_fixture(function)
    assert marker_of(function) is None


def run(code):
    """Run some lines in an interpreter of their own, and return what they print."""
    done = subprocess.run([sys.executable, "-c", dedent(code)], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_engine_of_scrapy_looks_as_if_it_ran():
    assert run("""
        from scrapy import Request, Spider
        from scrapy.core.engine import ExecutionEngine
        from scrapy.utils.test import get_crawler
        from twisted.internet.defer import Deferred
        from queue_conformance.compat.scrapy import ask_every, let_run, replace_meta, settle, start_reactor, turn

        start_reactor()
        crawler = get_crawler(Spider)
        crawler.spider = Spider.from_crawler(crawler, "example")
        crawler.engine = ExecutionEngine(crawler, lambda spider: None)
        let_run(crawler.engine, crawler)
        assert crawler.engine.needs_backout() is False
        late = Deferred()
        from twisted.internet import reactor
        reactor.callLater(0.01, late.callback, "late")
        print(settle(late))
        turn()
        ask_every(0.25)
        print(ExecutionEngine._SLOT_HEARTBEAT_INTERVAL)
        request, meta = Request("https://example.com"), {}
        replace_meta(request, meta)
        print(request.meta is meta)
    """).split() == ["late", "0.25", "True"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform cannot fork")
def test_a_reactor_has_threads_in_a_process_that_is_forked_too():
    assert run("""
        import os
        from queue_conformance.compat.scrapy import settle, start_reactor
        from twisted.internet.threads import deferToThread

        start_reactor()
        from twisted.internet import reactor
        print(settle(deferToThread(str, "parent")), flush=True)
        if (child := os.fork()) == 0:
            print(settle(deferToThread(str, "child").addTimeout(10, reactor)), flush=True)
            os._exit(0)
        os.waitpid(child, 0)
        print(settle(deferToThread(str, "parent")))
    """).split() == ["parent", "child", "parent"]


def test_an_interpreter_ends_in_parts():
    assert run("""
        import atexit, os
        from concurrent.futures import ThreadPoolExecutor
        from queue_conformance.compat.python import call_exit_functions, end_threads, forget_exit_functions

        atexit.register(print, "of the parent")
        forget_exit_functions()
        atexit.register(print, "of this one", flush=True)
        pool = ThreadPoolExecutor(1)
        pool.submit(print, "by a thread")
        end_threads()
        call_exit_functions()
        os._exit(0)
    """).splitlines() == ["by a thread", "of this one"]


def test_a_module_that_asks_for_the_stack_is_shown_its_first_frames():
    assert run("""
        import inspect
        from queue_conformance.compat.python import two_frames_of_the_stack

        def names():
            return [entry[0].f_code.co_name for entry in inspect.stack()]
        def caller():
            return names()
        whole = caller()
        with two_frames_of_the_stack():
            print(*caller())
        print(*whole)
        print(caller() == whole)
    """).splitlines() == ["names caller", "names caller <module>", "True"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of the memory that one process got")
def test_a_call_with_room_gets_no_memory_for_each_call_below():
    assert run("""
        import resource
        from queue_conformance.compat.python import with_room

        def one():
            return two(1, 2, 3)
        def two(*numbers):
            return sum(numbers)
        def pages():
            return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        def most(depth, times=500):
            before = pages()
            for _ in range(times):
                one()
            got = pages() - before
            return max(got, most(depth - 1)) if depth else got
        with_room(most, 100)  # what is got once
        print(with_room(most, 100) < 100)
        print(with_room(max, 1, 2))
    """).split() == ["True", "2"]


def test_what_scrapy_deprecates_knows_its_module_in_every_case():
    assert run("""
        from queue_conformance.compat.python import two_frames_of_the_stack

        with two_frames_of_the_stack():
            from scrapy.core.downloader import contextfactory
        deprecated = getattr(contextfactory, "ScrapyClientContextFactory", None)
        print(deprecated is None or deprecated.__module__ == contextfactory.__name__)
    """).split() == ["True"]
