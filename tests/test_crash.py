"""Processes are really killed, where it was asked for, and nothing of them is left."""

import itertools
import os
import signal
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from kit import FIFO_BYTES, FIFO_MEMORY, context, examine, failed_rules, further

from mutants import hostile
from mutants.controls import LogByteQueue
from queue_conformance.engine.child import Died
from queue_conformance.engine.crash import Sweep
from queue_conformance.engine.crash_claim import suggested_claim
from queue_conformance.engine.killpoints import Crash, Kill, When, evenly, operations_of, plan
from queue_conformance.engine.registry import checks_of
from queue_conformance.implementation.loading import path_of
from queue_conformance.kinds.queue.checks.crash import sigkill_leaves_a_queue_that_works, workloads
from queue_conformance.processes import isolation, process
from queue_conformance.script_support.kills import die, kill_at_line, kill_in_write, tear_write
from queue_reference.disk import FifoDiskQueue

LOG = "mutants.controls.LogByteQueue"


def process_is_gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def killed(context, operation):
    """Run an operation in a process that is killed in it."""

    def live(say):
        with context:
            say(operation())

    return process.run(live, time_limit=10)


def sweep(b, rule="queue.persist.crash-open"):
    checks_of(b.implementation.kind)  # and their fixtures
    return Sweep(b, rule, sigkill_leaves_a_queue_that_works)


def counted(b, workload, kill=None):
    """Crash one queue, and return what the check counted, or None if the kill did not hit."""
    found = sweep(b)
    assert found.failure(Crash(operations_of(workload), kill or Kill()), counted=True) is None
    return found.counts[0][1] if found.counts else None


def test_a_process_says_things_and_ends():
    ended = process.run(lambda say: [say(1), say("two"), say(b"3" * 100_000)], time_limit=10)
    assert ended.said == (1, "two", b"3" * 100_000)
    assert (ended.signal, ended.status, ended.hung, ended.hit) == (0, 0, False, False)


def test_what_was_said_before_the_kill_is_known():
    ended = process.run(lambda say: [say("before"), die(), say("after")], time_limit=10)
    assert ended.said == ("before",)
    assert ended.signal == signal.SIGKILL
    assert ended.hit


@pytest.mark.parametrize("harm", [hostile.write_everywhere, hostile.replace_everything, lambda: os.closerange(0, 256)])
def test_what_is_said_is_heard_whatever_became_of_descriptors(harm):
    ended = isolation.run(lambda _: process.run(lambda say: [say(1), harm(), say(2)], time_limit=10).said, time_limit=60)
    assert ended == isolation.Answer((1, 2))


def test_an_exit_is_no_hit():
    ended = process.run(lambda say: os._exit(3), time_limit=10)
    assert (ended.signal, ended.status, ended.hit) == (0, 3, False)


