"""Right classes of designs that are easily wrong in the next run."""

from __future__ import annotations

import zlib
from urllib.parse import urlsplit

from mutants.controls_schedulers import SQLiteScheduler


class ShardedScheduler(SQLiteScheduler):
    """It keeps what it has seen in shards, one for some of the hosts."""

    def host_of(self, request):
        return urlsplit(request.url).hostname or ""

    def number_of(self, host):
        return zlib.crc32(host.encode()) % 64

    def fingerprint(self, request):
        return b"%d " % self.number_of(self.host_of(request)) + super().fingerprint(request)
