"""Descriptors that no process which runs a class may keep: what it writes there, or shuts down, would reach others."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from os import listdir  # now: an implementation may replace it in its module

_Identity = tuple[int, int]

_withheld: dict[int, _Identity] = {}
_streams: set[_Identity] = set()


def withhold(*numbers: int) -> None:
    """Keep descriptors of this process from those that run a class."""
    for number, identity in _identities(numbers):
        _withheld[number] = identity


def withhold_inherited() -> None:
    """Keep what is open by now; the first call does, when no code of the author's has opened anything yet.

    Of the streams, copies are kept, such as those that pytest makes.
    """
    if not _streams:
        _streams.update(identity for _, identity in _identities(range(3)))
        withhold(*_open())


def withdraw() -> None:
    """In a process that was forked to run a class: let what was withheld lead nowhere.

    It is replaced and not closed, because objects that hold a number would close what has this number later.
    """
    withheld = [n for n, identity in _identities(_open()) if identity == _withheld.get(n) or identity in _streams]
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in withheld:
        try:
            os.dup2(nowhere, number, inheritable=False)
        except OSError:  # beyond the limit, where nothing is opened later
            os.close(number)
    os.close(nowhere)
    _withheld.clear()


def _open() -> list[int]:
    """Return the numbers of what is open, streams excepted; where the system does not list them, those that are withheld."""
    try:
        return [number for number in map(int, listdir("/dev/fd")) if number > 2]
    except OSError:
        return list(_withheld)


def _identities(numbers: Iterable[int]) -> Iterator[tuple[int, _Identity]]:
    """Yield the numbers of those that are open, and what tells whether such a number means the same later."""
    for number in numbers:
        with suppress(OSError):
            found = os.fstat(number)
            yield number, (found.st_dev, found.st_ino)
