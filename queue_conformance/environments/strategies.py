"""Hypothesis strategies for what queues store.

Requests are drawn as Python source: what a report shows is then exactly what ran. Values of every type whose ``repr`` is
an expression can be drawn; the names that these expressions use are those of
:func:`queue_conformance.engine.scripts.namespace`.
"""

from __future__ import annotations

from operator import itemgetter
from typing import Any

from hypothesis import strategies as st

from queue_conformance.environments.encoded import ENCODED

CALLBACKS = (
    "spider.parse",
    "spider.parse_item",
    "spider.parse_inherited",
    "spider._parse_private",
    "spider._ExampleSpider__parse_mangled",
)
"""Methods of the example spider: public, inherited, private and name-mangled."""

TEXT = st.lists(st.sampled_from("aB0 \t\n\r'\"\\%&=;/é\x7f\x85\u2028ß日\ufeff😀"), max_size=5).map("".join)
"""Characters that are special somewhere: in URLs, headers, quotes, encodings.

``st.text`` would first make a table of all characters there are, which takes longer than all the rest.
"""
_binary = st.binary(max_size=5)
_numbers = st.one_of(st.integers(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False))
_scalars = st.one_of(st.none(), st.booleans(), _numbers, TEXT, _binary).map(repr)
ODD_VALUES = (
    "bytearray(b'ab')",
    "array('i', [1, 2])",
    "datetime.datetime(2026, 1, 2, 3, 4, 5, 6)",
    "datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)",
    "datetime.timedelta(days=1)",
    "Decimal('1.10')",
    "uuid.UUID(int=7)",
    "Point(3)",
    "complex(1, 2)",
    "nan",
    "inf",
    "range(3)",
    "re.compile('a+')",
    "(1, 'a')",
    "{1, 2}",
    "frozenset([1, 2])",
    "{1: {'a': (b'b',)}}",
    "True",
    "2**70",
    "b'\\xff'",
    "'\\ud800'",
    "'e\\u0301'",
)
"""Sources of values whose types serializers are likely to lose; every run tries each of them."""

URL = "url='https://example.com/1', "

SHAPES = tuple(
    f"Request({'' if arguments.startswith('url=') else URL}{arguments})"
    for arguments in (
        "headers={'X-Many': ['1', '2'], 'Accept': ['a']}",
        "headers={b'X-Bytes': b'\\xff', 'X-None': None}",
        "method='POST', body=b'\\x00\\xff'",
        *(f"method='POST', body={content!r}" for content in ENCODED),
        "body='é', encoding='latin-1'",
        "method='POST', body=b'\\n\\n\\r\\n\\r\\n\\0\\0'",
        "meta={'lines': '\\n\\n\\r\\n\\r\\n\\0\\0'}",
        "url='https://example.com/' + 'a' * 10_000",
        "meta={'text': 'a' * 70_000}",
        "headers={'X-Long': 'a' * 70_000}",
        "cookies={'a': '1'}",
        "cookies=[{'name': 'a', 'value': '1', 'domain': 'example.com', 'secure': True}, {'name': 'a', 'value': '2'}]",
        "meta={1: 'a', (1, 2): 'b', None: 'c', 'depth': 3}",
        "meta={'7': '7', '007': '1e3', 'null': 'null', 'true': 'true'}",
        "meta={'_own': 1, 'none': None, 'no': False, 'zero': 0, 'empty': []}",
        "cb_kwargs={'a': [1, {'b': None}]}",
        "flags=['one', 'two']",
        "priority=-7",
        "priority=2**63",
        "dont_filter=True",
        "callback=spider.parse_item",
        "errback=spider.handle_error",
        "callback=spider.parse_item, errback=spider.parse_inherited",
    )
)
"""Sources of requests, one for each shape that a field can have; every run tries each of them."""

_odd = st.sampled_from(ODD_VALUES)
_hashable = st.one_of(st.integers(-5, 5), TEXT, _binary, st.tuples(st.integers(0, 3), TEXT)).map(repr)


