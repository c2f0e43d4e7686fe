"""Command sequences: what is run in lockstep on an implementation and on its model."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

T = TypeVar("T")


class Command(NamedTuple):
    """One command of a sequence.

    Attributes:
        subject: the number of the queue, for sequences on several.
        argument: the number of the item to push, of the cause of a refusal ...
    """

    name: str
    subject: int = 0
    argument: int = 0


Commands = tuple[Command, ...]

Known = Mapping[Commands, Mapping[str, Sequence[str]]]
"""Sequences that failed before, with the rules that fail by each cause, if that is known."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """How long sequences are, and for how long they are generated.

    Attributes:
        seconds: seconds after which no further one is generated, however many there are; 0.0 is for a given number of them.
        rounds: how many times that number are generated at most, while some of what they show is rare.
        compared: whether what they find is compared with what other runs have found, and must have the same names.
    """

    longest: int = 50
    seconds: float = 0.0
    rounds: int = 1
    compared: bool = False


USUAL = Drawing()


def commands(text: str) -> Commands:
    """Read commands separated by blanks: ``push:3`` pushes item 3, ``1.pop`` pops from queue 1, ``reopen`` ..."""
    found = []
    for word in text.split():
        subject, dot, rest = word.rpartition(".")
        name, _, argument = rest.partition(":")
        found.append(Command(name, int(subject) if dot else 0, int(argument or 0)))
    return tuple(found)


def simpler(argument: int, items: int) -> list[int]:
    """Return the simpler arguments, where one stands for one of so many items and, after these, for them with each field."""
    item = argument % items
    fields = argument - item
    return [*range(item + bool(fields)), *(range(fields, argument) if fields else ())]


def leave_out(things: tuple[T, ...], fails: Callable[[tuple[T, ...]], bool]) -> None:
    """Leave out things, many at once and then each by itself, as long as something fails with the others."""
    size = len(things) // 2 or 1
    while size:
        for place in range(len(things), 0, -size):
            fewer = things[: max(0, place - size)] + things[place:]
            if fails(fewer):
                things = fewer
        size //= 2


def encode(sequence: Commands) -> str:
    """Return a command sequence as JSON."""
    return json.dumps(sequence)


def decode(text: str) -> Commands:
    """Return the command sequence that :func:`encode` made the text of.

    Raises:
        ValueError: if the text is none.
    """
    try:
        return checked(json.loads(text))
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


LONGEST = 10_000
"""Commands of a sequence that is read, at most; a campaign draws some thousand."""


def checked(value: object) -> Commands:
    """Return the command sequence that a list which somebody has written stands for.

    Raises:
        ValueError: if it stands for none; the message says what to write.
    """
    if not isinstance(value, list) or not value or not all(map(_is_command, value)):
        raise ValueError('write a list of operations such as ["push", 0, 1]: a name, the number of a queue, that of an item')
    if len(value) > LONGEST:
        raise ValueError(f"write at most {LONGEST} operations")
    return tuple(Command(*one) for one in value)


def _is_command(value: object) -> bool:
    return isinstance(value, list) and [type(part) for part in value] == [str, int, int] and min(value[1:]) >= 0
