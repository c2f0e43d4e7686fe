"""What the pages for browsers share: one file each, with its style and script inside, that asks no network for anything.

Whatever a report quotes goes through :func:`text` or :func:`prose`; everything else here is written by the kit.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from string import Template
from typing import TypeVar
from urllib.parse import quote, urlencode

from queue_conformance.reports import Origin
from queue_conformance.specification import Level, Rule
from queue_conformance.verdicts import RuleVerdict, RunVerdict, Verdict

T = TypeVar("T")

SYMBOLS: Mapping[Verdict | RunVerdict, str] = {
    Verdict.PASSED: "✓",
    Verdict.FAILED: "✗",
    Verdict.ERROR: "!",
    Verdict.BLOCKED: "⊘",
    Verdict.NOT_COVERED: "?",
    Verdict.NOT_APPLICABLE: "–",
    Verdict.UNTESTABLE: "·",
    RunVerdict.CONFORMANT: "✓",
    RunVerdict.PARTIAL: "◐",
    RunVerdict.NON_CONFORMANT: "✗",
    RunVerdict.INCONCLUSIVE: "?",
}
"""What stands beside the word, or where there is no room for it."""

MEANINGS: Mapping[Verdict, str] = {
    Verdict.PASSED: "it was tested, and nothing was found against it",
    Verdict.FAILED: "there is a counterexample",
    Verdict.ERROR: "the kit itself failed on it",
    Verdict.BLOCKED: "another failed rule stands in the way of testing it",
    Verdict.NOT_COVERED: "nothing in this run tested it",
    Verdict.NOT_APPLICABLE: "the class does not offer what the rule is about",
    Verdict.UNTESTABLE: "no program can test it",
}
"""What each verdict on a rule means."""

LONG = 40
"""Lines of a script that is shown at once."""

KNOWN = "known"
"""What stands for the verdict on a rule that fails, as the author's baseline expects."""

PROVISIONAL = "provisional"
"""What is said of a rule that takes part in no verdict yet."""


# --- Text ------------------------------------------------------------------------------------------------------------

_UNPRINTABLE = re.compile(r"[^\n\t\x20-\x7e]")


def text(value: object) -> str:
    """Return a text as HTML.

    What cannot be seen, or changes the order of what can, is written as Python would write it in a string: ``\\x1b``.
    """
    return html.escape(_UNPRINTABLE.sub(_seen, str(value)))


def _seen(match: re.Match[str]) -> str:
    character = match[0]
    return character if character.isprintable() else character.encode("unicode_escape").decode()


def prose(value: str) -> str:
    """Return a sentence of Markdown, in which nothing but code is marked, as HTML."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", text(value))


def dotted(value: str) -> str:
    """Return a dotted path as HTML; a line may end after each dot."""
    return text(value).replace(".", ".<wbr>")


def plural(count: int, noun: str) -> str:
    """Return a number of things."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def anchors(names: Iterable[str]) -> list[str]:
    """Return an anchor for each of some names, in their order; no two are alike."""
    taken = {"filters", "shown", "said", "details"}
    found = []
    for name in names:
        stem = re.sub(r"[^\w.-]+", "-", name).strip("-") or "unnamed"
        anchor = next(one for one in (stem, *(f"{stem}-{n}" for n in range(2, len(taken) + 3))) if one not in taken)
        taken.add(anchor)
        found.append(anchor)
    return found


def words(kind: str) -> str:
    """Return a kind as a reader calls it."""
    return kind.replace("-", " ")


def state(verdict: RuleVerdict) -> str:
    """Return the verdict on a rule as a reader calls it."""
    marks = [KNOWN if verdict.known else "", PROVISIONAL if not verdict.rule.counts else ""]
    return ", ".join(filter(None, [str(verdict.verdict), *marks]))


def grouped(values: Iterable[T], rule_id: Callable[[T], str]) -> dict[str, list[T]]:
    """Return values by what their rules are about: the words of an id but the last."""
    groups: dict[str, list[T]] = {}
    for value in values:
        groups.setdefault(rule_id(value).rpartition(".")[0], []).append(value)
    return groups


