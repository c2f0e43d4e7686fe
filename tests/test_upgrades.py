"""What one version of a class kept, a later one recovers, refuses, loses, misreads or crawls again; the store never changes."""

import json
import pickle
import re
import socket
import sqlite3

import pytest
from kit import ASYNC_DISK, ENVIRONMENT, TESTS, further

from mutants import QCRAWL
from queue_conformance import UsageError, examine
from queue_conformance import __main__ as command
from queue_conformance.config import run_config
from queue_conformance.engine.kept import nothing_found
from queue_conformance.engine.kept_outcome import Outcome, Reading, compare, speaks
from queue_conformance.engine.stored import stored_in
from queue_conformance.engine.verdicts import RunVerdict
from queue_conformance.implementation.loading import LoadError

SLOW = """
import time

from queuelib.queue import FifoDiskQueue


class Queue(FifoDiskQueue):
    def pop(self):
        time.sleep(0.2)
        return super().pop()
"""


@pytest.mark.further
def test_what_takes_its_time_with_each_item_hangs_not(kit, kept):
    (kept / "slow.py").write_text(SLOW)
    assert kit("1", "keep", "slow", "--queue-class=slow.Queue")[0] == 0
    (found,) = examine("slow.Queue", kept="slow", claims=["upgrades"], rules="upgrade.*", time_limit=2.0).implementations
    assert any(note.startswith("kept:") and "closed: recovers all" in note for note in found.notes)


SAFE, WHOLE = "upgrade.no-silent-loss", "upgrade.recovers-all"

