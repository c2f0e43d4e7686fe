"""Checks of the log and the statistics."""

from queue_conformance.engine.check import check
from queue_conformance.engine.outcomes import NotCovered
from queue_conformance.script_support.support import logged

FILTERED = (1, 1, 2)
"""The duplicates."""

FEW: tuple[dict[str, object], ...] = ({}, {"DUPEFILTER_DEBUG": False}, {"DUPEFILTER_DEBUG": "False"})
# Strings, as the command line sets them, mean the same.
ALL: tuple[dict[str, object], ...] = (
    {"DUPEFILTER_DEBUG": True},
    {"DUPEFILTER_DEBUG": "True"},
)


@check("dupefilter.log.first", settings=FEW + ALL)
def one_duplicate_is_logged_or_all_are(logs_itself, begin_crawl, request_of, settings):
    dupefilter, spider = begin_crawl(**settings)
    was_logged = []
    with logged() as texts:
        for request in map(request_of, FILTERED):
            if not dupefilter.request_seen(request) and not dupefilter.request_seen(request):
                raise NotCovered("it did not filter an equal request")
            before = len(texts)  # what it logs while it looks, such as each query of a database, is no log of this
            dupefilter.log(request, spider)
            was_logged = [*was_logged, len(texts) > before]
        only = "each of three duplicates" if settings in ALL else "the first of three duplicates, and no other,"
        assert was_logged == [True, settings in ALL, settings in ALL], (
            f"{only} logged: {[True, settings in ALL, settings in ALL]}"
        )


@check("dupefilter.log.stat", settings=({}, {"DUPEFILTER_DEBUG": True}))
def each_duplicate_is_counted(logs_itself, begin_crawl, request_of, settings):
    dupefilter, spider = begin_crawl(**settings)
    for request in map(request_of, FILTERED):
        if not dupefilter.request_seen(request) and not dupefilter.request_seen(request):
            raise NotCovered("it did not filter an equal request")
        dupefilter.log(request, spider)
    filtered = spider.crawler.stats.get_value("dupefilter/filtered")
    assert filtered == len(FILTERED), f"{len(FILTERED)} duplicates in the stats, as dupefilter/filtered"
