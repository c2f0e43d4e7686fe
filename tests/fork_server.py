"""Runs Python in children of a process that has imported Scrapy and the kit already, which takes longer than most runs.

Each message names arguments of an interpreter, a directory and an environment, and brings its streams; the answer is the exit
status. The children are as fresh as an interpreter that has imported these modules, and end as an interpreter ends, but for
taking its modules apart, which takes longer than most scripts.
"""

import atexit
import gc
import importlib
import json
import os
import random
import runpy
import socket
import sys

status = 0


def end_at_once():
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


atexit.register(end_at_once)  # first, so that it runs after those that imports or runs register

AssertionRewritingHook = importlib.import_module("_pytest.assertion.rewrite").AssertionRewritingHook
AssertionRewritingHook._warn_already_imported = lambda *_: None

importlib.import_module("preloading").preload()
gc.freeze()  # a child that collected garbage would look at, and so copy, all of this: for longer than most scripts run

ASKED = socket.socket(fileno=0)
INSTALLED = sys.path[1:]


def asked():
    """Return what to run, in a child; or ``None`` when nobody asks any more."""
    while True:
        message, streams, _, _ = socket.recv_fds(ASKED, 1 << 20, 3)
        if not message:
            return None
        child = os.fork()
        if child == 0:
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
                os.close(stream)
            sys.stdout = sys.__stdout__ = os.fdopen(1, "w", closefd=False)  # those of the server know whether they can seek
            sys.stderr = sys.__stderr__ = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
            return json.loads(message)
        for stream in streams:
            os.close(stream)
        ASKED.send(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])).encode())


if run := asked():
    status = 1
    os.environ.clear()
    os.environ.update(run["env"])
    os.chdir(run["cwd"])
    random.seed()
    first, *arguments = run["arguments"]
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:] = [run["cwd"] if first == "-m" else os.path.dirname(os.path.abspath(first)), *filter(None, given), *INSTALLED]
    try:
        if first == "-m":
            sys.argv = arguments
            runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
        else:
            sys.argv = [first, *arguments]
            runpy.run_path(first, run_name="__main__")
        status = 0
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        raise