def test_an_error_of_the_function_is_an_error_here():
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        process.run(lambda say: 1 // 0, time_limit=10)


def test_a_silent_process_is_ended_and_that_is_no_hit():
    started = time.monotonic()
    ended = process.run(lambda say: [say(os.getpid()), time.sleep(60)], time_limit=0.2)
    assert time.monotonic() - started < 10
    assert (ended.hung, ended.hit) == (True, False)
    assert process_is_gone(*ended.said)


def test_a_process_ends_with_the_one_that_started_it():
    reader, writer = os.pipe()

    def parent(say):
        def child(say):
            os.write(writer, b"%d" % os.getpid())
            time.sleep(60)

        process.run(child, time_limit=60)

    ended = process.run(parent, time_limit=0.5)
    assert ended.hung
    pid = int(os.read(reader, 20))
    os.close(reader)
    os.close(writer)
    deadline = time.monotonic() + 10
    while not process_is_gone(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert process_is_gone(pid)


def swept(b):
    """Crash a queue in every way, and return the crashes that hit."""
    found = sweep(b)
    ways = {When.AFTER, When.LINE, When.BYTE}
    planned = plan([operations_of(one) for one in workloads(b)], found.rehearsal, ways, b.examples, b.seed)
    assert not found.run(planned)
    return [crash for crash, _ in found.counts]


def test_nothing_is_left_after_a_sweep():
    before = children()
    with context(LOG) as b:
        b.examples = 20
        assert swept(b)
    assert children() == before


def children():
    """Return the numbers of the processes that this one started, ended ones that nobody waited for included."""
    return sorted(child for task in Path("/proc/self/task").iterdir() for child in (task / "children").read_text().split())


class TestKill:
    def test_before_a_line_of_the_class(self, tmp_path):
        path = tmp_path / "0"
        sizes = []
        for number in range(1, 200):
            path.unlink(missing_ok=True)
            ended = killed(kill_at_line(LogByteQueue, number), lambda: LogByteQueue(path).push(b"item"))
            if not ended.hit:
                break
            assert ended.said == ()
            assert ended.signal == signal.SIGKILL
            sizes.append(path.stat().st_size if path.exists() else -1)
        assert 10 < number < 100
        assert sizes == sorted(sizes)  # each line is a little later
        assert (sizes[0], sizes[-1]) == (-1, 4 + 9 + 4)

    @pytest.mark.parametrize("size", [4, 5, 12, 16])
    def test_when_a_file_reaches_a_size(self, tmp_path, size):
        path = tmp_path / "0"
        ended = killed(kill_in_write(tmp_path, size), lambda: LogByteQueue(path).push(b"item"))
        assert ended.said == ()
        assert ended.signal == signal.SIGXFSZ
        assert path.stat().st_size == size

    def test_a_write_that_the_kernel_has_shortened_is_the_last_one(self, tmp_path):
        path = tmp_path / "file"

        def write_once():
            return os.write(os.open(path, os.O_WRONLY | os.O_CREAT), b"0123456789")

        ended = killed(kill_in_write(tmp_path, 6), write_once)
        assert ended.said == (6,)
        assert ended.signal == signal.SIGKILL
        assert path.read_bytes() == b"012345"

    @pytest.mark.parametrize("kill", [kill_at_line, kill_in_write])
    def test_a_place_that_is_never_reached_is_no_hit(self, tmp_path, kill):
        subject = LogByteQueue if kill is kill_at_line else tmp_path
        ended = killed(kill(subject, 1000), lambda: LogByteQueue(tmp_path / "0").push(b"item"))
        assert (ended.signal, ended.status, ended.hit) == (0, 0, False)

    @pytest.mark.parametrize("undo", [False, True])
    def test_a_write_is_cut_and_the_others_are_undone(self, tmp_path, undo):
        (tmp_path / "log").write_bytes(b"old")
        (tmp_path / "index").write_bytes(b"1")
        with tear_write(tmp_path, "log", 5, undo):
            (tmp_path / "log").write_bytes(b"old new")
            (tmp_path / "index").write_bytes(b"2")
            (tmp_path / "other").touch()
        assert (tmp_path / "log").read_bytes() == b"old n"
        assert (tmp_path / "index").read_bytes() == (b"1" if undo else b"2")
        assert (tmp_path / "other").exists() != undo


class TestAccount:
    def test_a_crash_that_does_not_hit_has_none(self):
        with context(LOG) as b:
            assert counted(b, "open push:10", Kill(When.LINE, 1000)) is None

    def test_a_right_queue_has_everything_and_works(self):
        with context(FIFO_BYTES) as b:
            assert not +counted(b, "open push:10 push:11 pop push:12")

    def test_a_long_workload_fits(self):
        with context(FIFO_BYTES) as b:
            assert not +counted(b, " ".join(["open", *(f"push:{number}" for number in range(1000, 2500))]))

    def test_a_queue_in_memory_has_nothing_but_works(self):
        with context(FIFO_MEMORY) as b:
            assert +counted(b, "open push:10 push:11") == {"lost": 2}

    @pytest.mark.parametrize(
        ("workload", "results", "stored", "gone", "spared"),
        [
            ("open push:10", [None, None], [10], [], 0),
            ("open push:10", [None], [], [], 0),
            ("open push:10", [None, False], [10], [], 0),
            ("open push:10 pop", [None, None], [10], [], 1),
            ("open push:10 pop", [None, None, 10], [], [10], 0),
            ("open push:10 push:11 pop", [None, None, None, None], [10, 11], [], 0),
            ("open push:10 push:11 clear", [None, None, None], [10, 11], [], 2),
            ("open push:10 push:11 clear", [None, None, None, None], [], [10, 11], 0),
            ("open push:10 close", [None, None], [10], [], 0),
        ],
    )
    def test_what_is_stored_and_what_may_be_missing(self, workload, results, stored, gone, spared):
        died = Died(operations_of(workload), results)
        assert (died.stored, died.gone, died.spared) == (stored, gone, spared)


def test_crashes_hit_in_every_way():
    with context(FIFO_BYTES) as b:
        ways = [crash.kill.when for crash in swept(b)]
    assert all(ways.count(when) > 10 for when in When if when is not When.TORN)


def test_places_are_chosen_at_even_distances():
    assert evenly(range(5), 10, 0) == [0, 1, 2, 3, 4]
    chosen = evenly(range(1000), 10, 3)
    assert len(chosen) == 10
    assert {later - earlier for earlier, later in itertools.pairwise(chosen)} <= {99, 100, 101}
    assert chosen != evenly(range(1000), 10, 5)


@pytest.mark.parametrize(
    ("path", "grade"),
    [
        (FIFO_BYTES, "process crash (0 lost, 0 doubled, 0 phantom at "),
        ("queuelib.queue.LifoDiskQueue", "clean close ("),
        *further(("mutants.disk.OwnedByAProcess", "none (")),
    ],
)
def test_durability_is_graded(path, grade):
    notes = examine(path, only="queue.persist.crash-open").notes
    assert [note for note in notes if note.startswith(f"durability: {grade}")]


def test_scratch_directories_of_crashes_are_removed():
    with context(LOG) as b:
        counted(b, "open push:10")
        assert not Path(b.driver.directory).exists()


class InterruptedByItsThirdPop(LogByteQueue):
    """Its third pop raises what Ctrl-C raises, so that no longer story can be crashed."""

    pops = 0

    def pop(self):
        self.pops += 1
        if self.pops == 3:
            raise KeyboardInterrupt
        return super().pop()


def test_a_queue_that_raises_what_ctrl_c_raises_is_no_mistake_of_the_kit():
    report = examine(path_of(InterruptedByItsThirdPop), only={"queue.persist.crash-no-phantom", "queue.persist.crash-open"})
    assert failed_rules(report) <= {"queue.persist.crash-open"}


class SurvivesKills(LogByteQueue):
    """A right queue whose name makes a promise."""


class Promises(LogByteQueue):
    """A right queue that recovers what it had."""


@pytest.mark.parametrize(
    ("cls", "claims", "where"),
    [
        (SurvivesKills, {}, "name"),
        (Promises, {}, "docstring"),
        (Promises, {"crash-safe": "yes"}, None),
        (LogByteQueue, {}, None),
        (FifoDiskQueue, {}, "module"),
    ],
)
def test_who_speaks_of_crashes_is_asked_for_the_claim(cls, claims, where):
    swept = SimpleNamespace(context=SimpleNamespace(implementation=SimpleNamespace(cls=cls, claims=claims)))
    line = f"its {where} speaks of crashes: claim crash-safe, and all that a kill may cost is tested"
    assert list(suggested_claim(swept)) == ([line] if where else [])


@pytest.mark.parametrize(
    ("layout", "text", "speaks"),
    [
        ("", "A queue on disk. It recovers what a crash has left.\n", True),
        ("src", "Durable queues", True),
        ("", "It offers no way to repair\nor to recover such a queue. It is fast.", False),
        ("", "A queue on disk.", False),
    ],
)
def test_a_readme_that_speaks_of_crashes_is_asked_for_the_claim(layout, text, speaks, tmp_path, monkeypatch):
    (tmp_path / "README.md").write_text(text)
    file = tmp_path / layout / "plain_queues" / "queues.py"
    monkeypatch.setitem(sys.modules, "plain_queues.queues", SimpleNamespace(__file__=str(file)))
    cls = type("Queue", (), {"__module__": "plain_queues.queues"})
    swept = SimpleNamespace(context=SimpleNamespace(implementation=SimpleNamespace(cls=cls, claims={})))
    assert bool(list(suggested_claim(swept))) == speaks
