"""A dupefilter that remembers what it has seen in a job directory, and survives a crash of the process."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

from scrapy.dupefilters import BaseDupeFilter
from scrapy.utils.job import job_dir

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Request, Spider
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

HEADER = b"queue_reference.dupefilter 1\n"


class ForeignFileError(Exception):
    """The file is none that this class has written."""


class DupeFilter(BaseDupeFilter):
    """Filters requests with the same fingerprint.

    With a job directory, each fingerprint is appended to a file there: its length and a checksum, 4 bytes each, and itself.
    A record that is not complete, or does not match its checksum, is what a crash has left of the last one: it is cut off.

    Args:
        crawler: whose request fingerprinter and settings are used.

    Raises:
        ForeignFileError: if there is a file of that name that another class has written.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._debug = crawler.settings.getbool("DUPEFILTER_DEBUG")
        self._logged = False
        self._seen: set[bytes] = set()
        self._file: int | None = None
        if directory := job_dir(crawler.settings):
            self._file = self._resumed(Path(directory) / "fingerprints")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build the filter of a crawl."""
        return cls(crawler)

    def _resumed(self, path: Path) -> int:
        """Read a file, cut off what is torn, and open it to append."""
        data = path.read_bytes() if path.exists() else b""
        if not HEADER.startswith(data[: len(HEADER)]):
            raise ForeignFileError(f"{path} was not written by {type(self).__name__}")
        end = len(HEADER)
        for fingerprint in records(data, end):
            self._seen.add(fingerprint)
            end += len(record(fingerprint))
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o666)
        if len(data) < len(HEADER):
            os.ftruncate(file, 0)
            os.write(file, HEADER)
        elif end < len(data):
            logger.warning("%s: the last %d bytes are no complete record", path, len(data) - end)
            self._repair(file, end)
        return file

    def _repair(self, file: int, end: int) -> None:
        os.ftruncate(file, end)

    def request_seen(self, request: Request) -> bool:
        """Tell whether a request with the same fingerprint was seen; from now on it was.

        Raises:
            OSError: if the fingerprint cannot be stored; it then was not seen.
        """
        fingerprint = self._fingerprint(request)
        if fingerprint in self._seen:
            return True
        if self._file is not None:
            self._store(self._file, fingerprint)
        self._seen.add(fingerprint)
        return False

    def _fingerprint(self, request: Request) -> bytes:
        fingerprinter = self._crawler.request_fingerprinter
        assert fingerprinter is not None
        return fingerprinter.fingerprint(request)

    def _store(self, file: int, fingerprint: bytes) -> None:
        data = record(fingerprint)
        start = os.fstat(file).st_size
        if os.write(file, data) != len(data):  # the disk is full
            os.ftruncate(file, start)
            raise OSError("a fingerprint cannot be stored")

    def log(self, request: Request, spider: Spider) -> None:
        """Count a duplicate, and log it: the first one, or with ``DUPEFILTER_DEBUG`` each of them."""
        if self._debug or not self._logged:
            more = "" if self._debug else "; no more will be shown (see DUPEFILTER_DEBUG)"
            logger.debug("Filtered duplicate request: %s%s", request, more, extra={"spider": spider})
        self._logged = True
        assert self._crawler.stats is not None
        self._crawler.stats.inc_value("dupefilter/filtered")

    def close(self, reason: str) -> None:
        """Release the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def record(fingerprint: bytes) -> bytes:
    """Return what is stored of a fingerprint."""
    return b"".join((len(fingerprint).to_bytes(4, "big"), checksum(fingerprint), fingerprint))


def records(data: bytes, start: int) -> list[bytes]:
    """Return the fingerprints in the complete records of a file."""
    found: list[bytes] = []
    while start + 8 <= len(data):
        end = start + 8 + int.from_bytes(data[start : start + 4], "big")
        fingerprint = data[start + 8 : end]
        if end > len(data) or checksum(fingerprint) != data[start + 4 : start + 8]:
            break
        found.append(fingerprint)
        start = end
    return found


def checksum(fingerprint: bytes) -> bytes:
    """Return four bytes that a torn record does not have by chance; that of nothing is not four zeros."""
    return crc32(fingerprint, 1).to_bytes(4, "big")
