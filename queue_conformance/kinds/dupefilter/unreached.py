"""What the code of a dupefilter does not come to with the requests of the kit: what it seems to need of a request."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable, Iterable
from types import CodeType, FrameType
from typing import Any

from queue_conformance.compat.scrapy import replace_meta


class Asked(dict[Any, Any]):
    """The meta of a request, which notes the keys that are looked for in vain."""

    def __init__(self, values: Any, missed: list[str]) -> None:
        super().__init__(values)
        self._missed = missed

    def _look(self, key: Any) -> Any:
        if not dict.__contains__(self, key):
            self._missed.append(f"meta[{key!r}]")
        return key

    def __contains__(self, key: Any) -> bool:
        return super().__contains__(self._look(key))

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(self._look(key))

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get(self._look(key), default)


def unreached(dupefilter: Any, requests: Iterable[Any]) -> str:
    """Ask a filter for requests, twice for each; return what its own code did not come to, in words, or ``""``.

    Args:
        dupefilter: it is open.
        requests: what their meta holds is replaced by what notes the keys that are looked up.
    """
    own = _codes(type(dupefilter))
    missed: list[str] = []
    ran: dict[CodeType, set[int]] = {}

    def note(frame: FrameType, event: str, argument: object) -> Any:
        if frame.f_code not in own:
            return None
        ran.setdefault(frame.f_code, set()).add(frame.f_lineno)
        return note

    before = sys.gettrace()
    for request in [request for request in requests for _ in range(2)]:
        replace_meta(request, Asked(request.meta, missed))
        sys.settrace(note)
        try:
            dupefilter.request_seen(request)
        finally:
            sys.settrace(before)
    for code, lines in ran.items():
        left = sorted({line for _, _, line in code.co_lines() if line and line > code.co_firstlineno} - lines)
        if left:
            text = linecache.getline(code.co_filename, left[0]).strip()
            needs = f"requests seem to need {', '.join(dict.fromkeys(missed))}: " if missed else ""
            return f"{needs}line {left[0]}, {text!r}, is not reached"
    return ""


def _codes(cls: type[Any]) -> set[CodeType]:
    """Return the code of the methods of a class, and of those base classes that are not Scrapy's."""
    bases = [base for base in cls.__mro__ if base is not object and not base.__module__.startswith("scrapy.")]
    methods: list[Callable[..., Any]] = [getattr(value, "__func__", value) for base in bases for value in vars(base).values()]
    return {code for method in methods if (code := getattr(method, "__code__", None)) is not None}
