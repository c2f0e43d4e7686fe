"""What a scheduler offers, found by using it. Nothing is judged here: what fails is not offered."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydispatch.dispatcher import getAllReceivers, liveReceivers

from queue_conformance.engine.stored_files import stored_files
from queue_conformance.environments.engine import occupy
from queue_conformance.implementation.capabilities import Capabilities
from queue_conformance.implementation.expectations import hold
from queue_conformance.kinds.scheduler.faulty import FaultPlan, faulty
from queue_conformance.kinds.scheduler.script_support import use_scheduler
from queue_conformance.kinds.scheduler.wrappers import OF_DOWNLOADS
from queue_conformance.processes import process
from queue_conformance.script_support.interleaving import elsewhere, step


def probe(driver: Any, workdir: Callable[[], Path]) -> Capabilities:
    """Find out what the schedulers of a driver offer; ``workdir`` makes an empty directory for each experiment."""

    def attempt(*runs: Callable[[Any], Any]) -> bool:
        """Tell what the last run says; each has a process of its own, as a crawl has, and may keep something there."""
        driver.renew(workdir())
        driver.recorder.restart()
        return [_alone(run, driver) for run in runs][-1]

    traces: list[str] = []
    on_disk = attempt(_uses_disk_queue)
    persistent = attempt(lambda driver: _store(driver, 0, 1, 2), _finds)
    loses = attempt(lambda driver: _store(driver, 0), _refuses)
    traces += ["it refuses in the next run what it lost in the last one"] if loses else []
    filesystem = attempt(_leaves_files)
    if stored := stored_files(driver.directory, str(driver.job())):  # some know no jobs, and use the working directory
        in_job = any(path.is_relative_to(driver.job()) for path in stored)
        traces.append(f"it writes files in the {'job' if in_job else 'working'} directory")
    found = Capabilities(
        persistent=persistent or on_disk,  # whoever writes to disk wants to find it again
        shared_storage=persistent and process.AVAILABLE and attempt(_shows_others),
        filesystem=filesystem,
        configurable=attempt(_uses_memory_queue) or on_disk,
        filters=attempt(_filters),
        length=callable(getattr(driver.implementation.cls, "__len__", None)),
        slots=attempt(_slots),
        hears_downloads=attempt(_hears_downloads),
        needs_job=driver.has_job and attempt(_works) and not attempt(_works_without_a_job),
    )
    return hold(found, driver.implementation.cls, driver.implementation.settings, {"persistent": traces})


def _alone(run: Callable[[Any], Any], driver: Any) -> bool:
    """Tell what a run says in a process of its own; where that ends in another way, this one does too, and so is seen."""

    def says() -> bool:
        try:
            return bool(run(driver))
        except Exception:  # of an operation, or because what came out is nothing that a request could be
            return False

    if not process.AVAILABLE:
        return says()
    try:
        ended = process.run(lambda say: say(says()), time_limit=math.inf)
    except RuntimeError:  # SystemExit or the like
        process.exit_now(1)
    if ended.signal:
        os.kill(os.getpid(), ended.signal)
    if not ended.said:
        process.exit_now(ended.status)
    return bool(ended.said[0])


def _store(driver: Any, *numbers: int, job: str | None = "job", **settings: Any) -> None:
    """Enqueue requests, and close."""
    scheduler = driver.open(settings, job=job)
    for number in numbers:
        scheduler.enqueue_request(driver.fresh(number))
    scheduler.close()


def _works(driver: Any) -> bool:
    """Enqueue a request of a job."""
    _store(driver, 0)
    return True


def _works_without_a_job(driver: Any) -> bool:
    """Enqueue a request without a job directory."""
    _store(driver, 0, job=None, JOBDIR=None)
    return True


def _finds(driver: Any) -> bool:
    """Look whether any request is there in the next run."""
    scheduler = driver.open(job="job")
    found = scheduler.has_pending_requests() and driver.drain(scheduler)
    scheduler.close()
    return bool(found)


def _refuses(driver: Any) -> bool:
    """Look whether the next run refuses the request that the last one stored as a duplicate."""
    scheduler = driver.open(job="job")
    accepted = _accepts(driver, scheduler)
    scheduler.close()
    return not accepted


def _shows_others(driver: Any) -> bool:
    """Let another process take what is enqueued here, and look whether it got that, and whether it is gone here."""
    request = driver.fresh(0)
    with elsewhere(use_scheduler, driver.opener(), "next_request") as other:
        step(other)
        scheduler = driver.open(job="job")
        scheduler.enqueue_request(request)
        received = step(other)
        step(other)
        is_gone = not scheduler.has_pending_requests()
        scheduler.close()
    return is_gone and bool(received == request.value.url)


def _leaves_files(driver: Any) -> bool:
    """Look for files of the job after it was closed with a request; what it stores elsewhere has nothing to do with jobs."""
    _store(driver, 0)
    return any(path.is_file() for path in driver.job().rglob("*"))


def _uses_memory_queue(driver: Any) -> bool:
    """Look whether requests go into the memory queue of the settings."""
    _store(driver, 0, job=None, SCHEDULER_MEMORY_QUEUE=faulty("scrapy.squeues.FifoMemoryQueue"))
    return bool(FaultPlan.stored)


def _uses_disk_queue(driver: Any) -> bool:
    """Look whether requests of a job go into the disk queue of the settings."""
    _store(driver, 0, SCHEDULER_DISK_QUEUE=faulty("scrapy.squeues.PickleFifoDiskQueue"))
    return bool(FaultPlan.stored)


def _filters(driver: Any) -> bool:
    """Enqueue equal requests: a second one while the first one waits, and a third one when both came."""
    scheduler = driver.open()
    first, second = (_accepts(driver, scheduler) for _ in range(2))
    driver.drain(scheduler)
    third = _accepts(driver, scheduler)
    scheduler.close()
    return first and not (second and third)


def _hears_downloads(driver: Any) -> bool:
    """Look whether anything listens for the signals that tell what becomes of a request that was handed out."""
    scheduler = driver.open(job="job")
    scheduler.enqueue_request(driver.fresh(0))
    sender = scheduler.crawler.signals.sender
    heard = any(any(liveReceivers(getAllReceivers(sender, signal))) for signal in OF_DOWNLOADS)
    scheduler.close()
    return heard


def _accepts(driver: Any, scheduler: Any) -> bool:
    """Whether it stores a request: as it says, or else as it shows."""
    if not driver.silent:
        return bool(scheduler.enqueue_request(driver.fresh(0)))
    driver.drain(scheduler)
    scheduler.enqueue_request(driver.fresh(0))
    return bool(driver.drain(scheduler))


def _slots(driver: Any) -> bool:
    """Look whether of two slots the idle one comes first, whichever it is, and whatever the priorities."""
    return _first_beside(driver, "example.com") == 21 and _first_beside(driver, "example.org") == 3


def _first_beside(driver: Any, busy: str) -> int | None:
    """Return the number of the request that comes first while a slot is busy."""
    scheduler = driver.open()
    occupy(scheduler.crawler, busy, 3)
    for number in (3, 21):
        scheduler.enqueue_request(driver.fresh(number))
    first: int | None = driver.identify(scheduler.next_request())
    scheduler.next_request()
    scheduler.close()
    return first
