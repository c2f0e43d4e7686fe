"""Right implementations that store in more than one place, under the time, or write anew what they have stored."""

from __future__ import annotations

import json
import pickle
import time
from collections import deque
from hashlib import sha256
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from mutants.controls import FilePerItem
from queue_reference.dupefilter import DupeFilter
from queue_reference.memory import FifoMemoryQueue


class WaitsForATimeOfItsOwn(FifoMemoryQueue):
    """A queue that keeps requests under the time, and waits until the clock shows one that is free."""

    def __init__(self):
        self._stored = {}

    def push(self, request):
        while (now := time.time_ns()) in self._stored:
            pass
        self._stored[now] = request

    def pop(self):
        return self._stored.pop(next(iter(self._stored))) if self._stored else None

    def peek(self):
        return next(iter(self._stored.values()), None)

    def __len__(self):
        return len(self._stored)


class OrderBeside(FilePerItem):
    """A queue of bytes with a file for each item, and one for their order; opening drops what is in one of them alone."""

    def __init__(self, path):
        self.last = -1
        super().__init__(path)
        order = self.path / "order.item"
        self.names.clear()
        if order.exists():
            self.last, names = json.loads(order.read_bytes())
            self.names = self.complete(names)
        for name in {one.name for one in self.path.iterdir()} - {"order.item", *self.names}:
            (self.path / name).unlink()

    def complete(self, names):
        return deque(name for name in names if (self.path / name).exists())

    def save(self, names):
        super().write("order.item", json.dumps([self.last, names]).encode())

    def push(self, item):
        if not isinstance(item, bytes):
            raise TypeError(f"only bytes can be stored, not {type(item).__name__}")
        self.last += 1
        name = f"{self.last:09d}.item"
        self.save([*self.names, name])
        self.write(name, item)
        self.names.append(name)

    def pop(self):
        item = self.peek()
        if self.names:
            name, *others = self.names
            self.save(others)
            self.names.popleft()
            (self.path / name).unlink()
        return item

    def close(self):
        if not self.names and self.path.exists():
            for one in self.path.iterdir():
                one.unlink()
        super().close()


class SnapshotFilter(DupeFilter):
    """A filter that writes all that it has seen, every twenty requests and at the end, into the place of what it wrote before,
    and keeps nothing of a crawl that has finished.
    """

    _path = None

    def _resumed(self, path):
        self._path = path
        if path.exists():
            self._seen = pickle.loads(path.read_bytes())

    def request_seen(self, request):
        seen = super().request_seen(request)
        if self._path and not seen and len(self._seen) % 20 == 0:
            self._save()
        return seen

    def _save(self):
        new = self._path.with_suffix(".new")
        new.write_bytes(pickle.dumps(self._seen))
        new.replace(self._path)

    def close(self, reason):
        if self._path and reason == "finished":
            self._path.unlink(missing_ok=True)
        elif self._path:
            self._save()


class CachesFingerprints(DupeFilter):
    """A filter that computes the fingerprint of a request once, as long as that very request is there."""

    def __init__(self, *arguments):
        self._known = WeakKeyDictionary()
        super().__init__(*arguments)

    def _fingerprint(self, request):
        if request not in self._known:
            self._known[request] = super()._fingerprint(request)
        return self._known[request]


class FewFilesOpen(DupeFilter):
    """A filter with a file for each host, of which it keeps sixteen open."""

    directory = None

    def _resumed(self, path):
        self.files, self.known = {}, {}
        self.directory = path
        path.mkdir(exist_ok=True)

    def request_seen(self, request):
        if self.directory is None:
            return super().request_seen(request)
        host = self.directory / sha256(urlsplit(request.url).netloc.encode()).hexdigest()
        file = self.files[host] = self.files.pop(host, None) or self.opened(host)
        if len(self.files) > 16:
            self.files.pop(next(iter(self.files))).close()
        record = self._fingerprint(request).hex()
        if record in self.known[host]:
            return True
        file.write(record + "\n")
        self.known[host].add(record)
        return False

    def opened(self, host):
        if host not in self.known:
            self.known[host] = set(host.read_text().split()) if host.exists() else set()
        return host.open("a", buffering=1)

    def close(self, reason):
        if self.directory:
            for file in self.files.values():
                file.close()
            self.files.clear()
