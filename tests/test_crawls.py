"""Crawls of the site on the loopback address: what they download, how they are stopped, and what their process inherits."""

import os
import random
import signal
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path
from time import monotonic, sleep
from types import ModuleType

import pytest
from kit import downloads

from queue_conformance.environments.crawls import CONCURRENCY, ForkedSite, draw_pages
from queue_conformance.environments.site import Crawl
from queue_conformance.faults.filesystem import obey_modes
from queue_conformance.kinds.crawl.kept import error_of

pytestmark = pytest.mark.skipif(not downloads(), reason="needs a Scrapy that can download")

PAGES = {0: [1, 2, 3, 4], 1: [5, 0], 2: [6], 3: [7], 4: [7], 5: [], 6: [2], 7: []}
ALL = sorted(PAGES)
JOB = {"JOBDIR": "job"}
BUFFERED = {"EXTENSIONS": '{"test_crawls.LeavesAFileOpen": 0}'}


class LeavesAFileOpen:
    """It writes a file, and does not close it."""

    @classmethod
    def from_crawler(cls, crawler):
        extension = cls()
        extension.file = open("buffered", "w")  # noqa: SIM115
        extension.file.write("text")
        return extension


@pytest.fixture
def site(tmp_path):
    with closing(ForkedSite(PAGES, str(tmp_path), {})) as made:
        yield made


def test_a_crawl_downloads_every_page_once(site):
    run = site.crawl()
    assert sorted(run.hits) == sorted(run.parsed) == ALL
    assert run.finished
    assert (run.status, run.hung, run.error) == (0, False, "")


class ClosesLate(ForkedSite):
    """Its answers have come before their connections are closed, as on a busy machine."""

    def shutdown_request(self, request):
        sleep(0.05)
        super().shutdown_request(request)


def test_no_request_is_sent_over_a_connection_that_is_about_to_close(tmp_path):
    bodies = {"PAGES_BY": ("body",)}  # Twisted sends nothing again that has a body
    with closing(ClosesLate(PAGES, str(tmp_path), bodies)) as site:
        assert set(site.crawl().parsed) == set(ALL)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("held", [1, 2, CONCURRENCY])
def test_a_signal_comes_after_some_pages_while_others_are_in_flight(site, number, held):
    run = site.crawl(sending=(number,), after=2, held=held, **JOB)
    assert len(run.sent) == 1
    assert len(run.hits) - len(run.waiting) == 2
    assert len(run.waiting) >= held
    assert set(run.parsed) == set(run.hits)
    assert not run.finished
    rest = site.crawl(**JOB)
    assert sorted(run.hits + rest.hits) == ALL
    assert rest.finished
    assert run.counts + rest.counts == [*range(1, len(ALL) + 1)]


def test_fewer_are_in_flight_where_fewer_are_known(site):
    run = site.crawl(sending=(signal.SIGINT,), after=0, held=3, **JOB)
    assert run.hits == run.waiting == run.parsed == [0]


def test_a_signal_that_comes_too_late_is_not_sent(site):
    run = site.crawl(sending=(signal.SIGINT,), after=len(PAGES), **JOB)
    assert not run.sent
    assert run.finished


def test_a_spider_is_closed_after_some_pages(site):
    run = site.crawl(closing=2, CONCURRENT_REQUESTS=1, **JOB)
    assert 2 <= len(run.hits) < len(PAGES)
    assert not run.finished
    assert run.status == 0


def test_a_second_signal_comes_when_the_first_was_received(site):
    run = site.crawl(sending=(signal.SIGINT, signal.SIGINT), after=1, held=2, **JOB)
    assert len(run.sent) == 2
    assert set(run.parsed) == set(run.hits) - set(run.waiting)
    assert any("SIGINT twice" in line for line in run.log)


def test_a_crawl_is_killed(site):
    run = site.crawl(sending=(signal.SIGKILL,), after=2, **JOB)
    assert run.status == -signal.SIGKILL
    assert not run.hung
    assert not run.finished


def test_a_crawl_that_does_not_end_is_ended(tmp_path):
    with closing(ForkedSite(PAGES, str(tmp_path), {}, time_limit=1.5)) as site:
        run = site.crawl(sending=(signal.SIGCONT,), after=1)
    assert run.hung
    assert run.status == -signal.SIGKILL


