"""The specification as pages: one section per rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from parts.words import CLOSED, cell, escape, kinds, opened
from queue_conformance import specification
from queue_conformance.specification import Level, Rule
from queue_conformance.specification.explanation import mutants
from queue_conformance.specification.grounds import Basis
from queue_conformance.specification.kinds import all_profiles
from queue_conformance.specification.words import CAPABILITIES, LIBRARIES, listed

PAGES: Mapping[str, tuple[str, str]] = {
    "claims": ("claims", "What is claimed"),
    "queue": ("queue", "Queues"),
    "queuelib": ("queuelib", "Queues of queuelib"),
    "pq": ("pqueue", "Priority queues"),
    "scheduler": ("scheduler", "Schedulers"),
    "dupefilter": ("dupefilter", "Dupefilters"),
    "job": ("job", "Jobs"),
    "state": ("state", "Spider state"),
    "aqueue": ("aqueue", "Asynchronous queues"),
    "ascheduler": ("ascheduler", "Asynchronous schedulers"),
    "afingerprint": ("afingerprint", "Fingerprints of asynchronous schedulers"),
    "e2e": ("e2e", "Whole crawls"),
    "upgrade": ("upgrade", "Upgrades"),
}
"""The page and the title of each family; the family is the first word of the ids of its rules."""


def of_family(name: str) -> list[Rule]:
    """Return the rules of a family, in the order of the specification."""
    return [rule for rule in specification.load().values() if rule.id.partition(".")[0] == name]


def family(name: str) -> str:
    """Return the sections of a family."""
    rules = of_family(name)
    lines = [f"{_counted(rules)}\n", *_table(rules)]
    for rule in rules:
        lines += ["", *_section(rule)]
    return "\n".join(lines)


def index() -> str:
    """Return the tables of all rules, by family."""
    lines = []
    for name, (page, title) in PAGES.items():
        lines += [f"## {title}", "", f"On [one page]({page}.md):", "", *_table(of_family(name)), ""]
    return "\n".join(lines)


def counts() -> str:
    """Say how many rules there are."""
    return _counted(list(specification.load().values()))


def link(rule: str, folder: str = "") -> str:
    """Return a link to the section of a rule, from a page that has the rules in a folder."""
    page, _ = PAGES[rule.partition(".")[0]]
    return f"[`{rule}`]({folder}{page}.md#{rule.replace('.', '')})"


def _counted(rules: list[Rule]) -> str:
    levels = Counter(rule.level for rule in rules)
    tested = sum(rule.tested for rule in rules)
    shown = listed(f"{levels[level]} {level}" for level in Level if levels[level])
    if len(rules) == 1:
        return f"One rule: {shown}."
    return f"{len(rules)} rules: {shown}. {tested} of them are tested."


def _table(rules: list[Rule]) -> Iterator[str]:
    yield from opened("rules")
    yield "| rule | level | sentence |"
    yield "|---|---|---|"
    for rule in rules:
        yield f"| {link(rule.id)} | {rule.level} | {cell(escape(rule.sentence))} |"
    yield CLOSED


def _section(rule: Rule) -> Iterator[str]:
    yield f"## {rule.id}\n"
    yield f"**{rule.level}**: {escape(rule.sentence)}\n"
    if rule.why:
        yield f"*If it fails:* {escape(rule.why)}\n"
    if rule.how:
        yield f"*How it is tested:* {escape(rule.how)}\n"
    elif rule.untestable is not None:
        yield f"*It cannot be tested:* {escape(rule.untestable)}.\n"
    elif rule.untested is not None:
        yield f"*This version does not test it:* {escape(rule.untested)}.\n"
    named = listed(f"`{profile}`" for profile in all_profiles() if profile in rule.profiles)
    yield f"- Asked of {kinds(rule.kinds)}; profile{'s' if len(rule.profiles) > 1 else ''} {named}."
    if conditions := list(_conditions(rule)):
        yield f"- Applies {'; '.join(conditions)}."
    if rule.provisional:
        yield f"- Provisional: new in {rule.provisional}, so it is reported and fails no run."
    yield f"- Source: {escape(rule.source)}."
    yield f"- Stands on {_grounds(rule)}"
    if rule.binds:
        yield f"- Binds {listed(f'`{name}`' for name in sorted(rule.binds))}: a SHOULD for other classes."
    if rule.should_if:
        yield f"- A SHOULD if {listed((_condition(name) for name in sorted(rule.should_if)), 'or')}."
    if rule.must_if:
        yield f"- A MUST if {listed((_condition(name) for name in sorted(rule.must_if)), 'or')}."
    for library, release in rule.fixed_in.items():
        yield f"- Mended in {LIBRARIES[library]} {release}; asked of all releases."
    if rule.debatable:
        yield f"- Debatable: {escape(rule.debatable)}"
    for hint in rule.hints:
        yield f"- Hint: {escape(hint)}"
    for name, sentence in mutants().get(rule.id, ()):
        yield f"- Mutants: `{name}`: {escape(sentence)}"
    yield ""


def _grounds(rule: Rule) -> str:
    """Say on what a rule stands, as the end of a sentence."""
    words = f"words: «{escape(rule.quote)}»."
    harm = f"harm: {escape(rule.harm)}"
    match rule.basis:
        case Basis.WORDS:
            return f"{words} And on {harm}" if rule.harm else words
        case Basis.HARM:
            return harm
        case Basis.CLAIM:
            return "a claim of the author."
        case Basis.DERIVED:
            derived = f"other rules: without it fail {listed(map(link, rule.derived_from))}."
            return f"{derived} And on {harm}" if rule.harm else derived
        case Basis.CODE:
            return "released code; no sentence says it."
        case _:
            return "a recommendation of the kit."


def _condition(name: str) -> str:
    """Say when a SHOULD is a MUST."""
    return f"the profile is `{name.removeprefix('profile=')}`" if name.startswith("profile=") else f"`{name}` is claimed"


def _conditions(rule: Rule) -> Iterator[str]:
    if rule.needs:
        yield "if " + listed(CAPABILITIES[name] for name in sorted(rule.needs))
    if rule.unless:
        yield "unless " + listed((CAPABILITIES[name] for name in sorted(rule.unless)), "or")
    for library, release in rule.since.items():
        yield f"since {LIBRARIES[library]} {release}"
