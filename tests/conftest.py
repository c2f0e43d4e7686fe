"""What the project's own test run needs."""

import gc
import os
import pickle
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis.strategies import none
from kit import ENVIRONMENT, FORK_SERVER, LEAN, ForkServer, examine, scratch_root

from queue_conformance.processes import trees


def pytest_configure(config):
    """Declare the marks of the project's own tests."""
    config.addinivalue_line("markers", "interpreter: runs of pytest begin in an interpreter that has imported nothing yet")
    config.addinivalue_line("markers", "further: another test stands for it, unless --everything is asked for")
    if "TMPDIR" not in os.environ and (memory := scratch_root()):
        write_in_memory(config, memory)
    state = tempfile.mkdtemp()  # what runs here make is nothing that the user's runs have made
    os.environ["XDG_STATE_HOME"] = ENVIRONMENT["XDG_STATE_HOME"] = state
    config.add_cleanup(lambda: trees.remove(Path(state)))


def write_in_memory(config, memory):
    """Keep all files of the tests, and of what they start, in memory: a disk is slow where many are made and removed.

    ext4 looks through the files that were just removed for each new one, which is half of what the scripts of some mutants take.
    """
    os.environ["PYTEST_DEBUG_TEMPROOT"] = memory
    os.environ["TMPDIR"] = ENVIRONMENT["TMPDIR"] = tempfile.tempdir = tempfile.mkdtemp(dir=memory)
    config.add_cleanup(lambda: trees.remove(Path(os.environ["TMPDIR"])))


def pytest_addoption(parser):
    """Declare what the project's own tests are asked besides."""
    parser.addoption("--everything", action="store_true", help="try every seed, and every check on every mutant")
    parser.addoption("--seeds", type=int, default=2, help="from how many seeds sequences for shipped queues are drawn")


COLD = not (Path(__file__).parent / "__pycache__").exists()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node):
    """Tell a worker whether nothing is compiled yet."""
    node.workerinput["cold"] = COLD


def compiled(config):
    """Return the file that the first worker makes when it has compiled what all of them import, if the others wait for that."""
    return Path(config.option.basetemp).parent / "compiled" if getattr(config, "workerinput", {}).get("cold") else None


@pytest.fixture
def wide_terminal(monkeypatch):
    """Give runs of pytest a terminal that breaks no line of theirs."""
    monkeypatch.setenv("COLUMNS", "300")


@pytest.hookimpl(trylast=True)  # Hypothesis warns of what is done before its own
def pytest_sessionstart(session):
    """Start the process that has imported little, before tests are collected and import more."""
    file, until = compiled(session.config), time.monotonic() + 60.0
    while file and session.config.workerinput["workerid"] != "gw0" and not file.exists() and time.monotonic() < until:
        time.sleep(0.1)
    if hasattr(os, "fork") and (session.config.getoption("dist", "no") == "no" or hasattr(session.config, "workerinput")):
        LEAN.begin()


def pytest_sessionfinish():
    """End the process that was started at the beginning."""
    LEAN.close()


@settings(derandomize=True, max_examples=1, database=None)
@given(none())
def draw(_):
    """Let Hypothesis find out who holds its source of chance, as it does once: of what is frozen nobody tells."""


def pytest_collection_finish(session):
    """Let the other workers begin, and look no more for garbage in what was imported, which processes that are forked share."""
    draw()
    gc.freeze()
    if file := compiled(session.config):
        file.touch()


def pytest_collection_modifyitems(items):
    """Let what takes long come first.

    That is whole crawls, each of which takes a new interpreter in a process in which another test has imported a reactor, and
    the pages of the documentation, one of which can take as long as a hundred tests.
    """
    items.sort(key=lambda item: ("jobs" not in item.nodeid, "what_a_page_shows" not in item.nodeid))


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem(collector):
    """Leave out tests for which others stand, unless everything or something by its name is asked for.

    They are marked as further ones, or their ``seed`` is not the first of their function. Thousands of them would make each
    process that the tests fork half as dear again.
    """
    made, config = (yield), collector.config
    named = config.getoption("keyword") or any("::" in argument for argument in config.args)
    if not isinstance(made, list) or named or config.getoption("--everything"):
        return made
    seeds = [item.callspec.params.get("seed") if hasattr(item, "callspec") else None for item in made]
    return [item for item, seed in zip(made, seeds, strict=True) if seed == seeds[0] and not item.get_closest_marker("further")]


@pytest.fixture(scope="session", autouse=True)
def fork_server():
    """Give the process that has imported what most runs of Python import."""
    yield FORK_SERVER
    FORK_SERVER.close()


@pytest.fixture(scope="session")
def once(tmp_path_factory):
    """Make something that can be pickled once for all tests, and all workers."""
    directory = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        directory = directory.parent

    def once(name, make):
        with (directory / f"{name}.pickle").open("a+b") as file:
            import fcntl  # not everywhere, and a run without it is tested

            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            if data := file.read():
                return pickle.loads(data)
            made = make()
            pickle.dump(made, file)
        return made

    return once


@pytest.fixture(scope="session")
def wheel(once, tmp_path_factory):
    """Install the wheel once for all tests; return where its programs are."""
    from user import install

    return once("wheel", lambda: install(tmp_path_factory.mktemp("wheel")))


@pytest.fixture(scope="session")
def recorded(once):
    """Test a class once, for tests that only want to have a report."""

    def recorded(path, claims=None, **how):
        name = f"{path}-{crc32(repr((claims, how)).encode()):08x}"
        return once(name, lambda: examine(path, claims, examples=20, **how))

    return recorded


@pytest.fixture(scope="session")
def user_server(wheel):
    """Give the process that has imported what most runs of a user import, with what the wheel installs."""
    from user import environment

    with closing(ForkServer(wheel / "python", environment(wheel))) as server:
        yield server


@pytest.fixture
def page(pytester, wheel, user_server, pytestconfig):
    """A page in a directory of its own, with what is installed from the wheel."""

    from pages import Page

    from queue_conformance.config import options, run_config

    def read(directory, text):
        named = any(f"{option} =" in text for option in options.CLASS_OPTIONS)
        arguments = ["--conformance"] if named else ["--conformance", "--queue-class=a.B"]
        return run_config.read(pytester.parseconfig(f"--rootdir={directory}", *arguments))

    return Page(pytester.path, wheel, user_server, read, brief=not pytestconfig.getoption("--everything"))


@pytest.fixture
def examples(pytestconfig):
    """How many sequences are drawn for what is right: the more, the rarer what they would find."""
    return 100 if pytestconfig.getoption("--everything") else 20


@pytest.fixture
def pytester(pytester, fork_server, monkeypatch, request):
    """Let runs of pytest begin sooner than an interpreter would; not where a test is marked ``interpreter``."""

    begin = pytester.popen

    def popen(command, *, stdin, stdout, stderr, **others):
        if command[:2] != (sys.executable, "-mpytest"):
            return begin(command, stdin=stdin, stdout=stdout, stderr=stderr, **others)
        path = os.pathsep.join(filter(None, [os.getcwd(), os.environ.get("PYTHONPATH", "")]))
        fork_server.start(["-m", "pytest", *command[2:]], pytester.path, os.environ | {"PYTHONPATH": path}, stdout, stderr)
        return SimpleNamespace(stdin=None, wait=fork_server.wait, kill=fork_server.close)

    if not request.node.get_closest_marker("interpreter"):
        monkeypatch.setattr(pytester, "popen", popen)
    return pytester