def test_the_log_tells_what_went_wrong(site):
    run = site.crawl(SCHEDULER="nowhere.Scheduler")
    assert not run.hits
    assert run.error == "ModuleNotFoundError: No module named 'nowhere'"


LOGGED = """\
2030-01-01 [scrapy.downloadermiddlewares.retry] ERROR: Gave up retrying <GET /2> (failed 3 times): no answer
2030-01-01 [scrapy.core.scraper] ERROR: Spider error processing <GET /1>
Traceback (most recent call last):
  File "/x/graph.py", line 9, in parse_page
ValueError: the callback of this page raises
2030-01-01 [scrapy.core.scheduler] WARNING: Unable to serialize request: <GET /2> - reason: no
Traceback (most recent call last):
  File "/x/scrapy/scheduler.py", line 7, in push
  File "/x/mine.py", line 3, in push
  File "/x/json.py", line 5, in dumps
KeyError: 1

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/x/scrapy/scheduler.py", line 7, in push
  File "/x/mine.py", line 4, in push
  File "/x/json.py", line 6, in dumps
a.b.NoError: <Spider at 0x7f0123456789> is not stored
2030-01-01 [asyncio] ERROR: Task exception was never retrieved
Traceback (most recent call last):
  File "/x/mine.py", line 8, in pop
IndexError: pop
"""


def test_the_log_tells_what_the_tested_class_raised_and_where():
    crawl = Crawl([], [], [], LOGGED.splitlines(), 0)
    assert (crawl.error, crawl.trouble[0], crawl.raised_at) == ("IndexError: pop", "a.b.NoError: <Spider> is not stored", "")
    crawl.files = {"/x/mine.py"}
    assert crawl.raised_at == "NoError ('/x/mine.py', 4) ('/x/json.py', 6)"


GROUP = """\
2030-01-01 [scrapy] ERROR: Error while opening
  + Exception Group Traceback (most recent call last):
  |   File "/x/mine.py", line 4, in open
  |     raise
  | ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | Exception Group Traceback (most recent call last):
    |   File "/x/mine.py", line 5, in connect
    | ExceptionGroup: two (1 sub-exception)
    +-+---------------- 1 ----------------
      | Traceback (most recent call last):
      |   File "/x/mine.py", line 6, in connect
      | KeyError: 'one'
      +------------------------------------
    +---------------- 2 ----------------
    | Traceback (most recent call last):
    |   File "/x/mine.py", line 7, in connect
    | ValueError: two
    +------------------------------------
"""

LOGGED_ITSELF = """\
2030-01-01 [mine] ERROR: Traceback (most recent call last):
  File "/x/mine.py", line 6, in connect
    first
    | second
KeyError: 'one'
"""


@pytest.mark.parametrize("log", [GROUP, LOGGED_ITSELF])
def test_the_log_tells_of_groups_of_exceptions_and_of_tracebacks_that_are_logged(log):
    crawl = Crawl([], [], [], log.splitlines(), 0)
    crawl.files = {"/x/mine.py"}
    assert crawl.raised_at.split()[0] == "KeyError"
    assert crawl.raised_at.endswith("('/x/mine.py', 6)")
    assert crawl.error == "KeyError: 'one'"
    assert error_of(crawl)[0] == "KeyError: 'one'"


def test_a_crawl_is_the_same_in_a_new_interpreter(site, monkeypatch):
    monkeypatch.setitem(sys.modules, "twisted.internet.reactor", ModuleType("twisted.internet.reactor"))
    run = site.crawl(sending=(signal.SIGTERM,), after=2, held=2, **JOB)
    assert (len(run.sent), run.status, len(run.hits) - len(run.waiting)) == (1, 0, 2)
    assert sorted(run.hits + site.crawl(**JOB).hits) == ALL


def test_a_crawl_has_no_settings_of_another_project(site, monkeypatch):
    monkeypatch.setenv("SCRAPY_SETTINGS_MODULE", "nowhere.settings")
    assert site.crawl().finished


