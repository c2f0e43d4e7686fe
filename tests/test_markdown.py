"""A report as Markdown is a comment on a pull request, or the summary of a step."""

import re
from dataclasses import replace

import pytest
from kit import FIFO_MEMORY, further

from queue_conformance.engine.verdicts import RunVerdict
from queue_conformance.reports import Report, markdown
from queue_conformance.specification import Level

MUST = "mutants.memory.PeeksAtTheNewest"
SHOULD = "mutants.memory.ClosesOnce"
MANY = "scrapy.squeues.PickleLifoDiskQueue"
CHECKS = ("queue.push.rebuildable", "queue.push.serialization-all-causes", "queue.pop.missing-callback", "queue.close.twice")


@pytest.fixture(scope="module")
def found(recorded):
    return {path: recorded(path) for path in (FIFO_MEMORY, MUST, SHOULD)} | {MANY: recorded(MANY, only=CHECKS)}


@pytest.fixture(scope="module")
def report(found):
    return Report((*found.values(),), ("no class",), gate=("drop `x`",))


def failed_rules(report):
    return [verdict for verdict in report.verdicts if verdict.violation]


def changed(report, **changes):
    """Return a report whose failed rules have these fields, or whose violations have."""
    verdicts = []
    for verdict in report.verdicts:
        if verdict.violation and "known" in changes:
            verdict = replace(verdict, **changes)
        elif verdict.violation:
            verdict = replace(verdict, violation=replace(verdict.violation, **changes))
        verdicts.append(verdict)
    return replace(report, verdicts=tuple(verdicts))


def section(text, title):
    """Return what is below a heading, up to the next one."""
    marks = re.escape(title.split()[0])
    return re.search(rf"^{re.escape(title)}\n(.*?)(?=^{marks} |^#{{1,3}} |\Z)", text, re.MULTILINE | re.DOTALL)[1]


def test_the_verdicts_come_first(report):
    lines = re.sub(r"\d+ of \d+", "N of N", markdown.render(report)).splitlines()
    assert lines[:6] == [
        "## Queue conformance: failed",
        "",
        "| implementation | verdict |",
        "|---|---|",
        f"| `{FIFO_MEMORY}` | **CONFORMANT** (FIFO, peek; N of N MUST rules apply) |",
        f"| `{MUST}` | **NON-CONFORMANT** (1 MUST rule failed) |",
    ]


@pytest.mark.parametrize(
    ("path", "changes", "errors", "state"),
    [
        (FIFO_MEMORY, {}, (), "passed"),
        (SHOULD, {}, (), "passed"),
        (SHOULD, {"level": Level.SHOULD}, (), "failed"),
        (MUST, {}, (), "failed"),
        (FIFO_MEMORY, {"verdict": RunVerdict.INCONCLUSIVE}, (), "inconclusive"),
        (FIFO_MEMORY, {}, ("no class",), "failed"),
    ],
)
def test_the_title_says_what_became_of_the_run(found, path, changes, errors, state):
    text = markdown.render(Report((replace(found[path], **changes),), errors))
    assert text.startswith(f"## Queue conformance: {state}\n")


def test_each_implementation_has_a_table_of_counts(report, found):
    table = section(markdown.render(report), f"### `{MUST}`")
    header, _, must = [line for line in table.splitlines() if line.startswith("|")][:3]
    counts = dict(zip(header.split("|")[2:-1], must.split("|")[2:-1], strict=True))
    assert {name.strip(): int(count) for name, count in counts.items() if count.strip()} == {
        str(verdict): count for verdict, count in found[MUST].counts()[Level.MUST].items()
    }


def test_a_broken_rule_carries_its_evidence(report, found):
    (verdict,) = failed_rules(found[MUST])
    text = section(markdown.render(report), "#### Failed, and failing this run")
    assert f"**`queue.peek.equals-pop`** (MUST): {verdict.rule.sentence}" in text
    assert f"- expected: `{verdict.violation.expected}`\n- actual: `{verdict.violation.actual}`\n" in text
    assert verdict.rule.hints
    assert all(f"\n- hint: {hint}\n" in text for hint in verdict.rule.hints)
    details = re.search(r"<details><summary>(.*?)</summary>\n\n```python\n(.*?)\n```\n\n</details>", text, re.DOTALL)
    assert details[2] == verdict.violation.script.rstrip()


def test_what_fails_the_run_is_told_from_what_does_not_and_from_what_is_known(found):
    new = markdown.render(Report((found[MANY],)))
    assert section(new, "#### Failed, and failing this run").count("**`") == len(found[MANY].failed_rules(Level.MUST)) > 0
    assert section(new, "#### Failed, tolerated by this run").count("**`") == len(found[MANY].failed_rules(Level.SHOULD)) > 0
    assert "#### Failed, and known to" not in new
    known = markdown.render(Report((changed(found[MANY], known="see *the* tracker"),)))
    assert "failing this run" not in known
    text = section(known, "#### Failed, and known to")
    assert text.count(r"- known: see \*the\* tracker") == len(failed_rules(found[MANY]))
    must = len(found[MANY].failed_rules(Level.MUST))
    assert f"| {must} ({must} known) |" in known


def test_what_was_not_tested_is_listed(recorded):
    full = recorded("mutants.memory.AcceptsFour")
    text = markdown.render(Report((full,)))
    assert "<details><summary>4 rules were not tested</summary>" in text
    assert "- `queue.push.large` SHOULD: blocked, blocked by queue.push.accept" in text
    twice = [*full.verdicts, *(verdict for verdict in full.verdicts if verdict.rule.id == "queue.push.large")]
    text = markdown.render(Report((replace(full, verdicts=tuple(twice)),)))
    assert "<details><summary>5 rules were not tested</summary>" in text


