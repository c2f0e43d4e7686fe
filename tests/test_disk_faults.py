"""Each fault of the disk really hits, is over when it ends, and is named in the report."""

import errno
import os
import resource
import signal
import sqlite3
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from kit import FIFO_BYTES, FIFO_DISK, context, examine, mounts

from queue_conformance.engine.registry import checks_of
from queue_conformance.engine.verdicts import Verdict
from queue_conformance.faults import disk
from queue_conformance.faults.filesystem import mount_small_filesystem
from queue_conformance.kinds import BYTE_QUEUE
from queue_conformance.processes import isolation

FULL = pytest.mark.skipif(not mounts(), reason="needs a file system of its own")


def raises(number):
    return pytest.raises(OSError, match=rf"\[Errno {number}\]")


class TestSizeLimit:
    def test_a_write_across_the_limit_is_short(self, tmp_path):
        fault = disk.SizeLimit(tmp_path, 3)
        with closing_file(tmp_path) as file, fault:
            assert os.write(file, b"12345") == 3
        assert fault.hit
        assert (tmp_path / "file").read_bytes() == b"123"

    def test_a_write_beyond_the_limit_fails(self, tmp_path):
        fault = disk.SizeLimit(tmp_path, 0)
        with closing_file(tmp_path) as file, fault, raises(errno.EFBIG):
            os.write(file, b"1")
        assert fault.hit

    def test_a_write_below_the_limit_is_no_hit(self, tmp_path):
        fault = disk.SizeLimit(tmp_path, 10)
        with closing_file(tmp_path) as file, fault:
            os.write(file, b"12345")
        assert not fault.hit

    def test_it_reaches_into_sqlite(self, tmp_path):
        fault = disk.SizeLimit(tmp_path, 5000)
        with closing(sqlite3.connect(tmp_path / "file")) as database:
            database.execute("CREATE TABLE items (item)")
            with fault, pytest.raises(sqlite3.OperationalError):
                database.execute("INSERT INTO items VALUES (?)", (bytes(50_000),))
        assert fault.hit

    def test_afterwards_all_is_as_before(self, tmp_path):
        before = resource.getrlimit(resource.RLIMIT_FSIZE), signal.getsignal(signal.SIGXFSZ)
        with disk.SizeLimit(tmp_path, 0):
            pass
        assert (resource.getrlimit(resource.RLIMIT_FSIZE), signal.getsignal(signal.SIGXFSZ)) == before


class TestNoDescriptors:
    def test_nothing_more_can_be_opened(self, tmp_path):
        with disk.NoDescriptors(tmp_path), raises(errno.EMFILE):
            os.open(tmp_path, os.O_RDONLY)

    def test_it_reaches_into_sqlite(self, tmp_path):
        with closing(sqlite3.connect(tmp_path / "file")) as database:
            database.execute("CREATE TABLE items (item)")
            with disk.NoDescriptors(tmp_path), pytest.raises(sqlite3.OperationalError, match="unable to open"):
                database.execute("INSERT INTO items VALUES (1)")

    def test_afterwards_all_is_as_before(self, tmp_path):
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        with disk.NoDescriptors(tmp_path):
            pass
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == before
        os.close(os.open(tmp_path, os.O_RDONLY))


class TestNoPermission:
    def test_nothing_can_be_created_or_written(self, tmp_path):
        def errors(_watchdog):
            with disk.NoPermission("."):
                forbidden = [error_of("file"), error_of("other")]
            return forbidden, [error_of("file"), error_of("other")]

        (tmp_path / "file").touch()
        assert as_nobody(errors, tmp_path) == ([errno.EACCES, errno.EACCES], [None, None])

    def test_root_is_told_from_other_users(self, tmp_path):
        assert disk.permissions_matter(tmp_path) == (os.getuid() != 0)
        assert as_nobody(lambda _watchdog: disk.permissions_matter(Path()), tmp_path)

    def test_afterwards_all_is_as_before(self, tmp_path):
        (tmp_path / "file").touch(0o640)
        before = (tmp_path / "file").stat().st_mode, tmp_path.stat().st_mode
        with disk.NoPermission(tmp_path):
            pass
        assert ((tmp_path / "file").stat().st_mode, tmp_path.stat().st_mode) == before


