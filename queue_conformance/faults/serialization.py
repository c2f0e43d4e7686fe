"""Requests that cannot be serialized, as sources: each is a reason of its own."""

from __future__ import annotations

from typing import NamedTuple


class Cause(NamedTuple):
    """Why a request cannot be serialized.

    Attributes:
        name: what it is, for messages.
        source: a Python expression for the request.
    """

    name: str
    source: str


def _in_meta(name: str, value: str) -> Cause:
    return Cause(name, f"Request('https://example.com/1', meta={{'value': {value}}})")


COMMON = (
    _in_meta("a lambda in meta", "lambda: None"),
    _in_meta("a lock in meta", "threading.Lock()"),
    _in_meta("a generator in meta", "(n for n in ())"),
    _in_meta("an open file in meta", "open(os.devnull)"),
    _in_meta("a socket in meta", "socket.socket()"),
    _in_meta("a parsel Selector in meta", "Selector(text='<p>text</p>')"),
    Cause("a lambda in cb_kwargs", "Request('https://example.com/1', cb_kwargs={'value': lambda: None})"),
)
"""What authors meet."""

_ERRORS = (
    "RuntimeError('no')",
    "KeyError('no')",
    "IndexError('no')",
    "OSError('no')",
    "OverflowError('no')",
    "ZeroDivisionError('no')",
    "AssertionError('no')",
    "NotImplementedError('no')",
    "StopIteration('no')",
    "EOFError('no')",
    "RecursionError('no')",
    "UnicodeDecodeError('utf-8', b'x', 0, 1, 'no')",
    "TypeError('no')",
    "AttributeError('no')",
    "ValueError('no')",
)

DEPTH = 100_000
"""Lists in lists, more than any recursive serializer can follow."""

UNUSUAL = (
    _in_meta("lists nested too deeply", f"nested({DEPTH})"),
    *(_in_meta(f"a {error.partition('(')[0]} in __reduce__", f"RaisesInReduce({error})") for error in _ERRORS),
    *(_in_meta(f"a {error.partition('(')[0]} in __getstate__", f"RaisesInGetstate({error})") for error in _ERRORS),
)
"""What serializers meet in the objects of others."""

FOREIGN_CALLBACKS = (
    Cause("a lambda", "lambda response: None"),
    Cause("a function of a module", "module_function"),
    Cause("a functools.partial", "functools.partial(spider.parse)"),
    Cause("a method of another object", "Unrelated().parse"),
    Cause("a method of another spider class", "OtherSpider().parse"),
    Cause("a builtin function", "print"),
)
"""Callables that are not methods of the running spider; their sources are those of the callable."""

NOT_REBUILDABLE = (
    Cause("a request of a class inside a function", "local_request('https://example.com/1')"),
    Cause("a request whose __init__ needs more than its attributes", "DemandingRequest('https://example.com/1', secret='x')"),
    Cause(
        "a priority that is no int any more",
        "with_attribute(Request('https://example.com/1'), 'priority', 'high')",
    ),
)
"""Requests that serialize, but that no class can be called with again."""
