"""Each public report that the documentation names is seen by the rule that stands beside it."""

import re

import pytest
from kit import TESTS

from mutants import QCRAWL, all_mutants

PAGE = (TESTS.parent / "docs" / "reports.md").read_text("utf-8")
SOURCE = re.compile(r"\[[^]]+\]\(https://github\.com/[\w.-]+/[\w.-]+/(?:issues|pull)/\d+\)")
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("| [")]
MUTANTS = {mutant.path.removeprefix("mutants."): mutant for mutant in all_mutants()}


def test_there_are_many_and_each_is_there_once():
    sources = [source for row in ROWS for source in SOURCE.findall(row[0])]
    assert len({source.partition("(")[2] for source in sources}) == len(sources) > 40


@pytest.mark.parametrize(("source", "wrong", "rule", "shown"), ROWS, ids=[row[0].partition("]")[0][1:] for row in ROWS])
def test_a_report_is_seen_by_the_rule_beside_it(source, wrong, rule, shown):
    if shown.startswith("`async_") and not QCRAWL:
        pytest.skip("needs qCrawl")
    assert SOURCE.match(source)
    assert wrong.endswith(".")
    assert rule.strip("`") in MUTANTS[shown.strip("`")].fails  # test_mutants.py tests that it does