_WORST_FIRST = (RunVerdict.NON_CONFORMANT, RunVerdict.INCONCLUSIVE, RunVerdict.PARTIAL, RunVerdict.CONFORMANT)


def worst(verdicts: Iterable[RunVerdict]) -> RunVerdict | None:
    """Return the worst verdict of some; ``None`` of none."""
    return min(verdicts, key=_WORST_FIRST.index, default=None)


# --- Parts of a page -------------------------------------------------------------------------------------------------


def css(verdict: RuleVerdict) -> str:
    """Return the classes of whatever shows the verdict on a rule."""
    return css_of(verdict.verdict, verdict.rule.level) + (f" {KNOWN}" if verdict.known else "")


def css_of(verdict: Verdict, level: Level) -> str:
    """Return the classes of whatever shows a verdict on rules of a level."""
    return f"{_word(verdict)} {level.lower()}"


def mark(verdict: RuleVerdict) -> str:
    """Return the verdict on a rule, as a symbol and words."""
    return f'<span class="state"><span aria-hidden="true">{SYMBOLS[verdict.verdict]}</span> {state(verdict)}</span>'


def tally(verdicts: Iterable[RunVerdict]) -> str:
    """Return the worst of some verdicts, and how many of them it is."""
    found = list(verdicts)
    verdict = worst(found)
    return f"{pill(verdict)} {found.count(verdict)} of {plural(len(found), 'implementation')}" if verdict else ""


def pill(verdict: RunVerdict) -> str:
    """Return the verdict of a run, marked."""
    return f'<strong class="pill {_word(verdict)}"><span aria-hidden="true">{SYMBOLS[verdict]}</span> {verdict}</strong>'


