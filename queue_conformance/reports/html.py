"""The report as one page for a browser, which needs no network: the verdicts first, then every rule.

The fragment of its address names a rule (``#queue.pop.empty-none``), or a choice of rules (``#?verdict=failed&level=MUST``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from queue_conformance.reports import ImplementationReport, Report
from queue_conformance.reports.page import (
    KNOWN,
    SYMBOLS,
    Facet,
    about,
    alarm,
    anchors,
    css,
    css_of,
    document,
    dotted,
    facts,
    filters,
    grouped,
    levels,
    link_to_filter,
    mark,
    origin_facts,
    pill,
    plural,
    prose,
    script,
    shown,
    tally,
    text,
    words,
    worst,
)
from queue_conformance.reports.terminal import second, why
from queue_conformance.specification import Level
from queue_conformance.verdicts import RuleVerdict, Verdict


def render(report: Report) -> str:
    """Return the page.

    Args:
        report: what came of the run.
    """
    found = report.implementations
    names = anchors(one.name for one in found)
    head = f'<p class="kicker">Queue conformance</p><h1>{_headline(found)}</h1>'
    if len(found) == 1:
        head += f'<p class="verdict">{text(why(found[0]))}</p>{_what(found[0])}'
    parts = [
        f"<header>{head}{origin_facts(report.origin)}</header>",
        "<main>",
        alarm("Not tested", report.errors),
        alarm("Internal errors", report.internal_errors),
        alarm("The baseline fails this run", report.gate),
        _overview(found, names) if len(found) > 1 else "",
        *(_about(one, "") for one in found if len(found) == 1),
        filters(_facets(found, names), sum(len(one.verdicts) for one in found)) if found else "",
        *(_implementation(one, name, len(found) > 1) for one, name in zip(found, names, strict=True)),
        "</main>",
    ]
    return document(
        _title(report),
        "\n".join(filter(None, parts)),
        None if report.errors or report.internal_errors else worst(one.verdict for one in found),
    )


def _title(report: Report) -> str:
    found = report.implementations
    verdict = "ERROR" if report.errors or report.internal_errors else str(worst(one.verdict for one in found) or "")
    names = ", ".join(one.name.rpartition(".")[2] for one in found)
    of = names if len(found) < 4 else plural(len(found), "implementation")
    return " – ".join(part for part in (verdict, of, "queue conformance") if part)


def _headline(found: Sequence[ImplementationReport]) -> str:
    if not found:
        return "Nothing could be tested"
    return f"{pill(found[0].verdict)} {dotted(found[0].name)}" if len(found) == 1 else tally(one.verdict for one in found)


def _overview(found: Sequence[ImplementationReport], names: Sequence[str]) -> str:
    rows = []
    for one, name in zip(found, names, strict=True):
        counts = one.counts()
        cells = "".join(_number(counts[level][Verdict.FAILED], level) for level in (Level.MUST, Level.SHOULD))
        rows.append(
            f'<tr><th scope="row"><a href="#{name}">{dotted(one.name)}</a></th><td>{words(one.kind)}</td>'
            f"<td>{pill(one.verdict)}</td>{cells}</tr>"
        )
    head = "".join(f'<th scope="col">{title}</th>' for title in ("Implementation", "Kind", "Verdict"))
    head += "".join(f'<th scope="col" class="number">{level} failed</th>' for level in (Level.MUST, Level.SHOULD))
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    return f'<section class="overview" aria-label="Verdicts">{table}</section>'


def _number(failed: int, level: Level) -> str:
    marked = f" {css_of(Verdict.FAILED, level)}" if failed else ""
    return f'<td class="number{marked}" data-of="{level} failed">{failed}</td>'


def _value(verdict: RuleVerdict) -> str:
    """Return what a filter calls the verdict on a rule."""
    return KNOWN if verdict.known else verdict.verdict.value


def _facets(found: Sequence[ImplementationReport], names: Sequence[str]) -> list[Facet]:
    verdicts = [verdict for one in found for verdict in one.verdicts]
    counts = Counter(map(_value, verdicts))
    choices = {
        state: f'<span aria-hidden="true">{symbol}</span> {label} <small>{counts[state]}</small>'
        for state, symbol, label in _STATES
        if counts[state]
    }
    facets = [Facet("verdict", "Verdict", choices), levels(verdict.rule.level for verdict in verdicts)]
    if len(found) > 1:
        facets.append(Facet("in", "In", dict(zip(names, _short(found), strict=True))))
    return facets


def _short(found: Sequence[ImplementationReport]) -> list[str]:
    """Return names without what comes before the last dot, as long as they tell the implementations apart."""
    short = [one.name.rpartition(".")[2] for one in found]
    return [text(name) if short.count(name) == 1 else dotted(one.name) for one, name in zip(found, short, strict=True)]


_NOT_TESTED = (Verdict.ERROR, Verdict.BLOCKED, Verdict.NOT_COVERED)
_OFFERED = (*_NOT_TESTED, Verdict.PASSED, Verdict.NOT_APPLICABLE, Verdict.UNTESTABLE)
_STATES = (
    (str(Verdict.FAILED), SYMBOLS[Verdict.FAILED], "failed"),
    (KNOWN, SYMBOLS[Verdict.FAILED], "failed, known"),
    *((str(verdict), SYMBOLS[verdict], str(verdict)) for verdict in _OFFERED),
)
"""What the filter offers, in this order: the value, the symbol and the words."""


# --- One implementation ----------------------------------------------------------------------------------------------


def _implementation(found: ImplementationReport, name: str, several: bool) -> str:
    """Return the rules of an implementation, those that failed first; of one of several also what is known of it."""
    prefix = f"{name}/" if several else ""
    failed = [v for level in Level for v in found.verdicts if v.verdict is Verdict.FAILED and v.rule.level is level]
    unknown = [verdict for verdict in found.verdicts if verdict.verdict in _NOT_TESTED]
    rest = [verdict for verdict in found.verdicts if verdict.verdict not in (Verdict.FAILED, *_NOT_TESTED)]
    groups = {"Failed": failed, "Not tested": unknown} | grouped(rest, lambda verdict: verdict.rule.id)
    head = f'<h2 id="{name}/name" class="{"" if several else "unseen"}">{dotted(found.name)}</h2>'
    if several:
        head += f'<p class="verdict">{pill(found.verdict)} {text(why(found))}</p>{_what(found)}{_about(found, name)}'
    rules = "".join(_group(title, verdicts, name, prefix) for title, verdicts in groups.items() if verdicts)
    return f'<section class="implementation" id="{name}" aria-labelledby="{name}/name" data-group>{head}{rules}</section>'


def _about(found: ImplementationReport, name: str) -> str:
    """Return what is known of an implementation; ``name`` is what links call it, if there are several."""
    return (
        f'<div class="about">{_broken(found, f"{name}/" if name else "")}'
        f'<div class="columns">{_counts(found, name)}{_facts(found)}</div>{_notes(found)}</div>'
    )


def _what(found: ImplementationReport) -> str:
    server = f"server {text(found.server)}" if found.server else ""
    said = [text(found.version), words(found.kind), f"profile {found.profile}", server]
    return f'<p class="what">{" · ".join(filter(None, said))}</p>'


def _broken(found: ImplementationReport, prefix: str) -> str:
    """Return links to the failed rules, the highest level first."""
    failed = [verdict for level in Level for verdict in found.failed_rules(level)]
    links = "".join(
        f'<li class="{css(v)}"><a href="#{prefix}{text(v.rule.id)}">{text(v.rule.id)}</a> '
        f"<small>{v.rule.level}{', known' if v.known else ''}</small></li>"
        for v in failed
    )
    return f'<ul class="jump" aria-label="Failed rules">{links}</ul>' if links else ""


def _counts(found: ImplementationReport, name: str) -> str:
    """Return the number of rules per verdict and level; each number leads to these rules.

    A level is a column, because there are three of them, which fit a phone.
    """
    counts = found.counts()
    levels = [level for level in Level if any(counts[level].values())]
    head = "".join(f'<th scope="col">{level}</th>' for level in levels)
    where = {"in": name} if name else {}
    rows = []
    for verdict in Verdict:
        cells = []
        for level in levels:
            count = counts[level][verdict]
            states = {_value(v) for v in found.verdicts if v.rule.level is level and v.verdict is verdict}
            link = link_to_filter(verdict=",".join(sorted(states)), level=level, **where)
            inside = f'<a href="{link}">{count}</a>' if count else ""
            cells.append(f'<td class="number{f" {css_of(verdict, level)}" if count else ""}">{inside}</td>')
        if any(counts[level][verdict] for level in levels):
            symbol = f'<span aria-hidden="true">{SYMBOLS[verdict]}</span>'
            rows.append(f'<tr><th scope="row">{symbol} {verdict}</th>{"".join(cells)}</tr>')
    return (
        f'<table class="counts" aria-label="Rules"><thead><tr><td></td>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
    )


def _facts(found: ImplementationReport) -> str:
    claims = ", ".join(f"<code>{text(name)}={text(value)}</code>" for name, value in found.claims.items())
    settings = ", ".join(f"<code>{text(name)}={text(value)}</code>" for name, value in found.settings.items())
    pairs = [
        ("Class", f"<code>{dotted(found.path)}</code>"),
        ("Also", text(second(found.also)) if found.also else ""),
        ("Found", text(found.found)),
        ("Claimed", claims or "nothing"),
        ("Settings", settings),
        ("Fails the run", f"a failed {' or '.join(dict.fromkeys([Level.MUST, found.level]))} rule"),
    ]
    return f'<dl class="facts">{facts(pairs)}</dl>'


def _notes(found: ImplementationReport) -> str:
    if not found.notes:
        return ""
    items = "".join(f"<li>{text(note)}</li>" for note in found.notes)
    return f'<details class="notes"><summary>{plural(len(found.notes), "note")}</summary><ul>{items}</ul></details>'


def _group(title: str, verdicts: Sequence[RuleVerdict], name: str, prefix: str) -> str:
    return (
        f'<section class="group" data-group><h3>{text(title)} <small>{plural(len(verdicts), "rule")}</small></h3>'
        f"{''.join(_rule(verdict, name, prefix) for verdict in verdicts)}</section>"
    )


def _rule(verdict: RuleVerdict, name: str, prefix: str) -> str:
    rule = verdict.rule
    anchor = f"{prefix}{text(rule.id)}"
    data = f'data-item data-rule="{text(rule.id)}" data-verdict="{_value(verdict)}" data-level="{rule.level}" data-in="{name}"'
    summary = [
        mark(verdict),
        f'<span class="level">{rule.level}</span>',
        f'<span class="rule-id">{text(rule.id)}</span>',
        f'<span class="sentence">{prose(rule.sentence)}</span>',
        f'<span class="reason">{prose(verdict.reason)}</span>' if verdict.reason else "",
    ]
    body = facts([*shown(verdict), *about(rule), *script(verdict)])
    return (
        f'<details class="rule {css(verdict)}" id="{anchor}" {data}{" open" if verdict.violation else ""}>'
        f'<summary class="line">{" ".join(summary)}</summary><div class="body"><dl class="facts evidence">{body}</dl>'
        f'<p class="link"><a href="#{anchor}">Link to this rule</a></p></div></details>\n'
    )
