"""A dotted path becomes a class and a kind, and every mistake becomes one line that says what to do."""

import asyncio
import queue
import sys
from functools import partial
from importlib import metadata
from types import ModuleType

import pytest
import scrapy

from mutants import controls
from queue_conformance.discovery.stages import discover
from queue_conformance.implementation.importing import remedy
from queue_conformance.implementation.loading import (
    LoadError,
    check_components,
    dotted,
    is_importable,
    load_class,
    package_version,
    path_of,
    tell_kind,
)
from queue_conformance.kinds import BYTE_PRIORITY_QUEUE, BYTE_QUEUE, DOWNSTREAM_QUEUE, ROUND_ROBIN_QUEUE
from queue_conformance.running.contexts import RunConfig


def test_a_class_is_loaded_by_its_dotted_path():
    assert load_class("queue.Queue") is queue.Queue
    assert load_class("queue:Queue") is queue.Queue


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("mine.queues.MyQueue", "mine.queues.MyQueue"),
        ("mine.queues:MyQueue", "mine.queues.MyQueue"),
        ("mine/queues.py::MyQueue", "mine.queues.MyQueue"),
        ("./mine/__init__.py::Outer::Inner", "mine.Outer.Inner"),
        ("src/other.py::Queue", "other.Queue"),
    ],
)
def test_a_class_is_named_as_users_of_pytest_do(tmp_path, monkeypatch, text, path):
    for name in ("mine/queues.py", "mine/__init__.py", "src/other.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path / "src")
    assert dotted(text) == path


@pytest.mark.parametrize(("text", "message"), [("none.py::Queue", "a file that is there"), ("{}::Queue", "below the current")])
def test_a_file_that_nothing_is_imported_from_is_told(tmp_path, monkeypatch, text, message):
    file = tmp_path / "outside.py"
    file.touch()
    monkeypatch.setattr(sys, "path", [str(tmp_path / "elsewhere")])
    with pytest.raises(ValueError, match=message):
        dotted(text.format(file))


def test_a_nested_class_is_loaded():
    assert load_class("mutants.memory.PopRaises.Hostile").__name__ == "Hostile"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("MyQueue", "'MyQueue' is not the dotted path of a class, such as my_package.queues.MyQueue"),
        ("a b.c", "is not the dotted path"),
        ("", "is not the dotted path"),
        (
            "scrapy.squeues.PickleLifoDiskQeue",
            "scrapy.squeues has no class 'PickleLifoDiskQeue'; did you mean 'PickleLifoDiskQueue'?",
        ),
        ("scrapy.squeues.Xyz", "scrapy.squeues has no class 'Xyz'; known are FifoMemoryQueue, "),
        ("scrapy.sqeues.FifoMemoryQueue", "scrapy has no module 'sqeues'; did you mean 'squeues'?"),
        ("scrpy.squeues.FifoMemoryQueue", "there is no module 'scrpy'; did you mean 'scrapy'?"),
        ("zzyzx_of_nowhere.Queue", "there is no module 'zzyzx_of_nowhere'; is its package installed in this environment?"),
        ("schedules.Queue", "there is no module 'schedules'; is its package installed in this environment?"),  # not: sched
        ("queuelib.FifoMemoryQueue", "did you mean 'queuelib.queue.FifoMemoryQueue'?"),
        ("scrapy.squeues", "scrapy.squeues is a module; name one of its classes: FifoMemoryQueue, "),
        ("os.getcwd", "os.getcwd is a builtin_function_or_method, not a class"),
        ("mutants.mutant", "mutants.mutant is a function, not a class"),
        ("sys.maxsize", "sys.maxsize is an int, not a class"),
    ],
)
def test_a_path_that_names_no_class_is_explained(path, message):
    with pytest.raises(LoadError) as caught:
        load_class(path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("raise RuntimeError('boom')", "importing {0} raised RuntimeError: boom"),
        ("raise SystemExit(3)", "importing {0} raised SystemExit: 3"),
        ("class Q(: pass", "importing {0} raised SyntaxError: invalid syntax ({1}/{0}.py, line 1)"),
        ("import no_such_dependency", "importing {0} raised ModuleNotFoundError: No module named 'no_such_dependency'"),
    ],
)
def test_a_module_that_cannot_be_imported_is_explained(tmp_path, monkeypatch, source, message):
    name = f"module_{tmp_path.name}".replace("-", "_")
    (tmp_path / f"{name}.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(LoadError) as caught:
        load_class(f"{name}.Q")
    assert str(caught.value).startswith(message.format(name, tmp_path))
    assert "\n" not in str(caught.value)
    assert "<frozen" not in str(caught.value)


@pytest.mark.parametrize(
    ("source", "advice"),
    [
        ("import no_such_dependency", "install no_such_dependency"),
        ("import scrapy.utils.reqser", f"Scrapy {metadata.version('scrapy')} has no such thing: take releases that go together"),
        ("from queuelib.queue import Nothing", f"queuelib {metadata.version('queuelib')} has no such thing: take releases that"),
        ("from collections import Iterable", "has no such thing: take a release that was written for it"),
        ("import connection", "Python 2 found there: write from . import connection"),
        ("import wheels_of_old", "install old-wheels"),
    ],
)
def test_what_is_missing_for_an_import_is_told_with_what_helps(tmp_path, monkeypatch, source, advice):
    name = f"importing_{tmp_path.name}".replace("-", "_")
    for made, text in {
        f"{name}/__init__.py": "",
        f"{name}/connection.py": "",
        f"{name}/queues.py": source,
        f"{name}.dist-info/METADATA": f"Name: {name}\nVersion: 1\nRequires-Dist: scrapy\nRequires-Dist: old-wheels\n",
        f"{name}.dist-info/top_level.txt": name,
    }.items():
        (tmp_path / made).parent.mkdir(exist_ok=True)
        (tmp_path / made).write_text(text)
    if "old" not in source:
        (tmp_path / f"{name}.dist-info/METADATA").write_text(f"Name: {name}\nVersion: 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(LoadError) as caught:
        load_class(f"{name}.queues.Queue")
    assert advice in str(caught.value)
    assert "\n" not in str(caught.value)


def test_who_says_in_an_import_error_what_to_do_is_left_to_it():
    assert remedy(ImportError("install pika first"), "package") == ""
    assert remedy(ModuleNotFoundError("No module named 'package.parts'", name="package.parts"), "package") == ""


def test_a_queue_that_takes_requests_is_one_of_scrapy_though_it_is_built_from_nothing():
    class Queue:
        def push(self, request): ...

        def pop(self): ...

    assert tell_kind(Queue) is DOWNSTREAM_QUEUE


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("scrapy.squeues.PickleFifoDiskQueue", DOWNSTREAM_QUEUE),
        ("scrapy.squeues.LifoMemoryQueue", DOWNSTREAM_QUEUE),
        ("mutants.memory.FactoryWithoutKey", DOWNSTREAM_QUEUE),
        ("mutants.memory.WithoutClose", DOWNSTREAM_QUEUE),
        ("mutants.controls.ListensToTheSpider", DOWNSTREAM_QUEUE),
        ("queuelib.queue.FifoDiskQueue", BYTE_QUEUE),
        ("queuelib.queue.LifoMemoryQueue", BYTE_QUEUE),
        ("queuelib.queue.FifoSQLiteQueue", BYTE_QUEUE),
        ("queuelib.PriorityQueue", BYTE_PRIORITY_QUEUE),
        ("queuelib.RoundRobinQueue", ROUND_ROBIN_QUEUE),
    ],
)
def test_the_kind_is_told_from_the_class(path, kind):
    cls = load_class(path)
    assert tell_kind(cls) is kind

    class PassesOn(cls):
        def __init__(self, *arguments, **keywords):
            super().__init__(*arguments, **keywords)

    assert tell_kind(PassesOn) is kind


