"""What a newcomer's first runs print fits few lines of 80 columns, and says each thing once."""

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from queue_conformance.engine.outcomes import SUCCESS, Violation
from queue_conformance.engine.verdicts import RuleVerdict, Verdict
from queue_conformance.frontends.printing import drawn
from queue_conformance.reports import Report
from queue_conformance.specification import load

NAIVE = """
import pickle
import sqlite3

from scrapy.utils.request import request_from_dict


class SQLiteQueue:
    def __init__(self, path):
        self.db = sqlite3.connect(path)
        self.db.execute("CREATE TABLE IF NOT EXISTS queue (id INTEGER PRIMARY KEY, request BLOB)")

    @classmethod
    def from_crawler(cls, crawler, key):
        return cls(key)

    def push(self, request):
        self.db.execute("INSERT INTO queue (request) VALUES (?)", (pickle.dumps(request.to_dict()),))

    def pop(self):
        row = self.db.execute("SELECT id, request FROM queue ORDER BY id LIMIT 1").fetchone()
        if row is None:
            return None
        self.db.execute("DELETE FROM queue WHERE id = ?", (row[0],))
        return request_from_dict(pickle.loads(row[1]))

    def __len__(self):
        return self.db.execute("SELECT count(*) FROM queue").fetchone()[0]

    def close(self):
        self.db.close()
"""
"""Three mistakes of a newcomer: no commit, a callback that nothing names, and any exception of the serializer."""

MENDED = """
import pickle
import sqlite3
from pathlib import Path

from scrapy.utils.request import request_from_dict


class SQLiteQueue:
    def __init__(self, path, spider):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        self.spider = spider
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute("CREATE TABLE IF NOT EXISTS queue (id INTEGER PRIMARY KEY, request BLOB)")

    @classmethod
    def from_crawler(cls, crawler, key):
        return cls(key, crawler.spider)

    def push(self, request):
        try:
            data = pickle.dumps(request.to_dict(spider=self.spider))
            request_from_dict(pickle.loads(data), spider=self.spider)
        except Exception as error:
            raise ValueError(str(error)) from error
        self.db.execute("INSERT INTO queue (request) VALUES (?)", (data,))

    def pop(self):
        row = self.db.execute("SELECT id, request FROM queue ORDER BY id LIMIT 1").fetchone()
        if row is None:
            return None
        request = request_from_dict(pickle.loads(row[1]), spider=self.spider)
        self.db.execute("DELETE FROM queue WHERE id = ?", (row[0],))
        return request

    def __len__(self):
        return self.db.execute("SELECT count(*) FROM queue").fetchone()[0]

    def close(self):
        self.db.close()
"""
"""The same queue without these mistakes, which fails SHOULD rules alone."""

FILTER = """
from scrapy.dupefilters import RFPDupeFilter


class Filter(RFPDupeFilter):
    closed = False

    def close(self, reason):
        if self.closed:
            raise ValueError("it is closed")
        self.closed = True
        super().close(reason)
"""
"""A filter that conforms, and fails four SHOULD rules: three of Scrapy's, and one of its own."""


@pytest.fixture
def printed(pytester, monkeypatch):
    """Run pytest on 80 columns; return its lines, without those of progress, which depend on the speed of the machine."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.syspath_prepend(pytester.path)

    def run(module, *arguments):
        Path(pytester.path, "mine.py").write_text(module, "utf-8")
        lines = pytester.runpytest_subprocess("-p", "no:randomly", "--color=no", *arguments).outlines
        return re.sub(r"\n  [^\n]* checks\]  [^\n]*\n", "", "\n".join(lines)).split("\n")  # with the line of dots that it cuts

    return run


def raised(kind, expected, line=7):
    at = f"{kind} ('mine.py', {line}) ('{kind}.py', 9)"
    return Violation("a.rule", expected, f"{kind}() raised by queue.push(...)", (), "", raised_at=at)


@pytest.mark.parametrize(("expected", "same"), [("ValueError for a lock in meta", True), (SUCCESS, False), ("an item", False)])
def test_exceptions_of_one_line_are_one_mistake_where_another_is_expected(expected, same):
    assert (raised("TypeError", expected).raises == raised("RecursionError", expected).raises) == same
    assert raised("TypeError", expected).raises != raised("TypeError", "OSError").raises
    assert raised("TypeError", expected).raises != raised("TypeError", expected, 8).raises


def test_a_crawl_that_ends_where_push_raises_the_wrong_class_is_no_mistake_of_its_own():
    wrong = raised("TypeError", "ValueError for a lock in meta")
    lost = raised("AttributeError", "every page downloaded")
    assert lost.is_shown_by(wrong)
    assert not wrong.is_shown_by(lost)
    assert not raised("AttributeError", "every page downloaded", 8).is_shown_by(wrong)
    assert not lost.is_shown_by(raised("TypeError", SUCCESS))
    assert not replace(lost, raised_at="").is_shown_by(wrong)


@pytest.mark.further
def test_three_mistakes_are_told_in_few_lines(printed):
    lines = printed(NAIVE, "--queue-class=mine.SQLiteQueue")
    text = "\n".join(lines)
    assert "  hint      Flush or commit in close" in text
    assert "  hint      Store `request.to_dict(spider=crawler.spider)`" in text
    assert text.count("`except Exception as error: raise") == 1
    assert "  breaks    queue.push.serialization-all-causes, too, at the same line" in text
    assert text.count("  MUST failed") == text.count("\nFAILED ") == 4
    assert text.count("\n  script    ") == 1  # that of the others has another rule, and nothing else
    assert len(lines) <= 84, text


@pytest.mark.further
@pytest.mark.parametrize(
    ("module", "option"), [(FILTER, "--dupefilter-class=mine.Filter"), (MENDED, "--queue-class=mine.SQLiteQueue")]
)
def test_a_class_that_conforms_is_told_in_twenty_lines(printed, module, option):
    lines = printed(module, option)
    text = "\n".join(lines)
    assert sum(line.startswith("  FAILED        SHOULD ") for line in lines) == 4
    assert "  verdict: CONFORMANT (" in text
    assert "4 SHOULD rules failed: -v shows how)" in " ".join(text.split())
    assert len(lines) <= 20, text


@pytest.mark.parametrize(
    ("operations", "comments"), [(["found = shrunk(lambda: Queue(directory), items)"], 1), (["queue.pop()"] * 2, 0)]
)
def test_a_counterexample_that_is_one_call_of_the_kit_says_what_that_does(operations, comments):
    violation = Violation("queue.persist.partial", "a length of 115", "length: 116", tuple(operations), "")
    verdict = RuleVerdict(load()["queue.persist.partial"], Verdict.FAILED, violation=violation)
    found = SimpleNamespace(kind="downstream-queue", name="mine", verdicts=(verdict,))
    lines = drawn(found, verdict, (), report=Report(()), kept=None, width=100, verbosity=0).splitlines()
    said = "    # shrunk: Push items, then pop one, close and open again until none is left; return the first..."
    assert [line for line in lines if line.startswith("    # ")] == [said] * comments
