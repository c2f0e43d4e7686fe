"""What an author may have meant by a name that does not exist."""

from __future__ import annotations

from collections.abc import Iterable


def did_you_mean(name: str, names: Iterable[str], *, most: int = 1, cutoff: float = 0.6, listed: int = 20) -> str:
    """Return the end of a message on a name that does not exist: ``; did you mean 'x'?``, ``; known are x, y``, or ``""``.

    Args:
        name: what was written.
        names: what there is.
        most: how many names are suggested at most.
        cutoff: how like it they must be, from 0 to 1.
        listed: how many names there may be for all to be listed, where none is like it.
    """
    import difflib

    known = list(dict.fromkeys(names))
    if near := difflib.get_close_matches(name, known, most, cutoff):
        return f"; did you mean {' or '.join(map(repr, near))}?"
    return f"; known are {', '.join(sorted(known))}" if 0 < len(known) <= listed else ""
