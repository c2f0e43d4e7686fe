"""Several reports as one table for a browser: rules by implementations, with the counterexamples behind the cells.

The fragment of its address names a rule (``#queue.pop.empty-none``), one implementation's verdict on it
(``#queue.pop.empty-none@my_package.Queue``), or a choice of rules (``#?differs=yes``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from queue_conformance.reports import ImplementationReport, Origin, Report
from queue_conformance.reports.page import (
    MEANINGS,
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
    mark,
    pill,
    plural,
    prose,
    script,
    shown,
    state,
    tally,
    text,
    words,
    worst,
)
from queue_conformance.specification import Level, Rule
from queue_conformance.verdicts import RuleVerdict, Verdict


@dataclass(frozen=True)
class _Column:
    """One implementation of one report.

    Attributes:
        found: what is known of it.
        facts: what tells it from others of its name, besides its version.
        anchor: what links call it.
        verdicts: the verdicts on its rules, by id.
    """

    found: ImplementationReport
    facts: tuple[str, ...]
    anchor: str
    verdicts: Mapping[str, RuleVerdict]


@dataclass(frozen=True)
class _Table:
    """The implementations of one kind, and the rules that any of them is held to.

    Attributes:
        title: what it shows.
        prefix: what links to its rules begin with.
        columns: the implementations.
        groups: the rules, by what they are about.
    """

    title: str
    prefix: str
    columns: Sequence[_Column]
    groups: Mapping[str, Sequence[Rule]]

    @property
    def rules(self) -> list[Rule]:
        """All rules, in the order of the rows."""
        return [rule for rules in self.groups.values() for rule in rules]

    def verdicts(self, rule: Rule) -> list[RuleVerdict | None]:
        """The verdicts on a rule, one per column; ``None`` where it is not asked for."""
        return [column.verdicts.get(rule.id) for column in self.columns]

    def link(self, rule: Rule, column: _Column | None = None) -> str:
        """What the details of a rule are called, or those of one column."""
        return f"{self.prefix}{text(rule.id)}{f'@{column.anchor}' if column else ''}"


def render(reports: Sequence[Report]) -> str:
    """Return the page.

    Args:
        reports: the reports; the same implementation may be in several, made with different releases of libraries.
    """
    columns = _columns(reports)
    tables = list(_tables(columns))
    rules = [rule for table in tables for rule in table.rules]
    errors = [error for report in reports for error in (*report.errors, *report.internal_errors)]
    verdicts = [column.found.verdict for column in columns]
    details = "".join(_details(table, rule) for table in tables for rule in table.rules)
    parts = [
        f'<header><p class="kicker">Queue conformance</p><h1>{tally(verdicts)}</h1></header>',
        "<main>",
        alarm("Not tested", errors),
        filters(_facets(rules), len(rules)) if rules else "",
        _legend([verdict for column in columns for verdict in column.found.verdicts]),
        *map(_html, tables),
        "</main>",
        f'<section id="details" aria-label="Rules">{details}</section>',
    ]
    title = f"{plural(len(rules), 'rule')} by {plural(len(columns), 'implementation')} – queue conformance"
    return document(title, "\n".join(filter(None, parts)), None if errors else worst(verdicts), layout="wide")


# --- Columns and rows ------------------------------------------------------------------------------------------------


def _columns(reports: Sequence[Report]) -> list[_Column]:
    """Return the columns: in the order of the reports, but those of one name side by side."""
    pairs = [(report.origin, found) for report in reports for found in report.implementations]
    names = list(dict.fromkeys(found.name for _, found in pairs))
    pairs.sort(key=lambda pair: names.index(pair[1].name))
    return [
        _Column(found, told, anchor, {verdict.rule.id: verdict for verdict in found.verdicts})
        for (_, found), told, anchor in zip(pairs, _told_apart(pairs), anchors(found.name for _, found in pairs), strict=True)
    ]


def _told_apart(pairs: Sequence[tuple[Origin, ImplementationReport]]) -> list[tuple[str, ...]]:
    """Return for each implementation what is not the same for all of them; and when, if nothing else tells two apart."""
    circumstances = [
        {name: f"{name} {release}" for name, release in origin.releases.items()}
        | {"Python": f"Python {origin.python}", "platform": origin.platform, "kit": f"kit {origin.kit}"}
        | {"profile": f"profile {found.profile}", "seed": f"seed {origin.seed}", "examples": plural(origin.examples, "example")}
        for origin, found in pairs
    ]
    names = dict.fromkeys(name for one in circumstances for name in one)
    differing = [name for name in names if len({one.get(name) for one in circumstances}) > 1]
    told = [
        tuple(one[name] for name in differing if name in one and one[name].casefold() != found.version.casefold())
        for one, (_, found) in zip(circumstances, pairs, strict=True)
    ]
    keys = [(found.name, found.version, facts) for (_, found), facts in zip(pairs, told, strict=True)]
    return [key[2] if keys.count(key) == 1 else (*key[2], origin.created) for (origin, _), key in zip(pairs, keys, strict=True)]


def _tables(columns: Sequence[_Column]) -> Iterator[_Table]:
    kinds = dict.fromkeys(column.found.kind for column in columns)
    for kind in kinds:
        of_kind = [column for column in columns if column.found.kind == kind]
        rules = {verdict.rule.id: verdict.rule for column in of_kind for verdict in column.found.verdicts}
        groups = grouped(rules.values(), lambda rule: rule.id)
        yield _Table(words(kind).capitalize(), f"{kind}/" if len(kinds) > 1 else "", of_kind, groups)


def _facets(rules: Iterable[Rule]) -> list[Facet]:
    return [
        Facet("failed", "Failed", {"yes": "somewhere"}),
        Facet("differs", "Verdicts", {"yes": "that differ"}),
        levels(rule.level for rule in rules),
    ]


def _legend(verdicts: Sequence[RuleVerdict]) -> str:
    seen = {verdict.verdict for verdict in verdicts}
    items = [
        (css_of(verdict, Level.MUST), SYMBOLS[verdict], f"{verdict}: {MEANINGS[verdict]}")
        for verdict in Verdict
        if verdict in seen
    ]
    if any(verdict.known for verdict in verdicts):
        items.append(
            ("failed known", f"{SYMBOLS[Verdict.FAILED]}*", "failed, known: the baseline of the implementation expects it")
        )
    listed = "".join(f'<li class="{name}"><b aria-hidden="true">{symbol}</b> {said}</li>' for name, symbol, said in items)
    return f'<ul class="legend" aria-label="Legend">{listed}</ul>'


# --- Tables ----------------------------------------------------------------------------------------------------------


def _html(table: _Table) -> str:
    head = "".join(map(_head, table.columns))
    bodies = "".join(_group(table, title, rules) for title, rules in table.groups.items())
    return (
        f'<section class="kind" data-group><h2>{table.title}</h2>'
        f'<div class="scroller" role="region" aria-label="{table.title}" tabindex="0">'
        f'<table class="matrix"><thead><tr><td>{plural(len(table.rules), "rule")}</td>{head}</tr></thead>{bodies}</table>'
        "</div></section>\n"
    )


def _head(column: _Column) -> str:
    found = column.found
    counts = found.counts()
    failed = ", ".join(f"{counts[level][Verdict.FAILED]} {level}" for level in Level if counts[level][Verdict.FAILED])
    passed = sum(counts[level][Verdict.PASSED] for level in Level)
    summary = f"{passed} passed" + (f"; failed: {failed}" if failed else "")
    said = "".join(f"<small>{text(fact)}</small>" for fact in (found.version, *column.facts) if fact)
    return f'<th scope="col"><b>{dotted(found.name)}</b>{said}{pill(found.verdict)}<small>{summary}</small></th>'


def _group(table: _Table, title: str, rules: Sequence[Rule]) -> str:
    rows = "".join(_row(table, rule) for rule in rules)
    empty = "<td></td>" * len(table.columns)
    return f'<tbody data-group><tr class="group"><th scope="rowgroup">{text(title)}</th>{empty}</tr>{rows}</tbody>\n'


def _row(table: _Table, rule: Rule) -> str:
    verdicts = [verdict and verdict.verdict for verdict in table.verdicts(rule)]
    marks = ' data-differs="yes"' if len(set(verdicts)) > 1 else ""
    marks += ' data-failed="yes"' if Verdict.FAILED in verdicts else ""
    return (
        f'<tr data-item data-level="{rule.level}"{marks}><th scope="row" title="{text(rule.sentence)}"><div>'
        f'<a href="#{table.link(rule)}">{text(rule.id)}</a> <small>{rule.level}</small>'
        f'<span class="unseen">{prose(rule.sentence)}</span></div></th>'
        f"{''.join(_cell(table, rule, column) for column in table.columns)}</tr>\n"
    )


def _cell(table: _Table, rule: Rule, column: _Column) -> str:
    verdict = column.verdicts.get(rule.id)
    if verdict is None:
        return '<td title="not in its profile"><span class="unseen">not in its profile</span></td>'
    symbol = SYMBOLS[verdict.verdict] + ("*" if verdict.known else "")
    said = f'<span aria-hidden="true">{symbol}</span><span class="unseen">{state(verdict)}</span>'
    return (
        f'<td class="{css(verdict)}">'
        f'<a href="#{table.link(rule, column)}" title="{text(verdict.reason) or state(verdict)}">{said}</a></td>'
    )


# --- What is behind the cells ----------------------------------------------------------------------------------------


def _details(table: _Table, rule: Rule) -> str:
    """Return what all implementations make of a rule."""
    anchor = table.link(rule)
    parts = "".join(
        _part(column.verdicts[rule.id], column, table.link(rule, column))
        for column in table.columns
        if rule.id in column.verdicts
    )
    return (
        f'<dialog id="{anchor}" aria-labelledby="{anchor}/id" data-rule="{text(rule.id)}"><div class="top">'
        f'<h3 id="{anchor}/id">{text(rule.id)} <small>{rule.level}</small></h3>'
        '<button type="button" class="close">Close</button></div>'
        f'<div class="inside"><p>{prose(rule.sentence)}</p><dl class="facts about-rule">{facts(about(rule))}</dl>'
        f"{parts}</div></dialog>\n"
    )


def _part(verdict: RuleVerdict, column: _Column, anchor: str) -> str:
    name = ", ".join([dotted(column.found.name), *map(text, (one for one in (column.found.version, *column.facts) if one))])
    reason = f' <span class="reason">{prose(verdict.reason)}</span>' if verdict.reason else ""
    line = f'{mark(verdict)} <span class="who">{name}</span>{reason}'
    classes = f"rule {css(verdict)}"
    if not verdict.violation:
        return f'<div class="{classes}" id="{anchor}"><p class="line">{line}</p></div>'
    body = facts([*shown(verdict), *script(verdict)])
    return (
        f'<details class="{classes}" id="{anchor}" open><summary class="line">{line}</summary>'
        f'<div class="body"><dl class="facts evidence">{body}</dl></div></details>'
    )
