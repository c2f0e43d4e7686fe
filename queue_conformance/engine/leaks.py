"""Descriptors: a few for the report on a class that leaves none, and how many a right one may hold."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Sequence
from contextlib import suppress

from queue_conformance.engine.recording import Step
from queue_conformance.script_support import support

RESERVED = 4
"""Descriptors that are kept for the report on what left none."""

EACH = 8
"""Descriptors that an open queue may need."""


class Reserve:
    """A few descriptors for a process that may run out of them."""

    def __init__(self) -> None:
        self._held: list[int] = []
        with suppress(OSError):
            self._held += (os.open(os.devnull, os.O_RDONLY) for _ in range(RESERVED))

    def release(self) -> None:
        """Give them back."""
        while self._held:
            with suppress(OSError):  # who closes what is not its own may have closed these, too
                os.close(self._held.pop())

    __del__ = release


def in_use() -> int:
    """Return how many files this process has open."""
    number: int = support.open_files()  # type: ignore[no-untyped-call]
    return number


def lacking(error: BaseException | None) -> bool:
    """Whether this process can open no more files, or could not when an error was raised."""
    return getattr(error, "errno", 0) == errno.EMFILE or not support.can_open_files()  # type: ignore[no-untyped-call]


def most_in(steps: Sequence[Step], builder: str) -> int:
    """Return how many descriptors a right class may hold after these steps, by the objects that are open then.

    Args:
        builder: what builds them in the steps.
    """
    built = re.compile(rf"\s*\w+ = .*\b{re.escape(builder)}\b")
    still = sum(bool(built.match(step.source)) - (".close(" in step.source) for step in steps)
    return EACH * (max(0, still) + 1)