class SizedQueue(asyncio.Queue):
    """A queue for asyncio that is no queue of qCrawl, for all that it has."""

    async def clear(self): ...

    def size(self):
        return self.qsize()


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("scrapy.core.scheduler.Scheduler", "^scrapy.core.scheduler.Scheduler is a scheduler: give it by --scheduler-class"),
        ("scrapy.dupefilters.RFPDupeFilter", "is a dupefilter: give it by --dupefilter-class"),
        ("scrapy.pqueues.ScrapyPriorityQueue", "is a priority queue: give it by --priority-queue-class"),
        ("qcrawl.core.scheduler.Scheduler", "is an async scheduler: give it by --scheduler-class"),
        (
            "queue.Queue",
            "is no queue: it has no push and no pop, but put and get: name a subclass that defines push, pop, __len__ and close$",
        ),
        ("collections.deque", "it has no push, but append and popleft: name a subclass that defines push and close$"),
        (
            "asyncio.Queue",
            "no coroutine size and no clear, but put and get: name a subclass that defines size, clear, close and maxsize$",
        ),
        ("test_loading.SizedQueue", "it has no coroutine size, but put and get: name a subclass that defines size, close"),
        ("pathlib.Path", "is no queue: it has no push and no pop$"),
    ],
)
def test_what_is_not_tested_is_said(path, message):
    with pytest.raises(LoadError, match=message):
        tell_kind(load_class(path), "queue-class")


class Awaited:
    """A scheduler of a framework that awaits what it calls."""

    def __init__(self, crawler, dupefilter): ...

    async def next_request(self): ...

    async def enqueue_request(self, request): ...

    def has_pending_requests(self): ...


def test_a_scheduler_of_another_framework_is_told_and_blamed_for_nothing():
    line = "made for another framework: an engine of Scrapy does not await enqueue_request and next_request$"
    with pytest.raises(LoadError, match=line):
        tell_kind(Awaited, "scheduler-class")


ABSTRACT = """
from abc import ABC, abstractmethod

class Declares(ABC):
    @classmethod
    def from_crawler(cls, crawler, key):
        return cls()
    def close(self): ...
    @abstractmethod
    def push(self, request): ...
    @abstractmethod
    def pop(self): ...
    def __len__(self):
        return 0

class Raises(Declares):
    def push(self, request):
        raise NotImplementedError
    def pop(self):
        raise NotImplementedError("pop")

class Forgets(Declares):
    def push(self, request): ...

class Stubs(Raises):
    def __len__(self):
        return 1
"""