VERSIONED = '''
import os
import pickle
from pathlib import Path


def version():
    return os.environ["VERSIONED"]


class Queue:
    """First in, first out, in a file that begins with the version that made it; each version has a way of its own with others."""

    def __init__(self, key):
        self.path = Path(key)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if not self.path.exists():
            self._write(version(), [])
        if self._read()[0] != version() and version() == "breaks":
            self.position = {"0": 0}[self._read()[0]]
        if self._read()[0] != version() and version() == "refuses":
            raise ValueError(f"{key} is of version {self._read()[0]}; drain it with that")

    @classmethod
    def from_crawler(cls, crawler, key):
        return cls(key)

    def push(self, request):
        made, items = self._read()
        self._write(made, [*items, request.to_dict(spider=None)])

    def pop(self):
        from scrapy.utils.request import request_from_dict

        made, items = self._read()
        if made != version():
            if version() == "loses" and len(items) < 5:
                return None
            if version() == "raises" and len(items) < 5:
                raise KeyError("priority")
            if version() == "misreads" and items:
                items[0]["priority"] = -items[0]["priority"] or 7
            if version() == "reorders":
                items.reverse()
            if version() == "repeats" and len(items) == 1 and not items[0]["url"].endswith("again"):
                items.append({**items[0], "url": items[0]["url"] + "again"})
        if not items:
            return None
        self._write(made, items[1:])
        return request_from_dict(items[0])

    def __len__(self):
        return len(self._read()[1])

    def close(self):
        if not self._read()[1]:
            self.path.unlink(missing_ok=True)

    def _read(self):
        return pickle.loads(self.path.read_bytes()) if self.path.exists() else (version(), [])

    def _write(self, made, items):
        self.path.with_suffix(".new").write_bytes(pickle.dumps((made, items)))
        self.path.with_suffix(".new").replace(self.path)


class Filter:
    """It keeps what it has seen in a file; one version has other fingerprints, and one takes all for seen."""

    def __init__(self, job):
        self.path = Path(job, "seen") if job else None
        known = self.path.read_text().split() if job and self.path.exists() else []
        self.old = bool(known) and known[0] != version()
        self.seen = set(known)

    @classmethod
    def from_crawler(cls, crawler):
        from scrapy.utils.job import job_dir

        return cls(job_dir(crawler.settings))

    def open(self):
        if self.path and not self.seen:
            self.path.write_text(version() + "\\n")

    def request_seen(self, request):
        from scrapy.utils.request import fingerprint

        found = fingerprint(request).hex()
        if self.old and version() != "right":
            return version() == "drops"
        if found in self.seen:
            return True
        self.seen.add(found)
        if self.path:
            with self.path.open("a") as file:
                file.write(found + "\\n")
        return False

    def close(self, reason):
        pass

    def log(self, request, spider):
        pass


from scrapy.core.scheduler import Scheduler as Scrapys


class Scheduler(Scrapys):
    """Scrapy's; one version forgets in silence what was seen, and one what waits."""

    @classmethod
    def from_crawler(cls, crawler):
        from scrapy.utils.job import job_dir

        if (job := job_dir(crawler.settings)) and version() == "forgets":
            for path in Path(job).glob("requests.seen"):
                path.unlink()
        return super().from_crawler(crawler)

    def open(self, spider):
        if self.dqdir and version() == "empties":
            for path in Path(self.dqdir).glob("active.json"):
                path.unlink()
        return super().open(spider)


class SavesAtTheEnd(Filter):
    """It writes what it has seen when it is closed."""

    def request_seen(self, request):
        path, self.path = self.path, None
        try:
            return super().request_seen(request)
        finally:
            self.path = path

    def close(self, reason):
        if self.path:
            self.path.write_text("\\n".join([version(), *self.seen - {version()}]))
'''


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A directory with what three versions of the queue, and one of the filter, have kept."""
    directory = tmp_path_factory.mktemp("kept")
    directory.joinpath("versioned.py").write_text(VERSIONED)
    with pytest.MonkeyPatch.context() as patch:
        _enter(directory, patch)
        for version in ("1", "2", "3"):
            patch.setenv("VERSIONED", version)
            assert command.main(["keep", f"queue-{version}", "--queue-class=versioned.Queue"]) == 0
        assert command.main(["keep", "scheduler", "--scheduler-class=versioned.Scheduler"]) == 0
        assert command.main(["keep", "filter", "--dupefilter-class=versioned.Filter"]) == 0
    return directory


@pytest.fixture
def kit(kept, monkeypatch, capsys):
    """Run a command where a version of the classes is installed; return its exit status, its output, and its errors."""
    _enter(kept, monkeypatch)

    def run(version, *arguments):
        monkeypatch.setenv("VERSIONED", version)
        status = command.main([*arguments])
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


def _enter(directory, patch):
    patch.chdir(directory)
    patch.syspath_prepend(directory)
    patch.setenv("PYTHONPATH", ENVIRONMENT["PYTHONPATH"])


def _contents(directory):
    return {path: path.read_bytes() for path in directory.rglob("*") if path.is_file() and path.suffix != ".pyc"}


@pytest.mark.parametrize(
    ("version", "status", "said"),
    [
        *further(("right", 0, "recovers all")),
        ("refuses", 0, "refuses in words: ValueError: "),
        ("breaks", 1, "breaks: KeyError: '1' (nothing has changed)"),
        ("loses", 1, "loses: 4 of 13 that waited do not come out: https://"),
        ("raises", 1, "loses: KeyError: 'priority', when 9 of 13 had come out and the store had changed"),
        ("misreads", 1, "misreads: "),
        ("reorders", 1, "misreads: what waited comes out in another order"),
        ("repeats", 1, "crawls again: 1 come out that did not wait any more: "),
    ],
)
def test_what_a_later_version_of_a_queue_does(kit, kept, version, status, said):
    before = _contents(kept)
    found, out, err = kit(version, "kept", "queue-1")
    assert (found, err) == (status, "")
    _, closed, killed = out.splitlines()
    assert closed.startswith(f"  closed: {said}")
    assert killed.startswith(f"  killed: {said}")
    assert _contents(kept) == before


KEPT = ("queue-1", "queue-2", "queue-3")


@pytest.mark.parametrize(
    ("version", "claims", "judged", "said"),
    [
        ("right", ["upgrades"], {SAFE: ("MUST", "passed"), WHOLE: ("SHOULD", "passed")}, "recovers all"),
        ("refuses", ["upgrades"], {SAFE: ("MUST", "passed"), WHOLE: ("SHOULD", "failed")}, "refuses in words: ValueError: "),
        ("refuses", [], {SAFE: ("MAY", "passed"), WHOLE: ("MAY", "failed")}, "refuses in words: ValueError: "),
        ("loses", ["upgrades"], {SAFE: ("MUST", "failed"), WHOLE: ("SHOULD", "not covered")}, "loses: 4 of 13"),
        ("loses", [], {SAFE: ("MAY", "failed"), WHOLE: ("MAY", "not covered")}, "loses: 4 of 13"),
    ],
)
def test_a_run_asks_for_three_versions(kept, monkeypatch, version, claims, judged, said):
    _enter(kept, monkeypatch)
    monkeypatch.setenv("VERSIONED", version)
    report = examine("versioned.Queue", kept=KEPT, claims=claims, rules="upgrade.*")
    (found,) = report.implementations
    assert {one.rule.id: (one.rule.level, one.verdict) for one in found.verdicts if one.rule.id in judged} == judged
    assert report.failed == (judged[SAFE] == ("MUST", "failed"))
    text = str(report)
    for name in KEPT:
        assert re.search(rf"kept: {name} \(\w+ [\d.]+\)\s+closed:\s+{said}".replace(" ", r"\s+"), text), text


@pytest.mark.parametrize(
    ("version", "said"),
    [("right", "recovers all"), ("forgets", "crawls again: 24 that were seen"), ("empties", "loses: 18 of 18 that waited")],
)
def test_a_run_asks_a_scheduler(kept, monkeypatch, version, said):
    _enter(kept, monkeypatch)
    monkeypatch.setenv("VERSIONED", version)
    report = examine("versioned.Scheduler", kept="scheduler", claims=["upgrades"], rules="upgrade.*")
    (note,) = (note for note in report.implementations[0].notes if note.startswith("kept:"))
    assert f"closed: {said}" in note
    assert report.failed == (version != "right")


def test_a_run_is_asked_for_nothing_that_another_class_wrote(kept, monkeypatch):
    _enter(kept, monkeypatch)
    with pytest.raises(UsageError, match=r"^kept: .*queue-1 was written by versioned\.Queue, which is not tested here$"):
        examine("versioned.Filter", kept=["queue-1"])
    with pytest.raises(UsageError, match=r"^kept: nowhere is no kept store: kept\.json: No such file"):
        examine("versioned.Queue", kept="nowhere")
    monkeypatch.setenv("VERSIONED", "1")
    with pytest.raises(LoadError, match=r"name what an earlier version has stored by --conformance-kept or drop it$"):
        examine("versioned.Queue", claims=["upgrades"])


def test_the_option_is_for_the_classes_of_the_run(kept, pytester):
    named = [str(kept / name) for name in ("queue-1", "filter")]
    pytester.makepyprojecttoml(f"[tool.queue_conformance]\nconformance-kept = {named}\nqueue-class = 'versioned.Queue'")

    def read(*arguments):
        return [[store.path for store in target.kept] for target in run_config.read(pytester.parseconfig(*arguments)).targets]

    assert read("--dupefilter-class=versioned.Filter") == [["versioned.Queue"], ["versioned.Filter"]]
    assert read("--queue-class=a.B") == [[]]
    assert read("--queue-class=versioned.Queue", f"--conformance-kept={named[0]}") == [["versioned.Queue"]]
    for arguments in (["--conformance"], ["--queue-class=versioned.Queue", f"--conformance-kept={named[1]}"]):
        with pytest.raises(UsageError, match=r"^--conformance-kept: .*filter was written by versioned\.Filter, which is not"):
            read(*arguments)


STATE = "scrapy.extensions.spiderstate.SpiderState"


@pytest.mark.parametrize(
    ("option", "path"),
    [
        ("priority-queue-class", "scrapy.pqueues.DownloaderAwarePriorityQueue"),
        pytest.param("queue-class", ASYNC_DISK, marks=pytest.mark.skipif(not QCRAWL, reason="needs qCrawl")),
        *further(("queue-class", "queuelib.PriorityQueue"), ("queue-class", "queuelib.RoundRobinQueue")),
        *further(("spider-state-class", STATE), ("queue-class", "queuelib.queue.FifoSQLiteQueue")),
    ],
)
def test_a_class_of_each_kind_is_kept_and_asked_again(kit, kept, option, path):
    directory = kept / path
    assert kit("1", "keep", str(directory), f"--{option}={path}")[0] == 0

    def asked():
        (found,) = examine(path, kept=directory, claims=["upgrades"], rules="upgrade.*").implementations
        return found.verdict, next(note for note in found.notes if note.startswith("kept:"))

    verdict, note = asked()
    assert verdict is not RunVerdict.NON_CONFORMANT
    assert "closed: recovers all" in note
    told = json.loads((directory / "kept.json").read_text())
    waits = told["stores"]["closed"]["pending"]
    waits.append({**waits[0], "more": 1})
    (directory / "kept.json").write_text(json.dumps(told))
    verdict, note = asked()
    assert verdict is RunVerdict.NON_CONFORMANT
    assert f"closed: loses: 1 of {len(waits)} that waited" in note


@pytest.mark.parametrize("version", ["right", *further("refuses")])
def test_three_versions_side_by_side(kit, version):
    status, out, _ = kit(version, "kept", "queue-1", "queue-2", "queue-3")
    assert status == 0
    assert len(out.splitlines()) == 9


def test_a_refusal_fails_at_the_level_should(kit):
    assert kit("refuses", "kept", "queue-1", "--level=SHOULD")[0] == 1
    assert kit("right", "kept", "queue-1", "--level=SHOULD")[0] == 0


@pytest.mark.parametrize(
    ("version", "said"),
    [("right", "recovers all"), ("forgets", "crawls again: 10 that were seen are new again"), ("drops", "loses: what was never")],
)
def test_what_a_later_version_of_a_filter_does(kit, version, said):
    status, out, _ = kit(version, "kept", "filter")
    assert status == (version != "right")
    assert all(said in line for line in out.splitlines()[1:])


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("right", "recovers all"),
        ("forgets", "crawls again: 24 that were seen are new again"),
        ("empties", "loses: 18 of 18 that waited do not come out"),
    ],
)
def test_what_a_later_version_of_a_scheduler_does(kit, version, said):
    status, out, _ = kit(version, "kept", "scheduler")
    assert status == (version != "right")
    assert f"  closed: {said}" in out


def test_a_queue_of_bytes(kit):
    assert kit("1", "keep", "bytes", "--queue-class=queuelib.queue.FifoSQLiteQueue")[0] == 0
    status, out, _ = kit("2", "kept", "bytes")
    assert (status, out.splitlines()[1:]) == (0, ["  closed: recovers all", "  killed: recovers all"])


OWN = """
import asyncio
import json
import os
from pathlib import Path


