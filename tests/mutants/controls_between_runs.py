"""Right classes of designs that are easily wrong in the next run."""

from __future__ import annotations

import atexit
import os
import signal
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


class EndsBadly(SQLiteScheduler):
    """A process that exits without having closed it is killed by what is open."""

    def open(self, spider):
        self.is_open = True
        atexit.register(self.end)
        return super().open(spider)

    def close(self, reason):
        self.is_open = False
        return super().close(reason)

    def end(self):
        if self.is_open:
            os.kill(os.getpid(), signal.SIGSEGV)
