"""How a run ends when it is asked to: in order, whichever signal asks, and with its files whole."""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import suppress
from types import FrameType

import pytest

from queue_conformance.processes import role


def end_in_order(config: pytest.Config) -> None:
    """Let signals that ask a run to end, as those of CI do, interrupt it as Ctrl-C does; the first one is enough."""
    if threading.current_thread() is not threading.main_thread():
        return
    before = {number: signal.getsignal(number) for number in role.ENDING}

    taken = [number for number, handler in before.items() if handler is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, _interrupt)

    def put_back() -> None:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)

    config.add_cleanup(put_back)


def _interrupt(_number: int, _frame: object) -> None:
    for number in role.ENDING:
        if signal.getsignal(number) is _interrupt:
            signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


class Finish:
    """The end of a run, from its last test on: what asks it to end then waits until it has said what it found.

    pytest answers an exception at that time with a traceback, and without its summary. The second Ctrl-C interrupts all the same.

    Attributes:
        interrupted: whether the run was asked to end.
    """

    def __init__(self, session: pytest.Session) -> None:
        self.interrupted = False
        if threading.current_thread() is not threading.main_thread():
            return
        handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, *role.ENDING)}
        before = {number: handler for number, handler in handlers.items() if callable(handler)}

        def note(number: int, frame: FrameType | None) -> None:
            if self.interrupted:
                for other, handler in before.items():
                    signal.signal(other, handler)
                before[number](number, frame)
            self.interrupted = True
            session.exitstatus = pytest.ExitCode.INTERRUPTED
            with suppress(OSError):  # not print, in which the signal may have come
                os.write(2, b"\nwriting what was found; Ctrl-C once more interrupts that, too\n")

        def put_back() -> None:
            if sys.__stdout__ is not None:
                sys.__stdout__.flush()  # a signal that is not handled loses what is not written
            for number, handler in before.items():  # with all said, nothing is left to interrupt
                signal.signal(number, signal.SIG_DFL if handler is _interrupt else handler)

        for number in before:
            signal.signal(number, note)
        session.config.add_cleanup(put_back)