def _word(verdict: Verdict | RunVerdict) -> str:
    return verdict.lower().replace(" ", "-")


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Return names and what is said of them, which is HTML, as a list; what is empty is left out."""
    return "".join(f"<div><dt>{name}</dt><dd>{said}</dd></div>" for name, said in pairs if said)


def origin_facts(origin: Origin) -> str:
    """Return where a report comes from, as a list."""
    releases = ", ".join(f"{text(name)} {text(release)}" for name, release in origin.releases.items())
    created = origin.created.replace("T", " ").replace("+00:00", " UTC")
    pairs = [
        ("Made", f'<time datetime="{text(origin.created)}">{text(created)}</time>'),
        ("With", releases),
        ("Python", f"{text(origin.python)}, {text(origin.platform)}"),
        ("Seed", text(origin.seed)),
        ("Examples", text(origin.examples)),
        ("Kit", text(origin.kit)),
    ]
    return f'<dl class="facts origin">{facts(pairs)}</dl>'


def alarm(title: str, lines: Sequence[str]) -> str:
    """Return lines that stand out; nothing if there are none."""
    items = "".join(f"<li>{text(line)}</li>" for line in lines)
    return f'<section class="alarm" aria-label="{title}"><h2>{title}</h2><ul>{items}</ul></section>' if items else ""


Pairs = list[tuple[str, str]]
"""Names, and what is said of each, which is HTML."""


def shown(verdict: RuleVerdict) -> Pairs:
    """Return what shows that a rule failed."""
    violation = verdict.violation
    if not violation:
        return []
    return [
        ("Known", text(verdict.known)),
        ("Expected", text(violation.expected)),
        ("Actual", text(violation.actual)),
        ("Operations", _lines("\n".join(violation.operations))),
        ("Stacks", _lines(violation.stacks)),
        *(
            ("Also", _lines("\n".join([*other.operations, f"# expected {other.expected}, got {other.actual}"])))
            for other in violation.others
        ),
    ]


def about(rule: Rule) -> Pairs:
    """Return where to look if a rule failed, and where it comes from."""
    return [*(("Hint", prose(hint)) for hint in rule.hints), ("Source", prose(rule.source))]


def script(verdict: RuleVerdict) -> Pairs:
    """Return the script that shows that a rule failed."""
    found = (verdict.violation, *verdict.violation.others) if verdict.violation else ()
    return [("Script", _script(violation.script)) for violation in found]


def _lines(value: str) -> str:
    return f"<pre>{text(value.rstrip())}</pre>" if value.strip() else ""


def _script(script: str) -> str:
    """Return a script with a button that copies it; a long one is folded."""
    lines = len(script.strip().splitlines())
    return (
        '<div class="script"><button type="button" class="copy" hidden>Copy</button>'
        f"<details{' open' if lines <= LONG else ''}><summary>{plural(lines, 'line')}</summary>"
        # A line break that follows <pre> at once is no part of it.
        f"<pre>\n{text(script.rstrip())}\n</pre></details></div>"
    )


@dataclass(frozen=True, slots=True)
class Facet:
    """What rules can be filtered by: boxes to tick.

    Attributes:
        name: of the attribute ``data-NAME`` of what is filtered, and in links.
        legend: what a reader calls it.
        choices: for each value of that attribute its label, which is HTML.
    """

    name: str
    legend: str
    choices: Mapping[str, str]


def filters(facets: Sequence[Facet], count: int) -> str:
    """Return the form that filters so many rules; it is hidden where no script runs."""
    sets = []
    for facet in facets:
        boxes = "".join(
            f'<label><input type="checkbox" name="{facet.name}" value="{text(value)}"><span>{label}</span></label>'
            for value, label in facet.choices.items()
        )
        sets.append(f"<fieldset><legend>{facet.legend}</legend>{boxes}</fieldset>")
    return (
        '<form id="filters" role="search" aria-label="Filter the rules" hidden>'
        '<input type="search" name="q" aria-label="Search ids, sentences and reasons" placeholder="Search the rules"'
        f' autocomplete="off" spellcheck="false">{"".join(sets)}<p class="shown">'
        f'<output id="shown" aria-live="polite">{plural(count, "rule")}</output>'
        ' <button type="reset" hidden>Show all</button></p></form>'
    )


def link_to_filter(**values: str) -> str:
    """Return the fragment of a page that shows only some rules."""
    return f"#?{text(urlencode(values))}"


def levels(found: Iterable[Level]) -> Facet:
    """Return the facet of the levels that occur."""
    present = set(found)
    return Facet("level", "Level", {level.value: level.value for level in Level if level in present})


# --- The page --------------------------------------------------------------------------------------------------------


def document(title: str, main: str, verdict: RunVerdict | None, layout: str = "", refresh: int = 0) -> str:
    """Return the whole page.

    Args:
        title: of the page, as plain text.
        main: what it shows, as HTML.
        verdict: the worst one in it, which its icon shows; ``None`` if something could not be tested.
        layout: the class of its body.
        refresh: seconds after which it loads itself again, or 0.
    """
    again = f'\n<meta http-equiv="refresh" content="{refresh}">' if refresh else ""
    style, script = (_read(f"page.{ending}") for ending in ("css", "js"))
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return Template(_read("page.html")).substitute(
        policy=policy,
        refresh=again,
        title=text(title),
        icon=_icon(verdict),
        style=style,
        script=script,
        main=main,
        layout=layout,
    )


def _read(name: str) -> str:
    return files(__name__).joinpath(name).read_text("utf-8")


def _hash(inline: str) -> str:
    """Return what the policy of the page calls the only style or script that it allows."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()}'"


_ICONS = {
    RunVerdict.CONFORMANT: ("#1a7f37", "M4 8.5l3 3 5-6.5"),
    RunVerdict.PARTIAL: ("#9a6700", "M4 8h8"),
    RunVerdict.INCONCLUSIVE: ("#57606a", "M4 8h8"),
}


def _icon(verdict: RunVerdict | None) -> str:
    colour, line = _ICONS.get(verdict, ("#cf222e", "M5 5l6 6m0-6l-6 6")) if verdict else ("#cf222e", "M8 3.5v6m0 2v1.5")
    drawing = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><circle cx="8" cy="8" r="8" fill="{colour}"/>'
        f'<path d="{line}" fill="none" stroke="#fff" stroke-width="2"/></svg>'
    )
    return f"data:image/svg+xml,{quote(drawing)}"
