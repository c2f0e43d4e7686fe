"""``queue-conformance upgrade``: what one environment writes, another is asked for, and the other way round."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from queue_conformance.config.targets import Target
from queue_conformance.config.values import UsageError
from queue_conformance.engine.kept_outcome import Outcome
from queue_conformance.processes.trees import temporary_directory
from queue_conformance.upgrades import environments, scripts
from queue_conformance.upgrades.command import target_of
from queue_conformance.upgrades.environments import Environment


@dataclass(frozen=True)
class Passage:
    """What one environment wrote, and another one made of it.

    Attributes:
        way: ``forth``, or ``back``.
        writer: the environment that wrote.
        reader: the one that was asked.
        parts: how it was left, the outcome, and what there is to say of that.
        notes: what was not asked for, and why.
    """

    way: str
    writer: Environment
    reader: Environment
    parts: list[tuple[str, Outcome, str]]
    notes: list[str]

    def lines(self) -> list[str]:
        """Return what became of it, in words."""
        return [
            *(f"{how}: {outcome}{detail and f': {detail}'}" for how, outcome, detail in self.parts),
            *(f"not asked for: {note}" for note in self.notes),
        ]

    def fails(self, level: str) -> bool:
        """Whether something of it fails at a level."""
        return any(one.harms or (level == "SHOULD" and one is Outcome.REFUSES) for _, one, _ in self.parts)


def upgrade(asked: argparse.Namespace) -> int:
    """Keep in each of two environments, ask the other one, and print what became of it.

    Returns:
        1 if something is lost, misread or crawled again, or, at the level SHOULD, refused; else 0.

    Raises:
        UsageError: if an environment, or the class in it, cannot be used; the message is one line.
    """
    target = target_of(asked)
    failed, written = False, []
    try:
        with temporary_directory() as scratch:
            places = asked.keep_environments or scratch / "environments"
            old, new = (
                environments.find(given, scratch / str(number), places) for number, given in enumerate((asked.old, asked.new))
            )
            for passage in passages(target, old, new, scratch):
                print(f"{passage.way}: {target.name}, written by {passage.writer.given}, read by {passage.reader.given}")
                for line in passage.lines():
                    print(f"  {line}", flush=True)
                failed |= passage.fails(asked.level)
                if asked.scripts and any(one is not Outcome.RECOVERS for _, one, _ in passage.parts):
                    written.append(scripts.write(asked.scripts, target, passage))
    except OSError as error:
        raise UsageError(f"{error.filename}: {error.strerror}") from error
    if written:
        print(f"what shows it, from nothing: sh {' and sh '.join(written)}")
    return int(failed)


def passages(target: Target, old: Environment, new: Environment, scratch: Path) -> Iterator[Passage]:
    """Ask each of two environments for what the other one keeps.

    Args:
        target: the class.
        scratch: a directory for what is kept.

    Yields:
        What became of it: forth, then back.

    Raises:
        UsageError: if the class cannot be used in one; the message is one line.
    """
    for way, writer, reader in (("forth", old, new), ("back", new, old)):
        kept = str(scratch / way)
        described = {
            "option": target.option,
            "path": target.path,
            "settings": dict(target.settings),
            "claims": dict(target.claims),
        }
        notes = writer.call("keep", scratch / f"{way}-keep", directory=kept, **described)
        parts = reader.call("kept", scratch / f"{way}-kept", directory=kept, path=target.path)
        yield Passage(way, writer, reader, [(how, Outcome[name], detail) for how, name, detail in parts], notes)
