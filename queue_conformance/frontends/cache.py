"""What is kept for later runs and commands: the sequences that failed, and the last report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path

import pytest
from hypothesis.database import DirectoryBasedExampleDatabase, ExampleDatabase, InMemoryExampleDatabase

from queue_conformance.config.values import UsageError
from queue_conformance.engine.sequences import Command, Commands, decode, encode
from queue_conformance.reports import Report, files
from queue_conformance.running.replay import LAST

_EXAMPLES = "queue-conformance-examples"
"""The directory of pytest's cache with the sequences that failed."""


class RunCache:
    """What is kept from one run to the next.

    Args:
        cache: pytest's, or ``None`` where there is none; then nothing is kept there.
        database: a directory or the URL of a Redis server where failing sequences are kept instead, or ``""``.
    """

    def __init__(self, cache: pytest.Cache | None, database: str = "") -> None:
        self._cache = cache
        self._where = database

    @cached_property
    def _database(self) -> ExampleDatabase:
        if "://" in self._where:
            return _on_redis(self._where)
        with suppress(OSError):
            if where := self._where or (self._cache and self._cache.mkdir(_EXAMPLES)):
                return DirectoryBasedExampleDatabase(where)
        return InMemoryExampleDatabase()

    def sequences(self, name: str) -> list[Commands]:
        """Return the sequences that the implementation of that name failed in earlier runs.

        Raises:
            UsageError: if the server that keeps them does not work.
        """
        found = []
        with self._answering():
            for value in self._database.fetch(_key(name)):
                with suppress(ValueError):  # it is damaged
                    found.append(decode(value.decode()))
        return sorted(found)

    @contextmanager
    def _answering(self) -> Iterator[None]:
        """Turn an error of the server into a :class:`UsageError` of one line."""
        try:
            yield
        except Exception as error:  # of a library that need not be there
            if "://" not in self._where or isinstance(error, UsageError):
                raise
            raise UsageError(f"--conformance-database: {str(error).splitlines()[0]}") from error

    def remember(self, report: Report, run: Mapping[str, bool]) -> None:
        """Keep the sequences that fail, so that the next run runs them first, and forget those that do not any more.

        Args:
            run: the implementations of which checks were run, by name; whether all of them were.

        Raises:
            UsageError: if the server that keeps them does not work.
        """
        for found in report.implementations:
            key, known = _key(found.name), set(self.sequences(found.name))
            findings = [finding for verdict in found.verdicts if verdict.violation for finding in verdict.violation.findings]
            failing = {tuple(Command(*one) for one in finding.sequence) for finding in findings if finding.sequence}
            with self._answering():
                for sequence in failing - known:
                    self._database.save(key, encode(sequence).encode())
                for sequence in known - failing if run.get(found.name) else ():  # what was not run may still fail
                    self._database.delete(key, encode(sequence).encode())

    def keep(self, report: Report) -> Path | None:
        """Keep the report for commands that name none, and return where; where nothing can be kept, pytest itself says so."""
        if self._cache:
            with suppress(OSError):
                path = self._cache.mkdir(LAST.parent.name) / LAST.name
                files.write(report, path)
                return path
        return None


def _key(name: str) -> bytes:
    return f"queue-conformance {name}".encode()


def _on_redis(url: str) -> ExampleDatabase:
    try:
        from hypothesis.extra.redis import RedisExampleDatabase
        from redis import Redis
    except ImportError:
        raise UsageError("--conformance-database: it needs pip install 'pytest-queue-conformance[redis]'") from None
    return RedisExampleDatabase(Redis.from_url(url, socket_timeout=10, socket_connect_timeout=10))
