"""A whole crawl that loses pages says so where the verdict stands, whatever the level of the rule."""

from types import SimpleNamespace

import pytest
from made_reports import implementation, report, violation

from queue_conformance.environments.graph import GraphCrawl
from queue_conformance.environments.together import Crawls
from queue_conformance.kinds import SCHEDULER
from queue_conformance.reports import html, jsonl, junit, markdown
from queue_conformance.reports.losses import concluded, worst_loss
from queue_conformance.specification import load

BROAD = "299 of 300 pages were lost in a broad crawl (e2e.broad)"


def crawl(pages, lost, ending="finished"):
    told = {"ending": ending, "error": "", "trouble": ("", [])}
    return GraphCrawl.__repr__(SimpleNamespace(pages=pages, lost=range(lost), twice=[], **told))


def together(pages, lost):
    crawls = SimpleNamespace(runs=[1, 2], accident="", struck=[], pages=pages, lost=range(lost), twice=[])
    return Crawls.__repr__(crawls)


def lost(rule, *crawls):
    return violation(rule, operations=("site = GraphSite({})", *(f"run = site.crawl()  # {one}" for one in crawls)))


@pytest.mark.parametrize("known", [(), ("e2e.broad",)])
def test_the_verdict_line_tells_of_lost_pages_at_any_level(known):
    found = implementation(kind=SCHEDULER, failed=[lost("e2e.broad", crawl(1, 299))], known=known)
    assert load()["e2e.broad"].level == "SHOULD"
    assert concluded(found) == f"CONFORMANT, but {BROAD}"
    text = str(report(found))
    assert f"verdict: CONFORMANT, but {BROAD}" in " ".join(text.split())


def test_every_form_of_report_tells_of_them(tmp_path):
    made = report(implementation(kind=SCHEDULER, failed=[lost("e2e.broad", crawl(1, 299))]))
    file = tmp_path / "report.jsonl"
    file.write_text(jsonl.render(made), "utf-8")
    for one in (made, jsonl.read(file)):
        assert f"<strong>{BROAD}</strong>" in html.render(one)
        assert "**CONFORMANT, but 299 of 300 pages" in markdown.render(one)
        assert f"CONFORMANT, but {BROAD}" in junit.render(one)


@pytest.mark.parametrize(
    ("crawls", "told"),
    [
        ((crawl(2, 9, "shutdown"), crawl(10, 1)), "1 of 11 pages was"),
        ((crawl(7, 2, "shutdown"), crawl(0, 2)), "2 of 9 pages were"),
    ],
)
def test_the_last_crawl_says_what_a_paused_one_lost(crawls, told):
    loss = worst_loss(implementation(failed=[lost("e2e.pause-resume", *crawls)]))
    assert str(loss) == f"{told} lost in a crawl that was paused (e2e.pause-resume)"


def test_the_crawl_that_lost_most_is_told_of():
    found = implementation(kind=SCHEDULER, failed=[lost("e2e.all-once", crawl(1, 2)), lost("e2e.shared.once", together(8, 4))])
    told = "NON-CONFORMANT, and 4 of 12 pages were lost in a crawl of several crawlers (e2e.shared.once)"
    assert concluded(found) == told


@pytest.mark.parametrize(
    "failure",
    [
        lost("e2e.pop-permanent", crawl(1, 3, "shutdown")),  # as it should
        lost("e2e.broad", crawl(300, 0)),
        violation("e2e.broad"),
    ],
)
def test_nothing_is_told_where_no_page_is_missed(failure):
    assert worst_loss(implementation(kind=SCHEDULER, failed=[failure])) is None
