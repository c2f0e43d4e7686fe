"""Which priorities an asynchronous queue serves first: qCrawl's documents contradict each other."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping

_WHAT = r"\b(?:numbers?|numeric|values?|priority|priorities|scores?)\b"
_SOON = r"first(?!,? (?:in|come|out)\b)|before|earlier|earliest|sooner"
_LOWER = re.compile(
    rf"\b(?:low|small)(?:er|est)?\b[^.;]*{_WHAT}[^.;]*\b(?:{_SOON}|(?:higher|highest|more) \w+)"
    rf"|{_WHAT}[^.;]*\b(?:low|small)(?:er|est)?(?: ones?)? (?:{_SOON})"
    rf"|\bascending\b[^.;]*{_WHAT}|{_WHAT}[^.;]*\bascending\b|\bmin-?heap\b",
    re.I,
)
_HIGHER = re.compile(
    rf"\bhigh(?:er|est)?\b[^.;]*{_WHAT}[^.;]*\b(?:{_SOON})|{_WHAT}[^.;]*\bhigh(?:er|est)?(?: ones?)? (?:{_SOON})", re.I
)
_NEGATED = re.compile(r"\b(?:negat|invert|revers)|-\s?priority", re.I)
"""What turns the meaning of a whole sentence around."""
_WAITS = re.compile(r"\b(?:waits?|after|behind|later|last)\b", re.I)
"""What turns the meaning of a part of one around."""
_INTERFACE = "qcrawl.core.queue"


def higher_first(cls: type[object], claims: Mapping[str, str]) -> bool:
    """Tell whether higher priorities come first.

    The author's claim decides; without one, what the docstrings of the class say, or those of the bases from which it
    inherits ``put``; and where these are silent, qCrawl's page on schedulers («higher = earlier»).

    Args:
        cls: the class of a queue.
        claims: what its author claims.
    """
    if claims.get("priority", "none") != "none":
        return claims["priority"] == "higher-first"
    for text in _documentation(cls):
        # «The highest priority first» may be a low number; a text that says so of low ones leaves no doubt.
        told = [*_told(text)]
        if any(map(_LOWER.search, told)):
            return False
        if any(map(_HIGHER.search, told)):
            return True
    return True


def _told(text: str) -> Iterator[str]:
    """Yield the sentences that may be taken at their word, and of those in which something waits the parts that may be."""
    for sentence in re.split("[.;]", text):
        if not _NEGATED.search(sentence):
            parts = re.split("[,()]", sentence) if _WAITS.search(sentence) else [sentence]
            yield from (part for part in parts if not _WAITS.search(part))


def _documentation(cls: type[object]) -> Iterator[str]:
    """Yield what each class says of itself and of its ``put``, from the class to the one whose ``put`` it has.

    What others say of a ``put`` that is never called, and what the interface says, is no part of it.
    """
    for base in cls.__mro__:
        if base.__module__ == _INTERFACE:
            return
        own = (vars(base).get("__doc__"), getattr(vars(base).get("put"), "__doc__", None))
        yield " ".join(inspect.cleandoc(text) for text in own if isinstance(text, str)).replace("\n", " ").replace("`", "")
        if "put" in vars(base):
            return