class Request:
    def __init__(self, url, priority=0, meta=None):
        self.url, self.priority, self.meta = url, priority, meta or {}


class Queue:
    # Requests of its own, in a file, by priorities; a later version loses what they carry.

    def __init__(self, path):
        self.path, self.closed, self.arrived = Path(path), False, asyncio.Event()

    async def put(self, request, priority=0):
        if not self.closed:
            self._write([*self._read(), [priority, vars(request)]])
            self.arrived.set()

    async def get(self):
        while not (waiting := self._read()):
            if self.closed:
                raise asyncio.CancelledError
            self.arrived.clear()
            await self.arrived.wait()
        first = max(waiting, key=lambda one: one[0])
        waiting.remove(first)
        self._write(waiting)
        return Request(**first[1] | ({"meta": {}} if os.environ["VERSIONED"] == "misreads" else {}))

    async def size(self):
        return len(self._read())

    async def clear(self):
        self._write([])

    async def close(self):
        self.closed = True
        self.arrived.set()

    def _read(self):
        return json.loads(self.path.read_text()) if self.path.exists() else []

    def _write(self, waiting):
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(waiting))
        new.replace(self.path)
"""


def test_a_queue_of_requests_of_its_own(kit, kept):
    (kept / "own.py").write_text(OWN)
    keep = ("keep", "own-1", "--queue-class=own.Queue")
    if not QCRAWL:
        assert "or name the class of your requests" in kit("1", *keep)[2]
    status, _, err = kit("1", *keep, "--conformance-claim=request=own.Request")
    assert (status, err) == (0, "")
    told = json.loads((kept / "own-1" / "kept.json").read_text())
    assert told["claims"] == {"request": "own.Request"}
    assert any(each.get("meta") for each in told["stores"]["closed"]["pending"])
    for version, said in (("1", "recovers all"), ("misreads", "misreads: ")):
        status, out, err = kit(version, "kept", "own-1")
        assert (status, err) == (version != "1", "")
        assert all(line.partition(": ")[2].startswith(said) for line in out.splitlines()[1:])


def test_a_spider_is_of_a_project_that_is_kept(kit):
    status, _, err = kit("1", "keep", "no", "--queue-class=own.Queue", "--spider=one")
    assert (status, err.count("\n")) == (2, 1)
    assert "--spider names one of a project; give --conformance-crawl with it" in err


def test_claims_are_for_a_class_that_is_kept(kit):
    given = "--conformance-claim=persistent"
    status, _, err = kit("1", "keep", "no", "--conformance-crawl", given)
    assert (status, err.count("\n")) == (2, 1)
    assert "--conformance-claim is for a class" in err
    status, _, err = kit("1", "keep", "no", "--queue-class=versioned.Queue", "--conformance-claim=persistant")
    assert (status, err.count("\n")) == (2, 1)
    assert "unknown claim 'persistant'; did you mean 'persistent'" in err


def test_what_is_kept_is_data(kept):
    told = json.loads((kept / "queue-1" / "kept.json").read_text())
    assert told["class"] == "versioned.Queue"
    assert [*told["stores"]] == ["closed", "killed"]
    assert told["written"].keys() >= {"scrapy", "queuelib", "Python", "pytest-queue-conformance"}
    pending = told["stores"]["closed"]["pending"]
    assert len(pending) == 13
    assert {each["class"] for each in pending} > {"Request", "FormRequest"}


@pytest.mark.parametrize("name", ["queue", "filter"])
def test_what_another_python_and_another_scrapy_wrote(kit, name):
    """Python 3.12 and Scrapy 2.13 wrote it, whose requests had no slots yet; no test can have both."""
    directory = TESTS / "kept" / name
    before = _contents(directory)
    told = json.loads((directory / "kept.json").read_text())
    assert (told["written"]["Python"], told["written"]["scrapy"]) == ("3.12.1", "2.13.4")
    classes = {each["class"] for each in told["stores"]["closed"]["pending"]}
    assert classes == ({"Request", "FormRequest", "JsonRequest"} if name == "queue" else set())
    status, out, err = kit("right", "kept", str(directory), "--level=SHOULD")
    assert (status, err) == (0, "")
    assert {line.partition(": ")[2] for line in out.splitlines()[1:]} == {"recovers all"}
    assert _contents(directory) == before


def test_what_cannot_be_kept_or_read_is_one_line(kit, kept):
    def said(*arguments):
        status, out, err = kit("1", *arguments)
        assert (status, out) == (2, "")
        return err

    assert "queue-1 is not empty" in said("keep", "queue-1", "--queue-class=versioned.Queue")
    assert "stores nothing that outlives it" in said("keep", "no", "--queue-class=scrapy.squeues.LifoMemoryQueue")
    assert not (kept / "no").exists()
    assert "is no kept store: kept.json: No such file" in said("kept", "no")
    broken = kept / "broken"
    broken.mkdir()
    whole = json.loads((kept / "queue-1" / "kept.json").read_text())
    pending = {"closed": {"pending": ["text"], "again": [], "dropped": []}}
    for damaged in (
        {},
        [],
        1,
        {**whole, "class": 1},
        {**whole, "settings": 1},
        {**whole, "claims": {"no": "no"}},
        {**whole, "asks": [1]},
    ):
        (broken / "kept.json").write_text(json.dumps(damaged))
        assert "kept.json is damaged" in said("kept", "broken")
    for text in ("[" * 100_000, "", json.dumps({**whole, "stores": pending})):
        (broken / "kept.json").write_text(text)
        assert "kept.json is damaged" in said("kept", "broken")
    (broken / "kept.json").write_text(json.dumps({**whole, "stores": {"elsewhere": {}}}))
    assert "keeps nothing" in said("kept", "broken")
    (broken / "kept.json").write_text(json.dumps({**whole, "format": 99}))
    assert "is of format 99" in said("kept", "broken")
    assert "TOKEN is a secret" in said("keep", "no", "--queue-class=versioned.Queue", "--queue-setting=TOKEN=abcdef123456")
    assert not (kept / "no").exists()
    (broken / "kept.json").write_text((kept / "queue-1" / "kept.json").read_text())
    assert "is not whole: closed is missing" in said("kept", "broken")


REACHES = """
import os

