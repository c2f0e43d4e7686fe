"""Wrong asynchronous queues that find nothing where their directory, or the working directory, is another one in the next run."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

from mutants import mutant
from mutants.elsewhere import checksum
from queue_reference.async_queues import DiskQueue


@mutant(fails="aqueue.persist.elsewhere")
class NamedByItsPath(DiskQueue):
    """It names its directory after a checksum of the whole path."""

    def __init__(self, path, maxsize=0):
        super().__init__(f"{Path(path).parent}/{checksum(path)}", maxsize)


@mutant(fails="aqueue.persist.elsewhere")
class StoresInTheWorkingDirectory(DiskQueue):
    """It stores below the working directory, whatever its path is."""

    def __init__(self, path, maxsize=0):
        super().__init__(f"{os.getcwd()}/storage/{checksum(path)}", maxsize)


@mutant(fails="aqueue.persist.elsewhere")
class BeginsAnewElsewhere(DiskQueue):
    """It removes what was stored where its path was another one."""

    def __init__(self, path, maxsize=0):
        place = Path(f"{path}.place")
        if place.exists() and place.read_text() != os.path.abspath(path):
            shutil.rmtree(path)
        super().__init__(path, maxsize)
        place.write_text(os.path.abspath(path))


class BodiesBeside(DiskQueue):
    """It keeps each body of more than ten thousand bytes in a file beside its directory, whose name stands for it."""

    mark = b"\0in "

    def __init__(self, path, maxsize=0):
        super().__init__(path, maxsize)
        self._beside = Path(path).parent

    def name_of(self, file):
        return file.name

    async def put(self, request, priority=0):
        if len(request.body or b"") > 10_000:
            file = self._beside / f"{uuid4().hex}.body"
            file.write_bytes(request.body)
            request = replace(request, body=self.mark + os.fsencode(self.name_of(file)))
        await super().put(request, priority)

    async def get(self):
        request = await super().get()
        if not (request.body or b"").startswith(self.mark):
            return request
        file = self._beside / os.fsdecode(request.body.removeprefix(self.mark))
        body = file.read_bytes()
        file.unlink()
        return replace(request, body=body)


@mutant(fails="aqueue.persist.elsewhere", control="mutants.async_elsewhere.BodiesBeside")
class KnowsPathsOfBodies(BodiesBeside):
    """The name of the file of a body is its absolute path."""

    def name_of(self, file):
        return os.path.abspath(file)