def test_errors_and_a_stale_baseline_are_told(report):
    text = markdown.render(report)
    assert section(text, "### Could not be tested") == "\n- `no class`\n\n"
    assert section(text, "### The baseline must be changed") == "\n- `` drop `x` ``\n\n"


# --- Length ----------------------------------------------------------------------------------------------------------


def scripts(text):
    return text.count("```python")


def test_the_scripts_of_later_rules_are_left_out_first(found):
    verdicts = [verdict.rule.id for level in (Level.MUST, Level.SHOULD) for verdict in found[MANY].failed_rules(level)]
    report = Report((changed(found[MANY], script="x = 1\n" * 1000),))
    whole = markdown.render(report)
    assert scripts(whole) == len(verdicts)
    shorter = markdown.render(report, len(whole.encode()) - 10000)
    assert 0 < scripts(shorter) < len(verdicts)
    parts = re.split(r"^\*\*`([a-z.-]+)`\*\*", shorter, flags=re.MULTILINE)
    with_script = [rule for rule, text in zip(parts[1::2], parts[2::2], strict=True) if scripts(text)]
    assert with_script == verdicts[: len(with_script)]
    assert shorter.count("Its script is left out to stay within the length that GitHub shows; a report of JSON lines") == (
        len(verdicts) - len(with_script)
    )


@pytest.mark.parametrize("limit", [200, 500, 1000, 3000, 6000, 9000, 12000])
def test_the_text_never_exceeds_its_limit(report, limit):
    text = markdown.render(report, limit)
    assert len(text.encode()) <= limit
    assert text.count("<details>") == text.count("</details>")
    assert text.count("```") % 2 == 0
    assert scripts(text) < scripts(markdown.render(report)) or limit > 10000


def test_a_huge_report_fits_into_a_comment(found):
    huge = changed(found[MANY], script="# 🕷\n" * 3000, actual="é" * 100)
    text = markdown.render(Report(tuple(replace(huge, name=f"queue {n}") for n in range(300))))
    assert len(text.encode()) <= markdown.COMMENT
    assert text.startswith("## Queue conformance: failed\n")
    assert "The rest of this report is left out" in text


# --- Escapes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<b>|</b>", "`<b>|</b>`"),
        ("a `b` c", "``a `b` c``"),
        ("``", "``` `` ```"),
        ("two\n lines", "`two lines`"),
        ("\x1b[1m", "`\\x1b[1m`"),
        ("", "(nothing)"),
    ],
)
def test_what_an_implementation_did_is_shown_as_it_is(found, text, shown):
    assert f"- actual: {shown}\n" in markdown.render(Report((changed(found[MUST], actual=text),)))


def test_a_fence_is_longer_than_those_in_a_script(found):
    text = markdown.render(Report((changed(found[MUST], script="'''\n```\n</details>\n'''"),)))
    assert "\n````python\n'''\n```\n</details>\n'''\n````\n" in text


def test_a_pipe_in_a_name_does_not_end_a_cell(found):
    text = markdown.render(Report((replace(found[FIFO_MEMORY], name="fifo|lifo"),)))
    assert r"| `fifo\|lifo` | **CONFORMANT**" in text
    assert "### `fifo|lifo`" in text


def test_a_reason_holds_no_html(found):
    text = markdown.render(Report((changed(found[MUST], known="<img src=x> | `a` [b](c) &lt;"),)))
    assert r"- known: \<img src=x\> \| \`a\` \[b\](c) \&lt;" in text


# --- The summary of a step -------------------------------------------------------------------------------------------


def test_a_report_is_appended_to_a_summary(report, tmp_path):
    file = tmp_path / "summary.md"
    file.write_text("# Mine")
    markdown.append(report, file)
    assert file.read_text() == f"# Mine\n{markdown.render(report, markdown.SUMMARY)}"


def test_a_summary_stays_within_what_github_shows(report, tmp_path):
    file = tmp_path / "summary.md"
    file.write_bytes(b"x" * (markdown.SUMMARY - 5000))
    markdown.append(report, file)
    assert markdown.SUMMARY - 2500 < file.stat().st_size <= markdown.SUMMARY


def test_a_summary_that_is_full_is_an_error_and_left_alone(report, tmp_path):
    file = tmp_path / "summary.md"
    file.write_bytes(b"x" * (markdown.SUMMARY - 10))
    with pytest.raises(OSError, match="it is full"):
        markdown.append(report, file)
    assert file.stat().st_size == markdown.SUMMARY - 10


@pytest.fixture
def run(pytester, monkeypatch):
    """Run pytest in an empty directory, on one check of a right queue, where a step has a summary of this name."""

    def run(name, *arguments):
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(pytester.path / name))
        chosen = ["-k", "queue.pop.fifo and not machine", "-p", "no:cacheprovider"]
        return pytester.runpytest_subprocess(f"--queue-class={FIFO_MEMORY}", *chosen, *arguments)

    return run


@pytest.mark.parametrize("arguments", [[], *further(["-n", "2"])])
def test_a_run_appends_its_report_once(run, pytester, arguments):
    assert run("summary.md", *arguments).ret == 0
    text = (pytester.path / "summary.md").read_text()
    assert text.count("## Queue conformance: passed") == 1
    assert f"| `{FIFO_MEMORY}` | **PARTIAL**" in text


def test_a_summary_that_cannot_be_written_is_told_and_fails_nothing(run):
    result = run("no/such/directory")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["WARNING: cannot append the report to GITHUB_STEP_SUMMARY (*no/such/directory): No such file or directory"]
    )


def test_a_run_that_only_collects_appends_nothing(run, pytester):
    run("summary.md", "--collect-only")
    assert not (pytester.path / "summary.md").exists()