from queuelib.queue import FifoDiskQueue


class Queue(FifoDiskQueue):
    def push(self, item):
        super().push(item)
        if os.environ["VERSIONED"] == "2":
            open(os.environ["GOODS"], "a").write("more")

    def pop(self):
        if os.environ["VERSIONED"] == "3":
            open(os.environ["GOODS"], "a").write("more")
        return super().pop()
"""


@pytest.mark.parametrize("version", ["2", "3"])
def test_what_is_not_the_kits_is_neither_written_by_keeping_nor_by_reading(kit, kept, monkeypatch, version):
    goods = kept / "goods"
    goods.write_text("goods")
    (kept / "reaches.py").write_text(REACHES)
    monkeypatch.setenv("GOODS", str(goods))
    if version == "3":
        assert kit("1", "keep", "reached", "--queue-class=reaches.Queue")[0] == 0
    arguments = ("kept", "reached") if version == "3" else ("keep", "reaching", "--queue-class=reaches.Queue")
    status, _, err = kit(version, *arguments)
    assert (status, err.count("\n"), goods.read_text()) == (2, 1, "goods")
    assert "it would change" in err
    assert "goods" in err


CONNECTS = """
import socket

from queuelib.queue import FifoDiskQueue


class Queue(FifoDiskQueue):
    def push(self, item):
        super().push(item)
        socket.create_connection(("127.0.0.1", PORT)).close()
