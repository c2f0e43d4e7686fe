"""What pages say of claims, and how they quote texts that are no Markdown of theirs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from queue_conformance.specification.kinds import all_kinds
from queue_conformance.specification.words import listed

CLAIMS: Mapping[str, str] = {
    "real-loop": "it needs the stock event loop, for sockets or for threads of its own",
    "transient-error": "the exception that it raises while its server is away",
    "serialization-error": "the exception that it raises for a request that cannot be serialized",
    "request": "the class of the requests that an asynchronous queue carries",
    "follows": "a class that it follows without inheriting it, and whose documents it is held to",
    "order": "the order in which items leave it",
    "priority": "which priority a queue serves first, if it looks at priorities at all",
    "ignores": "what of a request counts for nothing where duplicates are told; several between commas",
    "kind": "what it is, where the class itself does not tell",
    "profile": "the contract that a downstream queue is held to",
}
"""What is claimed by a name that is no capability."""

_SPECIAL = re.compile(r"([\\*_\[\]<>|$#])")


def escape(text: str) -> str:
    """Return a text of which Markdown understands only the code."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else _SPECIAL.sub(r"\\\1", part) for part in parts)


def cell(text: str) -> str:
    """Return an escaped text that does not end a cell of a table."""
    return re.sub(r"(?<!\\)\|", r"\\|", text)


CLOSED = "\n</div>"
"""The end of what was opened."""


def opened(classes: str) -> tuple[str, str]:
    """Return the lines that begin a part of a page to which the stylesheet gives another look."""
    return f'<div class="{classes}">', ""


def classed(text: str, classes: str) -> str:
    """Return words to which the stylesheet gives another look."""
    return f'<span class="{classes}">{text}</span>'


def kinds(found: Iterable[str]) -> str:
    """Name kinds in the order in which they are declared."""
    chosen = set(found)
    return listed(kind.plural for kind in all_kinds() if kind in chosen)
