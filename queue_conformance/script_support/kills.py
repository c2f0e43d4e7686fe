"""Ways for a process to be killed inside an operation.

Scripts quote the definitions that they need from this file word by word; they have no annotations.
"""

import functools
import itertools
import os
import signal
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

with suppress(ImportError):  # Windows
    import resource


def trace_lines(cls, reached):
    """Call a function before each line in the folders of the class and its bases, until sys.settrace(None).

    It begins in a file of theirs: what an operation is given may be made before, by code in one of these folders.
    """
    modules = [sys.modules[c.__module__] for c in cls.__mro__ if c.__module__ not in sys.stdlib_module_names]
    files = {os.path.abspath(module.__file__) for module in modules if getattr(module, "__file__", "")}
    folders, begun = {os.path.dirname(file) for file in files}, False

    @functools.cache
    def place(name):
        file = os.path.abspath(name)
        return file in files, os.path.dirname(file) in folders

    def trace(frame, event, argument):
        nonlocal begun
        if event == "line":
            reached(frame)
            return trace
        begins, is_near = place(frame.f_code.co_filename)
        begun = begun or begins
        return trace if begun and is_near else None

    sys.settrace(trace)


def die():
    """End this process by SIGKILL."""
    os.kill(os.getpid(), signal.SIGKILL)


@contextmanager
def kill_at_line(cls, number):
    """Die before that line of the class is executed, counted from now."""
    lines = itertools.count(1)
    trace_lines(cls, lambda frame: next(lines) == number and os.kill(os.getpid(), signal.SIGKILL))
    yield
    sys.settrace(None)


@contextmanager
def kill_in_write(directory, size):
    """Die, by the kernel, in the write that would let a file grow beyond a size."""
    before = contents_below(directory)
    limit_writes(size)
    yield
    # The kernel only shortens the write that reaches the limit, and kills in the next one.
    if any(len(content) == size != len(before.get(path, "")) for path, content in contents_below(directory).items()):
        die()


def limit_writes(size):
    """Let the kernel kill this process when it lets a file grow beyond a size."""
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


@contextmanager
def tear_write(directory, name, size, undo):
    """Cut what is appended to a file meanwhile at a size of the file; put the other files back as they were, if asked to."""
    before = contents_below(directory)
    yield
    for path, content in contents_below(directory).items():
        file = Path(directory, path)
        if content == before.get(path):
            continue
        if path == name:
            file.write_bytes(content[:size])
        elif undo and path in before:
            file.write_bytes(before[path])
        elif undo:
            file.unlink()


def contents_below(directory):
    """Return the contents of the files below a directory, by their paths relative to it."""
    found, top = {}, len(os.path.join(directory, ""))
    for folder, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb", buffering=0) as file:
                found[path[top:]] = file.read()
    return found
