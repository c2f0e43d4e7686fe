"""The check of jobs whose metadata is torn."""

from __future__ import annotations

from collections.abc import Iterator

from queue_conformance.engine.cases import Attempt
from queue_conformance.engine.check import check
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.outcomes import NotCovered
from queue_conformance.kinds.job.stored import SOME, metadata_in, store

TORN = "job.torn-metadata"


def tears(context: CheckContext, attempt: Attempt) -> Iterator[tuple[int, str]]:
    """Yield the number of each file of metadata, and what becomes of it, up to where something is lost."""
    found = metadata_in(store(context, SOME))
    if not found:
        raise NotCovered("no file holds metadata only")
    attempt((0, "whole"))
    for number, content in enumerate(found.values()):
        for state in ("gone", "empty", "cut in half", "one byte short"):
            if content and TORN not in context.failed:
                yield number, state


@check(TORN, tear=[tears])
def torn_metadata_is_no_empty_job(open_scheduler, fresh, close, tear_file, remaining, urls, directory, tolerated, tear):
    number, state = tear
    stored = urls(SOME)
    scheduler = open_scheduler("job")
    for each in SOME:
        scheduler.enqueue_request(fresh(each))
    close(scheduler, "shutdown")
    torn = tear_file(directory + "/job", number, state)
    with tolerated(when=state != "whole") as reported:
        scheduler = open_scheduler("job")
        left = remaining(scheduler)
    if not reported:
        lost = [url for url in stored if url not in left]
        assert lost == [], f"an exception, or every request, where job/{torn} is {state}"
