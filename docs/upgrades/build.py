"""Measure what one release makes of what another one has stored: ``python build.py [LIBRARY...]``.

What came of it is kept in ``measured.json``, from which the page is made; environments stay in ``build/upgrades``.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from parts.upgrades import MEASURED, STEPS, TABLE  # noqa: E402 - found by the path above

from queue_conformance.upgrades.environments import install  # noqa: E402

BUILD = HERE.parent.parent / "build" / "upgrades"
PAGES = 25
"""After how many a crawl is stopped."""

LIMIT = 300
"""Seconds after which a crawl, which takes five, is taken for one that does not end; one may lose a request each five seconds."""

FOLLOWS = re.compile("slot not assigned|'dqs'|'state'")
"""Errors that come of another one."""

REDIS = {
    "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
    "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
    "SCHEDULER_PERSIST": "True",
}

KEEPS = {"APIFY_LOCAL_STORAGE_DIR": "job/storage", "APIFY_PURGE_ON_START": "0"}
"""Variables with which the scheduler of apify keeps its queue in the job directory; it would empty it at each start."""


def crawl(python: Path, where: Path, most: int, settings: Sequence[str]) -> dict[str, Any]:
    """Run the crawl once; return what it visited, the state that it found, what it told, and the exit status.

    ``logged`` is how often the logger that complained most did so; without an end the status is ``None``.
    """
    out = where / "out.json"
    out.unlink(missing_ok=True)
    command = [python, "-W", "ignore", "-m", "scrapy", "runspider", HERE / "crawl.py", "-a", f"most={most}", "-a", f"out={out}"]
    given = [*command, *(word for one in settings for word in ("-s", one))]
    log = where / "log"
    with log.open("w") as file:
        try:
            status = subprocess.run(
                given, cwd=where, env={**os.environ, **KEEPS}, stdout=file, stderr=file, timeout=LIMIT
            ).returncode
        except subprocess.TimeoutExpired:
            status = None
    said = log.read_text("utf-8")
    found = {"visited": [], "state": None, "finish": None, **(json.loads(out.read_text()) if out.exists() else {})}
    told = [one for one in re.findall(r"^(?:[a-z]+\.)*(\w*(?:Error|Exception): .+)", said, re.M) if not FOLLOWS.search(one)]
    logged = Counter(re.findall(r"^\S+ \S+ \[([\w.]+)\] (?:WARNING|ERROR|CRITICAL): ", said, re.M))
    return {**found, "told": told[0] if told else "", "logged": max(logged.values(), default=0), "status": status}


def resumed(first: Mapping[str, Any], writer: Path, reader: Path, where: Path, settings: Sequence[str]) -> dict[str, Any]:
    """Resume a crawl that was stopped with another release, and once more; or, where it does not open, with its own."""
    before = contents(where / "job")
    second = crawl(reader, where, 0, settings)
    seen, left = {*first["visited"]}, 60 - len(first["visited"])
    found = {
        "left": left,
        "recovered": len({*second["visited"]} - seen),
        "again": len([url for url in second["visited"] if url in seen]),
        "state": bool(second["state"]) if second["visited"] else None,
        "finish": second["finish"],
        "told": second["told"],
        "logged": second["logged"],
        "status": second["status"],
    }
    if second["visited"]:
        return {**found, "later": len(crawl(reader, where, 0, settings)["visited"])}
    after = contents(where / "job")
    changed = sorted({Path(name).parts[0] for name, content in before.items() if after.get(name) != content})
    back = crawl(writer, where, 0, settings)
    return {**found, "changed": changed, "back": len({*back["visited"]} - seen), "back state": bool(back["state"])}


@cache
def stopped(writer: Path) -> tuple[dict[str, Any], Path]:
    """Stop a crawl; return what came of it, and where its job directory is."""
    where = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, where)
    return crawl(writer, where, PAGES, ["JOBDIR=job"]), where / "job"


def of_scrapy(writer: Path, reader: Path, where: Path) -> dict[str, Any]:
    """Measure crawls with a job directory."""
    first, job = stopped(writer)
    shutil.copytree(job, where / "job")
    return resumed(first, writer, reader, where, ["JOBDIR=job"])


def of_steps() -> list[dict[str, Any]]:
    """Measure what is done before a job goes on."""
    found = []
    for step in STEPS:
        writer, reader = (install(TABLE["scrapy"][step[end]], BUILD) for end in ("from", "to"))
        with tempfile.TemporaryDirectory() as where:
            first, job = stopped(writer)
            shutil.copytree(job, Path(where) / "job")
            if run := step.get("run"):
                program, *arguments = run.split()
                subprocess.run([reader, HERE / program, *arguments], cwd=where, check=True)
            if "delete" in step:
                (Path(where) / "job" / step["delete"]).unlink()
            settings = ["JOBDIR=job", *step.get("settings", ())]
            found.append(step | {"found": resumed(first, writer, reader, Path(where), settings)})
    return found


def of_scrapy_redis(writer: Path, reader: Path, where: Path) -> dict[str, Any]:
    """Measure crawls whose requests are in a Redis of their own."""
    with redis(where) as url:
        settings = [*(f"{name}={value}" for name, value in REDIS.items()), f"REDIS_URL={url}", "JOBDIR=job"]
        return resumed(crawl(writer, where, PAGES, settings), writer, reader, where, settings)


def of_apify(writer: Path, reader: Path, where: Path) -> dict[str, Any]:
    """Measure crawls whose requests are in a local queue of apify, in the job directory."""
    settings = ["SCHEDULER=apify.scrapy.scheduler.ApifyScheduler", "JOBDIR=job"]
    return resumed(crawl(writer, where, PAGES, settings), writer, reader, where, settings)


@contextmanager
def redis(where: Path) -> Iterator[str]:
    """Run a server on a socket of its own."""
    socket = where / "redis.sock"
    options = ["--port", "0", "--unixsocket", socket, "--save", "", "--dir", where]
    with subprocess.Popen(["redis-server", *options], stdout=subprocess.DEVNULL) as server:
        while not socket.exists() and server.poll() is None:
            pass
        yield f"unix://{socket}"
        server.terminate()


def of_queuelib(writer: Path, reader: Path, where: Path) -> dict[str, Any]:
    """Measure the queues of bytes."""
    wrote, read = (_said([python, HERE / "queues.py", what, where]) for python, what in ((writer, "write"), (reader, "read")))
    return {
        name: {
            "left": len(wrote[name]["items"]),
            "recovered": _same(wrote[name]["items"], read[name]["items"]),
            "told": read[name]["told"],
        }
        for name in wrote
        if name in read
    }


def of_qcrawl_redis(writer: Path, reader: Path, where: Path) -> dict[str, Any]:
    """Measure the queue in a Redis of its own."""
    with redis(where) as url:
        return of_qcrawl(writer, reader, url)


def of_qcrawl(writer: Path, reader: Path, where: Path | str) -> dict[str, Any]:
    """Measure the queue on disk, or in Redis."""
    wrote, read = (_said([python, HERE / "qcrawls.py", what, where]) for python, what in ((writer, "write"), (reader, "read")))
    changed = [(one, other) for one, other in zip(wrote, read, strict=False) if one != other]
    fields = sorted({name for one, other in changed for name in one if one[name] != other[name]})
    return {"left": len(wrote), "recovered": len(read) - len(changed), "changed": fields}


def _same(one: Sequence[str], other: Sequence[str]) -> int:
    return sum(left == right for left, right in zip(one, other, strict=False))


def _said(command: Sequence[str | Path]) -> Any:
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout)


def contents(directory: Path) -> dict[str, str]:
    """Return digests of the files of a directory."""
    files = [file for file in directory.rglob("*") if file.is_file()]
    return {str(file.relative_to(directory)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


MEASURES = {"scrapy": of_scrapy, "queuelib": of_queuelib, "qcrawl": of_qcrawl}
MEASURES |= {"qcrawl-redis": of_qcrawl_redis, "scrapy-redis": of_scrapy_redis, "apify": of_apify}


def main(libraries: Sequence[str]) -> None:
    """Measure some libraries, or all and the steps; the others stay as they were."""
    measured = json.loads(MEASURED.read_text("utf-8")) if MEASURED.exists() else {}
    for library in libraries or [*MEASURES, "steps"]:
        print(library, flush=True)
        measured[library] = of_steps() if library == "steps" else pairs(library)
    MEASURED.write_text(json.dumps(measured, indent=1) + "\n", "utf-8")


def pairs(library: str) -> dict[str, dict[str, Any]]:
    """Measure each pair of releases of a library."""
    pythons = {release: install(given, BUILD) for release, given in TABLE[library].items()}
    found: dict[str, dict[str, Any]] = {}
    for written, writer in pythons.items():
        found[written] = {}
        for read, reader in pythons.items():
            with tempfile.TemporaryDirectory() as where:
                found[written][read] = MEASURES[library](writer, reader, Path(where))
    return found


if __name__ == "__main__":
    main(sys.argv[1:])
