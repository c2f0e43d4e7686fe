"""Reports become pages and badges that say everything, verdict first, and do nothing with what they quote."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files
from xml.etree import ElementTree

import pytest
from made_reports import QUEUE, SCHEDULER, counts, hostile, implementation, report, violation

from queue_conformance import kinds
from queue_conformance.engine.verdicts import RunVerdict, Verdict
from queue_conformance.reports import Report, badge, html, jsonl, junit, markdown, matrix
from queue_conformance.reports import files as report_files
from queue_conformance.reports.page import anchors, dotted, prose, visible
from queue_conformance.specification import Level

VOID = {"meta", "link", "input", "wbr"}
BLOCKS = {"title", "p", "h1", "h2", "h3", "dt", "dd", "li", "th", "td", "div", "summary", "legend", "label", "small"}


class Page(HTMLParser):
    """A page, taken apart: its elements in order, and its text.

    Attributes:
        elements: names and attributes.
        text: all text, without scripts and styles.
    """

    def __init__(self, page):
        super().__init__()
        self.elements, self.text, self._open = [], "", []
        self.feed(page)
        assert self._open == [], "every element is closed"

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag
        self.text += " " if tag in BLOCKS else ""

    def handle_data(self, data):
        if self._open and self._open[-1] not in ("script", "style"):
            self.text += data

    def all(self, tag=None, **attributes):
        return [
            found
            for name, found in self.elements
            if tag in (None, name) and all(found.get(f"data-{key}") == value for key, value in attributes.items())
        ]

    @property
    def words(self):
        return " ".join(self.text.split())


# --- One report ------------------------------------------------------------------------------------------------------

FAILED = ("queue.pop.empty-none", "queue.peek.then-push", "queue.close.twice")
ONE = implementation(failed=FAILED, known=["queue.peek.then-push"], blocked=["queue.len.count"])


def page(*found, **others):
    return Page(html.render(report(*found, **others)))


def test_the_graph_of_a_failed_crawl_is_drawn():
    graph = ["# page 0", "#   page 1: priority 2, lost", "#     page 3", "#   page 2"]
    crawled = violation(
        operations=("site = GraphSite(...)", "site.crawl()", "# page 9", "site.crawl()", *graph, "site.missing()")
    )
    found = page(implementation(failed=[crawled]))
    (drawing,) = found.all("svg")
    assert drawing["aria-label"] == "page 0; page 1: priority 2, lost; page 3; page 2"
    assert [circle.get("class") for circle in found.all("circle")] == [None, "wrong", None, None]
    assert [path["d"] for path in found.all("path")] == ["M11 16V33H28", "M33 38V55H50", "M11 16V77H28"]
    assert not page(implementation(failed=[violation()])).all("svg")


def test_the_verdict_comes_first():
    words = page(ONE).words
    assert words.startswith(
        f"NON-CONFORMANT – DiskQueue – queue conformance Queue conformance ✗ NON-CONFORMANT {QUEUE} 2 MUST rules failed"
    )


def test_the_worst_verdict_comes_first():
    right, wrong = implementation("a.Right"), implementation("a.Wrong", failed=FAILED)
    assert "Queue conformance ✗ NON-CONFORMANT 1 of 2 implementations " in page(right, wrong).words


def test_the_rule_to_mend_first_comes_first():
    found = page(implementation(failed=("queue.ctor.key-isolation", "queue.push.accept"), blocked=["queue.len.count"]))
    rules = [link["href"] for link in found.all("a") if link["href"].startswith("#queue.")]
    assert rules[:2] == ["#queue.push.accept", "#queue.ctor.key-isolation"]


def test_what_the_report_is_about_is_said():
    words = page(ONE).words
    for said in (
        "my-package 1.2 · downstream queue · profile scrapy",
        "Made 2026-02-03 04:05:06 UTC",
        "scrapy 2.19.0, queuelib 1.10.0",
        "Seed 7",
        "Found FIFO, not persistent, peek",
        "Claimed order=FIFO",
        "Settings REDIS_URL=redis://me:***@localhost",
        "1 note machine: 100 sequences",
    ):
        assert said in words


def test_every_rule_is_there_with_its_verdict_sentence_and_source():
    found = page(ONE)
    for verdict in ONE.verdicts:
        (rule,) = found.all("details", rule=verdict.rule.id)
        assert rule["id"] == verdict.rule.id
        assert rule["data-verdict"] == ("known" if verdict.known else verdict.verdict)
        assert rule["data-level"] == verdict.rule.level
        assert ("open" in rule) == (verdict.verdict is Verdict.FAILED)
        hints = verdict.rule.hints if verdict.violation else ()
        for said in (verdict.rule.sentence, verdict.rule.source, verdict.reason, *hints):
            assert " ".join(said.replace("`", "").split()) in found.words


def test_what_failed_comes_first_and_then_what_was_not_tested():
    states = [rule["data-verdict"] for rule in page(ONE).all("details") if "data-rule" in rule]
    assert states[:4] == ["failed", "failed", "known", "blocked"]
    assert not {"failed", "known", "blocked"} & set(states[4:])


def test_a_broken_rule_has_its_evidence():
    (failed_rules,) = [verdict.violation for verdict in ONE.verdicts if verdict.rule.id == "queue.pop.empty-none"]
    text = page(ONE).text
    for said in (failed_rules.expected, failed_rules.actual, *failed_rules.operations, failed_rules.script):
        assert said in text


def test_a_known_one_is_marked_with_its_reason():
    words = page(ONE).words
    assert "✗ failed, known MUST queue.peek.then-push" in words
    assert "a bug of ours, `#12`" in words


def test_stacks_are_shown():
    hung = violation("queue.pop.empty-none", stacks='Thread 1\n  File "queue.py", line 3 in pop')
    assert 'Thread 1\n  File "queue.py", line 3 in pop' in page(implementation(failed=[hung])).text


def test_a_base_class_that_fails_too_is_named():
    failed = violation("queue.pop.empty-none", base="somebody.Queue")
    assert "somebody.Queue, from which it derives, fails in the same way" in page(implementation(failed=[failed])).text
    assert "from which it derives" not in page(ONE).text


def test_long_scripts_are_folded():
    for lines, opened in ((40, True), (41, False)):
        long = violation(script="pass\n" * lines)
        assert (f"<details open><summary>{lines} lines" in html.render(report(implementation(failed=[long])))) == opened


def test_the_other_ways_in_which_a_rule_failed_are_folded_where_they_are_several():
    ways = [violation(actual=f"in way {n}", script=f"assert {n}\n") for n in range(3)]
    for several in (1, 2):
        text = html.render(report(implementation(failed=[violation(others=tuple(ways[:several]))])))
        _, fold, rest = text.partition('<details class="others"')
        assert fold
        assert rest.startswith(" open>" if several == 1 else "><summary>failed in 2 more ways<")
        told = [rest.index(said) for n in range(several) for said in (f"got in way {n}", f"assert {n}")]
        assert told == sorted(told), "each way has its script"


def test_every_number_leads_to_these_rules():
    found = page(ONE)
    links = [one["href"] for one in found.all("a") if one["href"].startswith("#?")]
    assert "#?verdict=failed%2Cknown&level=MUST" in links
    assert "#?verdict=not+applicable&level=SHOULD" in links
    assert len(links) == len({(verdict.rule.level, verdict.verdict) for verdict in ONE.verdicts})


def test_several_implementations_have_anchors_of_their_own():
    found = page(ONE, implementation("mine 2"), implementation("mine?2"))
    ids = [one["id"] for one in found.all() if "id" in one]
    assert len(ids) == len(set(ids))
    for name in (QUEUE, "mine-2", "mine-2-2"):
        assert f"{name}/queue.pop.empty-none" in ids
    links = {one["href"][1:] for one in found.all("a") if not one["href"].startswith("#?")}
    assert links <= set(ids)


def test_what_could_not_be_tested_and_what_fails_the_gate_stand_out():
    words = page(ONE, errors=["--queue-class: no class"], gate=["queue.pop.fifo passes now: remove it"]).words
    assert words.startswith("ERROR – DiskQueue")
    assert "Not tested --queue-class: no class" in words
    assert "queue.pop.fifo passes now: remove it" in words
    assert words.index("remove it") < words.index("queue.ctor")


def test_a_report_on_nothing_is_a_page_too():
    assert "Nothing could be tested" in page(errors=["--queue-class: no class"]).words


def test_a_report_that_was_read_back_gives_the_same_page():
    made = report(ONE, implementation(SCHEDULER, kinds.SCHEDULER), errors=["no class"], gate=["gone"])
    assert html.render(jsonl.parse(jsonl.render(made))) == html.render(made)


# --- What it quotes --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("render", [html.render, lambda one: matrix.render([one, replace(one, errors=())])])
def test_nothing_that_is_quoted_becomes_a_part_of_the_page(render):
    text = render(hostile())
    text.encode("utf-8")
    found = Page(text)
    assert not found.all("img")
    assert len(found.all("script")) == len(found.all("style")) == 1
    assert not {name for _, one in found.elements for name in one if name.startswith("on")}
    assert not re.findall(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e]", text)
    assert "\\x1b\\x00\\r\\ud800" in found.text
    ids = [one["id"] for one in found.all() if "id" in one]
    assert len(ids) == len(set(ids))


def test_text_shows_what_cannot_be_seen_as_python_would():
    assert visible("a<b>\n\t\x1b\u2028\u202e\xa0é🎉") == "a<b>\n\t\\x1b\\u2028\\u202e\\xa0é🎉"


def test_a_script_with_such_characters_means_the_same():
    script = "value = '\x1b\u202e\xa0'"
    assert eval(visible(script).partition("= ")[2]) == "\x1b\u202e\xa0"


def test_a_line_may_end_after_each_dot_of_a_path():
    assert dotted("a.<b>.C") == "a.<wbr>&lt;b&gt;.<wbr>C"
    assert dotted("my_package.LosesWhatItCannotStore") == "my_package.<wbr>Loses<wbr>What<wbr>It<wbr>Cannot<wbr>Store"
    assert dotted("with_a_very_long_name.__init__") == "with_<wbr>a_<wbr>very_<wbr>long_<wbr>name.<wbr>__init__"


def test_code_in_sentences_is_marked():
    assert prose("`pop` returns `<None>`, not `x") == "<code>pop</code> returns <code>&lt;None&gt;</code>, not `x"


def test_anchors_are_unique_and_leave_those_of_the_page_alone():
    assert anchors(["a.B", "a.B", "my queue", "filters", ""]) == ["a.B", "a.B-2", "my-queue", "filters-2", "unnamed"]


@pytest.mark.parametrize("text", [html.render(report(ONE)), matrix.render([report(ONE)])], ids=["page", "table"])
def test_a_page_needs_nothing_from_elsewhere(text):
    found = Page(text)
    (policy,) = [one["content"] for one in found.all("meta") if one.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    for one in found.all():
        assert one.get("src", "data:").startswith("data:")
        assert one.get("href", "#").startswith(("#", "data:"))
        assert "style" not in one


def test_style_script_and_templates_are_files_of_the_package():
    names = {file.name for file in files("queue_conformance.reports.page").iterdir()}
    assert {"page.html", "page.css", "page.js", "parts.html", "report.html", "matrix.html"} <= names


# --- Several reports -------------------------------------------------------------------------------------------------

OLD = report(implementation(failed=["queue.pop.empty-none", "queue.peek.then-push"]), releases={"scrapy": "2.13.0"})
NEW = report(ONE, implementation(SCHEDULER, kinds.SCHEDULER), implementation("a.Right"), releases={"scrapy": "2.19.0"})


@pytest.fixture(scope="module")
def table():
    return Page(matrix.render([OLD, NEW]))


def rows(table):
    return [one for one in table.all("tr") if "data-item" in one]


def test_rules_by_implementations(table):
    rules = {verdict.rule.id for verdict in ONE.verdicts}
    assert len(rows(table)) == len(ONE.verdicts) + len(NEW.implementations[1].verdicts)
    for rule in rules:
        assert table.all("dialog", rule=rule)
    assert table.words.index("Downstream queue") < table.words.index("Scheduler ")


def test_releases_of_one_implementation_stand_side_by_side(table):
    words = table.words
    places = [words.index(f"scrapy {release}") for release in ("2.13.0", "2.19.0")]
    assert places[0] < places[1] < words.index("a.Right")
    assert "queuelib 1.10.0" not in words, "what is the same for all is not said"


def test_two_runs_with_nothing_else_to_tell_them_apart_are_told_apart_by_time():
    early, late = (report(ONE, created=f"2026-02-0{day}T00:00:00+00:00") for day in (3, 4))
    words = Page(matrix.render([early, late])).words
    assert "2026-02-03" in words
    assert "2026-02-04" in words


def test_rows_say_whether_they_differ_and_whether_any_is_broken(table):
    marked = {name: [one for one in rows(table) if f"data-{name}" in one] for name in ("differs", "failed")}
    assert len(marked["failed"]) == 3
    assert len(marked["differs"]) == 4


def test_a_cell_says_its_verdict_in_words_and_leads_to_the_counterexample():
    text = matrix.render([OLD, NEW])
    anchor = f"downstream-queue/queue.pop.empty-none@{QUEUE}"
    cell = f'<a href="#{anchor}" title="failed"><span aria-hidden="true">✗</span><span class="unseen">failed</span></a>'
    assert cell in text
    _, _, part = text.partition(f'id="{anchor}"')
    assert "IndexError(&#39;pop from an empty deque&#39;) raised" in part.partition("</details></div></dd>")[0]
    ids = {one["id"] for one in Page(text).all() if "id" in one}
    assert {one["href"][1:] for one in Page(text).all("a")} <= ids


def test_each_column_has_its_verdict(table):
    assert table.words.count("✗ NON-CONFORMANT") == 3
    assert table.words.count("✓ CONFORMANT") == 2


def test_a_rule_that_is_not_asked_for_is_no_verdict():
    few = replace(ONE, name="few", verdicts=ONE.verdicts[:5])
    assert "not in its profile" in Page(matrix.render([report(ONE, few)])).words


def test_a_table_of_no_reports_is_a_page_too():
    assert "0 rules by 0 implementations" in Page(matrix.render([])).words
    assert "no class" in Page(matrix.render([report(errors=["no class"])])).words


# --- Badges ----------------------------------------------------------------------------------------------------------


def inconclusive():
    return replace(ONE, verdict=RunVerdict.INCONCLUSIVE)


@pytest.mark.parametrize(
    ("made", "message", "colour"),
    [
        (report(implementation()), "CONFORMANT", "#1f7a3d"),
        (report(implementation(failed=["queue.close.twice"])), "CONFORMANT (1 SHOULD failed)", "#1f7a3d"),
        (report(ONE), "NON-CONFORMANT (2 MUST)", "#c0392b"),
        (report(implementation(blocked=["queue.pop.empty-none"])), "PARTIAL (1 MUST not tested)", "#9a6700"),
        (report(inconclusive()), "INCONCLUSIVE", "#69717a"),
        (report(ONE, implementation(), implementation()), "1 NON-CONFORMANT, 2 CONFORMANT", "#c0392b"),
        (report(implementation(), implementation()), "2 CONFORMANT", "#1f7a3d"),
        (report(implementation(), errors=["no class"]), "error", "#c0392b"),
        (report(), "error", "#c0392b"),
    ],
)
def test_a_badge_says_the_verdict(made, message, colour):
    answer = json.loads(badge.endpoint(made))
    assert answer.pop("isError", False) == (message == "error")
    assert answer == {"schemaVersion": 1, "label": "queue conformance", "message": message, "color": colour}
    drawing = ElementTree.fromstring(badge.svg(made))
    name = "{http://www.w3.org/2000/svg}"
    assert drawing.find(f"{name}title").text == f"queue conformance: {message}"
    texts = [(one.text, float(one.get("x")), float(one.get("textLength"))) for one in drawing.iter(f"{name}text")]
    assert [text for text, _, _ in texts] == ["queue conformance", message]
    assert texts[-1][1] + texts[-1][2] + 6 == float(drawing.get("width"))
    assert 4.5 < texts[-1][2] / len(message) < 9


# --- Files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "start"), [("r.html", "<!doctype html>"), ("r.svg", "<svg "), ("r.json", '{\n  "schemaVersion": 1')]
)
def test_the_ending_of_a_file_says_what_it_becomes(tmp_path, name, start):
    report_files.write(report(ONE), tmp_path / name)
    assert (tmp_path / name).read_text("utf-8").startswith(start)


def test_the_sample_has_every_verdict_that_pages_show():
    assert set(counts(ONE)) == set(Verdict) - {Verdict.NOT_COVERED, Verdict.ERROR}
    assert Level.MAY in {verdict.rule.level for verdict in ONE.verdicts}


def test_a_provisional_rule_is_marked_in_every_form():
    found = implementation(failed=["queue.pop.empty-none"])
    new = [replace(v, rule=replace(v.rule, provisional="0.1")) if v.violation else v for v in found.verdicts]
    of_new = Report((replace(found, verdicts=tuple(new)),))
    assert not of_new.failed
    for render in (html.render, markdown.render, junit.render):
        assert "provisional" in render(of_new)
        assert "provisional" not in render(Report((found,)))
