"""How a run ends when it is asked to: in order, whichever signal asks."""

from __future__ import annotations

import signal
import threading

import pytest

from queue_conformance.processes import role


def end_in_order(config: pytest.Config) -> None:
    """Let signals that ask a run to end, as those of CI do, interrupt it as Ctrl-C does; the first one is enough."""
    if threading.current_thread() is not threading.main_thread():
        return
    before = {number: signal.getsignal(number) for number in role.ENDING}

    def interrupt(_number: int, _frame: object) -> None:
        for number in taken:
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    taken = [number for number, handler in before.items() if handler is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, interrupt)

    def put_back() -> None:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)

    config.add_cleanup(put_back)
