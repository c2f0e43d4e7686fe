"""What has no ``close``, tested as far as that goes: a close does nothing, and nothing is tested that comes after one."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, NoReturn

from queue_conformance.processes import process


class NoMore(process.PassedOn):
    """An operation that did not return in several checks, or that is not there, is called no more; the text says which one."""


class NeverCloses(NoMore):
    """A check came to a ``close`` that is not there."""


class WithoutClose:
    """Takes the place of ``close`` for an implementation that has none.

    Args:
        rule: the rule that fails for that.
        make: makes a ``close``, for functions of the kit that call one, of what is to be called then.
    """

    def __init__(self, rule: str, make: Callable[[Callable[[], None]], Callable[..., Any]]) -> None:
        self.rule, self._make = rule, make
        self._closed: set[str] = set()
        self._ended: set[str] = set()  # by functions of the kit, at their end

    def restart(self) -> None:
        """Forget what should have been closed."""
        self._closed.clear()
        self._ended.clear()

    def closes(self, source: str) -> bool:
        """Whether an operation is a close, which is noted instead; what was never closed may be used.

        Raises:
            NeverCloses: if something is used that should have been closed, or a close is called in another way.
        """
        named, closed = {*_VARIABLE.findall(source)}, self._closed | self._ended
        if closed and (not named or named & closed or _BUILDING.match(source)):
            self.stop()
        if closing := _CLOSING.fullmatch(source):
            self._closed.add(closing[1])
        elif _CLOSES.search(source):  # not to its end, or beside something else
            self.stop()
        return closing is not None

    def lend(self, source: str, built: Any) -> None:
        """Give what an operation has built a ``close`` that does nothing, if it has built something."""
        if building := _BUILDING.match(source):
            with suppress(AttributeError, TypeError):
                built.close = self._make(partial(self._ended.add, building[1]))

    def expect_open(self) -> None:
        """Let a check go on only if nothing should have been closed.

        Raises:
            NeverCloses: if that is not so.
        """
        if self._closed:
            self.stop()

    def stop(self) -> NoReturn:
        """Stop a check that cannot go on without ``close``.

        Raises:
            NeverCloses: always.
        """
        raise NeverCloses(f"{self.rule}, as it has no close")


_SUBJECT = r"\b(queue|other|third|fourth|dupefilter)"
_VARIABLE = re.compile(rf"{_SUBJECT}\b(?!(?:, spider)?\s*=[^=])")
_BUILDING = re.compile(rf"\s*{_SUBJECT}(?:, spider)? = ")
_CLOSES = re.compile(rf"{_SUBJECT}\.close\(")
_CLOSING = re.compile(rf"\s*(?:\w+ = )?(?:loop\.run\()?{_SUBJECT}\.close\((?:'\w+')?\)+")
