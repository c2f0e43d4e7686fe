"""Several reports as one table for a browser: rules by implementations, with the counterexamples behind the cells.

The fragment of its address names a rule (``#queue.pop.empty-none``), one implementation's verdict on it
(``#queue.pop.empty-none@my_package.Queue``), or a choice of rules (``#?differs=yes``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from queue_conformance.engine.verdicts import RuleVerdict, Verdict, worst
from queue_conformance.reports import ImplementationReport, Origin, Report
from queue_conformance.reports.page import MEANINGS, anchors, grouped, page, plural, words
from queue_conformance.specification import Level, Rule


@dataclass(frozen=True)
class _Column:
    """One implementation of one report.

    Attributes:
        found: what is known of it.
        facts: its version, and what else tells it from others of its name.
        anchor: what links call it.
        verdicts: the verdicts on its rules, by id.
    """

    found: ImplementationReport
    facts: tuple[str, ...]
    anchor: str
    verdicts: Mapping[str, RuleVerdict]

    @property
    def summary(self) -> str:
        """How many rules passed and failed."""
        counts = self.found.counts()
        failed = ", ".join(f"{counts[level][Verdict.FAILED]} {level}" for level in Level if counts[level][Verdict.FAILED])
        passed = sum(counts[level][Verdict.PASSED] for level in Level)
        return f"{passed} passed" + (f"; failed: {failed}" if failed else "")


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

    def verdicts(self, rule: Rule) -> set[Verdict | None]:
        """Return all verdicts on a rule; ``None`` is where it is not asked for."""
        found = (column.verdicts.get(rule.id) for column in self.columns)
        return {verdict.verdict if verdict else None for verdict in found}

    def link(self, rule: Rule, column: _Column | None = None) -> str:
        """Return what the details of a rule are called, or those of one column."""
        return f"{self.prefix}{rule.id}{f'@{column.anchor}' if column else ''}"


def render(reports: Sequence[Report]) -> str:
    """Return the page.

    Args:
        reports: the reports; the same implementation may be in several, made with different releases of libraries.
    """
    columns = _columns(reports)
    tables = list(_tables(columns))
    rules = [rule for table in tables for rule in table.rules]
    levels = {rule.level for rule in rules}
    errors = [error for report in reports for error in (*report.errors, *report.internal_errors)]
    verdicts = [column.found.verdict for column in columns]
    found = [verdict for column in columns for verdict in column.found.verdicts]
    return page(
        "matrix.html",
        f"{plural(len(rules), 'rule')} by {plural(len(columns), 'implementation')} – queue conformance",
        None if errors else worst(verdicts),
        errors=errors,
        tables=tables,
        verdicts=verdicts,
        count=len(rules),
        levels=[level for level in Level if level in levels],
        seen={verdict.verdict for verdict in found},
        some_known=any(verdict.known for verdict in found),
        meanings=MEANINGS,
    )


# --- Columns and rows ------------------------------------------------------------------------------------------------


def _columns(reports: Sequence[Report]) -> list[_Column]:
    """Return the columns: in the order of the reports, but those of one name side by side."""
    pairs = [(report.origin, found) for report in reports for found in report.implementations]
    names = list(dict.fromkeys(found.name for _, found in pairs))
    pairs.sort(key=lambda pair: names.index(pair[1].name))
    return [
        _Column(found, (*filter(None, [found.version]), *told), anchor, {v.rule.id: v for v in found.verdicts})
        for (_, found), told, anchor in zip(pairs, _told_apart(pairs), anchors(found.name for _, found in pairs), strict=True)
    ]


def _told_apart(pairs: Sequence[tuple[Origin, ImplementationReport]]) -> list[tuple[str, ...]]:
    """Return for each implementation what is not the same for all; and the date, if only that distinguishes two."""
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
