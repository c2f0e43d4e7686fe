"""The tracebacks that a log tells of."""

import re
from collections.abc import Iterable, Iterator

BEGINNING = re.compile(r"(?:[^]]*\] [A-Z]+: .*)?Traceback \(most recent call last\)")
"""The line with which one begins, which may be what is logged itself."""

CHAINED = ("During handling of the above exception, ", "The above exception was the direct cause ")
"""What stands between an exception and one that was raised because of it."""

_GROUP = re.compile(r" +\+ Exception Group Traceback ")
_EDGE = re.compile(r" +\+-[+-]*(?: (\S+) -+)?$")
_MARGIN = re.compile(r" +[|+] ?(?:Exception Group (?=Traceback ))?")


def unframed(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a log, of a group of exceptions the first one alone, as if it had been raised because of the group."""
    inside = first = False
    for line in lines:
        if not inside and _GROUP.match(line):
            inside = first = True
        inside = inside and bool(_MARGIN.match(line))
        if not inside:
            yield line
        elif edge := _EDGE.match(line):
            first = first and edge[1] == "1"
            if first:
                yield f"{CHAINED[1]}of the following exception:"
        elif first:
            yield _MARGIN.sub("", line, count=1)