"""


def test_what_connects_elsewhere_is_told_of_no_option_that_there_is_not(kit, kept):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        (kept / "connects.py").write_text(CONNECTS.replace("PORT", str(port)))
        status, _, err = kit("1", "keep", "connecting", "--queue-class=connects.Queue")
    assert (status, err.count("\n")) == (2, 1)
    assert f":{port} (" in err
    assert err.endswith("which is not the kit's: only what is stored in files can be kept\n")


def test_what_its_own_version_does_not_find_after_a_kill_is_not_kept(kit, kept):
    status, out, _ = kit("1", "keep", "forgetful", "--dupefilter-class=versioned.SavesAtTheEnd")
    assert status == 0
    assert out.startswith("not kept: what is left by a kill, ")
    assert "10 of 10 that were seen are new again" in out
    assert not (kept / "forgetful" / "killed").exists()


ONE, TWO = {"url": "https://a.example/"}, {"url": "https://b.example/"}


@pytest.mark.parametrize(
    ("reading", "outcome"),
    [
        (Reading({**nothing_found(), "pending": [ONE, TWO]}), Outcome.RECOVERS),
        (Reading(nothing_found(), ended="died of SIGSEGV"), Outcome.BREAKS),
        (Reading(nothing_found(), "AssertionError: ", silent=True), Outcome.BREAKS),
        (Reading(nothing_found(), "ValueError: of version 1"), Outcome.REFUSES),
        (Reading(nothing_found(), "ValueError: no", changed=True), Outcome.LOSES),
        (Reading({**nothing_found(), "pending": [ONE]}), Outcome.LOSES),
        (Reading({**nothing_found(), "pending": [ONE, ONE]}), Outcome.LOSES),
        (Reading({**nothing_found(), "pending": [TWO, ONE]}), Outcome.MISREADS),
        (Reading({**nothing_found(), "pending": [ONE, TWO, TWO]}), Outcome.AGAIN),
        (Reading({**nothing_found(), "pending": [ONE, TWO], "again": [ONE]}), Outcome.AGAIN),
        (Reading({**nothing_found(), "pending": [ONE, TWO], "dropped": [ONE]}), Outcome.LOSES),
    ],
)
def test_outcomes(reading, outcome):
    assert compare({**nothing_found(), "pending": [ONE, TWO]}, reading, ordered=True)[0] is outcome


def requests(*places):
    return [{"url": f"https://{host}.example/{number}", "priority": number, "meta": {}} for host, number in places]


@pytest.mark.parametrize(
    ("wanted", "found", "outcome"),
    [
        ("a2 b1 a0", "b1 a2 a0", Outcome.MISREADS),
        ("a2 b1 a0", "a0 b1 a2", Outcome.MISREADS),
        ("a0 b1 a2", "a2 b1 a0", Outcome.MISREADS),
        ("a2 a0 b3 b1", "b3 a2 b1 a0", Outcome.RECOVERS),
        ("a2 a0 b3 b1", "b3 a0 a2 b1", Outcome.MISREADS),
        ("a2 a0 b3 a3", "a3 a0 b3 a2", Outcome.RECOVERS),
        ("a1 b1 c1", "c1 b1 a1", Outcome.RECOVERS),
    ],
)
def test_requests_that_came_by_their_priorities_come_so_again(wanted, found, outcome):
    expected, other = (requests(*((one[0], int(one[1])) for one in text.split())) for text in (wanted, found))
    reading = Reading({**nothing_found(), "pending": other})
    assert compare({**nothing_found(), "pending": expected}, reading, ordered=False)[0] is outcome


def test_what_another_version_finds_more_of_after_a_kill_was_waiting():
    expected, found = {**nothing_found(), "pending": [TWO]}, Reading({**nothing_found(), "pending": [ONE, TWO]})
    assert compare(expected, found, ordered=True, waited=[ONE, TWO])[0] is Outcome.RECOVERS
    assert compare(expected, found, ordered=True)[0] is Outcome.AGAIN


def test_fields_of_another_release_of_the_kit_are_no_difference():
    reading = Reading({**nothing_found(), "pending": [{**ONE, "weight": 1}]})
    assert compare({**nothing_found(), "pending": [{**ONE, "flags": []}]}, reading, ordered=True)[0] is Outcome.RECOVERS


class Raises:
    """Each method raises, or comes upon, what another version may meet in a store."""

    def its_own(self):
        raise ValueError("this job cannot be resumed; drain it first")

    def its_own_key(self):
        raise KeyError("unknown format 3")

    def its_own_word(self):
        raise ValueError("no")

    def scrapys(self):
        raise_from("scrapy.pqueues", "the state is created by an incompatible priority queue")

    def of_a_file(self):
        raise_from("sqlite3", "cannot read /jobs/1/requests.db")

    def pickles(self):
        pickle.loads(b"\x80\x63.")

    def of_a_library(self):
        json.loads("1 2")

    def of_a_codec(self):
        b"SQLite\xff".decode()

    def a_key(self):
        return {}["version"]

    def an_argument(self):
        FormerRequest(version=1)

    def of_another_package(self):
        raise_from("msgpack", "unpack received extra data")


class FormerRequest:
    def __init__(self):
        pass


def raise_from(module, text):
    exec("def function():\n    raise ValueError(text)\nfunction()", {"__name__": module, "text": text})


@pytest.mark.parametrize(
    ("method", "told"),
    [
        *((name, True) for name in ("its_own", "its_own_key", "scrapys", "of_a_file", "pickles")),
        *((name, False) for name in ("its_own_word", "of_a_library", "of_a_codec", "a_key", "an_argument", "of_another_package")),
    ],
)
def test_an_error_is_a_refusal_in_words_if_it_says_what_is_wrong_with_the_store(method, told):
    with pytest.raises(Exception) as raised:  # noqa: PT011  whatever it is
        getattr(Raises(), method)()
    assert speaks(raised.value, {__name__}, ["requests.queue/0", "requests.db"]) is told


def test_what_sqlite_moves_into_a_database_when_that_is_opened_is_no_change(tmp_path):
    written = sqlite3.connect(tmp_path / "queue", isolation_level=None)
    written.execute("PRAGMA journal_mode = WAL")
    written.execute("CREATE TABLE items (item)")
    before = stored_in(tmp_path)
    assert [*before] == ["queue"]
    assert (tmp_path / "queue-wal").exists()
    written.close()
    assert not (tmp_path / "queue-wal").exists()
    assert stored_in(tmp_path) == before
    with sqlite3.connect(tmp_path / "queue") as written:
        written.execute("PRAGMA user_version = 2")
    assert stored_in(tmp_path) != before
    (tmp_path / "queue").write_bytes(b"SQLite format 3\0, or not")
    assert stored_in(tmp_path).keys() == {"queue"}
