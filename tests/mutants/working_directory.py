"""Wrong components that store in the working directory, and the right ones beside them."""

from __future__ import annotations

from pathlib import Path

from scrapy.utils.job import job_dir

from mutants import mutant
from mutants.controls_forgetful import FiltersOneRun
from mutants.forgetful import StoresNothing
from queue_reference.bytequeues import FifoByteQueue
from queue_reference.dupefilter import DupeFilter


class SeenHere(DupeFilter):
    """What the spider of a job has seen is in the working directory."""

    def __init__(self, crawler):
        super().__init__(crawler)
        if self._file is not None:
            self.close("elsewhere")
            Path(job_dir(crawler.settings), "fingerprints").unlink()
            self._file = self._resumed(self.place(crawler))

    def place(self, crawler):
        return Path(f"{crawler.spider.name}.seen")


@mutant(fails="dupefilter.persist.resume")
class ForgetsWhatItSawHere(SeenHere):
    """It empties what the spider has seen when it starts."""

    def place(self, crawler):
        super().place(crawler).unlink(missing_ok=True)
        return super().place(crawler)


class TextHere(DupeFilter):
    """What the spider of a job has seen is in a text in the working directory."""

    def __init__(self, crawler):
        super().__init__(crawler)
        self._text = Path(f"{crawler.spider.name}.txt")
        if self._file is not None:
            self.close("elsewhere")
            Path(job_dir(crawler.settings), "fingerprints").unlink()
            self._file = self.opened()

    def opened(self):
        if self._text.exists():
            self._seen.update(map(bytes.fromhex, self._text.read_text().splitlines()))
        return self._text.open("a")

    def _store(self, file, fingerprint):
        file.write(fingerprint.hex() + "\n")
        file.flush()

    def close(self, reason):
        if self._file is not None and not isinstance(self._file, int):
            self._file.close()
            self._file = None
        super().close(reason)


@mutant(fails="dupefilter.persist.resume")
class ForgetsTheText(TextHere):
    """It begins its text anew."""

    def opened(self):
        return self._text.open("w")


class LogsDuplicates(FiltersOneRun):
    """A filter in memory, which logs what it filters where the process works."""

    def request_seen(self, request):
        seen = super().request_seen(request)
        if seen:
            with Path("filter.log").open("a") as log:
                log.write(f"filtered {request.url}\n")
        return seen


class BytesHere(FifoByteQueue):
    """A queue whose file is in the working directory."""

    def __init__(self):
        super().__init__("waiting")


@mutant(fails="queue.persist.reopen", control="mutants.working_directory.BytesHere")
class EmptiesItsFileHere(FifoByteQueue):
    """A queue whose file is in the working directory, where it removes it when it starts."""

    def __init__(self):
        Path("waiting").unlink(missing_ok=True)
        super().__init__("waiting")


@mutant(fails="queue.persist.reopen", control="mutants.working_directory.BytesHere", may_fail="queue.push.failed-no-trace-fault")
class BeginsItsTextAnew(StoresNothing):
    """A queue that writes what it is given to a text in the working directory, and never reads that."""

    def __init__(self):
        super().__init__("waiting.txt")

    def push(self, item):
        if not isinstance(item, bytes):
            raise TypeError(item)
        self.items.append(item)
        Path(self.path).write_bytes(b"\n".join(self.items))