@pytest.fixture
def abstract(tmp_path, monkeypatch):
    """Return the name of a module with classes that do not define all methods."""
    name = f"abstract_{tmp_path.name}".replace("-", "_")
    (tmp_path / f"{name}.py").write_text(ABSTRACT)
    monkeypatch.syspath_prepend(tmp_path)
    return name


@pytest.mark.parametrize(("name", "such"), [("Declares", "Raises"), ("Raises", "Stubs")])
def test_a_class_that_leaves_methods_to_subclasses_is_not_tested(abstract, tmp_path, name, such):
    with pytest.raises(LoadError) as caught:
        discover(f"{abstract}.{name}", {}, {}, RunConfig(tmp_path))
    leaves = "is an abstract class, which leaves push, pop to its subclasses: name one that defines them"
    assert str(caught.value) == f"{abstract}.{name} {leaves}, such as {abstract}.{such}"


@pytest.mark.parametrize("name", ["Forgets", "Stubs"])
def test_a_class_that_does_not_define_what_it_inherits_fails(abstract, tmp_path, name):
    assert discover(f"{abstract}.{name}", {}, {}, RunConfig(tmp_path)).unusable


def test_a_class_is_called_as_its_author_called_it():
    path = "scrapy.squeues.FifoMemoryQueue"  # made in a function
    with pytest.raises(LoadError, match=f"^{path} is a downstream queue: give it by --queue-class"):
        tell_kind(load_class(path), "scheduler-class", path)


def test_the_version_of_the_package_is_found():
    assert version_of("scrapy.squeues.FifoMemoryQueue").lower().startswith("scrapy 2.")
    assert version_of("mutants.memory.PopHangs") == ""


def test_a_path_leads_to_what_its_own_name_does_not():
    assert path_of(controls.FilePerItem) == "mutants.controls.FilePerItem"
    assert path_of(controls.MadeByAFunction) == "mutants.controls.MadeByAFunction"
    assert path_of(controls.SaysItIsBuiltIn) == "mutants.controls.SaysItIsBuiltIn"
    assert path_of(controls.Around.Within) == "mutants.controls.Around.Within"
    assert path_of(load_class("scrapy.squeues.FifoMemoryQueue")) == "scrapy.squeues.FifoMemoryQueue"
    assert path_of("mutants.controls:Around.Within") == "mutants.controls.Around.Within"


def test_what_has_no_path_keeps_its_own_name():
    local = controls.made(controls.FilePerItem)
    assert path_of(local) == "mutants.controls.made.<locals>.Queue"
    assert not is_importable(path_of(local), local)
    assert not is_importable(path_of(partial(print)), partial(print))


def test_the_version_is_that_of_the_package_that_the_author_names():
    assert version_of("mutants.controls.MadeByAFunction") == version_of("mutants.controls.SaysItIsBuiltIn") == ""
    assert version_of("queue_conformance.environments.documented.Scheduler").lower().startswith("scrapy 2.")


def test_a_fork_elsewhere_has_its_own_version(monkeypatch):
    monkeypatch.setattr(scrapy, "__file__", "/elsewhere/scrapy/__init__.py")
    assert version_of("scrapy.squeues.FifoMemoryQueue") == f"scrapy {scrapy.__version__}"  # the installed one is called Scrapy


def version_of(path):
    return package_version(load_class(path), path)


@pytest.mark.parametrize(
    "settings",
    [
        {"SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleLifoDiskQueue"},
        {"DUPEFILTER_CLASS": ""},
        {"BOT_NAME": "no.such", "NO_SUCH_SETTING": "no.such"},
        {"LOG_FORMATTER": "scrapy.utils.misc.load_object"},
    ],
)
def test_what_settings_name_is_there(settings):
    check_components(settings)


def test_a_setting_that_names_a_class_within_a_class_is_one_line():
    with pytest.raises(LoadError) as caught:
        check_components({"SCHEDULER_DISK_QUEUE": "mutants.controls.Around.Within"})
    assert str(caught.value) == (
        "the setting SCHEDULER_DISK_QUEUE: Scrapy finds no class within a class; "
        "give mutants.controls.Around.Within a name of its own in a module"
    )


def test_a_setting_that_names_no_class_is_one_line():
    with pytest.raises(LoadError) as caught:
        check_components({"SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleLifoDiskQeue"})
    assert str(caught.value) == (
        "the setting SCHEDULER_DISK_QUEUE: scrapy.squeues has no class 'PickleLifoDiskQeue'; did you mean 'PickleLifoDiskQueue'?"
    )


def test_a_module_that_cannot_look_a_class_up_is_one_line(monkeypatch):
    def look_up(name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise LookupError("not today")

    module = ModuleType("moody")
    module.__getattr__ = look_up
    monkeypatch.setitem(sys.modules, "moody", module)
    with pytest.raises(LoadError, match="looking up MyQueue in moody raised LookupError: not today"):
        load_class("moody.MyQueue")
