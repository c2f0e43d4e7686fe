"""Ways for a process to be killed inside an operation.

Scripts quote the definitions that they need from this file word by word; they have no annotations.
"""

import itertools
import os
import signal
import sys
from contextlib import suppress

with suppress(ImportError):  # Windows
    import resource


def trace_lines(cls, reached):
    """Call a function before each line in the folders of the class and its bases, until sys.settrace(None)."""
    files = [
        getattr(sys.modules[c.__module__], "__file__", "") for c in cls.__mro__ if c.__module__ not in sys.stdlib_module_names
    ]
    folders = {os.path.dirname(file) for file in files if file}

    def trace(frame, event, argument):
        if os.path.dirname(frame.f_code.co_filename) not in folders:
            return None
        if event == "line":
            reached(frame)
        return trace

    sys.settrace(trace)


def kill_at_line(cls, number):
    """Die by SIGKILL before that line of the class is executed, counted from now."""
    lines = itertools.count(1)

    def reached(frame):
        if next(lines) == number:
            os.kill(os.getpid(), signal.SIGKILL)

    trace_lines(cls, reached)


def kill_in_write(size):
    """Die, by the kernel, in the write that would let a file grow beyond a size."""
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
