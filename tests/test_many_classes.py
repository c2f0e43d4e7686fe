"""What a run keeps and imports does not grow with its classes more than it must."""

import pytest

CLASSES = """
import os
from queue_reference.memory import FifoMemoryQueue

with open("begun.txt", "a") as file:
    print(os.getpid(), file=file)


class First(FifoMemoryQueue):
    pass


class Second(FifoMemoryQueue):
    pass
"""

LOOKS = """
import os
import sys


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def pytest_collection_finish():
    print("checks are imported:", "queue_conformance.kinds.queue.checks.push" in sys.modules)


def pytest_runtest_logstart(nodeid):
    with open("begun.txt") as file:
        begun = [*map(int, file)]
    print(nodeid, "processes:", sum(map(alive, begun)))
"""


@pytest.fixture
def run(pytester):
    """Ask one rule of classes; return the result."""
    pytester.makepyfile(classes=CLASSES)
    pytester.makeconftest(LOOKS)
    how = ("-p", "no:cacheprovider", "-s", "-k", "queue.scale")
    return lambda *names: pytester.runpytest_subprocess(*how, *(f"--queue-class=classes.{name}" for name in names))


@pytest.mark.parametrize(("names", "imported"), [(["First"], False), (["First", "Second"], True)])
@pytest.mark.interpreter
def test_what_several_classes_need_is_imported_once_in_the_process_that_they_come_from(run, names, imported):
    result = run(*names)
    assert result.ret == 0
    result.stdout.fnmatch_lines([f"checks are imported: {imported}"])


def test_the_process_of_a_class_ends_with_the_last_check_that_was_asked_for(run):
    result = run("First", "Second")
    assert result.ret == 0
    result.stdout.re_match_lines(
        [r".*First::queue\.scale\.stored processes: 2$", r".*Second::queue\.scale\.stored processes: 1$"]
    )