def _containers(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    several = st.lists(inner, max_size=3)
    keys = st.lists(_hashable, max_size=3, unique=True)
    return st.one_of(
        several.map(lambda sources: f"[{', '.join(sources)}]"),
        several.map(lambda sources: f"({', '.join(sources)}{',' if len(sources) == 1 else ''})"),
        keys.map(lambda sources: f"{{{', '.join(sources)}}}" if sources else "set()"),
        keys.map(lambda sources: f"frozenset([{', '.join(sources)}])"),
        st.tuples(keys, inner).map(lambda pair: f"{{{', '.join(f'{key}: {pair[1]}' for key in pair[0])}}}"),
    )


values: st.SearchStrategy[str] = st.recursive(st.one_of(_scalars, _odd), _containers, max_leaves=4)
"""Sources of values that requests carry, nested and of odd types included."""

_header_names = st.sampled_from(("Accept", "X-Many", "Content-Type", "x-lower"))
# No lambda in `filter` or `unique_by`: Hypothesis parses the source of those, in each child again.
_header_values = st.one_of(TEXT.filter(str.isprintable), _binary.map(lambda data: data.replace(b"\n", b"")))
_headers = st.dictionaries(_header_names, st.one_of(_header_values, st.lists(_header_values, min_size=1, max_size=3)), max_size=3)
_cookies = st.one_of(
    st.dictionaries(TEXT, TEXT, max_size=2),
    st.lists(
        st.fixed_dictionaries({"name": TEXT, "value": TEXT}, optional={"path": st.just("/"), "secure": st.booleans()}),
        max_size=2,
    ),
)
_dictionaries = st.dictionaries(TEXT, values, max_size=3).map(
    lambda sources: f"{{{', '.join(f'{key!r}: {value}' for key, value in sources.items())}}}"
)
_metas = st.lists(st.tuples(st.one_of(_hashable, TEXT.map(repr)), values), max_size=3, unique_by=itemgetter(0)).map(
    lambda pairs: f"{{{', '.join(f'{key}: {value}' for key, value in pairs)}}}"
)
_urls = st.sampled_from(
    (
        "https://example.com/1",
        "https://example.com/a b?q=é#fragment",
        "https://user:pass@example.com:8443/%7Euser?x=1&x=2",
        "http://[::1]/",
        "http://münchen.example/ß",
        "data:,text",
        "file:///tmp/file",
    )
)


def _sourced(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[str]:
    return strategy.map(repr)


_ARGUMENTS: dict[str, st.SearchStrategy[str]] = {
    "method": _sourced(st.sampled_from(("GET", "POST", "put", "HEAD"))),
    "headers": _sourced(_headers),
    "body": _sourced(st.one_of(_binary, TEXT)),
    "cookies": _sourced(_cookies),
    "meta": _metas,
    "encoding": _sourced(st.sampled_from(("utf-8", "latin-1", "cp1252"))),
    "priority": _sourced(st.one_of(st.integers(-3, 3), st.integers(-(2**63), 2**63))),
    "dont_filter": _sourced(st.booleans()),
    "flags": _sourced(st.lists(TEXT, max_size=2)),
    "cb_kwargs": _dictionaries,
    "callback": st.sampled_from(CALLBACKS),
    "errback": st.just("spider.handle_error"),
}

_FURTHER: dict[str, dict[str, st.SearchStrategy[str]]] = {
    "Request": {},
    "CustomRequest": {"depth": _sourced(st.integers())},
    "FormRequest": {"formdata": _sourced(st.dictionaries(TEXT, TEXT, max_size=2))},
    "JsonRequest": {"data": _sourced(st.one_of(st.none(), st.lists(st.integers(), max_size=2)))},
    "XmlRpcRequest": {"methodname": st.just("'m'"), "params": _sourced(st.tuples(st.integers(0, 5)))},
}


@st.composite
def request_sources(draw: st.DrawFn) -> str:
    """Draw the source of a request: any of the classes, with any of the attributes of ``Request.attributes``."""
    cls = draw(st.sampled_from(tuple(_FURTHER)))
    names = draw(st.sets(st.sampled_from(("meta", "cb_kwargs", *_ARGUMENTS)), min_size=draw(st.integers(0, 4)), max_size=6))
    arguments = {"url": draw(_sourced(_urls))}
    arguments |= {name: draw(_ARGUMENTS[name]) for name in _ARGUMENTS if name in names}
    arguments |= {name: draw(strategy) for name, strategy in _FURTHER[cls].items()}
    if cls in ("FormRequest", "JsonRequest", "XmlRpcRequest"):
        # These make the body, and some of them the method and the encoding, from what else they are given.
        for name in ("body", "method", "encoding"):
            arguments.pop(name, None)
    return f"{cls}({', '.join(f'{name}={value}' for name, value in arguments.items())})"