def test_buffered_files_are_written_at_the_end_as_by_an_interpreter(site):
    assert site.crawl(**BUFFERED).finished
    assert Path(site.directory, "buffered").read_text() == "text"


def test_a_crawl_leaves_nothing_in_this_process(site, tmp_path):
    files = descriptors()
    before = (Path.cwd(), signal.getsignal(signal.SIGINT), list(sys.path))
    site.crawl(sending=(signal.SIGINT,), after=1, **JOB)
    assert (Path.cwd(), signal.getsignal(signal.SIGINT), list(sys.path)) == before
    end = monotonic() + 60
    while not descriptors() <= files:  # a thread of the site closes its connection to a crawl that has ended
        assert monotonic() < end
        sleep(0.01)


def descriptors():
    """Return the numbers of what is open in this process, with what they stand for."""
    found = set()
    for path in Path("/proc/self/fd").glob("*"):
        with suppress(OSError):  # that of the directory itself is closed again
            found.add((path.name, os.readlink(path)))
    return found


def test_preloading_installs_no_reactor():
    code = """
import sys, queue_conformance.kinds.job.fixtures
from queue_conformance.environments.crawls import preload
from scrapy.settings.default_settings import DOWNLOAD_HANDLERS_BASE
DOWNLOAD_HANDLERS_BASE["old"] = "twisted.protocols.ftp.FTPClient"  # imports the reactor, and is what Scrapy 2.13 imports for FTP
preload()
sys.exit("twisted.internet.reactor" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_preloading_imports_the_components_that_scrapy_has_by_default():
    code = "import sys; from queue_conformance.environments.crawls import preload; preload(); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert {"scrapy.extensions.feedexport", "scrapy.pqueues", "scrapy.squeues"} <= {*loaded}
    assert {"aiohttp", "twisted.conch"}.isdisjoint(loaded)  # of what listens, which all crawls turn off


def test_no_crawl_starts_a_program_to_learn_of_the_platform():
    code = """
import platform, subprocess
from queue_conformance.environments.crawls import preload
preload()
subprocess.Popen = None
print(platform.platform())
"""
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout


@pytest.mark.parametrize("seed", range(20))
def test_every_drawn_page_can_be_reached(seed):
    pages = draw_pages(random.Random(seed), 15)
    reached, new = {0}, [0]
    while new:
        new = [link for page in new for link in pages[page] if link not in reached]
        reached.update(new)
    assert reached == set(pages) == set(range(15))


def crawled(hits, parsed, *sent):
    return Crawl(hits, [], sent, [f"parsed {page} 1" for page in parsed], 0)


def toll_of(site, *runs):
    site.pages = {0: [1, 2], 1: [], 2: []}
    site.runs, site.hits = list(runs), [page for run in runs for page in run.hits]
    return site.toll()


def test_what_was_in_flight_in_a_kill_may_come_again_or_get_lost(site):
    assert toll_of(site, crawled([0, 1], [0], signal.SIGKILL), crawled([0, 1, 2], [0, 1, 2])) == ([], [])
    assert toll_of(site, crawled([0, 1], [0, 1], signal.SIGKILL), crawled([], [])) == ([], [])


def test_what_was_done_with_may_not_come_again(site):
    assert toll_of(site, crawled([0, 1, 2], [0, 1], signal.SIGKILL), crawled([0, 2], [0, 2])) == ([], [0])


def test_what_is_linked_from_what_was_done_with_may_not_get_lost(site):
    assert toll_of(site, crawled([0], [], signal.SIGKILL), crawled([0], [0])) == ([1, 2], [])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux")
def test_modes_count_for_root_too_if_it_says_so(tmp_path):
    tmp_path.chmod(0o555)
    child = os.fork()
    if child == 0:
        obey_modes()
        os._exit(int(os.access(tmp_path, os.W_OK)))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_crawl_ends_though_a_thread_of_the_class_waits_for_work(tmp_path):
    settings = {"JOBDIR": "job", "SCHEDULER_DISK_QUEUE": "mutants.controls.PooledQueue"}
    with closing(ForkedSite(PAGES, str(tmp_path), settings, time_limit=15.0)) as site:
        run = site.crawl()
    assert (run.ending, run.status, run.hung) == ("finished", 0, False)
