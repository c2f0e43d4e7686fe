"""What the pages for browsers share: one file each, with its style and script inside, that asks no network for anything.

Whatever a template shows is escaped, and shown as :func:`visible` has it; only :func:`prose` and :func:`dotted` make HTML.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar
from urllib.parse import quote

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

from queue_conformance.engine.verdicts import RuleVerdict, RunVerdict, Verdict, worst
from queue_conformance.reports.page.graph import rows
from queue_conformance.specification import Level

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
"""The symbol beside each verdict, or instead of it where there is no room."""

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


def visible(value: object) -> str:
    """Return a value as text, if it is not HTML already.

    What cannot be seen, or changes the order of what can, is written as Python would write it in a string: ``\\x1b``.
    """
    return value if isinstance(value, Markup) else _UNPRINTABLE.sub(_seen, str(value))


def _seen(match: re.Match[str]) -> str:
    character = match[0]
    return character if character.isprintable() else character.encode("unicode_escape").decode()


def prose(value: str) -> Markup:
    """Return a sentence of Markdown, in which nothing but code is marked, as HTML."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(visible(value)))))


NARROW = 13
"""Characters that the narrowest column has room for: a longer part of a path may be broken between its words."""


def dotted(value: str) -> Markup:
    """Return a dotted path as HTML; a line may end after each dot, and between the words of a part that is long."""
    parts = re.split(r"(?<=\.)", visible(value))
    return Markup("<wbr>").join(word for part in parts for word in (_WORDS.split(part) if len(part) > NARROW else [part]))


_WORDS = re.compile(r"(?<=_)(?=[^_])|(?<=[a-z0-9])(?=[A-Z])")
"""Where a word of an identifier begins."""


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


# --- The page --------------------------------------------------------------------------------------------------------


def css(verdict: RuleVerdict) -> str:
    """Return the classes of whatever shows the verdict on a rule."""
    return css_of(verdict.verdict, verdict.rule.level) + (f" {KNOWN}" if verdict.known else "")


def css_of(verdict: Verdict, level: Level) -> str:
    """Return the classes of whatever shows a verdict on rules of a level."""
    return f"{_word(verdict)} {level.lower()}"


def _word(verdict: Verdict | RunVerdict) -> str:
    return verdict.lower().replace(" ", "-")


def page(template: str, title: str, verdict: RunVerdict | None, **shown: Any) -> str:
    """Return a whole page.

    Args:
        template: the name of the file beside this one that says what it looks like.
        title: of the page.
        verdict: the worst one in it, which its icon shows; ``None`` if something could not be tested.
        shown: what the template shows.
    """
    style, script = _read("page.css") + _style(template), _read("page.js")
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    around = {"policy": policy, "title": title, "icon": _icon(verdict), "style": Markup(style), "script": Markup(script)}
    return _templates().get_template(template).render(around | shown)


def picture(template: str, **shown: Any) -> str:
    """Return a picture that stands alone.

    Args:
        template: the name of the file beside this one that says what it looks like.
        shown: what the template shows.
    """
    return _templates().get_template(template).render(style=Markup(_style(template)), **shown)


def _style(template: str) -> str:
    own = files(__name__).joinpath(f"{template.partition('.')[0]}.css")
    return _read("colours.css") + (own.read_text("utf-8") if own.is_file() else "")


@cache
def _templates() -> Environment:
    made = Environment(
        loader=FunctionLoader(_read),
        autoescape=True,
        finalize=visible,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"css": css, "dotted": dotted, "prose": prose, "state": state, "word": _word, "words": words}
    made.globals |= {
        "css_of": css_of,
        "long": LONG,
        "plural": plural,
        "rows": rows,
        "symbols": SYMBOLS,
        "worst": worst,
        "FAILED": Verdict.FAILED,
    }
    return made


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