@FULL
class TestNoSpace:
    @pytest.mark.parametrize("room", [0, 4096, 16384])
    def test_what_does_not_fit_into_the_room_fails(self, tmp_path, room):
        def written(_watchdog):
            mount_small_filesystem(str(tmp_path))
            with closing_file(tmp_path) as file, disk.NoSpace(tmp_path, room):
                fits = sum(os.write(file, bytes(4096)) for _ in range(room // 4096))
                try:
                    os.write(file, b"1")
                except OSError as error:
                    return fits, error.errno

        assert alone(written) == (room, errno.ENOSPC)

    def test_it_reaches_into_sqlite(self, tmp_path):
        def message(_watchdog):
            mount_small_filesystem(str(tmp_path))
            with closing(sqlite3.connect(tmp_path / "file")) as database:
                database.execute("CREATE TABLE items (item)")
                with disk.NoSpace(tmp_path, 0), pytest.raises(sqlite3.OperationalError) as caught:
                    database.execute("INSERT INTO items VALUES (?)", (bytes(50_000),))
            return str(caught.value)

        assert alone(message) == "database or disk is full"

    def test_nothing_stays_mounted(self, tmp_path):
        def use(_watchdog):
            mount_small_filesystem(str(tmp_path))
            (tmp_path / "file").touch()
            return os.path.ismount(tmp_path)

        assert alone(use)
        assert not os.path.ismount(tmp_path)
        assert not list(tmp_path.iterdir())


class TestPlaces:
    def test_a_file_that_grew_is_cut_at_each_of_its_first_and_last_bytes(self):
        found = disk.places({"file": 1000}, {"file": 2000}, samples=0, seed=0)
        assert {*range(1000, 1041), *range(1992, 2000)} <= set(found)

    def test_what_just_fits_is_no_place(self):
        assert 2000 not in disk.places({"file": 1000, "other": 5000}, {"file": 2000, "other": 5000}, samples=0, seed=0)

    def test_a_file_that_is_gone_may_have_grown_before(self):
        assert max(disk.places({"file": 1000}, {}, samples=0, seed=0)) > 1000

    def test_where_nothing_was_written_there_is_still_a_place(self):
        assert disk.places({}, {}, samples=0, seed=0) == [0]

    def test_the_same_seed_draws_the_same_places(self):
        first, second, other = (disk.places({}, {"file": 100_000}, samples=20, seed=seed) for seed in (1, 1, 2))
        assert first == second != other


@pytest.mark.parametrize("name", ["queue.push.no-silent-loss", "disk.open"])
@pytest.mark.parametrize("path", [FIFO_DISK, FIFO_BYTES, "mutants.controls.ChunkedByteQueue", "mutants.controls.FilePerItem"])
def test_a_right_queue_also_withstands_what_root_does_not_meet(path, name):
    with context(path) as found:

        def outcome(_watchdog):
            check_called(name)(found)
            return list(found.failed), " ".join(found.notes)

        failed, notes = as_nobody(outcome, found.directory)
    assert not failed
    assert "faults that hit" in notes
    assert "needs a user who is not root" not in notes


class TestReport:
    def test_it_names_the_faults_that_hit(self):
        notes = examine("scrapy.squeues.PickleFifoSQLiteQueue", only="queue.push.no-silent-loss").notes
        (hit,) = [note for note in notes if note.startswith("faults that hit queue.push.no-silent-loss: ")]
        assert "size limit (" in hit
        assert "no descriptors (4 of 4)" in hit
        assert ("no space (" in hit) == mounts()

    def test_a_fault_that_this_user_cannot_make_is_named(self):
        notes = examine(FIFO_DISK, only="disk.open").notes
        assert any("no permission (needs a user who is not root)" in note for note in notes) == (os.getuid() == 0)
        assert any("no space on a file system of its own" in note for note in notes) == (not mounts())

    def test_a_process_with_other_tasks_is_not_moved_to_other_mounts(self):
        before = os.readlink("/proc/self/ns/mnt") if os.path.exists("/proc/self/ns/mnt") else None
        with context(FIFO_DISK) as found:
            check_called("disk.open")(found)
            assert any("no space on a file system of its own" in note for note in found.notes)
        assert before is None or os.readlink("/proc/self/ns/mnt") == before


def check_called(name):
    return next(check.function for check in checks_of(BYTE_QUEUE) if check.name == name)


@contextmanager
def closing_file(directory):
    file = os.open(directory / "file", os.O_WRONLY | os.O_CREAT)
    try:
        yield file
    finally:
        os.close(file)


def error_of(path):
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT))
    except OSError as error:
        return error.errno


def alone(function):
    """Return what a function returns in a process of its own."""
    answer = isolation.run(function, time_limit=10)
    assert isinstance(answer, isolation.Answer), answer
    return answer.value


def as_nobody(function, directory):
    """Return what a function returns in a process of its own that is not root's."""

    def unprivileged(watchdog):
        if os.getuid() == 0:
            os.chown(directory, 65534, 65534)
            for path in directory.iterdir():
                os.chown(path, 65534, 65534)
            os.chdir(directory)
            os.setuid(65534)
        return function(watchdog)

    return alone(unprivileged)


@pytest.mark.parametrize(("limit", "most"), [(64, 64), (resource.RLIM_INFINITY, float("inf"))])
def test_no_limit_of_open_files_is_more_than_any(limit, most, monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda name: (limit, resource.RLIM_INFINITY))
    assert disk.most_files() == most


def test_few_open_files_say_nothing_of_many_open_queues(monkeypatch):
    monkeypatch.setattr(disk.resource, "getrlimit", lambda name: (64, 64))
    found = examine(FIFO_BYTES, only="pop.keys")
    (verdict,) = (verdict for verdict in found.verdicts if verdict.rule.id == "queue.pop.exactly-once")
    assert verdict.verdict is Verdict.NOT_COVERED
    assert "too few files" in verdict.reason
