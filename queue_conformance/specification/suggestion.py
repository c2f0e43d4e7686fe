"""What an author may have meant by a name that does not exist."""

from __future__ import annotations

from collections.abc import Iterable

APART = 0.2
"""How much less like than the best one other names may be, to be suggested beside it."""
UNLIKE = 0.3
"""How like names are of which none is ever suggested."""


def did_you_mean(name: str, names: Iterable[str], *, most: int = 1, cutoff: float = 0.6, listed: int = 20) -> str:
    """Return the end of a message on a name that does not exist: ``; did you mean 'x'?``, ``; known are x, y``, or ``""``.

    Args:
        name: what was written.
        names: what there is.
        most: how many names are suggested at most.
        cutoff: how like it they must be in each part between dots, from 0 to 1.
        listed: how many names there may be for all to be listed, where none is like it.
    """
    known = list(dict.fromkeys(names))
    near = sorted(((_likeness(name, one), one) for one in known), key=lambda found: (-found[0], found[1].count(".")))
    if meant := [one for likeness, one in near[:most] if likeness >= max(cutoff, near[0][0] - APART)]:
        return f"; did you mean {' or '.join(map(repr, meant))}?"
    return f"; known are {', '.join(sorted(known))}" if 0 < len(known) <= listed else ""


def _likeness(name: str, known: str) -> float:
    """Return how like a name is, from 0 to 1: as its least like part is. Parts may be missing at its front, or at its end."""
    one, other = name.strip("*.").split("."), known.split(".")
    if len(one) > len(other):
        return 0.0
    pairs = zip(one, other, strict=False), zip(reversed(one), reversed(other), strict=False)
    return max(min(_likeness_of_parts(*pair) for pair in each) for each in pairs)


def _likeness_of_parts(one: str, other: str) -> float:
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(None, one, other)
    most = matcher.real_quick_ratio()  # by their lengths: to compare a long name with all that are known takes seconds
    return matcher.ratio() if most >= UNLIKE else most
